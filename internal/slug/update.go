package slug

import (
	"context"

	"bursar/internal/audit"
	"bursar/internal/db"
)

// Named contains the functions that Update needs for a resource with a name and a slug.
type Named[T comparable] struct {
	// Lock reads the resource and locks it against changes until the end of the transaction.
	Lock func(tx *db.Tx) (T, error)
	// Names returns pointers to the resource's name and slug.
	Names func(resource *T) (name, slug *string)
	// Change makes the other changes to the resource, and records them; it may be nil.
	Change func(tx *db.Tx, resource *T, changes *audit.Changes) error
	Save   func(tx *db.Tx, resource T) error
	Event  func(resource T) audit.Event
}

// Update changes the name and the slug of a resource, and calls Change for the rest. A nil name
// or slug stays unchanged. The unique index of the slugs decides whether a slug is free.
func Update[T comparable](ctx context.Context, d *db.DB, by db.Caller, newName, newSlug *string, r Named[T]) (T, error) {
	updated, err := db.Write(ctx, d, by, func(tx *db.Tx) (T, audit.Event, error) {
		before, err := r.Lock(tx)
		if err != nil {
			return before, audit.Event{}, err
		}
		after := before
		var changes audit.Changes
		name, slug := r.Names(&after)
		if newName != nil {
			changes.Add("name", *name, *newName)
			*name = *newName
		}
		if newSlug != nil {
			changes.Add("slug", *slug, *newSlug)
			*slug = *newSlug
		}
		if r.Change != nil {
			if err := r.Change(tx, &after, &changes); err != nil {
				return before, audit.Event{}, err
			}
		}
		if after == before {
			return after, audit.None("nothing changed"), nil
		}
		event := r.Event(after)
		event.Changes = changes
		return after, event, r.Save(tx, after)
	})
	if newSlug != nil && db.IsUnique(err) {
		var none T
		return none, Taken(*newSlug)
	}
	return updated, err
}

// Choose returns a slug for a new resource: the given one, which must be free, or one
// that is derived from the name.
func Choose(given *string, name, fallback string, try func(slug string) (free bool, err error)) error {
	if given == nil {
		return Candidates(From(name, fallback), try)
	}
	free, err := try(*given)
	if err == nil && !free {
		err = Taken(*given)
	}
	return err
}
