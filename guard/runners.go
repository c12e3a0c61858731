package guard

import (
	"slices"
	"strings"
)

// watch judges a command whose words are joined and given to a shell, unless an
// option makes it run the words themselves.
func (j *judge) watch(c *call) bool {
	if c.has("-x --exec") {
		j.runCommand(c.sc, c.ops, stream{})
	} else if len(c.ops) > 0 {
		j.script(c.sc.clone(), strings.Join(texts(c.ops), " "), stream{}, "watch")
	}
	return true
}

// commandLines judges each word with blanks as a possible shell line (hyperfine, nodemon --exec).
func (j *judge) commandLines(c *call) bool {
	sc, rest := c.sc, c.rest
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
			break
		}
	}
	return true
}

// typescript judges script(1): -c LINE, or FILE COMMAND….
func (j *judge) typescript(c *call) bool {
	if len(c.ops) > 0 {
		j.write(c.sc, c.ops[0], "write to")
		j.runCommand(c.sc, c.ops[1:], stream{})
	}
	return true
}

// container judges what runs in a container: it usually mounts the worktree.
func (j *judge) container(c *call) bool {
	if what := destroys(c.base, texts(c.rest)); what != "" {
		j.deny(ClassDestructive, what+" outside of the worktree, which nothing brings back",
			"leave it in place, and say in the handoff what should go")
		return true
	}
	at := slices.IndexFunc(c.rest, func(a arg) bool { return a.s == "run" || a.s == "exec" })
	if at < 0 {
		return true
	}
	opts, ops := containerRun.read(c.rest[at+1:])
	if len(ops) == 0 {
		return true
	}
	image, cmd := ops[0].s, ops[1:]
	if len(cmd) > 0 && cmd[0].s == "--" {
		cmd = cmd[1:]
	}
	name := baseName(image)
	if k := strings.IndexAny(name, ":@"); k >= 0 {
		name = name[:k]
	}
	inner := call{opts: opts}
	for _, entry := range inner.values("--entrypoint") {
		j.runCommand(c.sc.clone(), append([]arg{entry}, cmd...), stream{})
		return true
	}
	if c.rest[at].s == "run" && (name == "git" || name == "alpine-git") {
		cmd = append([]arg{{s: "git"}}, cmd...)
	}
	j.runCommand(c.sc.clone(), cmd, stream{})
	return true
}

// containerRun reads the options behind "docker run" and "kubectl exec".
var containerRun = command{ends: 1, short: "vweuplhmcn", long: "--entrypoint --volume --mount --workdir --env --user " +
	"--publish --name --network --net --env-file --label --memory --cpus --platform --pull --add-host --device --gpus " +
	"--hostname --cap-add --cap-drop --security-opt --ulimit --tmpfs --ipc --pid --restart --namespace --container " +
	"--shm-size --userns --dns --profile --index"}

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

func (j *judge) ssh(c *call) bool {
	sc, rest := c.sc, c.rest
	if len(rest) > 0 && rest[0].s == "ssh" { // vagrant ssh -c LINE
		if i := indexWord(rest, "-c"); i > 0 && i+1 < len(rest) {
			j.maybeShell(sc, rest[i+1].s)
		}
		return true
	}
	for _, opt := range c.values("-o") {
		if at := strings.IndexAny(opt.s, "= "); at > 0 &&
			contains("proxycommand localcommand knownhostscommand", strings.ToLower(opt.s[:at])) {
			j.script(sc.clone(), opt.s[at+1:], stream{}, "ssh")
		}
	}
	line := ""
	if len(c.ops) > 1 {
		line = strings.Join(texts(c.ops[1:]), " ")
	}
	// git fetches over ssh by this very call.
	if strings.HasPrefix(line, "git-upload-pack ") && !strings.ContainsAny(line, ";|&$`<>()\n"+holes) {
		return true
	}
	if j.maybeShell(sc, line); len(c.ops) > 0 && c.base != "vagrant" {
		j.deny(ClassOutside, c.base+" works on another machine, where nothing guards it",
			"work in the worktree, or say in the handoff what is to be done there")
	}
	return true
}

// makeTool allows make itself: the sandbox confines what its recipes do. A
// recipe on the line, or one that the line wrote, is judged.
func (j *judge) makeTool(c *call) bool {
	sc, rest, in := c.sc, c.rest, c.in
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
				return true
			}
			j.recipes(sc, in.text)
		}
		return true
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
	return true
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
