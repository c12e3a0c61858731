package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"git-ralph/internal/view"
	"git-ralph/plan"
)

func TestSend(t *testing.T) {
	type request struct{ path, title, body string }
	var got []request
	status := 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, request{r.Method + " " + r.URL.Path, r.Header.Get("Title"), string(body)})
		w.WriteHeader(status)
	}))
	defer server.Close()
	n := notification{Event: "complete", Status: "complete", Reason: "say \"hi\"\n\x01", Branch: "main",
		Repository: "/home/me/shop", Tasks: plan.Counts{Total: 3, Done: 3},
		CostUSD: view.CostDoc{Iteration: "0.10", Session: "1.25", Total: "2.50"}, Next: "git ralph status"}
	for _, tt := range []struct {
		why, to, path, title string
		want                 []string // of the body
		status               int
		warning              string
	}{
		{"a webhook gets all of it", "webhook:" + server.URL + "/hook", "POST /hook", "",
			[]string{`"event":"complete"`, `"branch":"main"`, `"session":1.25`}, 200, ""},
		{"the address may be a variable", "slack:${SLACK}", "POST /slack", "",
			[]string{`"text":"git ralph: shop complete`, `3 of 3 tasks done, $1.25`}, 200, ""},
		{"ntfy has a title", "ntfy:" + server.URL + "/topic", "POST /topic", "git ralph: shop complete",
			[]string{"next: git ralph status"}, 200, ""},
		{"telegram has its token in the environment", "telegram:42", "POST /botTOKEN/sendMessage", "",
			[]string{`"chat_id":"42"`}, 200, ""},
		{"a refusal is said without the address", "webhook:" + server.URL + "/secret",
			"POST /secret", "", nil, 403, "answered 403"},
		{"no address", "webhook:${NOT_SET}", "", "", nil, 200, "is its variable set?"},
	} {
		got, status = nil, tt.status
		var warnings bytes.Buffer
		a := &App{Ctx: t.Context(), Out: io.Discard, Err: &warnings, Env: []string{"SLACK=" + server.URL + "/slack",
			"TELEGRAM_BOT_TOKEN=TOKEN", "TELEGRAM_API=" + server.URL}}
		a.send([]string{tt.to}, n)
		if w := warnings.String(); tt.warning == "" && w != "" || !strings.Contains(w, tt.warning) ||
			strings.Contains(w, "secret") {
			t.Errorf("%s: warned %q", tt.why, w)
		}
		if tt.path == "" {
			continue
		}
		if len(got) != 1 || got[0].path != tt.path || got[0].title != tt.title {
			t.Errorf("%s: %q", tt.why, got)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(got[0].body, want) {
				t.Errorf("%s: %q is not in %s", tt.why, want, got[0].body)
			}
		}
		if strings.HasPrefix(got[0].body, "{") && !json.Valid([]byte(got[0].body)) {
			t.Errorf("%s: no JSON: %s", tt.why, got[0].body)
		}
	}
}
