package identity

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/audit"
	"bursar/internal/db"
	"bursar/internal/fault"
	"bursar/internal/identity/credential"
	"bursar/internal/mail"
	"bursar/internal/web"
)

const (
	apiKeyPrefix = "bk_"

	// maxKeys is the maximum number of live keys of a user.
	maxKeys = 100
)

// APIKeys lists the caller's keys, oldest first. A limited key sees only itself.
func (s *Service) APIKeys(ctx context.Context, by db.Caller, in KeysInput) (web.Page[api.APIKey], error) {
	only := ""
	if by.Scope.Limited() {
		only = by.KeyID
	}
	return web.ReadUnpaged(ctx, s.db, s.cursors, in.PageParams, func(k api.APIKey) string { return k.ID },
		func(q db.Q, after string, take int) ([]api.APIKey, error) { return keysOf(q, by.ID, only, after, take) }, "api-keys", by.ID, only)
}

// keysOf reads the keys of a user, or only one of them.
func keysOf(q db.Q, userID, only, after string, take int) ([]api.APIKey, error) {
	var malformed error
	list, err := db.Collect(q, func(r db.Rows) api.APIKey {
		scope, err := audit.ParseScope(r.Text(6))
		if err != nil {
			malformed = err
		}
		return api.APIKey{ID: r.Text(0), Name: r.Text(1), CreatedAt: r.Int(2), ExpiresAt: r.Int(3), LastUsedAt: r.Int(4),
			AllowedCIDRs: strings.Fields(r.Text(5)), Scope: scopeWire(scope)}
	}, `SELECT id, name, created_at, expires_at, last_used_at, allowed_cidrs, scope FROM api_key
		WHERE account_id = $1 AND revoked_at IS NULL AND id > $2 AND ($4 = '' OR id = $4) ORDER BY id LIMIT $3`, userID, after, take, only)
	return list, cmp.Or(err, malformed)
}

// SetupKeyName is the name of the API key that the setup of a store creates for the
// first admin.
const SetupKeyName = "first key"

// NewKey describes an API key to create.
type NewKey struct {
	UserID       string
	Name         string
	CreatedAt    int64 // 0 for now
	ExpiresAt    int64
	AllowedCIDRs []string
	Scope        audit.Scope
	ParentID     string // the key that it ends with: see dependOn
	RotatedFrom  string // the key that it replaces
	OneFactor    bool   // not accepted by organizations that require a second factor
}

// InsertKey stores a new API key. Only the result contains its secret.
func InsertKey(tx *db.Tx, k NewKey) (api.NewAPIKey, error) {
	made := api.NewAPIKey{
		ID: tx.NewID("key"), Name: k.Name, APIKey: credential.New(apiKeyPrefix),
		CreatedAt: cmp.Or(k.CreatedAt, tx.Now()), ExpiresAt: k.ExpiresAt, AllowedCIDRs: k.AllowedCIDRs,
		Scope: scopeWire(k.Scope),
	}
	var lifetime int64
	if k.ExpiresAt != 0 {
		lifetime = k.ExpiresAt - made.CreatedAt
	}
	return made, tx.Exec(`INSERT INTO api_key (id, account_id, name, hash, allowed_cidrs, created_at, lifetime, expires_at, parent_id, scope, one_factor, rotated_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		made.ID, k.UserID, k.Name, credential.Hash(made.APIKey), strings.Join(k.AllowedCIDRs, " "),
		made.CreatedAt, db.NullInt(lifetime), db.NullInt(k.ExpiresAt), db.NullText(k.ParentID), k.Scope.String(), k.OneFactor, db.NullText(k.RotatedFrom))
}

// dependOn makes a new key depend on its parent, so that the holder of the parent gains nothing by creating it. The new key is limited to
// the parent's networks, expires no later, and is revoked with it. Without a parent, dependOn does nothing.
func (k *NewKey) dependOn(tx *db.Tx, parentID string) error {
	if parentID == "" {
		return nil
	}
	var cidrs, scope string
	var end int64
	live, err := tx.Row(`SELECT allowed_cidrs, expires_at, scope FROM api_key
		WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, parentID, tx.Now()).Scan(&cidrs, &end, &scope)
	if err == nil && !live {
		err = errNotAuthenticated
	}
	if err != nil {
		return err
	}
	limit, err := audit.ParseScope(scope)
	if err != nil {
		return err
	}
	k.ParentID, k.Scope = parentID, k.Scope.Within(limit)
	k.endBy(end)
	allowed := strings.Fields(cidrs)
	switch {
	case len(allowed) == 0:
	case len(k.AllowedCIDRs) == 0:
		k.AllowedCIDRs = allowed
	case !slices.ContainsFunc(k.AllowedCIDRs, func(network string) bool { return !within(allowed, network) }):
	default:
		return fault.Invalid("allowed_cidrs", "must be within the networks of the API key that you are logged in with: "+strings.Join(allowed, ", "))
	}
	return nil
}

// endBy makes the key expire at a time, unless it expires before. 0 is no time.
func (k *NewKey) endBy(end int64) {
	if end != 0 && (k.ExpiresAt == 0 || k.ExpiresAt > end) {
		k.ExpiresAt = end
	}
}

// within reports whether a network is part of one of the others.
func within(networks []string, network string) bool {
	part, err := netip.ParsePrefix(network)
	return err == nil && slices.ContainsFunc(networks, func(text string) bool {
		whole, err := netip.ParsePrefix(text)
		return err == nil && whole.Bits() <= part.Bits() && whole.Contains(part.Addr())
	})
}

// dependents returns a key and all live keys that end with it. Keys that depend on an ended key have ended, too, so it returns at most
// maxKeys. Otherwise a thief could make a key hard to revoke by creating and revoking thousands with it.
func dependents(tx *db.Tx, keyID string) ([]string, error) {
	all := []string{keyID}
	for i := 0; i < len(all); i++ {
		made, err := db.Collect(tx.Q, func(r db.Rows) string { return r.Text(0) }, `SELECT id FROM api_key
			WHERE parent_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`, all[i], tx.Now())
		if err != nil {
			return nil, err
		}
		all = append(all, made...)
	}
	return all, nil
}

// CreateKey creates an API key for the caller.
func (s *Service) CreateKey(ctx context.Context, by db.Caller, in NewKeyInput) (api.NewAPIKey, error) {
	if by.Type == audit.Client {
		return api.NewAPIKey{}, fault.New(api.CodeForbidden, "a machine client cannot have API keys")
	}
	if err := access.RequireAdministration(by.Actor, s.db.Now()); err != nil {
		return api.NewAPIKey{}, err
	}
	key := NewKey{UserID: by.ID, Name: in.Name, AllowedCIDRs: normalCIDRs(in.AllowedCIDRs), OneFactor: by.NeedsFactor || by.KeyID != "" && by.OneFactor}
	if in.ExpiresAt != nil {
		key.ExpiresAt = *in.ExpiresAt
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.NewAPIKey, audit.Event, error) {
		if err := LockCaller(tx, by); err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		if err := roomForKey(tx.Q, by.ID, tx.Now()); err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		key := key // fn may run more than once
		var err error
		if key.Scope, err = scopeWithin(tx.Q, by.Actor, in.ScopeRequest); err == nil {
			err = key.dependOn(tx, by.KeyID)
		}
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		made, err := InsertKey(tx, key)
		if err == nil {
			err = s.tellOfKey(tx, by, made)
		}
		return made, keyCreated(made, "Created API key "+key.Name), err
	})
}

// tellOfKey notifies the caller of a new key of theirs.
func (s *Service) tellOfKey(tx *db.Tx, by db.Caller, made api.NewAPIKey) error {
	return s.config.Notices.Notify(tx, by, by.ID, by.Email, mail.KeyCreated, made.Name)
}

// LockUser serializes changes of a user's keys. Call it before reading the clock, because it may have to wait.
func LockUser(tx *db.Tx, userID string) error {
	_, err := tx.Row(`UPDATE account SET name = name WHERE id = $1 RETURNING id`, userID).Scan(new(string))
	return err
}

// usersAtOnce is how many users a statement locks.
const usersAtOnce = 512

// LockUsers locks users that lose access, in the order of their ids, so that nothing they decide is stored after the answer.
func LockUsers(tx *db.Tx, userIDs []string) error {
	for some := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(userIDs))), usersAtOnce) {
		ids := make([]any, len(some))
		for i, id := range some {
			ids[i] = id
		}
		sql := db.NewStatement(`SELECT id FROM account`)
		sql.AddList(` WHERE id IN (`, ids)
		sql.Add(tx.ForUpdate(` ORDER BY id`))
		if err := tx.EachOf(sql, func(db.Rows) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// LockCaller is LockAccount for a caller who gives access or makes a secret. It returns an error unless their session is live.
func LockCaller(tx *db.Tx, by db.Caller) error {
	if err := LockUser(tx, by.ID); err != nil {
		return err
	}
	return RequireSession(tx, by)
}

// roomForKey returns an error if the user has the maximum number of live keys.
func roomForKey(q db.Q, userID string, now int64) error {
	var live int
	_, err := q.Row(`SELECT count(*) FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
		userID, now).Scan(&live)
	if err == nil && live >= maxKeys {
		err = fault.New(api.CodeTooMany, "you have %d API keys already, which is the limit: revoke one first", maxKeys)
	}
	return err
}

// normalCIDRs writes networks in their shortest form, and IPv4-mapped IPv6 networks
// as IPv4.
func normalCIDRs(list []string) []string {
	out := []string{}
	for _, text := range list {
		if network, err := netip.ParsePrefix(text); err == nil {
			if network.Addr().Is4In6() && network.Bits() >= 96 {
				network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
			}
			out = append(out, network.Masked().String())
		}
	}
	return out
}

func keyEvent(action audit.Action, id, description string) audit.Event {
	return audit.Event{Action: action, ResourceID: id, Description: description}
}

// keyCreated is the event of a new key. It describes the scope of the key, without its secret.
func keyCreated(made api.NewAPIKey, description string) audit.Event {
	event := keyEvent(audit.KeyCreated, made.ID, description)
	event.Changes.Add("name", nil, made.Name)
	event.Changes.Add("expires_at", nil, made.ExpiresAt)
	event.Changes.AddItems("allowed_cidrs", nil, made.AllowedCIDRs)
	addScope(&event.Changes, made.Scope)
	return event
}

// keyRevoked is the event of a revoked key.
func keyRevoked(id, name string) audit.Event {
	event := keyEvent(audit.KeyRevoked, id, "Revoked API key "+name)
	event.Changes = revoked()
	return event
}

// revoked is the change, as logged, of a revoked key or machine client.
func revoked() audit.Changes {
	var c audit.Changes
	c.Add("status", statusActive, "revoked")
	return c
}

// RotateKey replaces a key with a new one. The old key stays valid for a grace period.
func (s *Service) RotateKey(ctx context.Context, by db.Caller, in RotateInput) (api.NewAPIKey, error) {
	if err := access.RequireRecentLogin(by.Actor, s.db.Now()); err != nil {
		return api.NewAPIKey{}, err
	}
	grace := int64(defaultGrace)
	if in.GraceSeconds != nil {
		grace = *in.GraceSeconds
	}
	return db.Write(ctx, s.db, by, func(tx *db.Tx) (api.NewAPIKey, audit.Event, error) {
		if err := LockCaller(tx, by); err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		ownEnd, err := expiryOf(tx.Q, by.KeyID) // before the rotation brings it forward
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		before, err := expiryOf(tx.Q, in.ID)
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		next, end, err := retireKey(tx, in.ID, by.ID, grace*1000)
		if err == nil && !next.OneFactor { // the key is valid where the caller is not
			err = access.RequireSecondFactor(by.Actor)
		}
		if err == nil {
			err = next.limitRotation(tx, by.KeyID, in.ID, ownEnd)
		}
		if err == nil {
			err = roomForKey(tx.Q, by.ID, next.CreatedAt)
		}
		if err != nil {
			return api.NewAPIKey{}, audit.Event{}, err
		}
		next.RotatedFrom = in.ID
		made, err := InsertKey(tx, next)
		if err == nil {
			err = s.tellOfKey(tx, by, made)
		}
		made.Previous = &api.PreviousAPIKey{ID: in.ID, ExpiresAt: end}
		event := keyEvent(audit.KeyRotated, in.ID, "Rotated API key "+next.Name)
		event.Changes.Add("expires_at", before, end)
		event.Changes.Add("replaced_by", nil, made.ID)
		return made, event, err
	})
}

// limitRotation limits the successor of a key that is rotated in a session which itself depends on a key. Such a session can rotate that
// key and those that depend on it. The successor expires no later than the key of the session would have.
func (k *NewKey) limitRotation(tx *db.Tx, keyOfSession, rotated string, end int64) error {
	if keyOfSession == "" {
		return nil
	}
	within, err := access.MadeWith(tx.Q, rotated, keyOfSession)
	if err == nil && !within {
		err = fault.New(api.CodeForbidden, "you are logged in with an API key: it can rotate only itself and the keys that were made with it")
	}
	k.endBy(end)
	return err
}

// expiryOf returns when a key expires, 0 if it does not.
func expiryOf(q db.Q, keyID string) (end int64, err error) {
	_, err = q.Row(`SELECT expires_at FROM api_key WHERE id = $1`, keyID).Scan(&end)
	return end, err
}

// retireKey makes a live key, and all that depend on it, expire after the grace period, or
// earlier if they would have expired anyway. It returns the properties that the key's
// successor inherits.
func retireKey(tx *db.Tx, id, userID string, grace int64) (next NewKey, end int64, err error) {
	now := tx.Now()
	var cidrs, parentID, scope string
	var lifetime, expiresAt int64
	found, err := tx.Row(`SELECT name, allowed_cidrs, lifetime, expires_at, parent_id, scope, one_factor FROM api_key
		WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)`, id, userID, now).
		Scan(&next.Name, &cidrs, &lifetime, &expiresAt, &parentID, &scope, &next.OneFactor)
	if err == nil && !found {
		err = fault.Foreign("API key", fault.Scope{})
	}
	if err == nil {
		next.Scope, err = audit.ParseScope(scope)
	}
	if err != nil {
		return next, 0, err
	}
	next.UserID, next.CreatedAt, next.AllowedCIDRs = userID, now, strings.Fields(cidrs)
	end = now + grace
	if expiresAt != 0 {
		end = min(end, expiresAt)
	}
	if lifetime != 0 {
		next.ExpiresAt = min(now+lifetime, web.LastMillisecond)
	}
	if err := next.dependOn(tx, parentID); err != nil {
		return next, 0, err
	}
	ending, err := dependents(tx, id)
	if err != nil {
		return next, 0, err
	}
	for _, id := range ending {
		if err := tx.Exec(`UPDATE api_key SET expires_at = $2 WHERE id = $1 AND (expires_at IS NULL OR expires_at > $2)`, id, end); err != nil {
			return next, 0, err
		}
	}
	return next, end, nil
}
