package cli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"git-ralph/gitstate/journal"
	"git-ralph/internal/agent"
	"git-ralph/internal/config"
	"git-ralph/internal/text"
	"git-ralph/internal/view"
	"git-ralph/plan/exchange"
)

// completeWord is what the scripts of completions call: git ralph __complete
// WORD..., where the last word is the one that is being typed.
const completeWord = "__complete"

// candidate is a word that fits, with what it stands for.
type candidate struct{ Word, Help string }

// typed is what the completion knows of a command line.
type typed struct {
	dir  string // -C
	kind string // what fits in this place, as the tag `complete` of a flag or argument names it
	// words fit beside those of kind.
	words []candidate
	// prefix stands before each word of kind: --task=
	prefix string
}

// understand walks the words of a command line up to the last one.
func understand(app *kong.Application, args []string) typed {
	args, split := joinEquals(args)
	last := args[len(args)-1]
	node, at, onlyWords := app.Node, 0, false
	var out typed
	for i := 0; i < len(args)-1; i++ {
		word := args[i]
		if onlyWords || !strings.HasPrefix(word, "-") || word == "-" {
			if child := childNamed(node, word); child != nil && at == 0 && !onlyWords {
				node = child
			} else {
				at++
			}
			continue
		}
		if word == "--" {
			onlyWords = true
			continue
		}
		name, value, joined := strings.Cut(word, "=")
		flag := flagNamed(node, name)
		if flag == nil || takesNothing(flag) {
			continue
		}
		if !joined {
			i++
			if i == len(args)-1 {
				out.kind = kindOf(flag.Tag, "files")
				return out
			}
			value = args[i]
		}
		if flag.Name == "dir" {
			out.dir = value
		}
	}
	if name, _, joined := strings.Cut(last, "="); joined && !onlyWords && strings.HasPrefix(name, "-") {
		if flag := flagNamed(node, name); flag != nil {
			out.kind = kindOf(flag.Tag, "files")
			if !split {
				out.prefix = name + "="
			}
		}
		return out
	}
	if strings.HasPrefix(last, "-") && !onlyWords {
		out.words = flagCandidates(node)
		return out
	}
	if at == 0 && !onlyWords {
		for _, c := range node.Children {
			if !c.Hidden && c.Type == kong.CommandNode {
				out.words = append(out.words, candidate{c.Name, c.Help})
			}
		}
		if node.DefaultCmd != nil {
			node = node.DefaultCmd
		}
	}
	if n := len(node.Positional); n > 0 {
		arg := node.Positional[min(at, n-1)]
		if at < n || arg.IsCumulative() {
			out.kind = kindOf(arg.Tag, "")
		}
	}
	return out
}

// joinEquals puts together what bash takes apart at "=". split says whether
// the last word was.
func joinEquals(args []string) (joined []string, split bool) {
	for i := 0; i < len(args); i++ {
		if n := len(joined); args[i] == "=" && n > 0 && strings.HasPrefix(joined[n-1], "--") {
			joined[n-1] += "="
			split = true
			if i+1 < len(args) {
				i++
				joined[n-1] += args[i]
				split = i == len(args)-1
			}
			continue
		}
		joined = append(joined, args[i])
	}
	if len(joined) == 0 {
		joined = []string{""}
	}
	return joined, split
}

func childNamed(n *kong.Node, word string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == word {
			return c
		}
		for _, other := range c.Aliases {
			if other == word {
				return c
			}
		}
	}
	return nil
}

func flagNamed(n *kong.Node, word string) *kong.Flag {
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if word == "--"+f.Name || f.Short != 0 && word == "-"+string(f.Short) {
				return f
			}
		}
	}
	return nil
}

// takesNothing says whether no word follows the flag.
func takesNothing(f *kong.Flag) bool {
	_, may := f.Target.Interface().(optional)
	return f.IsBool() || f.IsCounter() || may
}

// kindOf is what completes a flag or argument.
func kindOf(tag *kong.Tag, otherwise string) string {
	switch {
	case tag == nil:
		return otherwise
	case tag.Get("complete") != "":
		return tag.Get("complete")
	case tag.Enum != "":
		return "=" + tag.Enum
	}
	if otherwise == "files" {
		switch p := tag.PlaceHolder; {
		case p == "FILE" || p == "DIR":
			return "files"
		default:
			return ""
		}
	}
	return otherwise
}

// flagCandidates are the flags of a command, those of every command last.
func flagCandidates(n *kong.Node) []candidate {
	out := []candidate{{"--help", "Show help."}}
	for ; n != nil; n = n.Parent {
		for _, f := range n.Flags {
			if f.Hidden || f.Name == "help" || n.Parent == nil && n.Type == kong.ApplicationNode && len(out) > 1 {
				continue
			}
			word := "--" + f.Name
			if !takesNothing(f) {
				word += "="
			}
			out = append(out, candidate{word, f.Help})
		}
	}
	return out
}

// complete prints the words that fit, each with what it stands for. It is
// called at every press of the tab key and is silent when there is nothing to
// say.
func (a *App) complete(args []string) {
	t := understand(a.model(), args)
	if t.kind == "files" {
		a.printf(":files\n")
		return
	}
	a.Dir, _ = os.Getwd()
	if t.dir != "" {
		if os.Chdir(t.dir) != nil {
			return
		}
		a.Dir, _ = os.Getwd()
	}
	for _, c := range t.words {
		a.printf("%s\t%s\n", c.Word, c.Help)
	}
	for _, c := range a.candidates(t.kind) {
		a.printf("%s%s\t%s\n", t.prefix, c.Word, strings.ReplaceAll(text.Clip(c.Help, 60), "\n", " "))
	}
}

// candidates are the words of a kind.
func (a *App) candidates(kind string) (out []candidate) {
	words := func(list ...string) {
		for _, w := range list {
			out = append(out, candidate{Word: w})
		}
	}
	switch kind {
	case "tasks", "iterations", "iterations or tasks", "questions":
		snap, err := a.loadQuietly()
		if err != nil {
			return nil
		}
		if kind == "questions" {
			for _, q := range snap.State.Questions {
				out = append(out, candidate{q.ID, q.Text})
			}
			return out
		}
		if kind != "tasks" {
			out = a.newestIterations()
		}
		if kind != "iterations" {
			for _, t := range snap.State.Plan.Tasks {
				out = append(out, candidate{string(t.ID), string(t.Status) + ", " + t.Title})
			}
		}
	case "knowledge":
		if snap, err := a.loadQuietly(); err == nil {
			for _, k := range snap.State.Knowledge {
				out = append(out, candidate{k.ID, k.Text})
			}
		}
	case "settings":
		for _, s := range config.Reference() {
			for _, k := range s.Keys {
				if !strings.Contains(k.Name, "<") {
					out = append(out, candidate{k.Name, k.Help})
				}
			}
		}
	case "settable":
		for _, s := range config.Reference() {
			for _, k := range s.Keys {
				if k.Settable {
					out = append(out, candidate{k.Name, k.Help})
				}
			}
		}
	case "formats":
		for _, f := range exchange.Formats() {
			words(string(f))
		}
	case "modes":
		words("handoff-only", "handoff-plus-index", "agent-orchestrated")
	case "agents":
		words(agent.Names()...)
	case "statuses":
		words("pending", "in_progress", "done", "failed", "blocked", "skipped")
	case "events":
		for _, e := range view.Events {
			words(string(e))
		}
	case "shells":
		words(shells...)
	case "specs":
		files, _ := filepath.Glob("specs/*.md")
		words(files...)
	default:
		if list, ok := strings.CutPrefix(kind, "="); ok {
			words(strings.Split(list, ",")...)
		}
	}
	return out
}

// newestIterations are those that ended last, with how they ended.
func (a *App) newestIterations() (out []candidate) {
	const newest = 30
	seen := map[int]bool{}
	a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if n := e.Event.Iteration; n > 0 && e.Event.Result != nil && !seen[n] {
			seen[n] = true
			_, what, _ := strings.Cut(view.Subject(e), ": ")
			out = append(out, candidate{strconv.Itoa(n), what})
		}
		return len(out) < newest, nil
	})
	return out
}
