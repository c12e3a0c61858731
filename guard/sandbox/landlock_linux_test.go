package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inUserNamespace runs one of our tests in a new user namespace that can have at
// most so many further ones.
func inUserNamespace(t *testing.T, further, test string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `echo `+further+` >/proc/sys/user/max_user_namespaces; exec "$0" "$@"`,
		selfTest(t), "-test.run=^"+test+"$", "-test.v")
	cmd.Env = append(os.Environ(), "PROBE_HELPER=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func selfTest(t *testing.T) string {
	t.Helper()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLandlock: a linked worktree whose git directory lies elsewhere.
func TestLandlock(t *testing.T) {
	b := newBox(t, publicPlace(t))
	b.outside(`git worktree add -q ../../../linked topic`)
	linked := filepath.Join(b.dir, "linked")
	b.spec = Spec{
		Mechanism: Landlock, Worktree: linked, Network: NetworkOpen,
		GitDirs: []string{filepath.Join(linked, ".git"), b.git}, Home: b.home, HomeUpper: b.spec.HomeUpper,
	}
	b.work = linked
	before := b.protected()
	tests := []struct{ name, script, want string }{
		{"the worktree is writable", `echo x >new && mkdir d && mv new d/ && ln d/new d/hard && rm d/hard && echo fine`,
			"fine"},
		{"reading git works", `git status --short && git log --oneline | wc -l && echo fine`, "fine"},
		{"git writes",
			`git add -A; git commit -m x; git branch evil; git update-ref refs/heads/main HEAD~1; git config user.name x; true`,
			"Permission denied"},
		{"files of the git directory", `echo x >` + b.git + `/HEAD; rm -rf ` + b.git + `; mv ` + b.git + ` x; ln ` +
			b.git + `/config c; echo x >../home/src/proj/a.txt`, "ermission denied"},
		{"mounts", `umount /proc; mount -t tmpfs x .; unshare -Urm mount -t tmpfs x /mnt; echo done`, "done"},
		{"devices", `mknod disk b 8 0; mknod /tmp/disk-$$ b 8 0; ls disk /tmp/disk-$$; true`, "No such file"},
		{"a home of its own with the user's settings", `cat ~/.profile && echo x >~/new && echo "$HOME"`, "upper/home"},
		{"signals to processes outside", `kill -9 $PPID; kill -0 1 && echo reached; true`, "not permitted"},
		{"a signal ends it as such", `kill -9 $$`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.t = t
			out, exit := b.inside(tt.script)
			if !strings.Contains(out, tt.want) {
				t.Errorf("no %q in\n%s", tt.want, out)
			}
			if tt.want == "" && exit.Signal != 9 {
				t.Errorf("%+v", exit)
			}
			after := b.protected()
			for p := range after {
				if within(p, linked) {
					delete(after, p)
				}
			}
			want := b.keep(before, linked)
			for p, v := range want {
				if after[p] != v {
					t.Errorf("%s\n before %s\n after  %s", p, v, after[p])
				}
			}
			if len(after) != len(want) {
				t.Errorf("%d paths before, %d after", len(want), len(after))
			}
		})
	}
	t.Run("a git directory in the worktree is refused", func(t *testing.T) {
		spec := b.spec
		spec.Worktree = filepath.Join(b.home, "src", "proj")
		spec.GitDirs = []string{b.git}
		if _, err := Wrapper(spec); err == nil || !strings.Contains(err.Error(), "cannot protect") {
			t.Error(err)
		}
	})
	t.Run("no network policy is promised", func(t *testing.T) {
		spec := b.spec
		spec.Network = NetworkNone
		if _, err := Wrapper(spec); err == nil {
			t.Error("accepted")
		}
	})
}

func (b *box) keep(all map[string]string, without string) map[string]string {
	out := map[string]string{}
	for p, v := range all {
		if !within(p, without) {
			out[p] = v
		}
	}
	return out
}

// TestSharedTemp: a shared temporary folder is open as a whole only if it contains
// nothing that must not be written.
func TestSharedTemp(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "landlock-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	link := filepath.Join(publicPlace(t), "a-link")
	os.Remove(link)
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(link)
	for _, r := range []struct {
		why  string
		spec Spec
		open bool
	}{
		{"nothing of ours lies there", Spec{Worktree: "/srv/work", GitDirs: []string{"/srv/git"}}, true},
		{"the worktree itself is writable anyhow", Spec{Worktree: dir}, true},
		{"the git directory", Spec{GitDirs: []string{dir}}, false},
		{"the git directory behind a link", Spec{GitDirs: []string{link}}, false},
		{"the folder of the run", Spec{ReadOnlyPaths: []string{dir}}, false},
		{"our own program", Spec{CommandFiles: []string{filepath.Join(dir, "git-ralph")}}, false},
		{"the user's home folder", Spec{Home: dir}, false},
		{"the home folder of the checks", Spec{HomeUpper: filepath.Join(dir, "homes", "agent")}, false},
	} {
		open := false
		for _, p := range sharedTemp(r.spec) {
			open = open || p == "/tmp"
		}
		if open != r.open {
			t.Errorf("%s: /tmp is open: %v", r.why, open)
		}
	}
}

// TestHiddenUnderLandlock: a hidden file cannot be read by any name. Files beside
// it can.
func TestHiddenUnderLandlock(t *testing.T) {
	b := newBox(t, publicPlace(t))
	b.outside(
		`git worktree add -q ../../../linked topic; mkdir -p ~/vault ~/.ssh ~/.config/gh ~/plain; for f in ~/vault/key ` +
			`~/.ssh/id ~/.config/gh/hosts.yml ~/plain/file ~/.config/other; do echo secret >$f; done; ln -s vault ~/way-in`)
	linked := filepath.Join(b.dir, "linked")
	b.spec = Spec{Mechanism: Landlock, Worktree: linked, Network: NetworkOpen,
		GitDirs: []string{filepath.Join(linked, ".git"), b.git},
		Home:    b.home, HomeUpper: b.spec.HomeUpper, Hidden: []string{filepath.Join(b.home, "vault")}}
	b.work = linked
	b.write("home/.npmrc", "//registry.example.invalid/:_authToken=hush")
	b.write("home/.pip/pip.conf", "[global]\nindex-url = https://example.invalid/simple")
	b.write("home/.claude/.credentials.json", "hush")
	b.write("home/.claude/settings.json", "{}")
	b.write("home/.mine", "hush")
	if out, _ := b.inside(`cat ~/.mine ~/.claude/.credentials.json`); strings.Count(out, "hush") != 2 {
		t.Errorf("what is not hidden: %q", out)
	}
	// A copy in the command's own home folder is no way round, nor is one of a
	// command before.
	b.spec.Hidden = append(b.spec.Hidden, filepath.Join(b.home, ".mine"),
		filepath.Join(b.home, ".claude/.credentials.json"))
	if out, _ := b.inside(`find ~ -type f -exec cat {} +`); strings.Contains(out, "hush") || !strings.Contains(out, "{}") {
		t.Errorf("read in the command's home folder: %q", out)
	}
	for path, want := range map[string]string{"vault/key": "ermission denied", "way-in/key": "ermission denied",
		".ssh/id":              "ermission denied",
		".config/gh/hosts.yml": "ermission denied", "plain/file": "secret", ".config/other": "secret",
		".npmrc": "ermission denied", ".mine": "ermission denied", ".pip/pip.conf": "index-url"} {
		if out, _ := b.inside(`cat ` + filepath.Join(b.home, path) + `; true`); !strings.Contains(out, want) {
			t.Errorf("%s: no %q in %q", path, want, out)
		}
	}
	if out, _ := b.inside(`ln ` + filepath.Join(b.home, "vault/key") + ` key && cat key; mv ` +
		filepath.Join(b.home, "vault") + ` v; cat v/key; true`); strings.Contains(out, "secret") {
		t.Errorf("read by another name: %q", out)
	}
}
