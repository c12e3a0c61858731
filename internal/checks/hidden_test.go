//go:build unix

package checks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sayingRunner has the name of a real runner and prints the number of its tests.
const sayingRunner = `#!/bin/sh
n=1
case "$*" in *nope*) n=0 ;; esac
echo "test result: ok. $n passed; 0 failed; 0 ignored"
echo "again" >> runs
case "$*" in *red*) exit 1 ;; esac
`

func TestHiddenOutput(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"cargo", "jest"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(sayingRunner), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for why, c := range map[string]struct {
		run   string
		kind  Kind
		files map[string]string
		red   bool
	}{
		"said":              {run: "cargo test nope", red: true},
		"thrown away":       {run: "cargo test nope >/dev/null 2>&1", red: true},
		"all of it":         {run: "cargo test nope &> /dev/null || exit 1", red: true},
		"into a file":       {run: "cargo test nope > log.txt", red: true},
		"cut off":           {run: "cargo test nope | tail -n 0", red: true},
		"kept":              {run: "x=$(cargo test nope) && test -n \"$x\"", red: true},
		"one is there":      {run: "cargo test some >/dev/null"},
		"a runner of files": {run: "jest -t nope > /dev/null", red: true},
		"in a script": {run: "sh prove.sh", red: true,
			files: map[string]string{"prove.sh": "set -e\ncargo test nope > /dev/null\n"}},
		"in a script of a script": {run: "./a.sh", red: true,
			files: map[string]string{"a.sh": "#!/bin/sh\nexec sh sub/b.sh\n", "sub/b.sh": "cargo test nope >&-\n"}},
		"in a recipe": {run: "make -s unit", red: true,
			files: map[string]string{"Makefile": "unit:\n\t@cargo test nope >/dev/null\n"}},
		"a program that starts it": {run: "python3 prove.py || sh prove.sh", red: true, files: map[string]string{
			"prove.py": "import subprocess\nsubprocess.run(['cargo', 'test', 'nope'], stdout=subprocess.DEVNULL, check=True)\n",
			"prove.sh": "cargo test nope >/dev/null\n"}},
		"a program by its path":              {run: bin + "/cargo test nope >/dev/null", red: true},
		"another use of the program":         {run: "cargo build >/dev/null"},
		"no runner":                          {run: "grep -q build x.sh", files: map[string]string{"x.sh": "cargo build\n"}},
		"a check that names tests":           {run: "cargo test nope >/dev/null", kind: Test, red: true},
		"a check of a suite":                 {run: "cargo test >/dev/null", kind: Test},
		"two, of which one runs tests":       {run: "cargo test nope >/dev/null && cargo test some >/dev/null"},
		"what the second run does not reach": {run: "[ -e once ] && exit 1; touch once; cargo test nope >/dev/null"},
	} {
		t.Run(why, func(t *testing.T) {
			if _, err := exec.LookPath("make"); err != nil && strings.HasPrefix(c.run, "make") {
				t.Skip("make is not installed")
			}
			r := runner(t)
			r.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
			for name, text := range c.files {
				p := filepath.Join(r.Dir, name)
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if c.kind == "" {
				c.kind = Criterion
			}
			res, err := r.Once(context.Background(), Check{Name: "x", Run: c.run, Kind: c.kind, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			if res.Passed == c.red || res.NoTests != c.red {
				t.Errorf("passed %v, no tests %v; %s", res.Passed, res.NoTests, res.Output)
			}
		})
	}
}
