// Package livefeed is the socket of a running loop: the live view of
// another terminal and the page read from it what the agent says and does as it
// happens. It is only for watching: commands are entries of the journal, and so is
// everything that has to last. The socket is in a folder of the user that no agent
// in a sandbox can see; nothing is stored.
//
// The format is one Line of JSON after another: what was said last in the
// iteration at work, then what comes.
package livefeed

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"git-ralph/plan"
)

// Line is one thing that happened.
type Line struct {
	Time      time.Time         `json:"time"`
	Event     string            `json:"event"`
	Iteration int               `json:"iteration,omitempty"`
	Task      plan.TaskID       `json:"task,omitempty"`
	Worker    int               `json:"worker,omitempty"` // of several
	Message   string            `json:"message"`
	Data      map[string]string `json:"data,omitempty"`
}

const (
	// recent is how many lines of the iteration at work a new listener gets.
	recent = 300
	// backlog is how many lines a listener may be behind before it is disconnected.
	backlog = 1024
	// patience is how long a listener may take to read a line.
	patience = 5 * time.Second
	// parting is how long all listeners may take to read what is left when the loop ends.
	parting = time.Second
	// most is how many may listen at a time.
	most = 32
	// again is how often a listener looks for a socket that is not there.
	again = 500 * time.Millisecond
)

// name is the file of a branch's socket.
func name(repository, branch string) string {
	sum := sha256.Sum256([]byte(repository + "\x00" + branch))
	return hex.EncodeToString(sum[:8]) + ".sock"
}

// folders are where a socket may be; the first usable one counts. Processes of
// one user may differ in XDG_RUNTIME_DIR: a run from cron has none.
func folders(runtime string) []string {
	var out []string
	if filepath.IsAbs(runtime) {
		out = append(out, filepath.Join(runtime, "git-ralph"))
	}
	own := fmt.Sprintf("ralph-live-%d", os.Getuid())
	for _, dir := range []string{fmt.Sprintf("/run/user/%d/git-ralph", os.Getuid()), filepath.Join(os.TempDir(), own),
		filepath.Join("/tmp", own)} {
		if dir != "" && filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// Speaker is the socket of a loop.
type Speaker struct {
	path     string
	listener net.Listener

	mu        sync.Mutex
	iteration map[int]int // of each worker
	last      []said
	listening map[net.Conn]chan []byte
	closed    bool
	wg        sync.WaitGroup
}

// said is a line of a worker, 0 where there is only one.
type said struct {
	worker int
	line   []byte
}

// Speak opens the socket of a branch; the caller holds its lock, so that a file
// that is there was left by a dead loop. Runtime is XDG_RUNTIME_DIR.
func Speak(runtime, repository, branch string) (*Speaker, error) {
	var errs []error
	for _, dir := range folders(runtime) {
		if parent := filepath.Dir(dir); !isFolder(parent) {
			continue
		}
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			errs = append(errs, err)
			continue
		}
		if err := private(dir, closeFolder); err != nil {
			errs = append(errs, err)
			continue
		}
		path := filepath.Join(dir, name(repository, branch))
		os.Remove(path)
		l, err := net.Listen("unix", path)
		if err == nil {
			err = os.Chmod(path, 0o600)
		}
		if err != nil {
			if l != nil {
				l.Close()
			}
			errs = append(errs, err)
			continue
		}
		s := &Speaker{path: path, listener: l, iteration: map[int]int{}, listening: map[net.Conn]chan []byte{}}
		s.wg.Go(s.accept)
		return s, nil
	}
	return nil, fmt.Errorf("find a folder for the socket: %w", errors.Join(errs...))
}

func isFolder(dir string) bool {
	st, err := os.Stat(dir)
	return err == nil && st.IsDir()
}

func (s *Speaker) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed || len(s.listening) >= most {
			s.mu.Unlock()
			conn.Close()
			continue
		}
		ch := make(chan []byte, backlog)
		for _, x := range s.last {
			ch <- x.line
		}
		s.listening[conn] = ch
		s.mu.Unlock()
		s.wg.Go(func() { s.talk(conn, ch) })
	}
}

// talk writes lines until the listener has gone or the loop ends.
func (s *Speaker) talk(conn net.Conn, ch chan []byte) {
	defer conn.Close()
	for line := range ch {
		conn.SetWriteDeadline(time.Now().Add(patience))
		if _, err := conn.Write(line); err != nil {
			s.drop(conn)
			return
		}
	}
}

// drop forgets a listener.
func (s *Speaker) drop(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch, ok := s.listening[conn]; ok {
		delete(s.listening, conn)
		close(ch)
	}
}

// Say sends a line to every listener. It never waits: a listener that is too far
// behind is disconnected.
func (s *Speaker) Say(l Line) {
	data, err := json.Marshal(l)
	if err != nil {
		return
	}
	data = append(data, '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.Iteration != s.iteration[l.Worker] {
		s.iteration[l.Worker] = l.Iteration
		s.last = slices.DeleteFunc(s.last, func(x said) bool { return x.worker == l.Worker })
	}
	if s.last = append(s.last, said{l.Worker, data}); len(s.last) > 2*recent {
		s.last = append([]said{}, s.last[len(s.last)-recent:]...)
	}
	for conn, ch := range s.listening {
		select {
		case ch <- data:
		default:
			delete(s.listening, conn)
			close(ch)
			conn.Close()
		}
	}
}

// Close ends the socket; what was said is delivered first, to those who read it
// within a second.
func (s *Speaker) Close() {
	s.mu.Lock()
	s.closed = true
	for conn, ch := range s.listening {
		delete(s.listening, conn)
		close(ch)
		time.AfterFunc(parting, func() { conn.Close() })
	}
	s.mu.Unlock()
	s.listener.Close()
	os.Remove(s.path)
	s.wg.Wait()
}

// openFolder is what becomes of a folder that other users may enter.
type openFolder bool

const (
	closeFolder  openFolder = true
	refuseFolder openFolder = false
)

// Listen reports what the loop of a branch says, and the loops after it, until
// the context ends. connected gets false while there is no socket of this user:
// f then hears nothing.
func Listen(ctx context.Context, runtime, repository, branch string, connected func(bool), f func(Line)) {
	t := time.NewTicker(again)
	defer t.Stop()
	for {
		if conn := dial(ctx, runtime, repository, branch); conn != nil {
			connected(true)
			hear(ctx, conn, f)
			connected(false)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

func dial(ctx context.Context, runtime, repository, branch string) net.Conn {
	for _, dir := range folders(runtime) {
		if private(dir, refuseFolder) != nil {
			continue
		}
		var d net.Dialer
		if conn, err := d.DialContext(ctx, "unix", filepath.Join(dir, name(repository, branch))); err == nil {
			return conn
		}
	}
	return nil
}

func hear(ctx context.Context, conn net.Conn, f func(Line)) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l Line
		if json.Unmarshal(lines.Bytes(), &l) == nil {
			f(l)
		}
	}
}
