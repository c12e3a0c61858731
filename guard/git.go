package guard

import (
	"path"
	"strings"

	"git-ralph/internal/text"
)

const insteadGit = "the harness commits your work when the iteration ends; look at it with `git diff`, `git status`, " +
	"`git log`"

// git judges a git command line and returns what it prints as far as that matters.
func (j *judge) git(sc *scope, args []arg, in stream) string {
	j.gitEnv(sc)
	if j.done {
		return ""
	}
	aliases := map[string]string(nil)
	at := sc
	i := 1
	for ; i < len(args); i++ {
		s := args[i].s
		if len(s) == 0 || s[0] != '-' {
			break
		}
		if !args[i].known() && foreign(s) {
			j.undecidable("what git is asked to do")
			return ""
		}
		name, val, has := strings.Cut(s, "=")
		next := func() string {
			if has {
				return val
			}
			i++
			if i < len(args) {
				return args[i].s
			}
			return ""
		}
		switch name {
		case "-C":
			has = false
			at = at.clone()
			if d := next(); d != "" {
				at.chdir(d)
			}
		case "-c":
			has = false
			key, v, _ := strings.Cut(next(), "=")
			if a, ok := text.CutPrefixFold(key, "alias."); ok {
				if aliases == nil {
					aliases = map[string]string{}
				}
				aliases[strings.ToLower(a)] = v
			} else if !harmlessConfig(key, v) {
				j.deny(ClassGitOptions, "the setting "+clip(key)+
					" given to git on the line may run a program or change what git does", "run git without -c")
				return ""
			}
		case "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source":
			next()
		case "--paginate", "-p", "-P", "--no-pager", "--bare", "--no-replace-objects", "--no-optional-locks",
			"--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs", "--no-lazy-fetch",
			"--no-advice":
		case "--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path", "--list-cmds":
			return string(holeEnv)
		case "--exec-path":
			if !has {
				return string(holeEnv)
			}
			j.deny(ClassGitOptions, "--exec-path makes git run other programs", "run git without it")
			return ""
		default:
			j.deny(ClassGitOptions, "the option "+clip(name)+" of git is not among the ones known to be harmless",
				"run git without it")
			return ""
		}
	}
	if i >= len(args) {
		return ""
	}
	sub := args[i]
	if !sub.known() {
		j.undecidable("which git command this is")
		return ""
	}
	return j.gitSub(at, sub.s, args[i+1:], aliases, in, 0)
}

// gitSub judges a subcommand, after its aliases are expanded. Git itself lets
// no alias stand for one of its own commands.
func (j *judge) gitSub(sc *scope, sub string, rest []arg, aliases map[string]string, in stream, depth int) string {
	kind := gitKind(sub)
	if kind == gitUnknown {
		text, ok := aliases[strings.ToLower(sub)]
		if !ok {
			text, ok = j.p.Aliases[sub]
		}
		if !ok {
			text, ok = j.p.Aliases[strings.ToLower(sub)]
		}
		if !ok && len(aliases) == 0 {
			text, ok = usualAlias(sub)
		}
		switch {
		case depth > 8:
			j.undecidable("where git's aliases end")
			return ""
		case ok && strings.HasPrefix(text, "!"):
			return j.script(sc.clone(), text[1:]+" "+j.hold(sc, rest), in, "the git alias "+clip(sub))
		case ok:
			if !known(text) {
				j.undecidable("what the git alias " + clip(sub) + " means")
				return ""
			}
			words := splitXargs(text)
			more := make([]arg, 0, len(words)+len(rest)+1)
			more = append(more, arg{s: "git"})
			for _, w := range words {
				more = append(more, arg{s: w})
			}
			if len(words) > 0 && strings.HasPrefix(words[0], "-") {
				return j.git(sc, append(more, rest...), in)
			}
			if len(words) == 0 {
				return ""
			}
			return j.gitSub(sc, words[0], append(more[2:], rest...), aliases, in, depth+1)
		case sub == "ralph":
			j.ralph(sc, rest)
			return string(holeForeign)
		case sub == "lfs" || sub == "annex":
			if len(rest) == 0 || strings.Contains(" ls-files status env logs version pointer ", " "+rest[0].s+" ") {
				return string(holeName)
			}
		}
		j.deny(ClassUndecidable, "git "+clip(sub)+" is neither a reading command nor an alias of this repository", insteadGit)
		return ""
	}
	if len(rest) == 1 && (rest[0].s == "-h" || rest[0].s == "--help") {
		return string(holeEnv)
	}
	if kind == gitWrites {
		j.deny(ClassGitWrite, "git "+sub+" changes the repository, and the agent only reads it", insteadFor(sub))
		return ""
	}
	if !j.gitOptions(sc, sub, kind, rest, in) {
		return ""
	}
	return j.gitPrints(sc, sub, rest)
}

// insteadFor names the allowed way to reach the command's goal.
func insteadFor(sub string) string {
	switch sub {
	case "checkout", "restore", "reset", "clean", "revert", "stash", "rm", "mv", "switch":
		return "edit, move or delete the files themselves; the harness puts everything back when an iteration is rejected, " +
			"and commits it when it is kept"
	case "push", "pull", "fetch", "clone", "remote", "submodule":
		return "work with what is in the worktree; people and the harness exchange with remotes"
	case "init", "worktree", "bundle":
		return "make scratch repositories inside your tests, in a temporary folder"
	case "config":
		return "read settings with `git config --get NAME`"
	case "apply":
		return "use plain `git apply`, which edits files only"
	}
	return insteadGit
}

// gitPrints tells what the output of a reading command consists of.
func (j *judge) gitPrints(sc *scope, sub string, rest []arg) string {
	if sub == "rev-parse" && len(rest) > 0 {
		wt := j.p.Worktree
		if wt == "" {
			wt = sc.cwd()
		}
		switch rest[len(rest)-1].s {
		case "--show-toplevel":
			return wt
		case "--git-dir", "--absolute-git-dir", "--git-common-dir":
			return path.Join(wt, ".git")
		case "--show-cdup", "--show-prefix":
			return ""
		}
		for i, a := range rest {
			if a.s == "--git-path" && i+1 < len(rest) {
				return path.Join(wt, ".git", rest[i+1].s)
			}
		}
	}
	switch sub {
	case "show", "cat-file", "config", "log", "var", "grep", "blame", "diff":
		for _, a := range rest {
			switch {
			case a.s == "--name-only", a.s == "-l", strings.HasPrefix(a.s, "--format=%H"),
				strings.HasPrefix(a.s, "--format=%h"), strings.HasPrefix(a.s, "--pretty=%H"),
				strings.HasPrefix(a.s, "--pretty=format:%H"), strings.HasPrefix(a.s, "--pretty=%h"):
				return string(holeName)
			}
		}
		return string(holeForeign) // contents of files and messages
	}
	return string(holeName)
}

// gitEnv looks at variables, set in the line, that make git run programs or
// write files.
func (j *judge) gitEnv(sc *scope) {
	for name, v := range sorted(sc.vars) {
		for _, val := range v.vals {
			if !harmlessEnv(name, val.scalar()) {
				j.deny(ClassGitExec, "the variable "+clip(name)+
					" makes git run a program, write a file or read other settings", "run git without it")
				return
			}
		}
	}
}

func harmlessEnv(name, val string) bool {
	switch name {
	case "PAGER", "EDITOR", "VISUAL", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "LESSOPEN", "LESSCLOSE",
		"GIT_ASKPASS", "SSH_ASKPASS":
		return harmlessProgram(val)
	case "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "XDG_CONFIG_HOME", "HOME":
		return val == "" || name == "LD_LIBRARY_PATH"
	}
	if !strings.HasPrefix(name, "GIT_") {
		return true
	}
	switch name {
	case "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
		"GIT_NO_REPLACE_OBJECTS", "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS",
		"GIT_ICASE_PATHSPECS",
		"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_FLUSH", "GIT_CONFIG_NOSYSTEM",
		"GIT_DIFF_OPTS", "GIT_ADVICE", "GIT_PROGRESS_DELAY", "GIT_DEFAULT_HASH", "GIT_PAGER_IN_USE", "GIT_NAMESPACE",
		"GIT_REF_PARANOIA", "GIT_ATTR_SOURCE", "GIT_NO_LAZY_FETCH", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
		"GIT_PREFIX", "GIT_REFLOG_ACTION",
		"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
		"GIT_COMMITTER_DATE":
		return true
	case "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM":
		return val == "/dev/null" || val == ""
	case "GIT_CONFIG_COUNT":
		return val == "0" || val == ""
	}
	if strings.HasPrefix(name, "GIT_TRACE") {
		switch strings.ToLower(val) {
		case "", "0", "1", "2", "true", "false":
			return true
		}
		return false
	}
	// Names that git does not have are the user's own.
	for _, pre := range []string{"GIT_CONFIG", "GIT_SSH", "GIT_EXTERNAL", "GIT_EXEC", "GIT_PROXY", "GIT_TEMPLATE",
		"GIT_ALTERNATE", "GIT_ALLOW", "GIT_PROTOCOL", "GIT_MERGE", "GIT_DIFFTOOL", "GIT_MERGETOOL", "GIT_CURL",
		"GIT_HTTP", "GIT_GRAFT", "GIT_SHALLOW", "GIT_REPLACE", "GIT_QUARANTINE", "GIT_INTERNAL", "GIT_TEST",
		"GIT_REDIRECT", "GIT_SSL", "GIT_EXT"} {
		if strings.HasPrefix(name, pre) {
			return false
		}
	}
	return true
}

// harmlessProgram lists what may show or edit text in git's name.
func harmlessProgram(val string) bool {
	f := strings.Fields(val)
	if len(f) == 0 {
		return true
	}
	switch baseName(f[0]) {
	case "cat", "less", "more", "most", "true", "false", ":", "bat", "delta", "echo", "head", "tail":
		return !strings.ContainsAny(val, ";|&$`()<>\n")
	}
	return false
}

// harmlessConfig lists the settings that only change how git shows things.
func harmlessConfig(key, val string) bool {
	if !known(key) {
		return false
	}
	k := strings.ToLower(key)
	switch k {
	case "core.pager":
		return harmlessProgram(val)
	case "core.fsmonitor", "core.untrackedcache", "submodule.recurse", "gc.auto", "maintenance.auto":
		return val == "false" || val == "0"
	case "core.hookspath":
		return val == "/dev/null"
	case "core.editor", "sequence.editor":
		return harmlessProgram(val)
	case "core.quotepath", "core.abbrev", "core.autocrlf", "core.safecrlf", "core.eol", "core.ignorecase",
		"core.precomposeunicode", "core.commentchar", "core.whitespace", "core.filemode", "core.preloadindex",
		"core.longpaths", "core.symlinks", "core.trustctime", "core.checkstat", "core.warnambiguousrefs",
		"core.attributesfile", "core.excludesfile", "core.bigfilethreshold",
		"safe.directory", "user.name", "user.email", "init.defaultbranch", "pull.rebase", "push.default", "tag.sort",
		"branch.sort", "grep.patterntype", "grep.linenumber", "grep.column", "grep.fullname", "grep.extendedregexp",
		"grep.threads", "interactive.singlekey", "feature.manyfiles", "index.threads", "pack.threads",
		"protocol.version", "i18n.logoutputencoding", "commit.gpgsign", "tag.gpgsign", "log.showsignature":
		return true
	}
	section, rest, _ := strings.Cut(k, ".")
	switch section {
	case "color", "column", "advice", "blame", "log", "status", "versionsort", "pretty", "format", "i18n", "notes",
		"shortlog", "showbranch":
		return true
	case "diff":
		switch rest {
		case "external", "tool", "guitool":
			return false
		}
		return !strings.Contains(rest, ".") // diff.<driver>.command, .textconv
	case "pager":
		switch val {
		case "true", "false", "", "cat", "less", "0", "1":
			return true
		}
	}
	return false
}

// usualAlias names what short names conventionally stand for. It is asked only
// when the repository's own aliases do not say otherwise; a name that nothing
// defines makes git fail, which does no harm.
func usualAlias(sub string) (string, bool) {
	switch sub {
	case "st", "s", "stat":
		return "status", true
	case "lg", "lol", "lola", "hist", "graph", "last", "ll", "lo", "l", "tree", "history":
		return "log", true
	case "d", "df", "dc":
		return "diff", true
	case "ls":
		return "ls-files", true
	}
	return "", false
}
