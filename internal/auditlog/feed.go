package auditlog

import (
	"context"
	"slices"
	"strconv"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
)

const (
	maxFeed = 1000 // rows in an answer
	// feedSpan is how many rows a query reads.
	feedSpan = 200
	// feedSpans bounds how many queries an answer takes if the filter matches few rows.
	feedSpans = 50
	maxWait   = 30 // seconds
)

// FeedInput selects the rows after a place.
type FeedInput struct {
	Filters
	After *string `query:"after"`
	Limit *string `query:"limit"`
	Wait  *string `query:"wait"`

	after       int64
	limit, wait int
}

// Validate checks the filters and the numbers.
func (in *FeedInput) Validate(v *fault.Violations) {
	in.check(v)
	in.after = number(v, "after", in.After, 0, 0, 1<<53)
	in.limit = int(number(v, "limit", in.Limit, 100, 1, maxFeed))
	in.wait = int(number(v, "wait", in.Wait, 0, 0, maxWait))
}

func number(v *fault.Violations, field string, text *string, absent, least, most int64) int64 {
	if text == nil {
		return absent
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil || n < least || n > most {
		v.Add(field, "must be an integer from "+strconv.FormatInt(least, 10)+" to "+strconv.FormatInt(most, 10))
		return absent
	}
	return n
}

// Feed returns the rows of a log that follow a place, oldest first. A client that continues
// at the end of each answer sees every row once. If there are no rows yet, Feed waits for
// them as long as the request allows.
func (s *Service) Feed(ctx context.Context, by db.Caller, in FeedInput) (api.AuditFeed, error) {
	f, err := s.authorize(ctx, by, in.Filters, access.AuditRead)
	if err != nil {
		return api.AuditFeed{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(in.wait)*time.Second+pageTimeout)
	defer cancel()
	timeout := time.After(time.Duration(in.wait) * time.Second)
	feed := api.AuditFeed{After: in.after}
	for waited := false; ; waited = true {
		grown, stopped := s.sequencer.Grown()
		next, err := s.feed(ctx, f, feed.After, in.limit)
		if err != nil {
			return feed, err
		}
		// The caller's access may have ended since they were authenticated. They repeat the
		// request, and are authenticated again.
		if waited && s.db.Epoch() != by.Epoch {
			return feed, nil
		}
		feed = next
		if len(feed.Entries) > 0 || in.wait == 0 || stopped {
			return feed, nil
		}
		if feed.HasMore { // many rows did not match
			select {
			case <-timeout:
				return feed, nil
			default:
				continue
			}
		}
		select {
		case <-grown:
		case <-timeout:
			return feed, nil
		case <-ctx.Done():
			return feed, ctx.Err()
		}
	}
}

// EndInput selects a log. Only the workspace or the organization is used.
type EndInput struct{ Filters }

// Validate checks the workspace or organization.
func (in *EndInput) Validate(v *fault.Violations) { in.check(v) }

// End returns the last place of a log.
func (s *Service) End(ctx context.Context, by db.Caller, in EndInput) (int64, error) {
	f, err := s.authorize(ctx, by, in.Filters, access.AuditRead)
	if err != nil {
		return 0, err
	}
	var end stream
	err = s.db.Read(ctx, func(q db.Q) (err error) {
		end, _, err = findStream(q, f.stream())
		return err
	})
	return end.size, err
}

// stream returns the stream that has the rows of the list.
func (f filter) stream() streamKey {
	if f.column == "organization_id" {
		return streamKey{organization: f.value}
	}
	return streamKey{workspace: f.workspace}
}

// feed reads the rows after a place, span by span.
func (s *Service) feed(ctx context.Context, f filter, after int64, limit int) (api.AuditFeed, error) {
	var feed api.AuditFeed
	err := s.db.Read(ctx, func(q db.Q) error {
		feed = api.AuditFeed{Entries: []api.AuditEntry{}, After: after}
		of, _, err := findStream(q, f.stream())
		if err == nil && after > of.size {
			// Otherwise the follower would miss the rows up to there, for example after a backup was
			// restored.
			err = fault.Invalid("after", "is past the end of the log, which has "+strconv.FormatInt(of.size, 10)+" rows: the log is another one, or has lost rows")
		}
		if err == nil { // read after the size of the stream, so that every method that a row is about is found
			f, err = f.resolved(q)
		}
		for spans := 0; err == nil && spans < feedSpans && len(feed.Entries) < limit && feed.After < of.size; spans++ {
			end := min(of.size, feed.After+feedSpan)
			err = q.EachOf(f.forward(of.number, feed.After, end), func(r db.Rows) error {
				if len(feed.Entries) == limit {
					return nil
				}
				entry, err := audit.ReadStored(db.UnpackID("aud", r, 1), r.Raw(2), r.Raw(3), r.Int(0))
				if feed.After = r.Int(0); f.matches(entry) && (f.key == nil || !r.Null(4) && f.with.has(db.UnpackID("key", r, 4))) {
					feed.Entries = append(feed.Entries, entry)
				}
				return err
			})
		}
		feed.HasMore = feed.After < of.size
		return err
	})
	return feed, err
}

// matches reports whether a row of the stream is in the list. A feed filters the rows that it
// has read. The engines would search for the values first, and in all of the log.
func (f filter) matches(e api.AuditEntry) bool {
	for _, want := range f.equals {
		got := map[audit.Filter]string{
			audit.ByActor: e.ActorID, audit.ByAction: e.Action, audit.ByResourceType: e.ResourceType, audit.ByResource: e.ResourceID, audit.ByOutcome: e.Outcome,
		}[want.by]
		if got != want.value {
			return false
		}
	}
	if f.entry != nil && !slices.Contains(f.about, e.ResourceID) {
		return false
	}
	return e.Timestamp >= f.from && e.Timestamp <= f.to
}

// forward selects the rows of a stream after one place and up to another, oldest first. The
// inner queries find each row separately. For a join, PostgreSQL would read the whole log.
func (f filter) forward(stream, after, end int64) *db.Statement {
	sql := db.NewStatement(`SELECT p.seq, p.audit_id`)
	columns := []string{"entry", "personal"}
	if f.key != nil {
		columns = append(columns, "key_id")
	}
	for _, column := range columns {
		sql.Add(`, (SELECT a.`)
		sql.Add(column)
		sql.Add(` FROM audit_log a WHERE a.id = p.audit_id AND a.`)
		if f.column == "organization_id" {
			sql.Add(`organization_id = `, f.value)
		} else {
			sql.Add(`workspace_number = `, f.workspace)
		}
		sql.Add(`)`)
	}
	sql.Add(` FROM audit_place p WHERE p.stream = `, stream)
	sql.Add(` AND p.seq > `, after)
	sql.Add(` AND p.seq <= `, end)
	sql.Add(` ORDER BY p.seq`)
	return sql
}
