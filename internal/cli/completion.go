package cli

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/internal/text"
	"git-ralph/internal/view"
)

// CompletionCmd is `git ralph completion`.
type CompletionCmd struct {
	Shell   string `arg:"" optional:"" complete:"shells" help:"bash, zsh or fish."`
	Install bool   `help:"Put the completions and the man pages where your shells and man find them."`
	Man     string `placeholder:"DIR" help:"Write man pages into DIR instead."`
}

// Help says what it prints.
func (CompletionCmd) Help() string {
	return "Without --install the script goes to standard output, to be put where the shell looks. It works for " +
		"git ralph and git-ralph, and knows ids of tasks, numbers of iterations and names of settings. With --install " +
		"and no shell it is written for each shell that is on PATH."
}

// The scripts ask the program for the words: what it can do and what is in the
// journal is never out of date in them. The names of the commands are in them
// already, so that the first press of the key starts no process.
var (
	//go:embed completion.bash
	bashScript string
	//go:embed completion.zsh
	zshScript string
	//go:embed completion.fish
	fishScript string
)

var shells = []string{"bash", "zsh", "fish"}

// script is the completion of a shell; "" when there is none for it.
func (a *App) script(shell string) string {
	var words, described []string
	commands := topLevel(commandsOf(a.model().Node))
	for _, c := range commands {
		words = append(words, c.Name)
		described = append(described, "'"+strings.NewReplacer(":", "\\:", "'", "'\\''").Replace(c.Name)+":"+
			strings.NewReplacer("'", "'\\''").Replace(c.Help)+"'")
	}
	switch shell {
	case "bash":
		return strings.ReplaceAll(bashScript, "@COMMANDS@", strings.Join(words, " "))
	case "zsh":
		return strings.ReplaceAll(zshScript, "@COMMANDS@", strings.Join(described, "\n\t\t\t"))
	case "fish":
		var lines strings.Builder
		for _, c := range commands {
			for _, program := range []string{"git", "git-ralph"} {
				fmt.Fprintf(&lines, "complete -c %s -f -n '__git_ralph_first' -a %s -d %s\n", program, c.Name, fishQuote(c.Help))
			}
		}
		return strings.ReplaceAll(fishScript, "@COMMANDS@\n", lines.String())
	}
	return ""
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'", "\n", " ").Replace(s) + "'"
}

// Run prints or installs the completions, made from the command line's own
// description.
func (c *CompletionCmd) Run(a *App) error {
	shell := strings.ToLower(c.Shell)
	if shell != "" && !slices.Contains(shells, shell) {
		return usage("bash, zsh and fish", "there are no completions for %q", c.Shell)
	}
	switch {
	case c.Install && c.Man != "":
		return usage("git ralph completion --install", "--install has a place for the man pages, --man names another")
	case c.Install:
		return c.install(a, shell)
	case c.Man != "":
		n, err := a.writePages(c.Man, c.Man)
		if err == nil {
			a.printf("wrote %s to %s\n", view.Plural(n, "man page"), c.Man)
		}
		return err
	case shell == "":
		return usage("git ralph completion bash, zsh or fish; --install puts them where they are found", "name a shell")
	}
	a.printf("%s", a.script(shell))
	return nil
}

// made is a completion, where its shell finds it, and where below a folder such as
// /usr/share a package puts it.
type made struct{ shell, file, more, packaged string }

// completions are those of the shells that are on PATH, or of one shell; data is
// the folder for data of the person's programs.
func (a *App) completions(shell string) (list []made, data string, err error) {
	home := a.getenv("HOME")
	if home == "" {
		return nil, "", gitstate.Hint(1, "git ralph completion bash > FILE, and --man DIR, write them where you say",
			"there is no home folder: HOME is not set")
	}
	if data = a.getenv("XDG_DATA_HOME"); data == "" {
		data = filepath.Join(home, ".local", "share")
	}
	conf := a.getenv("XDG_CONFIG_HOME")
	if conf == "" {
		conf = filepath.Join(home, ".config")
	}
	bash := a.getenv("BASH_COMPLETION_USER_DIR")
	if bash == "" {
		bash = filepath.Join(data, "bash-completion")
	}
	zsh := filepath.Join(data, "zsh", "site-functions")
	for _, m := range []made{
		{"bash", filepath.Join(bash, "completions", "git-ralph"), "needs the package bash-completion; new shells have it",
			"bash-completion/completions/git-ralph"},
		{"zsh", filepath.Join(zsh, "_git-ralph"), "in ~/.zshrc, before compinit: fpath=(" + text.Shell(zsh) + " $fpath)",
			"zsh/vendor-completions/_git-ralph"},
		// Not in fish's completions folder: there the file would be loaded only after the first use of git-ralph.
		{"fish", filepath.Join(conf, "fish", "conf.d", "git-ralph.fish"), "new shells have it",
			"fish/vendor_conf.d/git-ralph.fish"},
	} {
		if shell == m.shell || shell == "" && a.hasProgram(m.shell) {
			list = append(list, m)
		}
	}
	return list, data, nil
}

// install writes each file where it is found without a further step, and
// prints the step where there is no such place.
func (c *CompletionCmd) install(a *App, shell string) error {
	list, data, err := a.completions(shell)
	if err != nil {
		return err
	}
	for _, m := range list {
		if err := writeMade(m.file, a.script(m.shell)); err != nil {
			return err
		}
		a.printf("%-5s %s (%s)\n", m.shell, m.file, m.more)
	}
	man, found := a.manFolder(data)
	if _, err := a.writePages(filepath.Join(man, "man1"), filepath.Join(man, "man5")); err != nil {
		return err
	}
	more := "git ralph --help shows them"
	if !found {
		more = "to have man look there: export MANPATH=" + text.Shell(man) + ":"
	}
	a.printf("%-5s %s (%s)\n", "man", man, more)
	return nil
}

// lackingHelp names missing completions and man pages, "" = none that this person
// could use. Files that a package put into system folders count as present.
func (a *App) lackingHelp() string {
	list, data, err := a.completions("")
	if err != nil {
		return ""
	}
	packaged := func(name string) bool {
		for _, top := range []string{"/usr/share", "/usr/local/share"} {
			if _, err := os.Stat(filepath.Join(top, name)); err == nil {
				return true
			}
		}
		return false
	}
	var lacks []string
	for _, m := range list {
		own, err := os.ReadFile(m.file)
		switch {
		case err == nil && string(own) != a.script(m.shell):
			lacks = append(lacks, "the completion for "+m.shell+" is of another version")
		case err != nil && !packaged(m.packaged):
			lacks = append(lacks, "there is no completion for "+m.shell)
		}
	}
	const page = "man1/git-ralph.1"
	man, _ := a.manFolder(data)
	if _, err := os.Stat(filepath.Join(man, page)); err != nil && a.hasProgram("man") && !packaged("man/"+page) &&
		!packaged("man/"+page+".gz") {
		lacks = append(lacks, "there is no man page for git ralph --help")
	}
	return strings.Join(lacks, "; ")
}

// manFolder is where man pages go: man looks in X/share/man for each X/bin on
// PATH. found says whether it will look there.
func (a *App) manFolder(data string) (dir string, found bool) {
	path := filepath.SplitList(a.getenv("PATH"))
	own := filepath.Join(data, "man")
	if slices.Contains(path, filepath.Join(a.getenv("HOME"), ".local", "bin")) {
		return own, true
	}
	for _, entry := range filepath.SplitList(a.getenv("MANPATH")) {
		if filepath.Clean(entry) == own {
			return own, true
		}
	}
	// A program in ~/go/bin has its pages in ~/go/share/man; one in a folder of the system is left alone.
	self, err := os.Executable()
	bin := filepath.Dir(self)
	if err == nil && filepath.Base(bin) == "bin" && slices.Contains(path, bin) &&
		strings.HasPrefix(bin, a.getenv("HOME")+string(filepath.Separator)) {
		return filepath.Join(filepath.Dir(bin), "share", "man"), true
	}
	return own, false
}

// writeMade writes a file that git ralph made, with the folders above it.
func writeMade(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return gitstate.WriteFile(file, []byte(content), 0o644)
}
