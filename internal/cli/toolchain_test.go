package cli

import (
	"os/exec"
	"testing"
)

// What the shell makes of a line and of words behind it is what the line says.
func TestShellArgv(t *testing.T) {
	if _, err := exec.LookPath("/bin/sh"); err != nil {
		t.Skip("there is no shell: ", err)
	}
	for _, tt := range []struct {
		why, line string
		words     []string
		out       string
		fails     bool
	}{
		{"a word", "echo a", []string{"b c"}, "a b c\n", false},
		{"a line that ends fails as it does", "echo a\nfalse\n", nil, "a\n", true},
		{"so does one that ends with a semicolon", "false;", nil, "", true},
		{"a loop", "for i in a b; do echo $i; done", nil, "a\nb\n", false},
		{"words belong to the last line", "true\necho a;\n", []string{"b"}, "a b\n", false},
	} {
		argv := shellArgv(tt.line, tt.words)
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if string(out) != tt.out || (err != nil) != tt.fails {
			t.Errorf("%s: %q, %v", tt.why, out, err)
		}
	}
}
