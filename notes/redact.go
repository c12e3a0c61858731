package notes

import (
	"regexp"
	"strings"
	"sync"
)

// Redacted stands where Redact took a secret out.
const Redacted = "[redacted]"

// secretRule finds one kind of secret. Group 1, where there is one, is the
// part that is replaced; hints are texts of which one must occur (in lower
// case), so that most texts never meet the regular expression.
type secretRule struct {
	hints []string
	re    *regexp.Regexp
}

var secretRules = sync.OnceValue(func() []secretRule {
	rule := func(re string, hints ...string) secretRule {
		return secretRule{hints: hints, re: regexp.MustCompile(re)}
	}
	return []secretRule{
		rule(`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|(?:\\n|[\sA-Za-z0-9+/=:,-])*)`, "private key"),
		rule(`\b(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{16}\b`, "akia", "asia", "aroa", "aida", "abia", "acca"),
		rule(`(?i)aws_?secret_?(?:access_?)?key["']?\s*(?:[:=]|=>)\s*["']?([A-Za-z0-9/+]{40})\b`, "aws"),
		rule(`\bgh[pousr]_[A-Za-z0-9]{30,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
		rule(`\bgithub_pat_[A-Za-z0-9_]{22,}`, "github_pat_"),
		rule(`\bgl(?:pat|ptt|dt|rt|cbt|soat)-[A-Za-z0-9_-]{20,}`, "gl"),
		rule(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`, "xox"),
		rule(`hooks\.slack\.com/services/([A-Za-z0-9/]{20,})`, "hooks.slack.com"),
		rule(`\bsk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20,}`, "sk-"),
		rule(`\bsk-[A-Za-z0-9]{32,}`, "sk-"),
		rule(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`, "k_live_", "k_test_"),
		rule(`\bAIza[0-9A-Za-z_-]{35}`, "aiza"),
		rule(`\bya29\.[0-9A-Za-z_-]{20,}`, "ya29."),
		rule(`\bnpm_[A-Za-z0-9]{36}\b`, "npm_"),
		rule(`\bpypi-[A-Za-z0-9_-]{50,}`, "pypi-"),
		rule(`\bhf_[A-Za-z0-9]{30,}\b`, "hf_"),
		rule(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, "sg."),
		rule(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{10,}`, "eyj"),
		rule(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{8,})`, "authorization"),
		rule(`(?i)\b[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/@"'<>$\{\}]{3,})@[a-z0-9\[]`, "://"),
	}
})

// Redact takes obvious secrets out of a text: keys and tokens by their form,
// private key blocks, passwords in URLs, and values assigned to something
// called password, secret, token or key when they look like a literal. It is
// conservative: code that handles passwords stays as it is.
func Redact(s string) string {
	low := ""
	for _, r := range secretRules() {
		if low == "" {
			low = strings.ToLower(s)
		}
		if !containsAny(low, r.hints) {
			continue
		}
		if out := r.apply(s); out != s {
			s, low = out, ""
		}
	}
	return redactAssigned(s)
}

func containsAny(s string, subs []string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

func (r secretRule) apply(s string) string {
	matches := r.re.FindAllStringSubmatchIndex(s, -1)
	if matches == nil {
		return s
	}
	var b strings.Builder
	pos := 0
	for _, m := range matches {
		from, to := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			from, to = m[2], m[3]
		}
		b.WriteString(s[pos:from])
		b.WriteString(Redacted)
		pos = to
	}
	b.WriteString(s[pos:])
	return b.String()
}

// redactAssigned takes out values that are assigned to something called
// password, secret, token or key. It looks at each sign of assignment instead
// of searching for names, because most texts have few of either.
func redactAssigned(s string) string {
	var b strings.Builder
	pos := 0
	for i := 0; i < len(s); i++ {
		if s[i] != '=' && s[i] != ':' {
			continue
		}
		name := nameBefore(s[pos:i])
		if !secretName(name) {
			continue
		}
		from, to, call := valueAfter(s, i)
		if from >= to || !assigned(name, s[from:to], call) {
			continue
		}
		if s[from] == '"' || s[from] == '\'' {
			from, to = from+1, to-1
		}
		b.WriteString(s[pos:from])
		b.WriteString(Redacted)
		pos, i = to, to-1
	}
	if pos == 0 {
		return s
	}
	b.WriteString(s[pos:])
	return b.String()
}

// nameBefore is the name that ends s, without a closing quote and blanks.
func nameBefore(s string) string {
	s = strings.TrimRight(s, " \t")
	if n := len(s); n > 0 && (s[n-1] == '"' || s[n-1] == '\'') {
		s = s[:n-1]
	}
	from := len(s)
	for from > 0 && len(s)-from < 80 {
		c := s[from-1]
		if c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		from--
	}
	return s[from:]
}

func secretName(name string) bool {
	if len(name) < 3 {
		return false
	}
	low := strings.ToLower(name)
	for _, end := range []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials",
		"apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "secretkey", "secret_key", "secret-key",
		"privatekey", "private_key", "private-key", "authkey", "auth_key", "auth-key"} {
		if strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// valueAfter is where the value behind the sign at i lies, with its quotes,
// and whether a call follows it. Nothing is found behind a comparison.
func valueAfter(s string, i int) (from, to int, call bool) {
	from = i + 1
	if from < len(s) && (s[i] == ':' && s[from] == '=' || s[i] == '=' && s[from] == '>') {
		from++
	}
	for from < len(s) && (s[from] == ' ' || s[from] == '\t') {
		from++
	}
	const longest = 300
	if from >= len(s) || s[from] == '=' || s[from] == ':' {
		return 0, 0, false
	}
	if q := s[from]; q == '"' || q == '\'' {
		end := strings.IndexAny(s[from+1:min(len(s), from+longest)], string(q)+"\n")
		if end < 1 || s[from+1+end] != q {
			return 0, 0, false
		}
		return from, from + end + 2, false
	}
	to = from
	for to < len(s) && to-from < longest && !strings.ContainsRune(" \t\r\n\"',;&|()<>", rune(s[to])) {
		to++
	}
	return from, to, to < len(s) && s[to] == '('
}

var (
	envName    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:--?[a-z0-9-]+|[A-Z][A-Z0-9_]*)$`) })
	codePath   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+;?$`) })
	identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_]+$`) })
)

// assigned says whether name = value is a secret. The value has its quotes;
// call says that it is followed by a parenthesis.
func assigned(name, value string, call bool) bool {
	quoted := value[0] == '"' || value[0] == '\''
	if quoted {
		value = value[1 : len(value)-1]
	}
	low := strings.ToLower(value)
	switch {
	case len(value) < 6 || call:
		return false
	case strings.ContainsAny(value[:1], "$<{[%*(") || strings.Contains(value, "${") || strings.Contains(value, "{{"):
		return false // a variable or a placeholder
	case strings.Trim(low, "*x.-_#") == "" || strings.Contains(low, "redacted"):
		return false
	case strings.Contains(low, "example") || strings.Contains(low, "placeholder") || strings.Contains(low, "changeme") || strings.HasPrefix(low, "your"):
		return false
	case quoted && strings.ContainsAny(value, " \t"):
		return false // a sentence: "must not be empty"
	}
	digit, letter := strings.ContainsAny(value, "0123456789"), strings.ContainsAny(low, "abcdefghijklmnopqrstuvwxyz")
	if quoted {
		// A name in quotes ("token": "access_token") is not a secret: those
		// hold digits, unless they are passwords.
		return digit && letter || isPassword(name) && !identifier().MatchString(value)
	}
	if codePath().MatchString(value) || strings.ContainsAny(value, "{}[]\\`") {
		return false
	}
	if digit && letter && len(value) >= 8 && (isPassword(name) || len(value) >= 16) {
		return true
	}
	return envName().MatchString(name) && isPassword(name) && !strings.Contains(low, "pass")
}

func isPassword(name string) bool {
	low := strings.ToLower(name)
	return strings.Contains(low, "passw") || strings.HasSuffix(low, "pwd") || strings.HasSuffix(low, "passphrase") || strings.HasSuffix(low, "secret")
}
