package e2e

import (
	"strings"
	"testing"
)

// TestGitSecretsAreCovered: a password in a remote's URL is for the person's
// git, not for the agent. If nothing can hide it, it is named first.
func TestGitSecretsAreCovered(t *testing.T) {
	t.Parallel()
	p := newProject(t, "{ git config -l; cat .git/config; grep -rs THE-TOKEN .git; git remote -v; } > seen.txt\n"+
		doTask, "[validation]\nbaseline = \"off\"\n"+check, nil)
	p.Git("config", "remote.origin.url", "https://me:THE-TOKEN@example.invalid/x.git")
	p.Git("config", "http.https://example.invalid/.extraheader", "Authorization: Basic THE-TOKEN")
	config := p.Read(".git/config")
	p.must(t, "add", "a thing")
	const names = "remote.origin.url (.git/config), http.https://example.invalid/.extraheader (.git/config)"
	if got := p.must(t, "doctor"); !strings.Contains(got, "covered in the sandbox: "+names) ||
		strings.Contains(got, "THE-TOKEN") {
		t.Errorf("doctor says\n%s", got)
	}
	r := p.run(t, nil, "start")
	if r.code != 0 || strings.Contains(r.out+r.err, "secrets") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Read("seen.txt"); strings.Contains(got, "THE-TOKEN") ||
		!strings.Contains(got, "origin\thttps://example.invalid/x.git (fetch)") {
		t.Errorf("the agent saw\n%s", got)
	}
	if !strings.HasPrefix(p.Read(".git/config"), config) {
		t.Errorf("the configuration itself was changed:\n%s", p.Read(".git/config"))
	}
	p.sound(t)

	p.must(t, "add", "another thing")
	off := []string{"RALPH_GUARD_SANDBOX=off"}
	if r = p.run(t, off, "doctor"); !strings.Contains(r.out, "the agent can read them in git's configuration: "+
		names) || strings.Contains(r.out, "THE-TOKEN") {
		t.Errorf("doctor without the sandbox says\n%s", r.out)
	}
	if r = p.run(t, off, "start"); r.code != 0 || !strings.Contains(r.err,
		"the agent can read secrets in git's configuration: "+names) || strings.Contains(r.out+r.err, "THE-TOKEN") {
		t.Errorf("without the sandbox: exit %d\n%s%s", r.code, r.out, r.err)
	}
}
