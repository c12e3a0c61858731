package livefeed

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// TestListenersHearALoop: a late listener gets the messages of the current
// iteration. All get what follows, also from the next loop.
func TestListenersHearALoop(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no socket on this system")
	}
	dir := t.TempDir()
	s, err := Speak(dir, "repository", "main")
	if err != nil {
		t.Fatal(err)
	}
	s.Say(Line{Event: "agent", Iteration: 1, Message: "of the iteration before"})
	s.Say(Line{Event: "agent", Iteration: 2, Message: "said before anybody came"})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	heard, states := make(chan Line, 100), make(chan bool, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Listen(ctx, dir, "repository", "main", func(on bool) { states <- on }, func(l Line) { heard <- l })
	}()
	want := func(message string) {
		t.Helper()
		select {
		case l := <-heard:
			if l.Message != message {
				t.Fatalf("heard %q, want %q", l.Message, message)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q was never heard", message)
		}
	}
	want("said before anybody came")
	s.Say(Line{Event: "agent", Iteration: 2, Message: "now"})
	want("now")
	if info, err := os.Stat(s.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(s.path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v %v", info.Mode(), err)
	}
	s.Say(Line{Event: "end", Iteration: 2, Message: "complete"})
	s.Close()
	want("complete")
	if _, err := os.Stat(s.path); err == nil {
		t.Error("the socket is still there")
	}
	next, err := Speak(dir, "repository", "main")
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	next.Say(Line{Event: "agent", Iteration: 3, Message: "another loop"})
	want("another loop")
	cancel()
	<-done
	if first := <-states; !first {
		t.Error("connected was not told")
	}
}

// TestNobodyHoldsTheLoopUp: a listener that does not read is dropped, and Say never
// waits for one.
func TestNobodyHoldsTheLoopUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no socket on this system")
	}
	dir := t.TempDir()
	s, err := Speak(dir, "repository", "main")
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(context.Background(), dir, "repository", "main")
	if conn == nil {
		t.Fatal("nobody answers")
	}
	defer conn.Close()
	big := make([]byte, 4096)
	for i := range big {
		big[i] = 'x'
	}
	for i := range 20 * backlog {
		s.Say(Line{Event: "agent", Iteration: 1, Message: strconv.Itoa(i) + string(big)})
	}
	s.mu.Lock()
	n, kept := len(s.listening), len(s.last)
	s.mu.Unlock()
	if n != 0 || kept > 2*recent {
		t.Errorf("%d listen, %d lines are kept", n, kept)
	}
	// One that reads nothing and is not yet too far behind: the loop ends all the same.
	idle := dial(context.Background(), dir, "repository", "main")
	if idle == nil {
		t.Fatal("nobody answers a second time")
	}
	defer idle.Close()
	began := time.Now()
	s.Close()
	if took := time.Since(began); took >= patience {
		t.Errorf("the end waited %v for those who do not read", took)
	}
}

// TestForeignFoldersAreNotUsed: the loop repairs a folder that others may use.
// Until then no listener uses it.
func TestForeignFoldersAreNotUsed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no socket on this system")
	}
	dir := filepath.Join(t.TempDir(), "git-ralph")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := private(dir, refuseFolder); err == nil {
		t.Error("a folder that others may read was taken")
	}
	if err := private(dir, closeFolder); err != nil {
		t.Error(err)
	}
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := private(link, closeFolder); err == nil {
		t.Error("a link was taken for a folder")
	}
}

// TestWorkersInterleave: a worker that begins an iteration removes no message of the
// others.
func TestWorkersInterleave(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no socket on this system")
	}
	s, err := Speak(t.TempDir(), "repository", "main")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, l := range []Line{{Worker: 1, Iteration: 1, Message: "old"}, {Worker: 2, Iteration: 2, Message: "of 2"},
		{Worker: 1, Iteration: 3, Message: "of 1"}, {Worker: 2, Iteration: 2, Message: "more of 2"}} {
		s.Say(l)
	}
	got := ""
	for _, x := range s.last {
		var l Line
		if err := json.Unmarshal(x.line, &l); err != nil {
			t.Fatal(err)
		}
		got += l.Message + ";"
	}
	if want := "of 2;of 1;more of 2;"; got != want {
		t.Errorf("a new listener hears %q, want %q", got, want)
	}
}
