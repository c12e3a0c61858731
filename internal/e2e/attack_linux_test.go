package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// expected is how an iteration ends under an attack.
type expected struct {
	code    int
	verdict string
	reason  string // a part of it
}

var (
	kept     = expected{0, "keep", ""}
	refsMove = expected{5, "reject", "tampered: refs"}
)

func rejected(reason string) expected { return expected{4, "reject", reason} }

// attack is one way in which an agent turns git, or what the harness does,
// against its user.
type attack struct {
	name, why string
	files     map[string]string
	// setup prepares the user's side, before the journal begins.
	setup func(t *testing.T, p *project)
	// agent is the attack in sh, before the task. $G is the real git. A payload
	// that the harness runs creates $W, a file outside of the worktree.
	agent string
	// harness is what a careless harness does besides plain git; nil = nothing.
	harness func(p *project)
	alone   bool // plain git itself would hang
	// worked reports whether the attack succeeded.
	worked func(p *project) bool
	// With the sandbox and with RALPH_GUARD_SANDBOX=off.
	boxed, off expected
	// then checks what is left; boxed = with the sandbox.
	then func(t *testing.T, p *project, boxed bool)
}

// payload is a program that proves that it ran outside of the agent: the
// processes of an iteration have its event id.
const payload = `cat > tools.sh <<END
#!/bin/sh
[ -n "\$RALPH_EVENT_ID" ] || echo ran >> "$W"
cat 2>/dev/null
END
chmod +x tools.sh
`

func ran(p *project) bool { return exists(filepath.Join(p.Dir, "..", "witness")) }

func outside(p *project, name string) string { return filepath.Join(filepath.Dir(p.Dir), name) }

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func putFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// careless is the harness that everybody writes first: plain git, in place.
func careless(p *project) {
	for _, args := range [][]string{{"status"}, {"diff"}, {"add", "-A"}, {"commit", "-q", "-m", "the work"},
		{"log", "-1", "--format=%s"}, {"reset", "-q", "--hard", "HEAD~1"}, {"clean", "-fdq"}} {
		p.Try(args...)
	}
}

// attackProject is a project whose agent attacks first and works then.
func attackProject(t *testing.T, a attack) *project {
	t.Helper()
	files := map[string]string{"value.txt": "good\n", "sub/file.txt": "the user's\n"}
	for k, v := range a.files {
		files[k] = v
	}
	p := newProject(t, "{\n"+a.agent+"\n} >/dev/null 2>&1 </dev/null\ncd \"$R\"\n"+doTask,
		"[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check, files)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "G="+git, "R="+p.Dir, "W="+outside(p, "witness"), "O="+filepath.Dir(p.Dir))
	if a.setup != nil {
		a.setup(t, p)
	}
	return p
}

// bare runs the agent without any harness around it.
func (p *project) bare(t *testing.T) {
	t.Helper()
	c := exec.Command("sh", "agent.sh")
	c.Dir = p.Dir
	c.Env = append(append([]string{}, p.Env...), "RALPH_EVENT_ID=bare", "RALPH_TASK_ID=T-001",
		"RALPH_HANDOFF_FILE="+outside(p, "handoff.json"))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("the agent alone: %v\n%s", err, out)
	}
}

// TestAttacks: each attack works against a careless harness and fails against
// our harness, with and without the sandbox. The short form runs a sample and
// alternates the two.
func TestAttacks(t *testing.T) {
	t.Parallel()
	ways := []bool{true, false}
	each := long.Number(t, 1, len(ways))
	for i, a := range long.Sample(t, append(attacksOnGit(), attacksOnTheHarness()...), 12) {
		t.Run(a.name, func(t *testing.T) {
			t.Run("careless", func(t *testing.T) {
				t.Parallel()
				p := attackProject(t, a)
				p.bare(t)
				if !a.alone {
					careless(p)
				}
				if a.harness != nil {
					a.harness(p)
				}
				if !a.worked(p) {
					t.Errorf("%s: the reproducer does not work against a careless harness, so it proves nothing", a.why)
				}
			})
			for n := range each {
				boxed := ways[(i+n)%len(ways)]
				name, want := "sandbox", a.boxed
				var env []string
				if !boxed {
					name, want, env = "off", a.off, []string{"RALPH_GUARD_SANDBOX=off"}
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					p := attackProject(t, a)
					p.must(t, "add", "a thing")
					config := p.Read(".git/config")
					refs := p.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/replace")
					got := p.run(t, env, "start", "--once")
					if got.code != want.code {
						t.Fatalf("%s: exit %d, expected %d\n%s%s", a.why, got.code, want.code, got.out, got.err)
					}
					s := p.show(t, "1")
					if s.Verdict != want.verdict || !strings.Contains(s.Reason, want.reason) {
						t.Errorf("%s: %s %q, expected %s %q", a.why, s.Verdict, s.Reason, want.verdict, want.reason)
					}
					if want == refsMove {
						movedRefs(t, p, got, refs)
						p.Git("reset", "-q", "--hard")
						p.Git("clean", "-fdq")
						p.sound(t)
						return
					}
					if a.worked(p) {
						t.Errorf("%s: it worked", a.why)
					}
					if now := p.Read(".git/config"); now != config {
						t.Errorf("the configuration is now\n%s", now)
					}
					if a.then != nil {
						a.then(t, p, boxed)
					}
					p.sound(t)
				})
			}
		})
	}
}

// movedRefs: no ref was moved back. The halt shows both values and how to go on
// or back. New refs stay: they may be a person's.
func movedRefs(t *testing.T, p *project, got result, refs string) {
	t.Helper()
	list := func() string {
		return p.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/replace")
	}
	if list() == refs {
		t.Error("no ref was moved: the reproducer does not work, or refs were put back")
	}
	if !strings.Contains(got.err, " → ") || !strings.Contains(got.err, "git ralph adopt") {
		t.Errorf("the halt does not say what moved and how to go on:\n%s", got.err)
	}
	if st := p.must(t, "status", "--json"); !strings.Contains(st, "refs_moved") {
		t.Errorf("status does not say why:\n%s", st)
	}
	// The commands that it names restore the refs.
	for line := range strings.Lines(got.err) {
		if cmd := strings.TrimSpace(line); strings.HasPrefix(cmd, "git ") && strings.Contains(cmd, "git update-ref ") {
			c := exec.Command("sh", "-c", cmd)
			c.Dir, c.Env = p.Dir, p.Env
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", cmd, err, out)
			}
		}
	}
	now := list()
	for was := range strings.SplitSeq(refs, "\n") {
		if !strings.Contains(now+"\n", was+"\n") {
			t.Errorf("after the commands the refs are\n%s\nand were\n%s\n%s", now, refs, got.err)
		}
	}
	for is := range strings.SplitSeq(now, "\n") {
		name, _, _ := strings.Cut(is, " ")
		named := strings.Contains(got.err, name+": absent → ") ||
			strings.Contains(got.err, "git branch "+strings.TrimPrefix(name, "refs/heads/")+" ")
		if !strings.Contains(refs, name+" ") && !named {
			t.Errorf("%s is new and not named:\n%s", name, got.err)
		}
	}
}

// configures sets a setting of the user's repository.
func configures(key, value string) func(*testing.T, *project) {
	return func(_ *testing.T, p *project) { p.Git("config", key, value) }
}

// filterOfTheAgent appends a filter that git runs to a configuration file.
func filterOfTheAgent(file string) string {
	return `printf '[filter "x"]\n\tclean = ./tools.sh\n' >> ` + file +
		`; echo '*.txt filter=x' > .gitattributes; echo new > new.txt`
}

func attacksOnGit() []attack {
	configured := func(text string) string { return payload + `printf '` + text + `' >> .git/config` }
	return []attack{
		{name: "fsmonitor", why: "git status runs core.fsmonitor", worked: ran, boxed: kept,
			off:   rejected("tampered: config"),
			agent: configured(`[core]\n\tfsmonitor = ./tools.sh\n`)},
		{name: "hooks", why: "a commit runs its hooks", worked: ran, boxed: kept, off: rejected("tampered: hooks"),
			agent: payload +
				`mkdir -p .git/hooks; for h in pre-commit post-commit post-index-change reference-transaction; do cp tools.sh ` +
				`.git/hooks/$h; done`},
		{name: "hooks as a link", why: "the folder of hooks leads into the worktree", worked: ran, boxed: kept,
			off:   rejected("tampered: hooks"),
			agent: payload + `mkdir -p h; cp tools.sh h/pre-commit; rm -rf .git/hooks; ln -s "$PWD/h" .git/hooks`},
		{name: "hooksPath", why: "core.hooksPath names a folder of the worktree", worked: ran, boxed: kept,
			off:   rejected("tampered: config"),
			agent: configured(`[core]\n\thooksPath = h\n`) + `; mkdir -p h; cp tools.sh h/pre-commit`},
		{name: "filters", why: "git add runs filter.clean", worked: ran, boxed: kept, off: rejected("tampered: config"),
			agent: configured(`[filter "x"]\n\tclean = ./tools.sh\n\tsmudge = ./tools.sh\n`) +
				`; echo '*.txt filter=x' > .gitattributes; echo new > new.txt`},
		{name: "settings of the team", why: "the settings include a file of the worktree", worked: ran, boxed: kept,
			off:   rejected("tampered: config"),
			files: map[string]string{"team.gitconfig": "[core]\n"}, setup: configures("include.path", "../team.gitconfig"),
			agent: payload + filterOfTheAgent("team.gitconfig")},
		{name: "settings of the team that lack", why: "the settings include a file that nobody has made", worked: ran,
			boxed: rejected("tampered: config"), off: rejected("tampered: config"),
			setup: configures("include.path", "../team.gitconfig"), agent: payload + filterOfTheAgent("team.gitconfig")},
		{name: "script of a filter", why: "the user's filter is a script of the worktree", worked: ran, boxed: kept,
			off:   rejected("tampered: config"),
			files: map[string]string{"scripts/clean.sh": "cat\n", ".gitattributes": "*.txt filter=x\n"},
			setup: configures("filter.x.clean", "sh scripts/clean.sh"),
			agent: payload + `mv scripts old; mkdir -p scripts; cp tools.sh scripts/clean.sh; echo new > new.txt`},
		{name: "external diff", why: "git diff runs diff.external", worked: ran, boxed: kept,
			off:   rejected("tampered: config"),
			agent: configured(`[diff]\n\texternal = ./tools.sh\n`) + `; echo changed >> value.txt`},
		{name: "textconv", why: "git diff runs textconv", worked: ran, boxed: kept, off: rejected("tampered: config"),
			agent: configured(`[diff "x"]\n\ttextconv = ./tools.sh\n`) +
				`; echo '*.txt diff=x' > .gitattributes; echo changed >> value.txt`},
		{name: "core.worktree", why: "git clean and reset work on another folder", boxed: kept,
			off:    rejected("tampered: config"),
			setup:  func(t *testing.T, p *project) { putFile(t, outside(p, "victim/precious.txt"), "precious\n") },
			agent:  `printf '[core]\n\tworktree = %s\n' "$O/victim" >> .git/config`,
			worked: func(p *project) bool { return !exists(outside(p, "victim/precious.txt")) }},
		{name: ".git as a file", why: "a .git file leads to a git directory of the agent's", worked: ran, boxed: kept,
			off: rejected("tampered: git directory"),
			agent: payload +
				`cp -r .git "$O/evil.git" && printf '[core]\n\tfsmonitor = %s/tools.sh\n' "$PWD" >> "$O/evil.git/config" && mv ` +
				`.git "$O/aside.git" && echo "gitdir: $O/evil.git" > .git`,
			then: func(t *testing.T, p *project, boxed bool) { isFolder(t, p, ".git") }},
		{name: ".git as a link", why: "a link leads to a git directory of the agent's", worked: ran, boxed: kept,
			off: rejected("tampered: git directory"),
			agent: payload +
				`cp -r .git "$O/evil.git" && printf '[core]\n\tfsmonitor = %s/tools.sh\n' "$PWD" >> "$O/evil.git/config" && mv ` +
				`.git "$O/aside.git" && ln -s "$O/evil.git" .git`,
			then: func(t *testing.T, p *project, boxed bool) { isFolder(t, p, ".git") }},
		{name: "global config", why: "the user's own settings are the agent's", worked: ran, boxed: kept,
			off: rejected("tampered: config"),
			agent: payload +
				`printf '[core]\n\tfsmonitor = ./tools.sh\n[filter "x"]\n\tclean = ./tools.sh\n' >> "$HOME/.gitconfig"; echo ` +
				`'*.txt filter=x' > .gitattributes; echo new > new.txt`,
			then: func(t *testing.T, p *project, boxed bool) {
				if exists(outside(p, "home/.gitconfig")) {
					t.Error("the user has a global configuration now")
				}
			}},
		{name: "nested repository with fsmonitor", why: "git status goes into other repositories", worked: ran,
			boxed: rejected("nested: inner"), off: rejected("nested: inner"),
			agent: payload +
				`"$G" init -q inner && cd inner && echo x > f && "$G" add f && "$G" -c user.name=x -c user.email=x@y commit -qm ` +
				`x && "$G" config core.fsmonitor "$R/tools.sh"`,
			harness: func(p *project) { p.bareAgain(); p.Try("add", "-A"); p.Try("status"); p.Try("diff") }},
		{name: "nested repository with filter", why: "so do its filters", worked: ran, boxed: rejected("nested: inner"),
			off: rejected("nested: inner"),
			agent: payload +
				// It runs twice. The size must not change, or git would notice without the filter.
				`"$G" init -q inner && cd inner && echo x > f && "$G" add f && ` +
				`"$G" -c user.name=x -c user.email=x@y commit -q --allow-empty -m x && ` +
				`"$G" config filter.x.clean "$R/tools.sh" && echo '* filter=x' > .gitattributes && echo y > f`,
			harness: func(p *project) { p.bareAgain(); p.Try("add", "-A"); p.Try("status"); p.Try("diff") }},
		{name: "skip-worktree", why: "a change hides from git status and survives the rollback", boxed: kept, off: kept,
			agent: `"$G" update-index --skip-worktree value.txt; echo evil > value.txt`,
			worked: func(p *project) bool {
				return strings.HasPrefix(p.Git("ls-files", "-v", "value.txt"), "S") ||
					p.Read("value.txt") != p.Git("show", "HEAD:value.txt")+"\n"
			}},
		{name: "assume-unchanged", why: "the same by another bit", boxed: kept, off: kept,
			agent: `"$G" update-index --assume-unchanged value.txt; echo evil > value.txt`,
			worked: func(p *project) bool {
				return strings.HasPrefix(p.Git("ls-files", "-v", "value.txt"), "h") ||
					p.Read("value.txt") != p.Git("show", "HEAD:value.txt")+"\n"
			}},
		{name: "info/exclude", why: "a new file hides from git status and git clean", boxed: kept,
			off:   rejected("tampered: info"),
			agent: `echo hidden.txt >> .git/info/exclude; echo x > hidden.txt`,
			worked: func(p *project) bool {
				return exists(filepath.Join(p.Dir, "hidden.txt")) && p.Git("ls-files", "hidden.txt") == ""
			}},
		{name: "info/attributes", why: "attributes outside of the worktree choose a filter", boxed: kept,
			off: rejected("tampered: config, info"), worked: ran,
			agent: configured(`[filter "x"]\n\tclean = ./tools.sh\n`) +
				`; mkdir -p .git/info; echo '*.txt filter=x' > .git/info/attributes; echo new > new.txt`},
		{name: "replace refs", why: "git log shows another history", boxed: kept, off: refsMove,
			agent:  `"$G" replace HEAD $(echo lie | "$G" -c user.name=x -c user.email=x@y commit-tree HEAD^{tree})`,
			worked: func(p *project) bool { out, _ := p.Try("log", "-1", "--format=%s"); return out == "lie" }},
		{name: "alternates", why: "objects come from a place of the agent's", boxed: kept,
			off:    rejected("tampered: alternates"),
			agent:  `mkdir -p "$O/objects" .git/objects/info; echo "$O/objects" > .git/objects/info/alternates`,
			worked: func(p *project) bool { return exists(filepath.Join(p.Dir, ".git/objects/info/alternates")) }},
		{name: "alternates behind a link", why: "the folder around them leads elsewhere", boxed: kept,
			off: rejected("tampered: alternates"),
			agent: `mkdir -p "$O/oi" "$O/objects"; echo "$O/objects" > "$O/oi/alternates"; rm -rf .git/objects/info; ln -s ` +
				`"$O/oi" .git/objects/info`,
			worked: func(p *project) bool { return exists(filepath.Join(p.Dir, ".git/objects/info/alternates")) }},
		{name: "a moved branch", why: "the agent commits by itself", boxed: kept, off: refsMove,
			agent: `echo evil > evil.txt; "$G" add evil.txt; "$G" commit -qm "by the agent"`,
			worked: func(p *project) bool {
				return p.Git("log", "--all", "--format=%s", "--grep=by the agent") != "" ||
					strings.Contains(p.Git("reflog"), "by the agent")
			}},
		{name: "a new branch and a tag", why: "refs that nobody asked for", boxed: kept, off: refsMove,
			agent:  `"$G" update-ref refs/heads/stolen HEAD; "$G" tag stolen`,
			worked: func(p *project) bool { return p.Git("tag") != "" }},
		{name: "modes of git's folders", why: "nobody but root can commit, or anybody can plant a hook", boxed: kept,
			off:   rejected("tampered: modes"),
			agent: `chmod 000 .git/refs .git/objects; chmod 777 .git/hooks`,
			worked: func(p *project) bool {
				st, err := os.Stat(filepath.Join(p.Dir, ".git/hooks"))
				return err != nil || st.Mode().Perm() == 0o777
			}},
		{name: "stale locks", why: "nobody can stage or commit any more", boxed: kept, off: kept,
			agent:  `touch .git/index.lock .git/config.lock .git/refs/heads/main.lock .git/packed-refs.lock`,
			worked: func(p *project) bool { return exists(filepath.Join(p.Dir, ".git/index.lock")) }},
		{name: "commondir", why: "git takes configuration and refs from another folder", worked: ran, boxed: kept,
			off: rejected("tampered: info"),
			agent: payload +
				`cp -r .git "$O/common" && printf '[core]\n\tfsmonitor = %s/tools.sh\n' "$PWD" >> "$O/common/config" && echo ` +
				`"$O/common" > .git/commondir`},
		{name: "metadata of a linked worktree", why: "git in the user's other worktree works on the agent's repository",
			worked: ran, boxed: kept, off: rejected("tampered: worktrees"),
			setup: func(t *testing.T, p *project) { p.Git("worktree", "add", "-q", "-b", "other", outside(p, "linked")) },
			agent: payload +
				`cp -r .git "$O/common" && printf '[core]\n\tfsmonitor = %s/tools.sh\n' "$PWD" >> "$O/common/config" && cp ` +
				`tools.sh "$O/" && echo "$O/common" > .git/worktrees/linked/commondir`,
			harness: func(p *project) { p.bareAgain(); p.Try("-C", outside(p, "linked"), "status") },
			then:    func(t *testing.T, p *project, boxed bool) { p.Git("-C", outside(p, "linked"), "status") }},
		{name: "the configuration of a submodule", why: "git status runs what a submodule configures", worked: ran,
			boxed: kept, off: rejected("tampered: config"),
			setup: func(t *testing.T, p *project) {
				from := outside(p, "from")
				for _, args := range [][]string{{"init", "-q", from}, {"-C", from, "-c", "user.name=x", "-c",
					"user.email=x@y", "commit", "-q", "--allow-empty", "-m", "x"},
					{"-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "module"},
					{"commit", "-q", "-m", "a submodule"}} {
					p.Git(args...)
				}
			},
			agent: payload +
				`cp tools.sh "$O/" ; printf '[core]\n\tfsmonitor = %s/tools.sh\n' "$R" >> .git/modules/module/config`},
		{name: "an embedded bare repository", why: "git in that folder runs what it configures", worked: ran,
			boxed: kept, off: kept,
			agent: payload +
				`mkdir -p bare/objects/x bare/refs/x; touch bare/objects/x/keep bare/refs/x/keep; echo 'ref: refs/heads/main' > ` +
				`bare/HEAD; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n\tfsmonitor = ` +
				`%s/tools.sh\n' "$R" "$R" > bare/config`,
			harness: func(p *project) { p.bareAgain(); p.Try("-C", filepath.Join(p.Dir, "bare"), "status") }},
		{name: "a git on PATH", why: "whoever calls git by its name calls the agent's", worked: ran, boxed: kept, off: kept,
			setup: func(t *testing.T, p *project) {
				for i, kv := range p.Env {
					if path, ok := strings.CutPrefix(kv, "PATH="); ok {
						p.Env[i] = "PATH=" + filepath.Join(p.Dir, "bin") + ":" + path
					}
				}
			},
			agent: payload + `mkdir -p bin; cp tools.sh bin/git; cp tools.sh bin/gpg`,
			harness: func(p *project) {
				p.bareAgain()
				c := exec.Command("sh", "-c", "git status")
				c.Dir, c.Env = p.Dir, p.Env
				c.Run()
			},
			then: func(t *testing.T, p *project, boxed bool) {
				p.must(t, "status")
				p.must(t, "add", "another thing")
				notRun(t, p)
			}},
	}
}

// bareAgain runs the agent once more, for harnesses that clean up first.
func (p *project) bareAgain() { p.bare(p.T.(*testing.T)) }

func notRun(t *testing.T, p *project) {
	t.Helper()
	if ran(p) {
		t.Error("a program of the agent ran outside")
	}
}

func isFolder(t *testing.T, p *project, name string) {
	t.Helper()
	if st, err := os.Lstat(filepath.Join(p.Dir, name)); err != nil || !st.IsDir() {
		t.Errorf("%s is not a folder: %v", name, err)
	}
}

func copyFile(from, to string) {
	if data, err := os.ReadFile(from); err == nil {
		os.WriteFile(to, data, 0o644)
	}
}
