package iso20022

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"bursar/internal/rail"
)

const (
	// listEnding is the ending of the files in sent/ that list the payments of a message. They have the name of the file in out/.
	listEnding = ".list"
	// tombstoneEnding is the ending of the files in sent/ that list the payments that a look-up has not found.
	tombstoneEnding = ".missing"
)

// Submit implements rail.Connector. A payment that was sent before, in any file, is sent again only if people have determined that it was
// not paid.
func (c *Connector) Submit(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	out := make([]rail.Outcome, len(list))
	c.between()
	err := c.locked(ctx, func() error {
		distrust, err := c.distrust(ctx)
		if err != nil {
			return err
		}
		records, err := c.records(list)
		if err != nil {
			return err
		}
		var fresh []rail.Payment
		seen := map[string]bool{}
		for i, p := range list {
			known := records[p.EndToEndID].besides(p)
			if out[i] = c.withhold(r, p, known, distrust); out[i].State == "" && known.file == "" && !seen[p.EndToEndID] {
				fresh, seen[p.EndToEndID] = append(fresh, p), true
			}
		}
		if len(fresh) > 0 {
			m, err := c.compose(r, fresh)
			if err == nil {
				err = c.put(ctx, m, fresh)
			}
			if err != nil {
				return err
			}
			for _, p := range fresh {
				records[p.EndToEndID] = record{file: m.name, submission: p.Submission}
			}
		}
		for i, p := range list {
			if out[i].State == "" {
				out[i] = records[p.EndToEndID].accepted()
			}
		}
		return nil
	})
	return out, err
}

// withhold returns the outcome of a payment that must not be sent, or none. Check has refused most of them before. A payment that was sent
// is never rejected, even if it could not be sent now.
func (c *Connector) withhold(r *rail.Rail, p rail.Payment, known record, distrust string) rail.Outcome {
	o := rail.Outcome{State: rail.Unknown, Submission: p.Submission}
	switch {
	case known.file != "":
		return rail.Outcome{}
	case p.Submission <= known.missing:
		o.Text = "not sent: a look-up has reported this submission as not received"
	case distrust != "":
		o.Text = "not sent: " + distrust
	case p.Expired(c.Clock()):
		o.Text = "not sent: it was claimed too long ago"
	case !idForm.MatchString(p.EndToEndID):
		o.State, o.Code, o.Text = rail.Rejected, "FF01", "the end-to-end id is none"
	case p.Amount <= 0 || p.Currency != r.Currency:
		o.State, o.Code, o.Text = rail.Rejected, "AM12", "the amount is none of the rail"
	case r.CodeOf(p.To.Institution) == "":
		o.State, o.Code, o.Text = rail.Rejected, "RC01", "the institution is not on the rail"
	case safe(p.To.AccountName, maxName) == "" || !rail.IsNumber(p.To.AccountNumber):
		o.State, o.Code, o.Text = rail.Rejected, "AC01", "the account is none"
	default:
		return rail.Outcome{}
	}
	return o
}

// messageOf returns the id of the message in a file, by the name of the file.
func messageOf(name string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, listEnding), ".xml"), "-")
	return id
}

// put sends a file, in the order that the package's documentation describes. The right to send is checked immediately before the payments
// are listed: from then on the file will be sent.
func (c *Connector) put(ctx context.Context, m message, list []rail.Payment) error {
	beside := c.path("out", "."+m.name+".tmp")
	for _, step := range []func() error{
		func() error { return writeSynced(beside, m.text) },
		func() error { return syncFolder(c.path("out")) },
		func() error {
			if slices.ContainsFunc(list, func(p rail.Payment) bool { return p.Expired(c.Clock()) }) {
				return errors.New("not sent: it took too long")
			}
			return ctx.Err()
		},
		func() error { return c.writeFile("sent", m.name+listEnding, m.list) },
		func() error { return os.Rename(beside, c.path("out", m.name)) },
		func() error { return syncFolder(c.path("out")) },
	} {
		c.between()
		if err := step(); err != nil {
			return err
		}
	}
	c.between()
	return nil
}

// recover finishes what a crash has interrupted: a temporary file is renamed if its payments are listed. Otherwise it is removed, since it
// will never be sent.
func (c *Connector) recover() error {
	files, err := os.ReadDir(c.path("out"))
	if err != nil {
		return err
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(strings.TrimPrefix(file.Name(), "."), ".tmp")
		if !ok || !strings.HasPrefix(file.Name(), ".") {
			continue
		}
		beside := c.path("out", file.Name())
		_, err := os.Stat(c.path("sent", name+listEnding))
		switch {
		case err == nil:
			err = os.Rename(beside, c.path("out", name))
		case errors.Is(err, os.ErrNotExist):
			err = os.Remove(beside)
		}
		if err := errors.Join(err, syncFolder(c.path("out"))); err != nil {
			return err
		}
	}
	return nil
}

// record is what sent/ contains about an end-to-end id.
type record struct {
	file       string // the message that it was sent in; "" if in none
	submission int    // the submission in that message
	missing    int    // the highest submission that a look-up has reported as not received
}

// besides returns the record without a submission that people have determined not to be paid. The payment must be a later one, or have no
// number.
func (k record) besides(p rail.Payment) record {
	if k.submission <= p.NotPaid && (p.Submission == 0 || k.submission < p.Submission) {
		k.file, k.submission = "", 0
	}
	return k
}

// accepted returns the answer for a payment that was sent.
func (k record) accepted() rail.Outcome {
	return rail.Outcome{State: rail.Accepted, Reference: messageOf(k.file), Submission: k.submission}
}

// records reads from sent/ the record of each payment. The name of a file begins with the time of its latest payment, so older files need
// not be read.
func (c *Connector) records(list []rail.Payment) (map[string]record, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	known, oldest := map[string]record{}, "~"
	for _, p := range list {
		known[p.EndToEndID] = record{}
		oldest = min(oldest, stamp(time.UnixMilli(p.From())))
	}
	files, err := os.ReadDir(c.path("sent"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		ending := filepath.Ext(file.Name())
		if ending != listEnding && ending != tombstoneEnding || file.Name() < oldest || strings.HasPrefix(file.Name(), ".") {
			continue
		}
		noted, err := c.noted(file.Name())
		if err != nil {
			return nil, err
		}
		for _, n := range noted {
			k, wanted := known[n.id]
			switch {
			case !wanted:
				continue
			case ending == tombstoneEnding:
				k.missing = max(k.missing, n.submission)
			case n.submission > k.submission:
				k.file, k.submission = file.Name(), n.submission
			}
			known[n.id] = k
		}
	}
	return known, nil
}

// note is a line of a file in sent/.
type note struct {
	id         string
	amount     int64
	currency   string
	submission int
	// What a restored store needs of a payment that it does not know. Tombstones do not contain it.
	account, rail, externalHash string
}

// nothing represents an empty value in a note.
const nothing = "-"

// line returns the note of a payment, followed by more values.
func line(p rail.Payment, more ...string) string {
	text := fmt.Sprintf("%s %d %s %d", p.EndToEndID, p.Amount, p.Currency, p.Submission)
	for _, value := range more {
		text += " " + cmp.Or(value, nothing)
	}
	return text + "\n"
}

// noted reads a file of sent/.
func (c *Connector) noted(name string) ([]note, error) {
	text, err := os.ReadFile(c.path("sent", name))
	if err != nil {
		return nil, err
	}
	var all []note
	for line := range strings.Lines(string(text)) {
		cells := strings.Fields(line)
		if len(cells) == 4 {
			cells = append(cells, nothing, nothing, nothing)
		}
		if len(cells) != 7 {
			return nil, fmt.Errorf("sent/%s is damaged: %q", name, line)
		}
		for i, value := range cells[4:] {
			cells[4+i] = strings.TrimPrefix(value, nothing)
		}
		amount, err := strconv.ParseInt(cells[1], 10, 64)
		submission, wrong := strconv.Atoi(cells[3])
		if err := errors.Join(err, wrong); err != nil {
			return nil, fmt.Errorf("sent/%s is damaged: %w", name, err)
		}
		all = append(all, note{cells[0], amount, cells[2], submission, cells[4], cells[5], cells[6]})
	}
	return all, nil
}

// ofMessage returns the payments of a message that we sent, none if it is not ours.
func (c *Connector) ofMessage(id string) ([]note, error) {
	if !idForm.MatchString(id) {
		return nil, nil
	}
	files, err := os.ReadDir(c.path("sent"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file.Name(), "-"+id+".xml"+listEnding) && !strings.HasPrefix(file.Name(), ".") {
			return c.noted(file.Name())
		}
	}
	return nil, nil
}

// LookUp implements rail.Connector. A payment that was sent is accepted: the bank's decision comes in files. A payment that is older than
// the folder is unknown.
func (c *Connector) LookUp(ctx context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	out := make([]rail.Outcome, len(list))
	c.between()
	defer c.between()
	err := c.locked(ctx, func() error {
		distrust, err := c.distrust(ctx)
		if err != nil {
			return err
		}
		records, err := c.records(list)
		if err != nil {
			return err
		}
		c.between()
		var missing []rail.Payment
		for i, p := range list {
			known := records[p.EndToEndID].besides(p)
			switch {
			case known.file != "":
				out[i] = known.accepted()
			case distrust != "":
				out[i] = rail.Outcome{State: rail.Unknown, Text: distrust, Submission: p.Submission}
			case p.Latest() < c.since:
				out[i] = rail.Outcome{State: rail.Unknown, Text: "the folder was made after the payment"}
			default:
				out[i] = rail.Outcome{State: rail.NotReceived, Submission: max(p.Submission, known.missing)}
				if p.Submission > known.missing {
					missing = append(missing, p)
				}
			}
		}
		return c.writeTombstones(missing)
	})
	return out, err
}

// writeTombstones writes tombstones, so that Submit does not send these submissions later.
func (c *Connector) writeTombstones(missing []rail.Payment) error {
	if len(missing) == 0 {
		return nil
	}
	var lines strings.Builder
	var latest int64
	for _, p := range missing {
		lines.WriteString(line(p))
		latest = max(latest, p.Latest())
	}
	digest := sha256.Sum256([]byte(lines.String()))
	name := stamp(time.UnixMilli(latest)) + "-" + base32.StdEncoding.EncodeToString(digest[:])[:26] + tombstoneEnding
	return c.writeFile("sent", name, []byte(lines.String()))
}
