package e2e

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// paused is an agent that lets a person work in the middle of its iteration.
const paused = "touch ready; while [ ! -e go ]; do sleep 0.02; done; rm ready go\n" + doTask

// meanwhile starts the loop and calls person while the agent runs.
func (p *project) meanwhile(t *testing.T, env []string, person func()) result {
	t.Helper()
	done := make(chan result, 1)
	go func() { done <- p.run(t, env, "start", "--once") }()
	waitFor(t, "the agent begins", func() bool { return exists(filepath.Join(p.Dir, "ready")) })
	person()
	if err := os.WriteFile(filepath.Join(p.Dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return <-done
}

// TestPeopleMayWork: what a person or an editor does beside an iteration is not
// blamed on the agent. Honest work is kept.
func TestPeopleMayWork(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what people do")
	upstream := func(t *testing.T, p *project) {
		up := outside(p, "up")
		p.Git("clone", "-q", "--bare", p.Dir, up)
		p.Git("remote", "add", "origin", up)
	}
	rows := []struct {
		name, why  string
		setup      func(t *testing.T, p *project)
		person     func(t *testing.T, p *project)
		boxed, off expected
		back       func(t *testing.T, p *project) // to the journal's branch
		then       func(t *testing.T, p *project, boxed bool)
	}{
		{name: "a fetch", why: "editors fetch by themselves, and tags come along", boxed: kept, off: kept, setup: upstream,
			person: func(t *testing.T, p *project) {
				other := outside(p, "other")
				p.Git("clone", "-q", outside(p, "up"), other)
				p.Git("-C", other, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "theirs")
				p.Git("-C", other, "tag", "v1")
				p.Git("-C", other, "push", "-q", "origin", "HEAD:main", "v1")
				p.Git("fetch", "-q", "origin")
				if p.Git("tag") != "v1" {
					t.Error("the tag did not come along")
				}
			}},
		{name: "a fetch that cuts or deepens", why: "git lists commits without parents in a file of its directory",
			boxed: kept, off: kept,
			setup: func(t *testing.T, p *project) {
				upstream(t, p)
				p.Git("remote", "set-url", "origin", "file://"+outside(p, "up"))
			},
			person: func(t *testing.T, p *project) { p.Git("fetch", "-q", "--depth=1", "origin") },
			then: func(t *testing.T, p *project, boxed bool) {
				if !exists(filepath.Join(p.Dir, ".git/shallow")) {
					t.Error("the list of shallow commits is gone")
				}
				p.Git("fetch", "-q", "--unshallow", "origin")
			}},
		{name: "a refresh of the index", why: "git status writes it", boxed: kept, off: kept,
			person: func(t *testing.T, p *project) {
				// If a file's times differ from the index, git writes the index again.
				if err := os.WriteFile(filepath.Join(p.Dir, "test.sh"), []byte(p.Read("test.sh")), 0o644); err != nil {
					t.Fatal(err)
				}
				p.Git("update-index", "--refresh")
				p.Git("status")
			}},
		{name: "a gc", why: "it packs refs and writes info/refs", boxed: kept, off: kept,
			person: func(t *testing.T, p *project) { p.Git("gc", "-q"); p.Git("update-server-info") }},
		{name: "a linked worktree", why: "people open another one", boxed: kept, off: kept,
			setup: func(t *testing.T, p *project) { p.Git("branch", "feature") },
			person: func(t *testing.T, p *project) {
				p.Git("worktree", "add", "-q", outside(p, "feature"), "feature")
			},
			then: func(t *testing.T, p *project, boxed bool) { p.Git("-C", outside(p, "feature"), "status") }},
		{name: "git add", why: "a person stages a file of theirs", boxed: kept, off: kept,
			person: func(t *testing.T, p *project) { p.Git("add", "mine.txt") },
			then: func(t *testing.T, p *project, boxed bool) {
				staged := p.Git("diff", "--cached", "--name-only")
				if boxed && staged != "mine.txt" {
					t.Errorf("what the person staged is gone: %q", staged)
				}
				if !boxed {
					// It is unknown who staged it. It is unstaged, but not lost.
					ref := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/evidence")
					if got := p.Git("show", ref+":index/mine.txt"); staged != "" || got != "mine" {
						t.Errorf("staged %q, in evidence %q", staged, got)
					}
				}
				p.Git("reset", "-q")
			}},
		{name: "git add of a path of the attempt", why: "the person's entry is neither the old nor the new state",
			boxed: expected{6, "keep", ""}, off: kept,
			person: func(t *testing.T, p *project) {
				p.Write("out-T-001.txt", "the person's\n")
				p.Git("add", "out-T-001.txt")
			},
			then: func(t *testing.T, p *project, boxed bool) {
				if boxed {
					if got := p.Git("show", ":out-T-001.txt"); got != "the person's" {
						t.Errorf("the index has %q", got)
					}
					ref := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/evidence")
					if got := p.Git("show", ref+":worktree/out-T-001.txt"); got != "T-001" {
						t.Errorf("the attempt is not in evidence: %q", got)
					}
					p.Git("reset", "-q")
				}
			}},
		{name: "a commit", why: "it is landed on, where nobody else could have made it", boxed: kept,
			off:    expected{5, "reject", "tampered: refs"},
			person: func(t *testing.T, p *project) { p.Git("commit", "-q", "--allow-empty", "-m", "by a person") },
			then: func(t *testing.T, p *project, boxed bool) {
				if got := p.Git("log", "--format=%s"); !strings.Contains(got, "by a person") {
					t.Errorf("the person's commit is gone:\n%s", got)
				}
				os.Remove(filepath.Join(p.Dir, "out-T-001.txt"))
				p.Git("checkout", "-q", "--", ".")
			}},
		{name: "a merge with a conflict", why: "index and worktree belong to the merge",
			boxed: expected{5, "reject", "tampered: refs"}, off: expected{5, "reject", "tampered: refs"},
			setup: func(t *testing.T, p *project) {
				p.Git("switch", "-q", "-c", "other")
				p.Write("both.txt", "theirs\n")
				p.Git("add", "both.txt")
				p.Git("commit", "-q", "-m", "theirs")
				p.Git("switch", "-q", "main")
				p.Write("both.txt", "ours\n")
				p.Git("add", "both.txt")
				p.Git("commit", "-q", "-m", "ours")
			},
			person: func(t *testing.T, p *project) { p.Try("merge", "other") },
			then: func(t *testing.T, p *project, boxed bool) {
				if got := p.Git("status", "--porcelain", "both.txt"); got != "AA both.txt" {
					t.Errorf("the conflict is %q", got)
				}
				os.Remove(filepath.Join(p.Dir, "out-T-001.txt"))
				p.Git("merge", "--abort")
			}},
		{name: "another branch", why: "HEAD is not where the work belongs",
			boxed: expected{5, "reject", "tampered: refs"}, off: expected{5, "reject", "tampered: refs"},
			person: func(t *testing.T, p *project) { p.Git("switch", "-q", "-c", "elsewhere") },
			back: func(t *testing.T, p *project) {
				if got := p.Git("branch", "--show-current"); got != "elsewhere" {
					t.Errorf("HEAD was moved to %s", got)
				}
				os.Remove(filepath.Join(p.Dir, "out-T-001.txt"))
				p.Git("switch", "-q", "main")
			}},
	}
	for _, r := range rows {
		for _, boxed := range []bool{true, false} {
			name, want, env := r.name+"/sandbox", r.boxed, []string(nil)
			if !boxed {
				name, want, env = r.name+"/off", r.off, []string{"RALPH_GUARD_SANDBOX=off"}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, paused, "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
					map[string]string{".gitignore": "ready\ngo\n"})
				p.Write("mine.txt", "mine\n")
				if r.setup != nil {
					r.setup(t, p)
				}
				p.must(t, "add", "a thing")
				got := p.meanwhile(t, env, func() { r.person(t, p) })
				if got.code != want.code {
					t.Fatalf("%s: exit %d, expected %d\n%s%s", r.why, got.code, want.code, got.out, got.err)
				}
				if r.back != nil {
					r.back(t, p)
				}
				if s := p.show(t, "1"); s.Verdict != want.verdict || !strings.Contains(s.Reason, want.reason) {
					t.Errorf("%s: %s %q, expected %s %q", r.why, s.Verdict, s.Reason, want.verdict, want.reason)
				}
				if r.then != nil {
					r.then(t, p, boxed)
				}
				if got := p.Read("mine.txt"); got != "mine\n" {
					t.Errorf("the person's file is %q", got)
				}
				os.Remove(filepath.Join(p.Dir, "mine.txt"))
				p.sound(t)
			})
		}
	}
}

// TestShims: the guard checks an agent's scripts with any client, but not the
// project's own checks.
func TestShims(t *testing.T) {
	t.Parallel()
	agent := `say() { echo "$*" >> result.txt; }
git status >/dev/null && say status works
git commit -qm x 2>err; say commit $?; grep -o 'blocked (git-write)' err >> result.txt
sh -c 'cd sub && git -C .. branch -D x' 2>/dev/null; say branch $?
printf 'all:\n\t@git tag x\n' > m; make -s -f m 2>/dev/null || say make refused
pip install x 2>err; say pip $?; grep -o 'uv add' err | head -n 1 >> result.txt
docker rm x 2>/dev/null; say docker $?
d=$(mktemp -d) && git init -q "$d" && git -C "$d" -c user.name=x -c user.email=x@y commit -q --allow-empty -m x && say elsewhere works
git ralph tool >/dev/null && say tools work
env -u RALPH_GUARD_POLICY git tag x 2>/dev/null; say without the variable $?
rm -f err m
` + doTask
	// The check's git makes a commit of its own, as tests of projects do.
	test := `case $PATH in */git-ralph*/shims:*) exit 1;; esac
d=$(mktemp -d) && git init -q "$d" && git -C "$d" -c user.name=x -c user.email=x@y commit -q --allow-empty -m x && git rev-parse HEAD >/dev/null
`
	for _, off := range []bool{false, true} {
		settings := "[validation]\nbaseline = \"off\"\n[toolchain]\npreset = \"python-uv\"\n" + check
		p := newProject(t, agent, settings, map[string]string{"sub/x": "x\n", "test.sh": test})
		p.must(t, "add", "a thing")
		var env []string
		if off {
			env = []string{"RALPH_GUARD_SANDBOX=off"}
		}
		if r := p.run(t, env, "start"); r.code != 0 {
			t.Fatalf("off %v: exit %d\n%s%s", off, r.code, r.out, r.err)
		}
		want := `status works
commit 2
blocked (git-write)
branch 2
make refused
pip 2
uv add
docker 2
elsewhere works
tools work
without the variable 2
`
		if got := p.Read("result.txt"); got != want {
			t.Errorf("off %v: the agent saw\n%s\nexpected\n%s", off, got, want)
		}
		p.sound(t)
	}
}

// TestControlSocketIsOutOfReach: an agent cannot see the loop's socket.
func TestControlSocketIsOutOfReach(t *testing.T) {
	t.Parallel()
	p := attackProject(t,
		attack{agent: `{ ls -d "$O/run/git-ralph/control" /run/user 2>/dev/null; echo "runtime folder: ` +
			`${XDG_RUNTIME_DIR-none}"; } > seen.txt`})
	putFile(t, outside(p, "run/git-ralph/empty"), "")
	l, err := net.Listen("unix", outside(p, "run/git-ralph/control"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p.Env = append(p.Env, "XDG_RUNTIME_DIR="+outside(p, "run"))
	p.must(t, "add", "a thing")
	// The redirection of the project's agent would hide the list.
	p.Write("agent.sh", strings.Replace(p.Read("agent.sh"), "} >/dev/null 2>&1 </dev/null", "}", 1))
	p.Git("commit", "-qam", "an agent that looks around")
	p.must(t, "trust")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Read("seen.txt"); got != "runtime folder: none\n" {
		t.Errorf("the agent sees\n%s", got)
	}
}

// TestPlantedCaches: files in the agent's home folder reach neither the
// person's home folder nor that of the checks.
func TestPlantedCaches(t *testing.T) {
	t.Parallel()
	p := newProject(t, "mkdir -p \"$HOME/.cache\"; echo good > \"$HOME/.cache/answer\"\n"+doTask,
		"[validation]\nbaseline = \"off\"\n"+check,
		map[string]string{"test.sh": "grep -q good \"$HOME/.cache/answer\"\n"})
	p.must(t, "add", "a thing")
	if r := p.run(t, nil, "start", "--once"); r.code != 4 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if s := p.show(t, "1"); s.Verdict != "reject" || !strings.Contains(s.Reason, "checks: test") {
		t.Errorf("the check was answered by the agent's cache: %s %q", s.Verdict, s.Reason)
	}
	if exists(outside(p, "home/.cache/answer")) {
		t.Error("the person's home has what the agent left")
	}
}

// TestProtectedPaths: a change there is undone and rejected.
func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	agent := "echo '# weaker' >> ralph.toml; mkdir -p .github; echo x > .github/ci.yml\n" + doTask
	for _, r := range long.Sample(t, []struct {
		why, settings string
		allow         bool
		code          int
		reason        string
	}{
		{why: "by default", code: 4, reason: "protected: .github/ci.yml, ralph.toml"},
		{why: "nothing is protected", settings: "[guard]\nprotected = []\n", code: 0},
		{why: "something else is", settings: "[guard]\nprotected = [\"docs/**\"]\n", code: 0},
		{why: "a person allowed it for the task", allow: true, code: 0},
	}, 2) {
		p := newProject(t, agent, "[validation]\nbaseline = \"off\"\n"+r.settings+check, nil)
		before := p.Read("ralph.toml")
		p.must(t, "add", "a thing")
		if r.allow {
			c := exec.Command("sh", "-c",
				`git ralph export > plan.toml && sed -i 's/^id = .*/&\nallow_protected = ["ralph.toml", ".github\/**"]/' `+
					`plan.toml && git ralph import --replace plan.toml && rm plan.toml`)
			c.Dir, c.Env = p.Dir, append(p.Env, "PATH="+p.bin+":"+os.Getenv("PATH"))
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("allow it: %v\n%s", err, out)
			}
		}
		got := p.run(t, nil, "start", "--once")
		if got.code != r.code {
			t.Fatalf("%s: exit %d, expected %d\n%s%s", r.why, got.code, r.code, got.out, got.err)
		}
		if s := p.show(t, "1"); !strings.Contains(s.Reason, r.reason) || (r.reason == "") != (s.Verdict == "keep") {
			t.Errorf("%s: %s %q", r.why, s.Verdict, s.Reason)
		}
		if undone := p.Read("ralph.toml") == before && !exists(filepath.Join(p.Dir, ".github")); undone != (r.reason != "") {
			t.Errorf("%s: undone is %v", r.why, undone)
		}
		p.sound(t)
	}
}

// TestTrust: an untrusted ralph.toml runs nothing.
func TestTrust(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "a thing")
	p.Git("config", "--unset-all", "ralph.trust")
	if r := p.run(t, nil, "start"); r.code != 8 || !strings.Contains(r.err, "not trusted") ||
		!strings.Contains(r.err, "git ralph trust") {
		t.Errorf("untrusted: exit %d\n%s", r.code, r.err)
	}
	if r := p.run(t, nil, "status"); r.code != 0 {
		t.Errorf("a reading command: exit %d\n%s", r.code, r.err)
	}
	if r := p.run(t, nil, "doctor", "--run"); r.code != 8 || !strings.Contains(r.out, "not trusted") {
		t.Errorf("doctor: exit %d\n%s", r.code, r.out)
	}
	if r := p.run(t, []string{"RALPH_TRUST=1"}, "start", "--dry-run"); r.code != 0 {
		t.Errorf("by the environment: exit %d\n%s", r.code, r.err)
	}
	if r := p.run(t, nil, "start", "--dry-run", "--trust"); r.code != 0 {
		t.Errorf("by the flag: exit %d\n%s", r.code, r.err)
	}
	if r := p.run(t, nil, "start", "--dry-run"); r.code != 8 {
		t.Errorf("both are for one call: exit %d\n%s", r.code, r.err)
	}
	p.must(t, "trust")
	p.must(t, "start", "--dry-run")
	p.Write("ralph.toml", p.Read("ralph.toml")+"\n# pulled from somewhere\n")
	p.Git("commit", "-qam", "another ralph.toml")
	if r := p.run(t, nil, "start"); r.code != 8 {
		t.Errorf("after a change: exit %d\n%s", r.code, r.err)
	}
	p.Git("revert", "-n", "HEAD")
	p.Git("commit", "-qm", "the old one")
	p.must(t, "start")
	var st struct{ Sandbox string }
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &st); err != nil || st.Sandbox != "namespaces" {
		t.Errorf("status says %q, %v", st.Sandbox, err)
	}
}

// TestNoGitDirectory: with the sandbox an agent cannot remove it. Without, all
// that could be restored is gone. The run says so, claims nothing and does not
// hang.
func TestNoGitDirectory(t *testing.T) {
	t.Parallel()
	p := newProject(t, "rm -rf .git 2>/dev/null; git init -q . 2>/dev/null\n"+doTask,
		"[validation]\nbaseline = \"off\"\n"+check, nil)
	p.must(t, "add", "a thing")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("with the sandbox: exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.sound(t)
	p.must(t, "add", "another")
	r := p.run(t, []string{"RALPH_GUARD_SANDBOX=off"}, "start")
	if r.code != 1 || !strings.Contains(r.err, "is not the folder that it was") || !strings.Contains(r.err, "hint:") {
		t.Errorf("without it: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestStatusSaysWhatHolds: status names the mechanism in force and its gaps.
func TestStatusSaysWhatHolds(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the mechanisms")
	socket := filepath.Join(t.TempDir(), "daemon.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, r := range []struct{ why, settings, status, doctor string }{
		{"namespaces", "", "namespaces: git is read-only for the agent; not covered:", "not covered:"},
		{"switched off", "[guard]\nsandbox = \"off\"\n", "off: ", "switched off"},
		{"a hole by choice", "[guard]\nsockets = [\"" + socket + "\"]\n", "the boundary is gone", "the boundary is gone"},
	} {
		p := newProject(t, doTask, "[validation]\nbaseline = \"off\"\n"+r.settings+check, nil)
		p.must(t, "add", "a thing")
		p.must(t, "start")
		if got := p.must(t, "status"); !strings.Contains(got, r.status) {
			t.Errorf("%s: status says\n%s", r.why, got)
		}
		if got := p.must(t, "doctor"); !strings.Contains(got, r.doctor) {
			t.Errorf("%s: doctor says\n%s", r.why, got)
		}
	}
}
