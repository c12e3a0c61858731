package guard

import (
	"strings"
)

// wrapper describes a command that runs the command in its words.
type wrapper struct {
	short string // letters of options that take an argument
	long  string // long options that take a separate argument, each between blanks
	pos   int    // words between the options and the command
	env   bool   // NAME=value words may stand before the command
	shell string // options whose argument is a shell line, each between blanks
}

func wrapperOf(base string) (wrapper, bool) {
	switch base {
	case "sudo", "doas", "run0":
		return wrapper{short: "ughpCcrtTUDRa",
			long: " --user --group --host --prompt --close-from --role --type --chdir --chroot ", env: true}, true
	case "env", "genv":
		return wrapper{short: "uC", long: " --unset --chdir --argv0 ", env: true, shell: " -S --split-string "}, true
	case "nohup", "setsid", "chronic", "unbuffer", "eatmydata", "catchsegv", "dbus-run-session", "fakeroot", "ccache",
		"ifne", "linux32", "linux64", "i386", "x86_64", "noglob", "nocorrect", "bear", "tini", "dumb-init",
		"caffeinate", "command_not_found_handle", "winpty", "compdbg", "sem", "annotate-output", "systemd-cat":
		return wrapper{short: "tjr", long: " --signal "}, true
	case "timeout", "gtimeout":
		return wrapper{short: "sk", long: " --signal --kill-after ", pos: 1}, true
	case "time", "gtime":
		return wrapper{short: "fo", long: " --format --output "}, true
	case "nice", "gnice":
		return wrapper{short: "n", long: " --adjustment "}, true
	case "ionice":
		return wrapper{short: "cnpPu", long: " --class --classdata "}, true
	case "setarch":
		return wrapper{pos: 1}, true
	case "daemonize", "daemon":
		return wrapper{short: "acepoul"}, true
	case "cgexec":
		return wrapper{short: "g"}, true
	case "chrt":
		return wrapper{short: "TPD", pos: 1}, true
	case "stdbuf":
		return wrapper{short: "ioe", long: " --input --output --error "}, true
	case "taskset":
		return wrapper{short: "p", pos: 1}, true
	case "unshare", "nsenter":
		return wrapper{short: "tRwSG",
			long: " --target --root --wd --setuid --setgid --map-user --map-group --propagation "}, true
	case "chroot":
		return wrapper{pos: 1, long: " --userspec --groups "}, true
	case "setpriv", "prlimit", "numactl", "cpulimit", "softlimit", "chpst", "capsh", "firejail", "proot", "torsocks",
		"proxychains", "proxychains4", "rlwrap", "pidproxy":
		return wrapper{short: "flcumNp", long: " --reuid --regid --pid ", env: false}, true
	case "faketime":
		return wrapper{short: "f", pos: 1}, true
	case "systemd-inhibit":
		return wrapper{short: "pupEHM",
			long: " --unit --property --setenv --description --slice --working-directory --uid --gid --on-active " +
				"--on-calendar "}, true
	case "strace", "ltrace", "perf-trace", "truss", "dtruss":
		return wrapper{short: "eopsuaEPSIObX"}, true
	case "valgrind", "heaptrack", "memusage", "rr":
		return wrapper{}, true
	case "gdb", "lldb":
		return wrapper{short: "xp", long: " -ex -x -iex -eval-command --eval-command --command -cd -d -o ", shell: ""}, true
	case "xvfb-run", "xvfb-run-safe":
		return wrapper{short: "efnpsw", long: " --error-file --server-num --server-args "}, true
	case "runuser", "gosu", "su-exec", "setuidgid", "sg", "newgrp":
		return wrapper{short: "ugGs", pos: 1, shell: " -c --command --session-command "}, true
	case "direnv":
		return wrapper{}, false
	case "busybox", "toybox":
		return wrapper{}, true
	case "dotenv", "dotenvx", "cross-env", "cross-env-shell", "env-cmd", "dotenv-cli", "aws-vault", "op-run", "doppler",
		"infisical", "chamber":
		return wrapper{short: "ef", env: true}, true
	case "wine", "mono", "proot-distro", "arch-chroot", "pkexec", "gksudo", "exec-with", "retry", "parallel-exec", "ts",
		"pv", "lockf", "lockfile-run", "solo", "setlock":
		return wrapper{short: "ntdsm", long: " --user --times --delay "}, true
	}
	return wrapper{}, false
}

// wrapper skips what belongs to the wrapper and judges what it would run.
func (j *judge) wrapper(sc *scope, w wrapper, args []arg, in stream) string {
	base := baseName(args[0].s)
	b := sc.clone()
	pos := w.pos
	i := 1
	for ; i < len(args) && !j.done; i++ {
		s := args[i].s
		switch {
		case s == "--":
			i++
			for ; pos > 0 && i < len(args); pos-- {
				i++
			}
			return j.wrapped(b, base, args, i, in)
		case s == "--args" && (base == "gdb" || base == "lldb"):
			continue
		case strings.HasPrefix(s, "--") || base == "gdb" && strings.HasPrefix(s, "-"):
			name, val, has := strings.Cut(s, "=")
			if strings.Contains(w.shell, " "+name+" ") {
				if !has && i+1 < len(args) {
					i++
					val = args[i].s
				}
				return j.script(b, val+" "+j.hold(b, args[i+1:]), in, base)
			}
			if !has && strings.Contains(w.long, " "+name+" ") {
				i++
				if base == "gdb" && i < len(args) {
					j.gdbCommand(b, args[i].s)
				}
			}
		case len(s) > 1 && s[0] == '-' && s != "-":
			n, line, isShell := w.cluster(s[1:])
			if isShell {
				if line == "" && i+1 < len(args) {
					i++
					line = args[i].s
				}
				if base == "env" {
					line += " " + j.hold(b, args[i+1:])
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
			return j.wrapped(b, base, args, i, in)
		}
	}
	if base == "env" && i >= len(args) {
		return string(holeForeign)
	}
	return ""
}

func (j *judge) wrapped(sc *scope, base string, args []arg, i int, in stream) string {
	if i >= len(args) {
		return ""
	}
	// "sudo -s", "runuser user -c …": an option that only comes after the name.
	if (args[i].s == "-c" || args[i].s == "--command") && i+1 < len(args) {
		return j.script(sc, args[i+1].s, in, base)
	}
	return j.runCommand(sc, args[i:], in)
}

// cluster reads -abc: how many further words belong to it, and whether one of
// its letters is an option whose argument is a shell line.
func (w wrapper) cluster(letters string) (skip int, line string, isShell bool) {
	for k := 0; k < len(letters); k++ {
		if strings.Contains(w.shell, " -"+letters[k:k+1]+" ") {
			return 0, letters[k+1:], true
		}
		if strings.IndexByte(w.short, letters[k]) >= 0 {
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
			k := i + 1
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
			return j.shellLine(b, args, k, in)
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
