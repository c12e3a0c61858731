package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"git-ralph/loop"
)

// level is how much is said, from RALPH_LOG or -v: 0 warnings and results, 1 what
// the agent does, 2 everything; -1 no warnings.
func (a *App) setLogging(flags int) error {
	a.Verbose = flags
	if word := strings.ToLower(a.getenv("RALPH_LOG")); word != "" && flags == 0 {
		level, ok := map[string]int{"error": -1, "warn": 0, "warning": 0, "info": 1, "debug": 2, "trace": 2}[word]
		if !ok {
			return usage("RALPH_LOG is error, warn, info or debug", "RALPH_LOG is %q", word)
		}
		a.Verbose = level
	}
	a.logFile = a.getenv("RALPH_LOG_FILE")
	return nil
}

// logWriter adds lines to the file that RALPH_LOG_FILE names.
type logWriter struct {
	mu     sync.Mutex
	failed bool
}

// logLine writes one line with its time to the log file. A file in the
// worktree would be taken for the agent's work. An unwritable file stops
// nothing. Both are reported once.
func (a *App) logLine(kind, format string, args ...any) {
	if a.logFile == "" {
		return
	}
	a.log.mu.Lock()
	defer a.log.mu.Unlock()
	if a.log.failed {
		return
	}
	if err := a.appendLog(kind, fmt.Sprintf(format, args...)); err != nil {
		a.log.failed = true
		fmt.Fprintf(a.Err, "warning: RALPH_LOG_FILE is not used: %v\n", err)
	}
}

func (a *App) appendLog(kind, text string) error {
	path, err := filepath.Abs(a.logFile)
	if err != nil {
		return err
	}
	if a.repo != nil && loop.Inside(path, a.repo.Root) {
		return fmt.Errorf("%s is in the worktree, where it would count as work", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintf(f, "%s %s: %s\n", time.Now().UTC().Format(time.RFC3339Nano), kind,
		strings.ReplaceAll(text, "\n", "\n    "))
	return err
}
