// Package iso20022 is a connector that exchanges files with a bank through folders, which the
// bank's gateway or an SFTP job serves. Payments are sent as pain.001.001.09. Statuses are received
// as pain.002.001.10, and movements on the account as camt.053.001.08 and camt.054.001.08.
//
// The folders, below the configured one:
//
//	out/      files for the bank, which removes them: only *.xml
//	in/       files from the bank, put there whole, by renaming
//	done/     processed files
//	refused/  refused files, each with a NAME.reason.txt
//	sent/     the identity of the folder, the payments of each file, and those not found, without account numbers
//
// Nothing is sent twice, whenever the program dies. A file is first written as out/.NAME.tmp and synced. Then its payments are
// listed in sent/NAME.list, and synced. Then the file is renamed to out/NAME. So a payment that is in no list was never sent. One
// that is listed was sent, unless the file is still called .NAME.tmp: then the next Submit or LookUp renames it. A look-up that does
// not find a payment writes a tombstone, sent/NAME.missing, and Submit no longer sends that submission. All of
// this happens under a lock of the folder, which several nodes can share.
package iso20022

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"bursar/internal/accountnumber"
	"bursar/internal/fault"
	"bursar/internal/rail"
)

// Settings are the settings of a connector in a rails file.
type Settings struct {
	// Folder contains the folders that the bank's side serves. It must exist.
	Folder string `json:"folder"`
	// DebtorName, DebtorAccount and DebtorBank are our name, our account with the bank and
	// the bank's BIC.
	DebtorName    string `json:"debtor_name"`
	DebtorAccount string `json:"debtor_account"`
	DebtorBank    string `json:"debtor_bank"`
	// Final is the status by which the bank reports that the payee has the money: ACSC or ACCC.
	Final string `json:"final"`
	// Services are the bank's names of rails. They determine how the bank carries a payment.
	Services map[string]string `json:"services"`
	// Deposits maps account numbers of the bank to accounts of Bursar: money paid to such a number is a deposit to the account. Otherwise a
	// deposit names its account, acc_…, in its remittance information.
	Deposits map[string]string `json:"deposits"`
	// TimeZone is the bank's, Asia/Manila if it is left out.
	TimeZone string `json:"time_zone"`

	// Clock is time.Now except in tests.
	Clock func() time.Time `json:"-"`
}

// Connector reaches one bank.
type Connector struct {
	name string
	Settings
	zone  *time.Location
	since int64 // when sent/ was made, in Unix milliseconds

	mu   sync.Mutex
	last string // the file that Receive has returned last

	held    atomic.Pointer[string] // why nothing is sent
	trusted atomic.Pointer[string] // the identity that the folder must have
	between func()                 // is called between the steps of sending and looking up; tests pause and crash there
}

var (
	_ rail.Connector = (*Connector)(nil)
	_ rail.Recorder  = (*Connector)(nil)
)

// Make returns a connector with the settings in a rails file.
func Make(name string, settings []byte) (rail.Connector, error) {
	s := Settings{Clock: time.Now}
	err := json.Unmarshal(settings, &s, json.RejectUnknownMembers(true))
	var wrong *json.SemanticError
	if errors.As(err, &wrong) && errors.Is(wrong.Err, json.ErrUnknownName) {
		return nil, fmt.Errorf("settings: unknown key %q", wrong.JSONPointer.LastToken())
	}
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return New(name, s)
}

var (
	bicForm     = regexp.MustCompile(`^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?$`)
	accountForm = regexp.MustCompile(`^acc_[0-9a-hjkmnp-tv-z]{26}$`)
	idForm      = regexp.MustCompile(`^[A-Za-z0-9]{1,35}$`)
)

// New returns a connector, and creates its missing folders.
func New(name string, s Settings) (*Connector, error) {
	s.DebtorAccount = accountnumber.Compact(s.DebtorAccount)
	if s.TimeZone == "" {
		s.TimeZone = "Asia/Manila"
	}
	zone, err := time.LoadLocation(s.TimeZone)
	switch {
	case err != nil:
		return nil, fmt.Errorf("time_zone: %w", err)
	case safe(s.DebtorName, maxName) == "" || s.DebtorAccount == "" || len(s.DebtorAccount) > maxAccount:
		return nil, errors.New("debtor_name and debtor_account are required")
	case !bicForm.MatchString(s.DebtorBank):
		return nil, errors.New("debtor_bank must be a BIC")
	case s.Final != "ACSC" && s.Final != "ACCC":
		return nil, errors.New("final must be ACSC or ACCC")
	}
	deposits := map[string]string{}
	for number, account := range s.Deposits {
		if !accountForm.MatchString(account) {
			return nil, fmt.Errorf("deposits: %q is no id of an account", account)
		}
		deposits[accountnumber.Compact(number)] = account
	}
	s.Deposits = deposits
	c := &Connector{name: name, Settings: s, zone: zone, between: func() {}}
	if info, err := os.Stat(s.Folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("folder %q does not exist", s.Folder)
	}
	return c, c.makeFolders()
}

func (c *Connector) path(parts ...string) string {
	return filepath.Join(append([]string{c.Folder}, parts...)...)
}

func (c *Connector) makeFolders() error {
	for _, name := range []string{"out", "in", "done", "refused", "sent"} {
		if err := os.MkdirAll(c.path(name), 0o700); err != nil {
			return err
		}
	}
	// With an empty folder, for example because its disk is not mounted, old payments must not be reported as never sent.
	file := c.path("sent", "since")
	err := c.locked(context.Background(), func() error {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return c.writeFile("sent", "since", []byte(strconv.FormatInt(c.Clock().UnixMilli(), 10)))
	})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if c.since, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Name implements rail.Connector.
func (c *Connector) Name() string { return c.name }

// Sandbox implements rail.Connector.
func (c *Connector) Sandbox() bool { return false }

// Check implements rail.Connector.
func (c *Connector) Check(_ *rail.Rail, p rail.Payment) error {
	if safe(p.To.AccountName, maxName) == "" {
		return fault.Invalid("bank_account_name", "is required")
	}
	return rail.CheckNumber(p.To)
}

// waitsLong is how long a file may lie in out/ before the bank's side is suspected to be down.
const waitsLong = time.Hour

// Health implements rail.Connector.
func (c *Connector) Health(context.Context) (rail.Status, string) {
	for _, name := range []string{"in", "sent", "done"} {
		if _, err := os.Stat(c.path(name)); err != nil {
			return rail.Down, err.Error()
		}
	}
	waiting, err := os.ReadDir(c.path("out"))
	if err != nil {
		return rail.Down, err.Error()
	}
	if held := c.heldFor(); held != "" {
		return rail.Down, held
	}
	before := stamp(c.Clock().Add(-waitsLong))
	for _, file := range waiting {
		if strings.HasSuffix(file.Name(), ".xml") && file.Name() < before {
			return rail.Degraded, "the bank has not taken " + file.Name() + " from out/ for an hour"
		}
	}
	return rail.Up, ""
}

// locked runs fn while no other call, on any node, sends, looks up or moves files, unless ctx has ended. The lock may be granted at the
// moment at which ctx ends, or after a pause of the whole process. So ctx is checked under the lock.
func (c *Connector) locked(ctx context.Context, fn func() error) (err error) {
	lock := flock.New(c.path(".lock"))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("lock the folder: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lock the folder: %w", err)
	}
	return fn()
}

// writeFile writes a temporary file, syncs it, renames it and syncs the folder.
func (c *Connector) writeFile(folder, name string, text []byte) error {
	beside := c.path(folder, "."+name+".tmp")
	if err := writeSynced(beside, text); err != nil {
		return err
	}
	c.between()
	if err := os.Rename(beside, c.path(folder, name)); err != nil {
		return err
	}
	return syncFolder(c.path(folder))
}

func writeSynced(name string, text []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
