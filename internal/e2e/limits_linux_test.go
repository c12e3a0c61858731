package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestProcessesEnd: an agent or a check that keeps making processes is ended at
// the limit. The reject says so, and the loop continues.
func TestProcessesEnd(t *testing.T) {
	t.Parallel()
	const settings = "[loop]\nmax_attempts = 1\n[guard]\nprocesses = 300\n[validation]\nfresh = \"never\"\nflaky_reruns " +
		"= 1\n"
	for _, r := range long.Sample(t, []struct{ name, agent, check, said string }{
		{"an agent", "echo x > half\nwhile :; do sleep 1000 & done\n", check, "limit: processes"},
		{"an agent of threads", "echo x > half; exec python3 -c 'import threading, time\nwhile True:\n" +
			" try: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n except RuntimeError: " +
			"time.sleep(1)'\n",
			check, "limit: processes"},
		{"a check", doTask, "[[checks]]\nname = \"test\"\nrun = \"test ! -e out-T-001.txt || while :; do sleep 1000 & " +
			"done\"\n",
			"checks: test (limit: processes)"},
	}, 2) {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath("python3"); err != nil && strings.Contains(r.agent, "python3") {
				t.Skip("there is no python3, which could make threads")
			}
			p := newProject(t, r.agent, r.check+settings, nil)
			p.must(t, "add", "a thing")
			if got := p.run(t, nil, "start"); got.code == 0 || got.code == 1 {
				t.Fatalf("exit %d\n%s%s", got.code, got.out, got.err)
			}
			if s := p.show(t, "1"); s.Verdict != "reject" || s.Reason != r.said {
				t.Errorf("%s %q", s.Verdict, s.Reason)
			}
			if got := p.Git("status", "--porcelain"); got != "" {
				t.Errorf("not restored: %s", got)
			}
			p.sound(t)
		})
	}
}

// TestDiskEnds: an agent that fills the disk is ended before it is full, with
// and without a sandbox. It writes one large file, many files or empty ones,
// also beside the worktree. There is room to restore what was there.
func TestDiskEnds(t *testing.T) {
	t.Parallel()
	long.Only(t, "it fills disks")
	for _, sandbox := range []string{"off", "auto"} {
		fills := map[string]string{
			"one file": `exec head -c 10G /dev/zero > fill`,
			"many":     `i=0; while :; do head -c 1000000 /dev/urandom > fill-$i; i=$((i+1)); done`,
			"small":    `exec split -b 20000 -a 4 /dev/urandom fill-`,
			"empty":    `i=0; mkdir d; while :; do : > d/$i; i=$((i+1)); done`,
			"handoff":  `exec head -c 10G /dev/zero > $RALPH_HANDOFF_FILE`,
		}
		if sandbox == "off" { // else they are a layer of their own, and memory of the sandbox
			fills["home"] = `exec head -c 10G /dev/zero > $HOME/fill`
			fills["temporary"] = `exec head -c 10G /dev/zero > $TMPDIR/fill`
		}
		for name, fill := range fills {
			t.Run(name+", sandbox "+sandbox, func(t *testing.T) {
				t.Parallel()
				p := newProject(t, "echo spoiled > value.txt\n"+fill+"\n", check+
					fmt.Sprintf("[loop]\nmax_attempts = 1\n[guard]\nsandbox = %q\n[validation]\nbaseline = \"off\"\n", sandbox),
					map[string]string{"value.txt": "good\n"})
				p.must(t, "add", "a thing")
				away := filepath.Dir(p.Dir)
				out, code := mounted(t, away, append(append([]string{}, p.Env...), "PATH="+p.bin+":"+os.Getenv("PATH")),
					fmt.Sprintf(`set +e; mkdir -p %[1]s/small; mount -t tmpfs -o size=256m,nr_inodes=24000 tmpfs %[1]s/small
cp -a %[2]s %[1]s/small/work; cd %[1]s/small/work; rm -f .git/index; git read-tree HEAD; git update-index -q --refresh
mkdir %[1]s/other; mount -t tmpfs -o size=256m tmpfs %[1]s/other; mkdir %[1]s/other/tmp; cp -a $HOME %[1]s/other/home
export TMPDIR=%[1]s/other/tmp HOME=%[1]s/other/home; unset XDG_RUNTIME_DIR
git-ralph start; echo "start: $?"
git-ralph show 1 --json
cat value.txt; git status --porcelain; git-ralph fsck || exit 46
exit 0
`, away, p.Dir))
				if strings.Contains(out, "this machine refuses") || strings.Contains(out, "there is no sandbox here") {
					t.Skip("no sandbox can be made here:\n" + out)
				}
				if code != 0 || !strings.Contains(out, `"limit: disk`) || strings.Contains(out, "no space left") ||
					!strings.Contains(out, "\ngood\n") {
					t.Errorf("exit %d\n%s", code, out)
				}
			})
		}
	}
}
