package cli

import (
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"bursar/internal/cli/term"
)

// version is the version of the program. CHANGELOG.md describes it.
const version = "1.0.0-rc.1"

// build describes the program.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built with changes that are not in the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuild() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	return b
}

func newVersion(t Terminal) *cobra.Command {
	var f term.Format
	c := &cobra.Command{
		Use:   "version",
		Short: "Show the version of the program",
		Long: `Show the version of the program, the commit it was built from, and the version
of Go.`,
		Example: `  bursar version
  bursar version --json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			return f.Write(t, b, func(w io.Writer) error {
				commit := b.Commit
				switch {
				case commit == "":
					commit = "unknown"
				case b.Modified:
					commit += " (with local changes)"
				}
				return term.WritePairs(t, w, "Version", b.Version, "Commit", commit, "Go", b.Go, "Platform", b.Platform)
			})
		},
	}
	f.Bind(c, false)
	return c
}
