package guard

import (
	"strings"
)

// launcher judges the commands that run others in ways of their own. It
// reports whether base is one of them.
func (j *judge) launcher(sc *scope, base string, args []arg, in stream) bool {
	rest := args[1:]
	switch base {
	case "xargs", "gxargs":
		j.xargs(sc, rest, in)
	case "parallel", "rust-parallel":
		j.parallel(sc, rest, in)
	case "find", "gfind":
		j.find(sc, rest)
	case "fd", "fdfind":
		for i, a := range rest {
			switch a.s {
			case "-x", "-X", "--exec", "--exec-batch":
				j.runCommand(sc, fill(rest[i+1:], "{}", string(holeName), true), stream{})
				return true
			}
		}
	case "watch", "viddy", "hwatch":
		j.lineOf(sc, rest, "nqdtpegc", " --interval ", " -x --exec ")
	case "entr":
		j.runCommand(sc, fill(skipOptions(rest), "/_", string(holeName), false), stream{})
	case "flock":
		j.flock(sc, rest, in)
	case "su":
		for i, a := range rest {
			if (a.s == "-c" || a.s == "--command") && i+1 < len(rest) {
				j.script(sc.clone(), rest[i+1].s, in, "su")
			} else if v, ok := strings.CutPrefix(a.s, "--command="); ok {
				j.script(sc.clone(), v, in, "su")
			} else if v, ok := strings.CutPrefix(a.s, "-c"); ok && v != "" {
				j.script(sc.clone(), v, in, "su")
			}
		}
		if len(skipOptions(rest)) <= 1 && in.set && !in.file {
			j.script(sc.clone(), in.text, stream{}, "su")
		}
	case "script", "scriptreplay":
		j.scriptTool(sc, rest)
	case "at", "batch":
		for _, a := range rest {
			if a.s == "-l" || a.s == "-c" || a.s == "-V" {
				return true
			}
		}
		j.deny(ClassDestructive, base+" has something run later", "run what is needed now, as a child of yours")
	case "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "lxc", "incus":
		j.container(sc, base, rest)
	case "ssh", "mosh", "rsh", "vagrant":
		j.ssh(sc, base, rest)
	case "tmux", "screen", "zellij", "dtach", "abduco":
		for i, a := range rest {
			if strings.ContainsAny(a.s, " ;|&") {
				// Keys are typed with their line ends.
				j.maybeShell(sc, strings.NewReplacer(`\n`, "\n", `\r`, "\n", "^M", "\n").Replace(a.s))
			}
			if baseName(a.s) == "git" {
				j.runCommand(sc, rest[i:], stream{})
			}
		}
	case "hyperfine", "concurrently", "nodemon", "watchexec", "chokidar", "onchange", "reflex", "air", "modd",
		"wait-on", "start-server-and-test", "npm-run-all", "just", "task", "mprocs", "overmind", "foreman", "honcho",
		"poe", "taskipy", "multitime", "bench", "gotestsum", "cargo-watch":
		j.lines(sc, rest)
	case "socat", "ncat", "nc", "netcat":
		for i, a := range rest {
			for _, pre := range []string{"EXEC:", "SYSTEM:", "exec:", "system:"} {
				if k := strings.Index(a.s, pre); k >= 0 {
					j.script(sc.clone(), strings.SplitN(a.s[k+len(pre):], ",", 2)[0], stream{}, base)
				}
			}
			if i > 0 && (rest[i-1].s == "-e" || rest[i-1].s == "-c" || rest[i-1].s == "--exec" || rest[i-1].s == "--sh-exec") {
				j.script(sc.clone(), a.s, stream{}, base)
			}
		}
	case "make", "gmake", "bmake":
		j.makeTool(sc, rest, in)
	case "perf", "bpftrace", "trace-cmd", "kcov", "uftrace":
		for i, a := range rest {
			if a.s == "--" || a.known() && i > 0 && !strings.HasPrefix(a.s, "-") && baseName(a.s) == "git" {
				k := i
				if a.s == "--" {
					k++
				}
				j.runCommand(sc, rest[min(k, len(rest)):], stream{})
				return true
			}
		}
	case "direnv":
		if len(rest) > 2 && rest[0].s == "exec" {
			j.runCommand(sc, rest[2:], in)
		}
	case "git-shell", "nix", "nix-shell", "guix", "devbox", "flox", "conda-run", "toolbox", "distrobox", "flatpak",
		"flatpak-spawn", "bwrap", "unsquashfs", "mise", "rtx", "asdf", "rbenv", "nodenv", "goenv", "pyenv", "rustup",
		"volta", "fnm", "nvm", "n", "bundle", "jenv", "sdk", "rye", "hatch", "pdm", "pixi", "tox", "nox", "uvx", "uv",
		"pipx", "npx", "bunx", "npm", "pnpm", "yarn", "bun", "corepack", "lerna", "nx", "turbo", "rush", "moon", "dlx",
		"cargo", "poetry":
		return j.toolRunner(sc, base, args, in)
	default:
		return false
	}
	return true
}

// fill puts a text where mark stands; without a mark it is added at the end
// when add is set.
func fill(args []arg, mark, with string, add bool) []arg {
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
	if !found && add {
		out = append(out, arg{s: with})
	}
	return out
}

func (j *judge) xargs(sc *scope, rest []arg, in stream) {
	replace := ""
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if s == "--" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch {
		case s == "-I" || s == "-J":
			i++
			if i < len(rest) {
				replace = rest[i].s
			}
		case strings.HasPrefix(s, "-I"):
			replace = s[2:]
		case s == "-i" || s == "--replace":
			replace = "{}"
		case strings.HasPrefix(s, "--replace="):
			replace = s[len("--replace="):]
		case s == "-a" || s == "--arg-file":
			i++
			in = stream{set: true, text: string(holeForeign)}
		case strings.HasPrefix(s, "--arg-file="):
			in = stream{set: true, text: string(holeForeign)}
		case len(s) == 2 && strings.Contains("nPLsdEe", s[1:]) && s != "-e":
			i++
		case s == "--max-args" || s == "--max-procs" || s == "--max-lines" || s == "--delimiter" || s == "--max-chars":
			i++
		case strings.HasPrefix(s, "-0") && strings.HasSuffix(s, "I") || strings.HasPrefix(s, "-r") &&
			strings.HasSuffix(s, "I"):
			i++
			if i < len(rest) {
				replace = rest[i].s
			}
		case !strings.HasPrefix(s, "--") && strings.ContainsAny(s[len(s)-1:], "nPLsd"):
			i++
		}
	}
	if i >= len(rest) {
		return
	}
	cmd := rest[i:]
	text := in.text
	if !in.set {
		text = string(holeForeign)
	}
	if replace != "" {
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			j.run(sc.clone(), replaceArgs(cmd, replace, strings.TrimLeft(line, " \t")), stream{})
		}
		return
	}
	var extra []arg
	for _, w := range splitXargs(text) {
		extra = append(extra, arg{s: w})
	}
	if len(extra) == 0 && in.set && in.text == "" {
		extra = []arg{{s: string(holeForeign)}}
	}
	j.runCommand(sc, append(append([]arg(nil), cmd...), extra...), stream{})
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
func (j *judge) parallel(sc *scope, rest []arg, in stream) {
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch s {
		case "-j", "-a", "-I", "-n", "-N", "-L", "-S", "-d", "--jobs", "--arg-file", "--colsep", "--delay", "--timeout",
			"--joblog", "--results", "--tempdir", "--max-args", "--sshlogin", "--wd", "--retries", "--halt":
			i++
		}
	}
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
		return
	}
	cmd := strings.Join(line, " ")
	if foreign(cmd) {
		j.undecidable("what parallel would run")
		return
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
}

func (j *judge) find(sc *scope, rest []arg) {
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
			if strings.Contains(next, ".git") && (neg || containsPrune(expr)) {
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

func containsPrune(expr []arg) bool {
	for _, a := range expr {
		if a.s == "-prune" {
			return true
		}
	}
	return false
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
	j.remove(sc, root, true)
}
