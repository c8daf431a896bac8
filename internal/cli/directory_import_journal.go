package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// journal remembers what became of each row of a file, so that nothing is made
// twice however long after an interruption the import goes on. It is a head of one
// line and a line of fixed length for each row, in the row's place: what was not
// reached yet is a hole.
type journal struct {
	file  *os.File
	head  journalHead
	dirty atomic.Bool
	stop  chan struct{}
	ended sync.WaitGroup
}

type journalHead struct {
	Version     int    `json:"bursar_import"`
	WorkspaceID string `json:"workspace_id"`
	UserID      string `json:"user_id"` // idempotency keys are good for whoever used them
	Salt        string `json:"salt"`    // makes other idempotency keys, where a file is imported again
}

const (
	journalVersion = 1
	journalStart   = 256                 // the length of the head
	journalRecord  = 1 + 16 + 1 + 10 + 1 // mark, digest, space, Unix time, line break
	syncEvery      = time.Second
)

// What a journal says about a row.
const (
	rowUnknown   byte = 0
	rowSent      byte = 's' // maybe made
	rowCreated   byte = 'c'
	rowUpdated   byte = 'u'
	rowUnchanged byte = '='
)

// journalSuffix names the journal of a file.
const journalSuffix = ".bursar-import"

// note is what the journal says about a row.
type note struct {
	mark   byte
	digest string
	at     time.Time
}

func (n note) done() bool {
	return n.mark == rowCreated || n.mark == rowUpdated || n.mark == rowUnchanged
}

// openJournal opens or begins a journal. With anew, an old one is begun again.
func openJournal(name string, want journalHead, anew bool) (*journal, error) {
	file, err := openBeside(name, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("keep a journal of the import: %w; --journal FILE keeps it elsewhere", err)
	}
	j := &journal{file: file, head: want, stop: make(chan struct{})}
	if err := j.open(anew); err != nil {
		return nil, errors.Join(fmt.Errorf("the journal %s: %w", name, err), file.Close())
	}
	j.ended.Go(j.keepSynced)
	return j, nil
}

// readJournal opens a journal to look into it, nil where there is none.
func readJournal(name string, want journalHead) (*journal, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	j := &journal{file: file, head: want, stop: make(chan struct{})}
	if err := j.readHead(); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("the journal %s: %w", name, err), file.Close())
	}
	return j, nil
}

func (j *journal) open(anew bool) error {
	begin := j.head
	switch err := j.readHead(); {
	case errors.Is(err, io.EOF), anew && (err == nil || errors.Is(err, errOtherWorkspace)):
		j.head = begin
	default:
		return err
	}
	if err := j.file.Truncate(0); err != nil {
		return err
	}
	text, err := json.Marshal(j.head)
	if err != nil {
		return err
	}
	padded := bytes.Repeat([]byte{' '}, journalStart)
	copy(padded, text)
	padded[journalStart-1] = '\n'
	if _, err := j.file.WriteAt(padded, 0); err != nil {
		return err
	}
	return errors.Join(j.file.Sync(), syncFolder(filepath.Dir(j.file.Name())))
}

var errOtherWorkspace = errors.New("it belongs to an import into another workspace: pass --journal FILE for this one")

// readHead reads the head of a journal that was begun before; io.EOF where none was.
func (j *journal) readHead() error {
	text := make([]byte, journalStart)
	n, err := j.file.ReadAt(text, 0)
	if n < journalStart && errors.Is(err, io.EOF) {
		if n > 0 {
			return errors.New("this is no journal of an import")
		}
		return io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var found journalHead
	if json.Unmarshal(text, &found) != nil || found.Version == 0 {
		return errors.New("this is no journal of an import")
	}
	if found.Version != journalVersion {
		return fmt.Errorf("it was written by another version of bursar (%d)", found.Version)
	}
	if found.WorkspaceID != j.head.WorkspaceID {
		return errOtherWorkspace
	}
	j.head = found
	return nil
}

// begun says whether there is anything in the journal.
func (j *journal) begun() bool {
	if j == nil {
		return false
	}
	info, err := j.file.Stat()
	return err == nil && info.Size() > journalStart
}

func place(number int) int64 { return journalStart + int64(number-1)*journalRecord }

// look says what is known of a row.
func (j *journal) look(number int) (note, error) {
	if j == nil {
		return note{}, nil
	}
	var text [journalRecord]byte
	if _, err := j.file.ReadAt(text[:], place(number)); err != nil {
		if errors.Is(err, io.EOF) {
			return note{}, nil
		}
		return note{}, fmt.Errorf("read the journal: %w", err)
	}
	seconds, err := strconv.ParseInt(string(text[18:28]), 10, 64)
	if err != nil || text[journalRecord-1] != '\n' || bytes.IndexByte(text[:], 0) >= 0 {
		return note{}, nil // a hole, or half of a record that was being written as the power failed
	}
	return note{text[0], string(text[1:17]), time.Unix(seconds, 0)}, nil
}

// put notes what became of a row.
func (j *journal) put(number int, mark byte, digest string) error {
	if j == nil {
		return nil
	}
	var text []byte
	if mark == rowUnknown {
		text = make([]byte, journalRecord)
	} else {
		text = fmt.Appendf(nil, "%c%s %010d\n", mark, digest, time.Now().Unix())
	}
	if _, err := j.file.WriteAt(text, place(number)); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	j.dirty.Store(true)
	return nil
}

func (j *journal) keepSynced() {
	tick := time.NewTicker(syncEvery)
	defer tick.Stop()
	for {
		select {
		case <-j.stop:
			return
		case <-tick.C:
			if j.dirty.Swap(false) && j.file.Sync() != nil {
				j.dirty.Store(true) // close tries again, and tells
			}
		}
	}
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	close(j.stop)
	j.ended.Wait()
	var err error
	if j.dirty.Load() {
		err = j.file.Sync()
	}
	if err := errors.Join(err, j.file.Close()); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// syncFolder makes a new name last. Not every system can do that.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	_ = folder.Sync()
	return folder.Close()
}
