package plan

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

// node is a value of a file with the line it stands on, so that everything
// said about it later can name the place.
type node struct {
	line int
	// value is nil, bool, string, number, time.Time, []node or *object.
	value any
}

// number is a number as it was written.
type number string

// object is a table or JSON object with its keys in the order of the file.
type object struct {
	keys   []string
	fields map[string]node
}

func (o *object) get(key string) (node, bool) {
	n, ok := o.fields[key]
	return n, ok && n.value != nil
}

func (o *object) has(keys ...string) bool {
	for _, k := range keys {
		if _, ok := o.fields[k]; ok {
			return true
		}
	}
	return false
}

// kindOf names the kind of a value for people.
func (n node) kindOf() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case number:
		return "a number"
	case time.Time:
		return "a time"
	case []node:
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

// lineError is a syntax error with its line.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return e.text }

// parseTOML reads a TOML document.
func parseTOML(data []byte) (*object, *lineError) {
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
			return nil, &lineError{row, strings.TrimPrefix(de.Error(), "toml: ")}
		}
		return nil, &lineError{0, strings.TrimPrefix(err.Error(), "toml: ")}
	}
	root := fromTOML(doc, "", 1, lines)
	return root.value.(*object), nil
}

// tomlLines is the line of every key, by its path. The values come from the
// decoder, which knows all rules of the language; only the places come from
// here, so a syntax error ends the walk and is left to the decoder to report.
func tomlLines(data []byte) (map[string]int, *lineError) {
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
	err   *lineError
}

// mark records where a key first stands.
func (w *tomlWalk) mark(path string, key *unstable.Node, depth int) int {
	line := w.at.line(int(key.Raw.Offset))
	if depth > maxDepth {
		w.err = &lineError{line, fmt.Sprintf("values nest deeper than %d", maxDepth)}
	}
	if _, ok := w.lines[path]; !ok {
		w.lines[path] = line
		parent := path[:strings.LastIndexByte(path, 0)]
		if w.keys[parent]++; w.keys[parent] > maxKeys && w.err == nil {
			w.err = &lineError{line, fmt.Sprintf("a table has more than %d keys", maxKeys)}
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
		w.err = &lineError{0, fmt.Sprintf("values nest deeper than %d", maxDepth)}
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

func fromTOML(v any, path string, line int, lines map[string]int) node {
	if l, ok := lines[path]; ok {
		line = l
	}
	n := node{line: line}
	switch v := v.(type) {
	case map[string]any:
		o := &object{fields: make(map[string]node, len(v))}
		for k, e := range v {
			o.keys = append(o.keys, k)
			o.fields[k] = fromTOML(e, join(path, k), line, lines)
		}
		sort.Slice(o.keys, func(i, j int) bool {
			a, b := o.fields[o.keys[i]].line, o.fields[o.keys[j]].line
			return a < b || a == b && o.keys[i] < o.keys[j]
		})
		n.value = o
	case []any:
		list := make([]node, len(v))
		for i, e := range v {
			list[i] = fromTOML(e, join(path, strconv.Itoa(i)), line, lines)
		}
		n.value = list
	case int64:
		n.value = number(strconv.FormatInt(v, 10))
	case float64:
		n.value = number(strconv.FormatFloat(v, 'g', -1, 64))
	case time.Time:
		n.value = v.UTC()
	case toml.LocalDateTime:
		// No zone was written. UTC, because the reader's own zone would make one
		// file mean two moments.
		n.value = v.AsTime(time.UTC)
	case toml.LocalDate:
		n.value = v.AsTime(time.UTC)
	case toml.LocalTime:
		n.value = v.String()
	case bool, string:
		n.value = v
	}
	return n
}

// parseJSON reads a JSON document. A key that is given twice keeps its last
// value, as everywhere.
func parseJSON(data []byte) (node, *lineError) {
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
	return node{}, &lineError{line, err.Error()}
}

type jsonParser struct {
	dec *json.Decoder
	at  lineCounter
}

func (p *jsonParser) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, fmt.Errorf("values nest deeper than %d", maxDepth)
	}
	token, err := p.dec.Token()
	if err != nil {
		return node{}, err
	}
	// The offset is the end of the token, which holds no line end.
	n := node{line: p.at.line(int(p.dec.InputOffset()))}
	switch token := token.(type) {
	case json.Number:
		n.value = number(token.String())
	case json.Delim:
		if token == '[' {
			list := []node{}
			for p.dec.More() {
				e, err := p.value(depth + 1)
				if err != nil {
					return node{}, err
				}
				list = append(list, e)
			}
			n.value = list
		} else {
			o := &object{fields: make(map[string]node)}
			for p.dec.More() {
				key, err := p.dec.Token()
				if err != nil {
					return node{}, err
				}
				line := p.at.line(int(p.dec.InputOffset()))
				e, err := p.value(depth + 1)
				if err != nil {
					return node{}, err
				}
				name := key.(string)
				if _, twice := o.fields[name]; !twice {
					o.keys = append(o.keys, name)
				}
				if _, table := e.value.(*object); !table {
					e.line = line // a problem with a value is looked for at its key
				}
				o.fields[name] = e
			}
			n.value = o
		}
		if _, err := p.dec.Token(); err != nil { // the closing bracket
			return node{}, err
		}
	default:
		n.value = token
	}
	return n, nil
}
