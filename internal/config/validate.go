package config

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// The words of a command that tell its kind, in the order in which they are
// tried. Words inside longer ones
// count where tools are named so (pylint, gofmt), and not where they would be
// found by chance.
var (
	lintWords   = lazyregexp.New(`(?i)shellcheck|lint|flake8`)
	typeWords   = lazyregexp.New(`(?i)\b(?:mypy|tsc|pyright|vet)\b`)
	formatWords = lazyregexp.New(`(?i)fmt|\bformat|--check\b`)
)

// GuessKind tells the kind of a check from its command: lint, typecheck,
// format, else test.
func GuessKind(command string) string {
	switch {
	case lintWords().MatchString(command):
		return "lint"
	case typeWords().MatchString(command):
		return "typecheck"
	case formatWords().MatchString(command):
		return "format"
	}
	return "test"
}

// validate checks the rules between settings and fills in what follows from
// others. It names the place that set the value last.
func (l *loader) validate() {
	s := &l.res.Settings
	for i := range s.Checks {
		c := &s.Checks[i]
		path := []string{"checks", c.Name}
		l.needRun(path, c.Run)
		if c.Kind == "" {
			c.Kind = GuessKind(c.Run)
			l.res.Origin[joinKey(append(path, "kind"))] = Origin{Where: "guessed from the command"}
		}
	}
	for _, step := range s.Steps {
		path := []string{"steps", step.Name}
		l.needRun(path, step.Run)
		l.needEnabled(path)
	}
	for _, p := range s.Passes {
		path := []string{"passes", p.Name}
		if !validTrigger(p.Trigger) {
			l.at(append(path, "trigger"), "%s must be always, on_success, on_failure or periodic:N, not "+quote(p.Trigger))
		}
		if slices.Contains(builtinRoles(), p.Name) {
			l.at(append(path, "name"), "%s is the name of a role; a pass needs one of its own")
		}
		l.needEnabled(path)
	}
	for _, name := range sorted(s.Agent.Roles) {
		path := []string{"agent", "roles", name}
		if !slices.Contains(roleNames(s), name) {
			l.at(path, "%s is neither a role nor a pass"+l.suggest(name, roleNames(s)))
		}
		for _, server := range s.Agent.Roles[name].MCP {
			m, ok := s.MCP[server]
			switch {
			case !ok:
				l.at(append(path, "mcp"), "%s names the server "+quote(server)+", and there is no [mcp."+
					joinKey([]string{server})+"]"+l.suggest(server, sorted(s.MCP)))
			case len(m.Command) == 0 && m.URL == "":
				l.at(append(path, "mcp"), "%s names the server "+quote(server)+", which has neither command nor url")
			}
		}
	}
	for _, name := range sorted(s.MCP) {
		if m := s.MCP[name]; len(m.Command) > 0 && m.URL != "" {
			l.at([]string{"mcp", name, "url"}, "%s cannot be set together with command")
		}
	}
	l.checkLadder()
	l.checkShare()
	if s.Context.HandoffPercent > s.Context.HardPercent {
		l.at([]string{"context", "handoff_percent"},
			fmt.Sprintf("%%s must not be above context.hard_percent, which is %d", s.Context.HardPercent))
	}
}

// checkShare refuses names of worktree.share that cannot be folders in the worktree.
func (l *loader) checkShare() {
	names := l.res.Worktree.Share
	for i, name := range names {
		clean := path.Clean(name)
		why := ""
		switch {
		case strings.TrimSpace(name) == "" || clean == ".":
			why = "is the whole worktree; name folders in it"
		case path.IsAbs(name) || strings.HasPrefix(name, "~"):
			why = "is no name inside the worktree; write it from the worktree's top"
		case !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00"):
			why = "leads out of the worktree; name folders in it"
		case slices.ContainsFunc(strings.Split(clean, "/"), isGitName):
			why = "is in a git directory, which cannot be shared; remove it"
		case strings.ContainsAny(name, "*?["):
			why = "is a pattern; name each folder"
		}
		for _, other := range names[:i] {
			if why == "" && (clean == other || strings.HasPrefix(clean, other+"/") || strings.HasPrefix(other, clean+"/")) {
				why = "lies in " + quote(other) + ", or the other way round; name one of them"
			}
		}
		if names[i] = clean; why != "" {
			l.at([]string{"worktree", "share"}, "%s: "+strings.ReplaceAll(quote(name), "%", "%%")+" "+why)
		}
	}
}

// isGitName says whether a file system may take a name for .git.
func isGitName(name string) bool {
	name = strings.ToLower(strings.TrimRight(name, ". "))
	return name == ".git" || name == "git~1"
}

// suggest skips the search when the problem will only be counted.
func (l *loader) suggest(name string, known []string) string {
	if l.full() {
		return ""
	}
	return suggest(name, known)
}

func (l *loader) needRun(path []string, run string) {
	if strings.TrimSpace(run) == "" {
		l.at(append(slices.Clone(path), "run"), "%s is missing")
	}
}

// needEnabled warns about a described step or pass that is not enabled: users
// may believe it runs.
func (l *loader) needEnabled(path []string) {
	key := joinKey(append(slices.Clone(path), "enabled"))
	if _, said := l.res.Origin[key]; !said {
		o := l.res.Origin[joinKey(path)]
		l.warn("%s: %s is not set, so it does not run; write enabled = true or false", o, key)
	}
}

// at reports a problem of the setting at path, where it or the table around it
// was set. The format's %s is the key.
func (l *loader) at(path []string, format string) {
	if l.full() {
		l.err.More++
		return
	}
	key := joinKey(path)
	o, ok := l.res.Origin[key]
	for _, k := range sorted(l.res.Origin) {
		// A table of which only git config or the environment set parts.
		if !ok && strings.HasPrefix(k, key+".") {
			o, ok = l.res.Origin[k], true
		}
	}
	for p := path; !ok && len(p) > 0; p = p[:len(p)-1] {
		o, ok = l.res.Origin[joinKey(p)]
	}
	where := o.file
	if where == "" && ok {
		where = o.Where
	}
	l.problem(Problem{Where: where, Line: o.line, Col: o.col, Key: key, Msg: strings.Replace(format, "%s", key, 1)})
}

func validTrigger(trigger string) bool {
	switch trigger {
	case "always", "on_success", "on_failure":
		return true
	}
	_, ok := Periodic(trigger)
	return ok
}

// Periodic is N of a trigger periodic:N, at least 1.
func Periodic(trigger string) (n int, ok bool) {
	text, ok := strings.CutPrefix(trigger, "periodic:")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0 && strconv.Itoa(n) == text
}
