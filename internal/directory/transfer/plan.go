package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"bursar/api"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory"
	"bursar/internal/fault"
)

// planPage is how many lines a page of a plan has.
const planPage = 50

// PlanInput is a request for a page of the plan of a rehearsal.
type PlanInput struct {
	ID     string
	Action string // of the lines; empty: all
	After  string // where the previous page ended
}

// PlanPage is a part of a plan. Next is empty at its end.
type PlanPage struct {
	Lines []api.ImportLine
	Next  string
}

// PlanLines returns a page of the plan of a rehearsal. The label of a line that cannot be read is the line itself. So reading the beginning
// of another person's plan leaves a row in the audit log.
func (s *Service) PlanLines(ctx context.Context, by db.Caller, in PlanInput) (PlanPage, error) {
	i, err := s.find(ctx, by, directory.ImportKind, in.ID, job.needs)
	if err == nil {
		err = s.maySee(ctx, by, i)
	}
	if err == nil && in.After == "" && by.ID != i.actor.ID {
		err = db.Record(ctx, s.db, by, i.event(audit.ImportDownloaded, "Read lines of"), nil)
	}
	if err != nil {
		return PlanPage{}, err
	}
	chunk, skip, err := planPlace(in.After)
	if err != nil {
		return PlanPage{}, err
	}
	var page PlanPage
	for {
		number, body, found, err := s.readChunk(ctx, i, partPlan, chunk)
		if err != nil || !found {
			return page, err
		}
		if number != chunk {
			skip = 0
		}
		at := 0
		for text := range bytes.Lines(body) {
			if at++; at <= skip {
				continue
			}
			if len(page.Lines) == planPage {
				page.Next = fmt.Sprintf("%d.%d", number, at-1)
				return page, nil
			}
			var line api.ImportLine
			if err := json.Unmarshal(text, &line); err != nil {
				return page, fmt.Errorf("read the plan of a line: %w", err)
			}
			if in.Action == "" || line.Action == in.Action {
				page.Lines = append(page.Lines, line)
			}
		}
		chunk = number + 1
	}
}

// planPlace reads where a page begins: a chunk, and the number of its lines to skip.
func planPlace(after string) (chunk int64, skip int, err error) {
	if after == "" {
		return 0, 0, nil
	}
	number, lines, _ := strings.Cut(after, ".")
	chunk, err = strconv.ParseInt(number, 10, 64)
	if err == nil {
		skip, err = strconv.Atoi(lines)
	}
	if err != nil {
		return 0, 0, fault.Invalid("cursor", "is not one that a page has given")
	}
	return chunk, skip, nil
}
