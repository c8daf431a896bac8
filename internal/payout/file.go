package payout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/ledger"
	"bursar/internal/payout/control"
	"bursar/internal/payout/payfile"
	"bursar/internal/web"
)

const (
	// MaxFile is the largest file in bytes.
	MaxFile = 32 << 20
	// maxFiles and maxFilesHere bound how many files this node, and a workspace on it, work on at once: their lines are in memory.
	maxFiles     = 6
	maxFilesHere = 2
	// maxRefusedLines is how many lines an error names.
	maxRefusedLines = 100
)

// payFile is a file of payouts that was read to its end.
type payFile struct {
	in      FileInput
	by      db.Caller
	account ledger.Account
	lines   []Line
}

// ReadFile reads a file of payouts and finds its payees. It does not check what depends on money, limits and rules.
func (s *Service) ReadFile(ctx context.Context, by db.Caller, in FileInput, body *web.Upload) ([]Line, error) {
	f, done, err := s.openFile(ctx, by, in, body)
	done()
	return f.lines, err
}

// BatchFile creates the payouts of a file, in batches of [api.MaxBatch]. It checks all of them before it stores the first. A file that is
// sent again creates the payouts that do not exist yet.
func (s *Service) BatchFile(ctx context.Context, by db.Caller, in FileInput, body *web.Upload) (web.Created[[]api.PayoutBatch], error) {
	out := web.Created[[]api.PayoutBatch]{Existing: true}
	f, done, err := s.openFile(ctx, by, in, body)
	defer done()
	if err != nil {
		return out, err
	}
	if out.Value, err = s.checkFile(ctx, f, body); err != nil || in.DryRun != nil && *in.DryRun == "true" {
		return out, err
	}
	if err := refusedLines(out.Value, len(f.lines)); err != nil {
		return out, err
	}
	// What was begun is finished, also if the caller closes the connection.
	ctx = context.WithoutCancel(ctx)
	if out.Value, err = s.storeFile(ctx, f, body); err != nil {
		return out, err
	}
	out.Existing = !slices.ContainsFunc(out.Value, func(b api.PayoutBatch) bool { return b.ID != "" })
	if out.Existing || f.by.IdempotencyKey == nil {
		return out, nil
	}
	return db.Write(ctx, s.db, f.by, func(*db.Tx) (web.Created[[]api.PayoutBatch], audit.Event, error) {
		return out, audit.None("each batch has its row"), nil
	})
}

// openFile reads a file. The caller calls done when it needs the lines no more.
func (s *Service) openFile(ctx context.Context, by db.Caller, in FileInput, body *web.Upload) (f payFile, done func(), err error) {
	f = payFile{in: in, by: by}
	done = func() {}
	if _, err = s.fileSource(ctx, &f); err != nil {
		return f, done, err
	}
	if done, err = s.files.enter(f.account.WorkspaceID); err != nil {
		return f, done, err
	}
	read, err := payfile.ReadNamed(body, f.account.Mode)
	if err != nil {
		if !errors.As(err, new(*fault.Fault)) {
			err = fault.Invalid("body", err.Error())
		}
		return f, done, err
	}
	if err = body.Count((len(read)+api.BatchCost-1)/api.BatchCost - 1); err != nil {
		return f, done, err
	}
	// The body may have taken long: the session and its access are checked again.
	if f.by, err = body.End(); err != nil {
		return f, done, err
	}
	held, err := s.fileSource(ctx, &f)
	if err == nil {
		f.lines, err = s.newLines(ctx, f, read, held)
	}
	return f, done, err
}

// fileSource finds the account that pays a file, and returns the permissions of the caller in its workspace.
func (s *Service) fileSource(ctx context.Context, f *payFile) (access.Set, error) {
	a, _, err := s.source(ctx, f.by, f.in.SourceAccountID, access.PayoutsCreate)
	if err == nil {
		err = inCurrency(a, f.in.Currency)
	}
	if err != nil {
		return 0, err
	}
	f.account = a
	return s.authority.Held(ctx, f.by.Actor, a.WorkspaceID, access.PayoutsCreate)
}

// checkFile runs a dry run of all payouts of a file.
func (s *Service) checkFile(ctx context.Context, f payFile, body *web.Upload) (list []api.PayoutBatch, err error) {
	in := BatchInput{counted: control.Used{}}
	in.DryRun = true
	for lines := range slices.Chunk(f.lines, api.MaxBatch) {
		made, err := s.batchLines(ctx, f, in, lines, body)
		if err != nil {
			return nil, err
		}
		in.spent += made.TotalCents
		list = append(list, made)
	}
	return list, nil
}

// storeFile creates the payouts of a file. A batch that fails leaves those before it.
func (s *Service) storeFile(ctx context.Context, f payFile, body *web.Upload) (list []api.PayoutBatch, err error) {
	f.by.IdempotencyKey = nil // it is for the whole file
	for lines := range slices.Chunk(f.lines, api.MaxBatch) {
		made, err := s.batchLines(ctx, f, BatchInput{}, lines, body)
		var because *fault.Fault
		if errors.As(err, &because) && len(list) > 0 {
			partial := *because
			partial.Message += fmt.Sprintf("; the first %d lines were stored: send the file again for the others", len(list)*api.MaxBatch)
			partial.Passing = true
			return nil, &partial
		}
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	return list, nil
}

// batchLines makes a batch of lines, and adds to its results what they are about.
func (s *Service) batchLines(ctx context.Context, f payFile, in BatchInput, lines []Line, body *web.Upload) (api.PayoutBatch, error) {
	in.SourceAccountID, in.Currency, in.Description = f.in.SourceAccountID, f.in.Currency, f.in.Description
	for _, l := range lines {
		in.Payouts, in.faults = append(in.Payouts, l.PayoutTerms), append(in.faults, l.fault())
	}
	if err := body.Extend(); err != nil {
		return api.PayoutBatch{}, err
	}
	made, err := s.Batch(ctx, f.by, in)
	for i := range made.Value.Results {
		r, l := &made.Value.Results[i], lines[i]
		r.Line, r.AmountCents = l.Number, l.AmountCents
		set(&r.ReceivingMethodID, l.ReceivingMethodID)
		r.To = cmp.Or(l.To, r.ReceivingMethodID)
	}
	return made.Value, err
}

// refusedLines returns the fault that names the lines of a file that a dry run refused, if there are any.
func refusedLines(list []api.PayoutBatch, lines int) error {
	var fields []fault.Violation
	refused, passing, first := 0, false, ""
	for _, b := range list {
		for _, r := range b.Results {
			if r.Error == nil {
				continue
			}
			refused++
			passing = passing || r.Error.Code != api.CodeIdempotencyConflict && r.Error.Code.Info().Temporary
			why := string(r.Error.Code) + ": " + r.Error.Message
			first = cmp.Or(first, fmt.Sprintf("line %d: %s", r.Line, why))
			if len(fields) < maxRefusedLines {
				fields = append(fields, fault.Violation{Field: fmt.Sprintf("lines.%d", r.Line), Constraint: why})
			}
		}
	}
	if refused == 0 {
		return nil
	}
	return &fault.Fault{Code: api.CodeValidation, Details: fault.ViolationDetails{Fields: fields}, Passing: passing,
		Message: fmt.Sprintf("%d of %d lines are refused, so nothing was stored; %s", refused, lines, first)}
}

// fileSlots counts the files that this node works on.
type fileSlots struct {
	mu   sync.Mutex
	all  int
	here map[string]int // by workspace
}

func (f *fileSlots) enter(workspaceID string) (leave func(), err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all >= maxFiles || f.here[workspaceID] >= maxFilesHere {
		return func() {}, &fault.Fault{Code: api.CodeUnavailable, RetryAfter: 5 * time.Second,
			Message: "other files of payouts are being read: try again in a moment"}
	}
	if f.here == nil {
		f.here = map[string]int{}
	}
	f.all++
	f.here[workspaceID]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.all--
		if f.here[workspaceID]--; f.here[workspaceID] == 0 {
			delete(f.here, workspaceID)
		}
	}, nil
}
