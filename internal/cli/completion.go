package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
)

// CompletionCmd is `git ralph completion`.
type CompletionCmd struct {
	Shell string `arg:"" optional:"" help:"bash, zsh or fish."`
	Man   string `placeholder:"DIR" help:"Write man pages into DIR instead, so that git ralph --help works."`
	Tasks bool   `hidden:"" help:"List ids of tasks, for the completions."`
}

// Help says how to install them.
func (CompletionCmd) Help() string {
	return "bash: git ralph completion bash > ~/.local/share/bash-completion/completions/git-ralph. " +
		"zsh: git ralph completion zsh > a folder of $fpath/_git-ralph. " +
		"fish: git ralph completion fish > ~/.config/fish/completions/git-ralph.fish. " +
		"Man pages: git ralph completion --man ~/.local/share/man/man1."
}

// Run prints the completions of a shell, made from the command line's own
// description.
func (c *CompletionCmd) Run(a *App) error {
	if c.Tasks {
		return c.tasks(a)
	}
	cmds := commandsOf(a.parser.Model.Node)
	if c.Man != "" {
		return c.man(a, cmds)
	}
	switch strings.ToLower(c.Shell) {
	case "bash":
		bashCompletion(a.Out, cmds)
	case "zsh":
		zshCompletion(a.Out, cmds)
	case "fish":
		fishCompletion(a.Out, cmds)
	case "":
		return usage("git ralph completion bash, zsh or fish; --man DIR writes man pages", "name a shell")
	default:
		return usage("bash, zsh and fish", "there are no completions for %q", c.Shell)
	}
	return nil
}

// tasks prints the ids of the plan. It is called at every press of the tab key
// and is silent when there is nothing to say.
func (c *CompletionCmd) tasks(a *App) error {
	j, err := a.Journal()
	if err != nil {
		return &ExitError{Code: 1}
	}
	snap, err := j.Load(a.Ctx)
	if errors.Is(err, journal.ErrNone) || err != nil {
		return &ExitError{Code: 1}
	}
	for _, t := range snap.State.Plan.Tasks {
		a.printf("%s\n", t.ID)
	}
	return nil
}

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

// takesTasks says whether a command's words are ids of tasks.
func (c command) takesTasks() bool {
	switch c.Name {
	case "skip", "retry", "block", "unblock", "prompt", "show":
		return true
	}
	return false
}

func (c command) takesFiles() bool { return c.Name == "import" }

func (c command) flagWords() string {
	words := []string{"--help"}
	for _, f := range c.Flags {
		word := "--" + f.Name
		if !f.IsBool() {
			word += "="
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
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

// bashCompletion serves `git ralph`, where git's own completion calls
// _git_ralph, and `git-ralph` typed as one word.
func bashCompletion(w io.Writer, cmds []command) {
	var names []string
	for _, c := range topLevel(cmds) {
		names = append(names, c.Name)
	}
	fmt.Fprintf(w, `# bash completion of git ralph; needs git's own completion for "git ralph"
__git_ralph_words() {
	local IFS=$' \t\n' word i
	COMPREPLY=()
	for word in $1; do
		if [[ $word == "$2"* ]]; then
			[[ $word == *= ]] || word="$word "
			COMPREPLY+=("$word")
		fi
	done
}
__git_ralph() {
	local cur=${COMP_WORDS[COMP_CWORD]} i cmd= sub=
	COMPREPLY=()
	for ((i = $1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-*) ;;
		*) if [[ -z $cmd ]]; then cmd=${COMP_WORDS[i]}; elif [[ -z $sub ]]; then sub=${COMP_WORDS[i]}; fi ;;
		esac
	done
	compopt -o nospace 2>/dev/null
	case "$cmd" in
	"") __git_ralph_words "%s" "$cur" ;;
`, strings.Join(names, " "))
	for _, c := range topLevel(cmds) {
		fmt.Fprintf(w, "\t%s)\n", c.Name)
		subs := below(cmds, c.Name)
		var words []string
		for _, s := range subs {
			words = append(words, strings.TrimPrefix(s.Name, c.Name+" "))
		}
		if len(subs) > 0 {
			fmt.Fprintf(w, "\t\tcase \"$sub\" in\n")
			for _, s := range subs {
				fmt.Fprintf(w, "\t\t%s) __git_ralph_words %q \"$cur\" ;;\n", strings.TrimPrefix(s.Name, c.Name+" "), s.flagWords())
			}
			fmt.Fprintf(w, "\t\t*) __git_ralph_words %q \"$cur\" ;;\n\t\tesac\n", strings.Join(words, " ")+" --help")
		} else {
			fmt.Fprintf(w, "\t\tif [[ $cur == -* ]]; then __git_ralph_words %q \"$cur\"\n", c.flagWords())
			switch {
			case c.takesTasks():
				fmt.Fprintf(w, "\t\telse __git_ralph_words \"$(git ralph completion --tasks 2>/dev/null)\" \"$cur\"\n")
			case c.takesFiles():
				fmt.Fprintf(w, "\t\telse compopt +o nospace -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\"))\n")
			}
			fmt.Fprintf(w, "\t\tfi\n")
		}
		fmt.Fprintf(w, "\t\t;;\n")
	}
	fmt.Fprint(w, `	esac
}
_git_ralph() {
	local i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == ralph ]] && break
	done
	__git_ralph $((i + 1))
}
__git_ralph_alone() { __git_ralph 1; }
complete -o nospace -F __git_ralph_alone git-ralph
`)
}

func zshQuote(s string) string {
	s = strings.NewReplacer("\\", "\\\\", ":", "\\:", "[", "\\[", "]", "\\]", "'", "'\\''").Replace(s)
	return strings.ReplaceAll(s, "\n", " ")
}

// zshCompletion is the file _git-ralph, which zsh's own _git finds.
func zshCompletion(w io.Writer, cmds []command) {
	fmt.Fprint(w, "#compdef git-ralph\n#description Run a coding agent alone on a repository you care about\n\n")
	fmt.Fprint(w,
		"__git_ralph_tasks() {\n\tlocal -a ids\n\tids=(${(f)\"$(git ralph completion --tasks 2>/dev/null)\"})\n\tcompadd "+
			"-a ids\n}\n\n")
	fmt.Fprint(w,
		"_git-ralph() {\n\tlocal curcontext=\"$curcontext\" state line\n\tlocal -a commands\n\t_arguments -C '(- "+
			"*)--help[show help]' '-C[run as if started in a folder]:folder:_directories' '*-v[say more]' '1: :->command' "+
			"'*:: :->words'\n")
	fmt.Fprint(w, "\tcase $state in\n\tcommand)\n\t\tcommands=(\n")
	for _, c := range topLevel(cmds) {
		fmt.Fprintf(w, "\t\t\t'%s:%s'\n", c.Name, zshQuote(c.Help))
	}
	fmt.Fprint(w, "\t\t)\n\t\t_describe command commands\n\t\t;;\n\twords)\n\t\tcase $line[1] in\n")
	for _, c := range topLevel(cmds) {
		fmt.Fprintf(w, "\t\t%s)\n", c.Name)
		if subs := below(cmds, c.Name); len(subs) > 0 {
			fmt.Fprint(w, "\t\t\tcommands=(\n")
			for _, s := range subs {
				fmt.Fprintf(w, "\t\t\t\t'%s:%s'\n", strings.TrimPrefix(s.Name, c.Name+" "), zshQuote(s.Help))
			}
			fmt.Fprint(w, "\t\t\t)\n\t\t\t_describe command commands\n\t\t\t;;\n")
			continue
		}
		fmt.Fprint(w, "\t\t\t_arguments '(- *)--help[show help]'")
		for _, f := range c.Flags {
			value := ""
			if !f.IsBool() {
				value = ":" + zshQuote(strings.ToLower(f.FormatPlaceHolder())) + ":_files"
				fmt.Fprintf(w, " \\\n\t\t\t\t'--%s=[%s]%s'", f.Name, zshQuote(f.Help), value)
				continue
			}
			fmt.Fprintf(w, " \\\n\t\t\t\t'--%s[%s]'", f.Name, zshQuote(f.Help))
		}
		switch {
		case c.takesTasks():
			fmt.Fprint(w, " \\\n\t\t\t\t'*:task:__git_ralph_tasks'")
		case c.takesFiles():
			fmt.Fprint(w, " \\\n\t\t\t\t'*:file:_files'")
		}
		fmt.Fprint(w, "\n\t\t\t;;\n")
	}
	fmt.Fprint(w, "\t\tesac\n\t\t;;\n\tesac\n}\n\n_git-ralph \"$@\"\n")
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'", "\n", " ").Replace(s) + "'"
}

// fishCompletion serves both spellings.
func fishCompletion(w io.Writer, cmds []command) {
	fmt.Fprint(w, `# fish completion of git ralph
function __git_ralph_words
	set -l words (commandline -opc)
	set -l start 2
	if test "$words[1]" = git
		set start 3
		test "$words[2]" = ralph; or return 1
	end
	for word in $words[$start..-1]
		string match -q -- '-*' $word; or echo $word
	end
end
function __git_ralph_at
	set -l words (__git_ralph_words)
	or return 1
	test "$words" = "$argv"
end
function __git_ralph_in
	set -l words (__git_ralph_words)
	or return 1
	test "$words[1..(count $argv)]" = "$argv"
end
`)
	fmt.Fprint(w, "complete -c git -f -n 'test (commandline -opc)[-1] = git' -a ralph -d 'Run a coding agent alone'\n")
	for _, program := range []string{"git", "git-ralph"} {
		for _, c := range cmds {
			parent, name := "", c.Name
			if i := strings.LastIndexByte(c.Name, ' '); i >= 0 {
				parent, name = " "+c.Name[:i], c.Name[i+1:]
			}
			fmt.Fprintf(w, "complete -c %s -f -n '__git_ralph_at%s' -a %s -d %s\n", program, parent, name, fishQuote(c.Help))
			for _, f := range c.Flags {
				value := ""
				if !f.IsBool() {
					value = " -r"
				}
				fmt.Fprintf(w, "complete -c %s -n '__git_ralph_in %s' -l %s%s -d %s\n", program, c.Name, f.Name, value,
					fishQuote(f.Help))
			}
			if c.takesTasks() {
				fmt.Fprintf(w,
					"complete -c %s -f -n '__git_ralph_in %s' -a '(git ralph completion --tasks 2>/dev/null)'\n", program, c.Name)
			}
			if c.takesFiles() {
				fmt.Fprintf(w, "complete -c %s -F -n '__git_ralph_in %s'\n", program, c.Name)
			}
		}
	}
}

// man writes git-ralph.1 and a page for each command.
func (c *CompletionCmd) man(a *App, cmds []command) error {
	if err := os.MkdirAll(c.Man, 0o755); err != nil {
		return fmt.Errorf("write man pages: %w", err)
	}
	pages := map[string]string{"git-ralph.1": mainPage(a.parser.Model, cmds)}
	for _, cmd := range topLevel(cmds) {
		pages["git-ralph-"+cmd.Name+".1"] = commandPage(cmd, below(cmds, cmd.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if err := gitstate.WriteFile(filepath.Join(c.Man, name), []byte(pages[name]), 0o644); err != nil {
			return err
		}
	}
	a.printf("wrote %s to %s\n", plural(len(pages), "man page"), c.Man)
	return nil
}

// roff makes text safe in a man page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "…", "...", "-", `\-`, "\n", " ").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func pageHead(name, what string) string {
	return fmt.Sprintf(".TH %s 1 \"\" \"git\\-ralph %s\" \"git ralph\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(roff(name)), roff(Version), roff(name), roff(strings.TrimSuffix(what, ".")))
}

func mainPage(app *kong.Application, cmds []command) string {
	var b strings.Builder
	b.WriteString(pageHead("git-ralph", app.Help))
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
	b.WriteString(pageHead("git-ralph-"+c.Name, c.Help))
	b.WriteString(".SH SYNOPSIS\n")
	for _, x := range append([]command{c}, subs...) {
		if len(subs) > 0 && x.Name == c.Name {
			continue
		}
		fmt.Fprintf(&b, "\\fBgit ralph\\fR %s\n.br\n", roff(x.Usage))
	}
	if text := strings.TrimSpace(c.Long); text != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(text))
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
	b.WriteString(".SH SEE ALSO\n\\fBgit\\-ralph\\fR(1)\n")
	return b.String()
}
