package weaken

import (
	"path"
	"strings"

	"git-ralph/guard/script"
)

// simpleCommand is one command of a shell line: its words without quotes, the
// folder it runs in, relative to the worktree's root, and where it stands.
type simpleCommand struct {
	words []string
	dir   string
	use   script.Use
	pipe  string         // the program that reads its output
	into  string         // the file that its output goes into
	by    string         // the script that it stands in; "" = the line of a check, a recipe, a package script
	from  *script.Script // all of that text
	// oneOf: a name in it is one of those that a loop, find or another program gave.
	oneOf bool
}

// commandsOf cuts a shell text into its simple commands. It follows `cd` and expands
// nothing. A mistake leaves a file unprotected that nobody could have named anyway;
// a real shell runs the check itself.
func commandsOf(text, dir, by string) []simpleCommand {
	s, err := script.Read(text)
	if err != nil {
		lines := strings.Split(text, "\n")
		if len(lines) == 1 {
			return nil
		}
		var out []simpleCommand
		for _, l := range lines { // what can be read of it
			out = append(out, commandsOf(l, dir, by)...)
		}
		return out
	}
	var out []simpleCommand
	for _, c := range s.Commands {
		if len(c.Words) == 2 && c.Words[0] == "cd" && c.Func == "" {
			if rest, ok := strings.CutPrefix(c.Words[1], "$(…)"); ok && by != "" {
				dir = join(path.Dir(by), strings.TrimPrefix(rest, "/")) // "$(dirname "$0")"
			} else if !strings.ContainsAny(c.Words[1], "$`") {
				dir = join(dir, c.Words[1])
			}
			continue
		}
		out = append(out, simpleCommand{words: c.Words, dir: dir, use: c.Use, pipe: c.Pipe, into: c.Into, from: &s})
	}
	return out
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isName(s string) bool {
	for i, c := range s {
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// resolve is the path of a file that a command names. A prefix that ends in a
// variable is taken for the folder of the script itself, or the root.
func (c *configJudge) resolve(name string, cmd simpleCommand) (string, bool) {
	if !strings.ContainsAny(name, "$*`") {
		return join(cmd.dir, name), true
	}
	_, rest, ok := strings.Cut(name[strings.LastIndexAny(name, "$*`})")+1:], "/")
	if !ok || strings.ContainsAny(name, "*") {
		return "", false
	}
	for _, dir := range []string{path.Dir(cmd.by), cmd.dir, ""} {
		p := join(dir, rest)
		if _, changed := c.files[p]; changed || c.content(p) != nil {
			return p, true
		}
	}
	return "", false
}

// join resolves a path of a command; "" is the root, and paths that leave the
// worktree stay outside of everything (they begin with "../" or "/").
func join(dir, p string) string {
	if path.IsAbs(p) {
		return p
	}
	if p = path.Join(dir, p); p == "." {
		return ""
	}
	return p
}

// unwrap removes commands that only run another one, and gives lines that a
// shell would run (`sh -c '…'`) as such.
func (c simpleCommand) unwrap() (simpleCommand, string) {
	for range 12 { // wrappers around wrappers; a real line has two or three
		if len(c.words) == 0 {
			return c, ""
		}
		w := c.words
		if rest := behindVariable(w[0]); rest != w[0] {
			c.words = append([]string{rest}, w[1:]...)
			w = c.words
		}
		switch name := path.Base(w[0]); name {
		case "env":
			for i, a := range w {
				if text, ok := strings.CutPrefix(a, "--split-string="); ok {
					return c.inside(text)
				} else if text, ok := strings.CutPrefix(a, "-S"); ok && strings.TrimSpace(text) != "" {
					return c.inside(text)
				} else if (a == "-S" || a == "--split-string" || a == "-vS") && i+1 < len(w) {
					return c.inside(strings.Join(w[i+1:], " "))
				} else if i > 0 && !strings.HasPrefix(a, "-") && !strings.Contains(a, "=") {
					break
				}
			}
			c.words = dropOptions(w[1:], "u C")
		case "sudo", "command", "builtin", "exec", "nohup", "time", "nice", "ionice", "setsid", "stdbuf", "xvfb-run",
			"npx", "bunx",
			"pnpx", "dotenv", "chronic", "ccache", "catchsegv", "winpty", "unbuffer", "rtx", "mise", "direnv", "nix-shell",
			"wait-on":
			c.words = dropOptions(w[1:], wrapperValue(name))
		case "timeout", "retry":
			rest := dropOptions(w[1:], "s k")
			c.words = rest[min(1, len(rest)):]
		case "uv", "poetry", "pipenv", "hatch", "pdm", "rye", "bundle", "pixi", "conda", "tox", "nox", "cross-env",
			"dotnet-env":
			if name == "cross-env" {
				c.words = dropOptions(w[1:], "")
				break
			}
			if len(w) > 1 && (w[1] == "run" || w[1] == "exec") {
				c.words = dropOptions(w[2:], "p n with env-file group extra python")
				break
			}
			return c, ""
		case "sh", "bash", "dash", "zsh", "ksh", "ash":
			for i := 1; i < len(w); i++ {
				if strings.HasPrefix(w[i], "-") && strings.Contains(w[i], "c") && !strings.HasPrefix(w[i], "--") && i+1 < len(w) {
					return c.inside(positional(w[i+1], w[i+2:]))
				}
				if !strings.HasPrefix(w[i], "-") {
					break
				}
			}
			return c, ""
		case "pnpm", "yarn", "npm", "bun":
			if len(w) > 2 && (w[1] == "exec" || w[1] == "dlx" || w[1] == "x") {
				c.words = dropOptions(w[2:], "c")
				break
			}
			return c, ""
		case "coverage":
			if len(w) > 1 && w[1] == "run" {
				rest := w[2:]
				if len(rest) > 1 && rest[0] == "-m" {
					c.words = rest[1:]
				} else {
					c.words = append([]string{"python"}, rest...)
				}
				break
			}
			return c, ""
		default:
			return c, ""
		}
	}
	return c, ""
}

// inside is a command of which only a line is left that a shell would run.
func (c simpleCommand) inside(line string) (simpleCommand, string) {
	c.words = nil
	return c, line
}

// positional fills the arguments of sh -c into its line; the first is its $0.
func positional(line string, args []string) string {
	if len(args) == 0 {
		return line
	}
	all := strings.Join(args[min(1, len(args)):], " ")
	pairs := []string{`"$@"`, all, "$@", all, "$*", all}
	for i, a := range args[:min(len(args), 10)] {
		n := string(rune('0' + i))
		pairs = append(pairs, "${"+n+"}", a, "$"+n, a)
	}
	return strings.NewReplacer(pairs...).Replace(line)
}

// behindVariable is a program without the variable in front of it, which names
// its folder: ${PREFIX}coverage. A variable alone in front of -m is Python.
func behindVariable(word string) string {
	if !strings.HasPrefix(word, "$") {
		return word
	}
	if rest, ok := strings.CutPrefix(word, "${"); ok {
		if _, rest, ok = strings.Cut(rest, "}"); ok && strings.Trim(rest, "/") != "" {
			return rest
		}
	} else if i := strings.LastIndexByte(word, '/'); i > 0 && i+1 < len(word) {
		return word[i+1:]
	}
	if strings.Contains(strings.ToLower(word), "py") {
		return "python"
	}
	return word
}

func wrapperValue(name string) string {
	switch name {
	case "sudo":
		return "u g"
	case "nice", "ionice":
		return "n c"
	case "npx":
		return "p c"
	}
	return ""
}

// dropOptions removes leading options and assignments; options named in values
// (separated by blanks, without dashes) take the next word.
func dropOptions(words []string, values string) []string {
	for len(words) > 0 {
		w := words[0]
		switch {
		case w == "--":
			return words[1:]
		case strings.HasPrefix(w, "-"):
			words = words[1:]
			if strings.Contains(" "+values+" ", " "+strings.TrimLeft(w, "-")+" ") && len(words) > 0 {
				words = words[1:]
			}
		case strings.Contains(w, "=") && isName(w[:strings.IndexByte(w, '=')]):
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

// option is the value of --name v, --name=v or -n v.
func (c simpleCommand) option(names ...string) string {
	for i, w := range c.words {
		for _, n := range names {
			if w == n && i+1 < len(c.words) {
				return c.words[i+1]
			}
			if v, ok := strings.CutPrefix(w, n+"="); ok {
				return v
			}
		}
	}
	return ""
}
