package console

import (
	"time"

	"bursar/internal/audit"
	"bursar/internal/auditlog"
	"bursar/internal/db"
)

const (
	// backupGrace is how far a backup may lag before its owner is warned.
	backupGrace = 5 * time.Minute
	// archiveAge is the maximum age of the newest archive if there is no other backup.
	archiveAge = 7 * 24 * time.Hour
	// newStore is the age of a workspace at which its owner is warned of a missing backup.
	newStore = 24 * time.Hour
)

// backupTrouble warns an owner that the store would be lost with its machine. PostgreSQL has its own backups, which the server cannot see.
func (c *Console) backupTrouble(v *visit) ([]attentionItem, error) {
	if c.endpoints.DB.Embedded() == nil {
		return nil, nil
	}
	owner, err := c.ownsOrganization(v)
	if err != nil || !owner {
		return nil, err
	}
	now := time.UnixMilli(c.endpoints.DB.Now())
	if c.backup == nil {
		return c.archiveTrouble(v, now)
	}
	s := c.backup()
	item := attentionItem{Bad: true, Subject: "The backup"}
	switch {
	case s.IsGood(now, backupGrace) && s.Verified.Error != "":
		item.Text = "cannot be restored: its last verification failed. The operator of this server has to look into it."
	case s.IsGood(now, backupGrace):
		return nil, nil
	case s.Failure == "" && (s.Base.IsZero() || s.Broken):
		item.Text, item.Bad = "is not complete yet: the server is making a copy of everything.", false
	case s.Safe.IsZero() || s.Base.IsZero():
		item.Text = "does not work. The operator of this server finds the reason in its log."
	default:
		item.Text, item.At, item.Since = "is old. The operator of this server finds the reason in its log.", s.Safe.UnixMilli(), "complete until"
	}
	return []attentionItem{item}, nil
}

// archiveTrouble warns that there is no backup, or only an old archive.
func (c *Console) archiveTrouble(v *visit, now time.Time) ([]attentionItem, error) {
	action := string(audit.StoreArchived)
	for row, err := range (auditlog.Outside{Action: &action}).Rows(v.R.Context(), c.endpoints.DB) {
		if err != nil {
			return nil, err
		}
		if now.Sub(time.UnixMilli(row.Timestamp)) < archiveAge {
			return nil, nil
		}
		return []attentionItem{{Bad: true, Subject: "The backup", Text: "is old. The operator of this server can make one all the time with --backup.", At: row.Timestamp, Since: "made"}}, nil
	}
	if now.Sub(time.UnixMilli(db.IDTime("ws", v.workspace.ID))) < newStore {
		return nil, nil
	}
	return []attentionItem{{Bad: true, Subject: "This server", Text: "has no backup. Its operator can make one all the time with --backup."}}, nil
}
