package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// shelf is a book of a real journal. It records the requested commands and does not
// run them.
type shelf struct {
	j    *journal.Journal
	done [][]string
}

func (b *shelf) Tip(ctx context.Context) (object.ID, error) { return b.j.Tip(ctx) }

func (b *shelf) State(context.Context) (map[string]any, error) { return map[string]any{}, nil }

func (b *shelf) Walk(ctx context.Context, from object.ID, f func(journal.Entry) (bool, error)) error {
	return b.j.WalkFrom(ctx, from, f)
}

func (b *shelf) Describe(e journal.Entry) any { return e.Event }

func (b *shelf) Iteration(ctx context.Context, n int) (any, error) { return b.j.Iterations(ctx, n) }

func (b *shelf) Part(_ context.Context, _ int, part, name string) ([]byte, error) {
	return []byte(part + name), nil
}

func (b *shelf) Task(_ context.Context, id string) (any, error) {
	return nil, errors.New("no task " + id)
}

func (b *shelf) Do(_ context.Context, words []string) (string, error) {
	b.done = append(b.done, words)
	return "done", nil
}

func (b *shelf) Advice(error) (string, int) { return "", 1 }

func (b *shelf) Live(context.Context, func(any)) {}

// FuzzAPI: no request makes the page panic, fail, or send invalid JSON as JSON.
// Without the token nothing is answered. A command that runs is one of the page's,
// and every argument is one of its options or after "--".
func FuzzAPI(f *testing.F) {
	r := repo.New(f, nil)
	g, err := gitstate.Open(f.Context(), r.Dir, r.Env)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { g.Close() })
	j, err := journal.Open(f.Context(), g, "main")
	if err != nil {
		f.Fatal(err)
	}
	if _, err := j.Record(f.Context(), state.Event{Type: state.EvInit,
		Init: &state.Init{JournalID: gitstate.NewID(time.Now()), Branch: "main"}}); err != nil {
		f.Fatal(err)
	}
	for _, path := range []string{"/", "/api/state", "/api/log?limit=7&before=" + strings.Repeat("0", 40),
		"/api/iterations?before=3&limit=-1&q=%00",
		"/api/iterations/1", "/api/iterations/1/output?name=../x", "/api/tasks/T-1",
		"/api/tasks/..%2f..%2fx", "//api/state",
		"/api/log?before=" + j.Newest().String(), "*", "/api/iterations/9e9/diff"} {
		f.Add("GET", path, "", "", uint8(0))
	}
	f.Add("POST", "/api/command", `{"command":"skip","args":["T-1","--cascade","-C","/"]}`, "application/json", uint8(0))
	f.Add("POST", "/api/command", `{"command":"answer","args":{"id":"--help","text":["a",1]}}`, "application/json; x",
		uint8(1))
	f.Add("POST", "/api/command", `{"command":"stop","args":{"now":"true"}}`, "application/json", uint8(2))
	f.Fuzz(func(t *testing.T, method, path, body, kind string, as uint8) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || u.Path == "/api/events" || !strings.HasPrefix(path, "/") {
			return // a stream ends only with its reader
		}
		book := &shelf{j: j}
		s := New(book, false)
		s.port = 7777
		req := httptest.NewRequest("GET", "http://127.0.0.1:7777/", strings.NewReader(body))
		req.Method, req.URL, req.Host = method, u, "127.0.0.1:7777"
		req.Header.Set("Content-Type", kind)
		whole := as%4 == 0
		switch as % 4 {
		case 1: // no cookie
		case 2:
			req.Header.Set("Origin", "http://elsewhere.example")
		case 3:
			req.Host = "elsewhere.example:7777"
		}
		if as%4 != 1 {
			req.AddCookie(&http.Cookie{Name: s.cookieName(), Value: s.cookie()})
		}
		w := httptest.NewRecorder()
		s.guarded(s.routes()).ServeHTTP(w, req)
		if w.Code >= 500 || !whole && (w.Code != http.StatusForbidden && w.Code != http.StatusUnauthorized ||
			len(book.done) > 0) {
			t.Errorf("%s %q as %d: %d %s", method, path, as%4, w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %q: no JSON: %q", method, path, w.Body)
		}
		for _, words := range book.done {
			form, known := forms[words[0]]
			if !known || method != "POST" {
				t.Errorf("%s did %q", method, words)
			}
			for _, word := range words[1:] {
				name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
				if word == "--" {
					break
				}
				if !strings.HasPrefix(word, "--") || !slices.Contains(form.flags, name) {
					t.Errorf("%q has the option %q", words, word)
				}
			}
		}
	})
}
