package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestCarriedAwayAndBack: an agent renames the folder of a large file, another
// repository and a FIFO. All are back in place afterwards and complete, whether
// the iteration is kept or rejected.
func TestCarriedAwayAndBack(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("b", 2<<20)
	for i, sandbox := range []string{"off", "auto"} {
		ends := map[string]string{"keep": "", "reject": "echo x > broken\n",
			"into an ignored folder": "mkdir -p ignored; mv data2 ignored/\n"}
		for k, name := range long.Names(t, ends, 1) {
			if (i+k)%2 > 0 && !long.On() {
				continue // each is tried with one sandbox
			}
			end := ends[name]
			t.Run(sandbox+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "[ -e data ] && mv data data2\nrm -f link.txt\n"+end+doTask,
					check+"[guard]\nsandbox = \""+sandbox+"\"\n[worktree]\nmax_file = \"1MB\"\n",
					map[string]string{".gitignore": "ignored/\n", "data/small.txt": "small\n"})
				put("data/deep/big.bin", big)(p.Dir)
				p.Git("init", "-q", filepath.Join(p.Dir, "data/inner"))
				put("data/inner/wip.txt", "not committed\n")(p.Dir)
				if err := exec.Command("mkfifo", filepath.Join(p.Dir, "data/pipe")).Run(); err != nil {
					t.Skip("no mkfifo")
				}
				p.must(t, "add", "the first thing")
				r := p.run(t, nil, "start", "--once")
				if r.code != 0 && r.code != 4 {
					t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
				}
				if lies(p.Dir, "data/deep/big.bin") != big || lies(p.Dir, "data/inner/wip.txt") != "not committed\n" ||
					lies(p.Dir, "data/small.txt") != "small\n" {
					out, _ := exec.Command("find", p.Dir, "-path", "*/.git/objects", "-prune", "-o", "-newer",
						filepath.Join(p.Dir, "agent.sh"), "-print").Output()
					t.Errorf("not in its place\n%s%s\n%s", r.out, r.err, out)
				}
				if st, err := os.Lstat(filepath.Join(p.Dir, "data/pipe")); err != nil || st.Mode()&os.ModeNamedPipe == 0 {
					t.Error("the FIFO is gone")
				}
			})
		}
	}
}

// TestCommitOfAPersonWithoutASandbox: a person's commit and stash during an
// iteration stay, also in the index. No advised command loses them.
func TestCommitOfAPersonWithoutASandbox(t *testing.T) {
	t.Parallel()
	p := bytesProject(t, "off", doTask, false)
	out := p.startBeside(t, func() {
		put("mine.txt", "of a person\n")(p.Dir)
		p.Git("add", "mine.txt")
		p.Git("commit", "-q", "-m", "mine")
		put("README", "to be stashed\n")(p.Dir)
		p.Git("stash", "push", "-q", "--", "README")
	}, nil)
	if got := p.Git("diff", "--cached", "--name-status"); got != "" {
		t.Errorf("staged: %s", got)
	}
	if !strings.Contains(out, "git ralph adopt") || !strings.Contains(out, "perhaps by you") {
		t.Errorf("no way on:\n%s", out)
	}
	for line := range strings.Lines(out) {
		if strings.Contains(line, "refs/stash") && strings.Contains(line, "update-ref") ||
			strings.Contains(line, "update-ref -d") ||
			strings.Contains(line, "git update-ref refs/heads/main") && !strings.Contains(line, "git branch") {
			t.Errorf("this loses a commit: %s", line)
		}
	}
	p.must(t, "adopt")
	before := p.Git("ls-files", "-s", "mine.txt")
	if r := p.run(t, nil, "restore", "1", "--before"); r.code != 0 {
		t.Errorf("restore --before: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if p.Git("ls-files", "-s", "mine.txt") != before || p.Read("mine.txt") != "of a person\n" ||
		p.Git("stash", "list") == "" {
		t.Errorf("the commit or the stash is gone: %q", p.Read("mine.txt"))
	}
}

// TestDeletedJournalWithoutASandbox: if an agent deletes our refs, the run ends
// and they are restored.
func TestDeletedJournalWithoutASandbox(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, "if [ \"$RALPH_ITERATION\" != 1 ]; then "+git+
		" for-each-ref --format='delete %(refname)' refs/ralph refs/notes | "+git+" update-ref --stdin; fi\n"+doTask,
		check+"[guard]\nsandbox = \"off\"\n", nil)
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	r := p.run(t, nil, "start")
	if r.code != 5 || !strings.Contains(r.err, "refs/ralph/heads/main") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.must(t, "tasks"); !strings.Contains(got, "T-001") || !strings.Contains(got, "T-002") {
		t.Errorf("tasks:\n%s", got)
	}
	if got := p.must(t, "show", "1"); !strings.Contains(got, "wrote the file") {
		t.Errorf("show 1:\n%s", got)
	}
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Git("log", "--notes=ralph", "-1", "--format=%N", "main"); !strings.Contains(got, "wrote the file") {
		t.Errorf("the note is %q", got)
	}
	// The journal is deleted outside of a run: a new one must have a format.
	tip := p.Git("rev-parse", "refs/ralph/heads/main")
	p.Git("update-ref", "-d", "refs/ralph/heads/main")
	if r := p.run(t, nil, "pause"); r.code == 0 && p.Git("cat-file", "-p", "refs/ralph/heads/main:format") == "" {
		t.Error("a journal without a format")
	}
	_ = tip
}

// TestRepositoriesInIgnoredFolders: other repositories and linked worktrees are
// read-only in the sandbox wherever they lie, and named without one.
func TestRepositoriesInIgnoredFolders(t *testing.T) {
	t.Parallel()
	for _, sandbox := range []string{"off", "auto"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			p := newProject(t,
				"rm -rf .worktrees/feature/wip.txt vendor/deep/lib/wip.txt; mv .worktrees gone; mv vendor/deep vendor/other; "+
					"echo x > broken\n"+doTask,
				check+"[guard]\nsandbox = \""+sandbox+"\"\n", map[string]string{".gitignore": ".worktrees/\nvendor/\n"})
			p.Git("worktree", "add", "-q", ".worktrees/feature")
			p.Git("init", "-q", filepath.Join(p.Dir, "vendor/deep/lib"))
			put(".worktrees/feature/wip.txt", "in work\n")(p.Dir)
			put("vendor/deep/lib/wip.txt", "in work, too\n")(p.Dir)
			p.must(t, "add", "the first thing")
			r := p.run(t, nil, "start", "--once")
			got := lies(p.Dir, ".worktrees/feature/wip.txt") + lies(p.Dir, "vendor/deep/lib/wip.txt")
			if sandbox == "auto" && got != "in work\nin work, too\n" {
				t.Errorf("lost: %q\n%s%s", got, r.out, r.err)
			}
			if notices := p.must(t, "show", "1"); sandbox == "off" &&
				(!strings.Contains(notices, ".worktrees/feature") || !strings.Contains(notices, "vendor/deep/lib")) {
				t.Errorf("not named:\n%s", notices)
			}
		})
	}
}

// TestChangedBeside: a tracked file changes while the agent runs, but not by
// one of its tool calls. It is named as perhaps changed by the person.
func TestChangedBeside(t *testing.T) {
	t.Parallel()
	p := newProject(t, "", check, map[string]string{"README": "readme\n", "play.toml": `
[[play]]
steps = [
  { write = "ours.txt", content = "by the agent\n" },
  { sleep = "2s" },
  { tool = "ralph_mark_task_complete", args = { task_id = "${RALPH_TASK_ID}", verification_notes = "it works" } },
]
`})
	p.must(t, "add", "the first thing")
	done := make(chan result, 1)
	go func() { done <- p.run(t, nil, "start", "--once", "--script", "play.toml") }()
	waitFor(t, "the agent writes its file", func() bool { return lies(p.Dir, "ours.txt") != "" })
	put("README", "edited by a person\n")(p.Dir)
	r := <-done
	if !strings.Contains(r.out, "changed while it ran, perhaps by you: README (") ||
		strings.Contains(r.out, "perhaps by you: ours.txt") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
