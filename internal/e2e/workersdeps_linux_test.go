package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// TestWorkersShareDependencies: real package managers fill the shared folders. Checks and
// agents of each worker find the dependencies without another set-up. What a worker adds
// stays its own.
func TestWorkersShareDependencies(t *testing.T) {
	t.Parallel()
	long.Only(t, "npm and python fill folders that workers share")
	if !hasNamespaces() {
		t.Skip("this machine refuses namespaces")
	}
	for _, c := range []struct {
		name, program, folder, setup, check, add, adds string
		files                                          map[string]string
		prepare                                        func(t *testing.T, dir string, env []string)
	}{
		{name: "npm", program: "npm", folder: "node_modules",
			setup: "npm ci --offline --ignore-scripts --no-audit --no-fund",
			check: "node -e 'process.exit(require(\\\"greet\\\")() === \\\"hello\\\" ? 0 : 1)'",
			add:   "node -e 'require(\"greet\")()' && mkdir -p node_modules/own && echo $RALPH_TASK_ID > node_modules/own/by",
			adds:  "own",
			files: map[string]string{"package.json": `{"name": "app", "version": "1.0.0", "private": true,
  "dependencies": {"greet": "file:vendor/greet-1.0.0.tgz"}}
`, "greet/package.json": `{"name": "greet", "version": "1.0.0", "main": "index.js"}
`, "greet/index.js": "module.exports = () => 'hello'\n"}, prepare: packGreet},
		{name: "venv", program: "python3", folder: ".venv",
			setup: "python3 -m venv --without-pip .venv",
			check: ".venv/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'",
			add: "site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path(\"purelib\"))')\n" +
				"case $site in \"$PWD\"/*) ;; *) exit 9;; esac\n" +
				"echo task = 1 > \"$site/own.py\" && .venv/bin/python -c 'import own'",
			adds: "own.py"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.program); err != nil {
				t.Skipf("no %s on this machine", c.program)
			}
			files := map[string]string{"README": "hello\n", ".gitignore": c.folder + "/\n"}
			for name, text := range c.files {
				files[name] = text
			}
			p := newProject(t, "cat > /dev/null\n"+c.add+" || exit 9\n"+doTask, "[project]\nsetup = [\""+c.setup+"\"]\n"+
				"[worktree]\nshare = [\""+c.folder+"\"]\n[[checks]]\nname = \"deps\"\nkind = \"test\"\nrun = \""+c.check+
				"\"\n", files)
			if c.prepare != nil {
				c.prepare(t, p.Dir, p.Env)
				p.Git("add", "-A")
				p.Git("commit", "-qm", "dependencies")
			}
			for _, title := range []string{"one", "two", "three"} {
				p.must(t, "add", title)
			}
			out := p.must(t, "start", "--workers", "2")
			if text := p.must(t, "status"); !strings.Contains(text, c.folder+": workers run no setup of their own") {
				t.Errorf("status:\n%s\n%s", text, out)
			}
			err := filepath.WalkDir(filepath.Join(p.Dir, c.folder), func(path string, d os.DirEntry, err error) error {
				if err == nil && d.Name() == c.adds {
					t.Errorf("what a worker added is in the shared folder: %s", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			p.teamDone(t, 3)
			p.noLayers(t)
		})
	}
}

// packGreet makes the package of the dependency and the lock file that names it.
func packGreet(t *testing.T, dir string, env []string) {
	t.Helper()
	for _, line := range []string{"mkdir vendor && cd greet && npm pack --silent --pack-destination ../vendor",
		"npm install --offline --package-lock-only --no-audit --no-fund", "grep -q integrity package-lock.json"} {
		c := exec.Command("/bin/sh", "-c", line)
		c.Dir, c.Env = dir, append(append([]string{}, env...), "PATH="+proc.Getenv(os.Environ(), "PATH"))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
}
