package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// pageOf is `git ralph serve` and somebody who has opened its address.
type pageOf struct {
	t       *testing.T
	url     string // with the token
	base    string
	browser *http.Client // has the cookie
}

// serve starts the page of a project; it ends with the test.
func (p *project) serve(t *testing.T, args ...string) *pageOf {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, append([]string{"serve"}, args...)...)
	c.Dir, c.Env, c.Stderr = p.Dir, p.Env, os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("git ralph serve ended with %v", err)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("serve printed no address: %v", err)
	}
	go io.Copy(io.Discard, out)
	at, err := url.Parse(strings.TrimSpace(line))
	if err != nil || at.Query().Get("token") == "" {
		t.Fatalf("the first line is %q (%v)", line, err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &pageOf{t: t, url: at.String(), base: at.Scheme + "://" + at.Host, browser: &http.Client{Jar: jar,
		Timeout: time.Minute}}
	res, err := s.browser.Get(s.url)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the page: %v %v", res, err)
	}
	res.Body.Close()
	return s
}

// get reads a document of the page.
func (s *pageOf) get(path string, into any) {
	s.t.Helper()
	code, body := s.ask(s.browser, "GET", path, nil, nil)
	if code != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, code, body)
	}
	if text, ok := into.(*string); ok {
		*text = body
	} else if err := json.Unmarshal([]byte(body), into); err != nil {
		s.t.Fatalf("%s: %v\n%s", path, err, body)
	}
}

// ask sends a request and gives back status and body.
func (s *pageOf) ask(c *http.Client, method, path string, headers map[string]string, body io.Reader) (int, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, s.base+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range headers {
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	res, err := c.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// command gives a command as the page does.
func (s *pageOf) command(body string) (int, string) {
	s.t.Helper()
	return s.ask(s.browser, "POST", "/api/command", map[string]string{"Content-Type": "application/json",
		"Origin": s.base}, strings.NewReader(body))
}

// served is a project with a kept, a rejected and a second kept iteration.
func served(t *testing.T) *project {
	p := newProject(t, `if [ "$RALPH_TASK_ID" = T-002 ] && [ "$RALPH_ATTEMPT" = 1 ]; then touch broken; fi
`+doTask, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check, nil)
	p.must(t, "add", "<script>alert(1)</script>")
	p.must(t, "add", "the second thing")
	p.must(t, "start")
	return p
}

// TestPageShowsTheRun: every document of the page agrees with the journal, also
// while no loop runs.
func TestPageShowsTheRun(t *testing.T) {
	t.Parallel()
	p := served(t)
	s := p.serve(t)
	var page string
	if s.get("/", &page); !strings.Contains(page, "<!doctype html>") || strings.Contains(page, "src=\"http") {
		t.Errorf("the page is not one document of its own:\n%.200s", page)
	}
	var doc map[string]any
	s.get("/api/state", &doc)
	var status map[string]any
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &status); err != nil {
		t.Fatal(err)
	}
	for key, want := range status {
		if got := doc[key]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v on the page and %v in the status", key, got, want)
		}
	}
	if n := len(doc["plan"].([]any)); n != 2 {
		t.Errorf("the plan has %d tasks", n)
	}
	var list struct {
		Iterations []map[string]any
		Next       *int
	}
	s.get("/api/iterations?limit=2", &list)
	if len(list.Iterations) != 2 || list.Iterations[0]["iteration"] != 3.0 || list.Next == nil || *list.Next != 2 {
		t.Fatalf("the first page is %+v", list)
	}
	s.get(fmt.Sprintf("/api/iterations?limit=2&before=%d", *list.Next), &list)
	if len(list.Iterations) != 1 || list.Iterations[0]["iteration"] != 1.0 || list.Next != nil {
		t.Fatalf("the second page is %+v", list)
	}
	for query, want := range map[string]int{"verdict=reject": 1, "q=second": 2, "task=t-001": 1, "q=nowhere": 0,
		"q=%3Cscript": 1, "limit=1000000": 3} {
		if s.get("/api/iterations?"+query, &list); len(list.Iterations) != want {
			t.Errorf("%s finds %d iterations, want %d", query, len(list.Iterations), want)
		}
	}
	var one map[string]any
	if s.get("/api/iterations/2", &one); one["verdict"] != "reject" || one["task"] != "T-002" || one["handoff"] == nil {
		t.Errorf("iteration 2 is %v", one)
	}
	for path, want := range map[string]string{"diff": "b/broken", "prompt": "the second thing",
		"transcript": "", "output?name=test": "exit"} {
		var text string
		if s.get("/api/iterations/2/"+path, &text); want != "exit" && !strings.Contains(text, want) {
			t.Errorf("%s is %q", path, text)
		}
	}
	if s.get("/api/tasks/T-002", &one); len(one["iterations"].([]any)) != 2 {
		t.Errorf("the task is %v", one)
	}
}

// TestPageSteers: a request to the page acts like the command of that name and
// shows in the status at once. The log names who asked and where.
func TestPageSteers(t *testing.T) {
	t.Parallel()
	p := served(t)
	p.must(t, "add", "the third thing")
	s := p.serve(t)
	events, err := s.browser.Get(s.base + "/api/events")
	if err != nil || events.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream: %v %v", events, err)
	}
	defer events.Body.Close()
	stream := bufio.NewReader(events.Body)
	until := func(want string) {
		t.Helper()
		for {
			line, err := stream.ReadString('\n')
			if err != nil {
				t.Fatalf("the stream ended before %q: %v", want, err)
			}
			if strings.HasPrefix(line, "data:") && strings.Contains(line, want) {
				return
			}
		}
	}
	until(`"branch":"main"`)
	for _, x := range []struct{ body, event, log string }{
		{`{"command":"pause"}`, `"paused":true`, "operator: pause"},
		{`{"command":"resume","args":[]}`, `"paused":false`, "operator: resume"},
		{`{"command":"inject","args":["--now is no option here"]}`, "--now is no option here", "operator: inject"},
		{`{"command":"skip","args":{"id":"T-003","reason":"not wanted"}}`, `"status":"skipped"`, "not wanted"},
		{`{"command":"retry","args":"T-003"}`, `"status":"pending"`, "retry"},
		{`{"command":"set","args":{"key":"loop.max_iterations","value":7}}`, `"max_iterations":7`, "operator: set"},
		{`{"command":"block","args":["T-003","waits for a key"]}`, "waits for a key", "waits for a key"},
		{`{"command":"unblock","args":["T-003"]}`, `"status":"pending"`, "unblock"},
	} {
		if code, said := s.command(x.body); code != http.StatusOK {
			t.Errorf("%s: %d %s", x.body, code, said)
			continue
		}
		until(x.event)
		if line := p.must(t, "log", "-n", "1"); !strings.Contains(line, x.log) ||
			!strings.Contains(line, "from the page") {
			t.Errorf("after %s the log says %q", x.body, line)
		}
	}
	for body, want := range map[string]int{
		`{"command":"stop"}`:                                                 http.StatusConflict, // nothing runs
		`{"command":"skip","args":["T-999"]}`:                                http.StatusConflict,
		`{"command":"set","args":["agent.command","rm -rf /"]}`:              http.StatusConflict,
		`{"command":"set","args":["loop.mode","fast"]}`:                      http.StatusConflict,
		`{"command":"start"}`:                                                http.StatusBadRequest,
		`{"command":"guard","args":["--","true"]}`:                           http.StatusBadRequest,
		`{"command":"pause","args":["-C","/"]}`:                              http.StatusConflict,
		`{"command":"pause","more":1}`:                                       http.StatusBadRequest,
		`{"command":"inject","args":[{"a":1}]}`:                              http.StatusBadRequest,
		`[]`:                                                                 http.StatusBadRequest,
		`{"command":"inject","args":["` + strings.Repeat("x", 1<<17) + `"]}`: http.StatusRequestEntityTooLarge,
	} {
		before := p.Git("rev-parse", "refs/ralph/heads/main")
		if code, said := s.command(body); code != want || !strings.Contains(said, `"error"`) {
			t.Errorf("%.60s: %d %s, want %d", body, code, said, want)
		}
		if p.Git("rev-parse", "refs/ralph/heads/main") != before {
			t.Errorf("%.60s changed the journal", body)
		}
	}
}

// TestPageIsForItsOwnBrowserOnly: a request from another site, for another host
// or without the token does nothing. A method that only reads changes nothing.
func TestPageIsForItsOwnBrowserOnly(t *testing.T) {
	t.Parallel()
	p := served(t)
	s := p.serve(t)
	stranger := &http.Client{Timeout: time.Minute}
	port := s.base[strings.LastIndex(s.base, ":"):]
	pause := `{"command":"pause"}`
	asJSON := "application/json"
	before := p.Git("for-each-ref")
	for _, x := range []struct {
		name    string
		who     *http.Client
		method  string
		path    string
		headers map[string]string
		want    int
	}{
		{"no token", stranger, "GET", "/api/state", nil, 401},
		{"no token, the page itself", stranger, "GET", "/", nil, 401},
		{"no token, the stream", stranger, "GET", "/api/events", nil, 401},
		{"a wrong token", stranger, "GET", "/?token=AAAA", nil, 401},
		{"a wrong token beside the cookie", s.browser, "GET", "/?token=AAAA", nil, 401},
		{"a command without the token", stranger, "POST", "/api/command", map[string]string{"Content-Type": asJSON}, 401},
		{"a name that was made to lead here", s.browser, "GET", "/api/state",
			map[string]string{"Host": "evil.example" + port}, 403},
		{"another port", s.browser, "GET", "/api/state", map[string]string{"Host": "127.0.0.1:1"}, 403},
		{"a foreign page that sends", s.browser, "POST", "/api/command",
			map[string]string{"Content-Type": asJSON, "Origin": "https://evil.example"}, 403},
		{"a page of another port that sends", s.browser, "POST", "/api/command",
			map[string]string{"Content-Type": asJSON, "Origin": "http://127.0.0.1:1"}, 403},
		{"a page without an origin that sends", s.browser, "POST", "/api/command",
			map[string]string{"Content-Type": asJSON, "Origin": "null"}, 403},
		{"a foreign page that reads", s.browser, "GET", "/api/state",
			map[string]string{"Origin": "https://evil.example"}, 403},
		{"a foreign page that embeds", s.browser, "GET", "/api/state",
			map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a form", s.browser, "POST", "/api/command", map[string]string{"Content-Type": "application/x-www-form-urlencoded"},
			415},
		{"plain text", s.browser, "POST", "/api/command", map[string]string{"Content-Type": "text/plain"}, 415},
		{"a command by GET", s.browser, "GET", "/api/command?command=pause", nil, 404},
		{"a command by PUT", s.browser, "PUT", "/api/command", map[string]string{"Content-Type": asJSON}, 404},
		{"a file", s.browser, "GET", "/ralph.toml", nil, 404},
		{"a part that there is not", s.browser, "GET", "/api/iterations/1/..%2f..%2fstate", nil, 404},
		{"no number", s.browser, "GET", "/api/iterations/x", nil, 404},
		{"no iteration", s.browser, "GET", "/api/iterations/999", nil, 404},
		{"no check", s.browser, "GET", "/api/iterations/1/output?name=../../prompt", nil, 404},
		{"no entry", s.browser, "GET", "/api/log?before=HEAD", nil, 400},
		{"no number of a page", s.browser, "GET", "/api/iterations?limit=-1", nil, 400},
	} {
		if code, body := s.ask(x.who, x.method, x.path, x.headers, strings.NewReader(pause)); code != x.want {
			t.Errorf("%s: %d, want %d\n%.200s", x.name, code, x.want, body)
		}
	}
	// This client sends the path unchanged.
	cookie := s.browser.Jar.Cookies(mustURL(t, s.base))[0]
	for _, path := range []string{"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/api/iterations/../../../etc/passwd",
		"//etc/passwd", "/api/tasks/..%2f..%2fjournal.toml", "/..\\..\\etc\\passwd"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nCookie: %s=%s\r\nConnection: close\r\n\r\n", path,
			strings.TrimPrefix(s.base, "http://"), cookie.Name, cookie.Value)
		answer, err := io.ReadAll(conn)
		conn.Close()
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 404") {
			t.Errorf("%s: %.80q %v", path, answer, err)
		}
	}
	res, err := stranger.Get(s.url)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if c := res.Cookies(); len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode ||
		strings.Contains(s.url, c[0].Value) {
		t.Errorf("the cookie is %v", res.Header["Set-Cookie"])
	}
	policy := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'sha256-", "connect-src 'self'",
		"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy has no %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") ||
		res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the headers are too weak: %v", res.Header)
	}
	if after := p.Git("for-each-ref"); after != before {
		t.Errorf("refs were changed:\n%s\n%s", before, after)
	}
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:0", ":0", "example.com:0", "[::]:0"} {
		if r := p.run(t, nil, "serve", "--addr", addr); r.code != 2 || !strings.Contains(r.err, "hint: ") {
			t.Errorf("--addr %s: exit %d\n%s", addr, r.code, r.err)
		}
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestPageReadOnly: with --read-only everything is shown and no command taken.
func TestPageReadOnly(t *testing.T) {
	t.Parallel()
	p := served(t)
	s := p.serve(t, "--read-only")
	var doc map[string]any
	if s.get("/api/state", &doc); doc["read_only"] != true {
		t.Errorf("read_only is %v", doc["read_only"])
	}
	before := p.Git("for-each-ref")
	if code, said := s.command(`{"command":"pause"}`); code != http.StatusForbidden {
		t.Errorf("%d %s", code, said)
	}
	if after := p.Git("for-each-ref"); after != before {
		t.Errorf("refs were changed:\n%s\n%s", before, after)
	}
}

// TestPageOfAFetchedJournal: in a clone that fetched the journal, the page and
// watch show the run without the evidence, which was not fetched.
func TestPageOfAFetchedJournal(t *testing.T) {
	t.Parallel()
	long.Only(t, "a page of a journal without its run")
	p := served(t)
	clone := *p.Repo
	clone.Dir = filepath.Join(t.TempDir(), "clone")
	p.Git("clone", "--quiet", p.Dir, clone.Dir)
	clone.Git("fetch", "--quiet", "origin", "refs/ralph/heads/main:refs/ralph/heads/main")
	q := &project{Repo: &clone, bin: p.bin}
	before := clone.Git("for-each-ref")
	s := q.serve(t)
	var doc map[string]any
	if s.get("/api/state", &doc); doc["status"] != "complete" || doc["running"] != nil {
		t.Errorf("the state is %v, running %v", doc["status"], doc["running"])
	}
	if s.get("/api/iterations/3", &doc); doc["verdict"] != "keep" || doc["evidence"] != nil {
		t.Errorf("iteration 3 is %v with the evidence %v", doc["verdict"], doc["evidence"])
	}
	var diff string
	if s.get("/api/iterations/3/diff", &diff); !strings.Contains(diff, "out-T-002.txt") {
		t.Errorf("what was kept differs by %q", diff)
	}
	if code, said := s.ask(s.browser, "GET", "/api/iterations/2/transcript", nil, nil); code != 404 ||
		!strings.Contains(said, "hint") {
		t.Errorf("a transcript that is not here: %d %s", code, said)
	}
	if after := clone.Git("for-each-ref"); after != before {
		t.Errorf("looking changed refs:\n%s\n%s", before, after)
	}
}

// TestPageOutlivesACrowd: a thousand connections that send their requests byte
// by byte, or nothing at all, do not keep a person out.
func TestPageOutlivesACrowd(t *testing.T) {
	t.Parallel()
	long.Only(t, "many look at the page at once")
	p := served(t)
	s := p.serve(t)
	addr := strings.TrimPrefix(s.base, "http://")
	for i := range 1000 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		defer conn.Close()
		if i%3 > 0 {
			io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+addr[:i%len(addr)])
		}
		if i%100 == 0 {
			var doc map[string]any
			s.get("/api/state", &doc)
		}
	}
	fresh := &http.Client{Timeout: time.Minute}
	for range 3 {
		res, err := fresh.Get(s.url)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("a person is kept out: %v %v", res, err)
		}
		res.Body.Close()
		fresh.CloseIdleConnections()
	}
}
