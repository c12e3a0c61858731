package e2e

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestPushNeedsCredentials: an agent's git push has none, whatever is stored.
func TestPushNeedsCredentials(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var secrets []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if a := r.Header.Get("Authorization"); a != "" {
			secrets = append(secrets, a)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	defer server.Close()
	url := strings.Replace(server.URL, "http://", "http://user@", 1) + "/r.git"
	push := `"$G" push "` + url + `" HEAD:main; env -i PATH="$PATH" HOME="$HOME" "$G" push "` + url + `" HEAD:main`
	seen := func() string {
		mu.Lock()
		defer mu.Unlock()
		s := strings.Join(secrets, " ")
		secrets = nil
		return s
	}
	a := attack{agent: push, setup: func(t *testing.T, p *project) {
		putFile(t, outside(p, "home/.git-credentials"), strings.Replace(server.URL, "http://",
			"http://user:the-password@", 1)+"\n")
		putFile(t, outside(p, "home/.gitconfig"), "[credential]\n\thelper = store\n")
	}}
	p := attackProject(t, a)
	p.bare(t)
	if got := seen(); !strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("user:the-password"))) {
		t.Fatalf("outside of a run the password is not sent, so this proves nothing: %q", got)
	}
	p = attackProject(t, a)
	p.must(t, "add", "a thing")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := seen(); strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("user:the-password"))) {
		t.Errorf("with the sandbox the password was sent: %q", got)
	}
	// Without the sandbox the file is visible, but the harness disables helpers.
	a.agent = `"$G" push "` + url + `" HEAD:main`
	p = attackProject(t, a)
	p.must(t, "add", "a thing")
	if r := p.run(t, []string{"RALPH_GUARD_SANDBOX=off"}, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := seen(); strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("user:the-password"))) {
		t.Errorf("without the sandbox the password was sent: %q", got)
	}
}

// TestEnvironment: agents and checks do not get unlisted secrets.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	p := newProject(t, "env > agent-env.txt\n"+doTask,
		"env_allow = [\"GOOD_TOKEN\"]\n[validation]\nbaseline = \"off\"\n"+check,
		map[string]string{"test.sh": "env > \"$PWD/../check-env.txt\" 2>/dev/null || env > check-env.txt; ! env | grep -q " +
			"SECRET\n", ".gitignore": "check-env.txt\n"})
	p.Env = append(p.Env, "MY_SECRET=s1", "API_KEY=s2", "GITHUB_TOKEN=s3", "AWS_REGION=s4", "DB_PASSWORD=s5",
		"GOOD_TOKEN=shared",
		"SSH_AUTH_SOCK=/nowhere/agent", "GIT_DIR_UNRELATED=x", "PLAIN=yes", "ANTHROPIC_API_KEY=s6")
	p.must(t, "add", "a thing")
	if r := p.run(t, []string{"RALPH_GUARD_SANDBOX=off"}, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	checks := readFile(t, outside(p, "check-env.txt"))
	for name, env := range map[string]string{"the agent": p.Read("agent-env.txt"), "a check": checks} {
		for _, kv := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "/nowhere/agent"} {
			if strings.Contains(env, "="+kv+"\n") {
				t.Errorf("%s has %s:\n%s", name, kv, env)
			}
		}
		for _, kv := range []string{"PLAIN=yes\n", "GOOD_TOKEN=shared\n", "GIT_TERMINAL_PROMPT=0\n", "HUSKY=0\n"} {
			if !strings.Contains(env, kv) {
				t.Errorf("%s has no %q", name, kv)
			}
		}
	}
}

// TestChecksSeeNoLogin: checks cannot read the login files of clients.
func TestChecksSeeNoLogin(t *testing.T) {
	t.Parallel()
	if !hasNamespaces() {
		t.Skip("no sandbox here")
	}
	files := []string{".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json",
		".local/share/opencode/auth.json"}
	p := newProject(t, doTask, check, map[string]string{
		"test.sh": "cd && ! grep -q secret " + strings.Join(files, " ") + "\n"})
	for _, f := range files {
		putFile(t, outside(p, "home/"+f), "secret\n")
	}
	p.must(t, "add", "a thing")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
