package guard

import (
	"strings"
)

// wrapper says where the wrapped command starts. Options are those of its row.
// After a short option with a shell line, only env passes on further words.
type wrapper struct {
	pos     int    // words between the options and the command
	env     bool   // NAME=value words may stand before the command
	module  string // options after which a module of Python stands, between blanks
	version string // bytes that end the command's name, because it names a package
}

// wrapper skips what belongs to the wrapper and judges what it would run.
func (j *judge) wrapper(c *call, r *command) string {
	base, args, in, w := c.base, c.args, c.in, r.runs
	b := c.sc.clone()
	defer func() {
		for name, f := range b.files {
			c.sc.note(name, f)
		}
	}()
	pos := w.pos
	i := 1
	for ; i < len(args) && !j.done; i++ {
		s := args[i].s
		switch {
		case s == "--":
			return j.wrapped(b, base, w, args, i+1+pos, in)
		case s == "--args" && (base == "gdb" || base == "lldb"):
			continue
		case contains(w.module, s) && i+1 < len(args):
			return j.runCommand(b, append([]arg{{s: "python3"}, {s: "-m"}}, args[i+1:]...), in)
		case strings.HasPrefix(s, "--") || base == "gdb" && strings.HasPrefix(s, "-"):
			name, val, has := strings.Cut(s, "=")
			if contains(r.shell, name) {
				if !has && i+1 < len(args) {
					i++
					val = args[i].s
				}
				return j.script(b, val+" "+j.hold(b, args[min(i+1, len(args)):]), in, base)
			}
			if !has && contains(r.long, name) {
				i++
				if base == "gdb" && i < len(args) {
					j.gdbCommand(b, args[i].s)
				}
			}
		case len(s) > 1 && s[0] == '-':
			n, line, isShell := r.cluster(s[1:])
			if isShell {
				if line == "" && i+1 < len(args) {
					i++
					line = args[i].s
				}
				if base == "env" {
					line += " " + j.hold(b, args[min(i+1, len(args)):])
				}
				return j.script(b, line, in, base)
			}
			i += n
			if base == "runuser" && strings.HasPrefix(s, "-u") {
				pos = 0 // with -u the command follows at once
			}
		case s == "-" && base == "env":
		case w.env && isAssignment(s):
			name, val, _ := strings.Cut(s, "=")
			b.set(name, value{s: val})
			j.assigned(b, name, val)
		case pos > 0:
			pos--
			if base == "taskset" && i > 1 && strings.HasPrefix(args[i-1].s, "-") && strings.Contains(args[i-1].s, "p") {
				return ""
			}
		default:
			return j.wrapped(b, base, w, args, i, in)
		}
	}
	if base == "env" && i >= len(args) {
		return string(holeForeign)
	}
	return ""
}

func (j *judge) wrapped(sc *scope, base string, w *wrapper, args []arg, i int, in stream) string {
	if i >= len(args) {
		return ""
	}
	// "sudo -s", "runuser user -c …": an option that only comes after the name.
	if (args[i].s == "-c" || args[i].s == "--command") && i+1 < len(args) {
		return j.script(sc, args[i+1].s, in, base)
	}
	cmd := args[i:]
	if name := cmd[0].s; w.version != "" && len(name) > 1 {
		if k := strings.IndexAny(name[1:], w.version); k >= 0 {
			cmd = append([]arg{{s: name[:k+1], glob: cmd[0].glob}}, cmd[1:]...)
		}
	}
	return j.runCommand(sc, cmd, in)
}

// wrap judges the words behind another command as those of a row that runs them.
func (j *judge) wrap(c *call, r *command, rest []arg) bool {
	inner := *c
	inner.args = append(c.args[:1:1], rest...)
	j.wrapper(&inner, r)
	return true
}

// cluster reads -abc: how many further words belong to it, and whether one of
// its letters is an option whose argument is a shell line.
func (r *command) cluster(letters string) (skip int, line string, isShell bool) {
	for k := 0; k < len(letters); k++ {
		if contains(r.shell, "-"+letters[k:k+1]) {
			return 0, letters[k+1:], true
		}
		if strings.IndexByte(r.short, letters[k]) >= 0 {
			if k == len(letters)-1 {
				return 1, "", false
			}
			return 0, "", false
		}
	}
	return 0, "", false
}

func isAssignment(s string) bool {
	i := strings.IndexByte(s, '=')
	if i < 1 {
		return false
	}
	for k := 0; k < i; k++ {
		c := s[k]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (k == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

func isShell(base string) bool {
	switch base {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "pdksh", "yash", "rbash", "fish", "csh", "tcsh",
		"posh", "osh", "xonsh", "nu", "elvish", "rc", "es", "bosh", "lksh", "bash.exe":
		return true
	}
	return false
}

// shell judges what a nested shell runs: -c, standard input or a file.
func (j *judge) shell(sc *scope, args []arg, in stream) string {
	b := sc.clone()
	b.aliases = nil // functions stay: "export -f" is not followed, so each counts as exported
	for _, name := range []string{"BASH_ENV", "ENV"} {
		if s := sc.get(name, ""); s != "" {
			j.source(b, []arg{{s: s}}, in)
			if !known(s) || strings.HasPrefix(s, "/dev/fd/") {
				j.undecidable("what the shell reads first")
			}
		}
	}
	stdin := false
	i := 1
	for ; i < len(args); i++ {
		s := args[i].s
		if s == "--" || s == "-" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' && s[0] != '+' {
			break
		}
		if strings.HasPrefix(s, "--") {
			switch s {
			case "--rcfile", "--init-file":
				i++
				if i < len(args) {
					j.source(b, args[i:i+1], in)
				}
			case "--command":
				return j.shellLine(b, args, i+1, in)
			}
			if v, ok := strings.CutPrefix(s, "--command="); ok {
				return j.script(b, v, in, "the shell")
			}
			continue
		}
		letters := s[1:]
		if s[0] == '-' && strings.Contains(letters, "c") && letters != "o" {
			if strings.ContainsAny(letters, "oO") { // bash -oc pipefail 'line'
				i++
			}
			return j.shellLine(b, args, afterOptions(args, i+1), in)
		}
		if strings.Contains(letters, "s") {
			stdin = true
		}
		if strings.HasSuffix(letters, "o") || strings.HasSuffix(letters, "O") {
			i++
		}
	}
	if i < len(args) && !stdin {
		name := args[i].s
		if name == "/dev/stdin" || name == "/dev/fd/0" || name == "/proc/self/fd/0" {
			stdin = true
		} else if f, ok := sc.made(name); ok && f.written {
			return j.shellText(b, f.text, args[i:], in)
		} else if ok && f.decoded {
			j.undecidable("what the script does")
			return ""
		} else if ok && f.program != "" {
			return ""
		} else {
			if !known(name) && foreign(name) && !strings.Contains(name, "/") && !args[i].glob {
				j.undecidable("which script this runs")
			}
			return string(holeForeign) // a script file: the sandbox's business
		}
		i++
	}
	if !in.set || in.file {
		return string(holeForeign)
	}
	b.params = []string{}
	if i < len(args) {
		b.params = texts(args[i:])
	}
	return j.script(b, in.text, stream{}, "the text given to the shell")
}

// afterOptions is the index of the first word from k on that is no option of a shell.
func afterOptions(args []arg, k int) int {
	for k < len(args) && len(args[k].s) > 1 && (args[k].s[0] == '-' || args[k].s[0] == '+') {
		if args[k].s == "--" {
			k++
			break
		}
		if strings.HasSuffix(args[k].s, "o") || strings.HasSuffix(args[k].s, "O") {
			k++
		}
		k++
	}
	return k
}

func (j *judge) shellLine(sc *scope, args []arg, i int, in stream) string {
	if i >= len(args) {
		return ""
	}
	sc.params = []string{}
	if i+2 <= len(args)-1 {
		sc.params = texts(args[i+2:])
	}
	if i+1 < len(args) {
		sc.put("0", &variable{vals: []value{{s: args[i+1].s}}})
	}
	line := args[i].s
	if args[i].glob {
		line = globText(line)
	}
	return j.script(sc, line, in, "the shell")
}
