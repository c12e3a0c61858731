package guard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHookTranscripts answers events that real clients have sent. All are ordinary
// work, and none may be denied.
func TestHookTranscripts(t *testing.T) {
	f, err := os.Open("../fixtures/guard/hooks/events.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var e struct {
			Client string          `json:"client"`
			Event  json.RawMessage `json:"event"`
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		var cwd struct {
			Cwd string `json:"cwd"`
		}
		if err := json.Unmarshal(e.Event, &cwd); err != nil {
			t.Fatal(err)
		}
		if a := HookAnswer(e.Client, e.Event, New(cwd.Cwd, "/home/agent")); a.Exit != 0 || len(a.Stdout)+len(a.Stderr) > 0 {
			t.Errorf("%s: %s\nanswered %d %s%s", e.Client, e.Event, a.Exit, a.Stdout, a.Stderr)
		}
	}
	if n < 20 {
		t.Errorf("only %d events", n)
	}
}

func TestHookAnswer(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	for _, c := range []struct {
		client, event string
		policy        *Policy
		exit          int
		says, why     string
	}{
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git commit -m x"}}`, p,
			2, "the harness commits", "a refusal says what to do"},
		{"codex",
			`{"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"*** Delete File: .git/HEAD"}}`,
			p, 2, "git directory", "a patch"},
		{"gemini", `{"hook_event_name":"BeforeTool","tool_name":"write_file","tool_input":{"file_path":".git/HEAD"}}`,
			p, 2, "git directory", "another client's event"},
		{"claude",
			`{"hook_event_name":"PreToolUse","tool_name":"Bash","cwd":"/srv/code/app/.git","tool_input":{"command":"rm HEAD"}}`,
			p, 2, "git directory", "the client's folder counts"},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, p, 0, "",
			"ordinary work"},
		{"claude", `{"hook_event_name":"Stop"}`, p, 0, "", "nothing is about to run"},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, nil, 2,
			"no policy", "fails closed"},
		{"claude", `not json`, p, 2, "not JSON", "fails closed"},
		{"claude", ``, p, 2, "not JSON", "fails closed"},
		{"claude", `{}`, p, 2, "no known name", "fails closed"},
		{"claude", `{"hook_event_name":"PreToolUse"}`, p, 2, "no tool", "fails closed"},
		{"claude", `{"hook_event_name":"BrandNew","tool_name":"Bash","tool_input":{"command":"ls"}}`, p, 2,
			"no known name", "an event of a later version is not waved through"},
		{"claude", `{"hook_event_name":"PreToolUse","tool_name":"Teleport","tool_input":{}}`, p, 2, "not offered",
			"nor is a tool"},
		{"other", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`, p, 2,
			"unknown client", "fails closed"},
	} {
		a := HookAnswer(c.client, []byte(c.event), c.policy)
		if a.Exit != c.exit || !strings.Contains(string(a.Stderr), c.says) {
			t.Errorf("%s %s (%s): got %d %q", c.client, c.event, c.why, a.Exit, a.Stderr)
		}
		if a.Exit == 0 {
			continue
		}
		var out struct {
			Decision string `json:"decision"`
			Specific struct {
				Event    string `json:"hookEventName"`
				Decision string `json:"permissionDecision"`
				Reason   string `json:"permissionDecisionReason"`
			} `json:"hookSpecificOutput"`
		}
		if err := json.Unmarshal(a.Stdout, &out); err != nil || out.Decision != "deny" &&
			(out.Specific.Decision != "deny" || out.Specific.Reason == "" || out.Specific.Event != "PreToolUse") {
			t.Errorf("the JSON form refuses too: %s (%v)", a.Stdout, err)
		}
	}
}

func TestHookRewrites(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	p.Toolchain, _ = NewToolchain("python-uv")
	a := HookAnswer("claude",
		[]byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"pytest -q","timeout":9}}`), p)
	want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",` +
		`"updatedInput":{"command":"uv run pytest -q","timeout":9}}}` + "\n"
	if diff := cmp.Diff(want, string(a.Stdout)); diff != "" || a.Exit != 0 {
		t.Errorf("exit %d, answer (-want +got):\n%s", a.Exit, diff)
	}
	if a := HookAnswer("codex",
		[]byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"pytest -q"}}`),
		p); len(a.Stdout) > 0 {
		t.Errorf("codex is not known to take other arguments: %s", a.Stdout)
	}
}

func TestAnswerJSONL(t *testing.T) {
	in := strings.Join([]string{
		`{"command":"git status","verdict":"ignored"}`, `{"command":"git push"}`, ``, `{"cmd":"ls"}`, `[1]`,
		`{"command":"` + strings.Repeat("x", maxLine) + `"}`, `{"command":""}`, `{"command":"ls"}`,
	}, "\n") // the last line has no newline
	var out bytes.Buffer
	if err := AnswerJSONL(strings.NewReader(in), &out, New("/srv/code/app", "")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
		var m map[string]string
		if err := json.Unmarshal([]byte(line), &m); err != nil || len(m) != 4 {
			t.Fatalf("an answer has four texts: %q (%v)", line, err)
		}
		got = append(got, m["verdict"]+" "+m["class"])
	}
	want := []string{"allow ", "deny git-write", "deny input", "deny input", "deny input", "deny input", "allow ",
		"allow "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := AnswerJSONL(strings.NewReader(in), failingWriter{}, New("/", "")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a failing writer: %v", err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestPolicyJSON(t *testing.T) {
	p := New("/srv/code/app", "/home/user").ForPhase("discovery")
	p.Aliases = map[string]string{"st": "status"}
	p.Toolchain, _ = NewToolchain("node-pnpm")
	b, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	q, err := Unmarshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, q); diff != "" {
		t.Errorf("the hook process would judge by another policy (-written +read):\n%s", diff)
	}
	for _, bad := range []string{``, `{}`, `{"worktree":"rel"}`, `{"worktree":"/a","sandbox":true}`} {
		if _, err := Unmarshal([]byte(bad)); err == nil {
			t.Errorf("%q was taken for a policy", bad)
		}
	}
	// No tools must not come back as all tools.
	none := New("/srv/code/app", "").ForPhase("nonsense")
	b, _ = none.Marshal()
	if q, err = Unmarshal(b); err != nil || q.JudgeTool("Read", json.RawMessage(`{}`)).Allowed() {
		t.Errorf("a policy without tools allows them after a round trip: %v", err)
	}
}
