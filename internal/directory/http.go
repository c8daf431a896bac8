package directory

import (
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
