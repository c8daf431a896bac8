package subject

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"bursar/bench/load"
	"bursar/bench/plan"
	"bursar/bench/report"
	"bursar/internal/db"
)

// BareCommand makes this program serve the bare handler. Its arguments are the address, the
// store, the workspace, an entry to copy, and the body of GET /me.
const BareCommand = "serve-bare"

// Bare is the bare handler: this program, over a store that the product has set up. It gets
// the same requests as the product, except for their paths.
func Bare(ctx context.Context, setup Setup) (*Subject, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	binary, err := setup.bursar(ctx)
	dir, size := filepath.Join(setup.Dir, "bare"), setup.Sizes.Main
	return &Subject{Subject: report.Subject{Name: "bare", Title: "Bare handler"}, Stores: []Store{{Rows: 2 * size, Fill: func(ctx context.Context) (*Server, error) {
		b, err := newSQLiteStore(ctx, binary, dir, size)
		if err != nil {
			return nil, err
		}
		address, err := freeAddress()
		b.base, b.token = "http://"+address, exampleToken
		me := fmt.Sprintf(`{"ok":true,"data":{"id":%q,"email":"ada@example.com","name":"Ada Lovelace"}}`, b.plan.ActorID)
		return &Server{
			Size: size, client: bareHandler{b}, probe: Probe{URL: b.base + "/me"},
			path: self, args: []string{BareCommand, address, filepath.Join(dir, db.SQLiteFile), b.plan.WorkspaceID, b.plan.SourceID, me},
		}, err
	}}}}, err
}

// exampleToken is as long as a token of the product. The bare handler ignores it.
const exampleToken = "eyJhbGciOiJFZERTQSIsImtpZCI6InNpZ18wMW03ZjcwOTduMDAwNWhxZjV4em5oMGZ5NSIsInR5cCI6IkpXVCJ9" +
	".eyJzaWQiOiJzZXNfMDFtN2Y3MDlyMTAwMGNoNm16aHQ3djNudm0iLCJpc3MiOiJodHRwOi8vMTI3LjAuMC4xOjE4MDgwIiwic3ViIjoidXNyXzAxbTdmNzA5N3AwMDBwd3Y1MWduM3A4dmVxIiwiZXhwIjoxNzk0NzM2ODU0LCJpYXQiOjE3OTQ3MzMyNTR9" +
	".k1pIeoeKBsGjgFmosrlyNH_7IpHhP9KKCQI6oTd8G8XwOBBjOIn79fl1acH3nlW40QfinOz7Fc27RWAilHnlAQ"

type bareHandler struct{ like *bursar }

func (h bareHandler) signIn(context.Context) (Probe, error) {
	return Probe{URL: h.like.base + "/me"}, nil
}

func (h bareHandler) requests(ctx context.Context, w plan.Workload) (base string, requests []load.Request, ok bool, err error) {
	paths := map[plan.Kind][]string{
		plan.WhoAmI: {"/me"},
		plan.List:   {"/list"},
		plan.Create: {"/create"},
		plan.Mixed:  {"/list", "/me", "/me", "/create"}, // /me stands for the single read, which it does not have
	}
	if w.Filter != "" || paths[w.Kind] == nil {
		return "", nil, false, nil
	}
	base, requests, ok, err = h.like.build(ctx, w)
	for i, path := range paths[w.Kind] {
		requests[i].Path = path
	}
	return base, requests, ok, err
}
