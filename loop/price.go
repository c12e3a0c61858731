package loop

import (
	"math"
	"strings"
)

// Price is what a model costs, in micro-dollars a million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite int64 }

// Of is the cost of a usage in micro-dollars, rounded up.
func (p Price) Of(u Usage) int64 {
	sum := float64(u.Input)*float64(p.Input) + float64(u.Output)*float64(p.Output) +
		float64(u.CacheRead)*float64(p.CacheRead) + float64(u.CacheWrite)*float64(p.CacheWrite)
	return int64(math.Ceil(sum / 1e6))
}

// price finds the price of a model: by its name, or by the longest name that it
// begins with, as models are released under a name with a date behind it.
func (l *Loop) price(model string) (Price, bool) {
	best := ""
	for name := range l.Settings.Pricing {
		if strings.HasPrefix(model, name) && len(name) > len(best) {
			best = name
		}
	}
	p, ok := l.Settings.Pricing[best]
	return p, ok && best != ""
}

// spentSoFar is the cost of the run: what the client reported, else what its
// tokens cost; false when neither is known.
func (m *meter) spentSoFar() (int64, bool) {
	if m.reported > 0 {
		return m.reported, true
	}
	p, ok := m.l.price(m.model)
	return p.Of(m.sum), ok
}
