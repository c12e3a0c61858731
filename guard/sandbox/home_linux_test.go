package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/proc"
)

func TestHomeModes(t *testing.T) {
	t.Run("copy", func(t *testing.T) {
		b := newBox(t, "")
		b.write("home/.config/tool/settings.json", "{}")
		b.write("home/.config/gh/hosts.yml", "SECRET gh")
		b.write("home/.cache/big/blob", "cached")
		b.write("home/large.bin", strings.Repeat("x", copyMax+1))
		b.spec.HomeMode = HomeCopy
		before := b.protected()
		out, _ := b.inside(`cat ~/.profile ~/.config/tool/settings.json ~/notes/todo; cat ~/.netrc ~/.ssh/* ~/.aws/* ~/.config/gh/*; echo x >~/.profile && echo x >~/new && mkdir -p ~/.cache/go-build && echo x >~/.cache/go-build/x && mv ~/new ~/new2 && echo fine
			echo x >~/notes/todo; echo x >~/large.bin; rm -rf ~/.config; ln -s /etc ~/.config2; echo x >.git/x`)
		for _, w := range []string{"# profile", "{}", "later", "fine", "Read-only file system"} {
			if !strings.Contains(out, w) {
				t.Errorf("no %q in\n%s", w, out)
			}
		}
		if strings.Contains(out, "SECRET") {
			t.Errorf("credentials in\n%s", out)
		}
		b.unchanged(before)
		// A link planted in the home does not lead the next run's copies out of it.
		out, _ = b.inside(`rm -rf ~/.config; ln -s "$HOME/../other" ~/.config; cat ~/.profile`)
		if !strings.Contains(out, "x\n") {
			t.Errorf("the home was not kept:\n%s", out)
		}
		b.unchanged(before)
		w, err := Wrapper(b.spec)
		if err != nil || w == nil {
			t.Fatal(err)
		}
		b.inside(`true`)
		b.unchanged(before)
	})
	t.Run("read-only", func(t *testing.T) {
		b := newBox(t, "")
		b.spec.HomeMode = HomeReadOnly
		out, _ := b.inside(`cat ~/.profile; echo x >~/new; cat ~/.netrc; echo y >new && echo fine`)
		if !strings.Contains(out, "# profile") || !strings.Contains(out, "Read-only") ||
			!strings.Contains(out, "fine") || strings.Contains(out, "SECRET") {
			t.Error(out)
		}
	})
}

// TestPlantedInPlaceOfHidden: what a command leaves in its home folder does not keep
// later commands from starting when the user makes something there that is hidden.
func TestPlantedInPlaceOfHidden(t *testing.T) {
	b := newBox(t, publicPlace(t))
	b.inside(`touch ~/.kube; ln -s /nowhere ~/.docker; ln -s notes ~/.azure; mkdir ~/.pgpass; touch ~/.config`)
	for _, p := range []string{".kube/config", ".docker/config.json", ".azure/token", ".pgpass", ".config/gh/hosts.yml"} {
		b.write("home/"+p, "SECRET")
	}
	g := b.group()
	defer g.Close()
	var out safeBuffer
	_, err := g.Run(t.Context(), proc.Command{Argv: []string{"bash", "-c", `cat ~/.kube/* ~/.docker/* ~/.azure/* ~/.pgpass
		cat ~/.config/gh/*; rm -rf ~/.kube ~/.docker ~/.azure ~/.pgpass ~/.config; cat ~/.kube/* ~/.pgpass; cat ~/notes/todo`},
		Dir: b.work, Env: b.env, Stdout: &out, Stderr: &out})
	if text := out.String(); err != nil || strings.Contains(text, "SECRET") || !strings.Contains(text, "later") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestKeptHome(t *testing.T) {
	b := newBox(t, "")
	if out, exit := b.inside(`echo warm >~/cached; cat /proc/self/mountinfo | grep -c volatile`); !exit.Success() {
		t.Fatal(out)
	}
	t.Run("one sandbox at a time", func(t *testing.T) {
		lock, err := keepHome(b.spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keepHome(b.spec); err == nil || !strings.Contains(err.Error(), "in use by another sandbox") {
			t.Error(err)
		}
		r, err := Probe(t.Context(), b.spec)
		if err != nil || r.HomeMode != HomeOverlay {
			t.Errorf("a probe meanwhile: %+v %v", r, err)
		}
		lock.Close()
	})
	t.Run("warm in the next run", func(t *testing.T) {
		if out, _ := b.inside(`cat ~/cached`); out != "warm\n" {
			t.Error(out)
		}
	})
	t.Run("not trusted after a restart of the machine", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(b.spec.HomeUpper, "boot"), []byte("another"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, _ := b.inside(`cat ~/cached`); !strings.Contains(out, "No such file") {
			t.Error(out)
		}
	})
}
