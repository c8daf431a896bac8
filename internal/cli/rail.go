package cli

import (
	"fmt"
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
func institutions(c *call, rail string) ([]api.Institution, error) {
	page, err := c.Rails.Institutions(c, rail, client.ListParams{})
	if err != nil {
		return nil, fmt.Errorf("list the institutions: %w", err)
	}
	return page.Items, nil
}

// railNames returns the rails that reach an institution, sorted.
func railNames(c *call) ([]string, error) {
	all, err := institutions(c, "")
	var names []string
	for _, i := range all {
		for _, on := range i.Rails {
			names = append(names, on.Rail)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// railName is the name of a rail.
type railName string

func (*railName) completion(r *remote) cobra.CompletionFunc {
	return r.completeWith(func(c *call, _ []string, _ string) ([]string, error) { return railNames(c) })
}

// bankCode is the code of a bank or wallet.
type bankCode string

func (*bankCode) completion(r *remote) cobra.CompletionFunc {
	return r.completeWith(func(c *call, _ []string, _ string) ([]string, error) {
		all, err := institutions(c, "")
		words := make([]string, len(all))
		for i, one := range all {
			words[i] = described(one.Code, one.Name)
		}
		return words, err
	})
}

func newRailList(r *remote) *cobra.Command {
	return newTable(r, workspaceIfNeeded, nil, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the rails and how they are",
		Example: `  bursar rails list
  bursar rails list --jq '.[] | select(.status != "up").service_name'`,
	}, func(c *call) error {
		w, err := c.chosenWorkspace()
		if err != nil {
			return err
		}
		names, err := railNames(c)
		if err != nil {
			return err
		}
		all := []api.ServiceHealth{}
		table := &term.Table{Columns: []string{"rail", "status", "mode", "waiting", "next window", "reason"}, Empty: "There are no rails."}
		for _, name := range names {
			h, err := c.Rails.Health(c, name, client.HealthParams{WorkspaceID: w.ID})
			if err != nil {
				return fmt.Errorf("read the health of %s: %w", name, err)
			}
			all = append(all, *h)
			table.Add(h.ServiceName, h.Status, h.Mode, fmt.Sprint(h.QueueDepth), c.time(h.NextWindow), h.Reason)
		}
		return c.writeTable(all, table)
	})
}

func newRailHealth(r *remote) *cobra.Command {
	var in struct {
		Service railName
		Mode    string `flag:"mode" usage:"sandbox or live" words:"sandbox,live"`
	}
	return newCommand(r, workspaceIfNeeded, &in, &cobra.Command{
		Use: "health SERVICE", Aliases: []string{"show"}, Short: "Show how a rail, a connector or an institution is",
		Long: `Show how a service is: a rail or a connector by its name, a bank or wallet by
its code. Without --mode it is the live one, if there is one of that name. One
of the sandbox is shown as it is in the workspace; without a workspace, as it
is where it is worst.`,
		Example: `  bursar rails health instapay
  bursar rails health BOPIPHMMXXX --mode sandbox --jq .status`,
	}, func(c *call) error {
		w, err := c.chosenWorkspace()
		if err != nil {
			return err
		}
		h, err := c.Rails.Health(c, string(in.Service), client.HealthParams{Mode: in.Mode, WorkspaceID: w.ID})
		if err != nil {
			return fmt.Errorf("read the health of %s: %w", in.Service, err)
		}
		pairs := []string{"Service", h.ServiceName, "Kind", h.Kind, "Mode", h.Mode, "Status", h.Status}
		pairs = append(pairs, filled("Reason", h.Reason, "Since", localTime(h.Since), "Next window", localTime(h.NextWindow))...)
		return c.writePairs(h, append(pairs, "Waiting", fmt.Sprint(h.QueueDepth))...)
	})
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
	var in struct {
		Rail   railName `flag:"rail" usage:"only those that this rail reaches"`
		Search string   `flag:"search" usage:"only those whose name or code has this text"`
	}
	return newList(r, anywhere, &in, &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the banks and wallets that can be paid",
		Example: `  bursar institutions list --search gcash
  bursar institutions list --rail instapay --all --csv`,
	}, list[api.Institution]{
		noun: "institutions",
		rows: func(c *call, _ int) (iter.Seq2[api.Institution, error], error) {
			all, err := institutions(c, string(in.Rail))
			if err != nil {
				return nil, err
			}
			word := strings.ToLower(in.Search)
			return func(yield func(api.Institution, error) bool) {
				for _, i := range all {
					if strings.Contains(strings.ToLower(i.Name+" "+i.Code), word) && !yield(i, nil) {
						return
					}
				}
			}, nil
		},
		table: &term.Table{Columns: []string{"code", "name", "kind", "rails"}, Empty: "There are no such institutions."},
		cells: func(_ *call, i api.Institution) []string {
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
}
