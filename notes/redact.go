package notes

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/stable"
	"git-ralph/internal/text/lazyregexp"
)

// Redacted replaces a secret in Redact.
const Redacted = "[redacted]"

// BeginsAnew is the message of the first notes after a text was taken out of all.
const BeginsAnew = "Notes by git ralph, redacted"

// Redact takes obvious secrets out of a text: keys and tokens by their form,
// private key blocks, passwords in URLs, values assigned to something called
// password, secret, token or key when they look like a literal, and base64 of
// any of them. It is conservative: code that handles passwords, hashes and
// encoded images stay as they are. Its time grows with the text alone.
func Redact(s string) string {
	low := lowered(s)
	for _, r := range secretRules() {
		if out := r.apply(s, low); out != s {
			s, low = out, lowered(out)
		}
	}
	return redactEncoded(redactAssigned(s))
}

// lowered has ASCII letters in lower case, at the same places as s.
func lowered(s string) string {
	var b strings.Builder // its text is not copied once more: a transcript has ten megabytes
	b.Grow(len(s))
	for i := range len(s) {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		b.WriteByte(c)
	}
	return b.String()
}

// span is a part of a text.
type span struct{ from, to int }

// near are the surroundings of a rule's hints, in order and without overlaps.
func (r *secretRule) near(s, low string) []span {
	const before, after = 120, 700
	var found []span
	for _, h := range r.hints {
		in := low
		if strings.ToLower(h) != h {
			in = s
		}
		for at := 0; ; {
			i := strings.Index(in[at:], h)
			if i < 0 {
				break
			}
			at += i
			if r.whole {
				return []span{{0, len(s)}}
			}
			if w := (span{max(0, at-before), min(len(s), at+after)}); h != "://" || strings.Contains(s[at:w.to], "@") {
				found = append(found, w)
			}
			at += len(h)
		}
	}
	stable.Sort(found, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, w := range found {
		if n := len(out); n > 0 && w.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, w.to)
			continue
		}
		out = append(out, w)
	}
	return out
}

func (r *secretRule) apply(s, low string) string {
	var b strings.Builder
	pos := 0
	for _, w := range r.near(s, low) {
		for _, m := range r.re().FindAllStringSubmatchIndex(s[w.from:w.to], -1) {
			from, to := m[0], m[1]
			if len(m) > 2 && m[2] >= 0 {
				from, to = m[2], m[3]
			}
			from, to = w.from+from, w.from+to
			for to == w.to && to < len(s) && plainByte(s[to]) { // longer than its surroundings
				to++
				w.to = to
			}
			b.WriteString(s[pos:from])
			b.WriteString(Redacted)
			pos = to
		}
	}
	if pos == 0 {
		return s
	}
	b.WriteString(s[pos:])
	return b.String()
}

// plainByte reports whether c may stand in base64 of any kind.
func plainByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '_' || c == '-'
}

// redactEncoded removes base64 whose decoded text contains a secret. It only
// checks what decodes to text, which images and checksums do not. Tokens of
// Discord bots are recognized only by their three parts.
func redactEncoded(s string) string {
	const shortest = 24 // of a run that may hold a key
	var b strings.Builder
	pos := 0
	for i := 0; i < len(s); i++ {
		if !plainByte(s[i]) {
			continue
		}
		from := i
		for i < len(s) && plainByte(s[i]) {
			i++
		}
		to := i
		if to-from < shortest {
			continue
		}
		if end := botToken(s, from, to); end > 0 {
			to = end
		} else if !encodedSecret(s[from:to]) {
			continue
		}
		for to < len(s) && s[to] == '=' {
			to++
		}
		b.WriteString(s[pos:from])
		b.WriteString(Redacted)
		pos, i = to, to
	}
	if pos == 0 {
		return s
	}
	b.WriteString(s[pos:])
	return b.String()
}

// botToken is where a token ends whose first part is at from to to; 0 = it is
// none.
func botToken(s string, from, to int) int {
	part := func(at int) int {
		for at < len(s) && plainByte(s[at]) {
			at++
		}
		return at
	}
	if strings.IndexByte("MNO", s[from]) < 0 || to-from > 30 || to >= len(s) || s[to] != '.' {
		return 0
	}
	second := part(to + 1)
	if second-to-1 != 6 || second >= len(s) || s[second] != '.' {
		return 0
	}
	if end := part(second + 1); end-second-1 >= 27 {
		return end
	}
	return 0
}

// encodedSecret reports whether base64 is text with a secret in it.
func encodedSecret(run string) bool {
	body := strings.NewReplacer("-", "+", "_", "/").Replace(run)
	// The beginning tells most that is no text.
	if head, err := base64.RawStdEncoding.DecodeString(body[:24]); err != nil || !isText(head, mayBeCut) {
		return false
	}
	if len(body)%4 == 1 {
		body = body[:len(body)-1]
	}
	text, err := base64.RawStdEncoding.DecodeString(body)
	if err != nil || !isText(text, complete) {
		return false
	}
	plain := string(text)
	low := lowered(plain)
	for _, r := range secretRules() {
		if r.apply(plain, low) != plain {
			return true
		}
	}
	return redactAssigned(plain) != plain
}

// textEnd says whether the last character may be cut off.
type textEnd bool

const (
	mayBeCut textEnd = true
	complete textEnd = false
)

// isText reports whether b is text; cut = its last character may be cut off.
func isText(b []byte, cut textEnd) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 && !(cut == mayBeCut && len(b) < utf8.UTFMax) ||
			r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		b = b[size:]
	}
	return true
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
	return namedSecret(low) || keyName(low)
}

// namedSecret reports whether a name in lower case says that it is a secret.
func namedSecret(low string) bool {
	for _, end := range []string{"password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "credentials",
		"apikey", "api_key", "api-key", "accesskey", "access_key", "access-key", "secretkey", "secret_key", "secret-key",
		"privatekey", "private_key", "private-key", "authkey", "auth_key", "auth-key"} {
		if strings.HasSuffix(low, end) {
			return true
		}
	}
	return false
}

// keyName reports whether a name in lower case ends in key and is none of the keys
// that everybody may know.
func keyName(low string) bool {
	for _, end := range []string{"_key", "-key", "accountkey", "signingkey", "encryptionkey", "masterkey", "_pat",
		"_jwt", "_pass", "_key_b64", "_key_base64", "_dsn"} {
		if strings.HasSuffix(low, end) {
			for _, known := range []string{"public", "primary", "foreign", "cache", "sort", "partition", "host",
				"index", "unique", "object", "routing", "group", "shard", "row", "hash", "lock", "map", "config",
				"i18n", "translation", "idempotency"} {
				if strings.Contains(low, known) {
					return false
				}
			}
			return true
		}
	}
	return false
}

// entropy is the number of bits a character of s carries.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// valueAfter is where the value behind the sign at i is, with its quotes,
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
	envName  = lazyregexp.New(`^(?:--?[a-z0-9-]+|[A-Z][A-Z0-9_]*)$`)
	codePath = lazyregexp.New(
		`^[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+;?$`)
	identifier = lazyregexp.New(`^[A-Za-z_]+$`)
)

// assigned reports whether name = value is a secret. The value has its quotes;
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
	case strings.Contains(low, "example") || strings.Contains(low, "placeholder") ||
		strings.Contains(low, "changeme") || strings.HasPrefix(low, "your"):
		return false
	case quoted && strings.ContainsAny(value, " \t"):
		return false // a sentence: "must not be empty"
	}
	if !namedSecret(strings.ToLower(name)) {
		// Many harmless things are called keys: only random-looking values count.
		return len(value) >= 16 && entropy(value) >= 3 && !codePath().MatchString(value) &&
			strings.ContainsAny(value, "0123456789") &&
			!strings.ContainsAny(value, "{}[]\\`")
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
	return strings.Contains(low, "passw") || strings.HasSuffix(low, "pwd") || strings.HasSuffix(low, "passphrase") ||
		strings.HasSuffix(low, "secret")
}
