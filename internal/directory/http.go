package directory

import (
	"fmt"
	"strings"

	"bursar/api"
	"bursar/internal/fault"
	"bursar/internal/web"
)

const (
	maxSearchText = 200
	// maxSearchWords bounds the work that one search can cause.
	maxSearchWords = 8
)

// ListInput asks for a page of a directory.
type ListInput struct {
	WorkspaceID string  `query:"workspace_id" required:"true"`
	Type        *string `query:"type"`
	Status      *string `query:"status"`
	Tag         *string `query:"tag"`
	Q           *string `query:"q"`
	web.PageParams

	words []string
}

// Validate checks the page and splits the search text into words.
func (in *ListInput) Validate(v *fault.Violations) {
	in.PageParams.Validate(v)
	if in.Q == nil {
		return
	}
	if len(*in.Q) > maxSearchText {
		v.Add("q", "must be at most 200 bytes")
		return
	}
	if in.words = distinct(split(*in.Q)); len(in.words) > maxSearchWords {
		v.Add("q", "must be at most 8 words")
	}
}

// CreateInput describes a new entry.
type CreateInput struct {
	api.EntryCreate
}

// Validate checks the entry without looking at the database.
func (in *CreateInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	web.CheckOneOf(v, "type", &in.Type, api.EntryTypes()...)
	in.Fields.Check(v.Add)
	web.CheckOptionalText(v, "name", in.Name, 1, api.MaxEntryName)
	web.CheckOptionalText(v, "label", in.Label, 1, api.MaxEntryName)
	checkTags(v, in.Tags)
}

func checkTags(v *fault.Violations, tags []string) {
	if len(tags) > api.MaxEntryTags {
		v.Add("tags", fmt.Sprintf("must have at most %d elements", api.MaxEntryTags))
		return
	}
	for i := range tags {
		tags[i] = strings.TrimSpace(tags[i])
		web.CheckText(v, "tags", tags[i], 1, api.MaxTagName)
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

// DeletedInput asks for a page of the deleted entries of a workspace.
type DeletedInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

// RestoreInput names a deleted entry and the workspace that it must belong to.
type RestoreInput struct {
	WorkspaceID string `path:"workspace"`
	ID          string `path:"id"`
}

// UpdateInput names an entry and says what to change about it.
type UpdateInput struct {
	ID string `path:"id"`
	api.EntryUpdate
}

// Validate checks the change without looking at the database.
func (in *UpdateInput) Validate(v *fault.Violations) {
	in.Fields.Check(v.Add)
	web.CheckOptionalText(v, "name", in.Name, 1, api.MaxEntryName)
	web.CheckOptionalText(v, "label", in.Label, 1, api.MaxEntryName)
	web.CheckOneOf(v, "status", in.Status, api.EntryStatuses()...)
	checkTags(v, in.Tags)
}

// TagsInput asks for the tags of a workspace.
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

// Validate checks the tag without looking at the database.
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

// UpdateTagInput names a tag and says what to change about it.
type UpdateTagInput struct {
	ID string `path:"id"`
	api.TagUpdate
}

// Validate checks the change without looking at the database.
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

// Validate checks the receiving method without looking at the database.
func (in *AddMethodInput) Validate(v *fault.Violations) {
	checkMethod(v, &in.Provider, &in.AccountName, &in.AccountID)
}

func checkMethod(v *fault.Violations, provider, accountName, accountID *string) {
	web.CheckOptionalText(v, "provider", provider, 1, 64)
	web.CheckOptionalText(v, "account_name", accountName, 1, 200)
	web.CheckOptionalText(v, "account_id", accountID, 1, 128)
}

// UpdateMethodInput names a receiving method and says what to change about it.
type UpdateMethodInput struct {
	EntryID  string `path:"id"`
	MethodID string `path:"method_id"`
	api.ReceivingMethodUpdate

	// Unseen is set by whoever does not show the answer, which has the account number.
	Unseen bool
}

// Validate checks the change without looking at the database.
func (in *UpdateMethodInput) Validate(v *fault.Violations) {
	checkMethod(v, in.Provider, in.AccountName, in.AccountID)
}

// MethodInput names a receiving method of an entry.
type MethodInput struct {
	EntryID  string `path:"id"`
	MethodID string `path:"method_id"`
}
