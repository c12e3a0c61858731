package guard

import (
	"strings"
)

// fd runs a command for what it finds.
func (j *judge) fd(c *call) bool {
	for i, a := range c.rest {
		if contains("-x -X --exec --exec-batch", a.s) {
			j.runCommand(c.sc, fill(c.rest[i+1:], "{}", string(holeName), appendText), stream{})
			break
		}
	}
	return true
}

// su hands words to the shell, which reads its input when it is given none.
func (j *judge) su(c *call) bool {
	if i := indexWord(c.ops, "-c"); i >= 0 && i+1 < len(c.ops) {
		j.script(c.sc.clone(), c.ops[i+1].s, c.in, "su")
	}
	if len(skipOptions(c.rest)) <= 1 && c.in.set && !c.in.file {
		j.script(c.sc.clone(), c.in.text, stream{}, "su")
	}
	return true
}

// keys judges what is typed into a terminal, and what is run in a new one.
func (j *judge) keys(c *call) bool {
	for i, a := range c.rest {
		if strings.ContainsAny(a.s, " ;|&") {
			// Keys are typed with their line ends.
			j.maybeShell(c.sc, strings.NewReplacer(`\n`, "\n", `\r`, "\n", "^M", "\n").Replace(a.s))
		}
		if baseName(a.s) == "git" {
			j.runCommand(c.sc, c.rest[i:], stream{})
		}
	}
	return true
}

// socket judges the commands that are connected to a socket.
func (j *judge) socket(c *call) bool {
	for i, a := range c.rest {
		for _, pre := range []string{"EXEC:", "SYSTEM:", "exec:", "system:"} {
			if k := strings.Index(a.s, pre); k >= 0 {
				j.script(c.sc.clone(), strings.SplitN(a.s[k+len(pre):], ",", 2)[0], stream{}, c.base)
			}
		}
		if i > 0 && contains("-e -c --exec --sh-exec", c.rest[i-1].s) {
			j.script(c.sc.clone(), a.s, stream{}, c.base)
		}
	}
	return true
}

// tracer judges the command that is traced.
func (j *judge) tracer(c *call) bool {
	for i, a := range c.rest {
		switch {
		case a.s == "--":
			j.runCommand(c.sc, c.rest[i+1:], stream{})
			return true
		case a.known() && i > 0 && baseName(a.s) == "git":
			j.runCommand(c.sc, c.rest[i:], stream{})
			return true
		}
	}
	return true
}

// unfilled says what happens to a text when the arguments have no mark.
type unfilled bool

const (
	appendText unfilled = true
	leaveAsIs  unfilled = false
)

// fill puts a text where mark stands; without a mark it is added at the end
// when add is set.
func fill(args []arg, mark, with string, add unfilled) []arg {
	out := make([]arg, 0, len(args)+1)
	found := false
	for _, a := range args {
		if a.s == ";" {
			break
		}
		if strings.Contains(a.s, mark) {
			found = true
			a.s = strings.ReplaceAll(a.s, mark, with)
		}
		out = append(out, a)
	}
	if !found && add == appendText {
		out = append(out, arg{s: with})
	}
	return out
}

func (j *judge) xargs(c *call) bool {
	sc, in, cmd := c.sc, c.in, c.ops
	replace := ""
	for _, o := range c.opts {
		switch o.name {
		case "-I", "-J":
			replace = o.val.s
		case "-i", "--replace":
			if replace = o.val.s; replace == "" {
				replace = "{}"
			}
		case "-a", "--arg-file":
			in = stream{set: true, text: string(holeForeign)}
		}
	}
	if len(cmd) == 0 {
		return true
	}
	text := in.text
	if !in.set {
		text = string(holeForeign)
	}
	if replace != "" {
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			j.run(sc.clone(), replaceArgs(cmd, replace, strings.TrimLeft(line, " \t")), stream{})
		}
		return true
	}
	var extra []arg
	for _, w := range splitXargs(text) {
		extra = append(extra, arg{s: w})
	}
	if len(extra) == 0 && in.set && in.text == "" {
		extra = []arg{{s: string(holeForeign)}}
	}
	j.runCommand(sc, append(append([]arg(nil), cmd...), extra...), stream{})
	return true
}

func replaceArgs(cmd []arg, mark, with string) []arg {
	out := make([]arg, len(cmd))
	for i, a := range cmd {
		out[i] = arg{s: strings.ReplaceAll(a.s, mark, with), glob: a.glob}
	}
	return out
}

// splitXargs splits like xargs: blanks, quotes, backslashes.
func splitXargs(s string) []string {
	var out []string
	var cur []byte
	has := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', 0:
			if has {
				out = append(out, string(cur))
			}
			cur, has = cur[:0], false
		case '\'', '"':
			has = true
			for i++; i < len(s) && s[i] != c; i++ {
				cur = append(cur, s[i])
			}
		case '\\':
			has = true
			if i++; i < len(s) {
				cur = append(cur, s[i])
			}
		default:
			has = true
			cur = append(cur, c)
		}
	}
	if has {
		out = append(out, string(cur))
	}
	return out
}

// parallel runs its words as a shell line, once for each argument.
func (j *judge) parallel(c *call) bool {
	sc, in, rest, i := c.sc, c.in, c.ops, 0
	var line []string
	for ; i < len(rest) && !strings.HasPrefix(rest[i].s, ":::"); i++ {
		line = append(line, rest[i].s)
	}
	var inputs []string
	if i < len(rest) {
		for _, a := range rest[i+1:] {
			if !strings.HasPrefix(a.s, ":::") {
				inputs = append(inputs, a.s)
			}
		}
	} else {
		text := in.text
		if !in.set {
			text = string(holeForeign)
		}
		inputs = strings.Split(strings.TrimRight(text, "\n"), "\n")
	}
	if len(line) == 0 {
		for _, s := range inputs {
			j.script(sc.clone(), s, stream{}, "parallel")
		}
		return true
	}
	cmd := strings.Join(line, " ")
	if foreign(cmd) {
		j.undecidable("what parallel would run")
		return true
	}
	for k, s := range inputs {
		if k > 8 || j.done {
			break
		}
		one := cmd
		if strings.Contains(one, "{") {
			for _, m := range []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}"} {
				one = strings.ReplaceAll(one, m, quoteWord(s))
			}
		} else {
			one += " " + quoteWord(s)
		}
		j.program(sc.clone(), one, stream{})
	}
	return true
}

func (j *judge) find(c *call) bool {
	sc, rest := c.sc, c.rest
	var roots []arg
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if s == "-H" || s == "-L" || s == "-P" || s == "-O3" {
			continue
		}
		if strings.HasPrefix(s, "-") || s == "(" || s == "!" || s == ")" {
			break
		}
		roots = append(roots, rest[i])
	}
	if len(roots) == 0 {
		roots = []arg{{s: "."}}
	}
	expr := rest[i:]
	f := findFilter(expr)
	for k := 0; k < len(expr) && !j.done; k++ {
		switch s := expr[k].s; s {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := k + 1
			for end < len(expr) && expr[end].s != ";" && (expr[end].s != "+" || expr[end-1].s != "{}") {
				end++
			}
			for _, r := range roots {
				cmd := replaceArgs(expr[min(k+1, len(expr)):end], "{}", strings.TrimSuffix(r.s, "/")+"/"+string(holeName))
				if len(cmd) > 0 && changesFiles(baseName(cmd[0].s)) {
					j.findTarget(sc, r, f)
				}
				j.runCommand(sc.clone(), cmd, stream{})
			}
			k = end
		case "-delete":
			for _, r := range roots {
				j.findTarget(sc, r, f)
			}
		case "-fprint", "-fls", "-fprint0", "-fprintf":
			if k+1 < len(expr) {
				j.write(sc, expr[k+1], "write to")
				k++
			}
		case "-files0-from":
			k++
		}
	}
	return true
}

func changesFiles(base string) bool {
	switch base {
	case "rm", "rmdir", "mv", "shred", "truncate", "chmod", "chown", "chgrp", "unlink", "sed", "touch", "perl":
		return true
	}
	return false
}

// filter is what a find expression says about the names it meets.
type filter struct {
	named   bool // only some names
	gitName bool // names that a git directory has
	skips   bool // leaves out .git
	shallow bool
}

func findFilter(expr []arg) filter {
	var f filter
	for i, a := range expr {
		next := ""
		if i+1 < len(expr) {
			next = expr[i+1].s
		}
		neg := i > 0 && (expr[i-1].s == "!" || expr[i-1].s == "-not")
		switch a.s {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex":
			if strings.Contains(next, ".git") && (neg || hasWord(expr, "-prune")) {
				f.skips = true
				continue
			}
			if neg {
				continue
			}
			f.named = true
			if strings.Contains(a.s, "name") && a.s != "-wholename" {
				for _, n := range []string{".git", "HEAD", "config", "index", "refs", "hooks", "packed-refs",
					"index.lock", "HEAD.lock", "pre-commit", "pre-push", "objects", "logs", "info", "ORIG_HEAD", "main", "master"} {
					if matchGlob(next, n) {
						f.gitName = true
					}
				}
			} else if strings.Contains(next, ".git") {
				f.gitName = true
			}
		case "-maxdepth":
			f.shallow = next == "1" || next == "0"
		}
	}
	return f
}

// findTarget judges what find would change below a starting point.
func (j *judge) findTarget(sc *scope, root arg, f filter) {
	if f.gitName && !f.skips {
		for _, p := range sc.resolve(root.s) {
			if p == j.p.Worktree || below(j.p.Worktree, p) {
				j.deny(ClassGitFiles, "this would change files in the git directory", "leave it out: -not -path './.git/*'")
				return
			}
		}
	}
	if f.named || f.skips && f.shallow {
		j.write(sc, root, "change files below")
		for _, p := range sc.resolve(root.s) {
			if p == "/" || p == "/home" || j.isHome(p) || j.system(p) || p != j.p.Worktree && below(j.p.Worktree, p) {
				j.deny(ClassDestructive, "this would change files all over "+clip(root.s), "name a folder of the worktree")
			}
		}
		return
	}
	if f.skips {
		j.write(sc, root, "change files below")
		return
	}
	j.remove(sc, root, denyUnknown)
}
