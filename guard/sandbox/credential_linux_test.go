package sandbox

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func validJSON(b []byte) error {
	if !json.Valid(b) {
		return errors.New("not JSON")
	}
	return nil
}

func TestReturnCredential(t *testing.T) {
	tests := []struct {
		name, script string
		changed      bool
		want         string
	}{
		{"a renewed login is kept", `echo '{"token":"new"}' >~/.client/login.json`, true, "{\"token\":\"new\"}\n"},
		{"replaced in one step, as clients do",
			`echo '{"token":"new"}' >~/.client/t && mv ~/.client/t ~/.client/login.json`, true, "{\"token\":\"new\"}\n"},
		{"nothing was renewed", `cat ~/.client/login.json`, false, `{"token":"old"}`},
		{"what is no login is not", `echo '; rm -rf /' >~/.client/login.json`, false, `{"token":"old"}`},
		{"a link is not followed", `ln -sf /etc/passwd ~/.client/login.json`, false, `{"token":"old"}`},
		{"a pipe does not block", `rm ~/.client/login.json && mkfifo ~/.client/login.json`, false, `{"token":"old"}`},
		{"a deleted one comes back", `rm ~/.client/login.json`, false, `{"token":"old"}`},
		{"a flood is not read", `head -c 2000000 /dev/zero | tr '\0' 1 >~/.client/login.json`, false, `{"token":"old"}`},
		{"other files stay inside", `echo x >~/.profile; echo y >~/.client/other`, false, `{"token":"old"}`},
	}
	for _, mode := range []HomeMode{HomeOverlay, HomeCopy} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBox(t, "")
			b.spec.HomeMode = mode
			name := ".client/login.json"
			if mode == HomeCopy { // only known folders can be written there
				name = ".local/login.json"
				if err := os.Symlink(".local", filepath.Join(b.home, ".client")); err != nil {
					t.Fatal(err)
				}
			}
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					b.t = t
					b.write("home/"+name, `{"token":"old"}`)
					if err := RemoveHomeUpper(b.spec.HomeUpper); err != nil {
						t.Fatal(err)
					}
					if out, exit := b.inside(tt.script); !exit.Success() {
						t.Fatal(out)
					}
					changed, err := ReturnCredential(b.home, b.spec.HomeUpper, name, validJSON)
					if err != nil || changed != tt.changed {
						t.Errorf("changed %v, %v; want %v", changed, err, tt.changed)
					}
					if got := b.read("home/" + name); got != tt.want {
						t.Errorf("login %q, want %q", got, tt.want)
					}
					if out, _ := b.inside(`cat ~/.client/login.json`); out != tt.want {
						t.Errorf("the next run sees %q", out)
					}
					if got := b.read("home/.profile"); got != "# profile" {
						t.Errorf("profile %q", got)
					}
				})
			}
		})
	}
	if _, err := ReturnCredential("/home/x", "/upper", "../../etc/passwd", validJSON); err == nil {
		t.Error("a path out of the home folder was taken")
	}
}
