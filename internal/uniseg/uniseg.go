// Package uniseg replaces the module of that name. The live view's libraries use two of its
// functions to read what is typed, and it brings tables of 360 KB for them. Another of their
// libraries has tables for the same rules; those are used here.
package uniseg

import "github.com/clipperhouse/uax29/v2/graphemes"

// Graphemes goes through the characters of a text as a person sees them.
type Graphemes struct{ iter *graphemes.Iterator[string] }

// NewGraphemes begins before the first one.
func NewGraphemes(text string) *Graphemes { return &Graphemes{graphemes.FromString(text)} }

// Next goes to the next one, and reports whether there is one.
func (g *Graphemes) Next() bool { return g.iter.Next() }

// Str is the present one.
func (g *Graphemes) Str() string { return g.iter.Value() }

// FirstGraphemeCluster is the first character of b, and the rest. Width and state, which nobody
// here asks for, are 0.
func FirstGraphemeCluster(b []byte, _ int) (cluster, rest []byte, width, state int) {
	iter := graphemes.FromBytes(b)
	if !iter.Next() {
		return nil, nil, 0, 0
	}
	return b[:iter.End()], b[iter.End():], 0, 0
}
