package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"

	"bursar/internal/web"
)

//go:embed static
var staticFiles embed.FS

// assets contains the static files. A file's address contains a hash of its content, so browsers can cache it permanently.
type assets struct {
	names map[string]string // by file name
	files map[string][]byte // by the name in the address
}

func loadAssets() (assets, error) {
	a := assets{map[string]string{}, map[string][]byte{}}
	files, err := fs.Glob(staticFiles, "static/*")
	if err != nil {
		return a, fmt.Errorf("list the static files: %w", err)
	}
	for _, file := range files {
		data, err := staticFiles.ReadFile(file)
		if err != nil {
			return a, fmt.Errorf("read a static file: %w", err)
		}
		sum := sha256.Sum256(data)
		base := path.Base(file)
		name := hex.EncodeToString(sum[:6]) + "-" + base
		a.names[base], a.files[name] = name, data
	}
	return a, nil
}

func (a assets) path(name string) (string, error) {
	hashed, ok := a.names[name]
	if !ok {
		return "", fmt.Errorf("no static file is called %s", name)
	}
	return "/assets/" + hashed, nil
}

func (c *Console) assetRoutes() []Route {
	return []Route{{http.MethodGet, "/assets/{file}", c.asset}, {http.MethodGet, "/favicon.ico", c.icon}}
}

func (c *Console) asset(x *web.Exchange) {
	c.serveAsset(x, x.R.PathValue("file"), "public, max-age=31536000, immutable")
}

// icon serves the icon, which browsers request at a fixed address.
func (c *Console) icon(x *web.Exchange) {
	c.serveAsset(x, c.assets.names["icon.svg"], "public, max-age=86400")
}

func (c *Console) serveAsset(x *web.Exchange, name, cache string) {
	data, ok := c.assets.files[name]
	if !ok {
		c.NotFound(x)
		return
	}
	h := x.W.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Cache-Control", cache)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	if x.R.Method != http.MethodHead {
		_, _ = x.W.Write(data)
	}
}
