package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/long"
)

func TestContents(t *testing.T) {
	tests := []struct {
		name   string
		setup  func(b *box)
		script func(b *box) string
		want   []string
		not    []string
		check  func(b *box)
	}{
		{
			name: "a script beside the worktree, its link and a tool on PATH behind links",
			setup: func(b *box) {
				b.write("tools/agent.sh", "#!/bin/sh\necho agent runs; helper; pkg")
				b.write("tools/secret.txt", "SECRET neighbour")
				b.write("bin/helper", "#!/bin/sh\necho helper runs")
				b.write("lib/node_modules/pkg/cli.sh", "#!/bin/sh\n. \"$(dirname \"$(readlink -f \"$0\")\")/../dep/dep.sh\"")
				b.write("lib/node_modules/dep/dep.sh", "echo dependency runs")
				for _, p := range []string{"tools/agent.sh", "bin/helper", "lib/node_modules/pkg/cli.sh"} {
					os.Chmod(filepath.Join(b.dir, p), 0o755)
				}
				os.Symlink("../lib/node_modules/pkg/cli.sh", filepath.Join(b.dir, "bin", "pkg"))
				os.Symlink("tools/agent.sh", filepath.Join(b.dir, "agent"))
				os.Symlink("bin", filepath.Join(b.dir, "binlink"))
				b.env = append(slices.Clone(b.env), "PATH="+b.dir+"/binlink:"+os.Getenv("PATH"))
				b.spec.CommandFiles = []string{filepath.Join(b.dir, "agent"), filepath.Join(b.dir, "binlink"),
					"/no/such/thing", "/usr/bin", "/tmp"}
			},
			script: func(b *box) string {
				return b.dir + "/agent; cat " + b.dir + "/tools/secret.txt; echo x >>" + b.dir +
					"/tools/agent.sh; echo x >" + b.dir + "/bin/evil"
			},
			want: []string{"agent runs", "helper runs", "dependency runs", "Read-only file system"},
			not:  []string{"SECRET"},
			check: func(b *box) {
				if got := b.read("tools/agent.sh"); strings.Contains(got, "x\n") && strings.HasSuffix(got, "pkgx\n") {
					b.t.Error("the script was changed")
				}
			},
		},
		{
			name: "files of the run",
			setup: func(b *box) {
				b.write("run/prompt.md", "do it")
				b.write("run/handoff/.keep", "")
				b.spec.Binds = []Bind{
					{Source: filepath.Join(b.dir, "run/prompt.md"), Target: RunDir + "/prompt.md"},
					{Source: filepath.Join(b.dir, "run/handoff"), Target: RunDir + "/handoff", Writable: true},
					{Source: selfPath, Target: RunDir + "/bin/git-ralph"},
				}
			},
			script: func(*box) string {
				return `cat /run/git-ralph/prompt.md; echo x >/run/git-ralph/prompt.md; echo '{}' ` +
					`>/run/git-ralph/handoff/h.json; test -x /run/git-ralph/bin/git-ralph && echo executable; rm -rf ` +
					`/run/git-ralph/bin/git-ralph; ls /run/git-ralph`
			},
			want: []string{"do it", "Read-only file system", "executable", "busy"},
			check: func(b *box) {
				if got := b.read("run/handoff/h.json"); got != "{}\n" {
					b.t.Errorf("handoff %q", got)
				}
			},
		},
		{
			name:  "planning may not write the worktree",
			setup: func(b *box) { b.spec.WorktreeReadOnly = true },
			script: func(*box) string {
				return `cat a.txt; echo x >new; echo x >>a.txt; echo x >/tmp/scratch && echo scratch`
			},
			want: []string{"hello", "Read-only file system", "scratch"},
			check: func(b *box) {
				if _, err := os.Stat(filepath.Join(b.work, "new")); err == nil {
					b.t.Error("a file was made")
				}
			},
		},
		{
			name: "nested repositories and large files are read-only, the rest is not",
			setup: func(b *box) {
				b.outside(`git init -q nested && head -c 100 /dev/zero >big.bin`)
				b.spec.ReadOnlyPaths = []string{filepath.Join(b.work, "nested"), filepath.Join(b.work, "big.bin"),
					filepath.Join(b.work, "not-there")}
			},
			script: func(*box) string {
				return `echo x >nested/.git/config; echo x >nested/f; rm -rf nested; echo x >>big.bin; rm big.bin; mv nested n2; ` +
					`echo x >new && echo fine`
			},
			want: []string{"Read-only file system", "busy", "fine"},
			check: func(b *box) {
				if st, err := os.Stat(filepath.Join(b.work, "big.bin")); err != nil || st.Size() != 100 {
					b.t.Error("big.bin was changed", err)
				}
			},
		},
		{
			name: "further writable folders, also in the home",
			setup: func(b *box) {
				b.write("extra/f", "")
				b.write("home/shared/f", "")
				b.spec.Writable = []string{filepath.Join(b.dir, "extra"), filepath.Join(b.home, "shared")}
			},
			script: func(b *box) string { return "echo x >" + b.dir + "/extra/new && echo x >~/shared/new && echo fine" },
			want:   []string{"fine"},
			check: func(b *box) {
				if b.read("extra/new") != "x\n" || b.read("home/shared/new") != "x\n" {
					b.t.Error("nothing was written outside")
				}
			},
		},
		{
			name: "logins that a variable of this program has moved",
			setup: func(b *box) {
				b.write("home/elsewhere/kube", "SECRET cluster")
				b.write("home/cfg/gh/hosts.yml", "SECRET token")
				b.t.Setenv("KUBECONFIG", b.home+"/elsewhere/kube")
				b.t.Setenv("XDG_CONFIG_HOME", b.home+"/cfg")
			},
			script: func(b *box) string { return "cat ~/elsewhere/kube ~/cfg/gh/hosts.yml; echo fine" },
			want:   []string{"fine"}, not: []string{"SECRET"},
		},
		{
			name: "hidden places of the user's choice",
			setup: func(b *box) {
				b.write("home/vault/key", "SECRET vault")
				b.spec.Hidden = []string{filepath.Join(b.home, "vault"), filepath.Join(b.other, "file"), "/no/such"}
			},
			script: func(b *box) string {
				return "cat ~/vault/key; cat " + b.other + "/file; ls -la ~/vault; cat /etc/hostname >/dev/null; echo fine"
			},
			want: []string{"fine"}, not: []string{"SECRET", "not yours"},
		},
		{
			name: "settings in git's environment stay, helpers go",
			setup: func(b *box) {
				b.outside(`git config credential.helper '!echo password=SECRET #'`)
				b.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "SSH_AUTH_SOCK=/run/agent",
					"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ada"}
			},
			script: func(*box) string {
				return `git config user.name; printf 'protocol=https\nhost=example.invalid\n\n' | git credential fill`
			},
			want: []string{"Ada\n", "terminal prompts disabled"}, not: []string{"SECRET"},
		},
		{
			name: "temporary folder variables that lead nowhere are dropped",
			setup: func(b *box) {
				b.env = append(slices.Clone(b.env), "TMPDIR="+b.dir+"/nowhere", "XDG_RUNTIME_DIR=/run/user/0")
			},
			script: func(*box) string { return `echo "[$TMPDIR$XDG_RUNTIME_DIR]"; mktemp` },
			want:   []string{"[]", "/tmp/tmp."},
		},
		{
			name: "what is written at home is there in the next run",
			setup: func(b *box) {
				if out, exit := b.inside(`mkdir -p ~/.cache/build && echo warm >~/.cache/build/x`); !exit.Success() {
					b.t.Fatal(out)
				}
			},
			script: func(*box) string { return `cat ~/.cache/build/x` },
			want:   []string{"warm"},
			check: func(b *box) {
				if _, err := os.Stat(filepath.Join(b.home, ".cache")); err == nil {
					b.t.Error("the real home was changed")
				}
			},
		},
		{
			name: "what earlier commands left is read, what is written is thrown away",
			setup: func(b *box) {
				layers := b.spec.HomeUpper
				b.spec.HomeUpper = filepath.Join(layers, "warm")
				if out, exit := b.inside(`echo warm >~/left; rm ~/.profile; rm -r ~/notes; mkdir ~/notes`); !exit.Success() {
					b.t.Fatal(out)
				}
				b.spec.HomeLower, b.spec.HomeUpper, b.spec.HomeDiscard = b.spec.HomeUpper, layers, true
				if out, exit := b.inside(`echo poison >>~/left && echo poison >~/new && cat ~/left`); !exit.Success() ||
					out != "warm\npoison\n" {
					b.t.Fatal(out)
				}
			},
			script: func(*box) string { return `cat ~/left; ls -A ~ ~/notes; echo fine` },
			want:   []string{"warm", "fine"}, not: []string{"poison", "new", ".profile", "todo"},
			check: func(b *box) {
				list, err := os.ReadDir(b.spec.HomeUpper)
				if err != nil || len(list) != 1 {
					b.t.Errorf("left beside the layer: %v %v", list, err)
				}
			},
		},
		{
			name: "an emptied folder shows nothing but what else is bound there",
			setup: func(b *box) {
				b.write("home/src/proj/node_modules/x", "SECRET ignored")
				b.outside(`git worktree add -q ../fresh topic`)
				b.spec.Worktree, b.spec.Emptied = filepath.Join(b.home, "src", "fresh"), []string{b.work}
				b.spec.GitDirs = []string{filepath.Join(b.spec.Worktree, ".git"), b.git}
				b.spec.Hidden = []string{filepath.Join(b.work, "node_modules")}
				b.spec.CommandFiles = []string{b.work}
			},
			script: func(b *box) string {
				return `cat ` + b.work + `/node_modules/x ` + b.work + `/a.txt; ls -A ` + b.work +
					`; git log --oneline | wc -l; echo x >` + b.git + `/x; echo fine`
			},
			want: []string{"No such file", ".git\n2\n", "Read-only file system", "fine"}, not: []string{"SECRET", "hello"},
		},
		{
			name: "a home folder with mounts, commas and colons in its name",
			setup: func(b *box) {
				odd := filepath.Join(b.dir, "home:a,b\\c")
				if err := os.Rename(b.home, odd); err != nil {
					b.t.Fatal(err)
				}
				b.home, b.work, b.git = odd, filepath.Join(odd, "src", "proj"), filepath.Join(odd, "src", "proj", ".git")
				b.spec.Home, b.spec.Worktree, b.spec.GitDirs = odd, b.work, []string{b.git}
				b.env = append(slices.Clone(b.env), "HOME="+odd)
			},
			script: func(*box) string {
				return `echo x >~/new && cat ~/.profile && git log --oneline | wc -l; echo x >.git/x`
			},
			want: []string{"# profile", "2\n", "Read-only file system"},
		},
		{
			name: "a linked worktree: its .git file and the common directory",
			setup: func(b *box) {
				b.outside(`git worktree add -q ../linked topic`)
				b.spec.Worktree = filepath.Join(b.home, "src", "linked")
				b.spec.GitDirs = []string{filepath.Join(b.spec.Worktree, ".git"), b.git}
				b.work = b.spec.Worktree
			},
			script: func(b *box) string {
				return `git status --short; git log --oneline | wc -l; echo x >.git; rm .git; mv .git g; git commit ` +
					`--allow-empty -m x; echo x >` + b.git + `/worktrees/linked/HEAD; echo x >../proj/a.txt; echo y >new && echo fine`
			},
			want: []string{"2\n", "Read-only file system", "busy", "fine"},
			check: func(b *box) {
				if got := b.read("home/src/proj/a.txt"); !strings.HasPrefix(got, "hello") {
					b.t.Errorf("the main worktree was changed: %q", got)
				}
			},
		},
		{
			name: "the worktree is the home folder",
			setup: func(b *box) {
				b.spec.Home = b.work
				b.env = append(slices.Clone(b.env), "HOME="+b.work)
			},
			script: func(*box) string { return `echo x >new && cd && pwd && cat new; echo x >.git/x` },
			want:   []string{"x\n", "Read-only file system"},
			check: func(b *box) {
				if got := b.read("home/src/proj/new"); got != "x\n" {
					b.t.Errorf("the worktree was not written: %q", got)
				}
			},
		},
		{
			name: "the worktree through a link",
			setup: func(b *box) {
				os.Symlink("home/src", filepath.Join(b.dir, "link"))
				b.spec.Worktree = filepath.Join(b.dir, "link", "proj")
				b.spec.GitDirs = []string{filepath.Join(b.spec.Worktree, ".git")}
			},
			script: func(b *box) string {
				return "cd " + b.spec.Worktree + " && echo x >new && git status --short; echo x >.git/x"
			},
			want: []string{"?? new", "Read-only file system"},
		},
	}
	for _, tt := range long.Sample(t, tests, 2) {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, "")
			tt.setup(b)
			out, _ := b.inside(tt.script(b))
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
			if tt.check != nil {
				tt.check(b)
			}
		})
	}
}

// dial is a Python program that connects to each address in its arguments and
// prints which it reached.
const dial = `import socket, sys
for a in sys.argv[1:]:
    kind, _, addr = a.partition("=")
    try:
        if kind == "tcp":
            s = socket.create_connection(("127.0.0.1", int(addr)), 2)
        elif kind == "udp":
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", int(addr))); s.send(b"x"); s.settimeout(1); s.recv(1)
        else:
            s = socket.socket(socket.AF_UNIX); s.connect(("\0" if kind == "abstract" else "") + addr)
        print("reached", kind)
    except OSError as e:
        print("refused", kind, e)
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(1)
try:
    socket.create_connection(l.getsockname(), 2); print("own loopback")
except OSError as e:
    print("no loopback", e)
u = socket.socket(socket.AF_UNIX); u.bind("/tmp/own.sock"); u.listen(1)
v = socket.socket(socket.AF_UNIX); v.connect("/tmp/own.sock"); print("own unix")
`

func TestNetworkAndSockets(t *testing.T) {
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("no python3 to connect with")
	}
	b := newBox(t, publicPlace(t))
	b.write("dial.py", dial)
	tmp := t.TempDir()
	abstract := fmt.Sprintf("git-ralph-test-%d", os.Getpid())
	listen := func(network, addr string) net.Listener {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	tcp := listen("tcp", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	private := filepath.Join(tmp, "s")
	listen("unix", private)
	listen("unix", "@"+abstract)
	home := filepath.Join(b.home, "agent.sock")
	listen("unix", home)
	chosen := filepath.Join(tmp, "chosen")
	listen("unix", chosen)

	tests := []struct {
		network Network
		want    []string
		not     []string
	}{
		{NetworkOpen, []string{"reached tcp", "refused private", "refused abstract", "refused home", "reached chosen",
			"own loopback", "own unix"}, nil},
		{NetworkLoopback, []string{"refused tcp", "refused private", "refused abstract", "refused home",
			"reached chosen", "own loopback", "own unix"}, nil},
		{NetworkNone, []string{"refused tcp", "refused private", "refused abstract", "refused home", "reached chosen",
			"no loopback", "own unix"}, nil},
	}
	for _, tt := range tests {
		t.Run(string(tt.network), func(t *testing.T) {
			b.t = t
			b.spec.Network = tt.network
			b.spec.Sockets = []string{chosen}
			b.spec.CommandFiles = []string{filepath.Join(b.dir, "dial.py")}
			out, _ := b.inside(fmt.Sprintf(
				"/usr/bin/python3 %s/dial.py tcp=%d private=%s abstract=%s home=%s chosen=%s", b.dir, tcp, private,
				abstract, home, chosen))
			for _, w := range tt.want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in\n%s", w, out)
				}
			}
		})
	}
}

func TestForeignOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a worktree of another user")
	}
	b := newBox(t, "")
	b.outside(`chown -R 1234:1234 . && git config --global --add safe.directory '*'`)
	out, exit := b.inside(
		`git status --short && echo x >new && rm a.txt && mkdir sub2 && stat -c %u sub/b.txt && echo y >>sub/b.txt && echo ` +
			`fine; echo x >.git/x`)
	if !exit.Success() && !strings.Contains(out, "fine") || !strings.Contains(out, "1234") ||
		!strings.Contains(out, "Read-only") {
		t.Errorf("%v\n%s", exit, out)
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Run("an upper folder in the home is refused by name", func(t *testing.T) {
		r, err := Probe(t.Context(), Spec{Home: home, HomeUpper: filepath.Join(home, "upper")})
		if err == nil || !strings.Contains(err.Error(), "lies in the home folder") {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("HomeUpperDir is accepted", func(t *testing.T) {
		upper, err := HomeUpperDir(home, dir, "probe")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Probe(t.Context(), Spec{Home: home, HomeUpper: upper})
		if err != nil || r.Mechanism != Namespaces || r.HomeMode != HomeOverlay || !r.OwnProc {
			t.Errorf("%+v %v", r, err)
		}
		if err := RemoveHomeUpper(upper); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(upper); err == nil {
			t.Error("not removed")
		}
		os.Remove(filepath.Dir(upper)) // when no other repository uses it
	})
	t.Run("no home at all", func(t *testing.T) {
		r, err := Probe(t.Context(), Spec{})
		if err != nil || r.Mechanism != Namespaces {
			t.Errorf("%+v %v", r, err)
		}
	})
	t.Run("where namespaces are refused it says so", func(t *testing.T) {
		// The limit holds for this user in this user namespace. One more namespace
		// can be made, and none inside it.
		out := inUserNamespace(t, "0", "TestHelperProbe")
		if !strings.Contains(out, "mechanism landlock") || !strings.Contains(out, "namespaces are refused") {
			t.Error(out)
		}
	})
}

func TestHelperProbe(t *testing.T) {
	if os.Getenv("PROBE_HELPER") == "" {
		t.Skip("runs as a program of its own in TestProbe")
	}
	r, err := Probe(t.Context(), Spec{})
	fmt.Println("mechanism", r.Mechanism, r.Detail, err)
}

func TestFdPathsNeedNoEscape(t *testing.T) {
	fd, err := unix.Open(t.TempDir(), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if strings.ContainsAny(fdPath(fd), ":,\\ ") {
		t.Error(fdPath(fd))
	}
}
