package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// MaxFile is the largest settings file that is read, in bytes. It is far above
// any real one and keeps a file given by mistake out of memory.
const MaxFile = 1 << 20

// maxKeys is far above what any project has. The decoder's search for keys
// that are given twice takes time by the square of their number: a file of
// 200,000 would stop every command for a minute.
const maxKeys = 5000

// parseTOML reads a file into a tree in which every key and value knows its
// line and column, which a decoder into structs would have lost by the time a
// value turns out to be wrong.
func parseTOML(name string, data []byte) (*table, *Problem) {
	if p := readable(name, data); p != nil {
		return nil, p
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	b := builder{data: data}
	root := &table{line: 1, col: 1}
	current := root
	b.parser.Reset(data)
	for b.keys <= maxKeys && b.parser.NextExpression() {
		e := b.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = b.header(root, e)
		case unstable.KeyValue:
			b.keyValue(current, e)
		}
	}
	if b.keys > maxKeys {
		return nil, &Problem{Where: name, Msg: fmt.Sprintf("has more than %d keys", maxKeys),
			Hint: "check that it is the right file"}
	}
	// The decoder checks what the parser does not: keys and tables that are
	// defined twice or as two things. It also has the better place of an error.
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		return nil, syntaxProblem(name, data, err)
	}
	if err := b.parser.Error(); err != nil {
		return nil, syntaxProblem(name, data, err)
	}
	return root, nil
}

// readable refuses what is no text file, by what it most likely is.
func readable(name string, data []byte) *Problem {
	problem := func(line, col int, format string, args ...any) *Problem {
		return &Problem{Where: name, Line: line, Col: col, Msg: fmt.Sprintf(format, args...),
			Hint: "settings are a TOML text file in UTF-8; git ralph init writes one where there is none"}
	}
	switch {
	case len(data) > MaxFile:
		return problem(0, 0, "is %s large; settings have at most %s", Size(len(data)), Size(MaxFile))
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return problem(1, 1, "is UTF-16, not UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		line, col := position(data, bytes.IndexByte(data, 0))
		return problem(line, col, "is a binary file, not text")
	case !utf8.Valid(data):
		i := 0
		for i < len(data) {
			r, size := utf8.DecodeRune(data[i:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			i += size
		}
		line, col := position(data, i)
		return problem(line, col, "is not UTF-8 (byte 0x%02x)", data[i])
	}
	return nil
}

// position counts lines and columns from 1, columns in bytes as compilers do.
func position(data []byte, offset int) (line, col int) {
	offset = min(max(offset, 0), len(data))
	before := data[:offset]
	return 1 + bytes.Count(before, []byte("\n")), offset - bytes.LastIndexByte(before, '\n')
}

// syntaxProblem names the line and shows it.
func syntaxProblem(name string, data []byte, err error) *Problem {
	p := &Problem{Where: name, Line: 1, Col: 1, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
	var de *toml.DecodeError
	var pe *unstable.ParserError
	switch {
	case errors.As(err, &de):
		p.Line, p.Col = de.Position()
	case errors.As(err, &pe):
		p.Msg = pe.Message
	}
	rows := bytes.Split(data, []byte("\n"))
	if p.Line >= 1 && p.Line <= len(rows) {
		if row := strings.TrimSpace(string(rows[p.Line-1])); row != "" {
			p.Msg += ": " + quote(row)
		}
	}
	p.Hint = "strings need quotes, tables look like [loop], lists like [\"a\", \"b\"]"
	return p
}

type builder struct {
	data   []byte
	parser unstable.Parser
	// How far where has counted: offset, lines before it, start of its line.
	at, ln, st int

	keys int // tables and values so far
}

// where turns an offset into line and column. Offsets mostly grow, so it goes
// on from the last one; a file of any length is counted about once.
func (b *builder) where(offset int) (line, col int) {
	if offset < b.at {
		b.at, b.ln, b.st = 0, 0, 0
	}
	for ; b.at < offset && b.at < len(b.data); b.at++ {
		if b.data[b.at] == '\n' {
			b.ln, b.st = b.ln+1, b.at+1
		}
	}
	return b.ln + 1, offset - b.st + 1
}

// header opens [a.b] or [[a.b]] and answers the table that follows.
func (b *builder) header(root *table, e *unstable.Node) *table {
	b.keys++
	t := root
	it := e.Key()
	for it.Next() {
		k := it.Node()
		line, col := b.where(int(k.Raw.Offset))
		last := it.IsLast()
		if last && e.Kind == unstable.ArrayTable {
			fresh := &table{line: line, col: col}
			t.add(string(k.Data), line, col, fresh)
			return fresh
		}
		t = t.open(string(k.Data), line, col)
	}
	return t
}

// open answers the table of that name, made when absent; of an array of tables
// the last one.
func (t *table) open(key string, line, col int) *table {
	if n, ok := t.get(key); ok {
		switch v := n.val.(type) {
		case *table:
			return v
		case list:
			if len(v) > 0 {
				if last, ok := v[len(v)-1].val.(*table); ok {
					return last
				}
			}
		}
		return &table{line: line, col: col} // a clash, which the decoder has refused before
	}
	fresh := &table{line: line, col: col}
	t.put(entry{key: key, line: line, col: col, val: node{val: fresh, line: line, col: col}})
	return fresh
}

// add appends a table to the array of that name.
func (t *table) add(key string, line, col int, fresh *table) {
	item := node{val: fresh, line: line, col: col}
	if i, ok := t.index[key]; ok {
		if l, ok := t.entries[i].val.val.(list); ok {
			t.entries[i].val.val = append(l, item)
		}
		return
	}
	t.put(entry{key: key, line: line, col: col, val: node{val: list{item}, line: line, col: col}})
}

func (b *builder) keyValue(t *table, e *unstable.Node) {
	b.keys++
	it := e.Key()
	for it.Next() {
		k := it.Node()
		line, col := b.where(int(k.Raw.Offset))
		if !it.IsLast() {
			t = t.open(string(k.Data), line, col)
			continue
		}
		v := b.value(e.Value(), line, col)
		if _, clash := t.get(string(k.Data)); !clash {
			t.put(entry{key: string(k.Data), line: line, col: col, val: v})
		}
	}
}

// value converts a node; line and col are used where the parser keeps none.
func (b *builder) value(n *unstable.Node, line, col int) node {
	if n.Raw.Length > 0 {
		line, col = b.where(int(n.Raw.Offset))
	}
	out := node{line: line, col: col}
	switch n.Kind {
	case unstable.String:
		out.val = string(n.Data)
	case unstable.Bool:
		out.val = string(n.Data) == "true"
	case unstable.Integer:
		out.raw = string(n.Data)
		v, err := strconv.ParseInt(strings.ReplaceAll(out.raw, "_", ""), 0, 64)
		if err != nil {
			out.val = other("a number out of range")
			break
		}
		out.val = v
	case unstable.Float:
		out.raw = string(n.Data)
		v, err := strconv.ParseFloat(strings.ReplaceAll(out.raw, "_", ""), 64)
		if err != nil {
			v = math.Inf(1)
		}
		out.val = v
	case unstable.Array:
		items := list{}
		for it := n.Children(); it.Next(); {
			items = append(items, b.value(it.Node(), line, col))
		}
		out.val = items
	case unstable.InlineTable:
		t := &table{line: line, col: col}
		for it := n.Children(); it.Next(); {
			b.keyValue(t, it.Node())
		}
		out.val = t
	default:
		out.val = other("a date or time")
	}
	return out
}
