package directory

import (
	"encoding/json"
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/directory/entryfile"
	"bursar/internal/directory/entryword"
	"bursar/internal/fault"
	"bursar/internal/institution"
	"bursar/internal/web"
)

const (
	maxSearchText = 200
	// maxSearchWords bounds the work that one search can cause.
	maxSearchWords = 8
)

// ListInput is a request for a page of a directory.
type ListInput struct {
	WorkspaceID string  `query:"workspace_id" required:"true"`
	Type        *string `query:"type"`
	Status      *string `query:"status"`
	Tag         *string `query:"tag"`
	ExternalID  *string `query:"external_id"`
	Q           *string `query:"q"`
	Sort        *string `query:"sort"`
	web.PageParams

	words []string
}

// Validate checks the page and splits the search text into words.
func (in *ListInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	web.CheckOneOf(v, "sort", in.Sort, api.EntrySorts()...)
	if in.Q == nil {
		return
	}
	if orderOf(in.Sort) != (order{}) {
		v.Add("sort", "must be -created or absent together with q: what is found comes newest first")
	}
	in.words = searchWords(v, "q", *in.Q)
}

// searchWords returns the words that a search looks for.
func searchWords(v *fault.Violations, field, text string) []string {
	if len(text) > maxSearchText {
		v.Add(field, "must be at most 200 bytes")
		return nil
	}
	words := entryword.Distinct(entryword.Split(text))
	if len(words) > maxSearchWords {
		v.Add(field, "must be at most 8 words")
	}
	return words
}

// CreateInput describes a new entry.
type CreateInput struct {
	api.EntryCreate
	OnDuplicate *string `query:"on_duplicate"`

	// Method is the first receiving method of the entry, from the console's form.
	Method *api.ReceivingMethodCreate
}

// Validate checks the entry without reading the database.
func (in *CreateInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	web.CheckOneOf(v, "type", &in.Type, api.EntryTypes()...)
	in.Fields.Check(v.Add)
	in.Fields.CheckNames(v.Add)
	for _, p := range entryfile.Properties() {
		if p.Create != nil {
			web.CheckOptionalText(v, p.Name, *p.Create(&in.EntryCreate), 1, p.Max)
		}
	}
	web.CheckOneOf(v, "on_duplicate", in.OnDuplicate, api.OnDuplicates()...)
	checkTags(v, in.Tags)
	if in.Method != nil {
		checkMethod(v, &in.Method.Provider, &in.Method.AccountName, &in.Method.AccountID, in.Method.InstitutionCode)
	}
}

func checkTags(v *fault.Violations, tags []string) {
	if len(tags) > api.MaxEntryTags {
		v.Add("tags", fmt.Sprintf("must have at most %d elements", api.MaxEntryTags))
		return
	}
	for i := range tags {
		tags[i] = strings.TrimSpace(tags[i])
		web.CheckReference(v, "tags", tags[i], 1, api.MaxTagName)
	}
}

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
	o.Match, o.OnMatch = matchID, onMatchUpdate
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
	web.CheckOneOf(v, "match", match, matchID, matchExternal, matchEmail, matchPhone, matchAccount)
	web.CheckOneOf(v, "on_match", onMatch, onMatchUpdate, onMatchSkip, onMatchRefuse)
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

// ExportInput contains which entries are exported, and how.
type ExportInput struct {
	ListInput
	Format    *string `query:"format"`
	Delimiter *string `query:"delimiter"`
	Raw       *string `query:"raw"`
	Fields    *string `query:"fields"`
	IDs       *string `query:"ids"`

	comma  rune
	chosen []string
	ids    []string
}

// maxIDs is how many entries an export can name.
const maxIDs = 100

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
	if len(in.ids) > maxIDs {
		v.Add("ids", fmt.Sprintf("must be at most %d", maxIDs))
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

// OneImportInput names an import.
type OneImportInput struct {
	ID string `path:"id"`
}

// ImportsInput is a request for a page of the imports of a workspace.
type ImportsInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

// EntryInput names an entry.
type EntryInput struct {
	ID string `path:"id"`
}

// ShowInput names an entry, and the receiving method whose account number is shown in full.
type ShowInput struct {
	ID     string
	Reveal string
}

// DeletedInput is a request for a page of the deleted entries of a workspace.
type DeletedInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

// RestoreInput names a deleted entry and the workspace that it must belong to.
type RestoreInput struct {
	WorkspaceID string `path:"workspace"`
	ID          string `path:"id"`
}

// UpdateInput names an entry and contains the changes to it.
type UpdateInput struct {
	ID string `path:"id"`
	api.EntryUpdate
}

// Validate checks the changes without reading the database.
func (in *UpdateInput) Validate(v *fault.Violations) {
	in.Fields.Check(v.Add)
	in.Fields.CheckNames(v.Add)
	for _, p := range entryfile.Properties() {
		switch value := *p.Update(&in.EntryUpdate); {
		case p.Values != nil:
			web.CheckOneOf(v, p.Name, value, p.Values...)
		case p.Clearable:
			web.CheckOptionalText(v, p.Name, value, 0, p.Max)
		default:
			web.CheckOptionalText(v, p.Name, value, 1, p.Max)
		}
	}
	checkTags(v, in.Tags)
}

// TagsInput is a request for the tags of a workspace.
type TagsInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

// TagInput names a tag.
type TagInput struct {
	ID string `path:"id"`
}

// CreateTagInput describes a new tag.
type CreateTagInput struct {
	api.TagCreate
}

// Validate checks the tag without reading the database.
func (in *CreateTagInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	in.Name = strings.TrimSpace(in.Name)
	checkTag(v, &in.Name, in.AppliesTo)
}

func checkTag(v *fault.Violations, name, appliesTo *string) {
	web.CheckOptionalText(v, "name", name, 1, api.MaxTagName)
	if name != nil && looksLikeTagID(*name) {
		v.Add("name", "must not look like a tag's id")
	}
	web.CheckOneOf(v, "applies_to", appliesTo, append([]string{api.AppliesToAll}, api.EntryTypes()...)...)
}

// UpdateTagInput names a tag and contains the changes to it.
type UpdateTagInput struct {
	ID string `path:"id"`
	api.TagUpdate
}

// Validate checks the changes without reading the database.
func (in *UpdateTagInput) Validate(v *fault.Violations) {
	if in.Name != nil {
		*in.Name = strings.TrimSpace(*in.Name)
	}
	checkTag(v, in.Name, in.AppliesTo)
}

// AddMethodInput names an entry and describes its new receiving method.
type AddMethodInput struct {
	EntryID string `path:"id"`
	api.ReceivingMethodCreate
}

// Validate checks the receiving method without reading the database.
func (in *AddMethodInput) Validate(v *fault.Violations) {
	checkMethod(v, &in.Provider, &in.AccountName, &in.AccountID, in.InstitutionCode)
}

func checkMethod(v *fault.Violations, provider, accountName, accountID, institutionCode *string) {
	web.CheckOptionalText(v, "provider", provider, 1, 64)
	web.CheckOptionalText(v, "account_name", accountName, 1, 200)
	web.CheckOptionalText(v, "account_id", accountID, 1, 128)
	if institutionCode != nil && *institutionCode != "" && institution.Name(*institutionCode) == "" {
		v.Add("institution_code", "must be the code of an institution that can be paid")
	}
}

// UpdateMethodInput names a receiving method and contains the changes to it.
type UpdateMethodInput struct {
	EntryID  string `path:"id"`
	MethodID string `path:"method_id"`
	api.ReceivingMethodUpdate

	// Unseen is set by callers that do not show the response, which has the account number.
	Unseen bool
}

// Validate checks the changes without reading the database.
func (in *UpdateMethodInput) Validate(v *fault.Violations) {
	checkMethod(v, in.Provider, in.AccountName, in.AccountID, in.InstitutionCode)
}

// MethodInput names a receiving method of an entry.
type MethodInput struct {
	EntryID  string `path:"id"`
	MethodID string `path:"method_id"`
}
