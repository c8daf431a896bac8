package console

import (
	"bursar/internal/audit"
	"bursar/internal/directory"
	"bursar/internal/web"
)

// deletedPage lists the deleted entries that can still be restored.
type deletedPage struct {
	Entries []directory.DeletedEntry
	Pages   pageLinks
}

func (c *Console) deletedPage(v *visit) error {
	list, err := ask(v, c.Directory.Deleted, web.Args{Query: v.listQuery(nil)})
	if wrong(err, "cursor") {
		return v.redirect(v.path("directory", "deleted"))
	}
	if err != nil {
		return err
	}
	next, _ := list.Next()
	return v.show("directory_deleted", "Deleted entries", deletedPage{list.Rows(), v.pageLinks(v.path("directory", "deleted"), nil, next)})
}

func (c *Console) restoreEntry(v *visit) error {
	id := v.R.PathValue("id")
	if _, err := act(v, audit.EntryRestored, c.Directory.RestoreIn, web.Args{Path: map[string]string{"id": id, "workspace": v.workspace.ID}}); err != nil {
		return err
	}
	return v.done("Entry restored.", v.path("directory", id))
}
