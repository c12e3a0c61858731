package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ralph/fixtures/history"
	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// TestTwoOperators: two people steer a loop at once from two processes, beside
// somebody at the command line. Each command is applied exactly once, and the log has
// its origin. The long form has a thousand of them.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	long.Only(t, "two people steer at once")
	each := long.Number(t, 10, 500) / 2 * 2
	p := newProject(t, "while [ ! -e go ]; do sleep 0.1; echo waiting; done\n"+doTask,
		"[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go\n"})
	for i := range 3 {
		p.must(t, "add", fmt.Sprintf("thing %d", i+1))
	}
	p.must(t, "start", "--once", "--detach")
	over := func() bool { return strings.Contains(p.must(t, "status", "--json"), `"running": null`) }
	t.Cleanup(func() { p.Write("go", ""); waitFor(t, "the loop ends", over) })
	waitFor(t, "the agent works", func() bool {
		return strings.Contains(p.must(t, "status", "--json"), `"status": "in_progress"`) ||
			strings.Contains(p.must(t, "tasks", "--json"), "in_progress")
	})
	var wg sync.WaitGroup
	for op := range 2 {
		s := p.serve(t)
		task := fmt.Sprintf("T-%03d", op+2)
		wg.Go(func() {
			for i := range each {
				command := fmt.Sprintf(`{"command":"inject","args":["note %d of operator %d;"]}`, i, op)
				if i%2 == 1 { // skip and take back in turn
					command = fmt.Sprintf(`{"command":"%s","args":["%s"]}`, []string{"skip", "retry"}[i/2%2], task)
				}
				if code, said := s.command(command); code != http.StatusOK {
					t.Errorf("%s: %d %s", command, code, said)
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 5 {
			p.must(t, "inject", fmt.Sprintf("note %d of the command line;", i))
		}
	})
	wg.Wait()
	p.Write("go", "")
	waitFor(t, "the loop ends", over)
	if log := p.must(t, "log", "--event", "iteration"); !strings.Contains(log, "iteration 1: keep T-001") {
		t.Errorf("the loop beside them did this:\n%s", log)
	}
	seen := map[string]int{}
	for line := range strings.Lines(p.must(t, "log", "--json", "--event", "operator,task")) {
		var e struct{ Event, Task, Reason, Summary, By, Via string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		key := e.Reason
		if e.Event == "task" {
			key = e.Task
		}
		if wantVia := strings.Contains(e.Reason, "command line"); e.By == "" || (e.Via == "page") == wantVia {
			t.Errorf("nobody is named for %s", line)
		}
		seen[key]++
	}
	for op := range 2 {
		for i := 0; i < each; i += 2 {
			if note := fmt.Sprintf("note %d of operator %d;", i, op); seen[note] != 1 {
				t.Errorf("%q was applied %d times", note, seen[note])
			}
		}
		if task := fmt.Sprintf("T-%03d", op+2); seen[task] != each/2 {
			t.Errorf("%s was changed %d times, not %d", task, seen[task], each/2)
		}
	}
	for i := range 5 {
		if note := fmt.Sprintf("note %d of the command line;", i); seen[note] != 1 {
			t.Errorf("%q was applied %d times", note, seen[note])
		}
	}
	p.sound(t)
}

// TestPageOfALongRun: the page of ten thousand iterations is sent in parts. Its
// first answer does not wait for the whole history.
func TestPageOfALongRun(t *testing.T) {
	t.Parallel()
	long.Only(t, "it makes ten thousand iterations")
	n := long.Number(t, 1000, 10_000)
	r := repo.New(t, map[string]string{"ralph.toml": ""})
	history.Make(t, r, history.Options{Iterations: n, Tasks: 50, Plain: true})
	p := asProject(t, r)
	s := p.serve(t)
	begin := time.Now()
	var list struct {
		Iterations []struct{ Iteration int }
		Next       *int
	}
	s.get("/api/iterations", &list)
	first := time.Since(begin)
	if len(list.Iterations) != 50 || list.Iterations[0].Iteration != n || list.Next == nil {
		t.Fatalf("the first page has %d iterations", len(list.Iterations))
	}
	count := len(list.Iterations)
	begin = time.Now()
	for list.Next != nil {
		s.get(fmt.Sprintf("/api/iterations?limit=500&before=%d", *list.Next), &list)
		count += len(list.Iterations)
	}
	all := time.Since(begin)
	if count != n {
		t.Errorf("%d iterations came, not %d", count, n)
	}
	if first > all && first > time.Second {
		t.Errorf("the first page took %v, all others %v", first, all)
	}
	begin = time.Now()
	s.get(fmt.Sprintf("/api/iterations?q=%%22iteration%%22:%d,", 7), &list)
	if len(list.Iterations) != 1 {
		t.Errorf("a search finds %d", len(list.Iterations))
	}
	var state json.RawMessage
	found := time.Since(begin)
	begin = time.Now()
	s.get("/api/state", &state)
	t.Logf("%d iterations: first page %v, all %v, search %v, state %v and %d bytes", n, first, all, found,
		time.Since(begin), len(state))
	if len(state) > 100<<10 {
		t.Errorf("the state has %d bytes", len(state))
	}
}
