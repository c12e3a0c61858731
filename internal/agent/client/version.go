package client

import (
	"strconv"
	"strings"
)

// CompareVersions compares a.b.c numerically: -1, 0 or 1. What is no number
// counts as 0.
func CompareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			n, _ = strconv.Atoi(y[i])
		}
		if m != n {
			if m < n {
				return -1
			}
			return 1
		}
	}
	return 0
}
