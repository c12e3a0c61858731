package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// corpusFile holds labelled shell commands, one JSON object a line.
const corpusFile = "../../fixtures/guard/dev.jsonl"

func corpusPath() string {
	if p := os.Getenv("GIT_RALPH_CORPUS"); p != "" {
		return p
	}
	return corpusFile
}

// executed are the classes of the corpus that are about git and can be run without
// risking the machine. If true, allowed commands must end as they do outside.
var executed = map[string]bool{
	"git-read": true, "git-list": true, "git-compound": true,
	"git-alias": false, "git-global-opts": false, "git-other-tools": false, "git-read-exec": false, "git-write": false,
	"gitdir-files": false, "interpreter": false, "lookalike-heredoc": false, "lookalike-text": false,
	"obfuscation": false, "ralph-state": false, "unparsable": false, "wrapper": false,
}

type corpusLine struct {
	Command, Verdict, Class string
}

// TestCorpus executes the git part of the corpus, whatever its verdict: no
// command changes the git directory or anything else outside the worktree.
func TestCorpus(t *testing.T) {
	data, err := os.ReadFile(corpusPath())
	if err != nil {
		t.Fatal(err)
	}
	b := newBox(t, "")
	b.spec.Network = NetworkNone
	b.outside(`git config alias.ci commit && git config alias.co checkout && git config alias.undo 'reset --hard ` +
		`HEAD~1' && git config alias.shellalias '!git branch evil' && git config alias.st status && git config alias.lg ` +
		`'log --oneline'`)
	pristine := filepath.Join(b.dir, "state", "pristine")
	b.outside(`cp -a . ../../../state/pristine && rm -rf ../../../state/pristine/.git`)
	every := long.Number(t, 48, 1)
	if os.Getenv("GIT_RALPH_CORPUS") != "" {
		every = long.Number(t, 120, 8) // the second run, as another user, takes a smaller sample
	}
	before := b.protected()
	var ran, denied, compared int
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<20)
	for n := 0; scan.Scan(); n++ {
		var l corpusLine
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		same, ok := executed[l.Class]
		if !ok || n%every != 0 {
			continue
		}
		ran++
		if l.Verdict == "deny" {
			denied++
		}
		limit := 2 * time.Second // some of them never end
		if same && l.Verdict == "allow" {
			limit = time.Minute
		}
		exit := b.bounded(l.Command, limit)
		after := b.protected()
		if same && l.Verdict == "allow" {
			compared++
			cmd := exec.Command("bash", "-c", l.Command)
			cmd.Dir, cmd.Env = b.work, b.env
			cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != exit.Code {
				t.Errorf("%s: ends with %d inside, %d outside", l.Command, exit.Code, got)
			}
		}
		for p, v := range before {
			if after[p] != v {
				t.Errorf("%s (%s, %s)\n changed %s\n before %s\n after  %s", l.Command, l.Class, l.Verdict, p, v, after[p])
			}
		}
		if len(after) != len(before) {
			t.Errorf("%s: %d paths before, %d after", l.Command, len(before), len(after))
		}
		b.restore(pristine)
		if err := RemoveHomeUpper(b.spec.HomeUpper); err != nil {
			t.Fatal(err)
		}
		before = b.protected()
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d commands executed, %d of them violations; %d ended as outside", ran, denied, compared)
	if denied < 100/every || compared < 40/every {
		t.Error("too few commands: is this the corpus?")
	}
}

// restore puts the worktree's files back.
func (b *box) restore(from string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.work)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := RemoveHomeUpper(filepath.Join(b.work, e.Name())); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := os.CopyFS(b.work, os.DirFS(from)); err != nil {
		b.t.Fatal(err)
	}
}

// bounded runs a command and ends it after a while.
func (b *box) bounded(command string, limit time.Duration) proc.Exit {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	g := b.group()
	exit, err := g.Run(ctx, proc.Command{
		Argv: []string{"bash", "-c", command}, Dir: b.work, Env: b.env, Grace: time.Millisecond,
	})
	if err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	if err := g.Close(); err != nil {
		b.t.Fatalf("%s: %v", command, err)
	}
	return exit
}
