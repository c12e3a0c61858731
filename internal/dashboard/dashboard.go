// Package dashboard is the page of a run: an HTTP server on the loopback
// address that shows what the journal says, follows it live, and takes the
// commands that a person may give from another terminal, too. It owns the page
// itself, the rules about who may ask, and nothing of the run: what is read and
// done comes from a Book, which package cli has. It stores nothing.
package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
)

// Book is a run as the page needs it. Its methods may be called from several
// goroutines.
type Book interface {
	// Tip is the newest entry; Zero = none.
	Tip(ctx context.Context) (object.ID, error)
	// State is what the page shows of the run now, by parts, so that only what
	// has changed is sent again.
	State(ctx context.Context) (map[string]any, error)
	// Walk calls f with entries from one on, newest first, until f returns false.
	Walk(ctx context.Context, from object.ID, f func(journal.Entry) (bool, error)) error
	// Describe is the document of one entry.
	Describe(e journal.Entry) any
	// Iteration is everything about an iteration: a list, since machines that
	// were offline may have given one number twice.
	Iteration(ctx context.Context, n int) (any, error)
	// Part is a text that belongs to an iteration: diff, prompt, transcript, or
	// the output of the check that name names.
	Part(ctx context.Context, n int, part, name string) ([]byte, error)
	// Task is everything about a task.
	Task(ctx context.Context, id string) (any, error)
	// Do runs a command line of git ralph and gives back what it printed.
	Do(ctx context.Context, words []string) (string, error)
	// Advice is the hint and the exit code that belong to an error.
	Advice(err error) (hint string, code int)
	// Live calls f with what the agent at work says and does, until the context
	// ends.
	Live(ctx context.Context, f func(any))
}

// Server shows a run.
type Server struct {
	Book Book
	// ReadOnly refuses every command.
	ReadOnly bool
	// Token opens the page; New makes one.
	Token string
	// Every is how often the journal's ref is looked at while somebody watches.
	Every time.Duration

	port    int
	history history
	hub     hub
}

// New is a server with a token of its own.
func New(book Book, readOnly bool) *Server {
	s := &Server{Book: book, ReadOnly: readOnly, Token: rand.Text(), Every: 250 * time.Millisecond}
	s.history.book = book
	s.hub.server = s
	return s
}

// AddressError is an address that is not this machine's own.
type AddressError struct{ Addr string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s can be reached from other machines", e.Addr)
}

// NoAddressError is a text that names no host and port.
type NoAddressError struct{ Addr string }

func (e *NoAddressError) Error() string { return fmt.Sprintf("%q is no HOST:PORT", e.Addr) }

// Listen opens the address, which has to be a loopback one, and gives back the
// URL of the page with its token.
func (s *Server) Listen(addr string) (net.Listener, string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, "", &NoAddressError{addr}
	}
	ip := net.ParseIP(host)
	if host == "localhost" {
		ip = net.IPv4(127, 0, 0, 1)
	}
	if ip == nil || !ip.IsLoopback() {
		return nil, "", &AddressError{addr}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), port))
	if err != nil {
		return nil, "", err
	}
	s.port = l.Addr().(*net.TCPAddr).Port
	return l, fmt.Sprintf("http://%s/?token=%s", l.Addr(), s.Token), nil
}

// Serve answers until the context ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	crowd := &crowd{most: maxConnections}
	srv := &http.Server{
		Handler:           crowd.answering(s.guarded(s.routes())),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       bodyTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    16 << 10,
		ConnContext:       crowd.enter,
		ConnState:         crowd.left,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          silent(),
	}
	go s.hub.run(ctx)
	stopped := context.AfterFunc(ctx, func() { srv.Close() })
	defer stopped()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// writeJSON answers with a document.
func writeJSON(w http.ResponseWriter, code int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	w.Write(append(data, '\n'))
}

// refusal is the answer to what is not done.
type refusal struct {
	Error string `json:"error"`
	Hint  string `json:"hint"`
	Code  int    `json:"code"`
}

func refuse(w http.ResponseWriter, status int, hint, format string, args ...any) {
	writeJSON(w, status, refusal{Error: fmt.Sprintf(format, args...), Hint: hint, Code: 1})
}
