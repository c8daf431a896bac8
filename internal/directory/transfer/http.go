package transfer

import (
	"encoding/json"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/directory"
	"bursar/internal/directory/entryfile"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// ImportInput contains the options of an import.
type ImportInput struct {
	WorkspaceID string  `query:"workspace_id" required:"true"`
	Format      *string `query:"format"`
	ContentType *string `header:"Content-Type"`
	Delimiter   *string `query:"delimiter"`
	Raw         *string `query:"raw"`
	Mapping     *string `query:"mapping"`
	DefaultType *string `query:"default_type"`
	Match       *string `query:"match"`
	OnMatch     *string `query:"on_match"`
	DryRun      *string `query:"dry_run"`
	OnDuplicate *string `query:"on_duplicate"`
	Hold        *string `query:"hold"`
	Name        *string `query:"name"`

	options importOptions
}

// Validate reads the options.
func (in *ImportInput) Validate(v *fault.Violations) {
	o := &in.options
	o.Match, o.OnMatch = entryfile.MatchID, entryfile.OnMatchUpdate
	web.CheckOneOf(v, "format", in.Format, entryfile.Formats()...)
	web.CheckOneOf(v, "default_type", in.DefaultType, api.EntryTypes()...)
	checkMatch(v, in.Match, in.OnMatch)
	web.CheckOneOf(v, "on_duplicate", in.OnDuplicate, api.OnDuplicates()...)
	web.CheckOneOf(v, "raw", in.Raw, "true", "false")
	web.CheckOneOf(v, "dry_run", in.DryRun, "true", "false")
	web.CheckOneOf(v, "hold", in.Hold, "true", "false")
	web.CheckOptionalText(v, "name", in.Name, 1, 255)
	set(&o.Format, in.Format)
	set(&o.Type, in.DefaultType)
	set(&o.Match, in.Match)
	set(&o.OnMatch, in.OnMatch)
	set(&o.Delimiter, in.Delimiter)
	set(&o.Name, in.Name)
	o.Raw, o.DryRun, o.Hold = isTrue(in.Raw), isTrue(in.DryRun), isTrue(in.Hold)
	if o.Hold && o.DryRun {
		v.Add("dry_run", "is said when a held file is started")
	}
	if _, err := entryfile.ParseDelimiter(o.Delimiter); err != nil {
		v.Add("delimiter", err.Error())
	}
	if in.Mapping != nil && json.Unmarshal([]byte(*in.Mapping), &o.Mapping) != nil {
		v.Add("mapping", "must be a JSON object of texts: the column of each header, or an empty text to leave it out")
	}
	if o.Format == "" && in.ContentType != nil {
		kind, _, _ := strings.Cut(*in.ContentType, ";")
		o.Format = map[string]string{"text/csv": entryfile.CSV, "application/x-ndjson": entryfile.NDJSON}[strings.ToLower(strings.TrimSpace(kind))]
	}
}

func checkMatch(v *fault.Violations, match, onMatch *string) {
	web.CheckOneOf(v, "match", match, entryfile.Matches()...)
	web.CheckOneOf(v, "on_match", onMatch, entryfile.OnMatches()...)
}

// StartInput names a held import and contains the options for it.
type StartInput struct {
	ID string `path:"id"`
	api.ImportStart
}

// Validate checks the options.
func (in *StartInput) Validate(v *fault.Violations) {
	web.CheckOneOf(v, "default_type", in.DefaultType, api.EntryTypes()...)
	checkMatch(v, in.Match, in.OnMatch)
}

func isTrue(text *string) bool { return text != nil && *text == "true" }

// BatchInput contains the entries to create and update.
type BatchInput struct {
	api.Batch
	OnDuplicate *string `query:"on_duplicate"`
}

// Validate checks the number of items; faults of an item are in its own result.
func (in *BatchInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	web.CheckOneOf(v, "on_duplicate", in.OnDuplicate, api.OnDuplicates()...)
	if len(in.Items) > api.MaxBatch {
		v.Add("items", fmt.Sprintf("must have at most %d elements", api.MaxBatch))
	}
}

// Cost returns how many requests the batch counts as for the rate limit.
func (in *BatchInput) Cost() int { return (len(in.Items) + api.BatchCost - 1) / api.BatchCost }

// OneImportInput names an import.
type OneImportInput struct {
	ID string `path:"id"`
}

// ImportsInput is a request for a page of the imports of a workspace.
type ImportsInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

// ExportInput contains which entries are exported, and how.
type ExportInput struct {
	directory.ListInput
	Format    *string `query:"format"`
	Delimiter *string `query:"delimiter"`
	Raw       *string `query:"raw"`
	Fields    *string `query:"fields"`
	IDs       *string `query:"ids"`

	comma  rune
	chosen []string
	ids    []string
}

// Validate checks the filters and the format of the file.
func (in *ExportInput) Validate(v *fault.Violations) {
	in.ListInput.Validate(v)
	web.CheckOneOf(v, "format", in.Format, entryfile.Formats()...)
	web.CheckOneOf(v, "raw", in.Raw, "true", "false")
	in.comma = ','
	if in.Delimiter != nil {
		comma, err := entryfile.ParseDelimiter(*in.Delimiter)
		if err != nil || comma == 0 {
			v.Add("delimiter", "must be one character, or tab")
		}
		in.comma = comma
	}
	if in.Fields != nil {
		in.chosen = strings.Split(*in.Fields, ",")
	}
	if in.IDs == nil {
		return
	}
	in.ids = strings.Split(*in.IDs, ",")
	if len(in.ids) > directory.MaxIDs {
		v.Add("ids", fmt.Sprintf("must be at most %d", directory.MaxIDs))
	}
	if in.Type != nil || in.Status != nil || in.Tag != nil || in.ExternalID != nil || in.Q != nil || in.Sort != nil {
		v.Add("ids", "must not be given with other filters or an order")
	}
}

func (in *ExportInput) format() string {
	if in.Format == nil {
		return entryfile.CSV
	}
	return *in.Format
}

// set stores a value that was sent.
func set[T any](target, sent *T) {
	if sent != nil {
		*target = *sent
	}
}
