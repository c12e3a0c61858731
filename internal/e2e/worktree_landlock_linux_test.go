package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"git-ralph/fixtures/long"
	"git-ralph/internal/agent/fakemodel"
)

// landlockProject is a project where namespaces are refused. $R is the user's
// worktree, $H their home folder, $O the folder around both, $G the real git.
func landlockProject(t *testing.T, agent, settings string, files map[string]string) *project {
	t.Helper()
	needLandlock(t)
	p := newProject(t, agent, "[validation]\nbaseline = \"off\"\n"+settings+check, files)
	p.around = refuseNamespaces(t)
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "G="+git, "R="+p.Dir, "H="+outside(p, "home"), "O="+filepath.Dir(p.Dir))
	return p
}

// TestHostileUnderLandlock: no attack of an agent lasts. Changes that Landlock
// does not prevent are found and undone.
func TestHostileUnderLandlock(t *testing.T) {
	t.Parallel()
	agent := `worked() { echo "$1" >> worked.txt; }
C="$R/.git"; D=$(sed 's/^gitdir: //' .git); RUN=$(dirname "$RALPH_PROMPT_FILE")
{
echo x > "$C/hooks/pre-commit" && worked "a hook"
mkdir "$C/hooks/d" && worked "a folder of hooks"
echo x >> "$C/config" && worked "the configuration"
"$G" config user.name evil && worked "the configuration by git"
echo x > "$C/refs/heads/evil" && worked "a ref"
"$G" update-ref refs/heads/evil HEAD && worked "a ref by git"
echo x > "$D/HEAD" && worked "HEAD"
rm -f "$D/index" && worked "the index removed"
"$G" add -A && worked "the index by git"
"$G" commit -qm evil && worked "a commit"
"$G" -C "$R" commit -q --allow-empty -m evil && worked "a commit on main"
mv "$C" "$O/elsewhere" && worked "the git directory moved"
rm -rf "$C" && worked "the git directory removed"
ln "$C/config" linked-config && worked "a hard link out of it"
echo x > "$R/README" && worked "the user's worktree"
echo x >> "$H/.bashrc" && worked "the user's home folder"
cat "$H/.ssh/id" && worked "a credential read"
cat "$H/vault/key" && worked "a hidden folder read"
ls "$H/vault/key" && worked "a hidden folder listed"
echo x > "$RUN/prompt.md" && worked "the folder of the run"
echo x > "$RUN/bin/more" && worked "programs of the run"
for d in "$H"/.cache/git-ralph/homes/*; do [ "$d/home" = "$HOME" ] || { mkdir -p "$d/home/.cache" && echo x > "$d/home/.cache/answer" && worked "the home of the checks"; }; done
echo x > "$H/.cache/git-ralph/x" && worked "the cache folder"
echo x > "$O/x" && worked "a folder beside"
echo x > /proc/$PPID/mem && worked "our memory"
[ "$SIGNALS" = closed ] && kill -0 $PPID && worked "a signal to us"
} 2>/dev/null >/dev/null </dev/null
echo mine > "$HOME/.bashrc" || echo "no home of its own" >> worked.txt
touch "$TMPDIR/x" || echo "no temporary folder" >> worked.txt
"$G" status >/dev/null && "$G" log -1 --format=%s >/dev/null || echo "reading git fails" >> worked.txt
(setsid env -i "$(command -v sh)" -c "while [ ! -e '$O/go' ]; do sleep 0.05; done; echo late > '$PWD/late.txt'" late-writer >/dev/null 2>&1 </dev/null &)
touch worked.txt
` + doTask
	p := landlockProject(t, agent, "[guard]\nhidden = [\"~/vault\"]\n", map[string]string{"README": "hello\n"})
	if abi, err := llsys.LandlockGetABIVersion(); err == nil && abi >= 6 {
		p.Env = append(p.Env, "SIGNALS=closed")
	}
	putFile(t, outside(p, "home/.ssh/id"), "secret\n")
	putFile(t, outside(p, "home/vault/key"), "secret\n")
	putFile(t, outside(p, "home/.bashrc"), "theirs\n")
	p.must(t, "add", "a thing")
	p.must(t, "add", "another, when the checks have a home to spoil")
	config, refs := p.Read(".git/config"), p.Git("for-each-ref", "refs/heads/main", "refs/tags", "refs/ralph/heads/main")
	r := p.run(t, nil, "start", "--worktree")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	linked := p.in(p.linkedDir(t))
	// Hidden folders can be listed, but nothing else.
	if got := strings.TrimSpace(strings.ReplaceAll(linked.Read("worked.txt"), "a hidden folder listed\n", "")); got != "" {
		t.Errorf("these worked:\n%s", got)
	}
	if p.Read(".git/config") != config || p.Git("for-each-ref", "refs/heads/main", "refs/tags",
		"refs/ralph/heads/main") != refs {
		t.Error("configuration or refs have changed")
	}
	if got := readFile(t, outside(p, "home/.bashrc")); got != "theirs\n" {
		t.Errorf("the user's .bashrc is %q", got)
	}
	putFile(t, outside(p, "go"), "")
	if left := processesOf(p); len(left) > 0 {
		t.Errorf("processes of the agent are left: %v", left)
	}
	if exists(filepath.Join(linked.Dir, "late.txt")) {
		t.Error("a process wrote after its end")
	}
	if s := linked.show(t, "1"); s.Verdict != "keep" {
		t.Errorf("the iteration is %s %q", s.Verdict, s.Reason)
	}
	if got := linked.must(t, "show", "1"); !strings.Contains(got,
		"landlock: git is read-only for the agent; not covered: ") {
		t.Errorf("show does not say what held:\n%s", got)
	}
	linked.sound(t)
	p.sound(t)
}

// TestExposedUnderLandlock: a change that Landlock does not prevent is noticed,
// undone and rejected.
func TestExposedUnderLandlock(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what is exposed")
	evil := payload +
		`cp -r "$R/.git" evil.git && printf '[core]\n\tfsmonitor = %s/tools.sh\n\tbare = false\n' "$PWD" >> ` +
		`evil.git/config; rm -f .git; `
	for _, r := range []struct{ name, agent, check, reason string }{
		{"the .git file leads elsewhere", evil + `mv evil.git "$TMPDIR"/; echo "gitdir: $TMPDIR/evil.git" > .git`, "",
			"tampered: .git file"},
		{"the .git file is a folder", evil + `mv evil.git .git`, "", "tampered: .git file"},
		{"the .git file is a link", evil + `mv evil.git "$TMPDIR"/; ln -s "$TMPDIR/evil.git" .git`, "",
			"tampered: .git file"},
		{"the .git file is gone", `rm .git`, "", "tampered: .git file"},
		{"the .git file is a FIFO", `rm .git; mkfifo .git`, "", "tampered: .git file"},
		{"a check replaces it", `touch evil`, "test ! -e evil || { rm .git; mkdir .git; }\n", "tampered: .git file"},
		{"the user's hook is switched off", `chmod 000 "$R/.git/hooks/pre-push"`, "", "tampered: hooks"},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"value.txt": "good\n"}
			if r.check != "" {
				files["test.sh"] = r.check
			}
			// Only the first attempt attacks.
			p := landlockProject(t, "if [ $RALPH_ATTEMPT = 1 ]; then\n"+r.agent+"\nfi >/dev/null 2>&1 </dev/null\n"+
				doTask, "", files)
			p.Env = append(p.Env, "W="+outside(p, "witness"))
			hook := filepath.Join(p.Dir, ".git/hooks/pre-push")
			putFile(t, hook, "#!/bin/sh\n")
			if err := os.Chmod(hook, 0o755); err != nil {
				t.Fatal(err)
			}
			p.must(t, "add", "a thing")
			got := p.run(t, nil, "start", "--worktree")
			if got.code != 0 {
				t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
			}
			linked := p.in(p.linkedDir(t))
			if s := linked.show(t, "1"); s.Verdict != "reject" || !strings.Contains(s.Reason, r.reason) {
				t.Errorf("the attempt is %s %q, expected reject %q", s.Verdict, s.Reason, r.reason)
			}
			if st, err := os.Stat(hook); err != nil || st.Mode().Perm() != 0o755 {
				t.Errorf("the hook is %v, %v", st.Mode(), err)
			}
			if s := linked.show(t, "2"); s.Verdict != "keep" {
				t.Errorf("the next attempt is %s %q", s.Verdict, s.Reason)
			}
			notRun(t, p)
			linked.sound(t)
			p.sound(t)
		})
	}
}

// TestRefusedNamespaces: without --worktree, start refuses and names the
// choices. Settings that Landlock cannot enforce are refused. A change of the
// mechanism is reported.
func TestRefusedNamespaces(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies how the kernel refuses")
	for _, r := range []struct {
		why, settings string
		env           []string
		args          []string
		code          int
		says          []string
	}{
		{why: "in the worktree that holds its git directory", args: []string{"start"}, code: 8,
			says: []string{"namespaces are refused", "git ralph start --worktree", "--security-opt", "guard.sandbox = \"off\""}},
		{why: "nobody is there to be asked", settings: "[guard]\nsandbox = \"require\"\n", args: []string{"start"},
			code: 8, says: []string{"--worktree"}},
		{why: "doctor knows the same", args: []string{"doctor"}, code: 8,
			says: []string{"namespaces are refused", "git ralph start --worktree"}},
		{why: "a person says so", env: []string{"RALPH_GUARD_SANDBOX=off"}, args: []string{"start"}, code: 0,
			says: []string{"the sandbox is off"}},
		{why: "checks that may reach nothing", settings: "[guard]\nnetwork = \"none\"\n",
			args: []string{"start", "--worktree"}, code: 8,
			says: []string{"landlock cannot keep checks to guard.network = \"none\"", "RALPH_GUARD_NETWORK=open"}},
		{why: "a folder that would open what is ours", settings: "[guard]\nwritable = [\"~/.cache\"]\n",
			args: []string{"start", "--worktree"}, code: 8,
			says: []string{"landlock cannot protect", "guard.writable"}},
		{why: "with --worktree it works", args: []string{"start", "--worktree"}, code: 0, says: []string{"ralph/main"}},
		{why: "and a dry run says with what", args: []string{"start", "--worktree", "--dry-run"}, code: 0,
			says: []string{"sandbox: landlock"}},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := landlockProject(t, doTask, r.settings, nil)
			p.must(t, "add", "a thing")
			got := p.run(t, r.env, r.args...)
			if got.code != r.code {
				t.Errorf("exit %d, expected %d\n%s%s", got.code, r.code, got.out, got.err)
			}
			for _, s := range r.says {
				if !strings.Contains(got.out+got.err, s) {
					t.Errorf("it does not say %q:\n%s%s", s, got.out, got.err)
				}
			}
			p.sound(t)
		})
	}
	t.Run("another mechanism than last time", func(t *testing.T) {
		p := landlockProject(t, doTask, "", nil)
		p.must(t, "add", "the first thing")
		p.must(t, "add", "the second thing")
		p.must(t, "add", "the third thing")
		refused := p.around
		for _, r := range []struct {
			around func(*exec.Cmd)
			says   string
		}{{nil, ""}, {refused, "ran with the sandbox namespaces, this one runs with landlock"},
			{nil, "ran with the sandbox landlock, this one runs with namespaces"}} {
			p.around = r.around
			got := p.run(t, nil, "start", "--worktree", "--once")
			if got.code != 0 && got.code != 4 || !strings.Contains(got.err, r.says) || r.says == "" &&
				strings.Contains(got.err, "last session") {
				t.Errorf("exit %d, expected to be told %q\n%s%s", got.code, r.says, got.out, got.err)
			}
		}
		linked := p.in(p.linkedDir(t))
		linked.around = refused
		if got := linked.run(t, nil, "doctor"); !strings.Contains(got.out, "landlock works for a linked worktree") ||
			!strings.Contains(got.out, "not covered: ") {
			t.Errorf("doctor in the linked worktree says\n%s", got.out)
		}
		for n, want := range map[string]string{"1": "namespaces", "2": "landlock", "3": "namespaces"} {
			if got := linked.Git("log", "--format=%B", "--grep=^iteration "+n+": keep",
				"refs/ralph/heads/ralph/main"); !strings.Contains(got, "Ralph-Sandbox: "+want) {
				t.Errorf("the entry of iteration %s does not say %s:\n%s", n, want, got)
			}
		}
	})
}

// TestLandlockForAnOrdinaryUser: Landlock works without root, too.
func TestLandlockForAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	needLandlock(t)
	if os.Getuid() != 0 {
		t.Skip("the other tests run as an ordinary user already")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("no setpriv to become another user with")
	}
	const uid = 1000
	p := landlockProject(t, `"$G" commit -q --allow-empty -m evil && echo x > worked.txt; echo x >> "$R/.git/config" && echo x > worked.txt; mkdir -p "$HOME/.cache/x"
`+doTask, "", nil)
	p.must(t, "add", "a thing")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(p.bin, "binary")
	// By another process: a child of a test beside this one could still have the copy open for
	// writing, and then it cannot be executed.
	if out, err := exec.Command("cp", self, binary).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	base := filepath.Dir(p.Dir)
	if err := os.Chmod(filepath.Dir(base), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
		return os.Lchown(path, uid, uid)
	}); err != nil {
		t.Fatal(err)
	}
	config := p.Read(".git/config")
	p.around = func(c *exec.Cmd) {
		c.Path = binary
		refuseNamespaces(t)(c)
		c.SysProcAttr.UidMappings[0].Size, c.SysProcAttr.GidMappings[0].Size = uid+1, uid+1
		c.SysProcAttr.GidMappingsEnableSetgroups = true
		c.Args[2] = strings.Replace(c.Args[2], `exec "$0"`, "exec "+setpriv+
			` --reuid 1000 --regid 1000 --clear-groups --inh-caps -all "$0"`, 1)
	}
	r := p.run(t, []string{"XDG_RUNTIME_DIR="}, "start", "--worktree")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.Env = append(p.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*")
	dir := p.linkedDir(t)
	if exists(filepath.Join(dir, "worked.txt")) || p.Read(".git/config") != config {
		t.Error("git was written to")
	}
	if s := p.in(dir).status(t); s.Sandbox != "landlock" || s.Tasks.Done != 1 {
		t.Errorf("status says %+v", s)
	}
}

// TestClaudeCodeUnderLandlock: the real client works there. Only the kernel
// refuses its write to git's hooks.
func TestClaudeCodeUnderLandlock(t *testing.T) {
	t.Parallel()
	p, _ := claudeProject(t, fakemodel.Script{
		{Tools: []fakemodel.Tool{call("Bash", map[string]any{"command": "echo hello > hello.txt; sh tool.sh",
			"description": "write"})}},
		{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_mark_task_complete",
			map[string]any{"task_id": "T-001", "verification_notes": "the file is there"})}},
		{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_submit_handoff", handoffOf("T-001"))}},
		{Text: "Done."},
	}, "")
	needLandlock(t)
	// A guard that reads commands does not see inside a script.
	p.Write("tool.sh", "echo ran > ran.txt; echo x > \"$(git rev-parse --git-common-dir)/hooks/pre-commit\"\n:\n")
	p.Git("add", "tool.sh")
	p.Git("commit", "-qm", "a tool")
	p.around = refuseNamespaces(t)
	p.must(t, "add", "say hello")
	p.wants(t, 0, []string{"git merge --ff-only ralph/main"}, "start", "--worktree", "-v")
	linked := p.in(p.linkedDir(t))
	if got := linked.Read("hello.txt") + linked.Read("ran.txt"); got != "hello\nran\n" {
		t.Errorf("the files say %q", got)
	}
	if exists(filepath.Join(p.Dir, ".git/hooks/pre-commit")) {
		t.Error("there is a hook")
	}
	if s := linked.status(t); s.Sandbox != "landlock" {
		t.Errorf("status says %+v", s)
	}
	linked.sound(t)
}

// TestToolchainUnderLandlock: a Go module with a dependency that the agent adds
// builds and tests there, from a module cache and a proxy of its own.
func TestToolchainUnderLandlock(t *testing.T) {
	long.Only(t, "it runs the Go tools")
	t.Parallel()
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no Go on PATH")
	}
	agent := `mkdir -p dep && printf 'module example.com/dep\n\ngo 1.21\n' > dep/go.mod && printf 'package dep\n\nfunc Hello() string { return "hello" }\n' > dep/dep.go
go mod edit -require example.com/dep@v0.0.0 -replace example.com/dep=./dep
printf 'package app\n\nimport "example.com/dep"\n\nfunc Hello() string { return dep.Hello() }\n' > app.go
go build ./... 2> build.txt || exit 1
rm build.txt
` + doTask
	p := landlockProject(t, agent, "", map[string]string{"go.mod": "module example.com/app\n\ngo 1.21\n",
		"app.go":      "package app\n\nfunc Hello() string { return \"\" }\n",
		"app_test.go": "package app\n\nimport \"testing\"\n\nfunc TestHello(t *testing.T) { _ = Hello(); t.TempDir() }\n",
		"test.sh":     "go vet ./... && go test ./...\n"})
	p.Env = append(p.Env, "PATH="+filepath.Dir(goTool)+":"+os.Getenv("PATH"), "GOPROXY=off", "GOTOOLCHAIN=local",
		"GOFLAGS=")
	if !long.Full() {
		// A separate build cache would have to build all imports of "testing".
		t.Log("the build cache of this machine is used: run with -long for one of its own")
		p.Env = append(p.Env, goEnv(t)...)
	}
	p.must(t, "add", "a thing")
	p.wants(t, 0, []string{"complete"}, "start", "--worktree")
	if linked := p.in(p.linkedDir(t)); !strings.Contains(linked.Read("app.go"), "dep.Hello") {
		t.Error("the work is not there")
	}
}
