package guard

import (
	"slices"
	"strings"
)

// refuseTool denies what a tool other than git would change.
func (j *judge) refuseTool(what string) { j.deny(ClassOtherTools, what, insteadTools) }

func (j *judge) gh(c *call) bool {
	if verb, verb2 := verbs(c.rest); !ghReads(c.rest, verb, verb2) {
		j.refuseTool("gh " + clip(verb+" "+verb2) + " changes something at the host of the repository")
	}
	return true
}

// forge judges the clients of other hosts.
func (j *judge) forge(c *call) bool {
	verb, verb2 := verbs(c.rest)
	switch {
	case c.base == "az" && verb != "repos" && verb != "devops":
	case contains(" version help completion", verb), verb == "auth" && verb2 == "status":
	case verb == "api" && ghAPIReads(c.rest):
	case contains("view list ls show diff status trace get search", verb2):
	default:
		j.refuseTool(c.base + " " + clip(verb+" "+verb2) + " changes something at the host of the repository")
	}
	return true
}

func (j *judge) jj(c *call) bool {
	verb, verb2 := verbs(c.rest)
	switch {
	case !contains(" log status st diff show help version root evolog evolution-log interdiff", verb) &&
		!contains("file:list file:show file:annotate op:log operation:log op:show op:diff config:get config:list "+
			"config:path bookmark:list branch:list tag:list git:remote workspace:list workspace:root resolve:--list",
			verb+":"+verb2):
		j.refuseTool("jj " + clip(verb) + " changes the repository")
	case hasConfigOption(c.rest):
		j.refuseTool("settings given to jj on the line may run a program")
	}
	return true
}

func (j *judge) mercurial(c *call) bool {
	verb := c.verb()
	if !contains(" log status st diff cat annotate blame branches tags heads id identify parents paths summary sum files "+
		"manifest grep root version help showconfig config incoming outgoing smartlog sl ssl show bookmarks locate export",
		verb) || contains("bookmarks config", verb) && len(c.rest) > 1 || hasConfigOption(c.rest) {
		j.refuseTool(c.base + " " + clip(verb) + " changes the repository")
	}
	return true
}

// hookManager judges tools that put hooks into the repository.
func (j *judge) hookManager(c *call) bool {
	base, verb, given := c.base, c.verb(), len(c.rest) > 0
	if given && !contains("run version help dump validate", verb) || base == "simple-git-hooks" ||
		base == "husky" && verb != "--version" && verb != "-v" ||
		base == "overcommit" && given && contains("--install -i --uninstall -u --sign", c.rest[0].s) {
		j.refuseTool(base + " writes git hooks")
	}
	return true
}

func (j *judge) lerna(c *call) bool {
	if !contains("exec run", c.verb()) {
		return false
	}
	if i := indexWord(c.rest, "--"); i >= 0 {
		j.runCommand(c.sc, c.rest[i+1:], c.in)
	} else {
		j.runCommand(c.sc, skipOptions(c.rest[1:]), c.in)
	}
	return true
}

func (j *judge) javaBuild(c *call) bool {
	for _, a := range c.rest {
		if strings.HasPrefix(a.s, "release:") || strings.HasPrefix(a.s, "scm:") || a.s == "release" ||
			a.s == "publish" && c.base != "mvn" {
			j.refuseTool(c.base + " " + clip(a.s) + " commits, tags or publishes")
		}
	}
	return true
}

// verbs returns the first two words that are no options.
func verbs(rest []arg) (a, b string) {
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		if strings.HasPrefix(s, "-") && s != "-" {
			if contains(
				"-R --repo --hostname -C --cwd --prefix --dir -w --workspace --filter --color --config --config-toml --cwd -r "+
					"--repository", s) {
				i++
			}
			continue
		}
		if a == "" {
			a = s
		} else {
			return a, s
		}
	}
	return a, b
}

func indexWord(rest []arg, s string) int {
	return slices.IndexFunc(rest, func(a arg) bool { return a.s == s })
}

func hasConfigOption(rest []arg) bool {
	return slices.ContainsFunc(rest, func(a arg) bool { return strings.HasPrefix(a.s, "--config") })
}

func ghReads(rest []arg, verb, verb2 string) bool {
	if !known(verb) || !known(verb2) && !contains("api search", verb) {
		return false
	}
	switch verb {
	case "", "help", "version", "completion", "status", "search":
		return true
	case "api":
		return ghAPIReads(rest)
	case "auth":
		return verb2 == "status"
	case "browse":
		return hasWord(rest, "-n") || hasWord(rest, "--no-browser")
	}
	switch verb2 {
	case "view", "list", "ls", "diff", "checks", "status", "watch":
		return contains(
			"pr issue run repo release gist workflow label secret variable cache ruleset org project extension codespace "+
				"ssh-key gpg-key alias config attestation", verb)
	case "download":
		return verb == "run" || verb == "release"
	case "get":
		return verb == "config" || verb == "variable"
	case "check", "field-list", "item-list", "verify":
		return verb == "ruleset" || verb == "project" || verb == "attestation"
	}
	return false
}

// ghAPIReads reports whether gh api only reads: a request with a body, or with
// another method than GET, changes things.
func ghAPIReads(rest []arg) bool {
	get, body := false, false
	for i, a := range rest {
		s := a.s
		if foreign(s) && strings.HasPrefix(s, string(holeForeign)) {
			return false
		}
		method := ""
		switch {
		case (s == "-X" || s == "--method") && i+1 < len(rest):
			method = rest[i+1].s
		case strings.HasPrefix(s, "--method="):
			method = s[len("--method="):]
		case strings.HasPrefix(s, "-X"):
			method = s[2:]
		case strings.HasPrefix(s, "-f"), strings.HasPrefix(s, "-F"), strings.HasPrefix(s, "--field"),
			strings.HasPrefix(s, "--raw-field"), strings.HasPrefix(s, "--input"):
			body = true
		case s == "graphql":
			for _, q := range rest {
				if strings.Contains(q.s, "mutation") || foreign(q.s) {
					return false
				}
			}
			return true
		}
		if method != "" {
			if m := strings.ToUpper(strings.TrimPrefix(method, "=")); m != "GET" && m != "HEAD" {
				return false
			}
			get = true
		}
	}
	return get || !body
}

func (j *judge) nodeManager(c *call) bool {
	base, rest := c.base, c.rest
	verb, verb2 := verbs(rest)
	switch verb {
	case "version":
		if len(rest) == 1 || base == "npm" && verb2 == "" || hasWord(rest, "--no-git-tag-version") ||
			hasWord(rest, "--git-tag-version=false") || base == "bun" {
			break
		}
		j.deny(ClassOtherTools, base+" version commits and tags",
			"edit the version in package.json, or add --no-git-tag-version")
	case "publish", "unpublish", "deprecate", "dist-tag", "owner", "login", "adduser", "token", "access":
		if hasWord(rest, "--dry-run") || verb2 == "ls" || verb2 == "list" {
			break
		}
		j.deny(ClassOtherTools, base+" "+verb+" acts on the package registry", insteadTools)
	case "config", "set":
		for i, a := range rest {
			if (a.s == "set" || strings.HasPrefix(a.s, "script-shell")) &&
				strings.Contains(strings.Join(texts(rest[i:]), " "), "script-shell") {
				j.deny(ClassUndecidable, "this changes the shell that scripts run in", "leave the setting")
			}
		}
	}
	return true
}

func (j *judge) cargo(c *call) bool {
	sc, rest := c.sc, c.rest
	verb, verb2 := verbs(rest)
	switch verb {
	case "release":
		if hasWord(rest, "--execute") || hasWord(rest, "-x") {
			j.deny(ClassOtherTools, "cargo release commits, tags and publishes", insteadTools)
		}
	case "publish", "yank", "owner", "login":
		if !hasWord(rest, "--dry-run") && !hasWord(rest, "-n") {
			j.deny(ClassOtherTools, "cargo "+verb+" acts on the package registry", insteadTools)
		}
	case "workspaces", "ws", "smart-release":
		if contains("version publish", verb2) || verb == "smart-release" {
			j.deny(ClassOtherTools, "cargo "+verb+" commits, tags or publishes", insteadTools)
		}
	case "watch":
		for i, a := range rest {
			if (a.s == "-s" || a.s == "--shell") && i+1 < len(rest) {
				j.script(sc.clone(), rest[i+1].s, stream{}, "cargo watch")
			}
		}
	}
	for _, a := range rest {
		if strings.Contains(a.s, ".runner=") || strings.Contains(a.s, "rustc-wrapper=") {
			_, v, _ := strings.Cut(a.s, "=")
			j.maybeShell(sc, strings.Trim(v, `"'[]`))
		}
	}
	j.outputs(sc, rest)
	return true
}

// ralph lets the agent use its tools and read; running and steering the loop
// is for people.
func (j *judge) ralph(_ *scope, rest []arg) {
	verb, verb2 := verbs(rest)
	switch verb {
	case "", "tool", "status", "log", "show", "diff", "handoff", "history", "stats", "progress", "memory", "knowledge",
		"prompt", "tasks", "guard", "help", "version", "test", "lint", "typecheck", "deps", "doctor",
		"mcp", "export", "fsck":
		if verb == "fsck" && hasWord(rest, "--repair") {
			break
		}
		if verb == "handoff" && hasWord(rest, "--now") {
			break
		}
		return
	case "config":
		if verb2 == "" || verb2 == "list" || verb2 == "get" {
			return
		}
	case "verify":
		return
	}
	j.deny(ClassState, "git ralph "+clip(verb)+" steers the loop, and that is for people",
		"use the ralph_* tools (`git ralph tool NAME`), `git ralph status`, `git ralph prompt`")
}
