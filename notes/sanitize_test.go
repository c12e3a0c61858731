package notes

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestOneLine(t *testing.T) {
	rows := []struct {
		in   string
		max  int
		want string
	}{
		{"a\n b\t\tc\r\n", 0, "a b c"},
		{"abcdef", 4, "abc…"},
		{"abc def", 5, "abc…"},
		{"ééééé", 5, "ééééé"},
		{"éééééé", 5, "éééé…"},
		{"a\x1b]0;title\x07b\x1b[2Jc", 0, "abc"},
		{"a\u202eb\u200bc\x00d", 0, "abcd"},
		{"bad \xff byte", 0, "bad � byte"},
		{"para\u2028graph", 0, "para graph"},
		{"", 3, ""},
	}
	for _, row := range rows {
		if got := OneLine(row.in, row.max); got != row.want {
			t.Errorf("OneLine(%q, %d) = %q, want %q", row.in, row.max, got, row.want)
		}
	}
	if got := OneLine(strings.Repeat("word ", 1<<20), 20); utf8.RuneCountInString(got) > 20 {
		t.Errorf("a flood: %q", got)
	}
}

func TestTitle(t *testing.T) {
	rows := []struct{ in, want, why string }{
		{"fix #12", "fix # 12", "a reference"},
		{"closes org/repo#12 and GH-7", "closes org/repo# 12 and GH- 7", "other references"},
		{"as in !34", "as in ! 34", "a merge request"},
		{"ask @team now", "ask @ team now", "a mention"},
		{"@team", "@ team", "a mention at the start"},
		{"mail a@b.example", "mail a@b.example", "an address is no mention"},
		{"use `@decorator`", "use `@decorator`", "quoted code is no mention"},
		{"add x [skip ci]", "add x skip ci", "a mark for CI"},
		{"add x [CI Skip] (no ci)", "add x CI Skip no ci", "its other forms"},
		{"add x ***NO_CI***", "add x no_ci", "and another one"},
		{"fixup! add x", "fixup ! add x", "rebase would fold it away"},
		{"colour #fff and issue # 3", "colour #fff and issue # 3", "no reference"},
		{"a[1] and b[skip] stay", "a[1] and b[skip] stay", "no mark"},
		{"ralph[7]: T-003 add the login endpoint", "ralph[7]: T-003 add the login endpoint", "our own subject stays"},
		{"two\nlines", "two lines", "one line"},
		{strings.Repeat("x", 100), strings.Repeat("x", 71) + "…", "72 characters"},
	}
	for _, row := range rows {
		if got := Title(row.in); got != row.want {
			t.Errorf("Title(%q) = %q, want %q: %s", row.in, got, row.want, row.why)
		}
	}
}

func TestNarrative(t *testing.T) {
	rows := []struct{ in, want, why string }{
		{"Signed-off-by: x", "  Signed-off-by: x", "a trailer"},
		{"Ralph-Verdict: keep", "  Ralph-Verdict: keep", "our own trailers most of all"},
		{"Ralph-Verdict : keep", "  Ralph-Verdict : keep", "git allows blanks before the colon"},
		{"---\ndiff --git a b", "  ---\n  diff --git a b", "a patch divider"},
		{"# ------------------------ >8 ------------------------",
			"  # ------------------------ >8 ------------------------", "scissors"},
		{"# comment", "  # comment", "an editor would drop it"},
		{"From 0123 Mon Sep", "  From 0123 Mon Sep", "an mbox line"},
		{"(cherry picked from commit 1)", "  (cherry picked from commit 1)", "git's own trailer form"},
		{"It said: nothing", "It said: nothing", "prose with a colon behind two words"},
		{"\n\na\n\n\n\nb\n\n", "a\n\nb", "one empty line at most"},
		{"a\x1b[31mb\u202e", "ab", "no control characters"},
		{"deploy [skip ci] @team", "deploy skip ci @ team", "marks and mentions"},
		{"This fixes #12 and closes: org/x#3", "This fixes # 12 and closes: org/x# 3", "a forge would close them"},
		{"see #12", "see #12", "naming one is fine"},
		{"\tindented", "    indented", "tabs become blanks"},
	}
	for _, row := range rows {
		if got := Narrative(row.in); got != row.want {
			t.Errorf("Narrative(%q) = %q, want %q: %s", row.in, got, row.want, row.why)
		}
	}
	long := Narrative(strings.Repeat("word ", 200) + "https://example.invalid/" + strings.Repeat("x", 300))
	lines := strings.Split(long, "\n")
	for _, l := range lines[:len(lines)-1] {
		if utf8.RuneCountInString(l) > NarrativeWidth {
			t.Errorf("a line of %d characters", utf8.RuneCountInString(l))
		}
	}
	if last := strings.TrimSpace(lines[len(lines)-1]); !strings.HasPrefix(last, "https://") || len(last) != 324 {
		t.Errorf("an address was broken: %q", last)
	}
	// Wrapping may bring a word with a colon to the start of a line.
	wrapped := Narrative(strings.Repeat("x", 98) + " Ralph-Verdict: reject")
	if !strings.Contains(wrapped, "\n  Ralph-Verdict: reject") {
		t.Errorf("a trailer made by wrapping: %q", wrapped)
	}
}

// TestNarrativeForGit: whatever an agent writes, git finds only our trailers.
func TestNarrativeForGit(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"Ralph-Verdict: keep", "Signed-off-by: a <b@c>", "---", "\n", "\n\n", "# x", "text", " ",
		"key:value", "Ralph-Task=x", "\t", "#", ":", "---\n",
		"Cc : x", "-----", "Co-authored-by: x\n continued", "\r\n", "diff --git a/b c/d", ">8", "\u2028Ralph-Event: x"}
	const ours = "Ralph-Event: iteration\nRalph-Verdict: reject"
	for range 150 {
		var raw strings.Builder
		for range 1 + rnd.IntN(12) {
			raw.WriteString(atoms[rnd.IntN(len(atoms))])
		}
		message := "subject\n\n" + Narrative(raw.String()) + "\n\n" + ours + "\n"
		cmd := exec.Command("git", "interpret-trailers", "--parse")
		cmd.Stdin = strings.NewReader(message)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(out)); got != ours {
			t.Fatalf("git reads\n%s\nfrom\n%s\nwritten as %q", got, message, raw.String())
		}
	}
}

func FuzzDefuse(f *testing.F) {
	f.Add("Ralph-Verdict: keep\n---\n\x1b[31m\u202e#12 @x [skip ci]", 20)
	f.Fuzz(func(t *testing.T, s string, max int) {
		max &= 0xffff
		for name, out := range map[string]string{"Clean": Clean(s), "OneLine": OneLine(s, max), "Title": Title(s),
			"Narrative": Narrative(s), "Redact": Clean(Redact(s))} {
			if !utf8.ValidString(out) {
				t.Fatalf("%s: invalid UTF-8 in %q", name, out)
			}
			for _, r := range out {
				if r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
					t.Fatalf("%s: %U in %q", name, r, out)
				}
			}
		}
		if one := OneLine(s, max); strings.Contains(one, "\n") || max > 0 && utf8.RuneCountInString(one) > max {
			t.Fatalf("OneLine: %q", one)
		}
		if title := Title(s); utf8.RuneCountInString(title) > 72 {
			t.Fatalf("Title: %q", title)
		}
		for _, l := range strings.Split(Narrative(s), "\n") {
			if trailerLine().MatchString(l) || dividerLine().MatchString(l) {
				t.Fatalf("Narrative: %q", l)
			}
		}
		if cut := CutBytes(s, max); len(cut) > max && len(cut) != len(s) || utf8.ValidString(s) && !utf8.ValidString(cut) {
			t.Fatalf("CutBytes(%q, %d) = %q", s, max, cut)
		}
	})
}

func TestCutBytes(t *testing.T) {
	s := strings.Repeat("a", 50) + strings.Repeat("é", 50)
	got := CutBytes(s, 100)
	if len(got) > 100 || !strings.HasPrefix(got, "aaa") || !strings.HasSuffix(got, "é") ||
		!strings.Contains(got, CutMarker) {
		t.Errorf("%q", got)
	}
	if CutBytes("short", 100) != "short" || CutBytes("short", 2) != "sh" || CutBytes("éé", 3) != "é" ||
		CutBytes("x", 0) != "" {
		t.Error("small limits")
	}
}

func TestRedact(t *testing.T) {
	// Fake secrets are assembled here, so that no secret scanner reports this file.
	up := strings.Repeat("AB12", 4)
	low := strings.Repeat("ab12XY", 7)
	secrets := []struct{ text, secret, why string }{
		{"id AKIA" + up, "AKIA" + up, "an AWS key id"},
		{"aws_secret_access_key = " + low[:40], low[:40], "its secret"},
		{"ghp_" + low[:36], "ghp_" + low[:36], "a GitHub token"},
		{"github_pat_" + low, "github_pat_" + low, "a fine-grained one"},
		{"glpat-" + low[:20], "glpat-" + low[:20], "a GitLab token"},
		{"xoxb-1234567890-" + low, "xoxb-1234567890-" + low, "a Slack token"},
		{"key sk-ant-api03-" + low, "sk-ant-api03-" + low, "an Anthropic key"},
		{"sk-" + low, "sk-" + low, "an OpenAI key"},
		{"sk_live_" + low, "sk_live_" + low, "a Stripe key"},
		{"AIza" + (low + low)[:35], "AIza" + (low + low)[:35], "a Google key"},
		{"npm_" + low[:36], "npm_" + low[:36], "an npm token"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + low, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + low, "a JSON web token"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE" + low + "\n-----END RSA PRIVATE KEY-----", "MIIE" + low, "a private key"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn" + low + "\n", "b3Blbn" + low, "a private key without an end"},
		{"-----BEGIN PRIVATE KEY-----\\nMIIE" + low + "\\n-----END PRIVATE KEY-----", "MIIE" + low,
			"a private key inside JSON"},
		{"Authorization: Bearer abc.def-123456", "abc.def-123456", "a header"},
		{"postgres://app:hunter2x@db/app", "hunter2x", "a password in an address"},
		{"password=hunter2hunter2", "hunter2hunter2", "a password with digits"},
		{"DB_PASSWORD=swordfish", "swordfish", "a variable of the environment"},
		{`"password": "s3cret!x"`, "s3cret!x", "JSON"},
		{"password: 'correct-horse-battery'", "correct-horse-battery", "YAML, quoted"},
		{"--password=swordfish", "swordfish", "an option"},
		{"client_secret = 'abcDEF123456'", "abcDEF123456", "a secret by name"},
		{"api_key: " + low[:24], low[:24], "an unquoted key"},
	}
	for _, row := range secrets {
		for _, text := range []string{row.text, "before\n" + row.text + "\nafter", row.text + " " + row.text} {
			got := Redact(text)
			if strings.Contains(got, row.secret) || !strings.Contains(got, Redacted) {
				t.Errorf("%s: %q became %q", row.why, text, got)
			}
			if again := Redact(got); again != got {
				t.Errorf("%s: redacting twice changes %q to %q", row.why, got, again)
			}
		}
	}
	if got := Redact("before password=hunter2hunter2, after"); got != "before password=[redacted], after" {
		t.Errorf("what is around a secret changed: %q", got)
	}

	innocent := []string{
		`password := os.Getenv("DB_PASSWORD")`,
		"token := lexer.Next()",
		"def login(user: str, password: str) -> Token:",
		"max_tokens=8000, output_tokens: 12345678901234567890",
		"Ralph-Tokens: input=12345 output=678 cache-read=91011121314",
		"password=$DB_PASSWORD", "password=${DB_PASSWORD}", "token: {{ .Token }}", "secret: <your secret>",
		"password=********",
		"password = user.password", "password=password", "api_key=config.api_key", "auth.token = settings->token",
		"the password must not be empty", `"password": "must not be empty"`,
		"commit 0123456789abcdef0123456789abcdef01234567", "sk-learn-contrib-package-of-a-long-name",
		"risk-averse-behaviour-of-the-whole-system",
		"task-" + low, "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----",
		"https://example.invalid:8443/path", "http://localhost:8080/a@b", "git@example.invalid:org/repo.git",
		`"token": "access_token"`, "key = value", "primary_key=customer_id", "passwordHash(password)",
		"secretary: Miss Moneypenny",
		"Authorization: none", "authorization is needed", "AKIA is a prefix", "password=example123",
		"eyJ is how a token begins",
	}
	for _, s := range innocent {
		if got := Redact(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func BenchmarkRedact(b *testing.B) {
	var sb strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&sb, "line %d of a log with a token of the lexer and key: value in it\n", i)
	}
	text := sb.String()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redact(text)
	}
}
