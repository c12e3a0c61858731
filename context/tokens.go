package agentctx

import "math"

// DefaultBytesPerToken is the factor of every model. What it is worth is in doc/templates.md, "The token estimate".
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
