package cli

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"bursar/internal/backup"
	"bursar/internal/cli/term"
	"bursar/internal/config"
)

func newMove(t Terminal) *cobra.Command {
	var from, to string
	var check, asJSON bool
	c := &cobra.Command{
		Use: "move", Short: "Move a store from SQLite to PostgreSQL, or back", Args: cobra.NoArgs,
		Long: `Move a store from SQLite to PostgreSQL, or back. Stop its servers first, and
start them on the target afterwards: everything goes on there, sessions, keys,
links, cursors and repeated requests included, and clients notice no more than
the pause. A store is a data folder or an address of PostgreSQL; leave its
password to PGPASSWORD or to a .pgpass file. The target must be empty.

The command compares counts and digests of all tables before the target
counts. From then on the source refuses to be used, and says where it went.
Until then it is as it was: if the command is interrupted, run it again, or
use the source as before. Nobody can use a target that is not complete.

--check only compares two stores, and changes neither.`,
		Example: `  bursar move --from ./bursar-data --to postgres://bursar@db.internal/bursar
  bursar move --from postgres://bursar@db.internal/bursar --to ./bursar-data
  bursar move --check --from ./bursar-data --to postgres://bursar@db.internal/bursar`,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := require(c, "from", "to"); err != nil {
				return err
			}
			for _, text := range []string{from, to} {
				if storeAt(text).DatabaseURL == "" && (strings.Contains(text, "=") || strings.Contains(text, "://")) { // it may have a password
					return term.Usagef("--from and --to take a folder, or an address that begins with postgres://")
				}
			}
			source, target := storeAt(from), storeAt(to)
			if err := source.Missing(); err != nil {
				return err
			}
			if check {
				if err := target.Missing(); err != nil {
					return err
				}
			}
			bar := term.NewProgress(t, "rows", 0)
			if check {
				list, err := backup.Compare(c.Context(), placeOf(source), placeOf(target), showRows(bar))
				bar.Close()
				if err != nil {
					return hintStore(err)
				}
				return tellDifferences(t, list, asJSON)
			}
			tables, err := backup.Move(c.Context(), placeOf(source), placeOf(target), showRows(bar))
			bar.Close()
			if err != nil {
				return hintStore(err)
			}
			m := backup.Manifest{Tables: tables}
			if asJSON {
				return printJSON(t.Out, map[string]any{"tables": tables})
			}
			_, err = fmt.Fprintf(t.Out, "Moved  %d rows in %d tables, which are equal\nFrom   %s, which refuses to be used from now on\nTo     %s\n\n%s",
				m.Rows(), len(tables), term.Printable(placeOf(source).Name), term.Printable(placeOf(target).Name), keysToTake(source, target))
			return err
		},
	}
	c.Flags().StringVar(&from, "from", "", "data folder or PostgreSQL address of the source")
	c.Flags().StringVar(&to, "to", "", "data folder or PostgreSQL address of the target")
	c.Flags().BoolVar(&check, "check", false, "only compare the two")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}

func tellDifferences(t Terminal, list []backup.Difference, asJSON bool) error {
	if asJSON {
		if err := printJSON(t.Out, map[string]any{"differences": append([]backup.Difference{}, list...)}); err != nil {
			return err
		}
	} else {
		for _, d := range list {
			if _, err := fmt.Fprintf(t.Out, "%s %s\n", d.Table, d.Text); err != nil {
				return err
			}
		}
	}
	if len(list) > 0 {
		return fmt.Errorf("the stores differ in %d tables", len(list))
	}
	if asJSON {
		return nil
	}
	_, err := fmt.Fprintln(t.Out, "Both stores have the same rows in all tables.")
	return err
}

// storeAt returns the store that an argument names.
func storeAt(text string) config.Store {
	if strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://") {
		return config.Store{DatabaseURL: text}
	}
	return config.Store{Data: text}
}

// placeOf returns a name of a store that can be stored and shown: without a password.
func placeOf(s config.Store) backup.Place {
	if s.DatabaseURL == "" {
		name := s.Data
		if full, err := filepath.Abs(s.Data); err == nil {
			name = full
		}
		return backup.Place{Config: s.DB(), Name: name}
	}
	name := "PostgreSQL"
	if u, err := url.Parse(s.DatabaseURL); err == nil && u.Host != "" {
		shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
		if u.User != nil {
			shown.User = url.User(u.User.Username())
		}
		// Two stores may be schemas of one database. Other parameters may be secrets.
		if path := u.Query().Get("search_path"); path != "" {
			shown.RawQuery = url.Values{"search_path": {path}}.Encode()
		}
		name = shown.String()
	}
	return backup.Place{Config: s.DB(), Name: name}
}

// keysToTake describes the key files beside an embedded store, which are not part of it.
func keysToTake(source, target config.Store) string {
	var text strings.Builder
	for _, file := range []struct{ name, flag, what string }{
		{"vault.key", "--vault-key", "The vault key"}, {"audit.key", "--audit-key", "The key of the audit log"},
	} {
		beside := filepath.Join(source.Data, file.name)
		switch _, err := os.Stat(beside); {
		case source.DatabaseURL == "" && err == nil && target.DatabaseURL != "":
			fmt.Fprintf(&text, "%s is still %s: copy it to every node and pass %s.\n", file.what, term.Printable(beside), file.flag)
		case target.DatabaseURL == "":
			fmt.Fprintf(&text, "%s is not part of the store: put it at %s, or pass %s.\n", file.what, term.Printable(filepath.Join(target.Data, file.name)), file.flag)
		}
	}
	if text.Len() == 0 {
		return "Give the servers the same vault key and key of the audit log as before.\n"
	}
	return text.String()
}
