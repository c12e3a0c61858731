package e2e

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/internal/text"
)

// service plays GitHub for a real gh: one repository with two issues and at
// most one pull request.
type service struct {
	git  func(args ...string) string // in the repository of the server
	mu   sync.Mutex
	seen []string

	pr    map[string]any // the pull request that is open; nil = none
	looks map[string]int // at the checks of each commit
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasSuffix(r.Header.Get("Authorization"), " a-key") {
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	var q struct {
		Query     string
		Variables map[string]any
	}
	body, _ := io.ReadAll(r.Body)
	json.Unmarshal(body, &q)
	s.seen = append(s.seen, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path, strings.Join(strings.Fields(string(body)), " ")))
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/actions/runs/3/logs"):
		z := zip.NewWriter(w)
		if log, err := z.Create("build/1_test.txt"); err == nil {
			io.WriteString(log, "2026-01-01T00:00:00.0Z fixed.txt: no such file\n")
		}
		z.Close()
	case strings.HasSuffix(r.URL.Path, "/actions/jobs/55/logs"):
		io.WriteString(w, "2026-01-01T00:00:00.0Z fixed.txt: no such file\n")
	case strings.HasSuffix(r.URL.Path, "/actions/workflows/1"):
		io.WriteString(w, `{"id":1,"name":"CI"}`)
	case strings.HasSuffix(r.URL.Path, "/actions/jobs/55"):
		io.WriteString(w, `{"id":55,"run_id":3,"name":"build","status":"completed","conclusion":"failure","steps":[
			{"name":"test","number":1,"status":"completed","conclusion":"failure"}]}`)
	case strings.Contains(r.URL.Path, "/actions/runs/3"):
		io.WriteString(w, `{"id":3,"name":"CI","workflow_id":1,"status":"completed","conclusion":"failure","jobs":[]}`)
	case r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/repos/pat/notes/pulls/7"):
		var change fields
		json.Unmarshal(body, &change)
		s.pr["body"] = change["body"]
		io.WriteString(w, "{}")
	case r.URL.Path == "/api/graphql" && strings.Contains(strings.ToLower(q.Query), "project"):
		io.WriteString(w, `{"errors":[{"message":"Projects (classic) is being deprecated"}]}`)
	case r.URL.Path == "/api/graphql":
		json.NewEncoder(w).Encode(map[string]any{"data": s.answer(q.Query, q.Variables)})
	default:
		http.NotFound(w, r)
	}
}

type fields = map[string]any

func nodes(list ...any) fields {
	return fields{"nodes": append([]any{}, list...), "totalCount": len(list), "pageInfo": fields{"hasNextPage": false}}
}

// answer returns all that gh may ask about the repository. gh ignores fields that
// it does not need.
func (s *service) answer(query string, variables fields) fields {
	input, _ := variables["input"].(fields)
	switch {
	case strings.Contains(query, "createPullRequest"):
		s.pr = fields{"id": "PR_7", "number": 7, "url": "https://example.com/pat/notes/pull/7", "state": "OPEN",
			"isDraft": input["draft"], "title": input["title"], "body": input["body"], "headRefName": input["headRefName"],
			"baseRefName": input["baseRefName"], "isCrossRepository": false, "headRepositoryOwner": fields{"login": "pat"}}
		return fields{"createPullRequest": fields{"pullRequest": fields{"id": "PR_7", "url": s.pr["url"]}}}
	case strings.Contains(query, "updatePullRequest"):
		s.pr["body"] = input["body"]
		return fields{"updatePullRequest": fields{"pullRequest": fields{"id": "PR_7"}}}
	case strings.Contains(query, "markPullRequestReadyForReview"):
		s.pr["isDraft"] = false
		return fields{"markPullRequestReadyForReview": fields{"pullRequest": fields{"id": "PR_7"}}}
	case strings.Contains(query, "__type("):
		out := fields{} // here gh accepts only fields that it asked for
		for _, m := range regexp.MustCompile(`(\w+): __type`).FindAllStringSubmatch(query, -1) {
			out[m[1]] = fields{"fields": []any{fields{"name": "state"}}}
		}
		return out
	}
	repository := fields{"id": "R_1", "name": "notes", "owner": fields{"id": "U_1", "login": "pat"},
		"hasIssuesEnabled": true, "viewerPermission": "WRITE", "isPrivate": false, "parent": nil,
		"defaultBranchRef": fields{"name": "main"}, "pullRequests": nodes(), "pullRequest": nil}
	if s.pr != nil {
		s.pr["headRefOid"] = s.git("rev-parse", "notes")
		s.pr["statusCheckRollup"] = nodes(fields{"commit": fields{"oid": s.pr["headRefOid"],
			"statusCheckRollup": fields{"contexts": nodes(s.check(query))}}})
		repository["pullRequests"], repository["pullRequest"] = nodes(s.pr), s.pr
	}
	issue := func(n int, title string) fields {
		return fields{"number": n, "title": title, "body": "", "labels": nodes(fields{"name": "ralph"})}
	}
	if strings.Contains(query, "repo_000") {
		return fields{"repo_000": repository}
	}
	return fields{"repository": repository, "viewer": fields{"login": "pat"},
		"search": fields{"issueCount": 2, "nodes": []any{issue(41, "write one"), issue(42, "write two")},
			"pageInfo": fields{"hasNextPage": false}}}
}

// check is the only check of the pull request. It runs at the first look at a
// commit, and is red until the commit has fixed.txt.
func (s *service) check(query string) fields {
	commit := s.git("rev-parse", "notes")
	c := fields{"__typename": "CheckRun", "name": "build", "status": "COMPLETED", "conclusion": "SUCCESS",
		"startedAt": "2026-01-01T00:00:00Z", "completedAt": "2026-01-01T00:01:00Z",
		"detailsUrl": "https://example.com/pat/notes/actions/runs/3/job/55",
		"checkSuite": fields{"workflowRun": fields{"workflow": fields{"name": "CI"}}}}
	if !strings.Contains(s.git("ls-tree", "--name-only", "notes"), "fixed.txt") {
		c["conclusion"] = "FAILURE"
	}
	if strings.Contains(query, "detailsUrl") {
		s.looks[commit]++
	}
	if s.looks[commit] == 1 {
		c["status"], c["conclusion"] = "IN_PROGRESS", ""
	}
	return c
}

// proxy forwards every connection to one server, so that gh reaches it at the name
// and port that it expects.
func proxy(t *testing.T, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				if r, err := http.ReadRequest(in); err != nil || r.Method != http.MethodConnect {
					return
				}
				there, err := net.Dial("tcp", server)
				if err != nil {
					return
				}
				defer there.Close()
				io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
				go func() { io.Copy(there, in); there.Close() }()
				io.Copy(c, there)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// TestRealGh uses the installed gh with a server on the loopback address: it imports issues, opens a pull request and
// follows its checks.
func TestRealGh(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gh"); err != nil {
		t.Skip("there is no gh here, so the client of GitHub is a script in all tests")
	}
	long.Only(t, "the client that is installed reads and writes a pull request")
	p := newProject(t, `prompt=$(cat)
echo "$RALPH_TASK_ID" >> one.txt
case $prompt in
*"make the checks of the pull request green"*) echo "$prompt" > prompt.txt; echo fixed > fixed.txt ;;
esac
git ralph tool ralph_mark_task_complete "{\"task_id\": \"$RALPH_TASK_ID\", \"verification_notes\": \"it is there\"}"
`, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n[pr]\ngate = true\n"+
		"settle = \"0s\"\nwait = \"20s\"\n"+check, nil)
	remote := filepath.Join(filepath.Dir(p.Dir), "remote.git")
	p.Git("init", "-q", "--bare", remote)
	p.Git("remote", "add", "origin", "https://example.com/pat/notes.git")
	p.Git("config", "remote.origin.pushurl", remote)
	p.Git("push", "-q", "origin", "main")
	p.Git("update-ref", "refs/remotes/origin/main", "main")
	p.Git("switch", "-q", "-c", "notes")
	s := &service{looks: map[string]int{}, git: func(args ...string) string {
		return p.Git(append([]string{"--git-dir=" + remote}, args...)...)
	}}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(text.Clip(strings.Join(s.seen, "\n"), 30_000))
		}
	})
	ca := filepath.Join(t.TempDir(), "ca.pem")
	key := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(ca, key, 0o644); err != nil {
		t.Fatal(err)
	}
	// The certificate of such a server is for example.com.
	p.Env = append(p.Env, "GH_HOST=example.com", "GH_ENTERPRISE_TOKEN=a-key", "SSL_CERT_FILE="+ca,
		"GH_CONFIG_DIR="+t.TempDir(), "GH_NO_UPDATE_NOTIFIER=1", "TMPDIR="+t.TempDir(),
		"HTTPS_PROXY="+proxy(t, server.Listener.Addr().String()), "https_proxy=", "NO_PROXY=", "no_proxy=")
	if tasks := p.must(t, "import", "github:ralph"); !strings.Contains(tasks, "2") {
		t.Fatalf("the issues did not come: %s", tasks)
	}
	if r := p.run(t, nil, "start"); r.code != 5 || !strings.Contains(r.out, "no pull request is open for this branch") {
		t.Fatalf("exit %d; want it to ask for a pull request\n%s%s", r.code, r.out, r.err)
	}
	out := p.must(t, "pr", "--yes")
	if !strings.Contains(out, "opened https://example.com/pat/notes/pull/7, a draft until the plan is complete") {
		t.Errorf("%s", out)
	}
	if body := fmt.Sprint(s.pr["body"]); !strings.Contains(body, "Closes #41") || s.pr["isDraft"] != true {
		t.Errorf("the pull request is %v", s.pr)
	}

	out = p.must(t, "start")
	for _, want := range []string{"pull request 7: not through yet: CI / build",
		"pull request 7 is red: CI / build; a task", "pull request 7: its check is green at ", "\ncomplete\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the run does not say %q:\n%s", want, out)
		}
	}
	if prompt := p.Read("prompt.txt"); !strings.Contains(prompt, "fixed.txt: no such file") {
		t.Errorf("the prompt does not have what the red check printed:\n%s", prompt)
	}
	if there := s.git("rev-parse", "notes"); there != p.Git("rev-parse", "notes") {
		t.Errorf("the pull request stands at %s", there)
	}
	if out = p.must(t, "pr", "--yes"); !strings.Contains(out, "updated https://example.com/pat/notes/pull/7") {
		t.Errorf("%s", out)
	}
	if s.pr["isDraft"] != false || strings.Count(fmt.Sprint(s.pr["body"]), "<!-- git ralph -->") != 1 {
		t.Errorf("the pull request is %v", s.pr)
	}
	p.sound(t)
}
