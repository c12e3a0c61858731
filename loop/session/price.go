package session

import (
	"math"
)

// Price is what a model costs, in micro-dollars a million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite int64 }

// Of is the cost of a usage in micro-dollars, rounded up.
func (p Price) Of(u Usage) int64 {
	sum := float64(u.Input)*float64(p.Input) + float64(u.Output)*float64(p.Output) +
		float64(u.CacheRead)*float64(p.CacheRead) + float64(u.CacheWrite)*float64(p.CacheWrite)
	return int64(math.Ceil(sum / 1e6))
}
