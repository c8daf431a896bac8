package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// checkArguments explains arguments that a command cannot take by their names in its
// usage line, instead of by their number.
func checkArguments(c *cobra.Command, given []string, check cobra.PositionalArgs) error {
	err := check(c, given)
	if err == nil || c.HasSubCommands() || c.Name() == "help" {
		return err
	}
	names, required := argumentNames(c.Use)
	switch {
	case len(given) < len(required):
		return fmt.Errorf("missing %s; usage: %s", strings.Join(required[len(given):], " and "), c.UseLine())
	case len(given) > len(names):
		return fmt.Errorf("unexpected argument %q; usage: %s", given[len(names)], c.UseLine())
	}
	return err
}

// argumentNames reads the arguments from a usage line such as "get ENTRY [METHOD]".
// Those in brackets are optional.
func argumentNames(use string) (all, required []string) {
	for _, word := range strings.Fields(use)[1:] {
		if strings.HasPrefix(word, "-") {
			break
		}
		all = append(all, word)
		if !strings.HasPrefix(word, "[") {
			required = append(required, word)
		}
	}
	return all, required
}

// unknownCommand rejects arguments of a command that only has subcommands, and
// suggests the one that was probably meant.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), "bursar")+" "+args[0]))
	if near := suggestions(c, args[0]); len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(text)
}

// suggestions returns the subcommands that are one typing mistake away, or else two.
func suggestions(c *cobra.Command, word string) []string {
	for c.SuggestionsMinimumDistance = 1; c.SuggestionsMinimumDistance <= 2; c.SuggestionsMinimumDistance++ {
		if near := c.SuggestionsFor(word); len(near) > 0 {
			return near
		}
	}
	return nil
}

// flagError explains a flag that a command does not have. After a misspelled
// subcommand the flag belongs to the command that was meant, so the misspelling is
// the mistake to name.
func flagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		if unknown := unknownCommand(c, c.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	return err
}

// unknownTopic rejects 'bursar help' for a command that does not exist.
func unknownTopic(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	if err == nil && len(rest) > 0 {
		return unknownCommand(found, rest)
	}
	return err
}
