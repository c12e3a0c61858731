package mcp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"git-ralph/loop/session"
)

// The environment of a run's processes. SocketVar is the path of the endpoint:
// a Unix socket, on Windows a file that holds a loopback address. It is the only
// path there is; the token stands in TokenVar and, because some clients take
// variables of that name out of the environment of their tools, in a file beside
// the endpoint as well.
const (
	SocketVar = "RALPH_TOOL_SOCKET"
	TokenVar  = "RALPH_TOOL_TOKEN"
)

const (
	socketName = "tool.sock"
	tokenName  = "token"
	// maxServed is how many connections are served at a time; more wait in the
	// kernel's queue.
	maxServed = 32
	// patience is how long a peer may take to say what it wants and to read the
	// answer. Waiting for a person is not bounded by it.
	patience = 10 * time.Second
	// parting is how long an answer may take to be read when the run ends.
	parting = 500 * time.Millisecond
	// envelope is what a request has besides its arguments, in bytes.
	envelope = 4 << 10
	// maxAnswer bounds what a client reads. The largest answer is a task whose
	// texts are as long as they may be.
	maxAnswer = 64 << 20
)

// request is one line of JSON, the only one of its connection.
type request struct {
	Token string          `json:"token"`
	Op    string          `json:"op"` // list, call or connected
	Name  string          `json:"name,omitempty"`
	Args  json.RawMessage `json:"args,omitempty"`
}

// response is the one line that answers it.
type response struct {
	// Error is about the request itself; a tool that refuses says so in Answer.
	Error   string          `json:"error,omitempty"`
	Tools   []wireSpec      `json:"tools,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Refused bool            `json:"refused,omitempty"`
}

type wireSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// endpoint takes requests of one run. Peers are the agent's own processes and
// may be hostile. Each connection has one request of bounded size, a deadline
// and a slot. Its errors end with it.
type endpoint struct {
	path, token string
	dir         string
	listener    net.Listener
	serve       func(ctx context.Context, r request) response
	slots       chan struct{}
	wg          sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
}

// listen opens an endpoint in a new folder of runDir that is the user's alone.
func listen(runDir string, serve func(context.Context, request) response) (*endpoint, error) {
	dir, err := os.MkdirTemp(runDir, "tools-")
	if err != nil {
		return nil, err
	}
	e := &endpoint{dir: dir, token: rand.Text(), serve: serve, slots: make(chan struct{}, maxServed),
		conns: map[net.Conn]struct{}{}}
	if err := os.WriteFile(filepath.Join(dir, tokenName), []byte(e.token), 0o600); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	e.path = filepath.Join(dir, socketName)
	if e.listener, err = listenAt(e.path); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	e.wg.Go(e.accept)
	return e, nil
}

func (e *endpoint) accept() {
	for {
		e.slots <- struct{}{}
		conn, err := e.listener.Accept()
		if err != nil {
			<-e.slots
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, or the peer went away: others may still come.
			if !e.pause() {
				return
			}
			continue
		}
		if !ours(conn) || !e.track(conn) {
			conn.Close()
			<-e.slots
			continue
		}
		e.wg.Go(func() {
			defer func() { <-e.slots }()
			defer e.untrack(conn)
			e.converse(conn)
		})
	}
}

// pause waits a moment and says whether the endpoint is still open.
func (e *endpoint) pause() bool {
	time.Sleep(50 * time.Millisecond)
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.closed
}

func (e *endpoint) track(conn net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	e.conns[conn] = struct{}{}
	return true
}

func (e *endpoint) untrack(conn net.Conn) {
	conn.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.conns, conn)
}

// converse serves one connection.
func (e *endpoint) converse(conn net.Conn) {
	in := bufio.NewReader(io.LimitReader(conn, MaxRequest+envelope))
	line, err := in.ReadBytes('\n')
	if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0) {
		return // nothing was asked
	}
	ctx, cancel := context.WithCancel(context.Background())
	watched := make(chan struct{})
	e.unhurried(conn)
	go func() {
		defer close(watched)
		defer cancel()
		// A peer sends nothing more: whatever comes, even its end, means that it
		// does not wait for the answer any longer.
		var one [1]byte
		conn.Read(one[:])
	}()
	answer := e.answer(ctx, line)
	e.hurried(conn)
	conn.Write(append(encode(answer), '\n'))
	conn.Close()
	<-watched
}

// answer never panics: a mistake in a tool must not end the loop.
func (e *endpoint) answer(ctx context.Context, line []byte) (out response) {
	defer func() {
		if p := recover(); p != nil {
			out = response{Error: fmt.Sprintf("the tool failed: %v", p)}
		}
	}()
	var r request
	if len(line) >= MaxRequest+envelope {
		return response{Error: fmt.Sprintf("the request has more than %d bytes", MaxRequest)}
	}
	if err := json.Unmarshal(bytes.TrimSpace(line), &r); err != nil {
		return response{Error: "the request is not one line of JSON"}
	}
	if subtle.ConstantTimeCompare([]byte(r.Token), []byte(e.token)) != 1 {
		return response{Error: "the token is not that of this run"}
	}
	return e.serve(ctx, r)
}

// unhurried lets a peer wait for the answer as long as it takes.
func (e *endpoint) unhurried(conn net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		conn.SetReadDeadline(time.Time{})
	}
}

// hurried bounds the time that a peer has for reading the answer.
func (e *endpoint) hurried(conn net.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		conn.SetWriteDeadline(time.Now().Add(patience))
	}
}

// close ends the endpoint. Calls that are being answered may end; peers that
// are silent or do not read are cut off.
func (e *endpoint) close() error {
	e.mu.Lock()
	again := e.closed
	e.closed = true
	now := time.Now()
	for conn := range e.conns {
		conn.SetReadDeadline(now)
		conn.SetWriteDeadline(now.Add(parting))
	}
	e.mu.Unlock()
	if again {
		return nil
	}
	err := e.listener.Close()
	e.wg.Wait()
	if rerr := os.RemoveAll(e.dir); err == nil {
		err = rerr
	}
	if err != nil {
		return fmt.Errorf("close the endpoint of the tools: %w", err)
	}
	return nil
}

// serve answers a request of the endpoint.
func (b *Box) serve(ctx context.Context, r request) response {
	switch r.Op {
	case "list":
		out := response{Tools: []wireSpec{}}
		for _, s := range b.Specs() {
			out.Tools = append(out.Tools, wireSpec(s))
		}
		return out
	case "connected":
		b.connected.Store(true)
		return response{}
	case "call":
		answer, err := b.Call(ctx, r.Name, r.Args)
		return response{Answer: answer, Refused: err != nil}
	}
	return response{Error: "op must be list, call or connected"}
}

var _ = session.ToolSpec(wireSpec{})
