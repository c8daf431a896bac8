package cli

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"bursar/api"
	"bursar/client"
	"bursar/internal/cli/term"
)

func newRails(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "rails", Aliases: []string{"rail"},
		Short: "See how the rails are that carry payouts",
		Long: `Rails carry payouts to banks and wallets. A rail is up, degraded or down; some
send only in windows, such as three times on a business day. Each workspace
has a sandbox of its own, whose rails can be down by themselves: without a
workspace, those of the sandbox are shown as they are where they are worst.`,
		Example: `  bursar rails list
  bursar rails health BOPIPHMMXXX`,
	}, newRailList(r), newRailHealth(r))
}

// institutions lists the banks and wallets that can be paid.
func (s *session) institutions(ctx context.Context, rail string) ([]api.Institution, error) {
	page, err := s.Rails.Institutions(ctx, rail, client.ListParams{})
	if err != nil {
		return nil, fmt.Errorf("list the institutions: %w", err)
	}
	return page.Items, nil
}

// railNames returns the rails that reach an institution, sorted.
func (s *session) railNames(ctx context.Context) ([]string, error) {
	all, err := s.institutions(ctx, "")
	var names []string
	for _, i := range all {
		for _, on := range i.Rails {
			names = append(names, on.Rail)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

func (r *remote) completeInstitutions() cobra.CompletionFunc {
	return r.complete(func(ctx context.Context, s *session) ([]string, error) {
		all, err := s.institutions(ctx, "")
		words := make([]string, len(all))
		for i, one := range all {
			words[i] = described(one.Code, one.Name)
		}
		return words, err
	})
}

func newRailList(r *remote) *cobra.Command {
	var f term.Format
	c := r.inWorkspace(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the rails and how they are",
		Example: `  bursar rails list
  bursar rails list --jq '.[] | select(.status != "up").service_name'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := r.connect()
			if err != nil {
				return err
			}
			w, err := r.chosenWorkspace(c.Context(), s)
			if err != nil {
				return err
			}
			names, err := s.railNames(c.Context())
			if err != nil {
				return err
			}
			all := []api.ServiceHealth{}
			table := &term.Table{Columns: []string{"rail", "status", "mode", "waiting", "next window", "reason"}, Empty: "There are no rails."}
			for _, name := range names {
				h, err := s.Rails.Health(c.Context(), name, client.HealthParams{WorkspaceID: w.ID})
				if err != nil {
					return fmt.Errorf("read the health of %s: %w", name, err)
				}
				all = append(all, *h)
				next := localTime(h.NextWindow)
				if f.CSV {
					next = exactTime(h.NextWindow)
				}
				table.Add(h.ServiceName, h.Status, h.Mode, fmt.Sprint(h.QueueDepth), next, h.Reason)
			}
			return f.WriteTable(r.terminal, all, table)
		},
	})
	f.Bind(c, true)
	return c
}

func newRailHealth(r *remote) *cobra.Command {
	var f term.Format
	var mode string
	modes := []string{api.ModeSandbox, api.ModeLive}
	c := r.inWorkspace(&cobra.Command{
		Use: "health SERVICE", Aliases: []string{"show"}, Short: "Show how a rail, a connector or an institution is",
		Long: `Show how a service is: a rail or a connector by its name, a bank or wallet by
its code. Without --mode it is the live one, if there is one of that name. One
of the sandbox is shown as it is in the workspace; without a workspace, as it
is where it is worst.`,
		Example: `  bursar rails health instapay
  bursar rails health BOPIPHMMXXX --mode sandbox --jq .status`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: byPosition(r.completeRails()),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneOf("mode", mode, modes); err != nil {
				return err
			}
			s, err := r.connect()
			if err != nil {
				return err
			}
			w, err := r.chosenWorkspace(c.Context(), s)
			if err != nil {
				return err
			}
			h, err := s.Rails.Health(c.Context(), args[0], client.HealthParams{Mode: mode, WorkspaceID: w.ID})
			if err != nil {
				return fmt.Errorf("read the health of %s: %w", args[0], err)
			}
			return f.Write(r.terminal, h, func(out io.Writer) error {
				pairs := []string{"Service", h.ServiceName, "Kind", h.Kind, "Mode", h.Mode, "Status", h.Status}
				for _, more := range [][2]string{{"Reason", h.Reason}, {"Since", localTime(h.Since)}, {"Next window", localTime(h.NextWindow)}} {
					if more[1] != "" {
						pairs = append(pairs, more[0], more[1])
					}
				}
				return term.WritePairs(r.terminal, out, append(pairs, "Waiting", fmt.Sprint(h.QueueDepth))...)
			})
		},
	})
	c.Flags().StringVar(&mode, "mode", "", "sandbox or live")
	completeWords(c, "mode", modes)
	f.Bind(c, false)
	return c
}

func newInstitutions(r *remote) *cobra.Command {
	return commandGroup(&cobra.Command{
		Use: "institutions", Aliases: []string{"institution", "banks"},
		Short: "Find the banks and wallets that can be paid",
		Long: `Institutions are the banks and wallets that rails reach. Their code is what
'bursar payouts create --bank-code' and a receiving method's --institution
take.`,
		Example: `  bursar institutions list --search gcash`,
	}, newInstitutionList(r))
}

func newInstitutionList(r *remote) *cobra.Command {
	var rail, search string
	c := listCommand(r.terminal, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the banks and wallets that can be paid",
		Example: `  bursar institutions list --search gcash
  bursar institutions list --rail instapay --all --csv`,
	}, list[api.Institution]{
		noun: "institutions",
		rows: func(ctx context.Context, _ int) (iter.Seq2[api.Institution, error], error) {
			s, err := r.connect()
			if err != nil {
				return nil, err
			}
			all, err := s.institutions(ctx, rail)
			if err != nil {
				return nil, err
			}
			word := strings.ToLower(search)
			return func(yield func(api.Institution, error) bool) {
				for _, i := range all {
					if strings.Contains(strings.ToLower(i.Name+" "+i.Code), word) && !yield(i, nil) {
						return
					}
				}
			}, nil
		},
		table: func(term.Format) *term.Table {
			return &term.Table{Columns: []string{"code", "name", "kind", "rails"}, Empty: "There are no such institutions."}
		},
		cells: func(_ term.Format, i api.Institution) []string {
			var rails []string
			for _, on := range i.Rails {
				name := on.Rail
				if on.Code != i.Code {
					name += " as " + on.Code
				}
				rails = append(rails, name)
			}
			return []string{i.Code, i.Name, i.Kind, strings.Join(rails, ", ")}
		},
	})
	c.Flags().StringVar(&rail, "rail", "", "only those that this rail reaches")
	c.Flags().StringVar(&search, "search", "", "only those whose name or code has this text")
	completeFlag(c, "rail", r.completeRails())
	completeFlag(c, "search", cobra.NoFileCompletions)
	return c
}
