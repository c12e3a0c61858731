package ignore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"
)

// repo is a worktree in which git is the oracle for what is ignored.
type repo struct {
	t    testing.TB
	dir  string
	env  []string
	fold bool
}

func newRepo(t testing.TB) *repo {
	dir := t.TempDir()
	r := &repo{t: t, dir: filepath.Join(dir, "w"), env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C"}}
	r.git("", "init", "-q", r.dir)
	return r
}

func (r *repo) git(stdin string, args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	if _, err := os.Stat(r.dir); err == nil {
		c.Dir = r.dir
	}
	c.Env, c.Stdin = r.env, strings.NewReader(stdin)
	out, err := c.Output()
	if ee, ok := err.(*exec.ExitError); err != nil && (!ok || ee.ExitCode() != 1) {
		r.t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

func (r *repo) write(path, text string) {
	r.t.Helper()
	full := filepath.Join(r.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return // a file is in the way
	}
	if fi, err := os.Lstat(full); err == nil && fi.IsDir() {
		return
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// others lists untracked files by our rules, as `git ls-files -o
// --exclude-standard` does.
func (r *repo) others() []string {
	read := func(p string) []byte { b, _ := os.ReadFile(p); return b }
	rules := (*Rules)(nil).Push(Parse(read(filepath.Join(r.dir, "..", "global")), "", r.fold)).
		Push(Parse(read(filepath.Join(r.dir, ".git", "info", "exclude")), "", r.fold))
	var out []string
	var walk func(dir string, rules *Rules)
	walk = func(dir string, rules *Rules) {
		entries, err := os.ReadDir(filepath.Join(r.dir, dir))
		if err != nil {
			r.t.Fatal(err)
		}
		if fi, err := os.Lstat(filepath.Join(r.dir, dir, ".gitignore")); err == nil && fi.Mode().IsRegular() {
			rules = rules.Push(Parse(read(filepath.Join(r.dir, dir, ".gitignore")), dir, r.fold))
		}
		for _, e := range entries {
			path := e.Name()
			if dir != "" {
				path = dir + "/" + path
			}
			switch {
			case path == ".git" || rules.Match(path, e.IsDir()) == Ignored:
			case e.IsDir():
				walk(path, rules)
			default:
				out = append(out, path)
			}
		}
	}
	walk("", rules)
	sort.Strings(out)
	return out
}

func (r *repo) compare(why string) {
	r.t.Helper()
	want := strings.Split(strings.TrimSuffix(r.git("", "ls-files", "-z", "-o", "--exclude-standard"), "\x00"), "\x00")
	sort.Strings(want)
	if got := r.others(); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
		r.t.Errorf("%s: not ignored are\n%q\ngit says\n%q", why, got, want)
	}
}

func TestRulesAreGits(t *testing.T) {
	files := []string{"a", "b.log", "keep.log", "x.o", "dir/a", "dir/b.log", "dir/sub/a", "dir/sub/x.o",
		"dir/sub/keep.log", "build/o", "src/build/o",
		"foo.txt", "bar ", "bar", "#h", "!b", "a b", "a\tb", "[x]", "x", "A", "Dir/A", "q?", "qq", "back\\s",
		"deep/1/2/3/f", "deep/1/f", "z/é", "\xff", "n\nl", "-d", "]y", "^y", "cr\r", "doc/frotz", "s/doc/frotz"}
	for _, c := range []struct{ why, root, sub, info, global string }{
		{why: "nothing"},
		{why: "names", root: "a\n*.log\n"},
		{why: "negation, last match wins", root: "*.log\n!keep.log\n"},
		{why: "negation first is overridden", root: "!keep.log\n*.log\n"},
		{why: "nothing comes back below an ignored folder", root: "dir/\n!dir/a\n!dir/sub/keep.log\n"},
		{why: "contents of a folder, and one back", root: "dir/*\n!dir/sub/\n"},
		{why: "anchors", root: "/a\n/build/\ndoc/frotz\n"},
		{why: "folders only", root: "a/\nbuild/\nx/\n"},
		{why: "double star in front", root: "**/build\n**/sub/a\n"},
		{why: "double star at the end", root: "deep/**\n!deep/1/\n"},
		{why: "double star in the middle", root: "deep/**/f\n"},
		{why: "double star that is none", root: "d**r\nde**/f\n**a\n"},
		{why: "three stars", root: "***/f\n***\n!a\n"},
		{why: "question mark", root: "?\nq?\n?.o\n"},
		{why: "classes", root: "[a-c]\n[!a]y\n[^]]y\n[]]y\n[[:upper:]]\n[\\]]y\n"},
		{why: "a class that is not closed", root: "[a\n[!\n[]\n[[:x\n[[:nope:]]\n"},
		{why: "ranges", root: "[-x]\n[a-]\n[z-a]\n[A-Z]\n"},
		{why: "escapes", root: "\\#h\n\\!b\nq\\?\n\\a\n\\[x\\]\nback\\\\s\n"},
		{why: "a backslash at the end", root: "a\\\nback\\\n"},
		{why: "trailing blanks", root: "foo.txt  \nbar\\ \na b \na\tb\t\n"},
		{why: "leading blanks count", root: " a\n"},
		{why: "comments", root: "#h\n# a\n\n\n"},
		{why: "carriage returns", root: "a\r\n*.log\r\ndir/\r\n"},
		{why: "a carriage return inside", root: "cr\r\n"},
		{why: "no newline at the end", root: "a\n*.log"},
		{why: "a carriage return at the very end", root: "a\n*.log\r"},
		{why: "a byte order mark", root: "\xef\xbb\xbfa\n*.log\n"},
		{why: "a NUL", root: "a\x00b\n*.log\x00\n"},
		{why: "everything but some", root: "*\n!*/\n!*.o\n"},
		{why: "slashes only", root: "/\n//\n//a\na//\n"},
		{why: "nested wins over root", root: "*.o\n*.log\n", sub: "!*.o\n/keep.log\na\n"},
		{why: "nested anchor", sub: "/a\nsub/\n"},
		{why: "info is weaker than .gitignore", root: "!a\n", info: "a\n*.log\n"},
		{why: "info is stronger than global", info: "!a\n", global: "a\n*.log\n"},
		{why: "suffix", root: "*log\n*.o/\n*\n!*o\n"},
		{why: "bytes that are no text", root: "\xff\n[\xc3]*\n"},
		{why: "a newline cannot be said", root: "n*l\nn?l\n"},
	} {
		r := newRepo(t)
		r.git("", "config", "core.excludesFile", filepath.Join(r.dir, "..", "global"))
		for _, f := range files {
			r.write(f, "")
		}
		for path, text := range map[string]string{".gitignore": c.root, "dir/.gitignore": c.sub,
			".git/info/exclude": c.info, "../global": c.global} {
			if text != "" {
				r.write(path, text)
			}
		}
		r.compare(c.why)
		r.git("", "config", "core.ignoreCase", "true")
		r.fold = true
		r.compare(c.why + ", without regard to case")
	}
}

// TestRandomRules does the same with random rules and names.
func TestRandomRules(t *testing.T) {
	parts := []string{"a", "b", "c", "*", "*", "?", "**", "/", "/", "**/", "/**", "[a-b]", "[!a]", "[^b]", "\\", "!",
		"d", ".x", "[[:alpha:]]", "[]a]", "[a", " ", "\\ ", "#", "\t", "[a-", "B", "[A-B]"}
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := newRepo(t)
		w.git("", "config", "core.excludesFile", filepath.Join(w.dir, "..", "global"))
		if seed%4 == 0 {
			w.fold = true
			w.git("", "config", "core.ignoreCase", "true")
		}
		name := func() string {
			s := ""
			for range 1 + r.IntN(3) {
				s += []string{"a", "b", "c", "d", "A", ".x", " ", "\\"}[r.IntN(8)]
			}
			return s
		}
		for range 60 {
			p := name()
			for range r.IntN(4) {
				p = name() + "/" + p
			}
			w.write(p, "")
		}
		rules := func() string {
			s := ""
			for range 1 + r.IntN(5) {
				for range 1 + r.IntN(5) {
					s += parts[r.IntN(len(parts))]
				}
				s += "\n"
			}
			return s
		}
		text := rules()
		w.write(".gitignore", text)
		w.write("a/.gitignore", rules())
		w.write("../global", rules())
		w.compare(fmt.Sprintf("seed %d, root %q", seed, text))
	}
}

// TestWildMatchIsNeverSlow: an agent may write any pattern.
func TestWildMatchIsNeverSlow(t *testing.T) {
	done := make(chan bool)
	go func() {
		for _, p := range []string{strings.Repeat("a*", 200) + "b", strings.Repeat("**/", 60) + "b",
			strings.Repeat("*a*/", 60) + "b",
			strings.Repeat("**a/", 60) + "b", strings.Repeat("[a-b]*", 100) + "c", strings.Repeat("?*", 300) + "z"} {
			for _, text := range []string{strings.Repeat("a", 400), strings.Repeat("a/", 200), strings.Repeat("ab/a", 100)} {
				WildMatch(p, text, Path, false)
				WildMatch(p, text, Name, true)
			}
		}
		done <- true
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a pattern takes for ever")
	}
}

// FuzzWildMatch: no pattern may crash the matcher, and a name matches itself
// when it has nothing special.
func FuzzWildMatch(f *testing.F) {
	for _, s := range [][2]string{{"a*b", "aXb"}, {"**/x", "x"}, {"[!a-z]\\", "A"}, {"[[:alpha:]", "["},
		{"a/**/b", "a/b"}} {
		f.Add(s[0], s[1], true, false)
	}
	f.Fuzz(func(t *testing.T, pattern, text string, path, fold bool) {
		if len(pattern) > 200 || len(text) > 400 {
			t.Skip("long ones take long")
		}
		got := WildMatch(pattern, text, Subject(path), fold)
		if pattern == text && !strings.ContainsAny(pattern, "*?[\\") && !fold && !got && !strings.Contains(text, "\x00") {
			t.Errorf("%q does not match itself", text)
		}
	})
}

// FuzzRules: for any ignore file git ignores the same paths as we do.
func FuzzRules(f *testing.F) {
	for _, text := range []string{"*.log\n!keep.log\n", "/a\r\n\\#h\n#h\n!\n", "a/**/b\n**/x\nb/**\n",
		"\xef\xbb\xbfx \\ \n",
		"[a-\\]x]\n[[:alpha:]]/\n", "dir/\n!dir/a\n", "*\n!*/\n!*.o\n"} {
		f.Add([]byte(text), "dir/sub/x.o")
	}
	shared := newRepo(f)
	paths := []string{"a", "b.log", "keep.log", "x.o", "dir/a", "dir/sub/x.o", "a/x/b", "#h", "!b", "[x]", "Dir/A"}
	f.Fuzz(func(t *testing.T, rules []byte, path string) {
		if len(rules) > 300 || len(path) > 100 || path == "" || path[0] == '/' || strings.Contains(path, "\x00") ||
			filepath.ToSlash(filepath.Clean(path)) != path || strings.HasPrefix(path, "..") || path == "." ||
			strings.Contains("/"+strings.ToLower(path)+"/", "/.git/") || path[0] == ':' { // git check-ignore takes it for magic
			t.Skip("no path of a worktree, or a long one")
		}
		r := &repo{t: t, dir: shared.dir, env: shared.env}
		if err := os.WriteFile(filepath.Join(r.dir, ".gitignore"), rules, 0o644); err != nil {
			t.Fatal(err)
		}
		list := (*Rules)(nil).Push(Parse(rules, "", false))
		all := append(paths, path)
		out := r.git(strings.Join(all, "\x00")+"\x00", "check-ignore", "--no-index", "--stdin", "-z")
		gits := map[string]bool{}
		for p := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			gits[p] = true
		}
		for _, p := range all {
			if got := ignored(list, p); got != gits[p] {
				t.Errorf("%q under %q: ignored %v, git says %v", p, rules, got, gits[p])
			}
		}
	})
}

// ignored reports whether a file or a folder above it is ignored.
func ignored(rules *Rules, path string) bool {
	for i := range len(path) {
		if path[i] == '/' && rules.Match(path[:i], true) == Ignored {
			return true
		}
	}
	return rules.Match(path, false) == Ignored
}
