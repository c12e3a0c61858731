package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/browser"
	"git-ralph/fixtures/long"
)

// fourAtWork is a project with four workers whose agents say what they do and wait.
func fourAtWork(t *testing.T) *project {
	t.Helper()
	p := newProject(t, `echo "looking around for $RALPH_TASK_ID"
echo '{"type":"usage","input_tokens":41000,"output_tokens":2700,"cost_usd":0.17,"context_tokens":84000}'
echo '{"type":"text","text":"The tests show what is missing: I write the failing one first."}'
`+waits+doTask, "[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check, nil)
	for _, title := range []string{"read the figures from a file that somebody else has written, whatever its encoding is",
		"convert miles to kilometres", "print them as a table", "describe it in the manual", "sort the rows by date"} {
		p.must(t, "add", title)
	}
	return p
}

// TestFourWorkersAtEveryWidth: the live view has a line for each worker on narrow and
// wide terminals, and no line is wrapped.
func TestFourWorkersAtEveryWidth(t *testing.T) {
	t.Parallel()
	long.Only(t, "four workers are shown")
	p := fourAtWork(t)
	screens := map[int]*screen{}
	for _, columns := range []int{40, 80, 200} {
		screens[columns] = p.onScreen(t, columns, nil, "watch")
		screens[columns].until("0 of 5 tasks")
	}
	x := p.onScreen(t, 100, nil, "start", "--workers", "4")
	for columns, s := range screens {
		for _, n := range []string{"1", "2", "3", "4"} {
			s.untilLine(`(?m)^\[` + n + `\] \d+m?\d*s T-00\d `)
		}
		if columns > 40 {
			s.untilLine(`The tests show`)
		}
		s.keys("q")
	}
	goOn(t, p)
	x.until("ended with 0")
}

// TestFourWorkersOnThePage: each worker has its card, in light and dark and on a
// narrow screen.
func TestFourWorkersOnThePage(t *testing.T) {
	t.Parallel()
	long.Only(t, "it looks at the page in a browser")
	b := browser.Start(t)
	p := fourAtWork(t)
	s := p.serve(t)
	page := b.Open(s.url, browser.Look{Width: 1280, Height: 900})
	ended := make(chan result, 1)
	go func() { ended <- p.run(t, nil, "start", "--workers", "4") }()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		select {
		case r := <-ended:
			t.Logf("the run ended with %d\n%s%s", r.code, r.out, r.err)
		default:
			t.Log("the run has not ended")
		}
	})
	page.Shows("#now", "4 workers at work")
	for _, id := range []string{"T-001", "T-002", "T-003", "T-004"} {
		page.Shows("#now", id)
	}
	page.Shows("#live", "The tests show")
	page.Shows(".figures", "$0.68") // what the four have used so far
	pictures(t, page, "workers")
	page.Look(browser.Look{Width: 400, Height: 844, Dark: true})
	page.Shot(filepath.Join(t.ArtifactDir(), "workers-narrow-dark.png"))
	page.Key("2")
	page.Shows("#tasks", "sort the rows")
	pictures(t, page, "workers-tasks")
	goOn(t, p)
	if r := <-ended; r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, strings.TrimSpace(r.err))
	}
}
