package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// Each row is a script that runs inside. Everything that a command must not
// change is compared before and after each of them; want is further evidence.
var battery = []struct {
	name, script string
	want         []string // in the output
	not          []string // not in the output
	root         int      // 1: only as root, -1: only as an ordinary user
}{
	{name: "the worktree is writable",
		script: `echo x >new && mkdir d && mv new d/ && rm untracked.txt && chmod +x a.txt && ln a.txt d/hard && ln -s ` +
			`a.txt d/soft && echo fine`, want: []string{"fine"}},
	{name: "reading git works",
		script: `git status --short && git log --oneline | wc -l && git diff --stat && git show v1 --stat && git ` +
			`for-each-ref && git blame a.txt && git stash list && git ls-files -s && git fsck && echo fine`,
		want: []string{"fine", "refs/heads/topic"}},

	{name: "git writes",
		script: `git add -A; git commit -m x; git branch evil; git tag evil; git update-ref refs/heads/main HEAD~1; git ` +
			`checkout topic; git reset --hard HEAD~1; git stash; git config user.name evil; git gc; git pack-refs --all; git ` +
			`remote add evil /tmp; git reflog expire --all; git hash-object -w a.txt; git notes add -m x; git worktree add ` +
			`/tmp/wt; git symbolic-ref HEAD refs/heads/topic; git rm a.txt; true`, want: []string{"Read-only file system"}},
	{name: "files of the git directory",
		script: `echo x >.git/HEAD; echo x >>.git/config; rm -rf .git; mv .git away; rmdir .git; : >.git/index; printf x ` +
			`>.git/hooks/pre-commit; chmod +x .git/hooks/*.sample; touch -d yesterday .git/config; chown 1:1 .git/config; ` +
			`setfattr -n user.x -v 1 .git/config; truncate -s 0 .git/packed-refs; ln -sf /etc/passwd .git/HEAD; true`,
		want: []string{"Read-only file system", "busy"}},
	{name: "hard links into the git directory",
		script: `ln .git/config mine && echo x >>mine; ln .git/HEAD ../mine; cp -l .git/config c; true`,
		want:   []string{"cross-device"}},
	{name: "the worktree cannot be moved away",
		script: `cd .. && mv proj proj2; mkdir -p evil/.git && mv -T evil proj; true`, want: []string{"busy"}},
	{name: "symbolic links are followed to read-only places",
		script: `ln -s "$HOME/../other" out; echo x >out/file; echo x >out/new; ln -s .git/config c; echo x >>c; rm -rf ` +
			`sub; ln -s "$HOME/../other" sub; echo x >sub/b.txt; true`, want: []string{"Read-only file system"}},
	{name: "through descriptors and /proc",
		script: `exec 3<.git; echo x >/proc/self/fd/3/evil; echo x >/proc/self/cwd/.git/evil; echo x ` +
			`>/proc/self/root$PWD/.git/evil; echo x >/proc/1/root$PWD/.git/evil; echo x >/proc/1/cwd/evil; true`,
		want: []string{"Read-only file system"}},

	{name: "umount and remount",
		script: `umount .git; umount -l .git; umount -f .git; mount -o remount,rw .git; mount -o remount,bind,rw ` +
			`"$PWD/.git"; mount --bind . .git; mount -t tmpfs x .git; umount /proc; umount -l /tmp; umount -l "$HOME"; echo x ` +
			`>.git/evil; true`, want: []string{"must be superuser"}, not: []string{"written"}},
	{name: "nested user namespaces",
		script: `unshare -Ur umount .git; unshare -Urm umount .git; unshare -Urm umount -l .git; unshare -Urm mount -o ` +
			`remount,rw "$PWD/.git"; unshare -Urm mount -o remount,bind,rw "$PWD/.git"; unshare -Urm sh -c 'mkdir -p /tmp/m ` +
			`&& mount --bind / /tmp/m && echo x >/tmp/m'"$PWD"'/.git/evil'; unshare -Urm sh -c 'mkdir -p /tmp/m && mount ` +
			`--rbind / /tmp/m && umount -l /tmp/m'"$PWD"'/.git; echo x >/tmp/m'"$PWD"'/.git/evil'; unshare -Urm sh -c 'umount ` +
			`-l /tmp; umount -R /tmp; ls /tmp'; unshare -Urmpf sh -c 'umount -l .git; echo x >.git/evil'; true`},
	{name: "entering other namespaces",
		script: `nsenter -t 1 -m true; nsenter -t 1 -a true; for p in /proc/[0-9]*; do nsenter --mount=$p/ns/mnt sh -c ` +
			`"echo x >$PWD/.git/evil"; done; true`},
	{name: "tracing the first process",
		script: `cat /proc/1/environ; cat /proc/1/maps; gdb -p 1 -batch; strace -p 1 -o /dev/null & sleep 0.2; kill %1; dd ` +
			`if=/dev/zero of=/proc/1/mem bs=1 count=1; true`, want: []string{"Permission denied"}},
	{name: "killing the first process",
		script: `trap '' TERM; kill -9 1; kill -STOP 1; for s in $(seq 1 64); do [ $s = 1 -o $s = 2 -o $s = 3 -o $s = 10 ` +
			`-o $s = 12 ] || kill -$s 1; done; echo still here`, want: []string{"still here"}},
	{name: "capabilities stay away",
		script: `grep -E 'NoNewPrivs|CapBnd' /proc/self/status; chroot / true; mknod /tmp/disk b 8 0; mknod disk b 8 0; ` +
			`hostname evil; true`, want: []string{"NoNewPrivs:	1"}},
	{name: "devices",
		script: `ls /dev; cat /dev/kmsg; dd if=/dev/mem of=/dev/null count=1; echo x >/dev/null && head -c 1 /dev/urandom ` +
			`>/dev/null && echo fine`, want: []string{"fine"}, not: []string{"sda", "vda", "kmsg\n"}},
	{name: "a terminal of its own",
		script: `python3 -c 'import os; m, s = os.openpty(); os.write(s, b"x"); print(os.read(m, 1))' || script -qc 'echo ` +
			`b\"x\"' /dev/null`, want: []string{"x"}},

	{name: "kernel settings",
		script: `for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches ` +
			`/proc/sysrq-trigger /sys/kernel/mm/transparent_hugepage/enabled /sys/fs/cgroup/cgroup.procs; do echo 1 >$f && ` +
			`echo "written $f"; done; true`, not: []string{"written"}},
	{name: "the rest of the tree",
		script: `touch /etc/x /usr/x /var/x /opt/x "$HOME/../other/new" /x; echo x >"$HOME/../other/file"; rm -rf ` +
			`"$HOME/../other"; chmod 777 "$HOME/../other"; true`, want: []string{"Read-only file system"}},

	{name: "home is writable and stays as it was",
		script: `echo x >"$HOME/.profile" && rm -r "$HOME/notes" && mkdir -p "$HOME/.cache/x" && echo x ` +
			`>"$HOME/.gitconfig" && mv "$HOME/.profile" "$HOME/p" && echo fine`, want: []string{"fine"}},
	{name: "credentials",
		script: `cat ~/.ssh/* ~/.netrc ~/.git-credentials ~/.aws/* ~/dotfiles/aws/* ; grep -r --exclude-dir=.git SECRET ~ ` +
			`; echo x >~/.netrc; echo x >~/.ssh/authorized_keys; rm -rf ~/.ssh ~/.netrc; mv ~/.ssh ~/x; mv ~/.netrc ~/x; true`,
		want: []string{"Read-only file system"}, not: []string{"SECRET"}},
	{name: "private temporary folders",
		script: `ls -A /tmp /var/tmp /dev/shm /run; for d in /tmp /var/tmp /dev/shm; do echo x >$d/x && cat $d/x; done; ` +
			`python3 -c 'import multiprocessing as m; print(m.Lock())' || true; mktemp`, want: []string{"/tmp/tmp."},
		not: []string{"written"}},
	{name: "processes of others",
		script: `ls /proc | grep -c '^[0-9]*$'; ls -d /proc/[0-9]* | wc -l | { read n; [ "$n" -lt 12 ] && echo few; }; ` +
			`kill -0 -1; true`, want: []string{"few"}},
	{name: "set-user-id programs give nothing",
		script: `su -c id root </dev/null; sudo -n id; cp /usr/bin/id ./id2 && chmod u+s ./id2 && ./id2; true`,
		root:   -1, not: []string{"euid=0", "uid=0"}},
	{name: "foreign owners",
		script: `touch f && chown 1234:1234 f && stat -c %u f && mkdir d && chown 99:99 d && echo x >d/y && tar cf t.tar f ` +
			`&& rm f && tar xpf t.tar && stat -c %u f`, root: 1, want: []string{"1234\n1234"}},
	{name: "mounts of its own",
		script: `unshare -Urm sh -c 'mount --bind sub .git && mount -t tmpfs x /mnt && echo nested'; echo x >.git/evil; true`,
		want:   []string{"unshare failed"}, not: []string{"nested"}},
	{name: "processes of its own", script: `unshare -Urpf sh -c 'echo nested $$'`, want: []string{"nested 1"}},
	{name: "pushing",
		script: `git push origin main; git push -f origin HEAD~1:main; git push "$HOME/../remote.git" ` +
			`+HEAD~1:refs/heads/main; git -C "$HOME/../remote.git" update-ref refs/heads/evil HEAD; git fetch origin; true`,
		want: []string{"fatal"}},
	{name: "credential helpers",
		script: `printf 'protocol=https\nhost=example.invalid\n\n' | git credential fill; true`,
		not:    []string{"SECRET"}, want: []string{"could not read Username"}},
}

func TestBattery(t *testing.T) {
	for _, place := range []string{"private", "elsewhere"} {
		t.Run(place, func(t *testing.T) {
			base := ""
			if place == "elsewhere" {
				base = publicPlace(t)
			}
			b := newBox(t, base)
			b.outside(`git clone -q --bare . ../../../remote.git && git remote add origin ../../../remote.git && git fetch -q origin &&
				git config credential.helper '!echo password=SECRET; echo username=me #' &&
				git config credential.https://example.invalid.helper '!echo password=SECRET2; echo username=me #'`)
			before := b.protected()
			for _, tt := range long.Sample(t, battery, 3) {
				if tt.root == 1 && os.Getuid() != 0 || tt.root == -1 && os.Getuid() == 0 {
					continue
				}
				t.Run(tt.name, func(t *testing.T) {
					b.t = t
					out, _ := b.inside(tt.script)
					for _, w := range tt.want {
						if !strings.Contains(out, w) {
							t.Errorf("no %q in\n%s", w, out)
						}
					}
					for _, n := range tt.not {
						if strings.Contains(out, n) {
							t.Errorf("%q in\n%s", n, out)
						}
					}
					b.unchanged(before)
				})
				b.t = t
				b.outside(
					`find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} + && git checkout -q -- . && echo new >untracked.txt`)
				before = b.protected() // the index is refreshed by our own checkout
				if err := RemoveHomeUpper(b.spec.HomeUpper); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// publicPlace is a folder that no private folder of the sandbox covers.
func publicPlace(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.Getenv("GIT_RALPH_TEST_DIR"), cacheDir()} {
		if dir == "" || os.MkdirAll(dir, 0o755) != nil {
			continue
		}
		private := false
		for _, p := range privateRoots {
			private = private || within(dir, p.path)
		}
		if !private {
			t.Cleanup(func() { os.Remove(dir) }) // when it is empty
			return dir
		}
	}
	t.Skip("no folder outside of /tmp to write to")
	return ""
}

func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "git-ralph-test")
}

// TestBatteryShowsEffect proves that the rows are real attacks: without a sandbox
// they change protected files.
func TestBatteryShowsEffect(t *testing.T) {
	for _, name := range []string{
		"git writes", "files of the git directory", "hard links into the git directory",
		"symbolic links are followed to read-only places", "home is writable and stays as it was", "pushing",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, "")
			b.outside(`git clone -q --bare . ../../../remote.git && git remote add origin ../../../remote.git`)
			before := b.protected()
			for _, tt := range battery {
				if tt.name == name {
					b.outside("{ " + tt.script + "; } 2>/dev/null || true")
				}
			}
			after := b.protected()
			same := len(before) == len(after)
			for p, v := range before {
				same = same && after[p] == v
			}
			if same {
				t.Error("nothing was changed: the row proves nothing")
			}
		})
	}
}
