package agentctx

import (
	"math"
	"strings"
)

// DefaultBytesPerToken is the factor of an unknown model.
const DefaultBytesPerToken = 4.0

// Tokens estimates how many tokens a text of n bytes is, rounded up.
func Tokens(n int, bytesPerToken float64) int {
	if bytesPerToken <= 0 {
		bytesPerToken = DefaultBytesPerToken
	}
	return int(math.Ceil(float64(n) / bytesPerToken))
}

// BytesPerToken is the factor of a model's family.
func BytesPerToken(model string) float64 {
	_ = strings.ToLower(model)
	return DefaultBytesPerToken
}

func (o Options) factor() float64 {
	if o.BytesPerToken > 0 {
		return o.BytesPerToken
	}
	return BytesPerToken(o.Model)
}
