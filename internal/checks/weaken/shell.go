package weaken

import (
	"path"
	"strings"
)

// simpleCommand is one command of a shell line: its words without quotes, the
// folder it runs in, relative to the worktree's root.
type simpleCommand struct {
	words []string
	dir   string
}

// commandsOf cuts a shell line into its simple commands. It knows quotes,
// comments, separators, redirections and `cd`; it does not expand anything. What it
// gets wrong leaves a file unprotected that nobody could have named anyway; the
// check itself is run by a real shell.
func commandsOf(line, dir string) []simpleCommand {
	var out []simpleCommand
	var words []string
	var word strings.Builder
	inWord := false
	endWord := func() {
		if inWord {
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	end := func() {
		endWord()
		for len(words) > 0 && (strings.Contains(words[0], "=") && isName(words[0][:strings.IndexByte(words[0], '=')]) || words[0] == "!" || words[0] == "then" || words[0] == "do" || words[0] == "else" || words[0] == "if" || words[0] == "while") {
			words = words[1:]
		}
		if len(words) == 0 {
			return
		}
		if words[0] == "cd" && len(words) == 2 {
			dir = join(dir, words[1])
		} else {
			out = append(out, simpleCommand{words, dir})
		}
		words = nil
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '\'', '"':
			inWord = true
			for i++; i < len(line) && line[i] != c; i++ {
				if c == '"' && line[i] == '\\' && i+1 < len(line) {
					i++
				}
				word.WriteByte(line[i])
			}
		case '\\':
			if i+1 < len(line) {
				i++
				if line[i] != '\n' {
					inWord = true
					word.WriteByte(line[i])
				}
			}
		case ' ', '\t', '\r':
			endWord()
		case ';', '&', '|', '\n', '(', ')', '{', '}':
			if (c == '{' || c == '}') && inWord {
				word.WriteByte(c)
				continue
			}
			if c == '&' && i > 0 && (line[i-1] == '>' || line[i-1] == '<') { // 2>&1
				continue
			}
			end()
		case '<', '>':
			if inWord && isDigits(word.String()) {
				word.Reset()
				inWord = false
			}
			endWord()
		case '#':
			if inWord {
				word.WriteByte(c)
				continue
			}
			for i+1 < len(line) && line[i+1] != '\n' {
				i++
			}
		default:
			inWord = true
			word.WriteByte(c)
		}
	}
	end()
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
		case "sudo", "env", "command", "builtin", "exec", "nohup", "time", "nice", "ionice", "setsid", "stdbuf", "xvfb-run", "npx", "bunx",
			"pnpx", "dotenv", "chronic", "ccache", "catchsegv", "winpty", "unbuffer", "rtx", "mise", "direnv", "nix-shell", "wait-on":
			c.words = dropOptions(w[1:], wrapperValue(name))
		case "timeout", "retry":
			rest := dropOptions(w[1:], "s k")
			c.words = rest[min(1, len(rest)):]
		case "uv", "poetry", "pipenv", "hatch", "pdm", "rye", "bundle", "pixi", "conda", "tox", "nox", "cross-env", "dotnet-env":
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
					return simpleCommand{dir: c.dir}, w[i+1]
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
	case "env":
		return "u C S"
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
