package weaken

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind tells tokens apart.
type tokenKind uint8

const (
	ident  tokenKind = iota // names and keywords; text is the name
	number                  // text is the literal
	str                     // strings, characters, templates, regular expressions; text is the content
	punct                   // one character, or one of the pairs in lexer.pair
)

// token is a piece of source that is neither comment nor space. pos and end are
// byte offsets, line counts from 1, col is the indentation of its line (a tab
// counts to the next multiple of 8), first says that it begins its line.
type token struct {
	kind     tokenKind
	text     string
	pos, end int
	line     int
	col      int
	first    bool
}

func (t token) is(text string) bool { return t.kind != str && t.text == text }

// lex cuts src into tokens. It accepts any bytes: what it does not understand
// becomes punctuation, and an unterminated literal ends with its line (or with
// the text, where the language allows strings over several lines).
func lex(src []byte, lang *language) []token {
	l := &lexer{src: src, lang: lang, line: 1, first: true}
	if bytes.HasPrefix(src, []byte("#!")) && !bytes.HasPrefix(src, []byte("#![")) {
		l.skipLine()
	}
	for l.pos < len(l.src) {
		l.next()
	}
	return l.out
}

type lexer struct {
	src   []byte
	lang  *language
	pos   int
	line  int
	col   int
	first bool
	out   []token
	// nesting is the depth of open templates.
	nesting int
}

func (l *lexer) has(s string) bool { return bytes.HasPrefix(l.src[l.pos:], []byte(s)) }

func (l *lexer) skipLine() {
	if i := bytes.IndexByte(l.src[l.pos:], '\n'); i >= 0 {
		l.pos += i
	} else {
		l.pos = len(l.src)
	}
}

// skipPast moves behind the next occurrence of s, or to the end.
func (l *lexer) skipPast(s string) {
	end := len(l.src)
	if i := bytes.Index(l.src[l.pos:], []byte(s)); i >= 0 {
		end = l.pos + i + len(s)
	}
	l.line += bytes.Count(l.src[l.pos:end], []byte{'\n'})
	l.pos = end
}

func (l *lexer) emit(kind tokenKind, start int, text string) {
	l.out = append(l.out, token{kind: kind, text: text, pos: start, end: l.pos,
		line: l.line, col: l.col, first: l.first})
	l.first = false
}

func (l *lexer) next() {
	c := l.src[l.pos]
	switch {
	case c == '\n':
		l.pos++
		l.line++
		l.first, l.col = true, 0
		return
	case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		if l.first {
			if c == '\t' {
				l.col += 8 - l.col%8
			} else if c == ' ' {
				l.col++
			}
		}
		l.pos++
		return
	case l.lang.slash && l.has("//"), l.lang.hash && c == '#', l.lang.dash && l.has("--"):
		l.skipLine()
		return
	case l.lang.slash && l.has("/*"):
		l.blockComment()
		return
	}
	start := l.pos
	switch {
	case l.lang.rust && l.rawRust():
	case l.lang.layout && l.prefixed():
	case c == '"' || c == '\'' || c == '`':
		l.quoted(c)
	case c == '/' && l.lang.regexps && l.valueMayStand():
		l.regexp()
	case c >= '0' && c <= '9':
		l.number()
		l.emit(number, start, string(l.src[start:l.pos]))
	case l.nameStart():
		l.name()
		l.emit(ident, start, string(l.src[start:l.pos]))
	default:
		l.punct()
	}
}

func (l *lexer) blockComment() {
	if !l.lang.nested {
		l.pos += 2
		l.skipPast("*/")
		return
	}
	for depth := 0; l.pos < len(l.src); {
		switch {
		case l.has("/*"):
			depth++
			l.pos += 2
		case l.has("*/"):
			depth--
			l.pos += 2
			if depth == 0 {
				return
			}
		default:
			if l.src[l.pos] == '\n' {
				l.line++
			}
			l.pos++
		}
	}
}

func (l *lexer) nameStart() bool {
	c := l.src[l.pos]
	if c < utf8.RuneSelf {
		return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	r, _ := utf8.DecodeRune(l.src[l.pos:])
	return unicode.IsLetter(r)
}

func (l *lexer) name() {
	for l.pos < len(l.src) {
		r, n := utf8.DecodeRune(l.src[l.pos:])
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return
		}
		l.pos += n
	}
}

func (l *lexer) number() {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		point := c == '.' && l.pos+1 < len(l.src) && l.src[l.pos+1] >= '0' && l.src[l.pos+1] <= '9'
		if !letter && !point && (c < '0' || c > '9') {
			return
		}
		l.pos++
	}
}

// operatorPairs are the operators that readers look for; everything else is one character.
var operatorPairs = set("== != => -> || && :: <= >= := ?.")

func (l *lexer) punct() {
	start := l.pos
	if l.pos+2 <= len(l.src) && operatorPairs.has(string(l.src[l.pos:l.pos+2])) {
		l.pos += 2
		if (l.src[start] == '=' || l.src[start] == '!') && l.pos < len(l.src) && l.src[l.pos] == '=' {
			l.pos++ // === and !==
		}
	} else {
		_, n := utf8.DecodeRune(l.src[l.pos:])
		l.pos += n
	}
	l.emit(punct, start, string(l.src[start:l.pos]))
}

// quoted reads a literal that begins with the quote q at pos.
func (l *lexer) quoted(q byte) {
	start := l.pos
	if q == '`' {
		switch l.lang.backtick {
		case 't':
			l.pos++
			l.template()
			l.emitString(start, 1, 1)
		case 'r', 'i':
			l.pos++
			at := l.line
			l.skipPast("`")
			kind := str
			if l.lang.backtick == 'i' {
				kind = ident
			}
			l.emit(kind, start, strings.Trim(string(l.src[start:l.pos]), "`"))
			l.out[len(l.out)-1].line = at
		default:
			l.punct()
		}
		return
	}
	if l.lang.triple && l.has(strings.Repeat(string(q), 3)) && (q == '"' || l.lang.layout) {
		l.pos += 3
		at := l.line
		l.tripled(q)
		l.emitString(start, 3, 3)
		l.out[len(l.out)-1].line = at
		return
	}
	if q == '\'' && !l.lang.single {
		l.character()
		return
	}
	at := l.line
	l.pos++
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		if c == '\\' && l.pos+1 < len(l.src) {
			if l.src[l.pos+1] == '\n' {
				l.line++
			}
			l.pos += 2
			continue
		}
		if c == '\n' {
			if !l.lang.multiline {
				break
			}
			l.line++
		}
		l.pos++
		if c == q {
			break
		}
	}
	l.emitString(start, 1, 1)
	l.out[len(l.out)-1].line = at
}

func (l *lexer) emitString(start, open, close int) {
	text := string(l.src[start:l.pos])
	if len(text) >= open+close && text[len(text)-1] == text[0] {
		text = text[open : len(text)-close]
	} else {
		text = text[min(open, len(text)):]
	}
	l.emit(str, start, text)
}

func (l *lexer) tripled(q byte) {
	end := strings.Repeat(string(q), 3)
	for l.pos < len(l.src) {
		switch {
		case l.src[l.pos] == '\\' && l.pos+1 < len(l.src):
			if l.src[l.pos+1] == '\n' {
				l.line++
			}
			l.pos += 2
		case l.has(end):
			l.pos += 3
			return
		default:
			if l.src[l.pos] == '\n' {
				l.line++
			}
			l.pos++
		}
	}
}

// maxNesting bounds templates within templates; real code has two or three.
const maxNesting = 100

// template reads a JavaScript template literal behind its first back-tick; code
// in ${…} may hold templates of its own.
func (l *lexer) template() {
	if l.nesting++; l.nesting > maxNesting {
		l.pos = len(l.src)
		return
	}
	defer func() { l.nesting-- }()
	depth := 0
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\\' && l.pos+1 < len(l.src):
			l.pos++
		case c == '\n':
			l.line++
		case depth == 0 && c == '`':
			l.pos++
			return
		case depth > 0 && c == '`':
			l.pos++
			l.template()
			continue
		case depth == 0 && l.has("${"):
			depth++
			l.pos++
		case depth > 0 && c == '{':
			depth++
		case depth > 0 && c == '}':
			depth--
		}
		l.pos++
	}
}

// character reads 'x' or '\n'; in Rust a quote without its partner begins a
// lifetime and is punctuation.
func (l *lexer) character() {
	start := l.pos
	rest := l.src[l.pos+1:]
	n := 0
	switch {
	case len(rest) > 1 && rest[0] == '\\':
		if i := bytes.IndexByte(rest[2:min(len(rest), 14)], '\''); i >= 0 {
			n = 2 + i + 2
		}
	case len(rest) > 0:
		_, w := utf8.DecodeRune(rest)
		if len(rest) > w && rest[w] == '\'' && rest[0] != '\n' {
			n = 1 + w + 1
		}
	}
	if n == 0 {
		l.pos++
		l.emit(punct, start, "'")
		return
	}
	l.pos += n
	l.emitString(start, 1, 1)
}

// rawRust reads r"…", r#"…"#, br"…", b"…", c"…"; false when none begins here.
func (l *lexer) rawRust() bool {
	start, p := l.pos, l.pos
	if l.src[p] == 'b' || l.src[p] == 'c' {
		p++
	}
	if p < len(l.src) && l.src[p] == 'r' {
		p++
		hashes := 0
		for p < len(l.src) && l.src[p] == '#' {
			hashes++
			p++
		}
		if p < len(l.src) && l.src[p] == '"' {
			at := l.line
			l.pos = p + 1
			l.skipPast(`"` + strings.Repeat("#", hashes))
			l.emit(str, start, strings.Trim(string(l.src[p:l.pos]), `"#`))
			l.out[len(l.out)-1].line = at
			return true
		}
		return false
	}
	if p > start && p < len(l.src) && l.src[p] == '"' {
		l.pos = p
		l.quoted('"')
		return true
	}
	return false
}

// prefixed reads a Python string with a prefix such as f, rb or U.
func (l *lexer) prefixed() bool {
	p := l.pos
	for p < len(l.src) && p-l.pos < 3 && bytes.IndexByte([]byte("rRbBuUfFtT"), l.src[p]) >= 0 {
		p++
	}
	if p == l.pos || p >= len(l.src) || l.src[p] != '"' && l.src[p] != '\'' {
		return false
	}
	l.pos = p
	l.quoted(l.src[p])
	return true
}

// valueMayStand says whether a slash begins a regular expression: after an
// operator or a keyword, not after a value.
func (l *lexer) valueMayStand() bool {
	if len(l.out) == 0 {
		return true
	}
	last := l.out[len(l.out)-1]
	switch last.kind {
	case number, str:
		return false
	case ident:
		switch last.text {
		case "return", "typeof", "case", "in", "of", "do", "else", "void", "delete", "await", "yield", "throw", "new":
			return true
		}
		return false
	}
	return last.text != ")" && last.text != "]" && last.text != "}"
}

func (l *lexer) regexp() {
	start := l.pos
	class := false
	for p := l.pos + 1; p < len(l.src) && l.src[p] != '\n'; p++ {
		switch c := l.src[p]; {
		case c == '\\':
			p++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			l.pos = p + 1
			l.name() // the flags
			l.emit(str, start, string(l.src[start:l.pos]))
			return
		}
	}
	l.punct() // no end on this line: it was a division after all
}

// oneOf reports whether a token is one of the words of a list. A list in one text is a tenth of the
// code that a call with many texts is.
func oneOf(words, token string) bool {
	for w := range strings.FieldsSeq(words) {
		if w == token {
			return true
		}
	}
	return false
}
