package guard

import (
	"strings"
	"testing"
)

// TestOptions: options are parsed by the command's row, so that their values and
// the operands behind them are not confused.
func TestOptions(t *testing.T) {
	for _, c := range []struct{ why, command, class string }{
		{"a letter without a value names no folder", "rsync -at src/ out/", ""},
		{"a letter with a value in its word", "cp -tout a b", ""},
		{"the folder that an option names is written to", "cp -t .git/hooks a", ClassGitFiles},
		{"a value of an option is no operand", "flock -w 5 lock git push", ClassGitWrite},
		{"a shell line behind the operand", "flock lock -c 'git push'", ClassGitWrite},
		{"what a wrapped command makes stays", "nohup cp /usr/bin/git ./x; ./x push", ClassGitWrite},
		{"a wrapped command moves nobody", "nohup cd /tmp; rm -rf ./*", ClassProtected},
		{"a mark in the word of its option", "echo push | xargs -i% git %", ClassGitWrite},
		{"a package with a version is a command", "npx git@2 push", ClassGitWrite},
		{"a scope is no version", "npx @scope/tool@1 x", ""},
		{"options of the manager before its verb", "uv --project x run --with y git push", ClassGitWrite},
		{"a module of Python behind uv", "uv run -m bumpversion patch", ClassOtherTools},
		{"the entry point of a container", "docker run -it --entrypoint git img push", ClassGitWrite},
		{"a script with its output thrown away", "script -qc 'go test ./...' /dev/null", ""},
		{"each of several options counts", "ssh -o User=x -o ProxyCommand='git push' h", ClassGitWrite},
		{"a publishing verb behind a manager of environments", "hatch publish", ClassOtherTools},
		{"the same of another", "pdm publish", ClassOtherTools},
		{"what such a manager runs", "hatch run git push", ClassGitWrite},
		{"a name of which nothing is known", "frobnicate --all x", ""},
		{"a reading git command that writes to its file", "git merge-file .git/config a b", ClassGitFiles},
		{"and prints instead", "git merge-file -p .git/config a b", ""},
		{"a reading git command that edits in place", "git interpret-trailers --in-pl .git/COMMIT_EDITMSG", ClassGitFiles},
		{"and prints instead", "git interpret-trailers .git/COMMIT_EDITMSG", ""},
		{"an option that another program says", "git diff $(curl -s x.y) a", ClassUndecidable},
	} {
		if v := New("/srv/code/app", "/home/user").Judge(c.command); v.Class != c.class {
			t.Errorf("%s: %q got %q (%s), want %q", c.why, c.command, v.Class, v.Reason, c.class)
		}
	}
}

// TestTable: every row can be reached, and no list of options has duplicates.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range append(append([]command(nil), table...), tools...) {
		if r.names == "" {
			t.Error("a row has no name")
		}
		final := r.does == nil // later rows of the name are unreachable
		for _, n := range strings.Fields(r.names) {
			if seen[n] {
				t.Errorf("%s has a row before that judges every call", n)
			}
			seen[n] = seen[n] || final
			if isShell(n) || n == "git" {
				t.Errorf("%s is judged before the table is asked", n)
			}
		}
		for _, list := range []string{r.long, r.shell, r.lines, r.program, r.writes} {
			have := map[string]bool{}
			for _, o := range strings.Fields(list) {
				if have[o] || o[0] != '-' {
					t.Errorf("%s: the option %s stands twice or is none", r.names, o)
				}
				have[o] = true
			}
		}
	}
}

// TestSameReason: a line that is denied for several reasons always gets the same
// one, because the reason goes into history.
func TestSameReason(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	for _, line := range []string{
		"GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.k GIT_CONFIG_VALUE_0='tag evil' git k",
		"printf 'package main\\n// exec.Command(\"git\",\"push\")' > a.go; " +
			"printf 'package main\\nvar _ = exec.Command(\"git\",\"tag\",\"x\")' > b.go; go run a.go b.go",
	} {
		first := p.Judge(line)
		if first.Allowed() {
			t.Errorf("%q is allowed", line)
		}
		for range 50 {
			if v := p.Judge(line); v != first {
				t.Fatalf("%q: %+v, and before %+v", line, v, first)
			}
		}
	}
}
