package loop

import (
	"context"
	"errors"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/loop/refusal"
)

func TestExitCodes(t *testing.T) {
	for status, want := range map[state.Status]int{state.Complete: 0, state.Ready: 0, state.BlockedStatus: 3,
		state.MaxIterations: 4, state.HaltedStatus: 5, state.Paused: 6, state.NeedsReview: 6, state.Stopped: 6,
		state.Interrupted: 130, state.New: 8, "never heard of": 1} {
		if got := (End{Status: status}).ExitCode(); got != want {
			t.Errorf("%s ends with %d, want %d", status, got, want)
		}
	}
}

func TestWordsOfAResult(t *testing.T) {
	for want, c := range map[string]state.CheckRun{
		"passed":           {Passed: true},
		"skipped, not due": {Passed: true, Skipped: "not due"},
		"flaky: red, then green in a fresh checkout": {Passed: true, Flaky: true},
		"already red":           {AlreadyRed: true},
		"failed, and may":       {Tolerated: true},
		"timeout":               {TimedOut: true},
		"failed: limit: memory": {Limit: "memory"},
		"failed: no test ran":   {NoTests: true},
		"failed":                {ExitCode: 1},
	} {
		if got := passed(c); got != want {
			t.Errorf("%+v is %q, want %q", c, got, want)
		}
	}
	if got := joined("", "b") + joined("a", "b") + quoted("go test"); got != "ba; b`go test`" {
		t.Error(got)
	}
	cause := errors.New("no key")
	for _, err := range []error{refusal.New(refusal.SetupFailed, "the setup failed: %w",
		cause)} {
		if err.Error() == "" {
			t.Errorf("%T says nothing", err)
		}
	}
}

// TestSignatureIsTried: a key that is not there is found before a run begins.
func TestSignatureIsTried(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if err := r.TrySigning(context.Background()); err != nil {
		t.Errorf("nobody wants signatures: %v", err)
	}
	r.repo.Git("config", "gpg.program", "false")
	r.Settings.Sign = true
	var refused *refusal.Error
	if err := r.TrySigning(context.Background()); !errors.As(err, &refused) || refused.Kind != refusal.SigningAsks {
		t.Errorf("%v", err)
	}
}
