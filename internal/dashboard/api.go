package dashboard

import (
	"context"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
)

const (
	usualPage = 50
	mostPage  = 500
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /api/state", s.state)
	mux.HandleFunc("GET /api/events", s.hub.stream)
	mux.HandleFunc("GET /api/log", s.log)
	mux.HandleFunc("GET /api/iterations", s.iterations)
	mux.HandleFunc("GET /api/iterations/{n}", s.iteration)
	mux.HandleFunc("GET /api/iterations/{n}/{part}", s.part)
	mux.HandleFunc("GET /api/tasks/{id}", s.task)
	mux.HandleFunc("POST /api/command", s.command)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "the page is at /", "there is no such page")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !localPath(r.URL) {
			refuse(w, http.StatusNotFound, "the page is at /", "there is no such page")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// failed answers with an error of the run.
func (s *Server) failed(w http.ResponseWriter, status int, err error) {
	hint, code := s.Book.Advice(err)
	writeJSON(w, status, refusal{Error: err.Error(), Hint: hint, Code: code})
}

func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(whole())
}

func (s *Server) state(w http.ResponseWriter, r *http.Request) {
	doc, err := s.Book.State(r.Context())
	if err != nil {
		s.failed(w, http.StatusInternalServerError, err)
		return
	}
	doc["read_only"] = s.ReadOnly
	writeJSON(w, http.StatusOK, doc)
}

// number reads a parameter that counts; "" is 0.
func number(w http.ResponseWriter, r *http.Request, name string) (int, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return 0, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		refuse(w, http.StatusBadRequest, name+"=50", "%s is no number: %.40q", name, text)
		return 0, false
	}
	return n, true
}

func limitOf(n int) int {
	if n == 0 {
		return usualPage
	}
	return min(n, mostPage)
}

func (s *Server) iterations(w http.ResponseWriter, r *http.Request) {
	before, ok := number(w, r, "before")
	if !ok {
		return
	}
	limit, ok := number(w, r, "limit")
	if !ok {
		return
	}
	v := r.URL.Query()
	p, err := s.history.page(r.Context(), query{before: before, limit: limitOf(limit), task: v.Get("task"),
		text: strings.ToLower(strings.TrimSpace(v.Get("q"))), verdict: strings.ToLower(v.Get("verdict"))})
	if err != nil {
		s.failed(w, http.StatusInternalServerError, err)
		return
	}
	writeJSON(w, http.StatusOK, p)
}

// which is the number of an iteration in a path.
func which(w http.ResponseWriter, r *http.Request) (int, bool) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n <= 0 {
		refuse(w, http.StatusNotFound, "iterations are numbered from 1", "%.40q is not an iteration number",
			r.PathValue("n"))
		return 0, false
	}
	return n, true
}

func (s *Server) iteration(w http.ResponseWriter, r *http.Request) {
	n, ok := which(w, r)
	if !ok {
		return
	}
	doc, err := s.Book.Iteration(r.Context(), n)
	if err != nil {
		s.failed(w, http.StatusNotFound, err)
		return
	}
	writeJSON(w, http.StatusOK, doc)
}

var parts = map[string]bool{"diff": true, "prompt": true, "transcript": true, "output": true}

func (s *Server) part(w http.ResponseWriter, r *http.Request) {
	n, ok := which(w, r)
	if !ok {
		return
	}
	part := r.PathValue("part")
	if !parts[part] {
		refuse(w, http.StatusNotFound, "diff, prompt, transcript, output", "an iteration has no %.40q", part)
		return
	}
	data, err := s.Book.Part(r.Context(), n, part, r.URL.Query().Get("name"))
	if err != nil {
		s.failed(w, http.StatusNotFound, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write(data)
}

func (s *Server) task(w http.ResponseWriter, r *http.Request) {
	doc, err := s.Book.Task(r.Context(), r.PathValue("id"))
	if err != nil {
		s.failed(w, http.StatusNotFound, err)
		return
	}
	writeJSON(w, http.StatusOK, doc)
}

// log is a part of the whole history: entries before one, newest first.
func (s *Server) log(w http.ResponseWriter, r *http.Request) {
	limit, ok := number(w, r, "limit")
	if !ok {
		return
	}
	from, err := s.Book.Tip(r.Context())
	before := r.URL.Query().Get("before")
	if before != "" {
		from, err = object.ParseID(before)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "before is the name of an entry", "%.60q is no entry", before)
		return
	}
	entries, err := s.entries(r.Context(), from, limitOf(limit), firstEntry(before != ""))
	if err != nil {
		s.failed(w, http.StatusNotFound, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"entries": entries})
}

// firstEntry says whether the entry from which a list goes on is part of it.
type firstEntry bool

const (
	skipFirst firstEntry = true
	withFirst firstEntry = false
)

// entries are the documents of at most n entries from one on, newest first;
// skip leaves that one out.
func (s *Server) entries(ctx context.Context, from object.ID, n int, skip firstEntry) ([]any, error) {
	list := []any{}
	if from.IsZero() {
		return list, nil
	}
	err := s.Book.Walk(ctx, from, func(e journal.Entry) (bool, error) {
		if skip == skipFirst && e.ID == from {
			return true, nil
		}
		list = append(list, s.Book.Describe(e))
		return len(list) < n, nil
	})
	return list, err
}

// command does what a person asks for. JSON alone is read: a form of another
// site cannot send it without being asked about first.
func (s *Server) command(w http.ResponseWriter, r *http.Request) {
	if s.ReadOnly {
		refuse(w, http.StatusForbidden, "git ralph serve without --read-only takes commands", "this page only shows")
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type: application/json", "a command is sent as JSON")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "put long texts into a file of the project", "read the request: %v", err)
		return
	}
	words, err := Words(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, `{"command": "pause", "args": []}`, "%v", err)
		return
	}
	// What was begun is finished, also when the person closes the page.
	said, err := s.Book.Do(context.WithoutCancel(r.Context()), words)
	s.hub.hurry()
	if err != nil {
		s.failed(w, http.StatusConflict, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"ok": true, "message": said})
}
