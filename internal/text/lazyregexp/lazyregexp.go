// Package lazyregexp has regular expressions that are compiled when they are first used:
// a command uses few of those that the program knows, and each takes time and memory.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New gives the expression of a text. The first call of what it returns compiles it, and
// panics if it is none.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
