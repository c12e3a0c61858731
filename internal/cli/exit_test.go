package cli

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/internal/config"
	"git-ralph/loop/refusal"
)

// TestEveryRefusalHasAdvice fails for a kind of error without a row in the
// table: its users would get exit code 1 and no next move.
func TestEveryRefusalHasAdvice(t *testing.T) {
	for kind := gitstate.GitMissing; kind <= gitstate.WorktreeMisled; kind++ {
		err := fmt.Errorf("begin: %w", &gitstate.Refusal{Kind: kind, Names: []string{"NAME"}, Err: errors.New("no")})
		code, hint := exitOf(err, notAskedForLinked)
		if (code != 8 && code != 1) || hint == "" || strings.Contains(hint, "{") {
			t.Errorf("kind %d of gitstate: exit code %d, hint %q", kind, code, hint)
		}
	}
	for kind := refusal.Unprovable; kind <= refusal.NoRange; kind++ {
		err := fmt.Errorf("begin: %w", &refusal.Error{Kind: kind, Names: []string{"NAME", "COMMIT"}, Err: errors.New("no")})
		code, hint := exitOf(err, notAskedForLinked)
		if code == 0 || hint == "" || strings.Contains(hint, "{") {
			t.Errorf("kind %d of loop: exit code %d, hint %q", kind, code, hint)
		}
	}
	for cause := journal.Foreign; cause <= journal.Back; cause++ {
		code, hint := exitOf(&journal.UnreadableError{Cause: cause, Err: errors.New("no")}, notAskedForLinked)
		if code != 1 || hint == "" || strings.Contains(hint, "{") {
			t.Errorf("cause %d of journal: exit code %d, hint %q", cause, code, hint)
		}
	}
}

// TestExitOf: the outermost error decides. An error with its own hint never gets
// that of an error below it.
func TestExitOf(t *testing.T) {
	misled := &gitstate.Refusal{Kind: gitstate.ForeignOwner, Names: []string{"/srv/a b"},
		Err: errors.New("the repository belongs to another user")}
	notSettings := &config.Error{Problems: []config.Problem{{Where: "ralph.toml", Msg: "is a link", Hint: "put it there"}}}
	for _, tt := range []struct {
		why  string
		err  error
		code int
		hint string
	}{
		{"a name of the error stands in the hint", misled, 8,
			"if you trust its owner: git config --global --add safe.directory /srv/a b"},
		{"the journal says more than the repository below it",
			&journal.UnreadableError{Cause: journal.Damaged, Err: fmt.Errorf("read: %w", misled)}, 1,
			"git ralph fsck says what is damaged; nothing was changed"},
		{"a command's own hint wins", gitstate.Hint(2, "say which", "begin: %w", misled), 2, "say which"},
		{"a lock that is held has its own exit code", &gitstate.HeldError{}, 7,
			"git ralph status shows it; git ralph stop ends it"},
		{"another worktree is free", &gitstate.HeldError{Worktree: true}, 7,
			"git ralph status shows it; git ralph stop ends it; git ralph start --worktree works beside it"},
		{"an exit code alone", &ExitError{Code: 4, Err: errors.New("stopped")}, 4, ""},
		{"a settings file that is none", notSettings, 8, "put it there"},
		{"what git says of a folder that nobody may write", errors.New("cannot lock ref 'x': Operation not permitted"), 1,
			"it belongs to somebody else, or its permissions forbid it; nothing that was recorded is lost"},
		{"a file that an attribute keeps", fmt.Errorf("restore: %w", syscall.EPERM), 1,
			"it belongs to somebody else, or an attribute forbids it (on Linux lsattr shows it, chattr -i -a takes it away); " +
				"nothing that was recorded is lost"},
		{"a disk that git finds read-only", errors.New("Unable to create 'x': Read-only file system"), 1,
			"mount it writable; reading commands still work"},
		{"any other error", errors.New("no"), 1, ""},
	} {
		if code, hint := exitOf(tt.err, notAskedForLinked); code != tt.code || hint != tt.hint {
			t.Errorf("%s: exit code %d, hint %q; want %d, %q", tt.why, code, hint, tt.code, tt.hint)
		}
	}
}
