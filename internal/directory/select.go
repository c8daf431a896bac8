package directory

import (
	"bytes"
	"context"
	"io"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/db"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// selectPage is how many entries are read at once.
const selectPage = 100

// MaxIDs is how many entries an input can name.
const MaxIDs = 100

// Selection is the entries of a workspace that match filters.
type Selection struct {
	service     *Service
	workspaceID string
	filter
}

// Select returns the entries that List would return, all of them; with ids, only the entries with these.
func (s *Service) Select(ctx context.Context, by db.Caller, in ListInput, ids []string) (Selection, error) {
	workspace, err := s.authority.Enter(ctx, by.Actor, in.WorkspaceID, access.DirectoryRead)
	if err != nil {
		return Selection{}, err
	}
	f := filter{workspace: workspace, kind: in.Type, status: in.Status, external: in.ExternalID, words: in.words, ids: ids}
	f.order, f.take = in.order(), selectPage
	if f.tails, err = s.lastDigits(ctx, by, in.WorkspaceID, workspace, in.Q); err == nil && in.Tag != nil {
		err = s.db.Read(ctx, func(q db.Q) error {
			id, found, err := findTagID(q, in.WorkspaceID, *in.Tag)
			f.tagID, f.none = id, !found
			return err
		})
	}
	return Selection{s, in.WorkspaceID, f}, err
}

// First writes the ids of the first entries, up to a number of them, each on a line. A search that takes too long is refused in a field.
func (s Selection) First(ctx context.Context, most int, field string) (lines []byte, err error) {
	if s.none {
		return nil, nil
	}
	s.take = most
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	err = s.service.db.Read(ctx, func(q db.Q) (err error) {
		lines, _, err = s.idLines(q)
		return err
	})
	if len(s.words) > 0 && tookTooLong(ctx, err) {
		return nil, fault.Invalid(field, "takes too long to look for: add a word or a filter")
	}
	return lines, err
}

// WriteIDs writes the ids of all entries as of one moment, each on a line.
func (s Selection) WriteIDs(ctx context.Context, to io.Writer) error {
	return s.service.db.Read(ctx, func(q db.Q) error {
		if err := q.Snapshot(); err != nil {
			return err
		}
		for {
			lines, last, err := s.idLines(q)
			if err != nil || last == "" {
				return err
			}
			if _, err := to.Write(lines); err != nil {
				return err
			}
			s.after = last
		}
	})
}

// idLines returns the ids of a page of entries, each on a line, and the last of them.
func (f filter) idLines(q db.Q) (lines []byte, last string, err error) {
	sql, err := f.statement(q, `SELECT e.id FROM `)
	if err != nil {
		return nil, "", err
	}
	err = q.EachOf(sql, func(r db.Rows) error {
		last = db.UnpackID("entry", r, 0)
		lines = append(append(lines, last...), '\n')
		return nil
	})
	return lines, last, err
}

// MatchInput is a request for the number of matching entries.
type MatchInput struct {
	WorkspaceID string
	api.BulkFilter

	list ListInput
}

// Validate checks the filter without reading the database.
func (in *MatchInput) Validate(v *fault.Violations) {
	in.list = OfBulk(v, in.WorkspaceID, &in.BulkFilter)
}

// OfBulk checks the filter of a bulk, and returns it as that of a list.
func OfBulk(v *fault.Violations, workspaceID string, f *api.BulkFilter) ListInput {
	in := ListInput{WorkspaceID: workspaceID, Type: f.Type, Status: f.Status, Tag: f.Tag, ExternalID: f.ExternalID, Q: f.Q}
	web.CheckOneOf(v, "filter.type", f.Type, api.EntryTypes()...)
	web.CheckOneOf(v, "filter.status", f.Status, api.EntryStatuses()...)
	if f.Q == nil {
		return in
	}
	if in.words = searchWords(v, "filter.q", *f.Q); len(in.words) == 0 {
		v.Add("filter.q", "must have a word: without one all entries would match")
	}
	return in
}

// Matches counts the entries that a bulk with a filter would change.
func (s *Service) Matches(ctx context.Context, by db.Caller, in MatchInput) (Count, error) {
	all, err := s.Select(ctx, by, in.list, nil)
	if err != nil {
		return Count{}, err
	}
	lines, err := all.First(ctx, maxCount+1, "filter.q")
	return bounded(bytes.Count(lines, []byte("\n"))), err
}

// Each calls fn with all of the entries, page by page, in the order of the filter. They do not include tags and methods.
func (s Selection) Each(q db.Q, fn func(page []*api.Entry) error) error {
	if s.none {
		return nil
	}
	for {
		sql, err := s.statement(q, `SELECT e.id, e.type, e.fields, `+propertyColumns(`e.`)+` FROM `)
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
			page, s.after = append(page, one), one.ID
			if s.order.column != "" {
				s.after = string(s.order.positionOf(r, next, []byte(s.after)))
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

// AddParts adds the tags of entries and, with numbers, the receiving methods that can be paid.
func (s Selection) AddParts(q db.Q, page []*api.Entry, numbers bool) error {
	ids, byID := make([]string, len(page)), map[string]*api.Entry{}
	for i, e := range page {
		ids[i], byID[e.ID] = e.ID, e
		if numbers {
			e.ReceivingMethods = &[]api.ReceivingMethod{}
		}
	}
	names, err := tagNamesOf(q, s.workspaceID, ids)
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
	now := s.service.db.Now()
	for id, list := range methods {
		settle(list, now)
		if err == nil {
			*byID[id].ReceivingMethods, err = s.service.openMethods(entry{workspace: s.workspace}, onlyPayable(list, now))
		}
	}
	return err
}
