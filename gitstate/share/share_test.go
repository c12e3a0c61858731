package share

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/ram"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

func TestMain(m *testing.M) { os.Exit(ram.Tests(m).Run()) }

// partner is a clone of the bare repository that url leads to, with its journal.
func partner(t *testing.T, url string, env ...string) *Partner {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo.In(t, dir)
	r.Git("commit", "-q", "--allow-empty", "-m", "first")
	r.Git("remote", "add", "origin", url)
	g, err := gitstate.Open(context.Background(), r.Dir, append(r.Env, env...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := journal.Open(context.Background(), g, "main")
	if err != nil {
		t.Fatal(err)
	}
	remote, err := Open(context.Background(), g, "origin")
	if err != nil {
		t.Fatal(err)
	}
	return &Partner{Remote: remote, Journal: j, Notes: true}
}

// bare is an empty bare repository that takes pushes over every protocol.
func bare(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "remote.git")
	for _, args := range [][]string{{"init", "-q", "-b", "main", "--bare", dir},
		{"-C", dir, "config", "http.receivepack", "true"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dir
}

// begin makes a journal with n tasks.
func (p *Partner) begin(t *testing.T, n int) {
	t.Helper()
	var tasks []plan.Task
	for i := range n {
		id := plan.NumberedID(i + 1)
		tasks = append(tasks, plan.Task{ID: id, Title: "task", Status: plan.Pending, Priority: 1})
	}
	for _, e := range []state.Event{
		{Type: state.EvInit, Init: &state.Init{JournalID: gitstate.NewID(p.Journal.Now()), Branch: "main"}},
		{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "import", Upsert: tasks}},
	} {
		if _, err := p.Journal.Record(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// claim tries to take a task, as a run does, and says whether it holds it.
func (p *Partner) claim(ctx context.Context, id plan.TaskID) (bool, error) {
	e := state.Event{Type: state.EvClaim, Task: id, Claim: &state.ClaimChange{Action: "take", Worker: "main", Lease: "3m"}}
	p.Journal.Stamp(&e)
	if _, err := p.Journal.Record(ctx, e); err != nil {
		return false, err
	}
	if _, err := p.Push(ctx); err != nil {
		return false, err
	}
	snap, err := p.Journal.Load(ctx)
	if err != nil {
		return false, err
	}
	return snap.State.Holds(e.ID), nil
}

// TestOneWinnerATask: several machines claim a task at once, each through its own
// clone. One of them holds it, and all agree which.
func TestOneWinnerATask(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url, n := bare(t), long.Number(t, 3, 100)
	first := partner(t, url)
	first.begin(t, n)
	if _, err := first.Push(ctx); err != nil {
		t.Fatal(err)
	}
	var machines []*Partner
	for range 4 {
		p := partner(t, url)
		if _, _, err := p.Pull(ctx, JournalOnly); err != nil {
			t.Fatal(err)
		}
		machines = append(machines, p)
	}
	began := time.Now()
	for i := range n {
		if time.Since(began) > 4*time.Minute {
			t.Logf("%d of %d tasks: this machine has other work", i, n)
			n = i
			break
		}
		id := plan.NumberedID(i + 1)
		var wg sync.WaitGroup
		won := make([]bool, len(machines))
		for k, p := range machines {
			wg.Go(func() {
				var err error
				if won[k], err = p.claim(ctx, id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		winners := 0
		for _, w := range won {
			if w {
				winners++
			}
		}
		if winners != 1 {
			t.Fatalf("%s has %d winners", id, winners)
		}
	}
	tips := map[string]bool{}
	for _, p := range machines {
		if _, _, err := p.Pull(ctx, JournalOnly); err != nil {
			t.Fatal(err)
		}
		snap, err := p.Journal.Load(ctx)
		if err != nil || len(snap.State.Claims) != n {
			t.Fatalf("%d claims: %v", len(snap.State.Claims), err)
		}
		tips[snap.Tip.String()] = true
		if c, err := p.Journal.Check(ctx, nil); err != nil || len(c.Faults) > 0 {
			t.Errorf("fsck: %v %v", c.Faults, err)
		}
	}
	if len(tips) != 1 {
		t.Errorf("the machines end at %d tips", len(tips))
	}
}

// overEach runs f for each transport that git has here, with the address of a bare
// repository and git's environment for it.
func overEach(t *testing.T, f func(t *testing.T, url string, env ...string)) {
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		f(t, "file://"+bare(t))
	})
	t.Run("smart HTTP", func(t *testing.T) {
		t.Parallel()
		dir := bare(t)
		exe, err := exec.LookPath("git")
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(&cgi.Handler{Path: exe, Args: []string{"http-backend"},
			Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(dir), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=x"}})
		t.Cleanup(s.Close)
		f(t, s.URL+"/remote.git")
	})
	t.Run("git daemon", func(t *testing.T) {
		t.Parallel()
		f(t, daemon(t, bare(t)))
	})
	t.Run("ssh", func(t *testing.T) {
		t.Parallel()
		address, env := sshd(t)
		f(t, address+bare(t), env)
	})
}

// daemon starts a real git daemon on the loopback address.
func daemon(t *testing.T, dir string) string {
	t.Helper()
	port := freePort(t)
	c := exec.Command("git", "daemon", "--reuseaddr", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1",
		fmt.Sprintf("--port=%d", port), "--base-path="+filepath.Dir(dir), filepath.Dir(dir))
	answers(t, c, port)
	return fmt.Sprintf("git://127.0.0.1:%d/remote.git", port)
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// answers starts a server, which ends with the test, and returns when it takes
// connections.
func answers(t *testing.T, c *exec.Cmd, port int) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// Not SIGKILL, after which git could not end its own server process.
	t.Cleanup(func() { c.Process.Signal(syscall.SIGTERM); c.Wait() })
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			conn.Close()
			return
		}
	}
	t.Fatalf("%s does not answer", c.Path)
}

// TestTransports: two machines work at once over each transport and end with the
// same journal.
func TestTransports(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	overEach(t, func(t *testing.T, url string, env ...string) {
		ann, bob := partner(t, url, env...), partner(t, url, env...)
		ann.begin(t, 2)
		if _, err := ann.Push(ctx); err != nil {
			t.Fatal(err)
		}
		if rep, _, err := bob.Pull(ctx, JournalOnly); err != nil || rep.How != "new" {
			t.Fatalf("%+v %v", rep, err)
		}
		for i, p := range []*Partner{ann, bob} {
			if ok, err := p.claim(ctx, plan.NumberedID(i+1)); err != nil || !ok {
				t.Fatalf("machine %d: %v %v", i, ok, err)
			}
		}
		if _, _, err := ann.Pull(ctx, JournalOnly); err != nil {
			t.Fatal(err)
		}
		a, _ := ann.Journal.Tip(ctx)
		b, _ := bob.Journal.Tip(ctx)
		if a != b {
			t.Errorf("different tips: %s %s", a, b)
		}
	})
}

// cutter forwards connections to a server and cuts them at a given point.
type cutter struct {
	net.Listener
	to string
	// hold is called when the server has sent a first byte, before it is forwarded.
	hold func()
	// cut is the number of bytes from the server before the cut; 0 = never.
	mu  sync.Mutex
	cut int64
}

func (c *cutter) serve() {
	for {
		conn, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			up, err := net.Dial("tcp", c.to)
			if err != nil {
				return
			}
			defer up.Close()
			go func() { io.Copy(up, conn); up.(*net.TCPConn).CloseWrite() }()
			c.mu.Lock()
			limit, hold := c.cut, c.hold
			c.mu.Unlock()
			if hold != nil {
				one := make([]byte, 1)
				if _, err := io.ReadFull(up, one); err != nil {
					return
				}
				hold()
				conn.Write(one)
			}
			if limit > 0 {
				io.CopyN(conn, up, limit)
				return
			}
			io.Copy(conn, up)
		}()
	}
}

// TestCutConnections: a connection that breaks at any place leaves both sides
// sound, and the next push succeeds. A claim that waits between the server's answer
// and its own push does not overtake a faster one.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := bare(t)
	url := daemon(t, dir)
	host, _, _ := strings.Cut(strings.TrimPrefix(url, "git://"), "/")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := &cutter{Listener: l, to: host}
	go c.serve()
	direct, slow := partner(t, url), partner(t, "git://"+l.Addr().String()+"/remote.git")
	direct.begin(t, 1)
	if _, err := direct.Push(ctx); err != nil {
		t.Fatal(err)
	}
	if _, _, err := slow.Pull(ctx, JournalOnly); err != nil {
		t.Fatal(err)
	}
	set := func(cut int64, hold func()) {
		c.mu.Lock()
		c.cut, c.hold = cut, hold
		c.mu.Unlock()
	}
	for _, cut := range []int64{1, 60, 200, 400, 700} {
		if _, err := slow.Journal.Record(ctx, state.Event{Type: state.EvOperator,
			Operator: &state.Operator{Command: "set", Key: "loop.delay", Value: fmt.Sprint(cut) + "s"}}); err != nil {
			t.Fatal(err)
		}
		set(cut, nil)
		_, err := slow.Push(ctx)
		var far *UnreachableError
		if err != nil && !errors.As(err, &far) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
		set(0, nil)
		if _, err := slow.Push(ctx); err != nil {
			t.Fatalf("after a cut at %d: %v", cut, err)
		}
	}
	// While the slow one waits behind the server's list of refs, the other claims.
	var once sync.Once
	set(0, func() {
		once.Do(func() {
			if ok, err := direct.claim(ctx, "T-001"); err != nil || !ok {
				t.Errorf("the fast one: %v %v", ok, err)
			}
		})
	})
	if ok, err := slow.claim(ctx, "T-001"); err != nil || ok {
		t.Errorf("the one that came too late: %v %v", ok, err)
	}
	if out, err := exec.Command("git", "-C", dir, "fsck", "--strict").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPullWalksWhatIsNew: a pull reads only the history since the last one, so it does not
// notice that the first entry is lost.
func TestPullWalksWhatIsNew(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := bare(t)
	one, two := partner(t, url), partner(t, url)
	one.begin(t, 1)
	if _, err := two.Repo.Git.Run(ctx, "config", "fetch.unpackLimit", "10000"); err != nil {
		t.Fatal(err)
	}
	push := func(n int) {
		t.Helper()
		for range n {
			e := state.Event{Type: state.EvHalt, Halt: &state.Halt{Status: state.Running}}
			if _, err := one.Journal.Record(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := one.Push(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []int{40, 1, 1} {
		push(n)
		if _, _, err := two.Pull(ctx, JournalOnly); err != nil {
			t.Fatal(err)
		}
	}
	first, err := two.Repo.Git.Line(ctx, "rev-list", "--max-parents=0", two.Journal.Ref())
	if err != nil {
		t.Fatal(err)
	}
	object := filepath.Join(two.Repo.CommonDir, "objects", first[:2], first[2:])
	if err := os.Rename(object, object+"-away"); err != nil {
		t.Fatal(err)
	}
	push(1)
	if rep, _, err := two.Pull(ctx, JournalOnly); err != nil || rep.How != "forward" {
		t.Errorf("%+v %v", rep, err)
	}
}

// TestRemotesThatRefuse: a remote that refuses our refs, has an unrelated journal
// or was rewritten is named. Nothing changes here.
func TestRemotesThatRefuse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := bare(t)
	p := partner(t, dir)
	p.begin(t, 1)
	hook := filepath.Join(dir, "hooks", "pre-receive")
	os.MkdirAll(filepath.Dir(hook), 0o755)
	if err := os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	if _, err := p.Push(ctx); !errors.As(err, &refused) {
		t.Errorf("a hook that refuses: %v", err)
	}
	os.Remove(hook)
	if _, err := p.Push(ctx); err != nil {
		t.Fatal(err)
	}
	other := partner(t, dir)
	other.begin(t, 1)
	before, _ := other.Journal.Tip(ctx)
	var apart *journal.ApartError
	if _, err := other.Push(ctx); !errors.As(err, &apart) {
		t.Errorf("a journal that was begun apart: %v", err)
	}
	if after, _ := other.Journal.Tip(ctx); after != before {
		t.Error("it was moved")
	}
	if out, err := exec.Command("git", "-C", other.Repo.Root, "push", "-q", "--force", "origin",
		"refs/ralph/heads/main").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var rewritten *RewrittenError
	if _, _, err := p.Pull(ctx, JournalOnly); !errors.As(err, &rewritten) {
		t.Errorf("a journal that was rewritten: %v", err)
	}
}
