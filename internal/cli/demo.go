package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/internal/agent/scripted"
	"git-ralph/internal/proc"
)

// DemoCmd is `git ralph demo`.
type DemoCmd struct {
	Remove bool `help:"Remove the repository afterwards."`
}

// Help says more.
func (DemoCmd) Help() string {
	return "Needs git and nothing else: no key, no network. A scripted agent plays a small plan through the same guard, " +
		"checks and supervision as a real client."
}

// Run plays the demo.
func (c *DemoCmd) Run(a *App) error {
	dir, err := os.MkdirTemp("", "git-ralph-demo-")
	if err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if c.Remove {
		defer os.RemoveAll(dir)
	}
	d := &demo{a: a, dir: dir}
	if err := d.project(); err != nil {
		return fmt.Errorf("make the demo's repository: %w", err)
	}
	d.say("A small project with a test, and a plan of four tasks for it.")
	for _, args := range [][]string{{"trust", "--yes"}, {"init"}, {"import", "../plan.toml"}, {"tasks"}} {
		if err := d.ralph(args...); err != nil {
			return err
		}
	}
	d.say("Now the loop. The agent is a script: its second attempt is wrong on purpose,\nand it tries to commit by " +
		"itself once.")
	if err := d.ralph("start"); err != nil {
		return err
	}
	d.say("What plain git says about the work:")
	if err := d.git("log", "--oneline"); err != nil {
		return err
	}
	d.say("and about how it came about, with the rejected attempt:")
	if err := d.git("log", "--format=%h %s", "ralph/heads/main"); err != nil {
		return err
	}
	d.say("The life of one task, out of its own file:")
	if err := d.git("log", "--format=%h %s", "ralph/heads/main", "--", "tasks/T-002.toml"); err != nil {
		return err
	}
	d.say("The worktree is clean, and replaying the journal gives the same state:")
	if err := d.git("status", "--short", "--branch"); err != nil {
		return err
	}
	if err := d.ralph("fsck"); err != nil {
		return err
	}
	if !c.Remove {
		a.printf(
			"\nLook around: cd %s\n  git ralph show 2      the attempt that was rejected, and why\n  git ralph diff 2      "+
				"what it had changed\n  git log --notes=ralph what each iteration left for the next\n", d.work())
	}
	return nil
}

type demo struct {
	a   *App
	dir string
}

func (d *demo) work() string { return filepath.Join(d.dir, "converter") }

func (d *demo) say(text string) { d.a.printf("\n%s\n", d.a.colour(d.a.Out, "36", text)) }

// project writes the demo's files and commits them.
func (d *demo) project() error {
	files, err := scripted.DemoFiles()
	if err != nil {
		return err
	}
	for name, data := range files {
		p := filepath.Join(d.work(), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p, data, 0o644); err != nil {
			return err
		}
	}
	plan, err := scripted.DemoPlan()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(d.dir, "plan.toml"), plan, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}} {
		if _, err := d.output(args...); err != nil {
			return err
		}
	}
	if _, err := d.output("var", "GIT_COMMITTER_IDENT"); err != nil {
		for key, val := range map[string]string{"user.name": "git ralph demo", "user.email": "demo@localhost"} {
			if _, err := d.output("config", key, val); err != nil {
				return err
			}
		}
	}
	for _, args := range [][]string{{"config", "commit.gpgsign", "false"},
		{"commit", "--quiet", "--message", "A converter of units without units"}} {
		if _, err := d.output(args...); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) output(args ...string) (string, error) {
	path, err := proc.FindGit(d.a.Env)
	if err != nil {
		return "", err
	}
	g := &proc.Git{Path: path, Dir: d.work(), Env: proc.GitEnv(d.a.Env)}
	out, err := g.Run(context.Background(), args...)
	return string(out), err
}

// git shows a command and what it prints.
func (d *demo) git(args ...string) error {
	d.a.printf("%s git %s\n", d.a.colour(d.a.Out, "2", "$"), quoted(args))
	out, err := d.output(args...)
	d.a.printf("%s", out)
	return err
}

// ralph runs one of our own commands in the demo's repository.
func (d *demo) ralph(args ...string) error {
	d.a.printf("%s git ralph %s\n", d.a.colour(d.a.Out, "2", "$"), quoted(args))
	var errs bytes.Buffer
	sub := &App{Ctx: d.a.Ctx, In: d.a.In, Out: d.a.Out, Err: &errs, Env: d.a.Env}
	code := sub.Run(append([]string{"-C", d.work()}, args...))
	d.a.Err.Write(errs.Bytes())
	if code != 0 {
		return &ExitError{Code: code, Err: fmt.Errorf("git ralph %s ended with %d", quoted(args), code)}
	}
	return nil
}

func quoted(args []string) string {
	out := make([]string, len(args))
	for i, s := range args {
		if strings.ContainsAny(s, " %$\"'") {
			s = "'" + s + "'"
		}
		out[i] = s
	}
	return strings.Join(out, " ")
}
