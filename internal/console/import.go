package console

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/directory/transfer"
	"bursar/internal/fault"
	"bursar/internal/identity"
	"bursar/internal/web"
)

func (c *Console) importRoutes() []Route {
	return []Route{
		c.getIn("/directory/export", c.exportDirectory),
		c.getIn("/directory/imports", c.importsPage),
		c.postIn("/directory/imports", audit.ImportHeld, c.uploadImport),
		c.getIn("/directory/imports/{id}", c.importPage),
		c.postIn("/directory/imports/{id}", audit.ImportStarted, c.startImport),
		c.postIn("/directory/imports/{id}/cancel", audit.ImportCancelled, c.cancelImport),
		c.getIn("/directory/imports/{id}/plan", c.planPage),
		c.getIn("/directory/imports/{id}/refused", c.refusedLines),
	}
}

// Export returns the address of a file with the entries of the list.
func (f directoryFilters) Export(format string) string {
	query := url.Values{"format": {format}}
	for name, value := range map[string]string{"q": f.Q, "type": f.Type, "status": f.Status, "tag": f.Tag, "sort": f.Sort} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return "export?" + query.Encode()
}

// exportDirectory downloads the entries of the list, on all pages.
func (c *Console) exportDirectory(v *visit) error {
	v.action = audit.DirectoryExported
	query := v.filters(append(filterNames(), "format")...)
	if query.Get("q") != "" {
		query.Del("sort")
	}
	return download(v, c.Transfer.Export, transfer.ExportInput{Format: optional(query.Get("format")), ListInput: v.listInput(query)})
}

// download sends a file that a service method writes.
func download[In any](v *visit, write func(ctx context.Context, by db.Caller, in In, to *web.File) error, in In) error {
	return v.SendFile(func(to *web.File) error {
		_, err := read(v, func(ctx context.Context, by db.Caller, in In) (struct{}, error) {
			return struct{}{}, write(ctx, by, in, to)
		}, in)
		return err
	})
}

// importsPage has the upload form, and lists the imports.
type importsPage struct {
	Imports []importView
	Most    int64 // maximum size of a file in bytes
	Pages   pageLinks
}

// MostText returns the maximum size of a file in words.
func (p importsPage) MostText() string { return sizeText(p.Most) }

func (c *Console) importsPage(v *visit) error {
	data, err := v.imports()
	if err != nil {
		return err
	}
	return v.show("directory_imports", "Import", data)
}

func (v *visit) imports() (importsPage, error) {
	list, err := read(v, v.console.Transfer.Imports, transfer.ImportsInput{WorkspaceID: v.workspace.ID, PageParams: v.pageParams()})
	if err != nil {
		return importsPage{}, err
	}
	data := importsPage{Most: transfer.MaxImport}
	for _, i := range list.Rows() {
		data.Imports = append(data.Imports, importView{Import: i})
	}
	next, _ := list.Next()
	data.Pages = v.pageLinks(v.path("directory", "imports"), url.Values{}, next)
	return data, nil
}

// uploadImport stores a file as it arrives. The file waits until a person maps its columns.
func (c *Console) uploadImport(v *visit) error {
	if err := v.need(access.DirectoryWrite); err != nil {
		return err
	}
	held, err := v.upload()
	if err == nil {
		return v.redirect(v.path("directory", "imports", held.ID))
	}
	p, status, ok := uploadProblems(err)
	if !ok {
		return err
	}
	// A browser shows the response only after it has sent the whole file. For a file far above the limit, the connection is closed.
	_, _ = io.CopyN(io.Discard, web.NewUpload(v.Exchange, v.R.Body, transfer.MaxImport, nil), transfer.MaxImport)
	data, err := v.imports()
	if err != nil {
		return err
	}
	return v.showAgain(status, "directory_imports", "Import", p, data)
}

func uploadProblems(err error) (problems, int, bool) {
	var f *fault.Fault
	if errors.As(err, &f) && f.Code == api.CodeBodyTooLarge {
		return problem("file", sentence(f.Message)+" Split it into several files."), http.StatusRequestEntityTooLarge, true
	}
	p, status, ok := formProblems(err)
	if text := p.Fields["body"]; text != "" {
		p = problem("file", "the file "+text)
	}
	return p, status, ok
}

func (v *visit) upload() (api.Import, error) {
	file, err := v.filePart()
	if err != nil {
		return api.Import{}, err
	}
	body := web.NewUpload(v.Exchange, file, transfer.MaxImport, func([]byte) (db.Caller, error) { return v.identifyAgain() })
	in := transfer.ImportInput{WorkspaceID: v.workspace.ID, Hold: new("true"), Name: optional(path.Base(strings.ReplaceAll(file.FileName(), `\`, "/")))}
	return read(v, func(ctx context.Context, by db.Caller, in transfer.ImportInput) (api.Import, error) {
		return v.console.Transfer.Import(ctx, by, in, body)
	}, in)
}

// filePart finds the file in a form that contains nothing else.
func (v *visit) filePart() (*multipart.Part, error) {
	parts, err := v.R.MultipartReader()
	if err != nil {
		return nil, fault.Invalid("file", "is missing: choose one")
	}
	part, err := parts.NextPart()
	if err != nil || part.FormName() != "file" || part.FileName() == "" {
		return nil, fault.Invalid("file", "is missing: choose one")
	}
	return part, nil
}

// identifyAgain checks who is signed in after a long upload, because the session may have ended.
func (v *visit) identifyAgain() (db.Caller, error) {
	v.browser = identity.Browser{}
	if err := v.identify(); err != nil {
		return v.Caller, err
	}
	if v.browser.Actor.ID == "" {
		return v.Caller, fault.New(api.CodeUnauthorized, "you were signed out while the file was sent: sign in and send it again")
	}
	return v.Caller, nil
}

func (c *Console) importPage(v *visit) error {
	data, err := v.importView()
	if err != nil {
		return err
	}
	return v.show("directory_import", data.Title(), data)
}

func (v *visit) importView() (importView, error) {
	i, err := read(v, v.console.Transfer.GetImport, transfer.OneImportInput{ID: v.R.PathValue("id")})
	if err == nil && i.WorkspaceID != v.workspace.ID {
		err = errNoPage
	}
	view := importView{Import: i}
	if p := i.Preview; p != nil {
		v.preset("default_type", p.DefaultType)
		v.preset("match", p.Match)
		v.preset("on_match", p.OnMatch)
		mapping := p.Mapping
		if v.form != nil {
			mapping = v.typedMapping()
		}
		view.Columns = newImportColumns(i, mapping)
	}
	return view, err
}

// typedMapping returns what the columns mean by the form, or nil if it has no columns.
func (v *visit) typedMapping() (mapping map[string]string) {
	for name, values := range v.form {
		if header, ok := strings.CutPrefix(name, "column-"); ok {
			if mapping == nil {
				mapping = map[string]string{}
			}
			mapping[header] = values[0]
		}
	}
	return mapping
}

// startImport starts the import of a held file, or its dry run.
func (c *Console) startImport(v *visit) error {
	in := transfer.StartInput{ID: v.R.PathValue("id"), ImportStart: api.ImportStart{Mapping: v.typedMapping(), DryRun: v.field("do") != "import"}}
	if _, err := submit(v, c.Transfer.StartImport, in); err != nil {
		return v.again(err, c.importPage)
	}
	return v.redirect(v.path("directory", "imports", in.ID))
}

func (c *Console) cancelImport(v *visit) error {
	done, err := change(v, c.Transfer.CancelImport, transfer.OneImportInput{ID: v.R.PathValue("id")})
	if err != nil {
		return err
	}
	text := "Import cancelled."
	if done.Status != api.ImportCancelled {
		text = "The import had ended already."
	}
	return v.done(text, v.path("directory", "imports", done.ID))
}

func (c *Console) refusedLines(v *visit) error {
	v.action = audit.ImportDownloaded
	return download(v, c.Transfer.RefusedLines, transfer.OneImportInput{ID: v.R.PathValue("id")})
}

// planPage shows the dry-run result of each line.
type planPage struct {
	importView
	Lines []planLine
	Only  string
	Pages pageLinks
}

// planLine is a line of a plan in words.
type planLine struct{ api.ImportLine }

// Kind returns the color of the line's result.
func (l planLine) Kind() string {
	return map[string]string{"created": "good", "updated": "warn", "refused": "bad"}[l.Action]
}

// What returns the line's result.
func (l planLine) What() string {
	return map[string]string{"created": "New", "updated": "Changed", "unchanged": "Unchanged", "refused": "Refused"}[l.Action]
}

// Why returns what would change, why the line is refused, or its possible duplicates.
func (l planLine) Why() string {
	if l.Reason != "" {
		return sentence(strings.NewReplacer("fields.", "", "account_name", "account name", "account_id", "account number", "provider must", "bank or wallet must",
			"external_id", "ID in another system").Replace(l.Reason))
	}
	if len(l.Duplicates) > 0 {
		return "It may be a double of " + called(l.Duplicates) + "."
	}
	names := make([]string, len(l.Changes))
	for i, name := range l.Changes {
		names[i] = strings.ToLower(meaning(name))
	}
	return strings.Join(names, ", ")
}

func (c *Console) planPage(v *visit) error {
	v.action = audit.ImportDownloaded
	i, err := v.importView()
	if err != nil {
		return err
	}
	query := v.filters("only")
	plan, err := read(v, c.Transfer.PlanLines, transfer.PlanInput{ID: i.ID, Action: query.Get("only"), After: v.R.URL.Query().Get("cursor")})
	if err != nil {
		return err
	}
	data := planPage{importView: i, Only: query.Get("only"), Pages: v.pageLinks(v.path("directory", "imports", i.ID, "plan"), query, plan.Next)}
	for _, line := range plan.Lines {
		data.Lines = append(data.Lines, planLine{line})
	}
	return v.show("directory_plan", "Rehearsal", data)
}
