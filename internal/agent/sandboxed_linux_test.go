package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// sandboxed runs the client in our sandbox with every call allowed: git stays as it
// is, and the client's own sandbox works inside.
func (d dialect) sandboxed(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script {
		return fakemodel.Script{tools(d.Shell("echo ok >inside; git commit --allow-empty -m x; git update-ref " +
			"refs/heads/stolen HEAD; rm -rf .git")), {Text: "y"}}
	})
	r.req.Judge = func(session.ToolUse) session.Permission { return session.Permission{Allow: true} }
	upper := filepath.Join(t.TempDir(), "upper")
	t.Cleanup(func() { sandbox.RemoveHomeUpper(upper) }) // an overlay leaves folders that nobody may enter
	spec := sandbox.Spec{Worktree: r.dir, GitDirs: []string{filepath.Join(r.dir, ".git")}, Home: client.Get(r.req.Env,
		"HOME"), HomeUpper: upper,
		CommandFiles: append([]string{d.pinned, filepath.Dir(filepath.Dir(d.pinned)), filepath.Join(r.root, "run")},
			filepath.SplitList(os.Getenv("PATH"))...), Network: sandbox.NetworkOpen, OwnMounts: ConfinesItself(d.name())}
	report, err := sandbox.Probe(t.Context(), spec)
	if err != nil || report.Mechanism != sandbox.Namespaces {
		t.Skipf("this machine has no sandbox: %s (%v)", report.Detail, err)
	}
	wrap, err := sandbox.Wrapper(report.Apply(spec))
	if err != nil {
		t.Fatal(err)
	}
	group, err := proc.NewGroup(proc.GroupOptions{EventID: fmt.Sprintf("sandboxed-%d", time.Now().UnixNano()), Wrap: wrap})
	if err != nil {
		t.Fatal(err)
	}
	r.req.Start = group.Start
	r.req.HandoffFile = "" // only the loop mounts the folder of the run
	refs := r.git(t, "for-each-ref")
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	if got := r.git(t, "for-each-ref"); got != refs {
		t.Errorf("refs changed:\n%s", got)
	}
	if b, err := os.ReadFile(filepath.Join(r.dir, "inside")); string(b) != "ok\n" {
		t.Errorf("the worktree: %q, %v\n%s", b, err, r.transcript.String())
	}
	r.ownSandbox(t)
}

func (r *run) ownSandbox(t *testing.T) {
	t.Helper()
	for _, w := range r.said(session.EventWarning) {
		if strings.Contains(w, "own sandbox") {
			t.Error(w)
		}
	}
}

// alone runs the client without our sandbox, so that only its own one is left: with
// the system's bwrap, if there is one, and with the client's own program. As in
// such a run, the run's folder is below the temporary folder.
func (d dialect) alone(t *testing.T) {
	for _, bwrap := range []bool{true, false} {
		r := d.setUp(t, func(string) fakemodel.Script {
			return fakemodel.Script{tools(d.Shell("echo ok >inside")),
				{Text: "y"}}
		})
		report, err := sandbox.Probe(t.Context(), sandbox.Spec{Worktree: r.dir, Network: sandbox.NetworkOpen})
		if err != nil || report.Mechanism != sandbox.Namespaces {
			t.Skipf("this machine has no namespaces: %s (%v)", report.Detail, err)
		}
		r.req.Env = client.Set(r.req.Env, "TMPDIR="+r.root)
		if !bwrap {
			r.req.Env = client.Set(r.req.Env, "PATH="+programsBut(t, "bwrap"))
		}
		r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
		r.ownSandbox(t)
		if b, err := os.ReadFile(filepath.Join(r.dir, "inside")); string(b) != "ok\n" {
			t.Errorf("with the system's bwrap %v: %q, %v\n%s", bwrap, b, err, r.transcript.String())
		}
	}
}

// programsBut is a folder with all programs of PATH but one.
func programsBut(t *testing.T, without string) string {
	t.Helper()
	dir := t.TempDir()
	for _, from := range filepath.SplitList(os.Getenv("PATH")) {
		entries, _ := os.ReadDir(from) // folders of PATH need not exist
		for _, e := range entries {
			if e.Name() != without {
				os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())) // the first of a name stays
			}
		}
	}
	return dir
}
