package console

import (
	"fmt"
	"time"

	"bursar/api"
	"bursar/internal/access"
	"bursar/internal/identity"
	"bursar/internal/web"
)

// shownAlike is how many things of a kind want attention by name.
const shownAlike = 5

// attentionItem is something that somebody should look at.
type attentionItem struct {
	Subject string // what it is about
	Text    string // what is the matter with it
	Path    string
	At      int64 // since when; 0 where it does not matter
	Since   string
}

// homeKeys are the credentials whose use the visitor may see.
type homeKeys struct {
	own     []api.APIKey
	clients []identity.ClientInfo
}

func (c *Console) homeKeys(v *visit) (homeKeys, error) {
	list, err := ask(v, c.Identity.APIKeys, web.Args{})
	keys := homeKeys{own: list.Rows()}
	if err == nil && v.can(access.KeysRead) {
		keys.clients, err = ask(v, c.Clients.List, web.Args{Path: map[string]string{"id": v.workspace.ID}})
	}
	return keys, err
}

// invitations are the members who have yet to come.
func invitations(v *visit, members []api.Member) []attentionItem {
	var items []attentionItem
	path := v.path("members") + "?status=invited"
	for _, m := range members {
		if m.Status == "invited" {
			items = append(items, attentionItem{Subject: m.Email, Text: "was invited and has not joined yet", Path: path})
		}
	}
	return fewAlike(items, "have not joined yet", path)
}

// unused are the keys and clients that nobody has used for long.
func (k homeKeys) unused(v *visit) []attentionItem {
	now := v.console.endpoints.DB.Now()
	var keys, clients []attentionItem
	for _, key := range k.own {
		if key.ExpiresAt == 0 || key.ExpiresAt > now {
			keys = append(keys, idleKey(now, "Your API key "+key.Name, key.CreatedAt, key.LastUsedAt, v.path("keys"))...)
		}
	}
	for _, client := range k.clients {
		clients = append(clients, idleKey(now, "Machine client "+client.Name, client.CreatedAt, client.LastUsedAt, v.path("keys"))...)
	}
	return append(fewAlike(keys, "API keys of yours are not used either", v.path("keys")),
		fewAlike(clients, "machine clients are not used either", v.path("keys"))...)
}

// idleKey is what to say of a credential, if anything.
func idleKey(now int64, subject string, made, used int64, path string) []attentionItem {
	if !idle(now, made, used) {
		return nil
	}
	unused := time.Duration(now-used) * time.Millisecond
	item := attentionItem{Subject: subject, Text: "has not been used for " + roughly(unused), Path: path, At: used, Since: "last used"}
	if used == 0 {
		item.Text, item.At, item.Since = "was never used", made, "made"
	}
	return []attentionItem{item}
}

// fewAlike names some and counts the rest.
func fewAlike(items []attentionItem, rest, path string) []attentionItem {
	if len(items) <= shownAlike {
		return items
	}
	more := len(items) - shownAlike
	return append(items[:shownAlike:shownAlike], attentionItem{Subject: fmt.Sprintf("%d more", more), Text: rest, Path: path})
}

// step is something to begin with.
type step struct {
	Title, Text, Path, Label string
	Done                     bool
}

// firstSteps are what the visitor can do in a workspace that is still empty.
func firstSteps(v *visit, members, keys int) []step {
	var steps []step
	if v.can(access.DirectoryWrite) {
		steps = append(steps, step{Title: "Add a payee", Text: "A person or an organization that you pay.", Path: v.path("directory", "new"), Label: "Add a payee"})
	}
	if v.can(access.MembersWrite) {
		steps = append(steps, step{Title: "Invite someone", Text: "Somebody to work with, in the role that fits.", Path: v.path("members"), Label: "Invite someone", Done: members > 1})
	}
	steps = append(steps, step{Title: "Make an API key", Text: "Programs use it to act as you.", Path: v.path("keys", "new"), Label: "Make a key", Done: keys > 0})
	return steps
}
