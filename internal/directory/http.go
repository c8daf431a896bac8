package directory

import (
	"strings"

	"bursar/internal/fault"
	"bursar/internal/web"
)

const (
	typePerson       = "person"
	typeOrganization = "organization"
	statusActive     = "active"
	statusInactive   = "inactive"
	appliesToAll     = "all"

	maxTags       = 32
	maxTagName    = 64
	maxName       = 200
	maxSearchText = 200
	// maxSearchWords bounds the work that a search can ask for.
	maxSearchWords = 8
)

type listInput struct {
	WorkspaceID string  `query:"workspace_id" required:"true"`
	Type        *string `query:"type"`
	Status      *string `query:"status"`
	Tag         *string `query:"tag"`
	Q           *string `query:"q"`
	web.PageParams

	words []string
}

func (in *listInput) Validate(v *fault.Violations) {
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

type createInput struct {
	WorkspaceID string     `json:"workspace_id" required:"true"`
	Type        string     `json:"type" required:"true"`
	Fields      web.Object `json:"fields" required:"true"`
	Name        *string    `json:"name"`
	Tags        []string   `json:"tags"`
	Label       *string    `json:"label"`

	fields fields
}

func (in *createInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	web.CheckOneOf(v, "type", &in.Type, typePerson, typeOrganization)
	if in.Fields != nil {
		in.fields = parseFields(in.Fields)
		in.fields.check(v)
	}
	web.CheckOptionalText(v, "name", in.Name, 1, maxName)
	web.CheckOptionalText(v, "label", in.Label, 1, maxName)
	checkTags(v, in.Tags)
}

func checkTags(v *fault.Violations, tags []string) {
	if len(tags) > maxTags {
		v.Add("tags", "must have at most 32 elements")
		return
	}
	for i := range tags {
		tags[i] = strings.TrimSpace(tags[i])
		web.CheckText(v, "tags", tags[i], 1, maxTagName)
	}
}

type oneInput struct {
	ID string `path:"id"`
}

type deletedInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

type restoreInInput struct {
	WorkspaceID string `path:"workspace"`
	ID          string `path:"id"`
}

type updateInput struct {
	ID     string     `path:"id"`
	Fields web.Object `json:"fields"`
	Name   *string    `json:"name"`
	Tags   *[]string  `json:"tags"`
	Label  *string    `json:"label"`
	Status *string    `json:"status"`

	fields fields
}

func (in *updateInput) Validate(v *fault.Violations) {
	if in.Fields != nil {
		in.fields = parseFields(in.Fields)
		in.fields.check(v)
	}
	web.CheckOptionalText(v, "name", in.Name, 1, maxName)
	web.CheckOptionalText(v, "label", in.Label, 1, maxName)
	web.CheckOneOf(v, "status", in.Status, statusActive, statusInactive)
	if in.Tags != nil {
		checkTags(v, *in.Tags)
	}
}

type tagsInput struct {
	WorkspaceID string `query:"workspace_id" required:"true"`
	web.PageParams
}

type createTagInput struct {
	WorkspaceID string  `json:"workspace_id" required:"true"`
	Name        string  `json:"name" required:"true"`
	AppliesTo   *string `json:"applies_to"`
}

func (in *createTagInput) Validate(v *fault.Violations) {
	web.CheckText(v, "workspace_id", in.WorkspaceID, 1, 100)
	in.Name = strings.TrimSpace(in.Name)
	checkTagName(v, &in.Name)
	web.CheckOneOf(v, "applies_to", in.AppliesTo, appliesToAll, typePerson, typeOrganization)
}

func checkTagName(v *fault.Violations, name *string) {
	web.CheckOptionalText(v, "name", name, 1, maxTagName)
	if name != nil && looksLikeTagID(*name) {
		v.Add("name", "must not look like a tag's id")
	}
}

type updateTagInput struct {
	ID        string  `path:"id"`
	Name      *string `json:"name"`
	AppliesTo *string `json:"applies_to"`
}

func (in *updateTagInput) Validate(v *fault.Violations) {
	if in.Name != nil {
		*in.Name = strings.TrimSpace(*in.Name)
	}
	checkTagName(v, in.Name)
	web.CheckOneOf(v, "applies_to", in.AppliesTo, appliesToAll, typePerson, typeOrganization)
}

type addMethodInput struct {
	EntryID     string `path:"id"`
	Provider    string `json:"provider" required:"true"`
	AccountName string `json:"account_name" required:"true"`
	AccountID   string `json:"account_id" required:"true"`
	IsDefault   bool   `json:"is_default"`
}

func (in *addMethodInput) Validate(v *fault.Violations) {
	web.CheckText(v, "provider", in.Provider, 1, 64)
	web.CheckText(v, "account_name", in.AccountName, 1, maxName)
	web.CheckText(v, "account_id", in.AccountID, 1, 128)
}

type updateMethodInput struct {
	EntryID     string  `path:"id"`
	MethodID    string  `path:"method_id"`
	Provider    *string `json:"provider"`
	AccountName *string `json:"account_name"`
	AccountID   *string `json:"account_id"`
	IsDefault   *bool   `json:"is_default"`
}

func (in *updateMethodInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "provider", in.Provider, 1, 64)
	web.CheckOptionalText(v, "account_name", in.AccountName, 1, maxName)
	web.CheckOptionalText(v, "account_id", in.AccountID, 1, 128)
}

type methodInput struct {
	EntryID  string `path:"id"`
	MethodID string `path:"method_id"`
}
