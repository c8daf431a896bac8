package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// checkArguments explains invalid arguments by their names in the usage line, not by their number.
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

// argumentNames returns the argument names of a usage line such as "get ENTRY [METHOD]". Those in brackets are optional.
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

// unknownCommand rejects arguments of a command that only has subcommands, and suggests a similar subcommand.
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

// suggestions returns the subcommands with one typing mistake, or else with two.
func suggestions(c *cobra.Command, word string) []string {
	for c.SuggestionsMinimumDistance = 1; c.SuggestionsMinimumDistance <= 2; c.SuggestionsMinimumDistance++ {
		if near := c.SuggestionsFor(word); len(near) > 0 {
			return near
		}
	}
	return nil
}

// flagError explains an unknown flag. After a misspelled subcommand, the flag belongs to the intended command, so the error names the
// misspelling.
func flagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		if unknown := unknownCommand(c, c.Flags().Args()); unknown != nil {
			return unknown
		}
	}
	return err
}

// unknownTopic rejects 'bursar help' for an unknown command.
func unknownTopic(c *cobra.Command, args []string) error {
	found, rest, err := c.Root().Find(args)
	if err == nil && len(rest) > 0 {
		return unknownCommand(found, rest)
	}
	return err
}
