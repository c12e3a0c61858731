package config

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// TrustKey is the key in git config that holds the hashes of the trusted
// ralph.toml files of a repository, one value each.
const TrustKey = "ralph.trust"

// TrustHash names the exact bytes of a settings file: their sha256 in hex.
func TrustHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// IsTrusted says whether the hash is among the values of TrustKey.
func IsTrusted(hash string, values []string) bool {
	return hash != "" && slices.ContainsFunc(values, func(v string) bool {
		return strings.EqualFold(strings.TrimSpace(v), hash)
	})
}

// TrustValues picks the values of TrustKey.
func TrustValues(git []GitValue) []string {
	var out []string
	for _, g := range git {
		if strings.EqualFold(g.Key, TrustKey) {
			out = append(out, g.Value)
		}
	}
	return out
}
