package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ralph/internal/text"
)

const listCommands = "git ralph -h lists the commands"

// otherWords are what people type who know other tools, and the command here
// that does it.
var otherWords = map[string]string{
	"list": "tasks", "ls": "tasks", "todo": "tasks", "todos": "tasks", "next": "tasks", "backlog": "tasks",
	"new": "add", "create": "add", "task": "add", "load": "import", "setup": "init", "install": "init",
	"go": "start", "begin": "start", "loop": "start", "work": "start", "once": "start --once", "continue": "start",
	"restart": "start",
	"abort":   "stop", "cancel": "stop", "kill": "stop --now", "quit": "stop", "end": "stop", "interrupt": "stop --now",
	"wait": "pause", "unpause": "resume", "hold": "pause",
	"logs": "log", "events": "log", "activity": "log",
	"tail": "watch", "attach": "watch", "ps": "status", "info": "status",
	"state": "status", "monitor": "watch",
	"dashboard": "serve", "page": "serve", "ui": "serve", "web": "serve", "gui": "serve", "browser": "serve",
	"undo": "rewind", "revert": "rewind", "rollback": "rewind", "back": "rewind", "recover": "restore",
	"note": "inject", "message": "inject", "say": "inject", "tell": "inject", "comment": "inject",
	"cost": "stats", "usage": "stats", "summary": "progress", "report": "verify --report", "check": "verify",
	"prove": "verify",
	"clean": "gc", "prune": "gc", "repair": "fsck", "settings": "config", "options": "config", "sessions": "history",
	"spec": "discover", "specs": "discover", "prd": "discover", "idea": "run", "do": "run",
	"accept": "approve", "ok": "approve", "deny": "reject", "redo": "retry", "again": "retry", "man": "completion",
	"purge": "redact", "erase": "redact", "forget": "redact", "scrub": "redact",
	"merge": "land", "integrate": "land", "rebase": "land", "branch": "fork", "clone": "fork", "checkout": "fork",
	"sync": "pull", "fetch": "pull", "publish": "push", "share": "push", "upload": "push", "download": "pull",
	"pull-request": "pr", "merge-request": "pr", "mr": "pr",
	"remove": "skip", "delete": "skip", "rm": "skip",
}

// parseError says what is wrong with a command line, and where to look.
func (a *App) parseError(err error, args []string) error {
	var line *lineError
	if errors.As(err, &line) && line.ctx != nil {
		if cmd := line.ctx.Selected(); cmd != nil {
			hint := a.argumentHint(nodeName(cmd), args)
			if takesIteration(cmd) && (noNumber().MatchString(err.Error()) || numberFlag().MatchString(err.Error())) {
				hint = "iterations are numbered from 1; git ralph log --event iteration lists them\n" + hint
			}
			return usage(hint, "%w", plainly(err))
		}
	}
	i := slices.IndexFunc(args, func(s string) bool { return !strings.HasPrefix(s, "-") })
	if i < 0 {
		return usage(listCommands, "%w", err)
	}
	word, hint := args[i], listCommands
	var near []string
	for _, n := range a.model().Children {
		if i > 0 && n.Name == word {
			line := "git ralph"
			for _, s := range slices.Concat(args[i:i+1], args[:i], args[i+1:]) {
				line += " " + text.Shell(s)
			}
			return usage(line, "%s stands in front of the command", strings.Join(args[:i], " "))
		}
		if !n.Hidden && distance(word, n.Name) <= max(1, (len(word)+1)/3) {
			near = append(near, "git ralph "+n.Name)
		}
	}
	switch other, known := otherWords[strings.ToLower(word)]; {
	case known:
		hint = "did you mean git ralph " + other + "? " + hint
	case a.isFile(word):
		hint = "git ralph import " + text.Shell(word) + " reads a plan; then git ralph start"
	case strings.ContainsAny(word, " \t\n"):
		hint = "git ralph add " + text.Shell(word) + " makes it a task; git ralph run " + text.Shell(word) +
			" goes from the sentence to validated work"
	case len(near) > 0:
		hint = "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return usage(hint, "%s is not a command of git ralph", strconv.Quote(word))
}

// argumentHint is the way out when the words after a command do not fit.
func (a *App) argumentHint(command string, args []string) string {
	help := "git ralph " + command + " -h"
	if command != "start" && command != "run" {
		return help
	}
	for _, s := range args[1:] {
		if !strings.HasPrefix(s, "-") && a.isFile(s) {
			return "git ralph import " + text.Shell(s) + " reads a plan; then git ralph start\n" + help
		}
	}
	return help
}

// isFile says whether a word names a file, as seen from where it was typed.
func (a *App) isFile(word string) bool {
	info, err := os.Stat(filepath.Join(a.Dir, word))
	if filepath.IsAbs(word) {
		info, err = os.Stat(word)
	}
	return err == nil && info.Mode().IsRegular()
}
