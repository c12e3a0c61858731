package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAllowedGitReads runs the git commands that are labelled harmless and allowed
// by the guard. It compares a real repository before and after, so that the labels
// are proven.
func TestAllowedGitReads(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on this machine")
	}
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "PAGER=cat", "LC_ALL=C", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	repo := filepath.Join(dir, "repo")
	run := func(args ...string) (string, error) {
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = repo, env
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := run(args...)
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return out
	}
	if err := os.MkdirAll(filepath.Join(repo, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	must("init", "-q", "-b", "main")
	must("config", "user.name", "T")
	must("config", "user.email", "t@example.org")
	for _, step := range []string{"one", "two", "three"} {
		for _, f := range []string{"tracked.txt", "x", "sub/a.txt"} {
			if err := os.WriteFile(filepath.Join(repo, f), []byte(step+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		must("add", ".")
		must("commit", "-q", "-m", step)
	}
	must("branch", "feature")
	must("tag", "v1.0")
	must("remote", "add", "origin", repo)
	if err := os.WriteFile(filepath.Join(repo, "x"), []byte("changed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	state := func() string {
		var b strings.Builder
		b.WriteString(must("for-each-ref"))
		b.WriteString(must("ls-files", "-s", "-v"))
		b.WriteString(must("status", "--porcelain"))
		err := filepath.WalkDir(filepath.Join(repo, ".git"), func(p string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.Name() == "index" {
				return nil // compared as entries above
			}
			b.WriteString(p + "\n")
			if d.Name() == "HEAD" || d.Name() == "config" {
				c, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				b.Write(c)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	p := New(filepath.ToSlash(repo), filepath.ToSlash(dir))
	before := state()
	ran, worked := 0, 0
	for _, list := range []string{"dev.jsonl", "redteam.jsonl", "redteam2.jsonl", "redteam3.jsonl"} {
		for _, s := range readSamples(t, list) {
			rest, ok := strings.CutPrefix(s.Command, "git ")
			if !ok || s.Verdict != Allow || strings.ContainsAny(s.Command, "|&;<>$`()\n*#") ||
				strings.Contains(s.Command, "/tmp") || strings.HasPrefix(rest, "ralph") || strings.HasPrefix(rest, "apply") {
				continue
			}
			if v := p.Judge(s.Command); !v.Allowed() {
				t.Errorf("denied: %q: %+v", s.Command, v)
				continue
			}
			ran++
			if _, err := run(splitXargs(rest)...); err == nil {
				worked++
			}
			if after := state(); after != before {
				t.Fatalf("git %s changed the repository:\n%s\n---\n%s", rest, before, after)
			}
		}
	}
	t.Logf("%d commands run, %d of them did not fail", ran, worked)
	if ran < 60 || worked < ran/2 {
		t.Errorf("%d commands run, %d of them worked: the fixture says too little", ran, worked)
	}
}

// TestGitAbbreviations asks git which abbreviations of a dangerous option it
// accepts. Each of them must be denied.
func TestGitAbbreviations(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on this machine")
	}
	dir := t.TempDir()
	if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := New("/srv/code/app", "")
	taken := 0
	for _, c := range []struct{ sub, option, operands string }{
		{"branch", "--move", "a b"}, {"branch", "--delete", "a"}, {"branch", "--copy", "a b"},
		{"branch", "--force", "a b"}, {"branch", "--edit-description", ""},
		{"branch", "--set-upstream-to", "a"}, {"branch", "--unset-upstream", ""}, {"tag", "--delete", "a"},
		{"tag", "--force", "a"}, {"tag", "--annotate", "a"},
		{"config", "--unset", "a.b"}, {"config", "--add", "a.b c"}, {"config", "--replace-all", "a.b c"},
		{"config", "--rename-section", "a b"}, {"config", "--edit", ""},
		{"grep", "--open-files-in-pager", "x"}, {"fsck", "--lost-found", ""}, {"apply", "--index", "p"},
		{"apply", "--cached", "p"}, {"apply", "--3way", "p"},
		{"symbolic-ref", "--delete", "x"}, {"ls-remote", "--upload-pack", "x ."},
	} {
		for n := 3; n <= len(c.option); n++ {
			short := c.option[:n]
			cmd := exec.Command(git, append([]string{"-C", dir, c.sub, short}, strings.Fields(c.operands)...)...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_EDITOR=true", "GIT_PAGER=true",
				"LC_ALL=C", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
			out, _ := cmd.CombinedOutput()
			if msg := string(out); strings.Contains(msg, "unknown option") ||
				strings.Contains(msg, "ambiguous option") || strings.Contains(msg, "usage: git") && n < len(c.option) {
				continue
			}
			taken++
			if v := p.Judge("git " + c.sub + " " + short + " " + c.operands); v.Allowed() {
				t.Errorf("git takes %s for %s of %s, and it is allowed", short, c.option, c.sub)
			}
		}
	}
	if taken < 60 {
		t.Errorf("git took only %d spellings: the test says too little", taken)
	}
}
