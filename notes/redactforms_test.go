package notes

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

// TestRedactForms has one row for each kind of secret. They are assembled here, so
// that no secret scanner reports this file.
func TestRedactForms(t *testing.T) {
	mixed := strings.Repeat("aB3dE5gH7", 20)
	hex := strings.Repeat("0a1b2c3d4e5f6789", 8)
	big := strings.ToUpper(mixed)
	for _, row := range []struct{ why, before, secret, after string }{
		{"Stripe by name", "STRIPE_KEY=", "q" + mixed[:24], ""},
		{"any key by name", "MY_SERVICE_KEY: ", mixed[:32], ""},
		{"a signing key", "export SIGNING_KEY=", mixed[:40], "\n"},
		{"Azure storage", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", mixed[:86] + "==",
			";EndpointSuffix=core"},
		{"Azure bus", "SharedAccessKeyName=r;SharedAccessKey=", mixed[:43] + "=", ""},
		{"Azure client", "id ", "abc8Q~" + mixed[:34], ""},
		{"Discord bot", "", "M" + mixed[:24] + "." + mixed[:6] + "." + mixed[:38], ""},
		{"Discord hook", "https://discord.com/api/webhooks/", "123456789012345678/" + mixed[:68], ""},
		{"Telegram", "bot", ":AA" + mixed[:33], ""},
		{"DigitalOcean", "", "dop_v1_" + hex[:64], ""},
		{"Vault", "", "hvs." + mixed[:90], ""},
		{"age", "", "AGE-SECRET-KEY-1" + big[:58], ""},
		{"Databricks", "", "dapi" + hex[:32], ""},
		{"Shopify", "", "shpat_" + hex[:32], ""},
		{"Linear", "", "lin_api_" + mixed[:40], ""},
		{"Atlassian", "", "ATATT3xFfGF0" + mixed[:100], ""},
		{"Figma", "", "figd_" + mixed[:40], ""},
		{"Grafana", "", "glsa_" + mixed[:32] + "_" + hex[:8], ""},
		{"Twilio", "", "SK" + hex[:32], ""},
		{"Docker", `{"auths":{"https://index.docker.io/v1/":{"auth":"`,
			base64.StdEncoding.EncodeToString([]byte("user:hunter2hunter2")), `"}}}`},
		{"Docker in JSON", `{"text":"{\"auth\":\"`, base64.StdEncoding.EncodeToString([]byte("user:hunter2hunter2")),
			`\"}"}`},
		{"netrc", "machine example.invalid login me password ", "hunter2hunter2", "\n"},
		{"netrc in lines", "machine example.invalid\n  login me\n  password ", "hunter2hunter2", "\n"},
		{"sshpass", "sshpass -p ", "hunter2", " ssh me@host"},
		{"mysql", "mysql -u root -p", "hunter2", " -h db"},
		{"curl", "curl -s -u me:", "hunter2", " https://example.invalid"},
		{"npmrc", "//registry.npmjs.org/:_authToken=", mixed[:36], ""},
		{"npmrc basic", "_auth=", base64.StdEncoding.EncodeToString([]byte("me:hunter2hunter2")), ""},
		{"an encoded private key", "key: ", base64.StdEncoding.EncodeToString(
			[]byte("-----BEGIN RSA PRIVATE KEY-----\nMIIE" + mixed + "\n-----END RSA PRIVATE KEY-----\n")), ""},
		{"an encoded token", "data: ", base64.StdEncoding.EncodeToString([]byte("token is ghp_" + mixed[:36] + "\n")), ""},
		{"an encoded password", "x ", base64.StdEncoding.EncodeToString([]byte("DB_PASSWORD=swordfish1\n")), ""},
		{"a line end in a token", "ghp_" + mixed[:12] + "\n", mixed[12:36], ""},
		{"a line end in a token, JSON", "ghp_" + mixed[:12] + `\n`, mixed[12:36], `"`},
		{"npm", "", "npm_" + mixed[:36], ""}, {"PyPI", "", "pypi-" + mixed[:80], ""},
		{"Hugging Face", "", "hf_" + mixed[:34], ""},
		{"SendGrid", "", "SG." + mixed[:22] + "." + mixed[:43], ""}, {"Mailchimp", "", hex[:32] + "-us12", ""},
		{"Mailgun", "", "key-" + hex[:32], ""},
		{"Square", "", "sq0atp-" + mixed[:22], ""}, {"Doppler", "", "dp.pt." + mixed[:43], ""},
		{"Pulumi", "", "pul-" + hex[:40], ""},
		{"Groq", "", "gsk_" + mixed[:52], ""}, {"Google client", "", "GOCSPX-" + mixed[:28], ""},
		{"Tailscale", "", "tskey-auth-" + mixed[:20], ""},
		{"a cookie", "Cookie: session=", mixed[:32], ""}, {"a private token", "PRIVATE-TOKEN: ", mixed[:20], ""},
	} {
		text := row.before + row.secret + row.after
		if row.why == "Telegram" {
			text = "123456789" + row.secret
		}
		for _, s := range []string{text, "before\n" + text + "\nafter"} {
			got := Redact(s)
			if strings.Contains(got, row.secret) || !strings.Contains(got, Redacted) {
				t.Errorf("%s: %q became %q", row.why, s, got)
			}
			if again := Redact(got); again != got {
				t.Errorf("%s: redacting twice changes %q to %q", row.why, got, again)
			}
		}
	}
	image := make([]byte, 300)
	for i := range image {
		image[i] = byte(i*7 + i*i*31)
	}
	for _, s := range []string{
		"commit " + hex[:40], "index 0a1b2c3..4e5f678 100644", "550e8400-e29b-41d4-a716-446655440000", "sha256:" + hex[:64],
		`"integrity": "sha512-` + base64.StdEncoding.EncodeToString(image[:64]) + `"`,
		"h1:" + base64.StdEncoding.EncodeToString(image[:32]),
		`checksum = "` + hex[:64] + `"`, "data:image/png;base64," + base64.StdEncoding.EncodeToString(image),
		"resolved \"https://registry.yarnpkg.com/a/-/a-1.0.0.tgz#" + hex[:40] + `"`, "PUBLIC_KEY=" + mixed[:40],
		"cache_key: " + hex[:40], "primary_key=" + mixed[:30],
		"KEY=value", "SORT_KEY=created_at_and_then_id", "hot_key = ctrl+shift+p", `data-key="item-list-number-one"`,
		"mysql -u root -p", "ssh -p 2222 host",
		base64.StdEncoding.EncodeToString([]byte("just some words that are encoded here\n")),
		"TestLongNameOfATestThatIsVeryLongIndeed/with_a_case",
		"github.com/some/very/long/path/to/a/package/in/a/module", "01hq3k5v8w2x7y9z4a6b8c0d2e",
		"const key = \"user.name\"", "authorization_key=none",
		"password incorrect for login",
		"go.sum: golang.org/x/sys v0.1.0 h1:kunALQeHf1/185U1i0GOB/fy1IPRDDpuoOOqRReG57U=",
		"ghp_short\nand the next line of text",
	} {
		if got := Redact(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// TestRedactIsLinear: no text makes it slow.
func TestRedactIsLinear(t *testing.T) {
	for _, part := range []string{"mysql ", "curl a ", "PuTTY-User-Key-File-2 ", "aGVsbG8gd29ybGQh", "a=", "login x ",
		"eyJ", "ghp_aaaa\n", "-----BEGIN PRIVATE KEY-----"} {
		text := strings.Repeat(part, (1<<18)/len(part))
		began := time.Now()
		Redact(text)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q: %s for a quarter of a megabyte", part, took)
		} else {
			t.Logf("%q: %s", part, took)
		}
	}
}
