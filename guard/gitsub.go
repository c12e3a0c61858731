package guard

import (
	"strings"
)

type gitClass int

const (
	gitUnknown gitClass = iota
	gitReads            // reads whatever it is told, save for a few options
	gitLists            // reads in some forms and writes in others: options by allow-list
	gitWrites
)

// gitKind classifies git's own commands.
func gitKind(sub string) gitClass {
	switch sub {
	case "annotate", "blame", "cat-file", "check-attr", "check-ignore", "check-mailmap", "check-ref-format", "cherry",
		"column", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree", "diff-pairs",
		"fmt-merge-msg", "for-each-ref", "format-patch", "fsck", "get-tar-commit-id", "grep", "help",
		"interpret-trailers", "log", "ls-files", "ls-remote", "ls-tree", "merge-base", "merge-file", "name-rev",
		"patch-id", "range-diff", "rev-list", "rev-parse", "shortlog", "show", "show-branch", "show-index", "show-ref",
		"status", "stripspace", "var", "verify-commit", "verify-pack", "verify-tag", "version", "whatchanged",
		"archive", "last-modified", "show-diff", "url-parse":
		return gitReads
	case "branch", "tag", "stash", "remote", "config", "worktree", "notes", "reflog", "bisect", "submodule",
		"sparse-checkout", "symbolic-ref", "update-index", "bundle", "rerere", "replace", "hash-object", "apply",
		"commit-graph", "multi-pack-index", "hook", "refs", "repo", "difftool", "mktree-list", "clean-list":
		return gitLists
	case "add", "am", "backfill", "bugreport", "checkout", "checkout--worker", "checkout-index", "cherry-pick",
		"citool", "clean", "clone", "commit", "commit-tree", "credential", "credential-cache", "credential-store",
		"cvsexportcommit", "cvsimport", "cvsserver", "daemon", "diagnose", "fast-export", "fast-import", "fetch",
		"fetch-pack", "filter-branch", "filter-repo", "for-each-repo",
		"fsmonitor--daemon", "gc", "gui", "history", "http-backend", "http-fetch", "http-push", "imap-send",
		"index-pack", "init", "init-db", "instaweb", "mailinfo", "mailsplit", "maintenance", "merge", "merge-index",
		"merge-octopus", "merge-one-file", "merge-ours", "merge-recursive", "merge-resolve", "merge-subtree",
		"merge-tree", "mergetool", "mktag", "mktree", "mv", "p4",
		"pack-objects", "pack-redundant", "pack-refs", "prune", "prune-packed", "pull", "push", "quiltimport",
		"read-tree", "rebase", "receive-pack", "remote-ext", "remote-fd", "remote-http", "remote-https", "repack",
		"replay", "request-pull", "reset", "restore", "revert", "rm", "scalar", "send-email", "send-pack", "sh-i18n",
		"shell", "sh-setup", "stage", "subtree", "svn", "switch", "unpack-file", "unpack-objects", "update-ref",
		"update-server-info", "upload-archive", "upload-pack", "write-tree", "web--browse", "flow", "town", "archimport":
		return gitWrites
	}
	return gitUnknown
}

// gitOptions judges the words of a reading command. It reports false when it
// has denied.
func (j *judge) gitOptions(sc *scope, sub string, kind gitClass, rest []arg, in stream) bool {
	if kind == gitLists {
		if sub == "submodule" && len(rest) > 0 && firstWord(rest) == "foreach" {
			j.submoduleForeach(sc, rest)
		} else if sub == "apply" {
			j.gitApply(sc, rest)
		} else if !listing(sub, rest) {
			j.deny(ClassGitWrite, "this form of git "+sub+" is not one that only lists", insteadFor(sub))
		} else if sub == "stash" || sub == "notes" {
			for i, a := range rest { // they take the options of log and diff
				if name, val, has := strings.Cut(a.s, "="); strings.HasPrefix(name, "--") && (has || i+1 < len(rest)) {
					if !has {
						val = rest[i+1].s
					}
					j.gitLong(sc, "log", name, arg{s: val})
				}
			}
		}
		return !j.done
	}
	dashes := false
	for i := 0; i < len(rest) && !j.done; i++ {
		a := rest[i]
		s := a.s
		if s == "--" || s == "--end-of-options" {
			dashes = true
		}
		if dashes || s == "" {
			continue
		}
		if s[0] == holeForeign || s[0] == holeSetup {
			j.undecidable("which options git " + sub + " gets")
			return false
		}
		next := arg{}
		if i+1 < len(rest) {
			next = rest[i+1]
		}
		if strings.HasPrefix(s, "--") {
			name, val, has := strings.Cut(s, "=")
			if has {
				next = arg{s: val}
			}
			j.gitLong(sc, sub, name, next)
			continue
		}
		if s[0] == '-' {
			j.gitShort(sc, sub, s, next)
			continue
		}
		if sub == "ls-remote" && (strings.Contains(s, "::") || strings.HasPrefix(s, "ssh://-")) {
			j.deny(ClassGitExec, "this address makes git run a program", "look at the remotes that are configured")
		}
	}
	switch sub {
	case "merge-file":
		if !hasWord(rest, "-p") && !hasWord(rest, "--stdout") {
			if ops := skipOptions(rest); len(ops) > 0 {
				j.write(sc, ops[0], "write to")
			}
		}
	case "interpret-trailers":
		for _, a := range rest {
			if strings.HasPrefix("--in-place", a.s) && len(a.s) > 4 {
				for _, f := range rest {
					if !strings.HasPrefix(f.s, "-") {
						j.write(sc, f, "edit")
					}
				}
			}
		}
	}
	return !j.done
}

func hasWord(args []arg, s string) bool { return indexWord(args, s) >= 0 }

// gitLong judges a long option of a reading command. Git accepts any
// unambiguous prefix of an option's name, so the option counts as every
// dangerous one that it begins. Harmless options that do so are listed.
func (j *judge) gitLong(sc *scope, sub, name string, val arg) {
	if len(name) < 3 {
		return
	}
	is := func(full string, harmless ...string) bool {
		if !strings.HasPrefix(full, name) {
			return false
		}
		for _, h := range harmless {
			if name == h {
				return false
			}
		}
		return true
	}
	switch {
	case sub == "archive" && (is("--remote") || is("--exec")),
		is("--ext-diff"),
		sub == "grep" && is("--open-files-in-pager"),
		is("--upload-pack"), is("--exec"),
		sub == "fsck" && is("--lost-found"),
		sub == "help" && (is("--web") || is("--info")),
		sub == "cat-file" && is("--filters", "--filter"),
		sub == "show-index" && is("--stdin-packs"):
		j.deny(ClassGitExec, "the option "+clip(name)+" makes git "+sub+" run a program or write", "leave the option out")
	case is("--output"), sub == "format-patch" && is("--output-directory"):
		j.write(sc, val, "write to")
	}
}

func (j *judge) gitShort(sc *scope, sub, s string, next arg) {
	switch sub {
	case "grep":
		// -O takes its value in the same word. So any O in a cluster is -O, unless
		// an option with a value precedes it.
		for k := 1; k < len(s); k++ {
			if strings.IndexByte("efmABC", s[k]) >= 0 {
				return
			}
			if s[k] == 'O' {
				j.deny(ClassGitExec, "git grep -O opens the files with a program", "use `git grep -l`")
				return
			}
		}
	case "archive":
		if strings.HasPrefix(s, "-o") {
			if len(s) > 2 {
				next = arg{s: s[2:]}
			}
			j.write(sc, next, "write to")
		}
	case "format-patch":
		if strings.HasPrefix(s, "-o") {
			if len(s) > 2 {
				next = arg{s: s[2:]}
			}
			j.write(sc, next, "write to")
		}
	case "help":
		if strings.ContainsAny(s, "wi") {
			j.deny(ClassGitExec, "git help "+s+" opens another program", "use `git help -a` or `git NAME -h`")
		}
	}
}

// readingVerbs are the verbs of two-sided commands that only read.
var readingVerbs = []struct{ sub, verbs string }{
	{"stash", "list show"}, {"bisect", "log terms"}, {"bundle", "verify list-heads"}, {"rerere", "status diff remaining"},
	{"commit-graph", "verify"}, {"multi-pack-index", "verify"}, {"hook", "list"}, {"refs", "list verify exists"},
	{"repo", "info structure"}, {"worktree", "list"}, {"sparse-checkout", "list check-rules"},
}

// listing reports whether the words of a two-sided command only list.
func listing(sub string, rest []arg) bool {
	verb := ""
	if len(rest) > 0 {
		verb = rest[0].s
	}
	for _, r := range readingVerbs {
		if r.sub == sub {
			return contains(r.verbs, verb)
		}
	}
	switch sub {
	case "branch":
		return flags(rest, "arvqil",
			"--all --remotes --verbose --list --show-current --color --no-color --column --no-column --ignore-case "+
				"--omit-empty --quiet --no-abbrev",
			"--contains --no-contains --merged --no-merged --points-at --sort --format --abbrev",
			"-l --list --contains --no-contains --merged --no-merged --points-at")
	case "tag":
		return flags(rest, "lniv0123456789",
			"--list --color --no-color --column --no-column --ignore-case --omit-empty --verify",
			"--contains --no-contains --merged --no-merged --points-at --sort --format",
			"-l --list -n --contains --no-contains --merged --no-merged --points-at -v --verify")
	case "remote":
		if verb == "-v" || verb == "--verbose" {
			return len(rest) == 1 || len(rest) == 2 && rest[1].s == "show" || rest[1].s == "show"
		}
		return verb == "" || verb == "show" || verb == "get-url"
	case "config":
		return configReads(rest)
	case "notes":
		for len(rest) > 0 && strings.HasPrefix(rest[0].s, "--ref") {
			n := 1
			if rest[0].s == "--ref" {
				n = 2
			}
			rest = rest[min(n, len(rest)):]
		}
		return len(rest) == 0 || rest[0].s == "list" || rest[0].s == "show" || rest[0].s == "get-ref"
	case "reflog":
		switch verb {
		case "expire", "delete", "drop", "write":
			return false
		}
		for _, a := range rest {
			if strings.HasPrefix(a.s, "--outp") || strings.HasPrefix(a.s, "--ext") || !a.known() && foreign(a.s) {
				return false
			}
		}
		return known(verb) || len(rest) == 0 || !foreign(verb)
	case "submodule":
		return submoduleReads(rest)
	case "symbolic-ref":
		return symbolicRefReads(rest)
	case "update-index":
		return len(rest) == 1 && verb == "--show-index-version"
	case "replace":
		return len(rest) == 0 || verb == "-l" || verb == "--list" || strings.HasPrefix(verb, "--format") && len(rest) == 1
	case "hash-object":
		return flags(rest, "t", "--stdin --stdin-paths --no-filters --literally", "--path", "") || hashReads(rest)
	case "difftool":
		return len(rest) == 1 && verb == "--tool-help"
	}
	return false
}

func submoduleReads(rest []arg) bool {
	for _, a := range rest {
		if strings.HasPrefix(a.s, "-") && a.s != "--quiet" && a.s != "-q" && a.s != "--cached" &&
			a.s != "--recursive" && a.s != "--files" && a.s != "--" && !strings.HasPrefix(a.s, "-n") &&
			!strings.HasPrefix(a.s, "--summary-limit") {
			return false
		}
	}
	switch firstWord(rest) {
	case "", "status", "summary":
		return true
	}
	return false
}

func symbolicRefReads(rest []arg) bool {
	words := 0
	for _, a := range rest {
		switch a.s {
		case "-q", "--quiet", "--short", "--no-recurse", "--recurse":
		default:
			if strings.HasPrefix(a.s, "-") || foreign(a.s) {
				return false
			}
			words++
		}
	}
	return words == 1
}

// flags checks options against lists. plain are long options without a value,
// valued take one (in the same word or the next). Words that are no options are
// only let pass when one of the options in lists is present: "git branch -v x"
// makes a branch, "git branch --list -v x" does not.
func flags(rest []arg, letters, plain, valued, lists string) bool {
	words, list := 0, false
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		if s == "--" {
			words += len(rest) - i - 1
			break
		}
		if len(s) < 2 || s[0] != '-' {
			if s != "" && strings.IndexByte(holes, s[0]) >= 0 && s[0] != holeName && s[0] != holeNum {
				return false
			}
			words++
			continue
		}
		if !known(s) && foreign(s) {
			return false
		}
		if strings.HasPrefix(s, "--") {
			name, _, has := strings.Cut(s, "=")
			switch {
			case contains(plain, name):
			case contains(valued, name):
				// A sort key may begin with "-", a commit cannot.
				if !has && i+1 < len(rest) && (name == "--sort" || !strings.HasPrefix(rest[i+1].s, "-")) {
					i++
				}
			default:
				return false
			}
			list = list || contains(lists, name)
			continue
		}
		if s == "-i" || strings.Trim(s[1:], letters) == "" {
			for k := 1; k < len(s); k++ {
				list = list || contains(lists, "-"+s[k:k+1])
			}
			if letters == "t" {
				i++
			}
			continue
		}
		return false
	}
	return words == 0 || list
}

func contains(list, name string) bool {
	for list != "" {
		var w string
		w, list, _ = strings.Cut(list, " ")
		if w == name {
			return true
		}
	}
	return false
}

// hashReads reports whether git hash-object only prints an id: without -w it
// writes nothing.
func hashReads(rest []arg) bool {
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		switch {
		case s == "--":
			return true
		case s == "-t":
			i++
		case s == "--stdin", s == "--stdin-paths", s == "--no-filters", s == "--literally", strings.HasPrefix(s, "--path="):
		case strings.HasPrefix(s, "-"), foreign(s):
			return false
		}
	}
	return true
}

// configReads reports whether git config only reads, in its old or new style.
func configReads(rest []arg) bool {
	words := 0
	reads := false
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		name, _, has := strings.Cut(s, "=")
		switch name {
		case "-l", "--list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool":
			reads = true
		case "-z", "--null", "--name-only", "--show-origin", "--show-scope", "--show-names", "--bool", "--int",
			"--bool-or-int", "--path", "--expiry-date", "--global", "--system", "--local", "--worktree", "--includes",
			"--no-includes", "--no-type", "--all", "--regexp", "--fixed-value":
		case "-f", "--file", "--blob", "--type", "--default", "-t", "--url", "--value", "--bool-or-str":
			if !has {
				i++
			}
		default:
			if strings.HasPrefix(s, "-") || foreign(s) {
				return false
			}
			if words == 0 && (s == "list" || s == "get") {
				reads = true
				continue
			}
			if words == 0 && contains("edit set unset rename-section remove-section", s) {
				return false
			}
			words++
		}
	}
	return reads || words == 1
}

// gitApply allows a plain git apply, which edits files of the worktree, and
// denies what would write the index.
func (j *judge) gitApply(sc *scope, rest []arg) {
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		if s == "-" || s == "" || s[0] != '-' {
			continue
		}
		name, val, has := strings.Cut(s, "=")
		switch name {
		case "--check", "--stat", "--numstat", "--summary", "-R", "--reverse", "--reject", "--recount",
			"--unidiff-zero", "--apply", "--no-add", "--allow-overlap", "--inaccurate-eof", "-v", "--verbose", "-q",
			"--quiet", "-z", "--allow-empty", "--binary", "--allow-binary-replacement", "--ignore-whitespace",
			"--ignore-space-change", "--whitespace", "--exclude", "--include", "--":
			if !has && (name == "--exclude" || name == "--include" || name == "--whitespace") {
				i++
			}
		case "--directory":
			if !has && i+1 < len(rest) {
				i++
				val = rest[i].s
			}
			j.write(sc, arg{s: val}, "write to")
		default:
			if len(s) > 2 && (s[1] == 'p' || s[1] == 'C') && strings.Trim(s[2:], "0123456789") == "" {
				continue
			}
			if (s == "-p" || s == "-C") && i+1 < len(rest) {
				i++
				continue
			}
			j.deny(ClassGitWrite, "git apply "+clip(name)+" changes the index or more than files", insteadFor("apply"))
			return
		}
	}
}

// submoduleForeach judges the command that is run in every submodule.
func (j *judge) submoduleForeach(sc *scope, rest []arg) {
	for i, a := range rest {
		if a.s != "foreach" {
			continue
		}
		cmd := skipOptions(rest[i+1:])
		if len(cmd) == 1 {
			j.script(sc.clone(), cmd[0].s, stream{}, "submodule foreach")
		} else {
			j.runCommand(sc.clone(), cmd, stream{})
		}
		return
	}
}
