package proc

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// configured is a repository with its own home, and a git that adds a line to a file
// at each start.
func configured(t *testing.T) (g *Git, write func(path, text string), starts func() int) {
	t.Helper()
	dir := t.TempDir()
	home, work, count := filepath.Join(dir, "home"), filepath.Join(dir, "work"), filepath.Join(dir, "starts")
	env := GitEnv([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"})
	path, err := FindGit(env)
	if err != nil {
		t.Fatal(err)
	}
	write = func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("home/empty", "")
	write("git", "#!/bin/sh\necho >>'"+count+"'\nexec '"+path+"' \"$@\"\n")
	if _, err := (&Git{Path: path, Dir: dir, Env: env}).Run(t.Context(), "init", "-q", work); err != nil {
		t.Fatal(err)
	}
	g = &Git{Path: filepath.Join(dir, "git"), GitDir: filepath.Join(work, ".git"), WorkTree: work, Env: env,
		Known: NewKnownConfig(filepath.Join(work, ".git"))}
	return g, write, func() int {
		lines, _ := os.ReadFile(count)
		return len(lines)
	}
}

// TestKnownConfig: git is asked once until a file with its settings changes, and the
// answer is never stale.
func TestKnownConfig(t *testing.T) {
	plain := "[core]\n\tbare = false\n"
	tests := []struct {
		why    string
		before map[string]string // the files at first
		change map[string]string
		want   string // of user.name afterwards
		asked  int    // how often three readings asked git; the change is before the last one
	}{
		{"nothing has changed", map[string]string{"home/.gitconfig": "[user]\nname = a\n"}, nil, "a", 1},
		{"a value of the same length, within the same moment", map[string]string{"home/.gitconfig": "[user]\nname = a\n"},
			map[string]string{"home/.gitconfig": "[user]\nname = b\n"}, "b", 2},
		{"the repository's own", nil, map[string]string{"work/.git/config": plain + "[user]\nname = b\n"}, "b", 2},
		{"a file that was not there", nil, map[string]string{"home/.config/git/config": "[user]\nname = b\n"}, "b", 2},
		{"a file that is included", map[string]string{"home/.gitconfig": "[include]\npath = more\n",
			"home/more": "[user]\nname = a\n"}, map[string]string{"home/more": "[user]\nname = b\n"}, "b", 3},
		{"one that was included before it was there", map[string]string{"home/.gitconfig": "[include]\npath = ~/more\n"},
			map[string]string{"home/more": "[user]\nname = b\n"}, "b", 3},
		{"one that is included for a branch, which is asked for each time", map[string]string{
			"home/.gitconfig": "[includeIf \"onbranch:other\"]\npath = more\n", "home/more": "[user]\nname = b\n"},
			map[string]string{"work/.git/HEAD": "ref: refs/heads/other\n"}, "b", 3},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			g, write, starts := configured(t)
			write("work/.git/config", plain)
			for path, text := range tt.before {
				write(path, text)
			}
			for range 2 {
				if _, err := g.Config(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for path, text := range tt.change {
				write(path, text)
			}
			config, err := g.Config(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := config.Get("user.name"); got != tt.want {
				t.Errorf("user.name is %q, not %q", got, tt.want)
			}
			if got := starts(); got != tt.asked {
				t.Errorf("git was asked %d times, not %d", got, tt.asked)
			}
		})
	}
}

// TestConfigGet: the last value counts. Settings pinned for our own calls do not.
func TestConfigGet(t *testing.T) {
	g, write, _ := configured(t)
	write("home/.gitconfig", "[core]\nhooksPath = theirs\n[a \"B.c\"]\nd = 1\nd = 2\n[gc]\nauto\n")
	config, err := g.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range []string{"core.hookspath", "a.B.c.d", "gc.auto", "a.b.c.d"} {
		if value, ok := config.Get(key); ok {
			got[key] = value
		}
	}
	want := map[string]string{"core.hookspath": "theirs", "a.B.c.d": "2", "gc.auto": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseConfig(t *testing.T) {
	got, err := ParseConfig([]byte("local\x00file:/x\x00a.b\nx\ny\x00command\x00command line:\x00c.d\x00" +
		"local\x00file:/x\x00e.f\n\x00"))
	want := Config{{Scope: "local", File: "/x", Key: "a.b", Value: "x\ny"}, {Scope: "command", Key: "c.d", Bare: true},
		{Scope: "local", File: "/x", Key: "e.f"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"local\x00file:/x\x00a.b\nx", "local\x00file:/x\x00", "local\x00file:/x\x00\nx\x00"} {
		if _, err := ParseConfig([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
