package organization

import (
	"bursar/internal/fault"
	"bursar/internal/slug"
	"bursar/internal/web"
)

type listInput struct{ web.PageParams }

type createInput struct {
	Name string  `json:"name" required:"true"`
	Slug *string `json:"slug"`
}

func (in *createInput) Validate(v *fault.Violations) {
	web.CheckText(v, "name", in.Name, 1, 100)
	slug.Check(v, "slug", in.Slug)
}

type oneInput struct {
	ID string `path:"id"`
}

type settingsInput struct {
	ID   string  `path:"id"`
	Name *string `json:"name"`
	Slug *string `json:"slug"`
}

func (in *settingsInput) Validate(v *fault.Violations) {
	web.CheckOptionalText(v, "name", in.Name, 1, 100)
	slug.Check(v, "slug", in.Slug)
}
