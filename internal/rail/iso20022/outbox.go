package iso20022

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"bursar/internal/rail"
)

// listEnding is that of the files in sent/, which are called as those in out/ were.
const listEnding = ".list"

// Submit implements rail.Connector. What was sent before, in whatever file, is not sent again.
func (c *Connector) Submit(ctx context.Context, r *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	out := make([]rail.Outcome, len(list))
	err := c.locked(ctx, func() error {
		known, err := c.sent(list)
		if err != nil {
			return err
		}
		var fresh []rail.Payment
		seen := map[string]bool{}
		for i, p := range list {
			if out[i] = refuse(r, p); out[i].State == "" && known[p.EndToEndID] == "" && !seen[p.EndToEndID] {
				fresh, seen[p.EndToEndID] = append(fresh, p), true
			}
		}
		id := ""
		if len(fresh) > 0 {
			m, err := c.compose(r, fresh)
			if err != nil {
				return err
			}
			if err := c.put(m); err != nil {
				return err
			}
			id = m.id
		}
		for i, p := range list {
			if out[i].State == "" {
				out[i] = accepted(known[p.EndToEndID], id)
			}
		}
		return nil
	})
	return out, err
}

// refuse rejects a payment that cannot be written, which Check has refused before.
func refuse(r *rail.Rail, p rail.Payment) rail.Outcome {
	switch {
	case !idForm.MatchString(p.EndToEndID):
		return rail.Outcome{State: rail.Rejected, Code: "FF01", Text: "the end-to-end id is none"}
	case p.Amount <= 0 || p.Currency != r.Currency:
		return rail.Outcome{State: rail.Rejected, Code: "AM12", Text: "the amount is none of the rail"}
	case r.CodeOf(p.To.Institution) == "":
		return rail.Outcome{State: rail.Rejected, Code: "RC01", Text: "the institution is not on the rail"}
	case safe(p.To.AccountName, maxName) == "" || !rail.IsNumber(p.To.AccountNumber):
		return rail.Outcome{State: rail.Rejected, Code: "AC01", Text: "the account is none"}
	}
	return rail.Outcome{}
}

// accepted is the answer for a payment that went out: earlier, or now.
func accepted(earlier, now string) rail.Outcome {
	if earlier != "" {
		now = messageOf(earlier)
	}
	return rail.Outcome{State: rail.Accepted, Reference: now}
}

// messageOf returns the id of the message in a file, by the name of the file.
func messageOf(name string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, listEnding), ".xml"), "-")
	return id
}

// put sends a file. The order is what the doc of the package promises.
func (c *Connector) put(m message) error {
	beside := c.path("out", "."+m.name+".tmp")
	if err := writeSynced(beside, m.text); err != nil {
		return err
	}
	if err := syncFolder(c.path("out")); err != nil {
		return err
	}
	if err := c.writeFile("sent", m.name+listEnding, m.list); err != nil {
		return err
	}
	if err := os.Rename(beside, c.path("out", m.name)); err != nil {
		return err
	}
	return syncFolder(c.path("out"))
}

// recover ends what a crash has left: a file beside out/ goes out if its payments are noted, and
// is removed if they are not, since then it never will.
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

// sent says in which file each payment of a list went out. The name of a file has the time of its
// youngest payment, so that older ones need not be read.
func (c *Connector) sent(list []rail.Payment) (map[string]string, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	known, oldest := map[string]string{}, "~"
	for _, p := range list {
		known[p.EndToEndID] = ""
		oldest = min(oldest, stamp(time.UnixMilli(p.From())))
	}
	files, err := os.ReadDir(c.path("sent"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), listEnding) || file.Name() < oldest || strings.HasPrefix(file.Name(), ".") {
			continue
		}
		noted, err := c.noted(file.Name())
		if err != nil {
			return nil, err
		}
		for _, p := range noted {
			if _, wanted := known[p.id]; wanted {
				known[p.id] = file.Name()
			}
		}
	}
	return known, nil
}

// note is what sent/ has of a payment.
type note struct {
	id       string
	amount   int64
	currency string
}

func (c *Connector) noted(name string) ([]note, error) {
	text, err := os.ReadFile(c.path("sent", name))
	if err != nil {
		return nil, err
	}
	var all []note
	for line := range strings.Lines(string(text)) {
		if cells := strings.Fields(line); len(cells) == 3 {
			amount, err := strconv.ParseInt(cells[1], 10, 64)
			if err != nil {
				return nil, err
			}
			all = append(all, note{cells[0], amount, cells[2]})
		}
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

// LookUp implements rail.Connector. What went out is accepted: more is known when the bank says
// so. What is older than the folder is unknown to it.
func (c *Connector) LookUp(ctx context.Context, _ *rail.Rail, list []rail.Payment) ([]rail.Outcome, error) {
	out := make([]rail.Outcome, len(list))
	err := c.locked(ctx, func() error {
		known, err := c.sent(list)
		if err != nil {
			return err
		}
		for i, p := range list {
			switch {
			case known[p.EndToEndID] != "":
				out[i] = accepted(known[p.EndToEndID], "")
			case p.At < c.since:
				out[i] = rail.Outcome{State: rail.Unknown, Text: "the folder was made after the payment"}
			default:
				out[i] = rail.Outcome{State: rail.NeverCame}
			}
		}
		return nil
	})
	return out, err
}
