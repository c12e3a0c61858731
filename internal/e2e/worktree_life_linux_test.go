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

// linkedDir is our linked worktree for main.
func (p *project) linkedDir(t *testing.T) string {
	t.Helper()
	for _, field := range strings.Split(p.Git("worktree", "list", "--porcelain", "-z"), "\x00") {
		if path, ok := strings.CutPrefix(field, "worktree "); ok && strings.Contains(path, "/git-ralph/worktrees/") {
			return filepath.FromSlash(path)
		}
	}
	t.Fatalf("there is no linked worktree of ours:\n%s", p.Git("worktree", "list"))
	return ""
}

// in is the same project seen from another worktree.
func (p *project) in(dir string) *project {
	r := *p.Repo
	r.Dir = dir
	return &project{Repo: &r, bin: p.bin, around: p.around}
}

func (p *project) ref(name string) string { return p.Git("rev-parse", "--verify", "-q", name) }

// linkedStatus is what status says about the other worktree.
type linkedStatus struct {
	Status  string
	Sandbox string
	Linked  *struct {
		Of, Branch, Worktree, Status string
		Iteration, Ahead, Behind     int
		Running                      *struct{ PID int }
	}
	Tasks struct{ Done, Pending int }
}

func (p *project) status(t *testing.T) linkedStatus {
	t.Helper()
	var s linkedStatus
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

const quick = "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n" + check

// TestLinkedKilledAnywhere ends `start --worktree` at every step of making the
// worktree and of bringing it up to its branch, and at some of an iteration.
// The next start needs no person, nothing is lost, and the user's worktree,
// branch and journal are as they were.
func TestLinkedKilledAnywhere(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills at every step")
	names := []string{"iteration:agent-ended", "reject:evidence", "keep:refs-committed", "keep:index-renamed"}
	for name := range strings.FieldsSeq(newProject(t, doTask, quick, nil).must(t, "failpoints")) {
		if strings.HasPrefix(name, "linked:") || strings.HasPrefix(name, "follow:") {
			names = append(names, name)
		}
	}
	if len(names) != 12 {
		t.Errorf("the steps are %v", names)
	}
	agent := "if [ $RALPH_TASK_ID-$RALPH_ATTEMPT = T-001-1 ]; then echo x > broken; fi\n" + doTask
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, agent, quick, map[string]string{"old.txt": "old\n", "gone.txt": "x\n"})
			p.must(t, "add", "the first thing")
			if strings.HasPrefix(name, "follow:") {
				// A linked worktree that is behind its branch.
				if r := p.run(t, nil, "start", "--worktree"); r.code != 0 {
					t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
				}
				p.Git("merge", "-q", "--ff-only", "ralph/main")
				p.must(t, "adopt", "ralph/main")
				p.Write("old.txt", "new\n")
				p.Write("more/new.txt", "new\n")
				os.Remove(filepath.Join(p.Dir, "gone.txt"))
				p.Git("add", "-A")
				p.Git("commit", "-qm", "by a person")
				p.must(t, "add", "the second thing")
			}
			p.Write("old.txt", "half written\n")
			main, journal := p.ref("main"), p.ref("refs/ralph/heads/main")
			if r := p.run(t, []string{"RALPH_FAILPOINT=" + name}, "start", "--worktree"); r.code != -1 {
				t.Fatalf("it was not killed: exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.must(t, "status")
			p.run(t, []string{"RALPH_FAILPOINT=" + name}, "start", "--worktree") // the same once more
			r := p.run(t, nil, "start", "--worktree")
			if r.code != 0 {
				t.Fatalf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
			}
			linked := p.in(p.linkedDir(t))
			if s := linked.status(t); s.Status != "complete" || s.Tasks.Pending > 0 {
				t.Errorf("the linked worktree is %+v", s)
			}
			if got := linked.Read("out-T-001.txt"); got != "T-001\n" {
				t.Errorf("the work is %q", got)
			}
			if strings.HasPrefix(name, "follow:") {
				if got := linked.Read("old.txt") + linked.Read("more/new.txt") + linked.Read("gone.txt") +
					linked.Read("out-T-002.txt"); got != "new\nnew\nT-002\n" {
					t.Errorf("after following the files are %q", got)
				}
			}
			if p.ref("main") != main || p.ref("refs/ralph/heads/main") != journal || p.Read("old.txt") != "half written\n" {
				t.Error("main, its journal or the user's worktree was touched")
			}
			linked.sound(t)
			p.Git("checkout", "-q", "--", ".")
			p.sound(t)
		})
	}
}

// TestLinkedBesideAPerson: during the run a person works, commits and plans on
// the branch. Another git ralph command leaves its checkpoint alone.
func TestLinkedBesideAPerson(t *testing.T) {
	t.Parallel()
	long.Only(t, "a person and a run at once")
	p := newProject(t, "touch \"$O/ready\"; while [ ! -e \"$O/go\" ]; do sleep 0.02; done\n"+doTask,
		"[guard]\nwritable = [\"${O}\"]\n"+quick, map[string]string{"README": "hello\n"})
	p.Env = append(p.Env, "O="+outside(p, "signals"))
	if err := os.Mkdir(outside(p, "signals"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.must(t, "add", "a thing")
	done := make(chan result, 1)
	go func() { done <- p.run(t, nil, "start", "--worktree") }()
	waitFor(t, "the agent begins", func() bool { return exists(outside(p, "signals/ready")) })

	local := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/local")
	p.must(t, "add", "another thing, on main")
	if now := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/local"); local == "" || now != local {
		t.Errorf("the checkpoint of the running iteration was %q and is %q", local, now)
	}
	p.must(t, "fsck")
	if s := p.status(t); s.Linked == nil || s.Linked.Running == nil || s.Linked.Status != "running" {
		t.Errorf("status says %+v", s)
	}
	if r := p.run(t, nil, "stop"); r.code != 1 || !strings.Contains(r.err, "git ralph -C "+p.linkedDir(t)) {
		t.Errorf("stop where nothing runs: exit %d\n%s", r.code, r.err)
	}
	if r := p.run(t, nil, "start", "--worktree"); r.code != 7 || !strings.Contains(r.err, "ralph/main") {
		t.Errorf("a second one: exit %d\n%s", r.code, r.err)
	}
	p.Write("README", "by a person\n")
	p.Git("commit", "-qam", "by a person")
	p.Git("tag", "v1")
	p.Git("config", "user.name", "Some Body")
	putFile(t, outside(p, "signals/go"), "")
	if r := <-done; r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	} else if !strings.Contains(r.out, "merge main") {
		t.Errorf("the end does not say that main went on:\n%s", r.out)
	}
	linked := p.in(p.linkedDir(t))
	if s := linked.show(t, "1"); s.Verdict != "keep" {
		t.Errorf("the iteration is %s %q", s.Verdict, s.Reason)
	}
	// Both branches have new commits: start merges nothing and says so.
	r := p.run(t, nil, "start", "--worktree")
	if r.code != 0 || !strings.Contains(r.err, "has commits that ralph/main does not have") ||
		!strings.Contains(r.err, "has entries that ralph/main does not have") {
		t.Errorf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	linked.Git("merge", "-q", "-m", "main into it", "main")
	p.Git("merge", "-q", "--ff-only", "ralph/main")
	if r := p.run(t, nil, "adopt", "ralph/main"); r.code != 1 || !strings.Contains(r.err, "have diverged") {
		t.Errorf("adopt: exit %d\n%s", r.code, r.err)
	}
	if got := len(strings.Fields(p.must(t, "tasks", "--json"))); got == 0 {
		t.Error("the task on main is lost")
	}
	linked.sound(t)
	p.sound(t)
}

// TestLinkedSettings: the settings come from where start was typed, committed
// or not. Paths in them are of the linked worktree.
func TestLinkedSettings(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the settings")
	p := newProject(t, doTask, quick+"[project]\nsetup = [\"echo x > setup.txt\"]\n",
		map[string]string{".gitignore": "setup.txt\n"})
	p.must(t, "add", "a thing")
	p.Write("ralph.toml", p.Read("ralph.toml")+"[[checks]]\nname = \"typed here\"\nrun = \"true\"\n")
	if r := p.run(t, nil, "start", "--worktree"); r.code != 8 || !strings.Contains(r.err, "not trusted") {
		t.Errorf("what nobody has seen: exit %d\n%s", r.code, r.err)
	}
	if refs := p.Git("for-each-ref", "refs/heads/ralph", "refs/ralph/heads/ralph"); refs != "" {
		t.Errorf("it was refused, and made\n%s", refs)
	}
	r := p.run(t, nil, "start", "--worktree", "--trust")
	if r.code != 0 || !strings.Contains(r.out, "check typed here: passed") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	linked := p.in(p.linkedDir(t))
	if linked.Read("setup.txt") != "x\n" {
		t.Error("the setup did not run in the linked worktree")
	}
	if strings.Contains(linked.Read("ralph.toml"), "typed here") {
		t.Error("the settings were written to the linked worktree")
	}
}

// TestLinkedRefusals: a refusal says why and changes nothing.
func TestLinkedRefusals(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what is refused")
	rows := []struct {
		why   string
		setup func(t *testing.T, p *project)
		args  []string
		code  int
		says  []string
	}{
		{"a command that runs no agent", nil, []string{"status", "--worktree"}, 2, []string{"--worktree"}},
		{"a branch is in the way of the name", func(t *testing.T, p *project) { p.Git("branch", "ralph") },
			[]string{"start", "--worktree"}, 8, []string{"a branch named ralph", "git branch -m"}},
		{"somebody's own branch has the name", func(t *testing.T, p *project) { p.Git("branch", "ralph/main") },
			[]string{"start", "--worktree"}, 8, []string{"ralph/main already"}},
		{"its branch is checked out here", func(t *testing.T, p *project) { p.Git("switch", "-q", "-c", "ralph/main") },
			[]string{"start", "--worktree"}, 8, []string{"git switch main"}},
		{"HEAD is detached", func(t *testing.T, p *project) { p.Git("switch", "-q", "--detach") },
			[]string{"start", "--worktree"}, 8, []string{"detached"}},
		{"there is no plan", func(t *testing.T, p *project) { p.Git("update-ref", "-d", "refs/ralph/heads/main") },
			[]string{"start", "--worktree"}, 8, []string{"no journal"}},
		{"there is nothing to do", func(t *testing.T, p *project) { p.must(t, "skip", "T-001") },
			[]string{"start", "--worktree"}, 0, []string{"nothing to do"}},
		{"the plan is empty", func(t *testing.T, p *project) { p.must(t, "skip", "T-001"); p.must(t, "archive") },
			[]string{"start", "--worktree"}, 8, []string{"the plan is empty"}},
		{"a person is wanted first", func(t *testing.T, p *project) { p.must(t, "pause") },
			[]string{"start", "--worktree"}, 6, []string{"paused"}},
		{"the cache folder lies in the repository", func(t *testing.T, p *project) {
			p.Env = append(p.Env, "XDG_CACHE_HOME="+filepath.Join(p.Dir, "cache"))
			p.Write(".gitignore", "cache\n")
		}, []string{"start", "--worktree"}, 8, []string{"XDG_CACHE_HOME"}},
		{"a dry run makes none", nil, []string{"start", "--worktree", "--dry-run"}, 0,
			[]string{"ralph/main", "not made yet"}},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, quick, nil)
			p.must(t, "add", "a thing")
			p.Write("README", "changed\n")
			if r.setup != nil {
				r.setup(t, p)
			}
			refs := p.Git("for-each-ref")
			got := p.run(t, nil, r.args...)
			if got.code != r.code {
				t.Errorf("exit %d, expected %d\n%s%s", got.code, r.code, got.out, got.err)
			}
			for _, s := range r.says {
				if !strings.Contains(got.out+got.err, s) {
					t.Errorf("it does not say %q:\n%s%s", s, got.out, got.err)
				}
			}
			if now := p.Git("for-each-ref"); now != refs {
				t.Errorf("refs were\n%s\nand are\n%s", refs, now)
			}
			if n := strings.Count(p.Git("worktree", "list"), "\n"); n != 0 {
				t.Errorf("there are %d linked worktrees", n)
			}
		})
	}
}

// TestLinkedLost: people damage a linked worktree of git ralph between two runs.
func TestLinkedLost(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what is lost")
	rows := []struct {
		why  string
		do   func(t *testing.T, p *project, linked *project)
		says string // on standard error
		// there is the answer of a command in the damaged worktree.
		there string
		then  func(t *testing.T, p *project, linked *project)
	}{
		{why: "its folder was removed: the branch has everything",
			do: func(t *testing.T, p, linked *project) { os.RemoveAll(linked.Dir) },
			then: func(t *testing.T, p, linked *project) {
				if linked.Read("out-T-001.txt") != "T-001\n" {
					t.Error("the work before is not there")
				}
			}},
		{why: "its .git file leads elsewhere", says: "was restored", there: "leads to",
			do: func(t *testing.T, p, linked *project) {
				p.Git("init", "-q", outside(p, "evil"))
				p.Git("-C", outside(p, "evil"), "config", "core.fsmonitor", "touch "+outside(p, "witness"))
				putFile(t, filepath.Join(linked.Dir, ".git"), "gitdir: "+outside(p, "evil/.git")+"\n")
			},
			then: func(t *testing.T, p, linked *project) { notRun(t, p) }},
		{why: "branch and worktree were thrown away: it begins anew, and the journal is kept",
			says: "was moved to refs/ralph/archive/",
			do: func(t *testing.T, p, linked *project) {
				p.Git("worktree", "remove", "-f", "-f", linked.Dir)
				p.Git("branch", "-D", "ralph/main")
			},
			then: func(t *testing.T, p, linked *project) {
				if got := linked.Git("log", "--format=%s",
					"--grep=^ralph"); got != "ralph[2]: T-002 the second thing\nralph[1]: T-001 the first thing" {
					t.Errorf("the new branch has\n%s", got)
				}
				if got := p.Git("for-each-ref", "refs/ralph/archive"); got == "" {
					t.Error("the old journal is gone")
				}
			}},
		{why: "the repository was moved: the linked worktree is found from it", says: "was restored",
			do: func(t *testing.T, p, linked *project) {
				to := outside(p, "moved")
				if err := os.Rename(p.Dir, to); err != nil {
					t.Fatal(err)
				}
				p.Dir = to
			},
			then: func(t *testing.T, p, linked *project) {
				if linked.Read("out-T-001.txt") != "T-001\n" {
					t.Error("the work before is not there")
				}
			}},
		{why: "the worktree was unlocked and moved",
			do: func(t *testing.T, p, linked *project) {
				p.Git("worktree", "unlock", linked.Dir)
				p.Git("worktree", "move", linked.Dir, outside(p, "git-ralph/worktrees/moved"))
				linked.Dir = outside(p, "git-ralph/worktrees/moved")
			},
			then: func(t *testing.T, p, linked *project) {
				if linked.Dir != outside(p, "git-ralph/worktrees/moved") {
					t.Errorf("it works in %s", linked.Dir)
				}
			}},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, quick, nil)
			for _, dir := range []string{"git-ralph/worktrees"} {
				if err := os.MkdirAll(outside(p, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			p.must(t, "add", "the first thing")
			p.must(t, "add", "the second thing")
			if got := p.run(t, nil, "start", "--worktree", "--once"); got.code != 4 {
				t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
			}
			before := p.in(p.linkedDir(t))
			r.do(t, p, before)
			if r.there != "" {
				if got := before.run(t, nil, "status"); got.code != 1 || !strings.Contains(got.err, r.there) {
					t.Errorf("status there: exit %d\n%s%s", got.code, got.out, got.err)
				}
			}
			got := p.run(t, nil, "start", "--worktree")
			if got.code != 0 || !strings.Contains(got.err, r.says) {
				t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
			}
			linked := p.in(p.linkedDir(t))
			if linked.Read("out-T-002.txt") != "T-002\n" {
				t.Error("the work is not there")
			}
			r.then(t, p, linked)
			linked.sound(t)
			p.sound(t)
		})
	}
}

// TestLinkedJSON: start and end events name the worktree.
func TestLinkedJSON(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the formats")
	p := newProject(t, doTask, quick, nil)
	p.must(t, "add", "a thing")
	r := p.run(t, nil, "start", "--worktree", "--json")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	dir, told := p.linkedDir(t), 0
	for line := range strings.Lines(r.out) {
		var l struct {
			Time  time.Time
			Event string
			Data  struct{ Worktree, Branch string }
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil && strings.Contains(line, `"data":{`) {
			t.Fatalf("%v\n%s", err, line)
		}
		if l.Event == "start" || l.Event == "end" {
			if told++; l.Data.Worktree != dir || l.Data.Branch != "ralph/main" {
				t.Errorf("%s says %+v", l.Event, l.Data)
			}
		}
	}
	if told != 2 {
		t.Errorf("%d lines say where:\n%s", told, r.out)
	}
}

// TestCompleteIsProvedAfterACrash: a loop died between its last task and the
// fresh checkout, or its fresh checkout was red. The work is not proved, so the
// next start checks it again.
func TestCompleteIsProvedAfterACrash(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, "[validation]\nbaseline = \"off\"\n"+check,
		map[string]string{"test.sh": "test -e local.txt\n", ".gitignore": "local.txt\n"})
	p.Write("local.txt", "only here\n")
	p.must(t, "add", "a thing")
	if r := p.run(t, []string{"RALPH_FAILPOINT=keep:refs-committed"}, "start"); r.code != -1 {
		t.Fatalf("it was not killed: exit %d\n%s%s", r.code, r.out, r.err)
	}
	for range 2 {
		if r := p.run(t, nil, "start"); r.code != 5 || !strings.Contains(r.out, "fresh_checks") {
			t.Errorf("what needs a file of this worktree is called complete: exit %d\n%s%s", r.code, r.out, r.err)
		}
	}
	p.Write(".gitignore", "")
	p.Git("add", "local.txt", ".gitignore")
	p.Git("commit", "-qm", "what was missing")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	refs := p.Git("for-each-ref")
	if r := p.run(t, nil, "start"); r.code != 0 || !strings.Contains(r.out, "nothing to do") ||
		p.Git("for-each-ref") != refs {
		t.Errorf("after it is complete a start changes nothing: exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.sound(t)
}
