package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ralph/internal/proc"
)

// TestFoldersAround: what is read-only or hidden in a writable folder cannot be moved
// away with a folder around it, out of the way of what covers it next time.
func TestFoldersAround(t *testing.T) {
	for _, tt := range []struct {
		why           string
		setup         func(b *box)
		first, second string
	}{
		{"a hidden file", func(b *box) {
			b.write("home/src/proj/private/deep/key", "SECRET")
			b.spec.Hidden = []string{filepath.Join(b.work, "private", "deep", "key")}
		}, `mv private p; mv private/deep d; true`, `cat p/deep/key d/key; true`},
		{"a git directory in a folder of the worktree", func(b *box) {
			b.outside(`mkdir meta && mv .git meta/git && echo 'gitdir: meta/git' >.git`)
			b.git = filepath.Join(b.work, "meta", "git")
			b.spec.GitDirs = []string{b.git, filepath.Join(b.work, ".git")}
		}, `mv meta m && mkdir -p meta/git && echo moved; true`, `echo x >m/git/hooks/evil && echo written; true`},
		{"a git directory in another writable folder", func(b *box) {
			b.outside(`git worktree add -q ../../../open/linked topic && git init -q ../../../open/near/main`)
			b.spec.Writable = []string{filepath.Join(b.dir, "open")}
			b.spec.GitDirs = append(b.spec.GitDirs, filepath.Join(b.dir, "open", "near", "main", ".git"))
		}, `cd ` + `"$HOME/../open" && mv near far && mkdir -p near/main/.git && echo moved; true`,
			`cd "$HOME/../open" && echo x >far/main/.git/hooks/evil && echo written; true`},
		{"a file in a read-only folder leaves the folder read-only", func(b *box) {
			b.outside(`git init -q nested && mkdir -p nested/d/e && echo x >nested/d/f`)
			b.spec.ReadOnlyPaths = []string{filepath.Join(b.work, "nested"), filepath.Join(b.work, "nested", "d", "e")}
		}, `echo y >nested/d/f && echo written; true`, `true`},
	} {
		t.Run(tt.why, func(t *testing.T) {
			b := newBox(t, publicPlace(t))
			tt.setup(b)
			first, _ := b.inside(tt.first)
			second, _ := b.inside(tt.second)
			for _, bad := range []string{"SECRET", "moved", "written"} {
				if strings.Contains(first+second, bad) {
					t.Errorf("%s%s", first, second)
				}
			}
			if out, _ := b.inside(`echo x >new && mkdir d2 && mv new d2/ && echo fine`); out != "fine\n" {
				t.Error(out)
			}
		})
	}
}

// cgroup2 mounts the host's cgroup tree again, from its own cgroup namespace, and
// reports success.
const cgroup2 = `unshare -UrmC sh -c 'mkdir -p /tmp/cg.$$ && mount -t cgroup2 none /tmp/cg.$$ && test -e ` +
	`/tmp/cg.$$/cgroup.procs && echo reached'; rmdir /tmp/cg.* 2>/dev/null; true`

// leaveMounts runs Python in a mount namespace that has none of the sandbox's
// mounts, with descriptors of the worktree and of the home folder.
const leaveMounts = `python3 - <<'P'
import ctypes, os
libc = ctypes.CDLL(None)
work, home = (os.open(d, os.O_RDONLY) for d in ('.', os.environ['HOME']))
ids = os.getuid(), os.getgid()
if libc.unshare(0x10000000 | 0x20000): # CLONE_NEWUSER | CLONE_NEWNS
    libc.unshare(0x10000000)
for file, line in ('setgroups', 'deny'), ('uid_map', '0 %d 1' % ids[0]), ('gid_map', '0 %d 1' % ids[1]):
    try:
        with open('/proc/self/' + file, 'w') as f: f.write(line)
    except OSError as e: print(e)
os.mkdir('/tmp/new')
if libc.mount(b'x', b'/tmp/new', b'tmpfs', 0, None) == 0:
    os.mkdir('/tmp/new/old')
    libc.pivot_root(b'/tmp/new', b'/tmp/new/old')
    libc.umount2(b'/old', 2) # MNT_DETACH
def do(f, *args, **more):
    try: f(*args, **more)
    except OSError as e: print(e)
do(os.rename, '.git', 'moved', src_dir_fd=work, dst_dir_fd=work)
do(os.unlink, 'big.bin', dir_fd=work)
do(os.rename, '.netrc', 'read', src_dir_fd=home, dst_dir_fd=home)
P
true`

// TestLeaveMounts: a mount point cannot be renamed or removed by way of a
// namespace without the mount. The kernel allows that anywhere else.
func TestLeaveMounts(t *testing.T) {
	b := newBox(t, publicPlace(t))
	b.outside(`head -c 100 /dev/zero >big.bin`)
	b.spec.ReadOnlyPaths = []string{filepath.Join(b.work, "big.bin")}
	before := b.protected()
	first, _ := b.inside(leaveMounts)
	if _, err := os.Stat(filepath.Join(b.work, "big.bin")); err != nil {
		t.Error("the user's file is gone: ", err)
	}
	// Whatever moved is in nobody's way when the next command is covered.
	second, _ := b.inside(`cat ~/read; echo x >moved/hooks/post-commit; true`)
	if strings.Contains(second, "SECRET") {
		t.Error("the login can be read under another name")
	}
	if !strings.Contains(first, "busy") {
		t.Errorf("%s\n%s", first, second)
	}
	b.unchanged(before)
}

// TestCgroupNamespaces: cgroups can be mounted again without a sandbox, but not
// inside one, also where /proc/sys cannot be written. The same holds for mount
// namespaces; those of other kinds can be made.
func TestCgroupNamespaces(t *testing.T) {
	b := newBox(t, "")
	if out := b.outside(cgroup2); !strings.Contains(out, "reached") {
		t.Skip("cgroup2 cannot be mounted here at all: ", out)
	}
	attack := cgroup2 + `; unshare -Cr true && echo made; unshare -Ur unshare -C true && echo made; unshare -Ur unshare -Ur unshare -C true && echo made
		echo 100 >/proc/sys/user/max_cgroup_namespaces; unshare -Ur sh -c 'echo 100 >/proc/sys/user/max_cgroup_namespaces'; unshare -UrC true && echo made
		find /sys/fs/cgroup/ -mindepth 1; cut -d: -f3 /proc/self/cgroup | grep -v '^/$'
		unshare -Urm true && echo made; unshare -Ur unshare -m true && echo made; echo 100 >/proc/sys/user/max_mnt_namespaces; unshare -Urm true && echo made
		unshare -Ur true && unshare -Urpf true && echo nested`
	look := func(t *testing.T, out string) {
		if strings.Contains(out, "reached") || strings.Contains(out, "made") || !strings.Contains(out, "nested") {
			t.Error(out)
		}
		if strings.Contains(out, "\n/") || strings.Contains(out, "/sys/fs/cgroup/") {
			t.Error("groups outside can be seen:\n", out)
		}
	}
	out, _ := b.inside(attack)
	look(t, out)
	if os.Getenv("SANDBOX_RO_SYS") != "" {
		t.Log("with a read-only /proc/sys")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-Urm", "sh", "-ec",
		`mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; exec "$0" -test.v -test.run `+
			`'^TestCgroupNamespaces$'`, self)
	cmd.Env = append(os.Environ(), "SANDBOX_RO_SYS=1")
	again, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(again), "with a read-only /proc/sys") &&
		!strings.Contains(string(again), "SKIP") {
		t.Errorf("%v\n%s", err, again)
	}
}

// TestGroupsOutsideLive: root's agent cannot kill others through cgroup.kill.
func TestGroupsOutsideLive(t *testing.T) {
	group := ""
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		if _, err := os.Stat(root + "/cgroup.procs"); err == nil {
			group = root + "/git-ralph-test"
		}
	}
	if group == "" || os.Mkdir(group, 0o755) != nil {
		t.Skip("no group can be made here")
	}
	victim := exec.Command("sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		victim.Process.Kill()
		victim.Wait()
		os.Remove(group)
	})
	if err := os.WriteFile(group+"/cgroup.procs", []byte(strconv.Itoa(victim.Process.Pid)), 0); err != nil {
		t.Skip(err)
	}
	attack :=
		`unshare -UrmC sh -c 'mkdir -p /tmp/cg.$$ && mount -t cgroup2 none /tmp/cg.$$ && echo 1 ` +
			`>/tmp/cg.$$/git-ralph-test/cgroup.freeze && echo 1 >/tmp/cg.$$/git-ralph-test/cgroup.kill'; rmdir /tmp/cg.* ` +
			`2>/dev/null; true`
	b := newBox(t, "")
	b.inside(attack)
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil || processState(victim.Process.Pid) == "Z" {
		t.Fatal("a process outside was killed")
	}
	if frozen, err := os.ReadFile(group + "/cgroup.freeze"); err == nil && strings.TrimSpace(string(frozen)) != "0" {
		t.Error("a group outside was frozen")
	}
	b.outside(attack) // without a sandbox the attack is real
	eventually(t, "the attack works without a sandbox", func() bool { return processState(victim.Process.Pid) == "Z" })
}

func processState(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "Z"
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rest[:1]
}

// TestDescriptors: no inherited descriptor leads to a file of the host.
func TestDescriptors(t *testing.T) {
	b := newBox(t, "")
	const show = `for f in /proc/self/fd/*; do echo "$(readlink $f)"; done | sort -u; true`
	attack :=
		`for n in 0 1 2; do chmod 4777 /proc/self/fd/$n; chown 1:1 /proc/self/fd/$n; truncate -s 100M /proc/self/fd/$n; ` +
			`done; echo x >/proc/self/fd/0; chmod 600 /dev/null /dev/zero; true`
	input, drop, err := proc.Input([]byte("prompt\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer drop()
	null, err := os.Stat("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, script string, in *os.File) (string, error) {
		g := b.group()
		defer g.Close()
		var out safeBuffer
		cmd := proc.Command{Argv: []string{"bash", "-c", script}, Dir: b.work, Env: b.env, Stdout: &out, Stderr: &out}
		if in != nil {
			cmd.Stdin = in
		}
		_, err := g.Run(t.Context(), cmd)
		return out.String(), err
	}
	for name, in := range map[string]*os.File{"nothing": nil, "a prompt": input} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, show, in)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out) {
				line = strings.TrimSpace(line)
				ok := strings.HasPrefix(line, "pipe:") || line == "/dev/null" || line == "/memfd:input (deleted)" ||
					strings.HasPrefix(line, "/proc/") || line == ""
				if !ok {
					t.Errorf("descriptor of %q", line)
				}
			}
			out, err = run(t, attack, in)
			if err != nil {
				t.Fatal(err)
			}
			if now, err := os.Stat("/dev/null"); err != nil || now.Mode() != null.Mode() {
				t.Errorf("/dev/null of the machine has mode %v: %v\n%s", now.Mode(), err, out)
			}
		})
	}
	if out, err := run(t, "cat", input); err != nil || out != "prompt\n" {
		t.Errorf("%q %v", out, err)
	}
	file, err := os.OpenFile(filepath.Join(b.other, "file"), os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := run(t, "true", file); err == nil || !strings.Contains(err.Error(),
		"descriptor 0 leads to a file outside") {
		t.Errorf("a file of the host was handed in: %v", err)
	}
}

// TestPrivateFoldersAreBounded: private folders are in memory, and their size is
// limited.
func TestPrivateFoldersAreBounded(t *testing.T) {
	b := newBox(t, "")
	b.spec.TempBytes = 4 << 20
	out, _ := b.inside(`for d in /tmp /var/tmp /dev/shm /run /dev; do
		head -c 8M /dev/zero >$d/x 2>/tmp/why && echo "$d has no end"; cat /tmp/why; rm -f $d/x; done
		head -c 3M /dev/zero >/tmp/x && ! head -c 3M /dev/zero >/dev/shm/x 2>/dev/null && echo together; rm /tmp/x /dev/shm/x
		i=0; while [ $i -lt 6000 ] && : >/tmp/f$i; do i=$((i+1)); done 2>/dev/null; echo "$i files"; true`)
	if strings.Contains(out, "has no end") || strings.Contains(out, "6000 files") || !strings.Contains(out, "together") {
		t.Error(out)
	}
	b.spec.TempBytes = 0
	out, _ = b.inside(
		`for d in /tmp /var/tmp /dev/shm /run; do echo $(($(stat -f -c '%b*%S' $d))) $(stat -f -c %c $d); done | sort -u`)
	want := memory() / 4
	if f := strings.Fields(out); len(f) != 2 || len(f[0]) < 5 || f[0][:3] != strconv.Itoa(int(want))[:3] {
		t.Errorf("a quarter of the memory is %d, the folders have\n%s", want, out)
	}
	mine, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	out, _ = b.inside(
		`cat /proc/self/oom_score_adj; { echo 0 >/proc/1/oom_score_adj; } 2>/dev/null && echo lowered; mount | grep -q x ` +
			`|| true`)
	if strings.TrimSpace(string(mine)) == "0" && !strings.HasPrefix(out, "500\n") || strings.Contains(out, "lowered") {
		t.Errorf("ready to be ended when memory ends: %s", out)
	}
}

// TestGroupMemory: the smallest limit counts, in every version of cgroups.
func TestGroupMemory(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/memory.max", "4096\n")
	write("a/b/memory.max", "max\n")
	write("c/memory.max", "100\n")
	write("memory/job/memory.limit_in_bytes", "2048\n")
	for _, tt := range []struct {
		why, list string
		want      int64
	}{
		{"a parent's limit", "0::/a/b\n", 4096},
		{"its own", "0::/c\n", 100},
		{"the older kind", "3:memory:/job/x\n1:cpu:/\n", 2048},
		{"both", "3:memory:/job\n0::/c\n", 100},
		{"a name with a colon", "0::/a/x:y\n", 4096},
	} {
		if got := groupMemory(root, tt.list); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.why, got, tt.want)
		}
	}
}

// TestCredentialPlaces: logins of programs are hidden, settings without one are
// not, and root cannot read other users' secrets.
func TestCredentialPlaces(t *testing.T) {
	b := newBox(t, "")
	for _, p := range []string{".pgpass", ".vault-token", ".config/gh/hosts.yml", ".mozilla/firefox/logins.json",
		".bash_history", ".config/op/config"} {
		b.write("home/"+p, "HIDDEN")
	}
	b.write("home/.npmrc", "//registry.example.invalid/:_authToken=HIDDEN")
	b.write("home/.m2/settings.xml", "<settings><mirror>SEEN-mirror</mirror></settings>")
	out, _ := b.inside(`cd; cat .pgpass .vault-token .config/gh/* .mozilla/firefox/* .bash_history .config/op/* .npmrc .m2/settings.xml
		cat /etc/shadow* /etc/ssh/*_key; true`)
	if strings.Contains(out, "HIDDEN") || strings.Contains(out, "root:") || strings.Contains(out, "PRIVATE KEY") ||
		!strings.Contains(out, "SEEN-mirror") {
		t.Error(out)
	}
	if os.Getuid() != 0 {
		return
	}
	other := "/home/git-ralph-test-other"
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(other) })
	if err := os.WriteFile(other+"/diary", []byte("HIDDEN"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _ := b.inside(`cat ` + other + `/diary; ls -A ` + other + `; true`); strings.Contains(out, "HIDDEN") ||
		strings.Contains(out, "\ndiary") {
		t.Error(out)
	}
}
