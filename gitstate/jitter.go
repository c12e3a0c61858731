package gitstate

import (
	"math/rand/v2"
	"time"
)

// Jitter is a short random pause between two tries of a compare-and-swap.
func Jitter() time.Duration { return time.Duration(2+rand.IntN(18)) * time.Millisecond }
