package agentctx

import (
	"errors"
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

// Sample is one recorded request: the bytes that we put into it and the input
// tokens (cached ones included) that the provider reported for it.
type Sample struct {
	Bytes  int
	Tokens int64
}

// Calibration is a factor measured from samples.
type Calibration struct {
	BytesPerToken float64
	// Overhead is what the client adds to every request by itself (its own
	// system prompt and tools), in tokens.
	Overhead float64
	// WorstError is the largest relative error of the estimate over the
	// samples: 0.1 = ten percent off.
	WorstError float64
}

// Calibrate measures the factor of a model family from recorded requests of
// one client: the slope of reported tokens over bytes, since the intercept is
// the client's own. It fails when the samples cannot say: fewer than three,
// all of one size, or a factor that no tokenizer has (1 to 12 bytes a token),
// as with figures that were made up.
func Calibrate(samples []Sample) (Calibration, error) {
	var c Calibration
	if len(samples) < 3 {
		return c, errors.New("calibrate: fewer than three samples")
	}
	n := float64(len(samples))
	var sx, sy float64
	for _, s := range samples {
		sx += float64(s.Bytes)
		sy += float64(s.Tokens)
	}
	mx, my := sx/n, sy/n
	var sxx, sxy float64
	for _, s := range samples {
		dx := float64(s.Bytes) - mx
		sxx += dx * dx
		sxy += dx * (float64(s.Tokens) - my)
	}
	if sxx == 0 {
		return c, errors.New("calibrate: all samples have one size")
	}
	slope := sxy / sxx
	if slope <= 0 || 1/slope < 1 || 1/slope > 12 {
		return c, errors.New("calibrate: the reported tokens do not follow the size of the text")
	}
	c.BytesPerToken = 1 / slope
	c.Overhead = my - slope*mx
	for _, s := range samples {
		want := float64(s.Tokens)
		if want > 0 {
			got := c.Overhead + slope*float64(s.Bytes)
			c.WorstError = max(c.WorstError, math.Abs(got-want)/want)
		}
	}
	return c, nil
}
