package agentctx

import (
	"math"
	"strings"
)

// DefaultBytesPerToken is the factor of every model for which none was
// measured. See doc/templates.md, "The token estimate".
const DefaultBytesPerToken = 4.0

// Tokens estimates how many tokens a text of n bytes is, rounded up.
// bytesPerToken of 0 is the default.
func Tokens(n int, bytesPerToken float64) int {
	if bytesPerToken <= 0 {
		bytesPerToken = DefaultBytesPerToken
	}
	// A hair less, so that a text cut to a budget is not above it by rounding.
	return int(math.Ceil(float64(n)/bytesPerToken - 1e-9))
}

func (o Options) factor() float64 {
	if o.BytesPerToken > 0 {
		return o.BytesPerToken
	}
	best, factor := -1, DefaultBytesPerToken
	for prefix, f := range o.Factors {
		if f > 0 && len(prefix) > best && strings.HasPrefix(strings.ToLower(o.Model), strings.ToLower(prefix)) {
			best, factor = len(prefix), f
		}
	}
	return factor
}
