package directory

import (
	"context"
	"strings"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/web"
)

const (
	// exportPage is how many entries an export reads at once.
	exportPage = 100
	// exportTime is how long an export may take: it holds a snapshot of the store meanwhile.
	exportTime = 15 * time.Minute
)

// Export writes the entries that List would return into a file. All of them are as of one moment. The audit log records the export before
// the first byte is sent.
func (s *Service) Export(ctx context.Context, by db.Caller, in ExportInput, to *web.File) error {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return err
	}
	held, err := s.authority.Permissions(ctx, by.Actor, in.WorkspaceID)
	if err != nil {
		return err
	}
	numbers := held.Has(access.ReceivingRead)
	if err := db.Record(ctx, s.db, by, in.event(numbers), nil); err != nil {
		return err
	}
	tails, err := s.lastDigits(ctx, by, in.WorkspaceID, workspace, in.Q)
	if err != nil {
		return err
	}
	if err := s.vault.Ready(ctx, workspace); err != nil { // so that it does not wait for keys while it holds the snapshot
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exportTime)
	defer cancel()
	return s.db.Read(ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		now := s.db.Now()
		f := filter{workspace: workspace, kind: in.Type, status: in.Status, external: in.ExternalID, words: in.words, tails: tails, ids: in.ids, order: in.order(), take: exportPage}
		if in.Tag != nil {
			id, found, err := findTagID(q, in.WorkspaceID, *in.Tag)
			if err != nil {
				return err
			}
			if f.tagID = id; !found {
				f.none = true
			}
		}
		out, err := in.writer(q, f, to, numbers)
		if err != nil {
			return err
		}
		err = f.every(q, func(page []*api.Entry) error {
			if err := s.addParts(q, in.WorkspaceID, workspace, page, numbers, now); err != nil {
				return err
			}
			for _, e := range page {
				if in.chosen != nil {
					e.Fields = entryfile.Only(e.Fields, in.chosen)
				}
				if err := out.Write(e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
}

// writer begins the file. A CSV file has a column for each field, so all entries are read for them first.
func (in *ExportInput) writer(q db.Q, f filter, to *web.File, numbers bool) (entryfile.Writer, error) {
	if in.format() == entryfile.NDJSON {
		to.Name, to.Type = "directory.ndjson", "application/x-ndjson"
		return entryfile.NewNDJSONWriter(to), nil
	}
	to.Name, to.Type = "directory.csv", "text/csv; charset=utf-8"
	columns := entryfile.NewColumns(in.chosen)
	err := f.every(q, func(page []*api.Entry) error {
		for _, e := range page {
			if err := columns.Add(e.Fields); err != nil {
				return fault.Invalid("format", "cannot be csv: "+e.ID+" "+err.Error())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entryfile.NewCSVWriter(to, columns, in.comma, isTrue(in.Raw), numbers)
}

func (in *ExportInput) event(numbers bool) audit.Event {
	text := "Exported the directory as " + strings.ToUpper(in.format())
	if numbers {
		text += " with account numbers"
	}
	for name, value := range map[string]*string{"type": in.Type} {
		if value != nil {
			text += ", " + name + " " + *value
		}
	}
	return audit.Event{Action: audit.DirectoryExported, WorkspaceID: in.WorkspaceID, ResourceID: in.WorkspaceID, Description: text}
}

// every calls fn with all matching entries, page by page, in the order of the filter. They do not include tags and methods.
func (f filter) every(q db.Q, fn func(page []*api.Entry) error) error {
	if f.none {
		return nil
	}
	for {
		sql, err := f.statement(q, `SELECT e.id, e.type, e.fields, `+propertyColumns(`e.`)+` FROM `)
		if err != nil {
			return err
		}
		var page []*api.Entry
		err = q.EachOf(sql, func(r db.Rows) error {
			one := &api.Entry{ID: db.UnpackID("entry", r, 0), Type: r.Text(1), Fields: api.SplitFields([]byte(r.Text(2))), Tags: []string{}}
			next := 3
			for _, p := range entryfile.Properties() {
				*p.Of(one) = r.Text(next)
				next++
			}
			page, f.after = append(page, one), one.ID
			if f.order.column != "" {
				f.after = string(f.order.positionOf(r, next, []byte(f.after)))
			}
			return nil
		})
		if err != nil || len(page) == 0 {
			return err
		}
		if err := fn(page); err != nil {
			return err
		}
	}
}

// addParts adds the tags of entries and, with numbers, the receiving methods that can be paid.
func (s *Service) addParts(q db.Q, workspaceID string, workspace int64, page []*api.Entry, numbers bool, now int64) error {
	ids, byID := make([]string, len(page)), map[string]*api.Entry{}
	for i, e := range page {
		ids[i], byID[e.ID] = e.ID, e
		if numbers {
			e.ReceivingMethods = &[]api.ReceivingMethod{}
		}
	}
	names, err := tagNamesOf(q, workspaceID, ids)
	if err != nil {
		return err
	}
	for id, tags := range names {
		byID[id].Tags = tags
	}
	if !numbers {
		return nil
	}
	sql := db.NewStatement(``)
	sql.AddList(`SELECT `+methodColumns+`, entry_id FROM receiving_method WHERE entry_id IN (`, storedAll(ids))
	sql.Add(` ORDER BY entry_id, id`)
	methods := map[string][]storedMethod{}
	err = q.EachOf(sql, func(r db.Rows) error {
		id := db.UnpackID("entry", r, 9)
		methods[id] = append(methods[id], readMethod(r))
		return nil
	})
	for id, list := range methods {
		settle(list, now)
		if err == nil {
			*byID[id].ReceivingMethods, err = s.openMethods(entry{workspace: workspace}, onlyPayable(list, now))
		}
	}
	return err
}
