package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bursar/api"
	"bursar/client"
	"bursar/internal/graceful"
)

// importer brings rows into a directory.
type importer struct {
	session   *session
	workspace api.Workspace
	userID    string
	journal   *journal // nil where there is none
	salt      string   // of the idempotency keys
	dry       bool
	retrier   *retrier
	now       func() time.Time
}

// What became of a row, or would.
const (
	actionCreate    = "create"
	actionUpdate    = "update"
	actionUnchanged = "unchanged"
	actionBefore    = "imported before"
	actionRefuse    = "refuse"
)

// outcome is what became of a row.
type outcome struct {
	row     *importRow
	action  string
	id      string
	reason  string   // of a refusal
	changes []string // of an update
}

func refused(row *importRow, reason string) outcome {
	return outcome{row: row, action: actionRefuse, reason: reason}
}

// answerTime is how long what is under way may take after an interruption.
const answerTime = 5 * time.Second

// apply imports a row. An error ends the import.
func (im *importer) apply(ctx context.Context, row *importRow) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	known, err := im.journal.look(row.number)
	if err != nil {
		return outcome{}, err
	}
	if known.done() {
		if known.digest != row.mark() {
			return outcome{}, changedError(row.line)
		}
		return outcome{row: row, action: actionBefore}, nil
	}
	if known.mark == rowSent {
		if reason := im.uncertain(row, known); reason != "" {
			return refused(row, reason), nil
		}
	}
	if problem := row.check(); problem != "" {
		return refused(row, problem), nil
	}
	later, cancel := graceful.Context(ctx, answerTime)
	defer cancel()
	if row.id != "" {
		return im.update(ctx, later, row)
	}
	if im.dry {
		return outcome{row: row, action: actionCreate}, nil
	}
	return im.create(ctx, later, row, known)
}

type changedError int

func (line changedError) Error() string {
	return fmt.Sprintf("line %d is not what it was when it was imported: the file, --map or --type has changed since.\n"+
		"Put the file back, or import what is new from a file of its own; --again imports every line once more", int(line))
}

// keyLifetime is how long a server surely knows an idempotency key: a little less
// than it promises.
const keyLifetime = 23 * time.Hour

// uncertain says why it cannot be told whether a row was made: it was on its way
// when an import ended, and the server does not know the key any more.
func (im *importer) uncertain(row *importRow, known note) string {
	const look = " Look whether the directory has it before you import it"
	switch {
	case known.digest != row.mark():
		return "was changed after it was on its way and the import was interrupted." + look
	case im.now().Sub(known.at) > keyLifetime:
		return "was on its way when the import was interrupted, more than a day ago." + look
	case im.journal.head.UserID != im.userID:
		return "was on its way when the import of somebody else was interrupted." + look
	}
	return ""
}

func (im *importer) create(ctx, later context.Context, row *importRow, known note) (outcome, error) {
	digest, key := row.mark(), row.key(im.workspace.ID, im.salt)
	// The server's memory of the key begins with the first time that it was sent.
	if known.mark != rowSent || known.digest != digest {
		if err := im.journal.put(row.number, rowSent, digest); err != nil {
			return outcome{}, err
		}
	}
	var made api.Created
	var answer *client.Response
	err := im.retrier.call(ctx, func() (err error) {
		answer, err = im.session.Do(client.WithIdempotencyKey(later, key), http.MethodPost, "/directory", row.create(im.workspace.ID), &made)
		return err
	})
	if reason, err := im.judge(err); err != nil || reason != "" {
		if reason == "" {
			return outcome{}, fmt.Errorf("create the entry of line %d: %w", row.line, err)
		}
		return refused(row, reason), im.journal.put(row.number, rowUnknown, "")
	}
	done := outcome{row: row, action: actionCreate, id: made.ID}
	if answer.Header.Get("Idempotent-Replayed") == "true" {
		done.action = actionBefore
	}
	if row.Status != nil && *row.Status != client.StatusActive {
		err := im.retrier.call(ctx, func() error {
			_, err := im.session.Directory.Update(client.WithIdempotencyKey(later, key+"-status"), made.ID, client.EntryUpdateParams{Status: row.Status})
			return err
		})
		if err != nil {
			return outcome{}, fmt.Errorf("set the status of %s, line %d: %w", made.ID, row.line, err)
		}
	}
	return done, im.journal.put(row.number, rowCreated, digest)
}

// update changes an entry where the row says something else than the directory. It
// needs no idempotency key of its own: done twice, it does the same.
func (im *importer) update(ctx, later context.Context, row *importRow) (outcome, error) {
	var have *api.Entry
	err := im.retrier.call(ctx, func() (err error) {
		have, err = im.session.Directory.Get(later, row.id)
		return err
	})
	if client.IsNotFound(err) || err == nil && have.WorkspaceID != im.workspace.ID {
		return refused(row, "there is no entry "+row.id+" in "+im.workspace.Name+": --map id= leaves the ids out and makes new entries"), nil
	}
	if err != nil {
		return outcome{}, fmt.Errorf("read the entry of line %d: %w", row.line, err)
	}
	if row.kind != "" && row.kind != have.Type {
		return refused(row, "type cannot change: the entry is a "+have.Type), nil
	}
	params, changes := row.difference(have)
	done, mark := outcome{row: row, action: actionUpdate, id: row.id, changes: changes}, rowUpdated
	if len(changes) == 0 {
		done.action, mark = actionUnchanged, rowUnchanged
	}
	if im.dry {
		return done, nil
	}
	if len(changes) > 0 {
		err := im.retrier.call(ctx, func() error {
			_, err := im.session.Directory.Update(later, row.id, params)
			return err
		})
		if reason, err := im.judge(err); err != nil || reason != "" {
			if reason == "" {
				return outcome{}, fmt.Errorf("update the entry of line %d: %w", row.line, err)
			}
			return refused(row, reason), nil
		}
	}
	return done, im.journal.put(row.number, mark, row.mark())
}

// judge tells what is wrong with a row from what is wrong with the import.
func (im *importer) judge(err error) (reason string, fatal error) {
	var no *client.Error
	if err == nil || !errors.As(err, &no) {
		return "", err
	}
	switch no.Status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
	case http.StatusForbidden:
		if no.Permission() != tagsWrite { // only the lines with new tags need it
			return "", err
		}
	default:
		return "", err
	}
	text := []string{}
	for _, field := range no.Fields() {
		text = append(text, field.Field+" "+field.Constraint)
	}
	if len(text) == 0 {
		text = append(text, no.Message)
	}
	return strings.Join(text, "; "), nil
}

const (
	directoryWrite = "ws.directory.write"
	tagsWrite      = "ws.tags.write"
)

// mayWrite looks whether the caller may change the directory, so that a missing
// permission is told before anything else. Where that cannot be known the server
// decides.
func (im *importer) mayWrite(ctx context.Context) error {
	for member, err := range im.session.Members.All(ctx, im.workspace.ID, client.ListParams{}) {
		if err != nil {
			return nil
		}
		if member.ID == im.userID {
			return im.rolesMayWrite(ctx, member.Roles)
		}
	}
	return nil
}

func (im *importer) rolesMayWrite(ctx context.Context, held []string) error {
	for role, err := range im.session.Roles.All(ctx, im.workspace.ID, client.ListParams{}) {
		if err != nil {
			return nil
		}
		for _, key := range held {
			for _, permission := range role.Permissions {
				if key == role.Key && permission == directoryWrite {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("you may not change the directory of %s.\nYou need the permission %s here: an admin of the workspace can give you a role that holds it",
		im.workspace.Name, directoryWrite)
}
