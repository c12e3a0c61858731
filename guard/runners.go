package guard

import (
	"slices"
	"strings"
)

// lineOf judges a command whose words are joined and given to a shell (watch),
// after options; execOpts makes it run the words themselves.
func (j *judge) lineOf(sc *scope, rest []arg, short, long, execOpts string) {
	i := 0
	exec := false
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
		case strings.Contains(execOpts, " "+s+" "):
			exec = true
		case strings.Contains(long, " "+s+" "):
			i++
		case len(s) == 2 && s == "-n":
			i++
		case !strings.HasPrefix(s, "--") && strings.Trim(s[1:], short) == "" && strings.HasSuffix(s, "n"):
			i++
		}
	}
	if i >= len(rest) {
		return
	}
	if exec {
		j.runCommand(sc, rest[i:], stream{})
		return
	}
	j.script(sc.clone(), strings.Join(texts(rest[i:]), " "), stream{}, "watch")
}

// lines judges each word with blanks as a possible shell line (hyperfine, nodemon --exec).
func (j *judge) lines(sc *scope, rest []arg) {
	for i, a := range rest {
		if strings.ContainsAny(a.s, " ;|&") {
			s := a.s
			if strings.HasPrefix(s, "--") {
				if _, v, ok := strings.Cut(s, "="); ok {
					s = v
				}
			}
			j.maybeShell(sc, s)
		}
		if baseName(a.s) == "git" || i > 0 && rest[i-1].s == "--" {
			j.runCommand(sc.clone(), rest[i:], stream{})
		}
		if j.done {
			return
		}
	}
}

func (j *judge) flock(sc *scope, rest []arg, in stream) {
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch s {
		case "-w", "-E", "--timeout", "--conflict-exit-code", "--wait":
			i++
		}
	}
	i++ // the lock file
	if i >= len(rest) {
		return
	}
	if rest[i].s == "-c" || rest[i].s == "--command" {
		if i+1 < len(rest) {
			j.script(sc.clone(), rest[i+1].s, in, "flock")
		}
		return
	}
	j.runCommand(sc, rest[i:], in)
}

// scriptTool judges script(1): -c LINE, or FILE COMMAND….
func (j *judge) scriptTool(sc *scope, rest []arg) {
	words := 0
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		switch {
		case s == "--command" && i+1 < len(rest):
			j.script(sc.clone(), rest[i+1].s, stream{}, "script")
			return
		case strings.HasPrefix(s, "--command="):
			j.script(sc.clone(), s[len("--command="):], stream{}, "script")
			return
		case len(s) > 1 && s[0] == '-' && s[1] != '-':
			if k := strings.IndexByte(s, 'c'); k > 0 {
				line := s[k+1:]
				if line == "" && i+1 < len(rest) {
					line = rest[i+1].s
				}
				j.script(sc.clone(), line, stream{}, "script")
				return
			}
		case strings.HasPrefix(s, "--"):
		default:
			words++
			if words == 1 {
				j.write(sc, rest[i], "write to")
			}
			if words == 2 {
				j.runCommand(sc, rest[i:], stream{})
				return
			}
		}
	}
}

// container judges what runs in a container: it usually mounts the worktree.
func (j *judge) container(sc *scope, base string, rest []arg) {
	if what := destroys(base, texts(rest)); what != "" {
		j.deny(ClassDestructive, what+" outside of the worktree, which nothing brings back",
			"leave it in place, and say in the handoff what should go")
		return
	}
	verb := ""
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if s == "run" || s == "exec" {
			verb = s
			i++
			break
		}
	}
	if verb == "" {
		return
	}
	entry := ""
	for ; i < len(rest); i++ {
		s := rest[i].s
		if s == "--" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' {
			break
		}
		if v, ok := strings.CutPrefix(s, "--entrypoint="); ok {
			entry = v
			continue
		}
		if strings.Contains(s, "=") {
			continue
		}
		switch s {
		case "--entrypoint":
			i++
			if i < len(rest) {
				entry = rest[i].s
			}
		case "-v", "-w", "-e", "-u", "-p", "-l", "-h", "-m", "-c", "-n", "--volume", "--mount", "--workdir", "--env",
			"--user", "--publish", "--name", "--network", "--net", "--env-file", "--label", "--memory", "--cpus",
			"--platform", "--pull", "--add-host", "--device", "--gpus", "--hostname", "--cap-add", "--cap-drop",
			"--security-opt", "--ulimit", "--tmpfs", "--ipc", "--pid", "--restart", "--namespace", "--container",
			"--shm-size", "--userns", "--dns", "--profile", "--index":
			i++
		}
	}
	if i >= len(rest) {
		return
	}
	image := rest[i].s
	i++
	if i < len(rest) && rest[i].s == "--" {
		i++
	}
	cmd := rest[min(i, len(rest)):]
	name := baseName(image)
	if k := strings.IndexAny(name, ":@"); k >= 0 {
		name = name[:k]
	}
	switch {
	case entry != "":
		j.runCommand(sc.clone(), append([]arg{{s: entry}}, cmd...), stream{})
	case verb == "run" && (name == "git" || name == "alpine-git"):
		j.runCommand(sc.clone(), append([]arg{{s: "git"}}, cmd...), stream{})
	case len(cmd) > 0:
		j.runCommand(sc.clone(), cmd, stream{})
	}
}

// containerValues are the options before the verb that take a value.
const containerValues = "-H --host -c --context --config -l --log-level -n --namespace --kubeconfig --cluster --user " +
	"-s --server -f --file -p --project-name --profile --env-file --project-directory"

// destroys says what a call of a container tool would remove; "" = nothing that
// was there before.
func destroys(base string, words []string) string {
	var verbs []string
	for i, w := range words {
		switch {
		case strings.HasPrefix(w, "-"):
		case i > 0 && contains(containerValues, words[i-1]):
		default:
			verbs = append(verbs, w)
		}
	}
	verbs = append(verbs, "", "")
	if base == "docker-compose" {
		verbs = append([]string{"compose"}, verbs...)
	}
	switch base {
	case "kubectl", "oc":
		if contains("delete drain", verbs[0]) {
			return base + " " + verbs[0] + " removes what runs in a cluster"
		}
		return ""
	}
	switch verbs[0] {
	case "rm", "rmi":
		return base + " " + verbs[0] + " removes containers or images"
	case "container", "image", "volume", "network", "system", "builder", "buildx", "pod",
		"secret", "config", "service", "stack", "swarm", "context", "machine":
		if contains("rm remove prune reset leave", verbs[1]) {
			return base + " " + verbs[0] + " " + verbs[1] + " removes data"
		}
	case "compose":
		gone := func(w string) bool { return contains("-v --volumes --rmi", strings.SplitN(w, "=", 2)[0]) }
		if verbs[1] == "down" && slices.ContainsFunc(words, gone) {
			return base + " " + verbs[1] + " with these options removes data"
		}
	}
	return ""
}

func (j *judge) ssh(sc *scope, base string, rest []arg) {
	if len(rest) > 0 && rest[0].s == "ssh" { // vagrant ssh -c LINE
		if i := indexWord(rest, "-c"); i > 0 && i+1 < len(rest) {
			j.maybeShell(sc, rest[i+1].s)
		}
		return
	}
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if len(s) < 2 || s[0] != '-' {
			break
		}
		opt := ""
		if s == "-o" && i+1 < len(rest) {
			opt = rest[i+1].s
		} else if strings.HasPrefix(s, "-o") {
			opt = s[2:]
		}
		if at := strings.IndexAny(opt, "= "); at > 0 {
			v := opt[at+1:]
			if k := strings.ToLower(opt[:at]); k == "proxycommand" || k == "localcommand" || k == "knownhostscommand" {
				j.script(sc.clone(), v, stream{}, "ssh")
			}
		}
		if len(s) == 2 && strings.Contains("bcDEeFIiJLlmOopQRSWw", s[1:]) {
			i++
		}
	}
	line := ""
	if i+1 < len(rest) {
		line = strings.Join(texts(rest[i+1:]), " ")
	}
	// git fetches over ssh by this very call.
	if strings.HasPrefix(line, "git-upload-pack ") && !strings.ContainsAny(line, ";|&$`<>()\n"+holes) {
		return
	}
	if j.maybeShell(sc, line); i < len(rest) && base != "vagrant" {
		j.deny(ClassOutside, base+" works on another machine, where nothing guards it",
			"work in the worktree, or say in the handoff what is to be done there")
	}
}

// makeTool allows make itself: the sandbox catches what its files do; but
// a recipe that stands on the line, or that the line wrote, is read.
func (j *judge) makeTool(sc *scope, rest []arg, in stream) {
	file := "Makefile"
	for i, a := range rest {
		s := a.s
		next := ""
		if i+1 < len(rest) {
			next = rest[i+1].s
		}
		switch {
		case s == "-f" || s == "--file" || s == "--makefile":
			file = next
		case strings.HasPrefix(s, "--file="), strings.HasPrefix(s, "--makefile="):
			_, file, _ = strings.Cut(s, "=")
		case strings.HasPrefix(s, "-f") && len(s) > 2:
			file = s[2:]
		case strings.HasPrefix(s, "--eval="):
			j.recipes(sc, s[len("--eval="):])
		case s == "--eval" || s == "-E":
			j.recipes(sc, next)
		case strings.HasPrefix(s, "SHELL="):
			if !isShell(baseName(s[6:])) {
				j.maybeShell(sc, s[6:])
			}
		case isAssignment(s):
			_, v, _ := strings.Cut(s, "=")
			if strings.Contains(v, "$(shell") {
				j.recipes(sc, v)
			} else if strings.Contains(v, " ") {
				j.maybeShell(sc, v)
			}
		}
	}
	if file == "-" || file == "/dev/stdin" {
		if in.set && !in.file {
			if foreign(in.text) {
				j.undecidable("what the makefile from the pipe does")
				return
			}
			j.recipes(sc, in.text)
		}
		return
	}
	names := []string{file}
	if file == "Makefile" {
		names = append(names, "makefile", "GNUmakefile")
	}
	for _, n := range names {
		if f, ok := sc.made(n); ok && f.written {
			j.recipes(sc, f.text)
		}
	}
}

// recipes looks at the lines of a makefile that a shell would run.
func (j *judge) recipes(sc *scope, text string) {
	for _, line := range strings.Split(text, "\n") {
		if k := strings.Index(line, "$(shell "); k >= 0 {
			j.maybeShell(sc, strings.TrimRight(line[k+8:], ")"))
		}
		recipe := ""
		if strings.HasPrefix(line, "\t") {
			recipe = line
		} else if _, after, ok := strings.Cut(line, ";"); ok {
			recipe = after
		}
		if recipe = strings.TrimLeft(recipe, "\t @-+"); recipe != "" {
			j.maybeShell(sc, strings.ReplaceAll(recipe, "$$", "$"))
		}
	}
}
