package sandbox

import (
	"errors"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// gitConfig is what a file of git's configuration says, as far as secrets in it
// and further files are concerned.
type gitConfig struct {
	// clean is the file without its secrets. Secret entries are removed, URLs
	// lose their user and password, comments lose their text. Every other byte
	// stays.
	clean []byte
	// secrets are the cleaned keys that held a secret, in the value or in the
	// key itself.
	secrets []string
	// includes are the values of include.path and includeIf.*.path. Conditions
	// are ignored, as by anybody who reads the files.
	includes []string
	// logins are files that git logs in with, as written.
	logins []string
}

var errGitConfig = errors.New("not a configuration of git")

// parseGitConfig reads a file as git does (config.c: git_parse_source), and
// fails where git fails.
func parseGitConfig(data []byte) (gitConfig, error) {
	p := configParser{in: data}
	if strings.HasPrefix(string(data), "\xef\xbb\xbf") {
		p.copyTo(3)
	}
	for p.pos < len(p.in) {
		var err error
		switch c := p.in[p.pos]; {
		case isConfigSpace(c):
			p.copyTo(p.pos + 1)
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			err = p.header()
		case isAlpha(c):
			err = p.entry()
		default:
			err = errGitConfig
		}
		if err != nil {
			return gitConfig{}, err
		}
	}
	p.out.clean = []byte(p.text.String())
	return p.out, nil
}

// configParser copies in to text while it reads.
type configParser struct {
	in   []byte
	pos  int
	text strings.Builder
	out  gitConfig

	section, sub string // of the present section; sub as written, without its escapes
	cleanSub     string
}

func (p *configParser) copyTo(end int) {
	p.text.Write(p.in[p.pos:end])
	p.pos = end
}

// peek is the byte at pos, a line feed at the end and for a CRLF.
func (p *configParser) peek() byte {
	switch {
	case p.pos >= len(p.in):
		return '\n'
	case p.in[p.pos] == '\r' && p.pos+1 < len(p.in) && p.in[p.pos+1] == '\n':
		return '\n'
	}
	return p.in[p.pos]
}

// comment keeps the sign and drops the text.
func (p *configParser) comment() {
	p.copyTo(p.pos + 1)
	for p.peek() != '\n' {
		p.pos++
	}
}

// header reads [section] and [section "sub"].
func (p *configParser) header() error {
	start := p.pos
	p.pos++
	var name, sub strings.Builder
	quoted := false
	for {
		c := p.peek()
		if c == ']' {
			break
		}
		if c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r' {
			for c = p.peek(); isConfigSpace(c) && c != '\n'; c = p.peek() {
				p.pos++
			}
			if c != '"' {
				return errGitConfig
			}
			p.pos++
			for {
				c = p.peek()
				if c == '\\' {
					p.pos++
					c = p.peek()
				} else if c == '"' {
					break
				}
				if c == '\n' {
					return errGitConfig
				}
				sub.WriteByte(c)
				p.pos++
			}
			p.pos++
			quoted = true
			if p.peek() != ']' {
				return errGitConfig
			}
			break
		}
		if !isAlpha(c) && (c < '0' || c > '9') && c != '-' && c != '.' {
			return errGitConfig
		}
		name.WriteByte(lower(c))
		p.pos++
	}
	p.pos++
	p.section, p.sub = name.String(), sub.String()
	p.cleanSub = cleanURLs(p.sub)
	if looksSecret(p.cleanSub) {
		p.cleanSub = "hidden"
	}
	if quoted && p.cleanSub != p.sub {
		p.text.WriteString("[" + p.section + ` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.cleanSub) + `"]`)
		p.secret("*")
		return nil
	}
	p.text.Write(p.in[start:p.pos])
	return nil
}

func (p *configParser) secret(key string) {
	name := p.section
	if p.cleanSub != "" {
		name += "." + p.cleanSub
	}
	p.out.secrets = append(p.out.secrets, name+"."+key)
}

// entry reads "key = value", and a key alone.
func (p *configParser) entry() error {
	start := p.pos
	var name strings.Builder
	for c := p.peek(); isAlpha(c) || c >= '0' && c <= '9' || c == '-'; c = p.peek() {
		name.WriteByte(lower(c))
		p.pos++
	}
	key := name.String()
	for c := p.peek(); c == ' ' || c == '\t'; c = p.peek() {
		p.pos++
	}
	if p.peek() == '\n' {
		p.text.Write(p.in[start:p.pos])
		return nil
	}
	if p.peek() != '=' {
		return errGitConfig
	}
	p.pos++
	value, end, err := p.value()
	if err != nil {
		return err
	}
	include := p.section == "include" && p.sub == "" || p.section == "includeif" && p.sub != ""
	if include && key == "path" {
		p.out.includes = append(p.out.includes, value)
	}
	p.out.logins = append(p.out.logins, loginFiles(p.section, key, value)...)
	clean := cleanURLs(value)
	switch {
	case secretKey(key, value) || looksSecret(clean):
		p.secret(key)
	case clean != value:
		p.secret(key)
		p.text.WriteString(key + ` = "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b",
			`\b`).Replace(clean) + `"`)
	default:
		p.text.Write(p.in[start:end])
	}
	return nil
}

// value reads to the end of the line; end is where its text ends and a comment
// may begin.
func (p *configParser) value() (value string, end int, err error) {
	var b strings.Builder
	quoted := false
	kept := 0 // without the spaces at the end
	for {
		c := p.peek()
		switch {
		case c == '\n':
			if quoted {
				return "", 0, errGitConfig
			}
			return b.String()[:kept], p.pos, nil
		case isConfigSpace(c) && !quoted:
			if kept > 0 {
				b.WriteByte(c)
			}
			p.pos++
			continue
		case !quoted && (c == '#' || c == ';'):
			end = p.pos
			for p.peek() != '\n' {
				p.pos++
			}
			return b.String()[:kept], end, nil
		case c == '\\':
			p.pos++
			switch c = p.peek(); c {
			case '\n':
				if p.pos >= len(p.in) {
					return b.String()[:kept], p.pos, nil
				}
				p.pos++
				if p.in[p.pos-1] == '\r' {
					p.pos++
				}
				continue
			case 't':
				c = '\t'
			case 'b':
				c = '\b'
			case 'n':
				c = '\n'
			case '\\', '"':
			default:
				return "", 0, errGitConfig
			}
			b.WriteByte(c)
		case c == '"':
			quoted = !quoted
			p.pos++
			// What is quoted counts, spaces and nothing included.
			kept = b.Len()
			continue
		default:
			b.WriteByte(c)
		}
		p.pos++
		kept = b.Len()
	}
}

func isConfigSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isAlpha(c byte) bool       { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// secretKey says that an entry is a secret by its name: nothing that reads a
// repository needs it.
func secretKey(key, value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return false // http.sslCertPasswordProtected
	}
	if key == "extraheader" || key == "pass" {
		return true
	}
	for _, word := range []string{"token", "password", "passwd", "secret", "smtppass", "apikey", "api-key"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}

// loginFiles are the files of an entry that git, or a program it starts, logs in
// with.
func loginFiles(section, key, value string) []string {
	switch section + "." + key {
	case "http.cookiefile", "http.sslkey", "http.proxysslkey":
		return []string{value}
	case "credential.helper", "core.sshcommand":
		var out []string
		for _, g := range loginOption().FindAllStringSubmatch(value, -1) {
			out = append(out, g[1]+g[2]+g[3])
		}
		return out
	}
	return nil
}

// loginOption is an option of git-credential-store, or of ssh, that names a file.
var loginOption = lazyregexp.New(
	`(?i)(?:\s--file[=\s]\s*|\s-i\s*|\bIdentityFile[=\s]\s*)(?:'([^']+)'|"([^"]+)"|([^\s'"]+))`)

var urlUser = lazyregexp.New(`(?i)([a-z][a-z0-9+.-]*://)([^/\s?#]*)@`)

var urlQuery = lazyregexp.New(`(?i)([?&][^=&\s]*(?:token|secret|password|key)[^=&\s]*=)[^&\s]+`)

// cleanURLs takes users and passwords out of the URLs in s. A user alone stays
// where it is a name: ssh needs it, and for http a short one is no token.
func cleanURLs(s string) string {
	if !strings.Contains(s, "://") {
		return s
	}
	s = urlUser().ReplaceAllStringFunc(s, func(m string) string {
		g := urlUser().FindStringSubmatch(m)
		scheme := strings.ToLower(g[1])
		if !strings.Contains(g[2], ":") && (!strings.HasPrefix(scheme, "http") && !strings.HasPrefix(scheme, "ftp") ||
			len(g[2]) < 20) {
			return m
		}
		return g[1]
	})
	return urlQuery().ReplaceAllString(s, "${1}hidden")
}

var tokenShape = lazyregexp.New(
	`gh[pousr]_[A-Za-z0-9]{16}|github_pat_[A-Za-z0-9_]{16}|glpat-[A-Za-z0-9_-]{16}|xox[a-z]-[A-Za-z0-9-]{10}|` +
		`sk-[A-Za-z0-9_-]{20}|(?i)authorization\s*:|(?i)bearer\s+[A-Za-z0-9._~+/=-]{12}|(?i)private-token\s*:|` +
		`(?i)\b(?:password|passwd|token|secret)=["']?[^\s"'$;]`)

// looksSecret says that a text holds something of the shape of a token.
func looksSecret(s string) bool { return len(s) >= 10 && tokenShape().MatchString(s) }
