// Package stable sorts slices with one copy of the algorithm: package slices has
// one for each type of element, eight kilobytes of the program each. Where many
// thousands of elements are sorted in every iteration, package slices is used.
package stable

import "sort"

// Sort sorts s as compare says: below zero where a comes before b. Equal elements
// keep their order.
func Sort[S ~[]E, E any](s S, compare func(a, b E) int) {
	sort.Stable(slice[E]{s, compare})
}

type slice[E any] struct {
	s       []E
	compare func(a, b E) int
}

func (x slice[E]) Len() int           { return len(x.s) }
func (x slice[E]) Less(i, j int) bool { return x.compare(x.s[i], x.s[j]) < 0 }
func (x slice[E]) Swap(i, j int)      { x.s[i], x.s[j] = x.s[j], x.s[i] }
