package guard

import (
	"strings"
	"testing"
)

func TestJudgeExec(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	p.GitDirs = []string{"/srv/code/app/.git", "/srv/bare/app.git"}
	for _, c := range []struct {
		argv, env, cwd string
		class, why     string
	}{
		{"git status", "", "/srv/code/app", "", "reading"},
		{"git commit -m x", "", "/srv/code/app/sub", ClassGitWrite, "below the worktree it is this repository"},
		{"git commit -m x", "", "/tmp/test-repo", "", "a test's own repository"},
		{"git init -q /tmp/t", "", "/srv/code/app", "", "another repository is made, from within the worktree"},
		{"git clone -q --bare /srv/code/app /tmp/t", "", "/srv/code/app", "", "a copy elsewhere"},
		{"git init", "", "/srv/code/app", ClassGitWrite, "here"},
		{"git init sub", "", "/srv/code/app", ClassGitWrite, "a nested one"},
		{"git init -b /tmp/t", "", "/srv/code/app", ClassGitWrite, "the value of an option is no folder"},
		{"git init --separate-git-dir=/srv/bare/app.git /tmp/t", "", "/tmp", ClassGitWrite, "over our git directory"},
		{"git clone https://example.com/x", "", "/srv/code/app", ClassGitWrite, "into the worktree"},
		{"git clone --depth 1 /tmp/x", "", "/srv/code/app", ClassGitWrite, "one folder, not two"},
		{"git -C /srv/code/app push", "", "/tmp", ClassGitWrite, "addressed by -C"},
		{"git -C ../srv/code/app push", "", "/tmp", ClassGitWrite, "relative to the folder of the call"},
		{"git --git-dir=/srv/bare/app.git gc", "", "/tmp", ClassGitWrite, "a git directory elsewhere"},
		{"git --git-dir /tmp/t/.git --work-tree /tmp/t add .", "", "/srv/code/app", "",
			"another repository, from within the worktree"},
		{"git --work-tree /srv/code/app checkout .", "", "/tmp/t", ClassGitWrite, "it would write our files"},
		{"git gc", "GIT_DIR=/srv/code/app/.git", "/tmp", ClassGitWrite, "addressed by the environment"},
		{"git add x", "GIT_DIR=/tmp/t/.git", "/srv/code/app", "", "and away from it"},
		{"git push /srv/code/app HEAD:main", "", "/tmp/t", ClassGitWrite, "a push from elsewhere moves our refs"},
		{"git status", "GIT_EXTERNAL_DIFF=/tmp/x", "/srv/code/app", ClassGitExec, "a variable that runs a program"},
		{"git log $(touch x)", "", "/srv/code/app", "", "nothing is expanded: these are words"},
		{"pip install x", "", "/tmp", ClassManager, "a manager is blocked wherever it is called"},
		{"pip3 list", "", "/srv/code/app", ClassManager, "every form of it"},
		{"/usr/bin/git commit", "", "/srv/code/app", ClassGitWrite, "called by a path"},
		{"", "", "/srv/code/app", ClassInput, "no words"},
	} {
		var env []string
		if c.env != "" {
			env = []string{"PATH=/bin", c.env}
		}
		if v := p.JudgeExec(strings.Fields(c.argv), env, c.cwd); v.Class != c.class || v.Allowed() != (c.class == "") {
			t.Errorf("%s in %s with %q (%s): got %+v, want class %q", c.argv, c.cwd, c.env, c.why, v, c.class)
		}
	}
}

func TestShims(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	p.Toolchain, _ = NewToolchain("python-uv")
	s := p.Shims("/opt/it's/git-ralph", "linux")
	for _, n := range []string{"git", "pip", "pip3", "poetry", "virtualenv", "pytest", "python"} {
		if s[n].Name != n || !strings.HasPrefix(s[n].Contents, "#!/bin/sh\n") ||
			!strings.Contains(s[n].Contents, `'/opt/it'\''s/git-ralph' hook shim "${0##*/}" "$@"`) {
			t.Errorf("shim %s: %+v", n, s[n])
		}
	}
	if _, ok := s["pip[0-9]*"]; ok {
		t.Error("a pattern is no file name")
	}
	if w := p.Shims(`C:\x\git-ralph.exe`, "windows")["git"]; w.File != "git.cmd" || !strings.Contains(w.Contents, "%*") {
		t.Errorf("windows: %+v", w)
	}
}

func TestRewrite(t *testing.T) {
	uv, node := New("/srv/code/app", ""), New("/srv/code/app", "")
	uv.Toolchain, _ = NewToolchain("python-uv")
	node.Toolchain, _ = NewToolchain("node-pnpm")
	for _, c := range []struct {
		p               *Policy
		line, want, why string
	}{
		{uv, "pytest -q", "uv run pytest -q", "the example of the design"},
		{uv, "cd api && pytest -k 'a b' && ruff check .", "cd api && uv run pytest -k 'a b' && uv run ruff check .",
			"each command of a line"},
		{uv, "python3 -m mypy src | head", "uv run python3 -m mypy src | head", "in a pipe"},
		{uv, "uv run pytest", "", "already there"},
		{uv, "source .venv/bin/activate && pytest", "", "an environment of its own"},
		{uv, "echo pytest", "", "a word is no command"},
		{uv, "pytest() { :; }; pytest", "", "a function of that name"},
		{uv, "'pytest' -q", "", "quoted on purpose"},
		{uv, "echo '", "", "not a line"},
		{node, "npm test", "pnpm test", "two words are replaced"},
		{node, "npx tsc --noEmit", "pnpm dlx tsc --noEmit", "another program"},
		{node, "npm install", "", "blocked, not rewritten"},
	} {
		got, ok := c.p.Rewrite(c.line)
		if want := c.want; ok != (want != "") || ok && got != want {
			t.Errorf("%q (%s): got %q %v, want %q", c.line, c.why, got, ok, want)
		}
	}
	if argv, ok := uv.RewriteArgv([]string{"/shims/pytest", "-q"}); !ok || strings.Join(argv, " ") != "uv run pytest -q" {
		t.Errorf("as a shim: %q %v", argv, ok)
	}
	if _, ok := uv.RewriteArgv([]string{"ls"}); ok {
		t.Error("ls was rewritten")
	}
}

func TestToolchains(t *testing.T) {
	if _, err := NewToolchain("cobol"); err == nil || !strings.Contains(err.Error(), "python-uv") {
		t.Errorf("an unknown preset names the known ones: %v", err)
	}
	for _, c := range []struct{ preset, line, class, instead, why string }{
		{"none", "pip install x", "", "", "nobody said that this project is uv's"},
		{"none", "poetry add x", "", "", "nor another's"},
		{"none", "python3 -m venv v", "", "", "an environment of its own"},
		{"none", "conda install x", "", "", "as it likes"},
		{"go", "pip install x", "", "", "Python's are the project's choice"},
		{"rust", "python3 -m pip install x", "", "", "here, too"},
		{"node-pnpm", "poetry add x", "", "", "and here"},
		{"python-uv", "npm install", "", "", "Node's are the project's choice"},
		{"python-uv", "python3 -m venv v", ClassManager, "uv venv", "an environment beside uv's"},
		{"python-uv", "python3.12 -m venv v", ClassManager, "uv venv", "by any name"},
		{"none", "npm install", "", "", "Node's are the project's choice"},
		{"python-uv", "uv add x", "", "", "the replacement itself"},
		{"node-pnpm", "npm install x", ClassManager, "pnpm add", "the lock file is pnpm's"},
		{"node-pnpm", "npm --prefix web ci", ClassManager, "pnpm add", "options before the verb"},
		{"node-pnpm", "yarn", ClassManager, "pnpm add", "yarn alone installs"},
		{"node-pnpm", "npm run build", "", "", "scripts are not packages"},
		{"node-pnpm", "pnpm install", "", "", "the replacement"},
		{"go", "dep ensure", ClassManager, "go get", "modules only"},
		{"go", "go mod tidy", "", "", "the replacement"},
		{"rust", "rustup default nightly", ClassManager, "cargo", "the toolchain is pinned"},
		{"rust", "cargo add serde", "", "", "the replacement"},
	} {
		p := New("/srv/code/app", "")
		p.Toolchain, _ = NewToolchain(c.preset)
		v := p.Judge(c.line)
		if v.Class != c.class || !strings.Contains(v.Instead, c.instead) {
			t.Errorf("%s: %s (%s): got %+v", c.preset, c.line, c.why, v)
		}
	}
}

func TestOwnLists(t *testing.T) {
	p := New("/srv/code/app", "")
	p.Allow = []string{"pip *", "git fetch *", "*", "git *"}
	p.Deny = []string{"docker push *", "terraform *"}
	for _, c := range []struct{ line, class, why string }{
		{"pip install x", "", "a project that lives on pip says so"},
		{"sudo pip install x", "", "wrappers are resolved first"},
		{"git fetch origin", "", "a git command named in full"},
		{"git push", ClassGitWrite, "neither * nor git * opens git"},
		{"cd x && docker push y", ClassDenied, "denied wherever it stands"},
		{"docker build .", "", "another verb"},
		{"bash -c 'terraform apply'", ClassDenied, "behind a shell"},
		{"pip install x > .git/config", ClassGitFiles, "redirections are judged all the same"},
	} {
		if v := p.Judge(c.line); v.Class != c.class {
			t.Errorf("%s (%s): got %+v", c.line, c.why, v)
		}
	}
}

// TestSchedulersAndPublishers: commands are refused that publish or run something
// later or elsewhere; reading is not. Programs in guard.deny have a shim.
func TestSchedulersAndPublishers(t *testing.T) {
	p := New("/work/proj", "/home/agent")
	for line, want := range map[string]bool{
		"npx gh-pages -d dist": false, "gh-pages -d dist": false, "npx lint-staged": false, "pnpm dlx lint-staged": false,
		"systemctl --user enable --now x.service": false, "systemctl --user status": true, "systemctl list-timers": true,
		"systemd-run --user make": false, "at now": false, "at -l": true, "batch": false, "launchctl load x": false,
		"git ralph export": true,
	} {
		if v := p.JudgeIn(line, "/work/proj"); v.Allowed() != want {
			t.Errorf("%s: %+v", line, v)
		}
	}
	p.Deny = []string{"docker *"}
	if _, ok := p.Shims("/bin/git-ralph", "linux")["docker"]; !ok {
		t.Error("no shim for what guard.deny names")
	}
	if p.JudgeArgv([]string{"docker", "rm", "x"}, "/work/proj").Allowed() {
		t.Error("docker rm is allowed in a shim")
	}
}
