package server

import (
	"errors"
	"net/http"
	"strings"

	"bursar/api"
	"bursar/internal/auditlog"
	"bursar/internal/fault"
	"bursar/internal/web"
)

// checkpoint responds with the newest checkpoint of the audit log (C2SP tlog-tiles). It is
// public, because it reveals only the size of the log and not its contents.
func (s *Server) checkpoint(x *web.Exchange) {
	text, err := s.audit.Signer().Checkpoint(x.R.Context())
	var broken *auditlog.BrokenError
	switch {
	case errors.Is(err, auditlog.ErrUnsigned):
		err = fault.New(api.CodeNotFound, "the audit log has no checkpoint here")
	case errors.As(err, &broken):
		err = fault.New(api.CodeUnavailable, "the audit log is not signed at present")
	}
	if err != nil {
		x.Fail(err)
		return
	}
	writeTree(x, "text/plain; charset=utf-8", "no-cache", text)
}

// tile responds with the hashes of a tile of the audit log. Leaves are not published: they
// can be computed from the rows.
func (s *Server) tile(x *web.Exchange) {
	hashes, full, err := s.audit.Tile(x.R.Context(), strings.TrimPrefix(x.R.URL.Path, "/audit-log/"))
	if err == nil && hashes == nil {
		err = fault.New(api.CodeNotFound, "the audit log has no such tile")
	}
	if err != nil {
		x.Fail(err)
		return
	}
	cache := "no-cache"
	if full {
		cache = "public, max-age=31536000, immutable"
	}
	writeTree(x, "application/octet-stream", cache, hashes)
}

func writeTree(x *web.Exchange, kind, cache string, body []byte) {
	x.W.Header().Set("Content-Type", kind)
	x.W.Header().Set("Cache-Control", cache)
	x.W.Header().Set("Access-Control-Allow-Origin", "*") // allows a page elsewhere to verify
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(body)
	}
}
