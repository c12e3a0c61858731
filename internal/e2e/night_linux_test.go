package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/internal/agent/fakemodel"
)

// nightHead begins doc/night.md.
const nightHead = `# A night with a real client

Written by ` + "`just night`" + `, which anybody can repeat who has Claude Code (` + "`npm ci --prefix fixtures/clients --ignore-scripts`" + `).
One process of git ralph starts the real Claude Code once for each iteration. The model is a script on the loopback address. Of every ten
attempts eight are good; one breaks the check and says that all tests pass, and one does nothing and says that it is done. In one of the
good ones the connection is cut once, in another the model is overloaded once, in a third a command prints 200 KB; in all of them the
model tries to commit and is denied. The sandbox is on, and the check runs after each attempt.
Each answer of the model comes %d seconds after its request.`

// nightAttempt is what the model does in attempt n on the given task.
func nightAttempt(n, task int) (steps fakemodel.Script, kept bool) {
	id := fmt.Sprintf("T-%03d", task)
	bash := func(text, command string) fakemodel.Step {
		return fakemodel.Step{Text: text, Usage: &fakemodel.Usage{In: 9000, Out: 300},
			Tools: []fakemodel.Tool{call("Bash", map[string]any{"command": command, "description": "work"})}}
	}
	claim := fakemodel.Step{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_mark_task_complete",
		map[string]any{"task_id": id, "verification_notes": "the file is there"})}}
	write := "mkdir -p src && echo " + id + " > src/" + id + ".txt"
	switch n % 10 {
	case 3:
		return fakemodel.Script{bash("I change it.", "echo x > broken"), claim, {Text: "All tests pass."}}, false
	case 6:
		return fakemodel.Script{{Text: "I am done. Everything works."}, {Text: "Nothing is left to do."}}, false
	case 5:
		steps = fakemodel.Script{{Drop: true}}
	case 7:
		steps = fakemodel.Script{{Status: 529, ErrorType: "overloaded_error", Message: "Overloaded"}}
	case 9:
		write += "; head -c 200000 /dev/zero | tr '\\0' x | fold -w 100"
	}
	return append(steps, bash("I write the file.", write), bash("", "git add -A && git commit -m mine"), claim,
		fakemodel.Step{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_submit_handoff", handoffOf(id))}},
		fakemodel.Step{Text: "Done."}), true
}

// TestNight lets one process work for RALPH_NIGHT minutes with the real Claude Code and a
// scripted model whose answers take RALPH_NIGHT_THINKS seconds each. Its resource use does
// not grow. Nothing is left running. Exactly the good attempts are kept. The figures are
// written to doc/.
func TestNight(t *testing.T) {
	minutes, err := strconv.Atoi(os.Getenv("RALPH_NIGHT"))
	if err != nil {
		t.Skip("just night MINUTES runs it")
	}
	thinks, err := strconv.Atoi(cmp.Or(os.Getenv("RALPH_NIGHT_THINKS"), "0"))
	if err != nil {
		t.Fatal(err)
	}
	outer := t.TempDir()
	iterations := 120 * minutes // more than there is time for: a quick machine made 60 a minute
	var script fakemodel.Script
	var plan strings.Builder
	task := 1
	for n := range iterations {
		steps, kept := nightAttempt(n, task)
		script = append(script, steps...)
		if kept {
			fmt.Fprintf(&plan, "- [ ] the thing number %d\n", task)
			task++
		}
	}
	w := watched{outer: outer, every: max(1, minutes/20), minutes: minutes}
	p, model := claudeProject(t, script, fmt.Sprintf(`[loop]
max_iterations = %d
max_attempts = 4
[breaker]
failures = 0
stagnation = 0
[limits]
session_usd = 0
total_usd = 0
session_tokens = 0
total_tokens = 0
[guard]
writable = [%q]
[[steps]]
name = "count"
when = "before"
enabled = true
run = "printf x >> %s"
`, iterations, outer, w.noted()))
	model.Forget()
	model.Think(time.Duration(thinks) * time.Second)
	file := filepath.Join(outer, "plan.md")
	if err := os.WriteFile(file, []byte(plan.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must(t, "import", file)
	w.project = p
	list := w.watch(t)
	if left := processesOf(p); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
	p.sound(t)
	noted, err := os.Stat(w.noted())
	if err != nil {
		t.Fatal(err)
	}
	good := 0
	for n := range int(noted.Size()) {
		if _, kept := nightAttempt(n, 1); kept {
			good++
		}
	}
	if kept := strings.Count(p.Git("log", "--format=%s"), "ralph["); kept != good {
		t.Errorf("%d commits of %d good attempts\n%s", kept, good, p.must(t, "log", "--verdict", "reject"))
	}
	report{"night", fmt.Sprintf(nightHead, thinks), "`TestNight` fails when memory, goroutines, descriptors or " +
		"processes grow, and when another attempt than the good ones is kept."}.write(t, p, list)
}
