package guard

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What cannot be known is kept inside a text as a hole: one control byte that
// says where the unknown part comes from. A command line that holds such bytes
// itself is refused before it is parsed, so they cannot be forged.
const (
	holeForeign = '\x01' // anything at all: file contents, network, read, decoders
	holeEnv     = '\x02' // a variable of the environment: may be empty, not hostile
	holeName    = '\x03' // a file, branch or commit name: not empty, no leading "-" or "/"
	holeNum     = '\x04' // digits
	holePPID    = '\x05' // the id of the process that started the shell: the client
	holeSetup   = '\x06' // shell code printed by a well-known tool for eval
	holes       = "\x01\x02\x03\x04\x05\x06"
)

const (
	maxText   = 256 << 10 // bytes of a command line, and of any text made from it
	maxFields = 512       // words of one expansion
)

// arg is one word of a command after all expansions.
type arg struct {
	s    string // may hold holes
	glob bool   // s is a pattern: it held an unquoted *, ? or [
}

func (a arg) known() bool { return !a.glob && known(a.s) }

func known(s string) bool { return !strings.ContainsAny(s, holes) }

// foreign reports whether s depends on something that the agent may have made up.
func foreign(s string) bool {
	return strings.IndexByte(s, holeForeign) >= 0 || strings.IndexByte(s, holeSetup) >= 0
}

// value is what a variable holds: a text, or the elements of an array.
type value struct {
	s     string
	list  []string
	array bool
}

func (v value) elems() []string {
	if v.array {
		return v.list
	}
	return []string{v.s}
}

func (v value) scalar() string {
	if v.array {
		if len(v.list) == 0 {
			return ""
		}
		return v.list[0]
	}
	return v.s
}

// fields builds the words that one shell word expands to.
type fields struct {
	out  []arg
	cur  []byte
	has  bool // the current word exists even when empty
	glob bool
	ifs  string
}

func (f *fields) add(s string) {
	if len(f.cur)+len(s) <= maxText {
		f.cur = append(f.cur, s...)
	}
	f.has = true
}

func (f *fields) end() {
	if f.has && len(f.out) < maxFields {
		f.out = append(f.out, arg{string(f.cur), f.glob})
	}
	f.cur, f.has, f.glob = f.cur[:0], false, false
}

// split adds the value of an unquoted expansion.
func (f *fields) split(s string) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if strings.IndexByte(f.ifs, c) >= 0 {
			if f.has {
				f.end()
			}
			continue
		}
		if c == '*' || c == '?' || c == '[' {
			f.glob = true
		}
		f.cur = append(f.cur, c)
		f.has = true
	}
}

// words expands the words of a command, braces first.
func (j *judge) words(sc *scope, ws []*syntax.Word) []arg {
	var out []arg
	for _, w := range ws {
		out = append(out, j.word(sc, w)...)
		if len(out) > maxFields {
			j.deny(ClassUndecidable, "the line expands to more words than can be followed", "use a loop over files or a script")
			break
		}
	}
	return out
}

func (j *judge) word(sc *scope, w *syntax.Word) []arg {
	if len(w.Parts) == 1 {
		// The usual word: no expansion, no quoting, no braces.
		if l, ok := w.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(l.Value, "\\*?[{~") {
			return []arg{{s: l.Value}}
		}
	}
	var out []arg
	for _, b := range expandBraces(w) {
		f := fields{ifs: sc.ifs()}
		for i, part := range b.Parts {
			j.part(sc, &f, part, i == 0)
		}
		f.end()
		out = append(out, f.out...)
		if len(out) > maxFields {
			break
		}
	}
	return out
}

// text expands a word without splitting, as in an assignment.
func (j *judge) text(sc *scope, w *syntax.Word) string {
	if w == nil {
		return ""
	}
	f := fields{}
	for i, part := range w.Parts {
		j.part(sc, &f, part, i == 0)
	}
	f.end()
	if len(f.out) == 0 {
		return ""
	}
	s := make([]string, len(f.out))
	for i, a := range f.out {
		s[i] = a.s
	}
	return strings.Join(s, " ")
}

func (j *judge) part(sc *scope, f *fields, part syntax.WordPart, first bool) {
	switch p := part.(type) {
	case *syntax.Lit:
		j.lit(sc, f, p.Value, first)
	case *syntax.SglQuoted:
		s := p.Value
		if p.Dollar {
			s = ansiC(s)
		}
		f.add(s)
	case *syntax.DblQuoted:
		f.has = true
		for _, q := range p.Parts {
			j.quoted(sc, f, q)
		}
	case *syntax.ParamExp:
		vals, list := j.param(sc, p)
		for i, v := range vals {
			if i > 0 {
				f.end()
			}
			if f.ifs == "" && !list { // assignments do not split
				f.add(v)
			} else {
				f.split(v)
			}
		}
	case *syntax.CmdSubst:
		out := j.substitute(sc, p.Stmts)
		if f.ifs == "" {
			f.add(out)
		} else {
			f.split(out)
		}
	case *syntax.ArithmExp:
		j.arithm(sc, p.X)
		f.add(string(holeNum))
	case *syntax.ProcSubst:
		f.add(j.procSubst(sc, p))
	case *syntax.ExtGlob:
		f.add("*")
		f.glob = true
	case *syntax.BraceExp: // only what SplitBraces could not expand
		f.add(string(holeForeign))
	}
}

// lit adds unquoted literal text: escapes, globs and a leading tilde.
func (j *judge) lit(sc *scope, f *fields, s string, first bool) {
	if first && strings.HasPrefix(s, "~") {
		end := strings.IndexByte(s, '/')
		if end < 0 {
			end = len(s)
		}
		switch s[:end] {
		case "~", "~root":
			f.add(j.home(sc))
		case "~+":
			f.add(sc.cwd())
		case "~-":
			f.add(sc.get("OLDPWD", string(holeEnv)))
		default:
			f.add("/home/" + s[1:end])
		}
		s = s[end:]
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			i++
			if i < len(s) && s[i] != '\n' {
				f.cur = append(f.cur, s[i])
			}
		case '*', '?', '[':
			f.glob = true
			f.cur = append(f.cur, c)
		default:
			f.cur = append(f.cur, c)
		}
		f.has = true
	}
}

// quoted adds one part of a double-quoted text.
func (j *judge) quoted(sc *scope, f *fields, part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit:
		f.add(unescape(p.Value, "$`\"\\\n"))
	case *syntax.ParamExp:
		vals, list := j.param(sc, p)
		if !list {
			f.add(strings.Join(vals, " "))
			return
		}
		for i, v := range vals {
			if i > 0 {
				f.end()
			}
			f.add(v)
		}
	case *syntax.CmdSubst:
		f.add(j.substitute(sc, p.Stmts))
	case *syntax.ArithmExp:
		j.arithm(sc, p.X)
		f.add(string(holeNum))
	default:
		f.add(string(holeForeign))
	}
}

// unescape removes the backslash before the bytes of set.
func unescape(s, set string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(set, s[i+1]) >= 0 {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// heredoc is the text of a here-document; quoted delimiters leave it literal.
func (j *judge) heredoc(sc *scope, r *syntax.Redirect) string {
	if r.Hdoc == nil {
		return ""
	}
	literal := false
	for _, p := range r.Word.Parts {
		l, ok := p.(*syntax.Lit)
		literal = literal || !ok || strings.IndexByte(l.Value, '\\') >= 0
	}
	f := fields{}
	for _, p := range r.Hdoc.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			s := l.Value
			if !literal {
				s = unescape(s, "$`\\\n")
			}
			f.add(s)
			continue
		}
		j.quoted(sc, &f, p)
	}
	s := string(f.cur)
	if r.Op == syntax.DashHdoc {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		s = strings.Join(lines, "\n")
	}
	return s
}

// ansiC decodes $'…'. Bytes that would be holes become an unknown part.
func ansiC(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	put := func(c byte) {
		if c < ' ' && (c == 0 || strings.IndexByte(holes, c) >= 0) {
			c = holeForeign
		}
		b.WriteByte(c)
	}
	number := func(i, base, limit int) int { // returns the index after the digits
		k := i
		for k < len(s) && k-i < limit && isDigit(s[k], base) {
			k++
		}
		n, err := strconv.ParseUint(s[i:k], base, 32)
		switch {
		case err != nil:
			b.WriteByte(holeForeign)
		case limit > 3 || n > 255:
			b.WriteString(strings.Map(func(r rune) rune {
				if r < 7 {
					return holeForeign
				}
				return r
			}, string(rune(n))))
		default:
			put(byte(n))
		}
		return k
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'a', 'b', 'e', 'E', 'f', 'v':
			b.WriteByte('\x07')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		case 'x':
			i = number(i+1, 16, 2) - 1
		case 'u':
			i = number(i+1, 16, 4) - 1
		case 'U':
			i = number(i+1, 16, 8) - 1
		case 'c':
			i++
			b.WriteByte(holeForeign)
		default:
			if isDigit(c, 8) {
				i = number(i, 8, 3) - 1
			} else {
				b.WriteByte('\\')
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

func isDigit(c byte, base int) bool {
	switch {
	case '0' <= c && c <= '9':
		return int(c-'0') < base
	case 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		return base == 16
	}
	return false
}

// expandBraces returns the words that {a,b} and {1..3} stand for.
func expandBraces(w *syntax.Word) []*syntax.Word {
	plain := true
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			plain = false
		}
	}
	if plain {
		return []*syntax.Word{w}
	}
	c := &syntax.Word{Parts: append([]syntax.WordPart(nil), w.Parts...)}
	if !syntax.SplitBraces(c) {
		return []*syntax.Word{w}
	}
	return braceWords(c, 0)
}

func braceWords(w *syntax.Word, depth int) []*syntax.Word {
	acc := []*syntax.Word{{}}
	for _, p := range w.Parts {
		br, ok := p.(*syntax.BraceExp)
		if !ok {
			for _, a := range acc {
				a.Parts = append(a.Parts, p)
			}
			continue
		}
		var alts []*syntax.Word
		switch {
		case depth > 8:
			alts = []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: string(holeForeign)}}}}
		case br.Sequence:
			alts = braceSequence(br)
		default:
			for _, e := range br.Elems {
				alts = append(alts, braceWords(e, depth+1)...)
			}
		}
		var next []*syntax.Word
		for _, a := range acc {
			for _, alt := range alts {
				if len(next) > maxFields || len(a.Parts) > maxFields {
					// Braces multiply. Beyond this, one unknown word stands for all.
					return []*syntax.Word{{Parts: []syntax.WordPart{&syntax.Lit{Value: string(holeForeign)}}}}
				}
				parts := append(append([]syntax.WordPart(nil), a.Parts...), alt.Parts...)
				next = append(next, &syntax.Word{Parts: parts})
			}
		}
		acc = next
	}
	return acc
}

// braceSequence expands {a..c}; long or odd ones become numbers or unknown.
func braceSequence(br *syntax.BraceExp) []*syntax.Word {
	lit := func(s string) *syntax.Word {
		return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}}
	}
	if len(br.Elems) < 2 {
		return []*syntax.Word{lit(string(holeForeign))}
	}
	from, to := br.Elems[0].Lit(), br.Elems[1].Lit()
	if len(from) == 1 && len(to) == 1 && len(br.Elems) == 2 && !isDigit(from[0], 10) {
		var out []*syntax.Word
		for c := from[0]; ; {
			out = append(out, lit(string(rune(c))))
			if c == to[0] {
				return out
			}
			if c < to[0] {
				c++
			} else {
				c--
			}
		}
	}
	// Neither the numbers nor their count matter to a judgement.
	return []*syntax.Word{lit(string(holeNum)), lit(string(holeNum))}
}
