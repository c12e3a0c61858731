package guard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// dressings wrap a shell line so that it still runs. %s is the line, %q the
// line as one quoted word.
var dressings = []string{
	"%s", "%s; true", "true && %s", "false || %s", "( %s )", "{ %s; }", "! %s", "if true; then %s; fi",
	"if %s; then :; fi",
	"for i in 1 2; do %s; done", "while %s; do break; done", "case x in x) %s;; esac", "f() { %s; }; f", "x=$(%s)",
	"echo \"$(%s)\"",
	"cat <(%s)", "%s | cat", "%s > /tmp/out 2>&1", "%s &", "time %s",
	"bash -c %q", "sh -ec %q", "eval %q", "bash <<< %q", "echo %q | sh", "printf '%%s\\n' %q | bash -s", "trap %q EXIT",
	"env bash -c %q", "nohup sh -c %q", "timeout 5 bash -lc %q", "xargs -I{} sh -c %q < /dev/null",
	"find . -exec sh -c %q \\;",
	"su -c %q", "watch -n1 %q", "flock /tmp/l -c %q", "script -qec %q /dev/null", "source <(echo %q)",
	"x=%q; eval \"$x\"", "x=%q; bash -c \"$x\"",
	"echo %q > /tmp/s.sh; sh /tmp/s.sh", "cat > r.sh <<'XEOF'\n%s\nXEOF\nbash r.sh", "bash <<'XEOF'\n%s\nXEOF",
	"sudo -u root sh -c %q", "nice -n 3 bash -c %q",
	"python3 - <<'XEOF'\nimport os\nos.system(r'''%s''')\nXEOF", "set -e\ncd sub\n%s", "export A=1; %s",
	"A=1 B=2 bash -c %q",
}

// spell writes the word git, or another first word, in other ways.
func spell(r *rand.Rand, w string) string {
	switch r.IntN(8) {
	case 0:
		return w[:1] + "''" + w[1:]
	case 1:
		return `"` + w + `"`
	case 2:
		return w[:1] + `\` + w[1:]
	case 3:
		return "$(echo " + w + ")"
	case 4:
		return "${nothing:-" + w + "}"
	case 5:
		return "$'\\x" + fmt.Sprintf("%02x", w[0]) + w[1:] + "'"
	case 6:
		return "/usr/bin/" + w
	}
	return w
}

var violations = [][2]string{
	{"git", "commit -m x"}, {"git", "push origin main"}, {"git", "-C . tag evil"}, {"git", "-c a.b=c branch evil"},
	{"git", "stash"}, {"git", "reset --hard"},
	{"pip", "install x"}, {"rm", "-rf /"}, {"rm", "-rf .git"}, {"cp", "x .git/HEAD"},
	{"tee", "/srv/code/app/ralph.toml"}, {"gh", "pr merge 1"}, {"npm", "version minor"},
}

// FuzzDressing wraps a violation in random layers of shell: never allowed.
func FuzzDressing(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seed)
	}
	p := New("/srv/code/app", "/home/user")
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := violations[r.IntN(len(violations))]
		line := spell(r, v[0]) + " " + v[1]
		for range 1 + r.IntN(3) {
			d := dressings[r.IntN(len(dressings))]
			if strings.Contains(d, "'''%s'''") && (strings.Contains(line, "'''") || strings.HasSuffix(line, "'")) ||
				strings.Contains(d, "XEOF") && strings.Contains(line, "XEOF") {
				continue // the wrapped text would end the quoting around it
			}
			if strings.Contains(d, "%q") {
				line = strings.Replace(strings.ReplaceAll(d, "%%", "%"), "%q", quoteWord(line), 1)
			} else {
				line = strings.Replace(strings.ReplaceAll(d, "%%", "%"), "%s", line, 1)
			}
		}
		if got := p.Judge(line); got.Allowed() {
			t.Errorf("allowed: %q", line)
		}
	})
}

// FuzzGarbage: no input panics, in any of the functions that take text from an
// agent, and every denial gives a reason.
func FuzzGarbage(f *testing.F) {
	for _, s := range []string{"", "()0", "$'\\x'", "a[$(b)]=c", "<<<", "${!x[@]}", "git\x00push", "\x01\x02", "x=(",
		"{a..z}{1..9}", "printf %", "[[ -v", "awk '", "sed 's/a", "find -exec", "git -c", "git -C", "env -S",
		"xargs -I", "bash -c", "a=() ; ${a[0]}", "*** Update File: x"} {
		f.Add(s)
	}
	p := New("/srv/code/app", "/home/user")
	p.Toolchain, _ = NewToolchain("python-uv")
	f.Fuzz(func(t *testing.T, s string) {
		j := newJudge(p)
		j.program(newScope(p, ""), s, stream{}) // without the recover of Judge
		if v := p.Judge(s); !v.Allowed() && (v.Class == "" || v.Reason == "" || v.Instead == "") {
			t.Errorf("a denial without words: %+v", v)
		}
		p.judgeWrite(s, "")
		p.JudgeArgv(strings.Fields(s), "/srv/code/app")
		p.Rewrite(s)
		HookAnswer("claude", []byte(s), p)
		p.JudgeTool("apply_patch", encode(map[string]string{"input": s}))
		j.code(newScope(p, ""), "python", s)
		j.code(newScope(p, ""), "ruby", s)
		Protected{Globs: []string{s}}.Match(s)
	})
}
