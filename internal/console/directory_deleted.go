package console

import (
	"bursar/internal/directory"
)

// deletedPage lists the deleted entries that can still be restored.
type deletedPage struct {
	Entries []directory.DeletedEntry
	Pages   pageLinks
}

func (c *Console) deletedPage(v *visit) error {
	list, err := read(v, c.Directory.Deleted, directory.DeletedInput{WorkspaceID: v.workspace.ID, PageParams: v.pageParams()})
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
	if _, err := change(v, c.Directory.RestoreIn, directory.RestoreInput{WorkspaceID: v.workspace.ID, ID: id}); err != nil {
		return err
	}
	return v.done("Entry restored.", v.path("directory", id))
}
