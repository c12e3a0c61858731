package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// agentProject is the project that the agents of fixtures/agents work on.
func agentProject(t *testing.T, agent, settings string) *project {
	t.Helper()
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "agents", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	p := newProject(t, read(agent), settings+"[validation]\nbaseline = \"off\"\n"+check,
		map[string]string{".gitignore": read("project/gitignore"),
			"README.md": read("project/README.md"), "test.sh": read("project/test.sh"), "value.txt": read("project/value.txt")})
	p.must(t, "add", "make the value good")
	return p
}

// shown is the part of `show N --json` that these tests look at.
type shown struct {
	Verdict string   `json:"verdict"`
	Reason  string   `json:"reason"`
	Outcome string   `json:"outcome"`
	Commit  string   `json:"commit"`
	PutBack []string `json:"put_back"`
	Cost    *float64 `json:"cost_usd"`
	Partial bool     `json:"partial"`
}

func (p *project) show(t *testing.T, n string) shown {
	t.Helper()
	var s shown
	if err := json.Unmarshal([]byte(p.must(t, "show", n, "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAgentsOfEveryKind(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the agents")
	rows := []struct {
		agent, settings string
		why             string
		code            int
		verdict         string
		reason          string // a part of it
		then            func(t *testing.T, p *project)
	}{
		{agent: "good.sh", why: "claimed and proved", code: 0, verdict: "keep"},
		{agent: "failing.sh", why: "honest about it, and red", code: 4, verdict: "reject", reason: "checks: test"},
		{agent: "lying.sh", why: "claims success while the check fails", code: 4, verdict: "reject", reason: "checks: test"},
		{agent: "empty.sh", why: "claims success without a change", code: 4, verdict: "reject", reason: "no_change"},
		{agent: "silent.sh", why: "green, and nobody said that it is done", code: 4, verdict: "reject",
			reason: "not_claimed"},
		{agent: "tool.sh", why: "claims by the tool instead of a handoff", code: 0, verdict: "keep"},
		{agent: "crashing.sh", why: "ended by a signal", code: 4, verdict: "reject", reason: "crashed: signal"},
		{agent: "hanging.sh", settings: "idle_timeout = \"1s\"\n", why: "silent for ever, deaf to TERM", code: 4,
			verdict: "reject", reason: "hang: idle"},
		{agent: "flooding.sh", why: "100 MB of output are bounded", code: 0, verdict: "keep",
			then: func(t *testing.T, p *project) {
				ref := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/evidence")
				if size := p.Git("cat-file", "-s", ref+":transcript.jsonl"); len(size) > 8 {
					t.Errorf("the transcript in evidence has %s bytes", size)
				}
			}},
		{agent: "forking.sh", why: "a daemon that writes later is gone with the iteration", code: 0, verdict: "keep",
			then: func(t *testing.T, p *project) {
				if left := processesOf(p); len(left) > 0 {
					t.Errorf("processes of the agent still run: %v", left)
				}
			}},
		{agent: "leaking.sh", why: "an ignored secret stays uncommitted although .gitignore was edited", code: 0,
			verdict: "keep", then: func(t *testing.T, p *project) {
				if got := p.Git("log", "--all", "--format=%h", "--", ".env"); got != "" {
					t.Errorf(".env is in %s", got)
				}
				if got := p.Read(".env"); !strings.HasPrefix(got, "SECRET=1\n") {
					t.Errorf("the secret is gone: %q", got)
				}
				// The kept .gitignore no longer names it.
				os.Remove(filepath.Join(p.Dir, ".env"))
			}},
		{agent: "ignored.sh", why: "green only through an ignored file: never complete", code: 5, verdict: "keep",
			then: func(t *testing.T, p *project) {
				if got := p.must(t, "status"); !strings.Contains(got, "fresh") {
					t.Errorf("status does not say why:\n%s", got)
				}
			}},
		{agent: "committing.sh", why: "git is read-only for the agent", code: 0, verdict: "keep",
			then: func(t *testing.T, p *project) {
				if n := len(strings.Fields(p.Git("log", "--format=%h"))); n != 2 {
					t.Errorf("%d commits on the branch, expected ours on top of the first", n)
				}
			}},
	}
	for _, r := range rows {
		t.Run(r.agent, func(t *testing.T) {
			t.Parallel()
			p := agentProject(t, r.agent, r.settings)
			p.Write(".env", "SECRET=1\n")
			got := p.run(t, nil, "start", "--once")
			if got.code != r.code {
				t.Fatalf("%s: exit %d, expected %d\n%s%s", r.why, got.code, r.code, got.out, got.err)
			}
			s := p.show(t, "1")
			if s.Verdict != r.verdict || !strings.Contains(s.Reason, r.reason) {
				t.Errorf("%s: %s %q, expected %s %q", r.why, s.Verdict, s.Reason, r.verdict, r.reason)
			}
			if r.then != nil {
				r.then(t, p)
			}
			if r.verdict == "reject" {
				if got := p.Read("value.txt"); got != "bad\n" {
					t.Errorf("the checkpoint was not restored: value.txt says %q", got)
				}
				if got := p.Read(".env"); got != "SECRET=1\n" {
					t.Errorf("the secret is %q", got)
				}
			}
			p.sound(t)
		})
	}
}

// TestKilledAtManyMoments ends the loop with SIGKILL wherever it happens to be,
// again and again, until the plan is done.
func TestKilledAtManyMoments(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills by chance")
	const tasks, starts = 6, 40
	p := newProject(t, "sleep 0.05\n"+doTask, check, map[string]string{".gitignore": "*.log\n"})
	p.Write("mine.txt", "untracked\n")
	p.Write("keep.log", "ignored\n")
	for range tasks {
		p.must(t, "add", "one more thing")
	}
	for n := range starts {
		d := time.Duration(30+(n*37)%420) * time.Millisecond
		if code := p.runFor(t, d, "start"); code == 0 {
			break
		}
	}
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("the last start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if n := len(strings.Fields(p.Git("log", "--format=%h", "--grep=^Ralph-Task: "))); n != tasks {
		t.Errorf("%d code commits for %d tasks", n, tasks)
	}
	if got := p.Read("mine.txt") + p.Read("keep.log"); got != "untracked\nignored\n" {
		t.Errorf("the user's files are %q", got)
	}
	os.Remove(filepath.Join(p.Dir, "mine.txt"))
	p.sound(t)
}
