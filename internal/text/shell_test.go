package text

import (
	"os/exec"
	"testing"
)

func TestShell(t *testing.T) {
	for _, word := range []string{"", "a", "a b", "it's", "$HOME", "`x`", "ünï code", "-x", "a\nb", "*", "~", "#", "''"} {
		out, err := exec.Command("sh", "-c", "printf %s "+Shell(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is read as %q, %v", word, out, err)
		}
	}
	if got := Shell("/home/me/a-b_c.d"); got != "/home/me/a-b_c.d" {
		t.Errorf("quoted without need: %s", got)
	}
}
