package e2e

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestBadSurroundings: every command reports a problem of the machine in a
// sentence with a next step and exit code 8, never with a dump.
func TestBadSurroundings(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing")
	fake := func(text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "git"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, r := range []struct {
		why      string
		env      []string
		before   string // what the shell does first
		commands []string
		said     string
	}{
		{"few addresses", nil, "ulimit -v 2900000", []string{"status", "start", "fsck", "log"}, "ulimit -v unlimited"},
		{"a git that answers nonsense", []string{"PATH=" + fake("#!/bin/sh\necho garbage\n")}, "",
			[]string{"status", "start", "log"}, "git --version"},
		{"a git that is no program", []string{"PATH=" + fake("\x7fELF garbage")}, "", []string{"status", "start"},
			"git --version"},
		{"no git", []string{"PATH=" + t.TempDir()}, "", []string{"status", "start", "doctor"}, "install git"},
		{"no temporary folder", []string{"TMPDIR=" + filepath.Join(t.TempDir(), "none")}, "", []string{"start", "verify"},
			"set TMPDIR"},
		{"a temporary folder that is a file", []string{"TMPDIR=" + filepath.Join(fake("x"), "git")}, "", []string{"start"},
			"set TMPDIR"},
	} {
		for _, command := range r.commands {
			c := exec.Command("/bin/sh", "-c", r.before+"\n"+`exec "$0" "$@"`, self(t), command)
			c.Dir, c.Env = p.Dir, append(append([]string{}, p.Env...), r.env...)
			out, err := c.CombinedOutput()
			if c.ProcessState == nil {
				t.Fatal(err)
			}
			text := string(out)
			if c.ProcessState.ExitCode() != 8 || !strings.Contains(text, "hint: ") || !strings.Contains(text, r.said) ||
				strings.Contains(text, "goroutine ") {
				t.Errorf("%s, %s: exit %d\n%s", r.why, command, c.ProcessState.ExitCode(), text)
			}
		}
	}
	p.sound(t)
}

// TestUnwritableCache: commands work without the cache, only slower.
func TestUnwritableCache(t *testing.T) {
	t.Parallel()
	long.Only(t, "a cache that cannot be written")
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing")
	env := []string{"XDG_CACHE_HOME=/proc/none", "XDG_STATE_HOME=/proc/none", "XDG_RUNTIME_DIR=/proc/none"}
	for _, command := range []string{"status", "log", "prompt"} {
		if r := p.run(t, env, command); r.code != 0 {
			t.Errorf("%s: exit %d\n%s%s", command, r.code, r.out, r.err)
		}
	}
	if r := p.run(t, env, "start"); r.code != 0 && (r.code != 8 || !strings.Contains(r.err, "hint: ")) {
		t.Errorf("start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.must(t, "start")
	p.sound(t)
}

// TestNobodyReads: the reader of the output is gone. A command ends silently,
// and a run loses nothing.
func TestNobodyReads(t *testing.T) {
	t.Parallel()
	long.Only(t, "a reader that stops")
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing")
	for _, command := range []string{"log", "config", "status", "start"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command(self(t), command)
		c.Dir, c.Env, c.Stdout = p.Dir, p.Env, w
		said, err := c.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close() // as head does when it has its line
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		w.Close()
		text, err := io.ReadAll(said)
		if err != nil {
			t.Fatal(err)
		}
		c.Wait()
		if got := string(text); strings.Contains(got, "goroutine ") || command != "start" && got != "" {
			t.Errorf("%s: %v\n%s", command, c.ProcessState, got)
		}
	}
	closed := exec.Command("/bin/sh", "-c", `exec "$0" start >&-`, self(t))
	closed.Dir, closed.Env = p.Dir, p.Env
	if out, err := closed.CombinedOutput(); err != nil {
		t.Errorf("with a closed output: %v\n%s", err, out)
	}
	p.sound(t)
	if got := p.Read("out-T-001.txt"); got != "T-001\n" {
		t.Errorf("after all: %q", got)
	}
}
