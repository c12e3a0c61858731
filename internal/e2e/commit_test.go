package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestCommitHooks: with the setting, the repository's hooks run for a kept
// commit, on the committed tree. If a hook fails, the attempt is rejected.
func TestCommitHooks(t *testing.T) {
	t.Parallel()
	const seen = "#!/bin/sh\ngit diff --cached --name-only HEAD > \"$PWD/../hook.txt\"\n"
	rows := []struct {
		why, settings     string
		preCommit, change string // change is the commit-msg hook
		code              int
		ran               bool
		says, reason      string
	}{
		{"by default no hook runs", "", seen, "#!/bin/sh\necho 'Seen-by: hook' >> \"$1\"\n", 0, false, "", ""},
		{"they run when asked for", "[commit]\nhooks = true\n", seen, "#!/bin/sh\necho 'Seen-by: hook' >> \"$1\"\n", 0,
			true, "Seen-by: hook", ""},
		{"what a hook refuses is rejected", "[commit]\nhooks = true\n[loop]\nmax_attempts = 1\n",
			"#!/bin/sh\necho no such thing >&2\nexit 1\n", "", 3, false, "", "pre-commit"},
	}
	for _, r := range long.Sample(t, rows, 3) {
		t.Run(r.why, func(t *testing.T) {
			p := newProject(t, doTask, r.settings, nil)
			p.hook(t, "pre-commit", r.preCommit)
			if r.change != "" {
				p.hook(t, "commit-msg", r.change)
			}
			p.must(t, "add", "write a file", "--verify", "true")
			before := p.Git("rev-parse", "HEAD")
			res := p.run(t, nil, "start")
			if res.code != r.code {
				t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
			}
			hook := p.Read("../hook.txt")
			if ran := strings.Contains(hook, "out-T-001.txt"); ran != r.ran {
				t.Errorf("the hook saw %q", hook)
			}
			if r.code != 0 {
				if p.Git("rev-parse", "HEAD") != before {
					t.Error("there is a commit")
				}
				if s := p.show(t, "1"); !strings.Contains(s.Reason, r.reason) {
					t.Errorf("reason %q", s.Reason)
				}
			} else if msg := p.Git("log", "-1", "--format=%B"); r.says != "" != strings.Contains(msg, "Seen-by: hook") {
				t.Errorf("message:\n%s", msg)
			}
			p.sound(t)
		})
	}
}

// hook writes a hook of the repository.
func (p *project) hook(t *testing.T, name, script string) {
	t.Helper()
	path := filepath.Join(p.Dir, ".git", "hooks", name)
	p.Write(filepath.Join(".git", "hooks", name), script)
	if out, err := exec.Command("chmod", "+x", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// TestSigning: if git is configured to sign, a kept commit is signed with the
// configured identity. An unusable key is found before anything runs.
func TestSigning(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("no ssh-keygen here")
	}
	p := newProject(t, doTask, "", nil)
	key := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.Git("config", "gpg.format", "ssh")
	p.Git("config", "user.signingKey", key)
	p.Git("config", "commit.gpgSign", "true")
	p.must(t, "add", "write a file", "--verify", "true")
	p.must(t, "start")
	if raw := p.Git("cat-file", "commit", "HEAD"); !strings.Contains(raw, "-----BEGIN SSH SIGNATURE-----") {
		t.Errorf("it is not signed:\n%s", raw)
	}
	p.sound(t)
	p.must(t, "add", "write another", "--verify", "true")
	p.Git("config", "user.signingKey", key+".gone")
	before := p.Git("rev-parse", "HEAD")
	if r := p.run(t, nil, "start"); r.code != 8 || !strings.Contains(r.err, "sign") ||
		p.Git("rev-parse", "HEAD") != before {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}
