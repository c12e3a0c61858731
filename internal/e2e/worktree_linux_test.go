package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"git-ralph/fixtures/long"
)

// mechanism is namespaces, or Landlock where those are refused.
type mechanism struct {
	name string
	// around is what the program's command line is wrapped in; nil = nothing.
	around func(*exec.Cmd)
}

func mechanisms(t *testing.T) []mechanism {
	return long.Sample(t, []mechanism{{name: "namespaces"}, {name: "landlock", around: refuseNamespaces(t)}}, 2)
}

// refuseNamespaces runs a command in a user namespace that allows no nested
// ones: the kernel refuses them as in a container.
func refuseNamespaces(t *testing.T) func(*exec.Cmd) {
	t.Helper()
	return func(c *exec.Cmd) {
		c.Args = append([]string{"sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"`, c.Path},
			c.Args[1:]...)
		c.Path = "/bin/sh"
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
	}
}

// needLandlock skips where the kernel has none.
func needLandlock(t *testing.T) {
	t.Helper()
	if abi, err := llsys.LandlockGetABIVersion(); err != nil || abi < 3 {
		t.Skipf("this kernel has no Landlock that covers truncation (version %d, %v)", abi, err)
	}
	c := exec.Command("/bin/true")
	refuseNamespaces(t)(c)
	if out, err := c.CombinedOutput(); err != nil {
		t.Skipf("no user namespace can be made to refuse others in: %v %s", err, out)
	}
}

// TestLinkedWorktree is the whole life of `start --worktree`: the user's dirty
// worktree stays untouched, and the work is merged at the end.
func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	for _, m := range long.Sample(t, mechanisms(t), 2) {
		t.Run(m.name, func(t *testing.T) {
			if m.around != nil {
				needLandlock(t)
			}
			p := newProject(t, doTask, check, map[string]string{"README": "hello\n"})
			p.around = m.around
			p.must(t, "add", "the first thing")
			p.must(t, "add", "the second thing")
			p.Write("README", "half written\n")
			p.Write("mine.txt", "untracked\n")
			main, journal := p.ref("main"), p.ref("refs/ralph/heads/main")

			r := p.run(t, nil, "start", "--worktree", "--once")
			if r.code != 4 {
				t.Fatalf("the first start: exit %d\n%s%s", r.code, r.out, r.err)
			}
			dir := p.linkedDir(t)
			for _, want := range []string{"working in " + dir + " on ralph/main", "git merge --ff-only ralph/main",
				"git ralph adopt ralph/main", "1 commit that main does not have"} {
				if !strings.Contains(r.out, want) {
					t.Errorf("the end does not say %q:\n%s", want, r.out)
				}
			}
			if s := p.status(t); s.Linked == nil || s.Linked.Worktree != dir || s.Linked.Ahead != 1 ||
				s.Linked.Iteration != 1 || s.Tasks.Done != 0 {
				t.Errorf("status of main says %+v", s)
			}
			if got := p.must(t, "status"); !strings.Contains(got, "ralph/main in "+dir) {
				t.Errorf("status of main says\n%s", got)
			}
			if s := p.in(dir).status(t); s.Sandbox != m.name || s.Tasks.Done != 1 {
				t.Errorf("status in the linked worktree says %+v", s)
			}
			if p.ref("main") != main || p.ref("refs/ralph/heads/main") != journal {
				t.Error("main or its journal has moved")
			}
			if p.Read("README") != "half written\n" || p.Read("mine.txt") != "untracked\n" || p.Read("out-T-001.txt") != "" {
				t.Error("the user's worktree was touched")
			}

			// The next start uses the same one.
			if r := p.run(t, nil, "start", "--worktree"); r.code != 0 {
				t.Fatalf("the second start: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if again := p.linkedDir(t); again != dir {
				t.Errorf("another worktree was made: %s and %s", dir, again)
			}
			if got := p.in(dir).Read("out-T-001.txt") + p.in(dir).Read("out-T-002.txt"); got != "T-001\nT-002\n" {
				t.Errorf("the work is %q", got)
			}
			p.in(dir).sound(t)
			p.in(dir).wants(t, 0, []string{"2 proved, 0 failed"}, "verify")

			// The work is merged.
			if r := p.run(t, nil, "adopt", "ralph/main"); r.code != 1 || !strings.Contains(r.err, "git merge --ff-only") {
				t.Errorf("adopt before the merge: exit %d\n%s", r.code, r.err)
			}
			p.Write("README", "hello\n")
			os.Remove(filepath.Join(p.Dir, "mine.txt"))
			p.Git("merge", "-q", "--ff-only", "ralph/main")
			if r := p.run(t, nil, "start"); r.code != 8 || !strings.Contains(r.err, "git ralph adopt ralph/main") {
				t.Errorf("a start with the code and without the journal: exit %d\n%s", r.code, r.err)
			}
			p.must(t, "adopt", "ralph/main")
			if s := p.status(t); s.Status != "complete" || s.Tasks.Done != 2 {
				t.Errorf("after adopt status says %+v", s)
			}
			p.sound(t)

			// The next round starts at people's newest commits.
			p.Write("README", "theirs\n")
			p.Git("commit", "-qam", "by a person")
			p.must(t, "add", "the third thing")
			if r := p.run(t, nil, "start", "--worktree"); r.code != 0 {
				t.Fatalf("the next round: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if got := p.in(dir).Git("log", "--format=%s", "-2"); got != "ralph[3]: T-003 the third thing\nby a person" {
				t.Errorf("the linked branch has\n%s", got)
			}
			if got := p.in(dir).Read("README"); got != "theirs\n" {
				t.Errorf("the linked worktree has %q", got)
			}
			p.in(dir).sound(t)
			p.sound(t)
		})
	}
}

// TestLinkedFromASentence: run goes through all phases in a linked worktree,
// where a person answers and approves.
func TestLinkedFromASentence(t *testing.T) {
	t.Parallel()
	long.Only(t, "it goes through all phases in a linked worktree")
	for _, m := range mechanisms(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.around != nil {
				needLandlock(t)
			}
			p := scripted(t, strings.ReplaceAll(lifecycle, "SPEC", loginSpec), check, nil)
			p.around = m.around
			main := p.ref("main")
			p.Write("test.sh", "changed by a person\n")
			p.wants(t, 6, []string{"Which greeting?", "git ralph -C "}, "run", "--worktree", "Build a login")
			linked := p.in(p.linkedDir(t))
			linked.wants(t, 0, []string{"Q1: hello"}, "answer", "Q1", "1")
			p.wants(t, 6, []string{"specs/login.md"}, "run", "--worktree")
			linked.wants(t, 0, []string{"approved: the specs"}, "approve")
			p.wants(t, 0, []string{"# Validation passed", "complete", "git merge --ff-only ralph/main"}, "run", "--worktree")
			if got := linked.Read("login.txt") + linked.Read("logout.txt") + linked.Read("extra.txt"); got != "hello\nbye\n" {
				t.Errorf("the files say %q", got)
			}
			if s := linked.status(t); s.Sandbox != m.name {
				t.Errorf("status says %+v", s)
			}
			if p.ref("main") != main || p.Read("test.sh") != "changed by a person\n" {
				t.Error("main or the user's worktree was touched")
			}
			p.Git("checkout", "-q", "--", ".")
			linked.sound(t)
			p.sound(t)
		})
	}
}

// TestStartInsideALinkedWorktree: start needs no flag in our linked worktree. A
// person's linked worktree can have one of our own.
func TestStartInsideALinkedWorktree(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the places")
	for _, m := range mechanisms(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if m.around != nil {
				needLandlock(t)
			}
			p := newProject(t, doTask, quick, nil)
			p.Git("worktree", "add", "-q", "-b", "feature/x", outside(p, "theirs"))
			theirs := p.in(outside(p, "theirs"))
			theirs.around = m.around
			theirs.must(t, "add", "the first thing")
			theirs.must(t, "add", "the second thing")
			theirs.wants(t, 4, []string{"on ralph/feature/x"}, "start", "--worktree", "--once")
			linked := theirs.in(p.linkedDir(t))
			linked.wants(t, 0, []string{"git merge --ff-only ralph/feature/x"}, "start")
			if got := linked.Read("out-T-001.txt") + linked.Read("out-T-002.txt"); got != "T-001\nT-002\n" {
				t.Errorf("the work is %q", got)
			}
			if s := linked.status(t); s.Sandbox != m.name || s.Linked == nil || s.Linked.Of != "feature/x" {
				t.Errorf("status says %+v", s)
			}
			theirs.Git("merge", "-q", "--ff-only", "ralph/feature/x")
			theirs.wants(t, 0, []string{"feature/x has the journal of ralph/feature/x now"}, "adopt", "ralph/feature/x")
			theirs.sound(t)
			linked.sound(t)
		})
	}
}
