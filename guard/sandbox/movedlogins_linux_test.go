package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMovedLogins(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"home/work/kube": "", "npm-with": "//r/:_authToken=x", "npm-without": "color=false", "cargo/bin/cargo": "",
		"cfg/pip/pip.conf": "index-url = https://me:pw@x/", "cfg/uv/uv.toml": "offline = true",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("home/work", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s := Spec{Worktree: dir + "/home/work", Home: dir + "/home", CommandFiles: []string{dir + "/cargo/bin"}}
	for _, tt := range []struct {
		why  string
		env  string
		want string
	}{
		{"several in one", "KUBECONFIG=@/a:@/b", "@/a @/b"},
		{"a part of the worktree is the work", "KUBECONFIG=@/home/work/kube:@/b", "@/b"},
		{"by a link, too", "KUBECONFIG=@/link/kube", ""},
		{"the folder of the worktree stays", "DOCKER_CONFIG=@/home", ""},
		{"the folder of all stays", "DOCKER_CONFIG=/", ""},
		{"a relative one leads anywhere", "NETRC=netrc", ""},
		{"settings with a login", "NPM_CONFIG_USERCONFIG=@/npm-with", "@/npm-with"},
		{"settings without", "NPM_CONFIG_USERCONFIG=@/npm-without", ""},
		{"parts of a folder with programs", "CARGO_HOME=@/cargo", "@/cargo/credentials @/cargo/credentials.toml"},
		{"nothing is moved", "PATH=@/a", ""},
	} {
		paths := strings.Join(movedLogins(s, []string{strings.ReplaceAll(tt.env, "@", dir)}), " ")
		got := strings.ReplaceAll(paths, dir, "@")
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, d)
		}
	}
	all := strings.Join(movedLogins(s, []string{"XDG_CONFIG_HOME=" + dir + "/cfg"}), " ")
	wanted := map[string]bool{"cfg/gh": true, "cfg/gcloud": true, "cfg/pip/pip.conf": true, "cfg/uv": false}
	for part, want := range wanted {
		if strings.Contains(all, part) != want {
			t.Errorf("a moved folder of settings: %s hidden %v, want %v", part, !want, want)
		}
	}
}
