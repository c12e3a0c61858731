package object

import "testing"

func TestCheckPath(t *testing.T) {
	for _, tt := range []struct {
		path string
		mode Mode
		ok   bool
	}{
		{"a/b.txt", ModeRegular, true}, {".gitignore", ModeRegular, true}, {".github/x", ModeRegular, true},
		{"git", ModeRegular, true},
		{".gitmodules", ModeRegular, true}, {"git~2", ModeRegular, true}, {"...", ModeRegular, true},
		{".gitx", ModeRegular, true},
		{"a\\b", ModeRegular, true}, {"日本/é", ModeRegular, true}, {"\xff.git", ModeRegular, true},
		{".git.x", ModeRegular, true},
		{"gitmod~1", ModeRegular, true}, {"gitmod~5", ModeSymlink, true}, {"gi7eba~0", ModeSymlink, true},
		{"link", ModeSymlink, true},

		{".git", ModeDir, false}, {".git/hooks/post-checkout", ModeExecutable, false}, {"a/.git/config", ModeRegular, false},
		{".GIT/config", ModeRegular, false}, {".Git", ModeGitlink, false}, {"git~1", ModeDir, false},
		{"GIT~1/hooks/x", ModeRegular, false},
		{".git ", ModeDir, false}, {".git. .", ModeDir, false}, {".git::$INDEX_ALLOCATION/x", ModeRegular, false},
		{".git:a", ModeRegular, false},
		{`a\.git`, ModeRegular, false}, {`.git\config`, ModeRegular, false}, {`x\git~1\hooks`, ModeRegular, false},
		{".g\u200cit/config", ModeRegular, false}, {"\ufeff.git", ModeDir, false}, {".gi\u206ft", ModeDir, false},
		{"", ModeRegular, false}, {"/etc/passwd", ModeRegular, false}, {"a//b", ModeRegular, false},
		{"a/", ModeRegular, false},
		{"..", ModeDir, false}, {"a/../b", ModeRegular, false}, {".", ModeDir, false}, {"a/./b", ModeRegular, false},
		{"a\x00b", ModeRegular, false},
		{".gitmodules", ModeSymlink, false}, {"sub/.GitModules", ModeSymlink, false}, {"gitmod~1", ModeSymlink, false},
		{"gi7eba~1", ModeSymlink, false}, {"gi7eb~10", ModeSymlink, false}, {".gitmodules .", ModeSymlink, false},
		{".git\u200dmodules", ModeSymlink, false},
	} {
		if err := CheckPath(tt.path, tt.mode); (err == nil) != tt.ok {
			t.Errorf("%q %o: %v", tt.path, tt.mode, err)
		}
	}
	if CheckEntry(TreeEntry{Name: "a/b", Mode: ModeRegular}) == nil {
		t.Error("a name with a slash")
	}
}
