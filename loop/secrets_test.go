package loop

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestSecretNames compares the quick look at names with the general matcher.
func TestSecretNames(t *testing.T) {
	names := []string{".env", ".env.", ".env.local", ".envx", "x.env", "env", ".envrc", "a.pem", ".pem", "pem", "id_rsa",
		"id_rsa.pub", "credentials.json", "credentialsjson", "aws-credentials-2.json", "credentials.jso", "secret.json",
		"secretjson", "my.secret.x.json", "secrets.", "secrets.yaml", "secrets", "x.tfvars", ".tfvars",
		"service-account.json", "service-account-1.json", "service-account.jso", "service-accountjson", "a.key", "", "*",
		"secret*.json"}
	for _, name := range names {
		want := slices.ContainsFunc(secretNames, func(pattern string) bool {
			hit, err := filepath.Match(pattern, name)
			return hit && err == nil
		})
		if got := hasSecretName(name); got != want {
			t.Errorf("hasSecretName(%q) = %v, want %v", name, got, want)
		}
	}
}

// BenchmarkSecretNames is what the names of 10,000 ordinary files cost an iteration.
func BenchmarkSecretNames(b *testing.B) {
	for b.Loop() {
		for range 10_000 {
			hasSecretName("an-ordinary-name.go")
		}
	}
}
