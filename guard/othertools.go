package guard

import (
	"strings"
)

const insteadTools = "leave commits, versions, hooks and pull requests to people and the harness; describe them in " +
	"the handoff"

// otherTool judges tools besides git that move commits, tags, hooks or
// packages. It reports whether base is one of them.
func (j *judge) otherTool(sc *scope, base string, args []arg, in stream) bool {
	rest := args[1:]
	verb, verb2 := verbs(rest)
	refuse := func(what string) {
		j.deny(ClassOtherTools, what, insteadTools)
	}
	switch base {
	case "gh":
		if !ghReads(rest, verb, verb2) {
			refuse("gh " + clip(verb+" "+verb2) + " changes something at the host of the repository")
		}
	case "glab", "tea", "hut", "az", "bb-cli", "forgejo", "berg":
		if base == "az" && verb != "repos" && verb != "devops" {
			return true
		}
		switch {
		case verb == "" || verb == "version" || verb == "help" || verb == "completion" || verb == "auth" && verb2 == "status":
		case verb == "api" && ghAPIReads(rest):
		case contains("view list ls show diff status trace get search", verb2):
		default:
			refuse(base + " " + clip(verb+" "+verb2) + " changes something at the host of the repository")
		}
	case "jj":
		if !contains(" log status st diff show help version root evolog evolution-log interdiff", verb) &&
			!contains(
				"file:list file:show file:annotate op:log operation:log op:show op:diff config:get config:list config:path "+
					"bookmark:list branch:list tag:list git:remote workspace:list workspace:root resolve:--list", verb+":"+verb2) &&
			!(verb == "git" && verb2 == "remote" && hasWord(rest, "list")) {
			refuse("jj " + clip(verb) + " changes the repository")
		} else if j.hasConfigOption(rest) {
			refuse("settings given to jj on the line may run a program")
		}
	case "hg", "chg", "sl", "sapling":
		if !contains(
			" log status st diff cat annotate blame branches tags heads id identify parents paths summary sum files manifest "+
				"grep root version help showconfig config incoming outgoing smartlog sl ssl show bookmarks locate export", verb) ||
			contains("bookmarks config", verb) && len(rest) > 1 || j.hasConfigOption(rest) {
			refuse(base + " " + clip(verb) + " changes the repository")
		}
	case "svn", "bzr", "brz", "fossil", "darcs", "pijul", "cvs", "p4", "got":
		if !contains(
			" log status st stat diff cat blame annotate ann info list ls help version praise whatsnew record-status", verb) {
			refuse(base + " " + clip(verb) + " changes the repository")
		}
	case "stg", "gt", "graphite", "av", "git-town", "gitu", "lazygit", "gitui", "tig", "ghq", "gita", "mr", "repo",
		"topgit", "tg", "git-machete", "spr", "ghstack", "git-branchless", "gitk", "forgit", "gitbutler", "but",
		"git-spice", "gs", "aider", "cz", "git-cz", "czg", "commitizen", "gcm":
		switch {
		case base == "gs" && (len(rest) == 0 || strings.HasPrefix(rest[0].s, "-")): // Ghostscript
		case base == "gitk" || base == "tig" && (len(rest) == 0 || verb == "log" || verb == "show"):
		case contains("log status list ls show diff version help check", verb):
		default:
			refuse(base + " changes the repository")
		}
	case "husky", "lefthook", "simple-git-hooks", "ghooks", "overcommit", "git-hooks", "yorkie", "captainhook", "hk",
		"prek":
		if !(contains("run version help dump validate", verb)) && len(rest) > 0 || base == "simple-git-hooks" ||
			base == "husky" && verb != "--version" && verb != "-v" || base == "overcommit" && len(rest) > 0 &&
			contains("--install -i --uninstall -u --sign", rest[0].s) {
			refuse(base + " writes git hooks")
		}
	case "pre-commit":
		switch verb {
		case "install", "uninstall", "init-templatedir", "install-hooks", "hook-impl", "migrate-config", "autoupdate":
			if verb != "install-hooks" && verb != "migrate-config" && verb != "autoupdate" {
				refuse("pre-commit " + verb + " writes git hooks")
			}
		}
	case "lerna":
		switch verb {
		case "run", "list", "ls", "changed", "diff", "info", "la", "ll", "", "bootstrap", "clean", "link", "init":
		case "exec":
			if i := indexWord(rest, "--"); i >= 0 {
				j.runCommand(sc, rest[i+1:], in)
			} else {
				j.runCommand(sc, skipOptions(rest[1:]), in)
			}
		default:
			refuse("lerna " + clip(verb) + " commits, tags or publishes")
		}
	case "npm", "pnpm", "yarn", "bun":
		j.nodeManager(base, rest, verb, verb2)
	case "gh-pages", "surge", "push-dir", "ghpages":
		if !hasWord(rest, "--help") && !hasWord(rest, "--version") && !hasWord(rest, "--no-push") {
			refuse(base + " publishes")
		}
	case "lint-staged":
		if !hasWord(rest, "--help") && !hasWord(rest, "--version") && !hasWord(rest, "--debug-config") {
			refuse("lint-staged stashes and stages")
		}
	case "changeset":
		if verb == "tag" || verb == "publish" || verb == "version" && hasWord(rest, "--snapshot") {
			refuse("changeset " + verb + " tags or publishes")
		}
	case "bump2version", "bumpversion", "bump-my-version", "bump-version", "bumpver", "tbump", "standard-version",
		"commit-and-tag-version", "semantic-release", "python-semantic-release", "release-it", "np", "auto",
		"goreleaser", "versionize", "nbgv", "shipit", "standard-release", "release-please", "release-plz",
		"git-release", "towncrier-release", "cocogitto", "cog", "svu", "release", "bumpp", "gitversion":
		if hasWord(rest, "--help") || hasWord(rest, "-h") || hasWord(rest, "--version") ||
			contains("check show help build healthcheck changelog --dry-run", verb) || contains("gitversion svu", base) {
			return true
		}
		refuse(base + " commits, tags or publishes a version")
	case "cargo":
		j.cargo(sc, rest, verb, verb2)
	case "mvn", "mvnw", "gradle", "gradlew", "sbt":
		for _, a := range rest {
			if strings.HasPrefix(a.s, "release:") || strings.HasPrefix(a.s, "scm:") || a.s == "release" ||
				a.s == "publish" && base != "mvn" {
				refuse(base + " " + clip(a.s) + " commits, tags or publishes")
			}
		}
	case "twine", "flit", "hatch", "uv", "gem", "pdm", "rye":
		if verb == "publish" || verb == "upload" || base == "gem" && verb == "push" {
			refuse(base + " " + verb + " publishes a package")
		}
	case "git-ralph":
		j.ralph(sc, rest)
	default:
		return false
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
	for i, a := range rest {
		if a.s == s {
			return i
		}
	}
	return -1
}

func (j *judge) hasConfigOption(rest []arg) bool {
	for _, a := range rest {
		if strings.HasPrefix(a.s, "--config") {
			return true
		}
	}
	return false
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

func (j *judge) nodeManager(base string, rest []arg, verb, verb2 string) {
	switch verb {
	case "version":
		if len(rest) == 1 || base == "npm" && verb2 == "" || hasWord(rest, "--no-git-tag-version") ||
			hasWord(rest, "--git-tag-version=false") || base == "bun" {
			return
		}
		j.deny(ClassOtherTools, base+" version commits and tags",
			"edit the version in package.json, or add --no-git-tag-version")
	case "publish", "unpublish", "deprecate", "dist-tag", "owner", "login", "adduser", "token", "access":
		if hasWord(rest, "--dry-run") || verb2 == "ls" || verb2 == "list" {
			return
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
}

func (j *judge) cargo(sc *scope, rest []arg, verb, verb2 string) {
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
