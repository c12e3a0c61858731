package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// money is the part of `status --json` about budgets and the breaker.
type money struct {
	Status string `json:"status"`
	Reason string `json:"halt_reason"`
	Cost   struct {
		Session json.Number `json:"session"`
		Total   json.Number `json:"total"`
	} `json:"cost_usd"`
	Tokens struct {
		Total int64 `json:"total"`
	} `json:"tokens"`
	Breaker struct {
		State, Reason string
		Failures      int
	} `json:"breaker"`
	Tasks struct{ Failed, Pending, Done int } `json:"tasks"`
}

func (p *project) money(t *testing.T) money {
	t.Helper()
	var m money
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// spending reports usage and then works on for ever: only a limit ends it.
func spending(line string) string {
	return "echo '" + line + "'\nwhile :; do sleep 0.05; done\n"
}

// TestLimitsEndTheAgent: a limit ends the client as usage arrives, not after.
func TestLimitsEndTheAgent(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the limits")
	dollars := `{"type":"usage","input_tokens":10,"output_tokens":5,"cost_usd":0.6}`
	tokens := `{"type":"usage","input_tokens":900,"output_tokens":50,"cache_read_tokens":100}`
	for _, r := range []struct {
		why, line, limits string
		code              int
		reason, halt      string
		breaker           int // failures
	}{
		{"dollars of an iteration count as a failure", dollars, "iteration_usd = 0.5", 4, "limit: iteration_usd", "", 1},
		{"tokens of an iteration", tokens, "iteration_tokens = 1000", 4, "limit: iteration_tokens", "", 1},
		{"dollars of the session end the run", dollars, "session_usd = 0.5", 5, "limit: session_usd", "cost_limit:$0.60", 0},
		{"dollars of all sessions", dollars, "total_usd = 0.5", 5, "limit: total_usd", "cost_limit:$0.60", 0},
		{"tokens of the session, cache reads included", tokens, "session_tokens = 1000", 5, "limit: session_tokens",
			"token_limit:1050", 0},
		{"tokens of all sessions", tokens, "total_tokens = 1000", 5, "limit: total_tokens", "token_limit:1050", 0},
		{"time of the session", "{}", "session_time = \"1s\"", 5, "limit: session_time", "time_limit:", 0},
	} {
		t.Run(r.limits, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "echo spoiled > value.txt\n"+spending(r.line),
				"[validation]\nbaseline = \"off\"\n[limits]\n"+r.limits+"\n"+check, map[string]string{"value.txt": "good\n"})
			p.must(t, "add", "a thing")
			got := p.run(t, nil, "start", "--once")
			if got.code != r.code {
				t.Fatalf("%s: exit %d, expected %d\n%s%s", r.why, got.code, r.code, got.out, got.err)
			}
			if s := p.show(t, "1"); s.Verdict != "reject" || s.Reason != r.reason {
				t.Errorf("%s: %s %q", r.why, s.Verdict, s.Reason)
			}
			m := p.money(t)
			if m.Breaker.Failures != r.breaker || r.halt != "" && !strings.HasPrefix(m.Reason, r.halt) {
				t.Errorf("%s: halted by %q with %d failures", r.why, m.Reason, m.Breaker.Failures)
			}
			if got := p.Read("value.txt"); got != "good\n" {
				t.Errorf("%s: the worktree is not as it was: %q", r.why, got)
			}
			p.sound(t)
		})
	}
}

// TestBudgetsOutliveARestart: the journal records the cost. A start after a
// crash continues the session's budget. A start after a normal end has a new
// one. The total never restarts.
func TestBudgetsOutliveARestart(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the budgets")
	agent := "echo '{\"type\":\"usage\",\"input_tokens\":10,\"cost_usd\":0.4}'\n" + doTask
	p := newProject(t, agent, "[validation]\nbaseline = \"off\"\n[limits]\nsession_usd = 1.0\ntotal_usd = 1.5\n"+check,
		nil)
	for range 6 {
		p.must(t, "add", "a thing")
	}
	if r := p.run(t, nil, "start", "--once"); r.code != 4 {
		t.Fatalf("the first: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if m := p.money(t); m.Cost.Session != "0.4000" && m.Cost.Session != "0.4" {
		t.Errorf("spent %s in the session", m.Cost.Session)
	}
	// Killed in the second iteration, before it has spent anything.
	if r := p.run(t, []string{"RALPH_FAILPOINT=iteration:started"}, "start"); r.code != -1 {
		t.Fatalf("the one to be killed: exit %d", r.code)
	}
	if r := p.run(t, nil, "start", "--max-iterations", "2"); r.code != 4 {
		t.Fatalf("after the crash: exit %d\n%s%s", r.code, r.out, r.err)
	}
	m := p.money(t)
	if c, _ := m.Cost.Total.Float64(); c < 1.19 || c > 1.21 {
		t.Errorf("spent %s in all", m.Cost.Total)
	}
	// 1.2 of 1.5 are spent: the next iteration crosses the total.
	if r := p.run(t, nil, "start"); r.code != 5 || !strings.HasPrefix(p.money(t).Reason, "cost_limit:$1.6") {
		t.Errorf("at the total: exit %d, %q\n%s%s", r.code, p.money(t).Reason, r.out, r.err)
	}
	if r := p.run(t, nil, "start"); r.code != 5 {
		t.Errorf("a restart began anew: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := p.run(t, []string{"RALPH_LIMITS_TOTAL_USD=100", "RALPH_LIMITS_SESSION_USD=100"}, "start"); r.code != 0 {
		t.Errorf("with a higher limit: exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.sound(t)
}

// TestSessionBudgetGoesOnAfterACrash: a crash does not reset it.
func TestSessionBudgetGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the budgets")
	agent := "echo '{\"type\":\"usage\",\"input_tokens\":10,\"cost_usd\":0.4}'\n" + doTask
	p := newProject(t, agent, "[validation]\nbaseline = \"off\"\n[limits]\nsession_usd = 1.0\n"+check, nil)
	for range 4 {
		p.must(t, "add", "a thing")
	}
	// Each start keeps one task and dies before its note.
	for n := range 2 {
		if r := p.run(t, []string{"RALPH_FAILPOINT=keep:note"}, "start"); r.code != -1 {
			t.Fatalf("start %d: exit %d, expected to be killed\n%s%s", n+1, r.code, r.out, r.err)
		}
	}
	if r := p.run(t, nil, "start"); r.code != 5 || !strings.HasPrefix(p.money(t).Reason, "cost_limit:$1.2") {
		t.Errorf("three times 0.4 in one session: exit %d, %q\n%s%s", r.code, p.money(t).Reason, r.out, r.err)
	}
	p.sound(t)
}

// TestBreaker: failures in a row open it. A person or the cool-down half-opens
// it. A success closes it.
func TestBreaker(t *testing.T) {
	t.Parallel()
	long.Only(t, "it opens and closes the breaker in many ways")
	agent := "if [ -e \"$R/../fixed\" ]; then\n" + doTask + "else\necho x > broken\n" + doTask + "fi\n"
	broken := func(t *testing.T, cooldown string) *project {
		p := newProject(t, agent, "[validation]\nbaseline = \"off\"\n[breaker]\nfailures = 2\n"+cooldown+
			"[loop]\nmax_attempts = 5\n"+check, nil)
		p.Env = append(p.Env, "R="+p.Dir, "RALPH_GUARD_SANDBOX=off")
		p.must(t, "add", "a thing")
		p.must(t, "add", "another")
		return p
	}
	t.Run("a person", func(t *testing.T) {
		p := broken(t, "")
		if r := p.run(t, nil, "start"); r.code != 5 {
			t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
		}
		if m := p.money(t); m.Breaker.State != "open" || m.Breaker.Reason != "consecutive_failures:2" {
			t.Errorf("%+v", m.Breaker)
		}
		if r := p.run(t, nil, "start"); r.code != 5 || !strings.Contains(r.err, "git ralph resume") {
			t.Errorf("an open breaker lets nothing through: exit %d\n%s", r.code, r.err)
		}
		p.must(t, "resume")
		if m := p.money(t); m.Breaker.State != "half-open" {
			t.Errorf("after resume: %+v", m.Breaker)
		}
		if r := p.run(t, nil, "start"); r.code != 5 || p.money(t).Breaker.State != "open" {
			t.Errorf("one failure opens a half-open breaker: exit %d, %+v", r.code, p.money(t).Breaker)
		}
		if s := p.show(t, "3"); s.Verdict != "reject" {
			t.Errorf("the attempt that was allowed: %+v", s)
		}
		if r := p.run(t, nil, "show", "4"); r.code == 0 {
			t.Error("more than one attempt was made")
		}
		if err := os.WriteFile(filepath.Join(p.Dir, "..", "fixed"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		p.must(t, "resume")
		if r := p.run(t, nil, "start"); r.code != 0 {
			t.Fatalf("fixed: exit %d\n%s%s", r.code, r.out, r.err)
		}
		if m := p.money(t); m.Breaker.State != "closed" || m.Breaker.Failures != 0 {
			t.Errorf("a success closes it: %+v", m.Breaker)
		}
		p.sound(t)
	})
	t.Run("the cool-down", func(t *testing.T) {
		p := broken(t, "cooldown = \"300ms\"\n")
		// It waits, tries once and waits again, until a person ends it.
		done := func() bool {
			r := p.run(t, nil, "log", "--json")
			return strings.Count(r.out, `"event":"iteration"`) >= 4
		}
		end := startUntil(t, p, done)
		if end.code != 6 {
			t.Errorf("exit %d\n%s%s", end.code, end.out, end.err)
		}
		if !done() {
			t.Error("the cool-down let no attempt through")
		}
		if r := p.run(t, nil, "log", "--json"); strings.Count(r.out, `"event":"breaker"`) < 3 {
			t.Errorf("the journal does not say that the breaker opened, tried, and opened again:\n%s", r.out)
		}
		p.sound(t)
	})
}

// startUntil runs the loop until done, then stops it as a person does.
func startUntil(t *testing.T, p *project, done func() bool) result {
	t.Helper()
	ended := make(chan result, 1)
	go func() { ended <- p.run(t, nil, "start") }()
	waitFor(t, "the run comes to where it is stopped", done)
	p.run(t, nil, "stop")
	return <-ended
}
