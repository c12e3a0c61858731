package e2e

import (
	"strings"
	"testing"
)

// TestNoSecretInSharedRefs: what an agent or a check prints and what a handoff
// says is redacted before it reaches a ref that can be shared.
func TestNoSecretInSharedRefs(t *testing.T) {
	t.Parallel()
	secret := "ghp_" + strings.Repeat("aB3dE5gH7", 4)
	agent := "cat >/dev/null; echo said " + secret + "; echo new > n.txt\n" +
		`printf '{"task_completed":{"task_id":"T-001","summary":"used ` + secret +
		`","fully_complete":true},"summary":"` + secret + `","freeform":"STRIPE_KEY=q` + secret[4:] +
		` was in the environment, and more words follow here"}' > "$RALPH_HANDOFF_FILE"` + "\n"
	p := newProject(t, agent, "[[checks]]\nname = \"test\"\nrun = \"printf 'check ghp_%s\\\\n' "+secret[4:22]+
		"$(printf "+secret[22:]+"); exit 1\"\n[loop]\nmax_attempts = 1\n[validation]\nbaseline = \"off\"\n", nil)
	p.must(t, "add", "change things")
	p.run(t, nil, "start")
	objects := p.Git("rev-list", "--objects", "--no-object-names", "--glob=refs/ralph", "--glob=refs/notes", "--not",
		"--branches")
	seen := 0
	for _, id := range strings.Fields(objects) {
		if p.Git("cat-file", "-t", id) == "tree" {
			continue
		}
		text := p.Git("cat-file", "-p", id)
		if strings.Contains(text, secret[4:]) {
			t.Errorf("%s has it:\n%s", id, text)
		}
		if strings.Contains(text, "[redacted]") {
			seen++
		}
	}
	if seen == 0 {
		t.Error("nothing was redacted: the test proves nothing")
	}
}
