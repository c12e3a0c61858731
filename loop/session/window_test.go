package session

import (
	"errors"
	"fmt"
	"testing"

	agentctx "git-ralph/context"
	"git-ralph/notes"
)

// window is a session that can be asked to hand over.
func window(last bool) (*Window, *error) {
	var cause error
	f := &Window{Last: last, stop: func(err error) { cause = err },
		Fill: agentctx.Window{Capacity: 1000, Ask: 60, Hard: 80},
		Ask:  func(percent int) string { return fmt.Sprintf("hand over at %d", percent) }}
	return f, &cause
}

func TestWindow(t *testing.T) {
	allow := func(ToolUse) Permission { return Permission{Allow: true} }
	type step struct {
		used   int64
		manual bool
		call   bool
		want   string // of the call: "ok", or what it is told
	}
	rows := []struct {
		why   string
		last  bool
		steps []step
		ended bool // without being asked
		told  string
	}{
		{"below the threshold nothing is said", false, []step{{used: 590}, {call: true, want: "ok"}}, false, ""},
		{"the first call above it is told, the next are kept short", false,
			[]step{{used: 610}, {call: true, want: "hand over at 61"},
				{call: true, want: "no more tools in this session: call ralph_submit_handoff now, then end"}}, false, EndBudget},
		{"a person asks at any time", false, []step{{used: 100}, {manual: true}, {call: true, want: "hand over at 0"}}, false,
			EndManual},
		{"the window came first", false, []step{{used: 610}, {manual: true}, {call: true, want: "hand over at 61"}}, false,
			EndBudget},
		{"at the second threshold it is ended", false, []step{{used: 100}, {call: true, want: "ok"}, {used: 820}}, true, ""},
		{"a client that lets us judge nothing is left alone", false, []step{{used: 820}}, false, ""},
		{"the last session is not asked", true, []step{{used: 610}, {manual: true}, {call: true, want: "ok"}}, false, ""},
		{"and ended all the same", true, []step{{call: true, want: "ok"}, {used: 820}}, true, ""},
		{"what is not reported is not guessed", false, []step{{used: 0}, {call: true, want: "ok"}}, false, ""},
	}
	for _, r := range rows {
		f, cause := window(r.last)
		judge := f.judge(allow)
		for i, s := range r.steps {
			switch {
			case s.call:
				got := judge(ToolUse{Tool: "Bash"})
				if got.Allow && s.want != "ok" || !got.Allow && got.Reason != s.want {
					t.Errorf("%s, step %d: %+v", r.why, i, got)
				}
			case s.manual:
				f.wanted()
			default:
				f.observe(Usage{ContextTokens: s.used})
			}
		}
		if ended := errors.Is(*cause, ErrWindowFull); ended != r.ended {
			t.Errorf("%s: ended %v", r.why, ended)
		}
		if got := f.Over(Collected{}, Completed, nil); got != r.told {
			t.Errorf("%s: a fresh session follows for %q, want %q", r.why, got, r.told)
		}
	}
	var none *Window
	none.observe(Usage{ContextTokens: 1})
	none.wanted()
	if none.Over(Collected{}, "", nil) != "" || !none.judge(allow)(ToolUse{}).Allow {
		t.Error("no window is no reason")
	}
}

// Another session may follow one that was asked to hand over.
func TestSessionsThatFollow(t *testing.T) {
	done := &notes.Handoff{TaskCompleted: notes.TaskCompleted{FullyComplete: true}}
	half := &notes.Handoff{}
	rows := []struct {
		why     string
		outcome OutcomeKind
		tools   Collected
		h       *notes.Handoff
		want    string
	}{
		{"it handed over", Completed, Collected{}, half, EndBudget},
		{"it only ended", Completed, Collected{}, nil, EndBudget},
		{"it found that it was finished", Completed, Collected{}, done, ""},
		{"the tool says so", Completed, Collected{Complete: &Claim{}}, half, ""},
		{"it is blocked", Completed, Collected{Blocked: &Claim{}}, nil, ""},
		{"it crashed", Crashed, Collected{}, half, ""},
		{"the provider refused the prompt", ContextLimit, Collected{}, nil, EndBudget},
		{"its turns were used up", MaxTurns, Collected{}, half, EndBudget},
	}
	for _, r := range rows {
		f, _ := window(false)
		f.observe(Usage{ContextTokens: 650})
		f.judge(func(ToolUse) Permission { return Permission{} })(ToolUse{})
		if got := f.Over(r.tools, r.outcome, r.h); got != r.want {
			t.Errorf("%s: %q, want %q", r.why, got, r.want)
		}
	}
}

// collected is a toolbox that nobody called.
type collected struct{ Toolbox }

func (collected) Collected() Collected { return Collected{} }

// A request that was acknowledged before the session ended counts, also when
// nobody has looked at the journal since.
func TestAskedAtTheVeryEnd(t *testing.T) {
	for _, asked := range []bool{false, true} {
		f, _ := window(false)
		f.Asked = func() bool { return asked }
		if _, told := f.prompt(HandoffFile(t.TempDir()), collected{}, Result{Outcome: Completed}); told != asked {
			t.Errorf("asked %v, told %v", asked, told)
		}
		if got := f.Over(Collected{}, Completed, nil); (got == EndManual) != asked {
			t.Errorf("asked %v: a fresh session follows for %q", asked, got)
		}
	}
}
