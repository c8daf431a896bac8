package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

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

// binder is a part of the inputs that binds its own flags.
type binder interface {
	bind(r *remote, c *cobra.Command)
}

// checker is an input, or all of them, that is checked before the server is connected.
type checker interface{ check() error }

// completer is a text whose completions come from the server.
type completer interface {
	completion(r *remote) cobra.CompletionFunc
}

// worded is a text with a fixed list of possible values.
type worded interface{ words() []string }

// input is a flag or an argument.
type input struct {
	name     string        // as people type it: --from or ACCOUNT
	flag     string        // empty for an argument
	field    reflect.Value // of the struct
	bound    reflect.Value // pointer to what the flag or the argument sets: the field, what it is to point to, or ref
	noun     noun          // finds what ref names; nil if the input names nothing
	ref      string
	refs     []string // of an argument that is a list
	words    []string
	required bool
	files    bool // it is the name of a file
}

// inputs are the flags and arguments of a command.
type inputs struct {
	r     *remote
	all   []*input
	args  []*input
	whole any
}

// bindInputs adds the flags and arguments in a struct to a command, and returns how to start a run.
//
// A field with the tag flag is a flag, such as `flag:"yes,y"`; the others are the arguments, in the order of the usage line, which also
// says how many there are. A pointer is nil unless it is given. A field of a type in nouns is a name on the command line, and is found
// before the command runs. Further tags:
//
//	usage            the help; {word} names the value, and %s stands for the possible values
//	words            the possible values
//	default          the value of a flag that is not given
//	required:"true"  the flag must be given
//	files:"true"     the value is completed with names of files
//	commas:"true"    a comma is part of a value, not between two
func bindInputs(r *remote, at place, in any, c *cobra.Command) func(c *cobra.Command, args []string) (*call, error) {
	i := &inputs{r: r, whole: in}
	i.bind(c)
	if at != anywhere {
		r.bindWorkspace(c)
	}
	return func(c *cobra.Command, args []string) (*call, error) {
		i.setArguments(args)
		if err := i.check(c); err != nil {
			return nil, err
		}
		return i.start(c, at, args)
	}
}

// bind adds the flags and arguments to a command.
func (i *inputs) bind(c *cobra.Command) {
	if b, ok := i.whole.(binder); ok {
		b.bind(i.r, c)
	}
	if i.whole != nil {
		i.add(c, reflect.ValueOf(i.whole).Elem())
	}
	if c.Args == nil {
		c.Args = countArguments(c.Use)
	}
	if len(i.args) > 0 && c.ValidArgsFunction == nil {
		c.ValidArgsFunction = i.completeArgument
	}
}

// add adds the fields of a struct.
func (i *inputs) add(c *cobra.Command, of reflect.Value) {
	for n := range of.NumField() {
		field, about := of.Field(n), of.Type().Field(n)
		if about.Anonymous {
			i.add(c, field)
		}
		if about.Anonymous || !about.IsExported() {
			continue
		}
		if b, ok := field.Addr().Interface().(binder); ok {
			b.bind(i.r, c)
			i.all = append(i.all, &input{field: field, bound: field.Addr()})
			continue
		}
		one := newInput(field, about.Tag)
		i.all = append(i.all, one)
		if one.flag != "" {
			one.bindFlag(i.r, c, about.Tag)
			continue
		}
		all, _ := argumentNames(c.Use)
		one.name = strings.Trim(all[len(i.args)], "[]")
		i.args = append(i.args, one)
	}
}

func newInput(field reflect.Value, tag reflect.StructTag) *input {
	one := &input{flag: tag.Get("flag"), field: field, bound: field.Addr(), required: tag.Get("required") != "",
		files: tag.Get("files") != ""}
	of := field.Type()
	if of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	one.noun = nouns[of]
	switch {
	case one.noun != nil:
		one.bound = reflect.ValueOf(&one.ref)
	case field.Kind() == reflect.Pointer:
		one.bound = reflect.New(of)
	}
	if list := tag.Get("words"); list != "" {
		one.words = strings.Split(list, ",")
	} else if w, ok := one.bound.Interface().(worded); ok {
		one.words = w.words()
	}
	return one
}

// bindFlag adds a flag to a command.
func (one *input) bindFlag(r *remote, c *cobra.Command, tag reflect.StructTag) {
	name, short, _ := strings.Cut(one.flag, ",")
	one.flag, one.name = name, "--"+name
	usage := strings.NewReplacer("{", "`", "}", "`", "%s", strings.Join(one.words, ", ")).Replace(tag.Get("usage"))
	flags := c.Flags()
	switch to := one.bound.Interface().(type) {
	case *bool:
		flags.BoolVarP(to, name, short, false, usage)
		return // it takes no value to complete
	case *int64:
		flags.Int64VarP(to, name, short, 0, usage)
	case *[]int64:
		flags.Int64SliceVarP(to, name, short, nil, usage)
	case *time.Duration:
		initial, _ := time.ParseDuration(tag.Get("default"))
		flags.DurationVarP(to, name, short, initial, usage)
	default:
		switch {
		case one.bound.Elem().Kind() != reflect.Slice:
			flags.StringVarP(as[string](one.bound), name, short, tag.Get("default"), usage)
		case tag.Get("commas") != "":
			flags.StringArrayVarP(as[[]string](one.bound), name, short, nil, usage)
		default:
			flags.StringSliceVarP(as[[]string](one.bound), name, short, nil, usage)
		}
	}
	completeFlag(c, name, one.completion(r))
}

// as returns a pointer to a value of a type that is T but for its name.
func as[T any](pointer reflect.Value) *T {
	return pointer.Convert(reflect.TypeFor[*T]()).Interface().(*T)
}

// completion completes the input.
func (one *input) completion(r *remote) cobra.CompletionFunc {
	from, fromServer := one.bound.Interface().(completer)
	switch {
	case one.noun != nil:
		return one.noun.completion(r)
	case fromServer:
		return from.completion(r)
	case one.files:
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case one.words != nil:
		return cobra.FixedCompletions(one.words, cobra.ShellCompDirectiveNoFileComp)
	}
	return cobra.NoFileCompletions
}

// completeArgument completes an argument. The last one may be a list, which has each word once.
func (i *inputs) completeArgument(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	last := i.args[len(i.args)-1]
	if len(args) < len(i.args) {
		last = i.args[len(args)]
	} else if last.field.Kind() != reflect.Slice {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, directive := last.completion(i.r)(c, args, begun)
	if last.field.Kind() == reflect.Slice {
		words = slices.DeleteFunc(words, func(word string) bool {
			word, _, _ = strings.Cut(word, "\t")
			return slices.Contains(args, word)
		})
	}
	return words, directive
}

// countArguments returns the check that as many arguments are given as a usage line names.
func countArguments(use string) cobra.PositionalArgs {
	all, required := argumentNames(use)
	if len(all) > 0 && strings.ContainsAny(all[len(all)-1], ".…") {
		return cobra.MinimumNArgs(len(required))
	}
	return cobra.RangeArgs(len(required), len(all))
}

// setArguments fills in the arguments as they are typed.
func (i *inputs) setArguments(args []string) {
	for n, one := range i.args {
		switch {
		case one.field.Kind() == reflect.Slice && one.noun != nil:
			one.refs = args[min(n, len(args)):]
		case one.field.Kind() == reflect.Slice:
			one.field.Set(reflect.ValueOf(args[min(n, len(args)):]))
		case n < len(args):
			one.bound.Elem().SetString(args[n])
		}
	}
}

// check checks everything that needs no server, and sets pointers to what is given.
func (i *inputs) check(c *cobra.Command) error {
	var missing []string
	var problems []error
	for _, one := range i.all {
		if one.required {
			missing = append(missing, one.flag)
		}
		if one.words != nil {
			problems = append(problems, oneOf(one.flag, one.bound.Elem().String(), one.words))
		}
		if one.noun == nil && one.field.Kind() == reflect.Pointer && c.Flags().Changed(one.flag) {
			one.field.Set(one.bound)
		}
		if checked, ok := one.bound.Interface().(checker); ok {
			problems = append(problems, checked.check())
		}
	}
	if err := require(c, missing...); err != nil {
		return err
	}
	if checked, ok := i.whole.(checker); ok {
		problems = append(problems, checked.check())
	}
	return errors.Join(problems...)
}

// start connects to the server and finds everything that is named.
func (i *inputs) start(c *cobra.Command, at place, args []string) (*call, error) {
	s, err := i.r.connect()
	if err != nil {
		return nil, err
	}
	on := i.r.call(c.Context(), s)
	on.command, on.args = c, args
	if at == inWorkspace {
		if _, err := on.here(); err != nil {
			return nil, err
		}
	}
	for _, one := range i.all {
		if one.noun == nil {
			continue
		}
		if one.field.Kind() != reflect.Slice {
			one.refs = []string{one.ref}
		}
		if err := one.noun.fill(on, one.field.Addr().Interface(), one.name, one.refs); err != nil {
			return nil, err
		}
	}
	return on, nil
}
