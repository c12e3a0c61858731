package gitstate

import (
	"crypto/rand"
	"strings"
	"time"
)

const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID makes a ULID in lower case: 48 bits of time in milliseconds and 80 of
// randomness, 26 characters, sortable by time.
func NewID(now time.Time) string {
	var random [10]byte
	rand.Read(random[:])
	return IDFrom(now, random[:])
}

// IDFrom is an id whose randomness is given: its first ten bytes.
func IDFrom(now time.Time, random []byte) string {
	var b [16]byte
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	copy(b[6:], random)
	var out strings.Builder
	// 130 bits in groups of five, the first two of them zero.
	bits, n := uint(0), 2
	for _, x := range b {
		bits = bits<<8 | uint(x)
		n += 8
		for n >= 5 {
			n -= 5
			out.WriteByte(crockford[bits>>n&31])
		}
	}
	return out.String()
}
