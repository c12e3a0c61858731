package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
)

// goSpeaks are words of a library or of the Go runtime that mean nothing to a user.
var goSpeaks = regexp.MustCompile(`goroutine \d|panic|strconv|invalid syntax|exit status \d|\d bit int|` +
	`fork/exec|exec: |unexpected end of JSON|%!|runtime error|<nil>|kong|reflect|lstat |stat |context canceled|` +
	`unexpected newline|EOF|--end-of-options|did you mean one of "-h"`)

// exitCodes are those that doc/exit-codes.md explains.
var exitCodes = map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}

// TestMistakes makes a new user's mistakes with every command, in every place. A
// refusal names one fact and the next move, and its exit code is documented.
func TestMistakes(t *testing.T) {
	t.Chdir(".") // -C changes the process's folder; this restores it for the next test
	home := t.TempDir()
	t.Setenv("HOME", home)
	empty := repo.Empty(t)
	plain := repo.New(t, map[string]string{"a.txt": "a\n", "sub/keep": ""})
	work := repo.New(t, map[string]string{"a.txt": "a\n", "sub/keep": ""})
	done := repo.New(t, map[string]string{"a.txt": "a\n", "sub/keep": ""})
	busy := repo.New(t, map[string]string{"a.txt": "a\n", "sub/keep": ""})
	bare := filepath.Join(t.TempDir(), "bare.git")
	plain.Git("clone", "-q", "--bare", ".", bare)
	env := append(repo.Env(home), "PATH="+os.Getenv("PATH"))
	run := func(dir string, args ...string) (int, string, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var out, errs bytes.Buffer
		app := &App{Ctx: ctx, In: strings.NewReader(""), Out: &out, Err: &errs, Env: env}
		code := app.Run(append([]string{"-C", dir}, args...))
		return code, out.String(), errs.String()
	}
	for _, r := range []*repo.Repo{work, done, busy} {
		if code, _, errs := run(r.Dir, "add", "a task"); code != 0 {
			t.Fatal(errs)
		}
	}
	run(done.Dir, "skip", "T-001")
	g, err := gitstate.Open(t.Context(), busy.Dir, env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	held, err := g.LockBranch("main")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()

	if !long.Full() {
		t.Log("a sample of the words; all of them: just test-long")
	}
	for _, place := range []struct {
		name, dir string
		most      int // of the words, in the short form; -1 = none
	}{{"no repository", t.TempDir(), 1}, {"a bare repository", bare, -1}, {"no commit", empty.Dir, 0},
		{"no journal", plain.Dir, 0}, {"a plan", work.Dir, 2}, {"a subfolder", filepath.Join(work.Dir, "sub"), -1},
		{"all done", done.Dir, -1}, {"a loop runs", busy.Dir, 0}} {
		for _, name := range commandNames(t) {
			for i, words := range [][]string{nil, {""}, {"T-999"}, {"999"}, {"-1"}, {"0"}, {"sub"}, {"nofile"},
				{"T-001", "a", "b", "c"}, {"--nonsense"}, {"-n", "many"}} {
				if most := place.most; !long.Full() && i > most && (!long.On() || i > most+2) {
					break
				}
				if stays[name] && len(words) == 0 {
					continue
				}
				code, out, errs := run(place.dir, append(strings.Fields(name), words...)...)
				what := place.name + ": git ralph " + name + " " + strings.Join(words, " ")
				if testing.Verbose() {
					t.Logf("%s → %d\n%s%s", what, code, firstLines(out, 3), errs)
				}
				checkRefusal(t, what, code, out, errs)
			}
		}
	}
}

// TestServeAddress: the refusal of an unusable address names a usable one.
func TestServeAddress(t *testing.T) {
	t.Chdir(".")
	home := t.TempDir()
	t.Setenv("HOME", home)
	work := repo.New(t, map[string]string{"a.txt": "a\n"})
	env := append(repo.Env(home), "PATH="+os.Getenv("PATH"))
	for _, args := range [][]string{{"add", "a task"}, {"serve", "--addr", "x"}, {"serve", "--addr", "127.0.0.1:nothing"},
		{"serve", "--addr", "0.0.0.0:0"}} {
		var out, errs bytes.Buffer
		app := &App{Ctx: t.Context(), In: strings.NewReader(""), Out: &out, Err: &errs, Env: env}
		code := app.Run(append([]string{"-C", work.Dir}, args...))
		if what := strings.Join(args, " "); (code == 0) != (args[0] == "add") {
			t.Errorf("%s: exit %d\n%s%s", what, code, out.String(), errs.String())
		} else {
			checkRefusal(t, what, code, out.String(), errs.String())
		}
	}
}

// TestSetNamesItsKey: `set` with a key alone knows every short form that `set` with a value takes.
func TestSetNamesItsKey(t *testing.T) {
	t.Chdir(".")
	home := t.TempDir()
	t.Setenv("HOME", home)
	work := repo.New(t, map[string]string{"a.txt": "a\n"})
	env := append(repo.Env(home), "PATH="+os.Getenv("PATH"))
	for key, want := range map[string]string{
		"model":    `agent.model is "" now`,
		"Mode":     `loop.mode is "handoff-only" now`,
		"strategy": `validation.strategy is "strict" now`,
	} {
		var out, errs bytes.Buffer
		app := &App{Ctx: t.Context(), In: strings.NewReader(""), Out: &out, Err: &errs, Env: env}
		if code := app.Run([]string{"-C", work.Dir, "set", key}); code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("set %s: exit %d, want 2 and %q\n%s", key, code, want, errs.String())
		}
	}
}

// stays are commands that keep running, or do all their work, without arguments.
var stays = map[string]bool{"demo": true, "watch": true, "serve": true}

// commandNames are the commands that help lists.
func commandNames(t *testing.T) (names []string) {
	t.Helper()
	var cmds Commands
	parser, err := kong.New(&cmds)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range parser.Model.Leaves(true) {
		names = append(names, nodeName(n))
	}
	return names
}

// checkRefusal checks that a user can understand a refusal. A success must not look
// like one.
func checkRefusal(t *testing.T, what string, code int, out, errs string) {
	t.Helper()
	if code == 0 {
		if strings.Contains(errs, "error:") {
			t.Errorf("%s: exit code 0, and it says\n%s", what, errs)
		}
		return
	}
	if !exitCodes[code] {
		t.Errorf("%s: exit code %d is not documented", what, code)
	}
	if odd := goSpeaks.FindString(errs); odd != "" {
		t.Errorf("%s: %q is no word for a user:\n%s", what, odd, errs)
	}
	if strings.Contains(errs, "  ") || strings.Contains(errs, "error: is ") || strings.Contains(errs, "argument \n") {
		t.Errorf("%s: a word is missing:\n%s", what, errs)
	}
	if errs == "" && out != "" {
		return // the answer itself is the refusal, as that of doctor or guard
	}
	fact, hints := "", 0
	for line := range strings.Lines(errs) {
		line = strings.TrimSuffix(line, "\n")
		switch text, ok := strings.CutPrefix(line, "error: "); {
		case ok && fact != "":
			t.Errorf("%s: two facts:\n%s", what, errs)
		case ok:
			fact = text
		case strings.HasPrefix(line, "hint: "):
			hints++
		}
	}
	switch {
	case fact == "":
		t.Errorf("%s: exit code %d and no fact:\n%s%s", what, code, out, errs)
	case hints == 0:
		t.Errorf("%s: no next move:\n%s", what, errs)
	case strings.HasSuffix(fact, ".") || strings.Count(fact, ": ") > 3:
		t.Errorf("%s: this is no fact in one sentence:\n%s", what, errs)
	}
}

func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
