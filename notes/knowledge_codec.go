package notes

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/text"
)

// An entry is Markdown with TOML front matter between two lines of +++. The
// front matter holds only what EncodeKnowledge writes: one key a line, basic
// strings, integers and one-line arrays of them. It is read here without a
// TOML library, which keeps reading hundreds of entries out of every command's
// start; the tests read it with one and compare.

const fence = "+++\n"

// EncodeKnowledge returns the file of an entry, the same bytes for the same
// entry. The text is written without blanks around it and with one final line
// feed.
func EncodeKnowledge(k Knowledge) []byte {
	var b bytes.Buffer
	b.WriteString(fence)
	fmt.Fprintf(&b, "id = %s\n", quote(k.ID))
	fmt.Fprintf(&b, "type = %s\n", quote(string(k.Type)))
	fmt.Fprintf(&b, "status = %s\n", quote(k.Status))
	b.WriteString("source = [")
	for i, n := range k.Source {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	b.WriteString("]\n")
	if k.Task != "" {
		fmt.Fprintf(&b, "task = %s\n", quote(k.Task))
	}
	writeList(&b, "tags", k.Tags)
	writeList(&b, "supersedes", k.Supersedes)
	b.WriteString(fence)
	b.WriteByte('\n')
	if text := strings.TrimSpace(k.Text); text != "" {
		b.WriteString(text)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func writeList(b *bytes.Buffer, key string, list []string) {
	if len(list) == 0 {
		return
	}
	b.WriteString(key)
	b.WriteString(" = [")
	for i, s := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(s))
	}
	b.WriteString("]\n")
}

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "�") {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// DecodeKnowledge reads the file of an entry. Errors name the line. It checks
// the form only; the rules about entries are CheckKnowledge's.
func DecodeKnowledge(data []byte) (Knowledge, error) {
	var k Knowledge
	if !utf8.Valid(data) {
		return k, fmt.Errorf("knowledge entry: not valid UTF-8")
	}
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, fence)
	if !ok {
		return k, fmt.Errorf("knowledge entry: line 1: +++ expected")
	}
	seen := map[string]bool{}
	for n := 2; ; n++ {
		line, after, more := strings.Cut(rest, "\n")
		if line == "+++" {
			k.Text = strings.TrimSpace(after)
			break
		}
		if !more {
			return Knowledge{}, fmt.Errorf("knowledge entry: line %d: the front matter does not end with +++", n)
		}
		rest = after
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := k.set(line, seen); err != nil {
			return Knowledge{}, fmt.Errorf("knowledge entry: line %d: %w", n, err)
		}
	}
	for _, key := range []string{"id", "type", "status"} {
		if !seen[key] {
			return Knowledge{}, fmt.Errorf("knowledge entry: %s is missing", key)
		}
	}
	return k, nil
}

func (k *Knowledge) set(line string, seen map[string]bool) error {
	key, value, ok := strings.Cut(line, "=")
	if !ok {
		return fmt.Errorf("key = value expected")
	}
	key = strings.TrimSpace(key)
	if seen[key] {
		return fmt.Errorf("%s stands twice", key)
	}
	seen[key] = true
	p := &values{rest: strings.TrimSpace(value)}
	var err error
	switch key {
	case "id":
		k.ID, err = p.onlyText()
	case "type":
		var s string
		s, err = p.onlyText()
		k.Type = KnowledgeType(s)
	case "status":
		k.Status, err = p.onlyText()
	case "task":
		k.Task, err = p.onlyText()
	case "tags":
		k.Tags, err = p.list()
	case "supersedes":
		k.Supersedes, err = p.list()
	case "source":
		k.Source, err = p.numbers()
	default:
		return fmt.Errorf("unknown key %q", text.Clip(key, 40))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// values reads the right side of one line.
type values struct{ rest string }

func (p *values) blank() { p.rest = strings.TrimLeft(p.rest, " \t") }

func (p *values) end() error {
	p.blank()
	if p.rest != "" && p.rest[0] != '#' {
		return fmt.Errorf("unexpected %q", text.Clip(p.rest, 20))
	}
	return nil
}

func (p *values) onlyText() (string, error) {
	s, err := p.text()
	if err != nil {
		return "", err
	}
	return s, p.end()
}

func (p *values) text() (string, error) {
	if !strings.HasPrefix(p.rest, `"`) {
		return "", fmt.Errorf("a string in double quotes expected")
	}
	var b strings.Builder
	s := p.rest[1:]
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '"':
			p.rest = s[i+1:]
			return b.String(), nil
		case c < ' ' && c != '\t' || c == 0x7f:
			return "", fmt.Errorf("control character in a string")
		case c != '\\':
			b.WriteByte(c)
			i++
		default:
			n, err := unescape(&b, s[i+1:])
			if err != nil {
				return "", err
			}
			i += 1 + n
		}
	}
	return "", fmt.Errorf("the string does not end")
}

// unescape reads what follows a backslash and says how long it is.
func unescape(b *strings.Builder, s string) (int, error) {
	if s == "" {
		return 0, fmt.Errorf("the string does not end")
	}
	switch s[0] {
	case '"', '\\':
		b.WriteByte(s[0])
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case 'u', 'U':
		n := 4
		if s[0] == 'U' {
			n = 8
		}
		if len(s) < 1+n {
			return 0, fmt.Errorf(`unknown escape \%s`, text.Clip(s, 10))
		}
		v, err := strconv.ParseUint(s[1:1+n], 16, 32)
		if err != nil || !utf8.ValidRune(rune(v)) {
			return 0, fmt.Errorf(`unknown escape \%s`, s[:1+n])
		}
		b.WriteRune(rune(v))
		return 1 + n, nil
	default:
		return 0, fmt.Errorf(`unknown escape \%s`, text.Clip(s, 2))
	}
	return 1, nil
}

// items calls one for each item of a one-line array.
func (p *values) items(one func() error) error {
	if !strings.HasPrefix(p.rest, "[") {
		return fmt.Errorf("a list in brackets expected")
	}
	p.rest = p.rest[1:]
	for {
		if p.blank(); strings.HasPrefix(p.rest, "]") {
			p.rest = p.rest[1:]
			return p.end()
		}
		if err := one(); err != nil {
			return err
		}
		p.blank()
		switch {
		case strings.HasPrefix(p.rest, ","):
			p.rest = p.rest[1:]
		case !strings.HasPrefix(p.rest, "]"):
			return fmt.Errorf("the list does not end on its line")
		}
	}
}

func (p *values) list() ([]string, error) {
	var out []string
	err := p.items(func() error {
		s, err := p.text()
		out = append(out, s)
		return err
	})
	return out, err
}

func (p *values) numbers() ([]int, error) {
	var out []int
	err := p.items(func() error {
		i := strings.IndexAny(p.rest, ",] \t")
		if i < 0 {
			i = len(p.rest)
		}
		digits := p.rest[:i]
		n, err := strconv.Atoi(digits)
		if err != nil || len(digits) > 1 && digits[0] == '0' || strings.HasPrefix(digits, "+") {
			return fmt.Errorf("%q is not a number", text.Clip(digits, 20))
		}
		p.rest = p.rest[i:]
		out = append(out, n)
		return nil
	})
	return out, err
}
