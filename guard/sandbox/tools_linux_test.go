package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/figures"
	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// TestToolchains builds with the tools that agents use, each with a dependency
// that is added inside, and with caches in the home folder. There is no
// network: the dependency comes from the worktree.
func TestToolchains(t *testing.T) {
	long.FullOnly(t, "it compiles a standard library")
	tests := []struct{ tool, script string }{
		{"go", `mkdir -p dep app && cd dep && go mod init example.invalid/dep && printf 'package dep\n\nconst Word = "built"\n' >dep.go && cd ../app &&
			go mod init example.invalid/app && go mod edit -require=example.invalid/dep@v0.0.0 -replace=example.invalid/dep=../dep && export GOPROXY=off &&
			printf 'package main\n\nimport "example.invalid/dep"\n\nfunc main() { println(dep.Word) }\n' >main.go && go build -o app . && ./app && go vet . && test -d ~/.cache/go-build && go version -m app | grep vcs.revision`},
		{"npm", `mkdir -p dep app && cd dep && printf '{"name":"dep","version":"1.0.0","main":"i.js"}' >package.json && printf 'module.exports="built"' >i.js && cd ../app &&
			printf '{"name":"app","version":"1.0.0","scripts":{"test":"node t.js"}}' >package.json && npm install --no-audit --no-fund --offline ../dep && printf 'console.log(require("dep"))' >t.js && npm test && ls ~/.npm`},
		{"python3", `python3 -m venv --without-pip .venv && printf 'import sqlite3, multiprocessing, tempfile\nwith ` +
			`tempfile.TemporaryFile() as f: f.write(b"x")\nmultiprocessing.Lock()\nprint("built")\n' >t.py && ` +
			`.venv/bin/python t.py`},
		{"pip", `mkdir -p dep app && printf '[project]\nname="dep"\nversion="1.0"\n[build-system]\nrequires=[]\nbuild-backend="backend"\nbackend-path=["."]\n' >dep/pyproject.toml &&
			printf 'import zipfile\ndef build_wheel(d, *a, **k):\n    n="dep-1.0-py3-none-any.whl"\n    with zipfile.ZipFile(d+"/"+n,"w") as z:\n        z.writestr("dep.py","word=\\"built\\"\\n")\n        i="dep-1.0.dist-info/"\n        z.writestr(i+"METADATA","Metadata-Version: 2.1\\nName: dep\\nVersion: 1.0\\n")\n        z.writestr(i+"WHEEL","Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")\n        z.writestr(i+"RECORD","")\n    return n\n' >dep/backend.py &&
			cd app && python3 -m venv .venv && .venv/bin/pip install -q --no-index --no-build-isolation ../dep && .venv/bin/python -c 'import dep; print(dep.word)'`},
		{"make", `printf 'all:\n\t@echo built\n\t@touch out\n' >Makefile && make`},
	}
	b := newBox(t, "")
	b.spec.Network = NetworkLoopback
	b.spec.CommandFiles = filepath.SplitList(proc.Getenv(b.env, "PATH"))
	for _, tt := range tests {
		t.Run(tt.tool, func(t *testing.T) {
			tool := tt.tool
			if tool == "pip" { // of a new environment, which some packagers leave out
				if tool = "python3"; exec.Command(tool, "-c", "import ensurepip").Run() != nil {
					t.Skip("python3 makes no environments with pip here")
				}
			}
			if p, err := exec.LookPath(tool); err != nil || strings.Contains(p, "shims") && os.Getuid() != 0 {
				t.Skip(tt.tool, "is not installed")
			}
			b.t = t
			out, exit := b.inside("set -e; mkdir " + tt.tool + "-test; cd " + tt.tool + "-test; " + tt.script)
			if !exit.Success() || !strings.Contains(out, "built") {
				t.Errorf("%v\n%s", exit, out)
			}
			if _, err := os.Stat(filepath.Join(b.home, ".cache", "go-build")); err == nil {
				t.Error("the user's cache was written")
			}
		})
	}
}

// TestBubblewrap starts bwrap, the sandbox of some clients, if it is installed.
func TestBubblewrap(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bwrap is not installed")
	}
	const show = ` --ro-bind / / --bind "$PWD" "$PWD" --dev /dev --tmpfs /tmp sh -c 'echo x >new && cat new && rm new; ` +
		`echo nested; echo x >.git/evil; umount .git; umount -l .git'; s=$?; echo x >.git/evil; test ! -e .git/evil || ` +
		`exit 99; exit $s`
	const all = "--unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts"
	for _, tt := range []struct {
		why, flags string
		root, user bool // does it start for them
	}{
		// These include a cgroup namespace, which cannot be made.
		{"all of its own", "--unshare-all", false, false},
		{"all but a cgroup namespace", all + " --proc /proc", false, true},
		{"with the /proc that there is", all, true, true},
		{"a user namespace alone", "--unshare-user", true, true},
		// Root can write through /proc/sys without any capability, so the kernel
		// refuses a /proc without our masks.
		{"another /proc", "--unshare-user --unshare-pid --proc /proc", false, true},
		{"without a user namespace of its own root has no right to any", "--unshare-pid", false, true},
	} {
		t.Run(tt.why, func(t *testing.T) {
			b := newBox(t, "")
			b.spec.CommandFiles = filepath.SplitList(proc.Getenv(b.env, "PATH"))
			b.spec.OwnMounts = true
			before := b.protected()
			out, exit := b.inside("bwrap " + tt.flags + show)
			starts := tt.user
			if os.Getuid() == 0 {
				starts = tt.root
			}
			if exit.Code == 99 || strings.Contains(out, "nested") != starts {
				t.Errorf("%v\n%s", exit, out)
			}
			if !starts && !strings.Contains(out, "bwrap: ") {
				t.Errorf("it does not say why: %v\n%s", exit, out)
			}
			b.unchanged(before)
		})
	}
}

// BenchmarkStart compares by turns the cost of a command without a sandbox and in
// one. There are two lower bounds: this program started and ended at once, and the
// same as the first process of new namespaces. Medians in µs.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	work, home := filepath.Join(dir, "home", "work"), filepath.Join(dir, "home")
	git := filepath.Join(work, ".git")
	if err := os.MkdirAll(git, 0o755); err != nil {
		b.Fatal(err)
	}
	base := Spec{Worktree: work, GitDirs: []string{git}, Home: home, HomeUpper: filepath.Join(dir, "upper"),
		Network: NetworkOpen}
	r, err := Probe(b.Context(), base)
	if err != nil {
		b.Fatal(err)
	}
	defer RemoveHomeUpper(base.HomeUpper)
	nothing := proc.Command{Argv: []string{selfPath, hiddenCommand, "init", "x", "x"}, Env: []string{}}
	program := func() (proc.Exit, error) { return proc.Run(b.Context(), nothing) }
	namespaces := func() (proc.Exit, error) {
		cmd := nothing
		cmd.Env, _ = quickStart(nil)
		cmd.Sys = namespaceAttr(NetworkOpen)
		return proc.Run(b.Context(), cmd)
	}
	warm := base
	warm.HomeUpper = filepath.Join(base.HomeUpper, "warm")
	command := func(network Network, layers bool) func() (proc.Exit, error) {
		opts := proc.GroupOptions{EventID: eventID()}
		if network != "" {
			spec := r.Apply(warm)
			if spec.Network = network; layers {
				spec.HomeUpper, spec.HomeLower, spec.HomeDiscard = base.HomeUpper, warm.HomeUpper, true
			}
			if opts.Wrap, err = Wrapper(spec); err != nil {
				b.Fatal(err)
			}
		}
		g, err := proc.NewGroup(opts)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { g.Close() })
		cmd := proc.Command{Argv: []string{"/bin/true"}, Dir: work, Env: []string{"PATH=/bin", "HOME=" + home}}
		return func() (proc.Exit, error) { return g.Run(b.Context(), cmd) }
	}
	rows := []struct {
		name string
		run  func() (proc.Exit, error)
		code int
		took []time.Duration
	}{
		{name: "program", run: program, code: 2}, {name: "namespaces", run: namespaces, code: 2},
		{name: "none", run: command("", false)}, {name: "open", run: command(NetworkOpen, false)},
		{name: "layers", run: command(NetworkOpen, true)}, {name: "loopback", run: command(NetworkLoopback, false)},
	}
	for b.Loop() {
		for i := range rows {
			began := time.Now()
			if exit, err := rows[i].run(); err != nil || exit.Code != rows[i].code {
				b.Fatal(rows[i].name, exit, err)
			}
			rows[i].took = append(rows[i].took, time.Since(began))
		}
	}
	median := map[string]float64{}
	for _, r := range rows {
		slices.Sort(r.took)
		median[r.name] = float64(r.took[len(r.took)/2].Microseconds())
		b.ReportMetric(median[r.name], "µs/"+r.name)
	}
	b.ReportMetric(0, "ns/op") // the time of a whole round means nothing
	figures.Put(b, figures.Figure{What: "what the sandbox adds to a command", Unit: "ms", Most: 5,
		Value: (median["open"] - median["none"]) / 1000},
		figures.Figure{What: "a command in the sandbox", Value: median["open"] / 1000, Unit: "ms",
			Base: median["namespaces"] / 1000, Against: "a program in bare namespaces"})
	b.ReportMetric(median["open"]/median["namespaces"], "×namespaces")
}
