package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"git-ralph/internal/config"
)

// command is one command with everything that its help says.
type command struct {
	Name  string // "start", "deps add"
	Help  string
	Long  string
	Group string
	Flags []*kong.Flag
	Args  []*kong.Positional
	Usage string
}

// commandsOf lists the visible commands below a node, parents before children.
func commandsOf(n *kong.Node) []command {
	var out []command
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		c := command{Name: nodeName(child), Help: child.Help, Args: child.Positional, Usage: child.Summary(),
			Long: child.Detail}
		if child.Group != nil {
			c.Group = child.Group.Title
		}
		for _, f := range child.Flags {
			if !f.Hidden && f.Name != "help" {
				c.Flags = append(c.Flags, f)
			}
		}
		out = append(out, c)
		out = append(out, commandsOf(child)...)
	}
	return out
}

// nodeName is how a command is typed: "deps add".
func nodeName(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Type == kong.ApplicationNode {
		return n.Name
	}
	return nodeName(n.Parent) + " " + n.Name
}

func topLevel(cmds []command) []command {
	var out []command
	for _, c := range cmds {
		if !strings.Contains(c.Name, " ") {
			out = append(out, c)
		}
	}
	return out
}

func below(cmds []command, parent string) []command {
	var out []command
	for _, c := range cmds {
		if strings.HasPrefix(c.Name, parent+" ") {
			out = append(out, c)
		}
	}
	return out
}

// writePages writes git-ralph.1 and a page for each command into one folder,
// and the page of ralph.toml into another.
func (a *App) writePages(man1, man5 string) (n int, err error) {
	model := a.model()
	cmds := commandsOf(model.Node)
	pages := map[string]string{
		filepath.Join(man1, "git-ralph.1"):  mainPage(model, cmds),
		filepath.Join(man5, "ralph.toml.5"): settingsPage(),
	}
	for _, cmd := range topLevel(cmds) {
		pages[filepath.Join(man1, "git-ralph-"+cmd.Name+".1")] = commandPage(cmd, below(cmds, cmd.Name))
	}
	for _, file := range slices.Sorted(maps.Keys(pages)) {
		if err := writeMade(file, pages[file]); err != nil {
			return 0, fmt.Errorf("write man pages: %w", err)
		}
	}
	return len(pages), nil
}

// roff makes text safe in a man page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "…", "...", "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func pageHead(name string, section int, what string) string {
	return fmt.Sprintf(".TH %s %d \"\" \"git\\-ralph %s\" \"git ralph\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(roff(name)), section, roff(Version), roff(name), roff(strings.TrimSuffix(what, ".")))
}

func mainPage(app *kong.Application, cmds []command) string {
	var b strings.Builder
	b.WriteString(pageHead("git-ralph", 1, app.Help))
	b.WriteString(".SH SYNOPSIS\n.B git ralph\n.I command\n[\\fIoptions\\fR]\n")
	b.WriteString(
		".SH DESCRIPTION\nRuns a coding agent in a deterministic loop on a git repository, unattended, and can prove " +
			"afterwards what happened.\n" +
			"Each iteration picks one task, takes a checkpoint of the worktree, gives a fresh agent exactly the context it " +
			"needs, checks the result itself, and either commits it or puts the worktree back byte for byte.\n")
	group := ""
	b.WriteString(".SH COMMANDS\n")
	for _, c := range topLevel(cmds) {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, ".SS %s\n", roff(group))
		}
		fmt.Fprintf(&b, ".TP\n\\fBgit ralph %s\\fR\n%s\n", roff(c.Name), roff(c.Help))
	}
	b.WriteString(".SH OPTIONS\n")
	for _, f := range app.Flags {
		if !f.Hidden {
			b.WriteString(flagEntry(f))
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range [][2]string{{"0", "done or complete"}, {"1", "error"}, {"2", "usage"}, {"3", "blocked"},
		{"4", "the iterations are used up"},
		{"5", "halted by breaker or budget"}, {"6", "paused, or waiting for a person"},
		{"7", "another loop holds the branch"}, {"8", "preflight failed"}, {"130", "interrupted"}} {
		fmt.Fprintf(&b, ".TP\n%s\n%s\n", e[0], e[1])
	}
	b.WriteString(".SH SEE ALSO\n")
	var also []string
	for _, c := range topLevel(cmds) {
		also = append(also, fmt.Sprintf("\\fBgit\\-ralph\\-%s\\fR(1)", roff(c.Name)))
	}
	also = append(also, "\\fBralph.toml\\fR(5)")
	b.WriteString(strings.Join(also, ",\n") + "\n")
	return b.String()
}

func flagEntry(f *kong.Flag) string {
	name := `\fB\-\-` + roff(f.Name) + `\fR`
	if f.Short != 0 {
		name = `\fB\-` + string(f.Short) + `\fR, ` + name
	}
	if !f.IsBool() && !f.IsCounter() {
		name += `=\fI` + roff(f.FormatPlaceHolder()) + `\fR`
	}
	return ".TP\n" + name + "\n" + roff(f.Help) + "\n"
}

func commandPage(c command, subs []command) string {
	var b strings.Builder
	b.WriteString(pageHead("git-ralph-"+c.Name, 1, c.Help))
	b.WriteString(".SH SYNOPSIS\n")
	for _, x := range append([]command{c}, subs...) {
		if len(subs) > 0 && x.Name == c.Name {
			continue
		}
		fmt.Fprintf(&b, "\\fBgit ralph\\fR %s\n.br\n", roff(x.Usage))
	}
	if text, _, _ := strings.Cut(c.Long, "Examples:\n"); strings.TrimSpace(text) != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(strings.TrimSpace(text)))
	}
	for _, x := range append([]command{c}, subs...) {
		if len(x.Args)+len(x.Flags) == 0 {
			continue
		}
		if x.Name == c.Name {
			b.WriteString(".SH OPTIONS\n")
		} else {
			fmt.Fprintf(&b, ".SH %s\n%s\n", strings.ToUpper(roff(strings.TrimPrefix(x.Name, c.Name+" "))), roff(x.Help))
		}
		for _, p := range x.Args {
			fmt.Fprintf(&b, ".TP\n\\fI%s\\fR\n%s\n", roff(p.Summary()), roff(p.Help))
		}
		for _, f := range x.Flags {
			b.WriteString(flagEntry(f))
		}
	}
	b.WriteString(".SH EXAMPLES\n")
	for _, x := range append([]command{c}, subs...) {
		for _, e := range examples()[x.Name] {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(e.Line), roff(e.Why))
		}
	}
	b.WriteString(".SH SEE ALSO\n\\fBgit\\-ralph\\fR(1), \\fBralph.toml\\fR(5)\n")
	return b.String()
}

// settingsPage is ralph.toml(5), from the settings themselves.
func settingsPage() string {
	var b strings.Builder
	b.WriteString(pageHead("ralph.toml", 5, "settings of git ralph in a project"))
	b.WriteString(".SH DESCRIPTION\n" + roff("The file is at the root of the worktree and is committed like any other. "+
		"git ralph init writes it; git ralph config lists every setting with its value and where it came from. A place "+
		"further right wins: default, ralph.toml, each --config FILE, git config ralph.*, git ralph set, the environment "+
		"(RALPH_LOOP_MODE for loop.mode), flags.") + "\n")
	for _, s := range config.Reference() {
		fmt.Fprintf(&b, ".SH %s\n%s.\n", roff(s.Title), roff(upperFirst(s.Help)))
		for _, k := range s.Keys {
			b.WriteString(".TP\n\\fB" + roff(k.Name) + "\\fR")
			if k.Preset != "" {
				b.WriteString(" = " + roff(k.Preset))
			}
			text := upperFirst(k.Help) + "."
			if len(k.Values) > 0 {
				text += " One of " + strings.Join(k.Values, ", ") + "."
			}
			if k.Flag != "" {
				text += " Flag: --" + k.Flag + "."
			}
			b.WriteString("\n" + roff(text) + "\n")
		}
	}
	b.WriteString(".SH SEE ALSO\n\\fBgit\\-ralph\\fR(1), \\fBgit\\-ralph\\-config\\fR(1)\n")
	return b.String()
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
