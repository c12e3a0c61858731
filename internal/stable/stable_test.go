package stable

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Sort sorts as slices.SortStableFunc does, for every length and many ties.
func TestSort(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return a.key - b.key }
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{random.IntN(1 + n/3), i}
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, byKey)
		if Sort(s, byKey); !slices.Equal(s, want) {
			t.Fatalf("%d elements: %v, want %v", n, s, want)
		}
	}
}
