package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
)

// TestProcessesOfARun: real processes call tools at the same time. They get the
// answers of Call, and can recognise refusals.
func TestProcessesOfARun(t *testing.T) {
	b := opened(t, "coding")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			out, err := child(t, "call", b.Env(), "ralph_update_memory", fmt.Sprintf(`{"content":"note %d"}`, i%10)).Output()
			if err != nil || !strings.Contains(string(out), `"recorded":true`) {
				t.Errorf("process %d: %s, %v", i, out, err)
			}
		})
	}
	wg.Wait()
	if got := b.Collected().Memory; len(got) != 10 {
		t.Errorf("%d notes of 10 that 20 processes left", len(got))
	}
	out, err := child(t, "call", b.Env(), "ralph_mark_task_complete", `{"task_id":"T-003"}`).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out),
		`"error":"\"T-003\" is not the task of this iteration"`) {
		t.Errorf("refusal: %s, %v", out, err)
	}
}

func TestListOverTheEndpoint(t *testing.T) {
	b := opened(t, "planning")
	got, err := connect(t, b.Env()).Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := b.Specs(); string(encode(got)) != string(encode(want)) {
		t.Errorf("the endpoint lists\n%s\nand the run offers\n%s", encode(got), encode(want))
	}
}

// TestEndpointIsPrivateAndGoes: the endpoint is one path in the run's folder, only
// for the user, and leaves nothing.
func TestEndpointIsPrivateAndGoes(t *testing.T) {
	dir := t.TempDir()
	b := box(t, "coding", func(s *session.Scope) { s.RunDir = dir })
	path, token := variable(b.Env(), SocketVar), variable(b.Env(), TokenVar)
	if rel, err := filepath.Rel(dir, path); err != nil || strings.HasPrefix(rel, "..") || len(b.Env()) != 2 ||
		len(token) < 20 {
		t.Fatalf("environment %q for the folder %s", b.Env(), dir)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700,
			filepath.Join(filepath.Dir(path), tokenName): 0o600} {
			fi, err := os.Stat(name)
			if err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s: %v, %v; want mode %o", name, fi.Mode(), err, want)
			}
		}
	}
	c := connect(t, b.Env())
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := c.Call(t.Context(), "ralph_get_next_task", nil); !errors.Is(err, ErrEnded) {
		t.Errorf("after the end: %v, want ErrEnded", err)
	}
}

func TestTwoRunsDoNotMix(t *testing.T) {
	dir := t.TempDir()
	a := box(t, "coding", func(s *session.Scope) { s.RunDir = dir })
	b := box(t, "coding", func(s *session.Scope) { s.RunDir = dir })
	mixed := []string{SocketVar + "=" + variable(a.Env(), SocketVar), TokenVar + "=" + variable(b.Env(), TokenVar)}
	if _, err := connect(t, mixed).Call(t.Context(), "ralph_get_next_task", nil); err == nil ||
		!strings.Contains(err.Error(), "token") {
		t.Errorf("the token of another run: %v", err)
	}
	a.Close()
	if _, err := connect(t, b.Env()).Call(t.Context(), "ralph_get_next_task", nil); err != nil {
		t.Errorf("the end of one run ended another: %v", err)
	}
}

// TestConnect: what a process knows of its run.
func TestConnect(t *testing.T) {
	b := opened(t, "coding")
	socket, token := SocketVar+"="+variable(b.Env(), SocketVar), TokenVar+"="+variable(b.Env(), TokenVar)
	for _, tt := range []struct {
		env  []string
		want string // of the error; "" = works
		why  string
	}{
		{nil, ErrOutside.Error(), "not part of a run"},
		{[]string{token}, ErrOutside.Error(), "a token alone leads nowhere"},
		{[]string{SocketVar + "="}, ErrOutside.Error(), "an empty name is none"},
		{[]string{socket, token}, "", "both"},
		{[]string{socket}, "", "clients that hide tokens from their tools"},
		{[]string{socket, TokenVar + "=x"}, "the token is not that of this run", "guessed"},
		{[]string{SocketVar + "=" + filepath.Join(t.TempDir(), "x")}, ErrEnded.Error(), "a folder that is gone"},
		{[]string{SocketVar + "=" + filepath.Join(t.TempDir(), "x"), token}, ErrEnded.Error(), "a socket that is gone"},
	} {
		c, err := Connect(tt.env)
		if err == nil {
			_, err = c.Call(t.Context(), "ralph_get_next_task", nil)
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.why, err, tt.want)
		}
	}
}

// TestSizes: a megabyte of arguments is accepted, whatever its length in JSON. More
// is refused before it is sent.
func TestSizes(t *testing.T) {
	b := opened(t, "context-prep")
	c := connect(t, b.Env())
	const frame = len(`{"markdown":""}`)
	for _, char := range []string{"a", "<", "&"} { // some encoders make six bytes of these
		args := `{"markdown":"` + strings.Repeat(char, MaxRequest-frame) + `"}`
		if _, err := c.Call(t.Context(), "ralph_submit_prompt", json.RawMessage(args)); err != nil {
			t.Errorf("%d bytes of %q: %v", len(args), char, err)
		}
	}
	if n := len(b.Collected().Prompt); n != MaxRequest-frame {
		t.Errorf("%d bytes arrived", n)
	}
	var r *Refusal
	if _, err := c.Call(t.Context(), "ralph_submit_prompt", make(json.RawMessage, MaxRequest+1)); !errors.As(err, &r) {
		t.Errorf("too much: %v", err)
	}
	if _, err := c.Call(t.Context(), "ralph_submit_prompt", json.RawMessage("{\n\n")); !errors.As(err, &r) {
		t.Errorf("broken arguments: %v", err)
	}
	if _, err := c.Call(t.Context(), "ralph_submit_prompt", json.RawMessage(
		"{\n\"markdown\":\n\""+strings.Repeat("a b ", 20)+"\"}\n")); err != nil {
		t.Errorf("arguments on several lines: %v", err)
	}
}

// raw opens a connection for a process that ignores the protocol.
func raw(t testing.TB, b *Box) net.Conn {
	t.Helper()
	conn, err := dial(t.Context(), b.end.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestHostilePeers: no peer can block the others or the end of the run.
func TestHostilePeers(t *testing.T) {
	b := opened(t, "coding", func(s *session.Scope) { s.Task.Description = strings.Repeat("long ", 1<<18) })
	token := b.end.token
	for _, tt := range []struct{ line, want, why string }{
		{"hello\n", "not one line of JSON", "another protocol"},
		{"\n", "not one line of JSON", "an empty line"},
		{"GET / HTTP/1.1\r\n", "not one line of JSON", "a browser that was led here"},
		{`{"token":"` + token + `"}` + "\n", "op must be", "nothing to do"},
		{`{"token":"` + token + `","op":"shutdown"}` + "\n", "op must be", "no such thing"},
		{`{"token":"","op":"list"}` + "\n", "the token is not", "no token"},
		{`{"op":"call","name":"ralph_get_next_task"}` + "\n", "the token is not", "no token"},
		{`{"token":"` + token + `","op":"call","name":"ralph_update_memory","args":` + strings.Repeat("[", 50000) +
			"\n", "not one line of JSON", "deep"},
		{`{"token":"` + token + `","op":"call","name":"ralph_update_memory","args":"x"}` + "\n", `"refused":true`,
			"arguments that are none"},
	} {
		conn := raw(t, b)
		if _, err := io.WriteString(conn, tt.line); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(got), tt.want) || bytes.Count(got, []byte("\n")) != 1 {
			t.Errorf("%s: answered %q, %v; want one line with %q", tt.why, got, err, tt.want)
		}
	}
	// A peer that sends too much is cut off, whether it can read the reason or not.
	flood := raw(t, b)
	block := bytes.Repeat([]byte("x"), 64<<10)
	for {
		if _, err := flood.Write(block); err != nil {
			break
		}
	}
	// One sends nothing, one breaks off, one does not read its answer.
	raw(t, b)
	io.WriteString(raw(t, b), `{"token":`)
	deaf := raw(t, b)
	fmt.Fprintf(deaf, `{"token":%q,"op":"call","name":"ralph_get_next_task"}`+"\n", token)
	if _, err := connect(t, b.Env()).Call(t.Context(), "ralph_get_next_task", nil); err != nil {
		t.Errorf("a good peer beside them: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("the end: %v", err)
	}
}

// TestCloseWithAllSlotsTaken: more silent peers than slots do not delay the end.
func TestCloseWithAllSlotsTaken(t *testing.T) {
	b := opened(t, "coding")
	for range maxServed + 8 {
		raw(t, b)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestSilentPeersMakeRoom: the slots of closed connections are free again.
func TestSilentPeersMakeRoom(t *testing.T) {
	b := opened(t, "coding")
	var conns []net.Conn
	for range 2 * maxServed {
		conns = append(conns, raw(t, b))
	}
	for _, c := range conns {
		c.Close()
	}
	if _, err := connect(t, b.Env()).Call(t.Context(), "ralph_get_next_task", nil); err != nil {
		t.Error(err)
	}
}

// TestPanicEndsOneConversation: a bug in a tool must not end the loop and leave an
// unjudged iteration.
func TestPanicEndsOneConversation(t *testing.T) {
	calls := 0
	e, err := listen(t.TempDir(), func(context.Context, request) response {
		if calls++; calls == 1 {
			panic("a mistake")
		}
		return response{Answer: json.RawMessage(`{}`)}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	c := &Client{path: e.path, token: e.token}
	if _, err := c.Call(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(),
		"the tool failed: a mistake") {
		t.Errorf("first: %v", err)
	}
	if _, err := c.Call(t.Context(), "x", nil); err != nil {
		t.Errorf("second: %v", err)
	}
}

// TestQuestionOverTheEndpoint: a process that ends stops waiting, but its question
// stays.
func TestQuestionOverTheEndpoint(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan string)
	b := opened(t, "discovery", func(s *session.Scope) {
		s.Ask = func(ctx context.Context, _ state.Question) (string, bool) {
			close(asked)
			select {
			case a := <-answer:
				return a, true
			case <-ctx.Done():
				return "", false
			}
		}
	})
	const question = `{"question":"Which?"}`
	first := child(t, "call", b.Env(), "ralph_ask_user", question)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	first.Process.Kill()
	first.Wait()
	go func() { answer <- "that" }()
	out, err := child(t, "call", b.Env(), "ralph_ask_user", question).Output()
	if err != nil || !strings.Contains(string(out), `"answer":"that"`) {
		t.Errorf("asked again: %s, %v", out, err)
	}
}

// TestRunEndsWhileAProcessWaits: the waiting process is told of the end.
func TestRunEndsWhileAProcessWaits(t *testing.T) {
	asked := make(chan struct{})
	b := opened(t, "discovery", func(s *session.Scope) {
		s.Ask = func(ctx context.Context, _ state.Question) (string, bool) {
			close(asked)
			<-ctx.Done()
			return "", false
		}
	})
	c := connect(t, b.Env())
	done := make(chan error)
	go func() {
		_, err := c.Call(context.Background(), "ralph_ask_user", json.RawMessage(`{"question":"Which?"}`))
		done <- err
	}()
	<-asked
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	<-done // refused, unanswered or cut off: it does not wait on
}

func TestClientGivesUp(t *testing.T) {
	asked := make(chan struct{})
	b := opened(t, "discovery", func(s *session.Scope) {
		s.Ask = func(ctx context.Context, _ state.Question) (string, bool) {
			close(asked)
			<-ctx.Done()
			return "", false
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := connect(t, b.Env()).Call(ctx, "ralph_ask_user", json.RawMessage(`{"question":"Which?"}`)); !errors.Is(
		err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
