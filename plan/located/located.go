// Package located reads TOML and JSON into values that know their line, so that
// everything said about a file later can name the place.
package located

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Node is a value of a file with the line it stands on.
type Node struct {
	Line int
	// Value is nil, bool, string, Number, time.Time, []Node or *Object.
	Value any
}

// Number is a number as it was written.
type Number string

// Object is a table or JSON object with its keys in the order of the file.
type Object struct {
	Keys   []string
	Fields map[string]Node
	// Twice are the keys that were given more than once; their last value counts.
	Twice []string
}

// Get is the value of a key; false when there is none, or null.
func (o *Object) Get(key string) (Node, bool) {
	n, ok := o.Fields[key]
	return n, ok && n.Value != nil
}

// Has reports whether one of the keys is there.
func (o *Object) Has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := o.Fields[k]; ok {
			return true
		}
	}
	return false
}

// set gives a key its value, the last of several.
func (o *Object) set(key string, n Node) {
	if _, twice := o.Fields[key]; twice {
		o.Twice = append(o.Twice, key)
	} else {
		o.Keys = append(o.Keys, key)
	}
	o.Fields[key] = n
}

// Kind names the kind of a value for people.
func (n Node) Kind() string {
	switch n.Value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case Number:
		return "a number"
	case time.Time:
		return "a time"
	case []Node:
		return "a list"
	default:
		return "a table"
	}
}

// maxDepth bounds how deep a file may nest. Plans need five.
const maxDepth = 100

// maxKeys bounds how many keys a TOML table may have: the decoder compares each
// with all those before. A task has thirty.
const maxKeys = 1000

// Fault is a syntax error with its line.
type Fault struct {
	Line int
	Text string
}

// ParseTOML reads a TOML document.
func ParseTOML(data []byte) (*Object, *Fault) {
	// First, because it also bounds the depth of dotted keys.
	lines, tooDeep := tomlLines(data)
	if tooDeep != nil {
		return nil, tooDeep
	}
	var doc map[string]any
	if err := toml.Unmarshal(data, &doc); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			row, _ := de.Position()
			return nil, &Fault{row, strings.TrimPrefix(de.Error(), "toml: ")}
		}
		return nil, &Fault{0, strings.TrimPrefix(err.Error(), "toml: ")}
	}
	root := fromTOML(doc, "", 1, lines)
	return root.Value.(*Object), nil
}

// tomlLines is the line of every key, by its path. The decoder, which knows all
// rules of the language, supplies the values, and reports any syntax error, at
// which this walk just ends.
func tomlLines(data []byte) (map[string]int, *Fault) {
	w := tomlWalk{at: lineCounter{data: data}, lines: make(map[string]int), keys: make(map[string]int)}
	var p unstable.Parser
	p.Reset(data)
	count := make(map[string]int) // elements of an array of tables so far
	table, depth := "", 0
	for p.NextExpression() && w.err == nil {
		expr := p.Expression()
		switch expr.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, depth = "", 0
			for it := expr.Key(); it.Next() && w.err == nil; {
				k := it.Node()
				depth++
				table = join(table, string(k.Data))
				line := w.mark(table, k, depth)
				if it.IsLast() && expr.Kind == unstable.ArrayTable {
					count[table]++
				}
				if n := count[table]; n > 0 {
					table = join(table, strconv.Itoa(n-1))
					if _, ok := w.lines[table]; !ok {
						w.lines[table] = line
					}
				}
			}
		case unstable.KeyValue:
			w.pair(expr, table, depth)
		}
	}
	return w.lines, w.err
}

type tomlWalk struct {
	at    lineCounter
	lines map[string]int
	keys  map[string]int // of each table
	err   *Fault
}

// mark records where a key first stands.
func (w *tomlWalk) mark(path string, key *unstable.Node, depth int) int {
	line := w.at.line(int(key.Raw.Offset))
	if depth > maxDepth {
		w.err = &Fault{line, fmt.Sprintf("values nest deeper than %d", maxDepth)}
	}
	if _, ok := w.lines[path]; !ok {
		w.lines[path] = line
		parent := path[:strings.LastIndexByte(path, 0)]
		if w.keys[parent]++; w.keys[parent] > maxKeys && w.err == nil {
			w.err = &Fault{line, fmt.Sprintf("a table has more than %d keys", maxKeys)}
		}
	}
	return line
}

func (w *tomlWalk) pair(kv *unstable.Node, path string, depth int) {
	for it := kv.Key(); it.Next() && w.err == nil; {
		depth++
		path = join(path, string(it.Node().Data))
		w.mark(path, it.Node(), depth)
	}
	w.value(kv.Value(), path, depth)
}

func (w *tomlWalk) value(v *unstable.Node, path string, depth int) {
	if depth > maxDepth && w.err == nil {
		w.err = &Fault{0, fmt.Sprintf("values nest deeper than %d", maxDepth)}
	}
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next() && w.err == nil; {
			w.pair(it.Node(), path, depth+1)
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next() && w.err == nil; i++ {
			w.value(it.Node(), join(path, strconv.Itoa(i)), depth+1)
		}
	}
}

func join(path, key string) string { return path + "\x00" + key }

// lineCounter turns offsets into lines; cheap when they grow.
type lineCounter struct {
	data         []byte
	offset, seen int
}

func (c *lineCounter) line(offset int) int {
	if offset < c.offset {
		c.offset, c.seen = 0, 0
	}
	offset = min(offset, len(c.data))
	c.seen += bytes.Count(c.data[c.offset:offset], []byte{'\n'})
	c.offset = offset
	return c.seen + 1
}

func fromTOML(v any, path string, line int, lines map[string]int) Node {
	if l, ok := lines[path]; ok {
		line = l
	}
	n := Node{Line: line}
	switch v := v.(type) {
	case map[string]any:
		o := &Object{Fields: make(map[string]Node, len(v))}
		for k, e := range v {
			o.Keys = append(o.Keys, k)
			o.Fields[k] = fromTOML(e, join(path, k), line, lines)
		}
		sort.Slice(o.Keys, func(i, j int) bool {
			a, b := o.Fields[o.Keys[i]].Line, o.Fields[o.Keys[j]].Line
			return a < b || a == b && o.Keys[i] < o.Keys[j]
		})
		n.Value = o
	case []any:
		list := make([]Node, len(v))
		for i, e := range v {
			list[i] = fromTOML(e, join(path, strconv.Itoa(i)), line, lines)
		}
		n.Value = list
	case int64:
		n.Value = Number(strconv.FormatInt(v, 10))
	case float64:
		n.Value = Number(strconv.FormatFloat(v, 'g', -1, 64))
	case time.Time:
		n.Value = v.UTC()
	case toml.LocalDateTime:
		// No zone was written. UTC, because with the reader's zone one file
		// would mean different times.
		n.Value = v.AsTime(time.UTC)
	case toml.LocalDate:
		n.Value = v.AsTime(time.UTC)
	case toml.LocalTime:
		n.Value = v.String()
	case bool, string:
		n.Value = v
	}
	return n
}

// ParseJSON reads a JSON document. A key that is given twice keeps its last
// value, as everywhere.
func ParseJSON(data []byte) (Node, *Fault) {
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(data)), at: lineCounter{data: data}}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err == nil {
		if _, extra := p.dec.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("there is more after the end of the JSON value")
		}
	}
	if err == nil {
		return n, nil
	}
	line := p.at.line(int(p.dec.InputOffset()))
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line = p.at.line(int(syntax.Offset))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the JSON ends too early")
		line = p.at.line(len(bytes.TrimRight(data, " \t\r\n")))
	}
	return Node{}, &Fault{line, err.Error()}
}

type jsonParser struct {
	dec *json.Decoder
	at  lineCounter
}

func (p *jsonParser) value(depth int) (Node, error) {
	if depth > maxDepth {
		return Node{}, fmt.Errorf("values nest deeper than %d", maxDepth)
	}
	token, err := p.dec.Token()
	if err != nil {
		return Node{}, err
	}
	// The offset is the end of the token, which holds no line end.
	n := Node{Line: p.at.line(int(p.dec.InputOffset()))}
	switch token := token.(type) {
	case json.Number:
		n.Value = Number(token.String())
	case json.Delim:
		if token == '[' {
			list := []Node{}
			for p.dec.More() {
				e, err := p.value(depth + 1)
				if err != nil {
					return Node{}, err
				}
				list = append(list, e)
			}
			n.Value = list
		} else {
			o := &Object{Fields: make(map[string]Node)}
			for p.dec.More() {
				key, err := p.dec.Token()
				if err != nil {
					return Node{}, err
				}
				line := p.at.line(int(p.dec.InputOffset()))
				e, err := p.value(depth + 1)
				if err != nil {
					return Node{}, err
				}
				name := key.(string)
				if _, table := e.Value.(*Object); !table {
					e.Line = line // a problem with a value is looked for at its key
				}
				o.set(name, e)
			}
			n.Value = o
		}
		if _, err := p.dec.Token(); err != nil { // the closing bracket
			return Node{}, err
		}
	default:
		n.Value = token
	}
	return n, nil
}
