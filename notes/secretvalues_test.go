package notes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretValues(t *testing.T) {
	const body = "MIIEowIBAAKCAQEA0123456789012345678901234567890123456789"
	for _, tt := range []struct {
		why, text string
		want      []string
	}{
		{"a value whose name says so", "DB_PASSWORD=correcthorsebattery\n", []string{"correcthorsebattery"}},
		{"quotes and export", "export API_TOKEN=\"abcdabcdabcdabcd\"\n", []string{"abcdabcdabcdabcd"}},
		{"a random one under any name", "X=9fJ2kQ7zLmP4wXv8\n", []string{"9fJ2kQ7zLmP4wXv8"}},
		{"settings that are no secrets",
			"NODE_ENV=production\nPORT=8080\nNAME=aaaaaaaaaaaaaaaa\n# TOKEN=abcdabcdabcdabcd\n", nil},
		{"a short one", "PASSWORD=hunter2\n", nil},
		{"npm", "//registry.example.com/:_authToken=npm_0123456789abcdef\n", []string{"npm_0123456789abcdef"}},
		{"JSON", "{\n  \"client_secret\": \"GOCSPX-aaaabbbbccccdddd\",\n}\n", []string{"GOCSPX-aaaabbbbccccdddd"}},
		{"a key", "-----BEGIN RSA PRIVATE KEY-----\n" + body + "\nshort\n-----END RSA PRIVATE KEY-----\n", []string{body}},
		{"a certificate is public", "-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n", nil},
	} {
		if d := cmp.Diff(tt.want, SecretValues(tt.text)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, d)
		}
	}
}
