package guard

import (
	"testing"

	"git-ralph/fixtures/figures"
)

// BenchmarkJudge is the cost of a decision in process: over the whole corpus,
// and for the commonest commands. The goal is 60 µs for a typical one.
func BenchmarkJudge(b *testing.B) {
	p := New("/srv/code/app", "/home/user")
	all := readSamples(b, "dev.jsonl")
	b.Run("corpus", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p.Judge(all[i%len(all)].Command)
		}
	})
	for name, cmd := range map[string]string{
		"status":   "git status",
		"test":     "go test ./... -race -count=1 2>&1 | tail -40",
		"compound": `cd internal/guard && go test -run 'TestGuard/.*commit.*' -v . 2>&1 | grep -E '^(---|ok|FAIL)'`,
		"loop":     `for f in $(git ls-files '*.go'); do wc -l "$f"; done | sort -n | tail -5`,
		"denied":   `bash -c 'cd sub && git commit -m "x"'`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Judge(cmd)
			}
			figures.Put(b, figures.Figure{What: "one decision of the guard in process, " + name,
				Value: float64(b.Elapsed().Nanoseconds()) / float64(b.N) / 1000, Unit: "µs", Most: 60})
		})
	}
}
