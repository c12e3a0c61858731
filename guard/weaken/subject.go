package weaken

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
)

// A test may go, or assert less, when what it exercises goes in the same change:
// a function, a type, a field, an option. Such a loss is noted and does not reject.
//
// What goes is a name that the code of the change defined and that no code of
// the change holds any more. A definition that is still there under another name
// is renamed, and its tests are to be renamed with it.

// definition is a name that code defines, with the words of what it stands for.
type definition struct {
	words map[string]bool
	text  bool // a string literal: the name of an option, a message
}

// lookAtCode finds the names that the code of the change has lost, and the
// languages whose code it altered in more than comments.
func (j *judge) lookAtCode() {
	if j.gone != nil {
		return
	}
	j.gone, j.altered, j.goneFiles = map[string]definition{}, map[string]bool{}, map[string]bool{}
	j.changed = map[string]*changes{}
	before, after := map[string]definition{}, map[string]definition{}
	still := map[string]bool{} // words of the files that defined them
	homes := map[string]definition{}
	for _, f := range j.in.Files {
		lang := languageOf(f.Path)
		if lang == nil || !f.changed() || IsTest(f.Path) || isSupport(f.Path) ||
			max(len(f.Before), len(f.After)) > maxSource {
			continue
		}
		now := codeOf(f.Path, f.After, lang)
		if len(now) == 0 && f.After != nil {
			continue // a file that was emptied, or that cannot be read, has removed nothing
		}
		if base := path.Base(f.Path); f.removed() {
			j.goneFiles[strings.TrimSuffix(base, path.Ext(base))] = true
		}
		was := codeOf(f.Path, f.Before, lang)
		if lang.name == "rust" {
			now = withoutFormerTests(was, now, f)
		}
		same := func(a, b token) bool { return a.kind == b.kind && a.text == b.text }
		if f.Before != nil && !slices.EqualFunc(was, now, same) {
			j.altered[lang.name] = true
			j.changes(lang.name).look(was, now)
		}
		clear(homes)
		definitions(was, lang, homes)
		for _, t := range now {
			if d, ok := homes[t.text]; t.kind != punct && ok && !d.text {
				still[t.text] = true
			}
			if t.kind == str {
				still[t.text] = true
			}
		}
		maps.Copy(before, homes)
		definitions(now, lang, after)
	}
	var fresh []definition
	for name, d := range after {
		if _, ok := before[name]; !ok && !d.text {
			fresh = append(fresh, d)
		}
	}
	for name, d := range before {
		if _, defined := after[name]; still[name] || defined {
			continue
		}
		if !d.text && slices.ContainsFunc(fresh, func(n definition) bool { return sharedWords(d.words, n.words) >= 0.6 }) {
			continue // renamed
		}
		j.gone[name] = d
	}
}

func sharedWords(a, b map[string]bool) float64 {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	return float64(both) / float64(max(1, len(a)+len(b)-both))
}

// codeOf are the tokens of a source file without the tests inside it.
func codeOf(file string, content []byte, lang *language) []token {
	toks := lex(content, lang)
	if lang.name != "rust" || content == nil {
		return toks
	}
	r := rustSpans(file, toks)
	inside := append(r.modules, r.lone...)
	return slices.DeleteFunc(toks, func(t token) bool {
		return slices.ContainsFunc(inside, func(m [2]int) bool { return t.pos >= m[0] && t.end <= m[1] })
	})
}

// withoutFormerTests removes from code the functions that were tests before and
// only lost their mark: no test could exercise them.
func withoutFormerTests(was, now []token, f File) []token {
	s := read(f.Path, f.Before)
	if s == nil {
		return now
	}
	were := map[string]bool{}
	for _, u := range tests(s) {
		were[simple(u.name)] = true
	}
	for i := 1; i < len(was); i++ {
		if was[i-1].is("fn") {
			delete(were, was[i].text) // code has one of that name, too
		}
	}
	var out []token
	for i := 0; i < len(now); i++ {
		if !now[i].is("fn") || i+1 >= len(now) || !were[now[i+1].text] {
			out = append(out, now[i])
			continue
		}
		depth := 0
		for ; i < len(now); i++ {
			if now[i].is("{") {
				depth++
			} else if now[i].is("}") {
				if depth--; depth == 0 {
					break
				}
			} else if now[i].is(";") && depth == 0 {
				break
			}
		}
	}
	return out
}

// definitions collects what tokens define, in any language: by a keyword in
// front, by parameters and a body behind, by an assignment or a type behind a
// name that begins its line, and string literals.
func definitions(toks []token, lang *language, out map[string]definition) {
	is := func(i int, words string) bool {
		return i >= 0 && i < len(toks) && toks[i].kind != str && oneOf(words, toks[i].text)
	}
	for i, t := range toks {
		if t.kind == str {
			if len(t.text) >= 3 && len(t.text) <= 200 && strings.ContainsFunc(t.text, unicode.IsLetter) {
				out[t.text] = definition{text: true}
			}
			continue
		}
		if t.kind != ident || len(t.text) < 3 {
			continue
		}
		defines := false
		switch {
		case is(i-1, "func def class fn function struct enum trait type interface const mod record object val static "+
			"namespace fun"):
			defines = true
		case is(i-1, ")") && lang.name == "go" && receiver(toks, i-1):
			defines = true
		case is(i-1, ".") && is(i+1, "=") && !is(i+2, "=") && (lang.name == "js" ||
			is(i-2, "self this exports prototype")):
			defines = true
		case lang.name == "python" && is(i-1, "( ,") && is(i+1, "= :"): // a parameter
			defines = true
		case t.first && is(i+1, ": = ?") && lang.name != "go":
			defines = true
		case t.first && lang.name == "go" && i+1 < len(toks) && t.text[0] >= 'A' && t.text[0] <= 'Z':
			defines = toks[i+1].kind == ident || is(i+1, "* [") // a field
		case is(i+1, "(") && !is(i-1, ". new return = ( , !") && (lang.name == "java" || lang.name == "js"):
			defines = bodyBehind(toks, i+1)
		}
		if !defines {
			continue
		}
		d := definition{words: map[string]bool{}}
		for k := i + 1; k < min(len(toks), i+150); k++ {
			if toks[k].kind != punct && !commonWords.has(toks[k].text) {
				d.words[toks[k].text] = true
			}
			if k > i+4 && toks[k].first && toks[k].col <= t.col && !is(k, "} ) ]") && len(d.words) > 3 {
				break
			}
		}
		if old, ok := out[t.text]; ok {
			maps.Copy(d.words, old.words)
		}
		out[t.text] = d
	}
}

// receiver reports whether the bracket that closes at i is the receiver of a Go
// method: `func (c *Calc) Add`.
func receiver(toks []token, i int) bool {
	for k := i - 1; k > max(0, i-12); k-- {
		if toks[k].is("(") {
			return toks[k-1].is("func")
		}
	}
	return false
}

// bodyBehind reports whether parameters that open at i are followed by a body:
// a method is defined there and not called.
func bodyBehind(toks []token, i int) bool {
	depth := 0
	for k := i; k < min(len(toks), i+120); k++ {
		switch {
		case toks[k].is("("):
			depth++
		case toks[k].is(")"):
			depth--
		case depth > 0:
		case toks[k].is("{"):
			return true
		case toks[k].is(";"), toks[k].is("=>"), toks[k].is("."), toks[k].is(","):
			return false
		}
	}
	return false
}

// excuse names what a lost test, or lost assertions, exercised and the change removed;
// "" for nothing. A string that code has lost excuses a whole test only when it is one
// word (an option, a key), not when a message was reworded.
func (j *judge) excuse(d deficit) string {
	j.lookAtCode()
	var names []string
	for w := range d.lost {
		def, ok := j.gone[w]
		if name := strings.TrimLeft(w, "-"); !ok && name != w && len(name) >= 3 {
			def, ok = j.gone[name] // the code declares an option without its dashes
		}
		if ok && (d.now != nil || !def.text || w[0] == '-' || w[0] == '/' || !strings.ContainsAny(w, " %{")) {
			names = append(names, w)
		}
	}
	if d.now == nil && len(names) == 0 {
		names = j.goneWith(d.old.file)
	}
	slices.Sort(names)
	return strings.Join(names[:min(3, len(names))], ", ")
}

// goneWith returns the names that a removed test file mentions and the code lost.
// A test's subject may also be in its set-up, or in a base class beside it that
// was removed, too. The path of a module that it loads is such a name.
func (j *judge) goneWith(file string) []string {
	var names []string
	for _, f := range j.in.Files {
		if !f.removed() || !IsTest(f.Path) || path.Dir(f.Path) != path.Dir(file) || len(f.Before) > maxSource {
			continue
		}
		for _, t := range lex(f.Before, languageOf(f.Path)) {
			def, ok := j.gone[t.text]
			ok = ok && t.kind == ident && !def.text
			if t.kind == str && strings.Contains(t.text, "/") {
				ok = j.goneFiles[strings.TrimSuffix(path.Base(t.text), path.Ext(t.text))]
			}
			if ok && !slices.Contains(names, t.text) {
				names = append(names, t.text)
			}
		}
	}
	if !slices.ContainsFunc(j.in.Files, func(f File) bool { return f.Path == file && f.removed() }) {
		return nil
	}
	return names
}

// changes are the names in the changed lines of one language: defs are
// definitions whose text changed, words the other names.
type changes struct{ defs, words map[string]bool }

func (j *judge) changes(lang string) *changes {
	if j.changed[lang] == nil {
		j.changed[lang] = &changes{map[string]bool{}, map[string]bool{}}
	}
	return j.changed[lang]
}

// look compares two versions of a file line by line.
func (c *changes) look(was, now []token) {
	old, fresh := lineTexts(was), lineTexts(now)
	c.mark(was, fresh)
	c.mark(now, old)
}

// lineTexts counts the lines of a file by their tokens.
func lineTexts(toks []token) map[string]int {
	out := map[string]int{}
	eachLine(toks, func(line []token) { out[lineText(line)]++ })
	return out
}

func eachLine(toks []token, f func([]token)) {
	for start := 0; start < len(toks); {
		end := start + 1
		for end < len(toks) && !toks[end].first {
			end++
		}
		f(toks[start:end])
		start = end
	}
}

func lineText(line []token) string {
	var b strings.Builder
	for _, t := range line {
		b.WriteString(t.text)
		b.WriteByte(0)
	}
	return b.String()
}

// mark records the lines that the other version lacks, and the definitions around
// them, which are those that begin further to the left.
func (c *changes) mark(toks []token, other map[string]int) {
	type def struct {
		name string
		col  int
	}
	var around []def
	eachLine(toks, func(line []token) {
		for len(around) > 0 && around[len(around)-1].col >= line[0].col &&
			(line[0].kind != punct || line[0].is("#") || line[0].is("@")) {
			around = around[:len(around)-1]
		}
		if name := defined(line); name != "" {
			around = append(around, def{name, line[0].col})
		}
		text := lineText(line)
		if other[text] > 0 {
			other[text]--
			return
		}
		for _, d := range around {
			c.defs[d.name] = true
		}
		for _, t := range line {
			if t.kind != punct && len(t.text) >= 4 && !commonWords.has(t.text) {
				c.words[t.text] = true
			}
		}
	})
}

// defined is the name that a line begins to define, in any language; "" = none.
func defined(line []token) string {
	for i, t := range line[:min(len(line), 14)] {
		switch {
		case t.kind != ident:
		case t.text == "func" && i+1 < len(line) && line[i+1].is("("): // a method of Go
			for k := i + 2; k+1 < len(line); k++ {
				if line[k].is(")") {
					return line[k+1].text
				}
			}
		case slices.Contains([]string{"func", "def", "class", "fn", "function", "struct", "enum", "trait", "impl", "type",
			"interface", "record", "object", "fun",
			"const", "let", "var", "val"}, t.text) && i+1 < len(line) && line[i+1].kind == ident:
			return line[i+1].text
		case i+1 < len(line) && line[i+1].is("(") && line[len(line)-1].is("{") && !commonWords.has(t.text): // a method
			switch t.text {
			case "while", "switch", "catch", "match", "elif", "with", "synchronized":
				return ""
			}
			return t.text
		case i+1 < len(line) && (line[i+1].is(":") || line[i+1].is("=")) && len(line) > i+2 &&
			(line[i+2].is("function") || line[len(line)-1].is("{")):
			return t.text
		}
	}
	return ""
}

// related reports whether a lost test exercised what the change altered, judged by
// names. Then the old tests, run on the new code, can tell whether its loss hides
// something.
func (j *judge) related(o *unit) bool {
	j.lookAtCode()
	c := j.changed[o.lang]
	if c == nil {
		return false
	}
	shared := 0
	for w := range o.words {
		if len(w) >= 3 && c.defs[w] || c.words[w] && j.ownWord(o, w) {
			return true
		}
		if c.words[w] {
			shared++
		}
	}
	for _, w := range strings.FieldsFunc(o.name, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	}) {
		if c.words[w] && !o.words[w] {
			shared++ // the titles of tests name what they are about
		}
	}
	words := slices.Collect(maps.Keys(o.words))
	for w := range c.words { // a text of the code as a part of what a test expects
		part := func(v string) bool { return v != w && strings.Contains(v, w) }
		if len(w) >= 5 && strings.ContainsFunc(w, unicode.IsPunct) && slices.ContainsFunc(words, part) {
			shared++
		}
	}
	name := strings.ToLower(strings.ReplaceAll(o.name[strings.LastIndexAny(o.name, "/.")+1:], "_", ""))
	for d := range c.defs {
		if d = strings.ToLower(strings.ReplaceAll(d, "_", "")); len(d) >= 4 && strings.Contains(name, d) {
			return true
		}
	}
	for w := range c.words {
		if w = strings.ToLower(strings.Trim(strings.NewReplacer("_", "", "-", "").Replace(w), ".")); len(w) >= 6 &&
			!strings.Contains(w, " ") && strings.Contains(name, w) {
			return true // a test is named after what it is about
		}
	}
	return shared >= 2
}

// rewritten reports whether new tests of the same folder call what a lost test called, and
// the change's tests assert as much as before. Then the lost test may live on in them.
func (j *judge) rewritten(o *unit) bool {
	if j.heavier == 0 {
		j.heavier = -1
		before, after := 0, 0
		for _, s := range j.before {
			for _, u := range tests(s) {
				before += j.oldHelp.weight(u)
			}
		}
		for _, s := range j.after {
			for _, u := range tests(s) {
				after += j.newHelp.weight(u)
			}
		}
		if after >= before {
			j.heavier = 1
		}
	}
	if j.heavier < 0 || len(o.calls) == 0 {
		return false
	}
	called := map[string]bool{}
	for _, n := range j.fresh {
		if n.lang == o.lang && path.Dir(n.file) == path.Dir(o.file) && len(j.newHelp.skips(n)) == 0 &&
			j.newHelp.weight(n) > 0 {
			for name := range n.calls {
				called[name] = true
			}
			for w := range n.words {
				called[w] = true
			}
		}
	}
	all, found := 0, 0
	for name := range o.calls {
		if name = strings.TrimPrefix(name, "."); asserting(name) || commonWords.has(name) {
			continue
		}
		all++
		if called[name] {
			found++
		}
	}
	return all > 0 && found == all
}

// ownWord reports whether no other test of the file contains a word: then this
// test is about it. A file of few tests cannot tell.
func (j *judge) ownWord(o *unit, word string) bool {
	for _, s := range j.before {
		if s.path != o.file {
			continue
		}
		others := tests(s)
		return len(others) >= 3 && !slices.ContainsFunc(others, func(u *unit) bool { return u != o && u.words[word] })
	}
	return false
}

// touched reports whether the change altered code of the language of a test.
// Then the old tests, run on the new code, tell whether lost assertions hide
// something.
func (j *judge) touched(lang string) bool {
	j.lookAtCode()
	return j.altered[lang]
}
