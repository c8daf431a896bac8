package subject

import (
	"context"
	"fmt"
	"path/filepath"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/proc"
	"bursar/bench/report"
	"bursar/internal/db"
)

// Bare is the yardstick: this very program, over a store that the product set up.
// It is asked in the words of the product, so that both read the same requests.
func Bare(self, binary, dir string, sizes plan.Sizes) *Subject {
	s := &Subject{Subject: report.Subject{Name: "bare", Title: "Bare handler"}}
	dir = filepath.Join(dir, "bare")
	s.Jobs = []Job{{Title: s.Title, Size: sizes.Main, Rows: 2 * sizes.Main, Do: func(ctx context.Context) (*Server, error) {
		b, err := newSQLiteStore(ctx, binary, dir, sizes.Main)
		if err != nil {
			return nil, err
		}
		address, err := proc.FreeAddress()
		if err != nil {
			return nil, err
		}
		b.base = "http://" + address
		b.token = exampleToken
		me := fmt.Sprintf(`{"ok":true,"data":{"id":%q,"email":"ada@example.com","name":"Ada Lovelace"}}`, b.plan.ActorID)
		return &Server{
			Size: sizes.Main, speaker: bareHandler{b},
			Command: proc.Command{Path: self, Args: []string{BareCommand, address, filepath.Join(dir, db.SQLiteFile), b.plan.WorkspaceID, me}},
			Probe:   proc.Probe{URL: b.base + "/me"},
		}, nil
	}}}
	return s
}

// BareCommand makes this program the yardstick: its arguments are the address to
// listen at, the store, the id of the workspace and the body of GET /me.
const BareCommand = "serve-bare"

// exampleToken is as long as one of the product, which the yardstick reads past.
const exampleToken = "eyJhbGciOiJFZERTQSIsImtpZCI6InNpZ18wMW03ZjcwOTduMDAwNWhxZjV4em5oMGZ5NSIsInR5cCI6IkpXVCJ9" +
	".eyJzaWQiOiJzZXNfMDFtN2Y3MDlyMTAwMGNoNm16aHQ3djNudm0iLCJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjE4MDgwIiwic3ViIjoidXNyXzAxbTdmNzA5N3AwMDBwd3Y1MWduM3A4dmVxIiwiZXhwIjoxNzk0NzM2ODU0LCJpYXQiOjE3OTQ3MzMyNTR9" +
	".k1pIeoeKBsGjgFmosrlyNH_7IpHhP9KKCQI6oTd8G8XwOBBjOIn79fl1acH3nlW40QfinOz7Fc27RWAilHnlAQ"

type bareHandler struct{ like *bursar }

func (h bareHandler) signIn(context.Context) (proc.Probe, error) {
	return proc.Probe{URL: h.like.base + "/me"}, nil
}

func (h bareHandler) ask(ctx context.Context, w plan.Work) (Task, bool, error) {
	paths := map[plan.Kind][]string{
		plan.WhoAmI: {"/me"},
		plan.List:   {"/list"},
		plan.Create: {"/create"},
		// It has no single read; who am I is the least that can stand for one.
		plan.Mixed: {"/list", "/me", "/me", "/create"},
	}
	if w.Filter != "" || paths[w.Kind] == nil {
		return Task{}, false, nil
	}
	t, ok, err := h.like.ask(ctx, w)
	for i, path := range paths[w.Kind] {
		t.Calls[i] = at(t.Calls[i], path)
	}
	return t, ok, err
}

func at(c load.Call, path string) load.Call {
	c.Path = path
	return c
}
