package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// possessions is all that a refusal must not change: refs, our own too, HEAD,
// index entries, stash, config and files.
func possessions(r *repo.Repo) string {
	var b strings.Builder
	for _, args := range [][]string{{"for-each-ref"}, {"rev-parse", "HEAD"}, {"symbolic-ref", "-q", "HEAD"},
		{"ls-files", "-s"}, {"stash", "list"},
		{"config", "--local", "--list"}, {"status", "--porcelain", "--ignored"}, {"diff"}} {
		out, _ := r.Try(args...)
		b.WriteString(strings.Join(args, " ") + "\n" + out + "\n")
	}
	return b.String()
}

// inShell runs a script in the repository.
func inShell(t *testing.T, r *repo.Repo, script string) {
	t.Helper()
	c := exec.Command("sh", "-ec", script)
	c.Dir, c.Env = r.Dir, r.Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// TestRefusals: a refusal gives the reason and the next step in one sentence
// and the documented exit code, and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what is refused")
	const conflict = `git switch -qc other; echo theirs > README; git commit -qam theirs
git switch -q main; echo ours > README; git commit -qam ours
`
	rows := []struct {
		why, setup string
		settings   string
		args       []string // default: start
		env        []string
		code       int
		fact, hint string
	}{
		{why: "a merge in progress", setup: conflict + "git merge other || true", code: 8,
			fact: "a merge is in progress", hint: "git merge --abort"},
		{why: "a rebase in progress", setup: conflict + "git rebase other || true", code: 8,
			fact: "a rebase is in progress", hint: "git rebase --abort"},
		{why: "a cherry-pick in progress", setup: conflict + "git cherry-pick other || true", code: 8,
			fact: "a cherry-pick is in progress", hint: "git cherry-pick --abort"},
		{why: "a revert in progress",
			setup: "echo a > README; git commit -qam a; echo b > README; git commit -qam b; git revert HEAD~1 || true",
			code:  8, fact: "a revert is in progress", hint: "git revert --abort"},
		{why: "a bisect in progress",
			setup: "git commit -q --allow-empty -m a; git commit -q --allow-empty -m b; git bisect start -q HEAD HEAD~2",
			code:  8, fact: "a bisect is in progress", hint: "git bisect reset"},
		{why: "an unmerged index that no operation belongs to",
			setup: "echo mine > README; git stash -q; echo theirs > README; git commit -qam theirs; git stash pop || true",
			code:  8, fact: "unmerged", hint: "resolve"},
		{why: "changed tracked files", setup: "echo mine >> README; echo x >> test.sh", code: 8,
			fact: "tracked files have changes: README, test.sh", hint: "--dirty=commit"},
		{why: "a staged new file", setup: "echo x > staged.txt; git add staged.txt", code: 8, fact: "staged.txt",
			hint: "commit or stash"},
		{why: "a detached HEAD", setup: "git checkout -q --detach", code: 8, fact: "HEAD is detached", hint: "git switch"},
		{why: "a lock of another git process", setup: "touch .git/index.lock", code: 8, fact: "index.lock exists",
			hint: "remove"},
		{why: "a setting that does not exist", settings: "[loop]\nmax_iteration = 3\n", code: 8,
			fact: "did you mean loop.max_iterations?"},
		{why: "settings that are no TOML", settings: "[loop\n", code: 8, fact: "ralph.toml", hint: ""},
		{why: "a setting of the wrong type", settings: "[loop]\nmax_iterations = \"many\"\n", code: 8,
			fact: "loop.max_iterations", hint: ""},
		{why: "an agent that is not installed",
			settings: "[agent]\ndriver = \"command\"\ncommand = [\"no-such-client\"]\n", code: 8,
			fact: "no-such-client", hint: "PATH"},
		{why: "a client that is not installed", settings: "[agent]\ndriver = \"claude\"\n",
			env: []string{"PATH=/usr/bin:/bin"}, code: 8, fact: "claude", hint: "install"},
		{why: "nobody that git knows",
			setup: "git config --unset user.name; git config --unset user.email; git config user.useConfigOnly true",
			code:  8, fact: "git does not know who you are", hint: "git config user.name"},
		{why: "nothing that could be verified", settings: "[agent]\ndriver = \"command\"\ncommand = [\"true\"]\n",
			code: 8, fact: "no checks", hint: "--unchecked"},
		{why: "settings that nobody trusts", setup: "echo '# mine' >> ralph.toml; git commit -qam more", code: 8,
			fact: "not trusted", hint: "git ralph trust"},
		{why: "a plan with faults of every kind, all said at once", args: []string{"import", "../plan.toml"},
			setup: `printf '[[tasks]]\nid = "A"\ntitle = "a"\ndepends_on = ["B", "Z"]\n[[tasks]]\nid = "B"\ntitle = ` +
				`"b"\ndepends_on = ["A"]\n[[tasks]]\nid = "a"\ntitle = "again"\n' > ../plan.toml`,
			code: 1, fact: "Z", hint: ""},
		{why: "a plan that is no plan", args: []string{"import", "../plan.json"},
			setup: "echo '{\"tasks\": 3' > ../plan.json", code: 1, fact: "plan.json", hint: ""},
		{why: "a rewind to an iteration that does not exist", args: []string{"rewind", "7"}, code: 1,
			fact: "there is no iteration 7", hint: "git ralph log"},
		{why: "a journal that does not exist", args: []string{"adopt", "nothing"}, code: 1, fact: "there is no journal",
			hint: ""},
	}
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			settings := check
			files := map[string]string{"README": "hello\n"}
			if row.settings != "" {
				files["ralph.toml"], settings = row.settings, ""
			}
			p := &project{Repo: repo.New(t, nil)}
			if files["ralph.toml"] == "" || strings.HasPrefix(row.settings, "[agent]") &&
				!strings.Contains(row.settings, "\"true\"") {
				files["ralph.toml"] += "[guard]\nsandbox = \"off\"\n" + settings
				if row.settings != "" {
					files["ralph.toml"] += check
				} else {
					files["ralph.toml"] += "[agent]\ndriver = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n"
				}
			}
			files["agent.sh"], files["test.sh"] = doTask, "true\n"
			for name, text := range files {
				p.Write(name, text)
			}
			p.Git("add", "-A")
			p.Git("commit", "-qm", "project")
			p.Env = append(p.Env, "BE_GIT_RALPH=1", "GIT_EDITOR=true")
			p.run(t, nil, "trust")
			p.must(t, "add", "the first thing")
			inShell(t, p.Repo, row.setup)
			before := possessions(p.Repo)
			args := row.args
			if args == nil {
				args = []string{"start"}
			}
			r := p.run(t, row.env, args...)
			if r.code != row.code {
				t.Errorf("exit %d, expected %d", r.code, row.code)
			}
			first, rest, _ := strings.Cut(r.err[strings.Index(r.err+"error:", "error:"):], "\n")
			if !strings.HasPrefix(first, "error: ") || !strings.Contains(r.err, row.fact) {
				t.Errorf("the fact %q is not said", row.fact)
			}
			if !strings.Contains(rest, "hint: ") || !strings.Contains(rest, row.hint) {
				t.Errorf("the next move %q is not said", row.hint)
			}
			if strings.Contains(r.err, "panic") || strings.Contains(r.err, "goroutine ") {
				t.Error("a stack trace")
			}
			if after := possessions(p.Repo); after != before {
				t.Errorf("something was changed:\nbefore\n%s\nafter\n%s", before, after)
			}
			if t.Failed() {
				t.Logf("exit %d\n%s%s", r.code, r.out, r.err)
			}
		})
	}
}

// TestHandoffOutsideItsSchema: schema errors are named and reject nothing.
func TestHandoffOutsideItsSchema(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the faults")
	p := newProject(t,
		"echo x > out.txt\necho '{\"summary\": 3, \"task_completed\": {\"fully_complete\": true}}' > "+
			"\"$RALPH_HANDOFF_FILE\"\n", check, nil)
	p.must(t, "add", "the first thing")
	r := p.run(t, nil, "start", "--once")
	if r.code != 0 || !strings.Contains(r.out, "handoff: freeform is missing") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	s := p.show(t, "1")
	if s.Verdict != "keep" {
		t.Errorf("%s: %s", s.Verdict, s.Reason)
	}
	p.sound(t)
}

// waiting is an agent that works when it is told to: `touch go`.
const waiting = "touch started\ni=0; while [ ! -e go ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done\nrm -f go " +
	"started\n" + doTask

// whileAtWork starts a run, calls person while the agent works, and returns how
// the run ended.
func (p *project) whileAtWork(t *testing.T, person func()) result {
	t.Helper()
	if r := p.must(t, "doctor", "--json"); !strings.Contains(r, "namespaces") {
		t.Skip("namespaces are refused here, and without a sandbox a person cannot be told from the agent")
	}
	done := make(chan result, 1)
	go func() { done <- p.run(t, nil, "start", "--once") }()
	waitFor(t, "the agent begins", func() bool { return exists(filepath.Join(p.Dir, "started")) })
	person()
	p.Write("go", "")
	return <-done
}

// TestIndexLockedDuringKeep: the work is good, but somebody locked the index.
func TestIndexLockedDuringKeep(t *testing.T) {
	t.Parallel()
	long.Only(t, "it waits ten seconds for a lock")
	p := newProject(t, waiting, check, nil)
	p.must(t, "add", "the first thing")
	tip := p.Git("rev-parse", "HEAD")
	r := p.whileAtWork(t, func() { p.Write(".git/index.lock", "") })
	if r.code != 6 || !strings.Contains(r.out+r.err, "index.lock") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if err := os.Remove(filepath.Join(p.Dir, ".git", "index.lock")); err != nil {
		t.Errorf("the lock of somebody else is gone: %v", err)
	}
	s := p.show(t, "1")
	if s.Verdict != "keep" || s.Commit != "" || p.Git("rev-parse", "HEAD") != tip {
		t.Errorf("verdict %s, commit %q", s.Verdict, s.Commit)
	}
	if got := p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/evidence"); strings.Count(got, "\n") != 0 ||
		got == "" {
		t.Errorf("evidence: %q", got)
	}
	p.sound(t)
	p.Write("agent.sh", doTask)
	p.Git("commit", "-qam", "fix the agent")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Errorf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.sound(t)
}

// TestHumanCommitsMeanwhile: a person's commit is never undone. The work lands
// on top of it if both changed different paths.
func TestHumanCommitsMeanwhile(t *testing.T) {
	t.Parallel()
	rows := []struct {
		why, file     string
		code          int
		verdict, said string
	}{
		{"another file", "human.txt", 0, "keep", ""},
		{"the same file", "out-T-001.txt", 4, "reject", "branch_moved"},
	}
	for _, row := range long.Sample(t, rows, 2) {
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, waiting, check, nil)
			p.must(t, "add", "the first thing")
			human := ""
			r := p.whileAtWork(t, func() {
				p.Write(row.file, "a person's\n")
				p.Git("add", row.file)
				p.Git("commit", "-qm", "by hand")
				human = p.Git("rev-parse", "HEAD")
			})
			if r.code != row.code {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			s := p.show(t, "1")
			if s.Verdict != row.verdict || !strings.Contains(s.Reason, row.said) {
				t.Errorf("%s: %s", s.Verdict, s.Reason)
			}
			if _, err := p.Try("merge-base", "--is-ancestor", human, "HEAD"); err != nil {
				t.Error("the person's commit is gone")
			}
			if row.verdict == "keep" && p.Git("rev-parse", "HEAD^") != human {
				t.Error("the work did not land on top")
			}
			if row.verdict == "reject" && (p.Git("rev-parse", "HEAD") != human || p.Read(row.file) != "a person's\n") {
				t.Errorf("the person's file holds %q", p.Read(row.file))
			}
			p.sound(t)
		})
	}
}
