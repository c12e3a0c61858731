package cli

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"git-ralph/internal/text/lazyregexp"
)

// oneCommand is a grammar of the one command that a line begins with, and its global
// flags. Reading the declarations of all commands takes several times as long, and a
// run starts the program for each command of an agent. It is nil when the line begins
// with something else or asks for help: a partial grammar has no help flag, and a
// command that takes another program's options would take it for one.
func oneCommand(args []string) (grammar any, flags *Globals) {
	if len(args) == 0 || asksForHelp(args) {
		return nil, nil
	}
	all := reflect.TypeFor[Commands]()
	for field := range all.Fields() {
		if _, is := field.Tag.Lookup("cmd"); !is || cmp.Or(field.Tag.Get("name"), strings.ToLower(field.Name)) != args[0] {
			continue
		}
		globals, _ := all.FieldByName("Globals")
		line := reflect.New(reflect.StructOf([]reflect.StructField{globals, field}))
		return line.Interface(), line.Elem().Field(0).Addr().Interface().(*Globals)
	}
	return nil, nil
}

// asksForHelp reports whether -h or --help is among the words in front of a --. If
// it is meant for another program, the whole grammar finds that out.
func asksForHelp(args []string) bool {
	for _, s := range args {
		switch s {
		case "-h", "--help":
			return true
		case "--":
			return false
		}
	}
	return false
}

// parse reads a command line as kong.Parse does, and handles help and
// version. It does not use the hooks, validators and commands that kong finds
// by method names. Looking methods up by name makes the linker keep every
// exported method of every type, go-git's transports and OpenPGP among them,
// 3 MB in all.
func parse(parser *kong.Kong, args []string) (*kong.Context, error) {
	ctx, err := kong.Trace(parser, args)
	if err == nil {
		err = ctx.Error
	}
	if err != nil {
		return nil, &lineError{ctx, err}
	}
	for _, path := range ctx.Path {
		switch {
		case path.Flag == nil:
		case path.Flag == parser.Model.HelpFlag:
			if err := ctx.PrintUsage(false); err != nil {
				return nil, err
			}
			parser.Exit(0)
		case path.Flag.Name == "version":
			fmt.Fprintln(parser.Stdout, versionLine())
			parser.Exit(0)
		}
	}
	if err := ctx.Reset(); err != nil {
		return nil, &lineError{ctx, err}
	}
	if _, err := ctx.Apply(); err != nil {
		return nil, &lineError{ctx, err}
	}
	if err := missing(ctx); err != nil {
		return nil, &lineError{ctx, err}
	}
	if name := emptyName(ctx); name != "" {
		return nil, &lineError{ctx, fmt.Errorf("%s is empty", name)}
	}
	return ctx, nil
}

// emptyName is the argument that has to name something and is empty, like an
// unset shell variable; "" when there is none. Free text may be empty: its
// command reports what it is for.
func emptyName(ctx *kong.Context) string {
	for _, path := range ctx.Path {
		arg := path.Positional
		if arg == nil || !arg.Target.IsValid() {
			continue
		}
		switch words := arg.Target.Interface().(type) {
		case string:
			if words == "" && arg.Name != "value" {
				return "<" + arg.Name + ">"
			}
		case []string:
			if arg.Tag.Has("complete") && slices.Contains(words, "") {
				return "<" + arg.Name + ">"
			}
		}
	}
	return ""
}

// Errors of the parser. They are compiled when there is one.
var (
	noNumber   = lazyregexp.New(`^\[?(.*?)\]?: expected a valid \d+ bit u?int but got (".*")$`)
	shortFlags = lazyregexp.New(`^(unknown flag -[^-]), did you mean .*$`)
	numberFlag = lazyregexp.New(`^unknown flag (-\d)`)
)

// plainly is an error of the parser as a person would say it.
func plainly(err error) error {
	text := err.Error()
	if m := noNumber().FindStringSubmatch(text); m != nil {
		return fmt.Errorf("%s takes a number, and %s is none", m[1], m[2])
	}
	if text == "unexpected argument " {
		return errors.New(`unexpected argument ""`)
	}
	// All of one letter are alike.
	return errors.New(shortFlags().ReplaceAllString(text, "$1"))
}

// takesIteration reports whether a command works on the iteration with a number.
func takesIteration(node *kong.Node) bool {
	return slices.ContainsFunc(node.Positional, func(arg *kong.Positional) bool {
		return arg.Name == "n" || strings.HasPrefix(arg.Tag.Get("complete"), "iterations")
	})
}

// lineError is what is wrong with a command line, as far as it was understood.
type lineError struct {
	ctx *kong.Context
	err error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// missing says which words a command still needs.
func missing(ctx *kong.Context) error {
	node, given := ctx.Selected(), 0
	if node == nil {
		node = ctx.Model.Node
	}
	for _, path := range ctx.Path {
		if path.Positional != nil {
			given = path.Positional.Position + 1
		}
	}
	var words []string
	for _, arg := range node.Positional[min(given, len(node.Positional)):] {
		if arg.Required {
			words = append(words, arg.Summary())
		}
	}
	if len(words) > 0 {
		return fmt.Errorf("expected %s", strconv.Quote(strings.Join(words, " ")))
	}
	if _, runs := commandOf(node); runs {
		return nil
	}
	for _, child := range node.Children {
		if !child.Hidden {
			words = append(words, strconv.Quote(child.Name))
		}
	}
	if len(words) > 5 {
		words = append(words[:5], "...")
	}
	return fmt.Errorf("expected one of %s", strings.Join(words, ", "))
}

// runner is a command that can be run.
type runner interface{ Run(a *App) error }

// commandOf is the command of a node; false for one that only has commands
// below it.
func commandOf(node *kong.Node) (runner, bool) {
	if !node.Target.IsValid() || !node.Target.CanAddr() {
		return nil, false
	}
	r, ok := node.Target.Addr().Interface().(runner)
	return r, ok
}

// run runs the command that was selected.
func run(ctx *kong.Context, a *App) error {
	if node := ctx.Selected(); node != nil {
		if r, ok := commandOf(node); ok {
			return r.Run(a)
		}
	}
	return errors.New("this command cannot be run")
}
