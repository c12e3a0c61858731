package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate/state"
)

// hangingGh acts like gh for one open pull request. The file "mode" beside it is its answer for the checks of kept
// work: hang, pending or pass.
const hangingGh = `#!/bin/sh
here=$(dirname "$0")
case "$1 $2" in
"pr list") echo '[{"number":7,"url":"https://github.com/pat/notes/pull/7","isDraft":true,"body":""}]' ;;
"pr view") echo "{\"headRefOid\":\"$(git rev-parse HEAD)\",\"isCrossRepository\":false}" ;;
"pr checks")
	bucket=pending
	if git log -1 --format=%s | grep -q '^ralph'; then
		mode=$(cat "$here/mode")
		echo asked >> "$here/asked"
		if [ "$mode" = hang ]; then exec sleep 600; fi
		bucket=$mode
	fi
	echo "[{\"name\":\"build\",\"state\":\"\",\"bucket\":\"$bucket\",\"link\":\"\",\"workflow\":\"CI\"}]" ;;
esac
`

// TestSteeringWhileTheGateWaits: while a run waits for the checks of its pull request, it obeys another process within
// about a second, even if gh hangs.
func TestSteeringWhileTheGateWaits(t *testing.T) {
	t.Parallel()
	long.Only(t, "a person and a run at once; the short form is that of package loop")
	p := newProject(t, doTask, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+
		"[pr]\ngate = true\nsettle = \"0s\"\nwait = \"10m\"\n"+check, nil)
	if err := os.WriteFile(filepath.Join(p.bin, "gh"), []byte(hangingGh), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "PATH="+p.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	remote := filepath.Join(filepath.Dir(p.Dir), "remote.git")
	p.Git("init", "-q", "--bare", remote)
	p.Git("remote", "add", "origin", remote)
	p.Git("push", "-q", "origin", "main")
	p.Git("fetch", "-q", "origin")
	p.Git("switch", "-q", "-c", "notes")
	asked := filepath.Join(p.bin, "asked")
	gh := func(mode string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(p.bin, "mode"), []byte(mode), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	looks := func() {
		t.Helper()
		os.Remove(asked)
		waitFor(t, "gh is asked for the checks", func() bool { return exists(asked) })
	}
	ended := make(chan result, 1)
	start := func() {
		t.Helper()
		os.Remove(asked)
		go func() { ended <- p.run(t, nil, "start") }()
		waitFor(t, "gh is asked for the checks", func() bool { return exists(asked) })
	}
	status := func() string { t.Helper(); return p.must(t, "status", "--json") }
	is := func(s state.Status) func() bool {
		return func() bool { return strings.Contains(status(), `"status": "`+string(s)+`"`) }
	}
	// The run obeys long before it would give up on gh.
	ends := func(code int) {
		t.Helper()
		begun := time.Now()
		select {
		case r := <-ended:
			if r.code != code {
				t.Fatalf("exit %d, want %d\n%s%s", r.code, code, r.out, r.err)
			}
		case <-time.After(25 * time.Second):
			t.Fatal("the run continues after it was told to stop")
		}
		t.Logf("ended after %v", time.Since(begun).Round(time.Millisecond))
	}

	p.must(t, "add", "write one")
	gh("hang")
	start()
	p.must(t, "stop")
	ends(6)
	if s := p.must(t, "status"); !strings.Contains(s, "next: git ralph start proves the whole once more") {
		t.Errorf("nothing is complete yet:\n%s", s)
	}

	start()
	p.must(t, "stop", "--now")
	ends(6)

	start()
	pause := func() {
		t.Helper()
		p.must(t, "pause")
		waitFor(t, "the run is paused", is(state.Paused))
	}
	pause()
	p.must(t, "resume")
	looks()
	pause()

	// New tasks are done before the run waits. Tasks skipped by then are not.
	gh("pending")
	p.must(t, "resume")
	looks()
	p.must(t, "add", "write two")
	waitFor(t, "the new task is done", func() bool { return strings.Contains(p.must(t, "tasks"), "T-002  done") })
	pause()
	p.must(t, "add", "write three")
	p.must(t, "skip", "T-003")
	gh("pass")
	p.must(t, "resume")
	ends(0)
	if log := p.must(t, "log"); strings.Count(log, "operator: stop") != 2 || !strings.Contains(log, "operator: pause") {
		t.Errorf("the log lacks what was asked for:\n%s", log)
	}
	p.sound(t)
}
