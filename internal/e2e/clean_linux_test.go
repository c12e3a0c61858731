package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// leaves is a project whose test runs the agent's code.
func leaves(t *testing.T, agent, settings string, files map[string]string) *project {
	t.Helper()
	all := map[string]string{"code/value": "value() { echo 3; }\n", ".gitignore": "build/\n.venv/\n",
		"test.sh": "for f in code/*; do . \"./$f\"; done\ntest \"$(value)\" = 3\n"}
	for k, v := range files {
		all[k] = v
	}
	p := newProject(t, agent, settings, all)
	if r := p.run(t, nil, "doctor"); !strings.Contains(r.out, "sandbox     namespaces") {
		t.Skip("this machine refuses the sandbox")
	}
	return p
}

// noReruns is the check without a re-run after a failure.
const noReruns = check + "[validation]\nflaky_reruns = 0\n"

// TestHomePoisonedByAnIteration: during a check the agent's code leaves a file
// in the home folder. It affects no later check of any iteration, no fresh
// checkout and no verify.
func TestHomePoisonedByAnIteration(t *testing.T) {
	t.Parallel()
	// The code of the first task leaves a file in HOME when a check runs it. The
	// code of the second is wrong unless that file exists.
	agent := `if [ "$RALPH_TASK_ID" = T-001 ]; then
  echo 'value() { touch "$HOME/.seen"; echo 3; }' > code/value
else
  echo 'value() { if [ -e "$HOME/.seen" ]; then echo 3; else echo 9; fi; }' > code/value
fi
` + doTask
	rows := map[string]string{
		"a check":     noReruns,
		"a re-run":    check,
		"a criterion": "[validation]\nflaky_reruns = 0\n",
		"a step":      noReruns + "[[steps]]\nname = \"s\"\nenabled = true\nrun = \"sh test.sh || true\"\n",
	}
	for _, name := range long.Names(t, rows, 4) {
		settings := rows[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := leaves(t, agent, settings, nil)
			p.must(t, "add", "one", "--verify", "sh test.sh")
			p.must(t, "add", "two", "--verify", "sh test.sh")
			r := p.run(t, nil, "start", "--max-iterations", "2")
			if r.code != 4 || strings.Count(r.out, "  keep") != 1 || !strings.Contains(r.out, "reject: ") {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.sound(t)
		})
	}
}

// TestGoSettingsInHome: the same with a file that a real tool reads. Code under
// test sets a test filter with go env -w.
func TestGoSettingsInHome(t *testing.T) {
	long.Only(t, "it runs the Go tools")
	t.Parallel()
	agent := `if [ "$RALPH_TASK_ID" = T-001 ]; then
  cat > more_test.go <<END
package sum
import ("os/exec"; "testing")
func TestMore(t *testing.T) { exec.Command("go", "env", "-w", "GOFLAGS=-run=NOTHING").Run() }
END
else
  printf 'package sum\n\nfunc Sum(a, b int) int { return 42 }\n' > sum.go
fi
` + doTask
	p := newProject(t, agent, "[[checks]]\nname = \"test\"\nrun = \"go test ./...\"\n", goTests)
	p.must(t, "add", "one")
	p.must(t, "add", "two")
	env := goEnv(t)
	r := p.run(t, env, "start", "--max-iterations", "2")
	if r.code != 4 || !strings.Contains(r.out, "reject: checks: test") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	// No leftover of other commits in the range hides a broken commit.
	p.Write("sum.go", "package sum\n\nfunc Sum(a, b int) int { return 42 }\n")
	p.Git("add", "-A")
	p.Git("commit", "-q", "-m", "fixup")
	msg := p.Git("log", "-1", "--skip=1", "--format=%B")
	p.Git("reset", "-q", "--soft", "HEAD~2")
	p.Git("commit", "-q", "-m", msg)
	if r := p.run(t, env, "verify"); r.code != 1 {
		t.Errorf("verify: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// goEnv gives checks the build cache of this machine: a cold one takes longer
// than the test.
func goEnv(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(out))
	return []string{"RALPH_GUARD_WRITABLE=" + lines[0], "GOCACHE=" + lines[0], "GOMODCACHE=" + lines[1],
		"GOFLAGS=-vet=off -ldflags=-s"} // most of the time would go into linking
}

// TestPythonStartUpFileInHome: a test writes a module into HOME that Python
// loads before any other program of the user.
func TestPythonStartUpFileInHome(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what is left in the home folder")
	python, err := exec.LookPath("python3")
	if err == nil {
		err = exec.Command(python, "-c", "import site; assert site.ENABLE_USER_SITE").Run()
	}
	if err != nil {
		t.Skip("no python3 that reads a user's modules:", err)
	}
	real, err := exec.Command(python, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatal(err)
	}
	poison := `import os, site, unittest
class Poison(unittest.TestCase):
    def test_poison(self):
        os.makedirs(site.getusersitepackages(), exist_ok=True)
        with open(site.getusersitepackages() + "/usercustomize.py", "w") as f:
            f.write("import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n")
`
	agent := "if [ \"$RALPH_TASK_ID\" = T-001 ]; then\ncat > test_b.py <<'END'\n" + poison +
		"END\nelse echo 'value = 9' > a.py; fi\n" + doTask
	p := newProject(t, agent, "[[checks]]\nname = \"test\"\nrun = \"python3 -m unittest\"\n", map[string]string{
		"a.py": "value = 3\n",
		"test_a.py": "import unittest, a\nclass A(unittest.TestCase):\n    def test_a(self):\n        " +
			"self.assertEqual(a.value, 3)\n"})
	p.must(t, "add", "one")
	p.must(t, "add", "two")
	env := []string{"PATH=" + filepath.Dir(strings.TrimSpace(string(real))) + ":" + os.Getenv("PATH"),
		"PYTHONDONTWRITEBYTECODE=1"}
	r := p.run(t, env, "start", "--max-iterations", "2")
	if r.code != 4 || !strings.Contains(r.out, "reject: checks: test") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// TestCachesStayWarm: later checks see what setup and the baseline left in the
// home folder, also after the next start. They do not see what checks add.
func TestCachesStayWarm(t *testing.T) {
	long.Only(t, "it runs the Go tools")
	t.Parallel()
	test := "[[checks]]\nname = \"test\"\nrun = \"cat ~/.filled && ls ~/.cache/built && ! ls ~/.mine && if [ -z " +
		"\\\"$RALPH_ITERATION\\\" ]; then touch ~/.cache/built; else touch ~/.mine; fi\"\n"
	p := leaves(t, doTask, strings.Replace(test, "ls ~/.cache/built",
		"{ test -z \\\"$RALPH_ITERATION\\\" || ls ~/.cache/built; }", 1)+
		"[project]\nsetup = [\"echo filled > ~/.filled; mkdir -p ~/.cache\"]\n[validation]\nfresh = \"never\"\n"+
		"flaky_reruns = 0\n", nil)
	for _, title := range []string{"one", "two", "three"} {
		p.must(t, "add", title)
	}
	p.wants(t, 4, []string{"keep"}, "start", "--once")
	p.wants(t, 4, []string{"keep"}, "start", "--once")
	// Without the layer it is filled again, from code that no agent wrote.
	p.must(t, "gc")
	p.Write("ralph.toml", strings.Replace(p.Read("ralph.toml"),
		"{ test -z \\\"$RALPH_ITERATION\\\" || ls ~/.cache/built; }", "true", 1))
	p.Git("commit", "-qam", "the check asks for less")
	p.must(t, "trust")
	p.wants(t, 0, []string{"check setup", "keep"}, "start", "--once")
	if _, err := os.Lstat(filepath.Join(filepath.Dir(p.Dir), "home", ".filled")); err == nil {
		t.Error("the home folder of the user was written")
	}
}

// venv makes an ignored virtual environment in the worktree. Its program stands
// in for the tests.
func venv(t *testing.T, p *project, answer string) (env []string) {
	t.Helper()
	p.Write(".venv/bin/runtests", "#!/bin/sh\n"+answer)
	if err := os.Chmod(filepath.Join(p.Dir, ".venv/bin/runtests"), 0o755); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(p.Dir, ".venv/bin")
	return []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "VIRTUAL_ENV=" + filepath.Dir(bin)}
}

// TestVirtualEnvironmentOnPath: an activated virtual environment in the
// worktree is not part of any commit, so it proves nothing about one.
func TestVirtualEnvironmentOnPath(t *testing.T) {
	t.Parallel()
	const settings = "[[checks]]\nname = \"test\"\nrun = \"runtests\"\n"
	t.Run("poisoned by the agent", func(t *testing.T) {
		t.Parallel()
		p := leaves(t, "echo 'value() { echo 9; }' > code/value; echo 'exit 0' > .venv/bin/runtests\n"+doTask, settings, nil)
		p.must(t, "add", "one")
		r := p.run(t, venv(t, p, "sh test.sh\n"), "start")
		if r.code == 0 || !strings.Contains(r.err, "PATH leads into the worktree") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("made anew by the setup", func(t *testing.T) {
		long.Only(t, "one environment is tried")
		t.Parallel()
		p := leaves(t, doTask, settings+
			"[project]\nsetup = [\"mkdir -p .venv/bin; cp tool.sh .venv/bin/runtests; chmod +x .venv/bin/runtests\"]\n",
			map[string]string{"tool.sh": "#!/bin/sh\ncase $VIRTUAL_ENV in \"$PWD\"/.venv) sh test.sh;; *) exit 1;; esac\n"})
		p.must(t, "add", "one")
		if r := p.run(t, venv(t, p, "exit 1\n"), "start"); r.code != 0 {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("named by its absolute path", func(t *testing.T) {
		long.Only(t, "one environment is tried")
		t.Parallel()
		p := leaves(t, "echo 'value() { echo 9; }' > code/value; echo 'exit 0' > build/runtests\n"+doTask,
			"[[checks]]\nname = \"test\"\nrun = \"sh \\\"$TOOL\\\"\"\n", nil)
		p.Write("build/runtests", "sh test.sh\n")
		tool := filepath.Join(filepath.Dir(p.Dir), "home", "tool") // a link from outside
		if err := os.Symlink(filepath.Join(p.Dir, "build/runtests"), tool); err != nil {
			t.Fatal(err)
		}
		p.must(t, "add", "one")
		if r := p.run(t, []string{"TOOL=" + tool}, "start"); r.code == 0 {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("a program of the commit on PATH", func(t *testing.T) {
		long.Only(t, "one environment is tried")
		t.Parallel()
		p := leaves(t,
			"echo 'value() { echo 9; }' > code/value; printf '#!/bin/sh\\nexit 0\\n' > bin/cat; chmod +x bin/cat\n"+doTask,
			"[[checks]]\nname = \"test\"\nrun = \"cat /dev/null && cat code/value | grep -q 3\"\n",
			map[string]string{"bin/README": "tools\n"})
		p.must(t, "add", "one")
		for _, entry := range []string{filepath.Join(p.Dir, "bin"), "./bin", "bin"} {
			if r := p.run(t, []string{"PATH=" + entry + ":" + os.Getenv("PATH")}, "start", "--once"); r.code == 0 {
				t.Errorf("%s: exit %d\n%s%s", entry, r.code, r.out, r.err)
			}
		}
	})
}

// TestFlakyRerunStartsClean: leftovers of a check's first run do not make the
// second one green. A green second run is called flaky everywhere.
func TestFlakyRerunStartsClean(t *testing.T) {
	t.Parallel()
	rows := map[string]string{
		"ignored files": `value() { if [ -e build/seen ]; then echo 3; else mkdir -p build; touch build/seen; echo 9; fi; }`,
		"home folder":   `value() { if [ -e ~/.seen ]; then echo 3; else touch ~/.seen; echo 9; fi; }`,
		"tracked files": `value() { if grep -q seen README; then echo 3; else echo seen > README; echo 9; fi; }`,
		"temporary":     `value() { if [ -e /tmp/seen ]; then echo 3; else touch /tmp/seen; echo 9; fi; }`,
	}
	for _, name := range long.Names(t, rows, 4) {
		value := rows[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := leaves(t, "cat > code/value <<'END'\n"+value+"\nEND\n"+doTask, check, map[string]string{"README": "hello\n"})
			p.must(t, "add", "one")
			p.wants(t, 4, []string{"check test: failed", "reject: checks: test"}, "start", "--once")
		})
	}
	t.Run("a test that fails now and then", func(t *testing.T) {
		t.Parallel()
		// Red only in the worktree, which alone has the ignored folder.
		p := leaves(t, "mkdir -p build\n"+doTask, "[[checks]]\nname = \"test\"\nrun = \"! test -e build\"\n", nil)
		p.must(t, "add", "one")
		p.wants(t, 0, []string{"check test: flaky", "flaky"}, "start")
		if out := p.must(t, "show", "1"); !strings.Contains(out, "flaky") {
			t.Error(out)
		}
		if out := p.must(t, "log"); !strings.Contains(out, "flaky") {
			t.Error(out)
		}
		if out := p.must(t, "verify", "--report"); !strings.Contains(out, "flaky") {
			t.Error(out)
		}
	})
}

// TestNothingRan: a test command that ran no test proves nothing, neither in
// the plan nor as a check. Fewer tests than before are found even if the test
// files do not show it.
func TestNothingRan(t *testing.T) {
	t.Parallel()
	t.Run("a criterion", func(t *testing.T) {
		long.Only(t, "fewer tests than before are tried")
		t.Parallel()
		p := newProject(t, doTask, "", goTests)
		p.must(t, "add", "join", "--verify", "go test -run TestJoin ./...")
		if r := p.run(t, goEnv(t), "start", "--once"); r.code != 4 || !strings.Contains(r.out,
			"reject: criteria: go test -run TestJoin ./... (no test ran)") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
		if out := p.must(t, "show", "1"); !strings.Contains(out, "no test ran") {
			t.Error(out)
		}
	})
	t.Run("a filter in the environment", func(t *testing.T) {
		long.Only(t, "fewer tests than before are tried")
		t.Parallel()
		p := newProject(t, doTask, "[[checks]]\nname = \"test\"\nrun = \"go test ./...\"\n", goTests)
		p.must(t, "add", "join")
		if r := p.run(t, append(goEnv(t), "GOFLAGS=-run=NOTHING"), "start", "--once"); r.code != 8 ||
			!strings.Contains(r.err, "no test ran") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("fewer than before", func(t *testing.T) {
		t.Parallel()
		// The code under test decides how many tests run.
		p := newProject(t, "echo 1 > code/cases\n"+doTask, "[[checks]]\nname = \"test\"\nrun = \"sh test.sh\"\n",
			map[string]string{"code/cases": "3\n", "test.sh": "read n < code/cases\necho $n passed in 0.1s\n"})
		p.must(t, "add", "one")
		p.wants(t, 4, []string{"reject: test_weakened: 1 test of check test ran, 3 before"}, "start", "--once")
	})
}

// twoSteps is an agent that loosens a test in its first task, where all stays
// green, and breaks the code in its second.
const twoSteps = `if [ "$RALPH_TASK_ID" = T-001 ]; then
  sed -i 's/Sum(1, 2) != 3/Sum(1, 2) < -100/' sum_test.go
elif [ "$RALPH_TASK_ID" = T-002 ]; then
  printf 'package sum\n\nfunc Sum(a, b int) int { return 42 }\n' > sum.go
fi
` + doTask

// TestWeakenedInTwoSteps: the original tests have to pass unchanged at the end,
// whatever iterations did to them. A second start does not take the loosened
// ones as the original.
func TestWeakenedInTwoSteps(t *testing.T) {
	t.Parallel()
	long.Only(t, "it runs the Go tools")
	const goCheck = "[[checks]]\nname = \"test\"\nrun = \"go test ./...\"\n"
	begin := func(t *testing.T, titles ...string) *project {
		t.Helper()
		p := newProject(t, twoSteps, goCheck, goTests)
		for _, title := range titles {
			p.must(t, "add", title)
		}
		return p
	}
	t.Run("in one run and in several", func(t *testing.T) {
		t.Parallel()
		p := begin(t, "one", "two")
		env := goEnv(t)
		if r := p.run(t, env, "start", "--once"); r.code != 4 || !strings.Contains(r.out, "keep") {
			t.Fatalf("the loosened test alone: exit %d\n%s%s", r.code, r.out, r.err)
		}
		// A person's commit elsewhere in the file does not approve the change.
		p.Write("sum_test.go", p.Read("sum_test.go")+"\nfunc TestMore(t *testing.T) {}\n")
		p.Git("commit", "-qam", "a test of the person's own")
		for range 2 {
			r := p.run(t, env, "start")
			if r.code != 5 || !strings.Contains(r.out, "halted: old_tests: TestSum") {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
			}
		}
		// A person's commit to the test itself makes it the original.
		p.Write("sum_test.go", strings.Replace(p.Read("sum_test.go"), "Sum(1, 2) < -100", "Sum(1, 2) != 42", 1))
		p.Git("commit", "-qam", "42 it is")
		if r := p.run(t, env, "start"); r.code != 0 {
			t.Errorf("after a person's commit: exit %d\n%s%s", r.code, r.out, r.err)
		}
		p.sound(t)
	})
	t.Run("allowed by a person", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, twoSteps, goCheck, goTests)
		p.must(t, "add", "one", "--allow-test-changes")
		p.must(t, "add", "two")
		if r := p.run(t, goEnv(t), "start"); r.code != 0 {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("the tests of a verify command alone", func(t *testing.T) {
		t.Parallel()
		p := newProject(t, twoSteps, "", goTests)
		p.must(t, "add", "one", "--verify", "go test ./...")
		p.must(t, "add", "two", "--verify", "go build ./...")
		if r := p.run(t, goEnv(t), "start"); r.code != 5 || !strings.Contains(r.out, "old_tests: TestSum") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("red at the beginning", func(t *testing.T) {
		t.Parallel()
		files := map[string]string{"sum.go": strings.Replace(goTests["sum.go"], "a + b", "a - b", 1)}
		for k, v := range goTests {
			if files[k] == "" {
				files[k] = v
			}
		}
		p := newProject(t, twoSteps, goCheck+"[validation]\nbaseline = \"off\"\n", files)
		p.must(t, "add", "one")
		r := p.run(t, goEnv(t), "start", "--max-iterations", "1")
		if r.code != 4 || !strings.Contains(r.out, "reject: test_weakened: changed test TestSum fails as it was before") {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	})
}
