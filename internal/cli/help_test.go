package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand returns every command that people can type.
func everyCommand(t *testing.T) (root *cobra.Command, all []*cobra.Command) {
	t.Helper()
	terminal, _, _ := pipes()
	root = newRoot(terminal)
	eachCommand(root, func(c *cobra.Command) {
		if c.Name() != "help" && !strings.HasPrefix(c.CommandPath(), "bursar completion") && !c.Hidden {
			all = append(all, c)
		}
	})
	return root, all
}

func TestEveryCommandExplainsItself(t *testing.T) {
	_, all := everyCommand(t)
	for _, c := range all {
		t.Run(c.CommandPath(), func(t *testing.T) {
			if c.Short == "" || !unicode.IsUpper([]rune(c.Short)[0]) || strings.HasSuffix(c.Short, ".") {
				t.Errorf("its line is %q", c.Short)
			}
			for line := range strings.Lines(c.Long + "\n" + c.UsageString()) {
				// What can be typed cannot be broken.
				typed := strings.Contains(c.Example, strings.TrimRight(line, "\n")) || strings.TrimSpace(line) == c.UseLine()
				if len([]rune(strings.TrimRight(line, "\n"))) > helpWidth && !typed {
					t.Errorf("a line of its help is too long: %q", line)
				}
			}
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
					t.Errorf("--%s is explained by %q", f.Name, f.Usage)
				}
				if strings.ToLower(f.Name) != f.Name || strings.Contains(f.Name, "_") {
					t.Errorf("--%s is not spelled like the others", f.Name)
				}
			})
			if c.Runnable() && c.Args == nil {
				t.Error("nothing checks its arguments")
			}
		})
	}
}

// TestExamplesCanBeTyped holds every line of every example against the command
// that it calls: its flags and the number of its arguments.
func TestExamplesCanBeTyped(t *testing.T) {
	root, all := everyCommand(t)
	for _, c := range all {
		t.Run(c.CommandPath(), func(t *testing.T) {
			if c.Example == "" {
				t.Error("there is no example")
			}
			shown := c.Example == "" || c == root || c.HasSubCommands()
			for line := range strings.Lines(c.Example) {
				line = strings.TrimRight(line, "\n")
				if !strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "   ") || line != strings.TrimRight(line, " ") {
					t.Errorf("%q is not indented by two", line)
				}
				if strings.HasPrefix(strings.TrimSpace(line), "#") {
					continue // says what the next one does
				}
				words := words(line)
				for len(words) > 0 && strings.Contains(words[0], "=") {
					words = words[1:] // a variable of this one call
				}
				if at := slices.Index(words, "|"); at >= 0 && words[0] != "bursar" {
					words = words[at+1:] // what comes by a pipe
				}
				if len(words) == 0 || words[0] != "bursar" {
					t.Errorf("%q does not call bursar", line)
					continue
				}
				called := typed(t, line, words[1:])
				shown = shown || called == c.CommandPath()
			}
			if !shown {
				t.Error("no example calls the command itself")
			}
		})
	}
}

// typed checks words as far as a command does before it runs, and returns which
// command that is.
func typed(t *testing.T, line string, args []string) string {
	t.Helper()
	if end := slices.IndexFunc(args, func(word string) bool {
		return strings.Trim(word, "|<>&;0123456789") == "" && strings.Trim(word, "0123456789") != ""
	}); end >= 0 {
		args = args[:end]
	}
	terminal, _, _ := pipes()
	c, rest, err := newRoot(terminal).Find(args)
	if err != nil {
		t.Errorf("%q: %v", line, err)
		return ""
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("%q: %v", line, err)
		return ""
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	if err := c.ValidateFlagGroups(); err != nil {
		t.Errorf("%q: %v", line, err)
	}
	return c.CommandPath()
}

// words splits a line as a shell does, as far as examples need it.
func words(line string) (words []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range strings.TrimSpace(line) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
