package journal

import (
	"context"
	"testing"

	"git-ralph/fixtures/history"
	"git-ralph/fixtures/repo"
)

// BenchmarkAppend is one event, from the state to the ref on disk.
func BenchmarkAppend(b *testing.B) {
	r := repo.New(b, nil)
	history.Make(b, r, history.Options{Iterations: 8, Tasks: 8, Plain: true})
	j := open(b, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := j.Record(context.Background(), inject("go on")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWalk reads a journal of 20,000 entries as the log does, packed.
func BenchmarkWalk(b *testing.B) {
	r := repo.New(b, nil)
	history.Make(b, r, history.Options{Iterations: 10_000, Tasks: 8, Plain: true})
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := open(b, r).Walk(context.Background(), func(Entry) (bool, error) { n++; return true, nil }); err != nil {
			b.Fatal(err)
		}
		if n < 20_000 {
			b.Fatalf("%d entries", n)
		}
	}
}
