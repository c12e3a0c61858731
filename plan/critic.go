package plan

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// Critic is what a review knows besides the plan. The zero value judges by the
// plan alone.
type Critic struct {
	// TaskTokens is the size that a task aims at; 0 = none.
	TaskTokens int
	// Check says whether an entry of verify is the name or kind of a configured
	// check; nil = the checks are not known, and no name is judged.
	Check func(entry string) bool
	// Program says whether a program can be run here; nil = it is not looked up.
	Program func(name string) bool
	// Closed says that a path of the worktree is a file that may not be executed; nil =
	// nobody looks.
	Closed func(path string) bool
	// Checked reports whether the project has checks, which judge every task.
	Checked bool
	// Agent: an agent makes the plan, and is refused what people are warned of.
	Agent bool
	// Places are the lines of the tasks in the file that they come from.
	Places Places
}

// New reviews after and leaves out problems that before already had.
func (c Critic) New(before, after Plan) Problems {
	known := make(map[string]bool)
	for _, p := range Review(before, c) {
		known[p.Text] = true
	}
	return slices.DeleteFunc(Review(after, c), func(p Problem) bool { return known[p.Text] })
}

// kinds are the names by which verify means all checks of a kind.
var kinds = []string{"test", "tests", "lint", "typecheck", "format", "format_check", "all"}

// command judges one entry of verify: what is wrong with it and the cure, "" when
// nothing is. What a task will make, such as a script, is not missing yet.
func (c Critic) command(entry string) (text string, warning bool) {
	entry = strings.TrimSpace(entry)
	if entry == "" || c.Check != nil && c.Check(entry) {
		return "", false // an empty one is named by Validate
	}
	name := programOf(entry)
	missing := name != "" && c.Program != nil && !c.Program(name)
	switch {
	case isPlaceholder(entry):
		return "is a placeholder: write a command that exits with 0 when the task is done, or leave it out", false
	case c.Check != nil && slices.Contains(kinds, entry):
		return "names a check that the project does not have: add it under [[checks]] in ralph.toml, or write the command",
			false
	case isProse(entry, missing):
		return "is a sentence and no command: put it under criteria, which are never run", false
	case missing && entry == name && c.Check != nil:
		return "names no check of the project and no program on PATH: write the command, or configure a check of that name",
			false
	case missing:
		return fmt.Sprintf("needs %s, which is not on PATH: install it before git ralph start", name), true
	case c.Closed != nil && c.Closed(pathOf(entry)):
		return fmt.Sprintf("names a file that may not be executed: chmod +x %s, or write what runs it, as in sh %s",
			pathOf(entry), pathOf(entry)), true
	case isVacuous(entry):
		return "passes whatever was done: write a command that fails before the task is done", true
	}
	return "", false
}

// shellWords need no program.
var shellWords = strings.Fields(". : [ [[ { ( ! alias bg break case cd command continue do done echo elif else esac " +
	"eval exec exit " +
	"export false fg fi for function getopts hash if jobs kill let local printf pwd read readonly return select set " +
	"shift source " +
	"test then time times trap true type ulimit umask unalias unset until wait while")

// ShellWord says that a shell knows a command without a program of that name.
func ShellWord(name string) bool { return slices.Contains(shellWords, name) }

var plainWord = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// programOf is the program that a command begins with, "" where that is not
// plain: a builtin, a path (a task may make the file), a quotation.
func programOf(command string) string {
	for _, w := range strings.Fields(command) {
		name, _, assigned := strings.Cut(w, "=")
		if assigned && plainWord().MatchString(name) {
			continue
		}
		w = strings.TrimSuffix(w, ";")
		if !plainWord().MatchString(w) || ShellWord(w) {
			return ""
		}
		return w
	}
	return ""
}

// pathOf is the path that a command begins with, "" where it begins otherwise.
func pathOf(command string) string {
	for _, w := range strings.Fields(command) {
		if name, _, assigned := strings.Cut(w, "="); assigned && plainWord().MatchString(name) {
			continue
		}
		if w = strings.TrimSuffix(w, ";"); strings.Contains(w, "/") && !strings.ContainsAny(w, "\"'`$*?[{(<>|&;\\") {
			return w
		}
		return ""
	}
	return ""
}

func isPlaceholder(s string) bool {
	words := strings.Fields(s)
	low := strings.ToLower(strings.Trim(s, " .:!?-_*[]{}<>`'\"…"))
	switch low {
	case "", "todo", "tbd", "fixme", "xxx", "n/a", "none", "placeholder", "command", "your command", "your command here",
		"cmd":
		return true
	}
	first := strings.ToLower(strings.Trim(words[0], ":,-"))
	return first == "todo" || first == "tbd" || first == "fixme" || slices.Contains(words, "…") ||
		slices.Contains(words, "...") ||
		strings.HasPrefix(s, "<") && strings.HasSuffix(s, ">")
}

// Words of sentences. The strong ones are never arguments of commands. The
// others count if the first word is not a program.
var (
	strongWords = strings.Fields("the that is are should must")
	// testWords end sentences, and are names of tests and scripts, too.
	testWords = strings.Fields("works passes succeeds sure correctly successfully manually properly")
	weakWords = strings.Fields("a an all and any be can ensure every if it pass this user verify when with without")
)

// isProse tells a sentence from a command: only words, some of them typical of
// sentences. In a short line one may name a test: cargo test works.
func isProse(s string, missing bool) bool {
	words := strings.Fields(strings.TrimRight(s, ".!"))
	if len(words) < 2 || slices.Contains([]string{"grep", "rg", "echo", "printf", "git"}, words[0]) {
		return false
	}
	strong, weak := 0, false
	for _, w := range words {
		w = strings.TrimRight(w, ",:;")
		if strings.HasPrefix(w, "-") || strings.ContainsAny(w, "/.=$|<>&;()\"'`*\\~{}[]") {
			return false
		}
		low := strings.ToLower(w)
		if slices.Contains(strongWords, low) {
			strong += 2
		} else if slices.Contains(testWords, low) {
			strong++
		}
		weak = weak || slices.Contains(weakWords, low)
	}
	capital := words[0][0] >= 'A' && words[0][0] <= 'Z'
	sentence := missing || len(words) > 3 || ShellWord(words[0])
	return strong > 1 || strong == 1 && sentence || missing && (weak || capital && len(words) > 2)
}

// forgiven is the end of a line that succeeds whatever came before; sameLiteral compares
// something with itself.
var (
	forgiven    = lazyregexp.New(`(\|\||;)\s*(true|:|exit 0|(echo|printf)\b[^|&;$<` + "`" + `'"]*(["'][^"'$]*["'])?)$`)
	sameLiteral = lazyregexp.New(`^(?:test|\[{1,2}) +([\w."']+) +(?:=|==|-eq) +([\w."']+)(?: +\]{1,2})?$`)
)

func isVacuous(s string) bool {
	switch s {
	case "true", ":", "exit 0", "/bin/true":
		return true
	}
	if m := sameLiteral().FindStringSubmatch(s); m != nil && m[1] == m[2] || forgiven().MatchString(s) {
		return true
	}
	return (strings.HasPrefix(s, "echo ") || strings.HasPrefix(s, "printf ")) && !strings.ContainsAny(s, "|&;>$`<(")
}

// broadWords make a task larger than one window holds, more often than not.
var broadWords = strings.Fields("all complete comprehensive end-to-end entire every everything full fully whole " +
	"system application platform " +
	"frontend backend endpoints pages features integration authentication infrastructure")

// breadth names the words by which a task without an estimate reads like
// several tasks: its title, and more than ten criteria.
func breadth(t *Task) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(t.Title),
		func(r rune) bool { return r == ' ' || r == ',' || r == '.' || r == '/' }) {
		if slices.Contains(broadWords, w) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if len(t.Criteria) > 10 {
		out = append(out, fmt.Sprintf("%d criteria", len(t.Criteria)), "in one task")
	}
	return out
}
