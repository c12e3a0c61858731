package located

import (
	"encoding/json"
	"strings"
	"testing"
)

// yamlText is a value as JSON, numbers as they were written.
func yamlText(n Node) string {
	switch v := n.Value.(type) {
	case []Node:
		var out []string
		for _, e := range v {
			out = append(out, yamlText(e))
		}
		return "[" + strings.Join(out, ",") + "]"
	case *Object:
		var out []string
		for _, k := range v.Keys {
			out = append(out, k+":"+yamlText(v.Fields[k]))
		}
		return "{" + strings.Join(out, ",") + "}"
	case Number:
		return string(v)
	}
	b, _ := json.Marshal(n.Value)
	return string(b)
}

func TestParseYAML(t *testing.T) {
	for _, row := range []struct{ why, text, want string }{
		{"a mapping", "a: 1\nb: two words # why\nc:\nd: ~\n", `{a:1,b:"two words",c:null,d:null}`},
		{"numbers stay as they were written", "[1.10, 007, -2.5e3, 1_000, 0x1f, 1.2.3]",
			`[1.10,007,-2.5e3,"1_000","0x1f","1.2.3"]`},
		{"only true and false are flags", "[true, False, yes, no, on, null]", `[true,false,"yes","no","on",null]`},
		{"a list under its key, indented or not", "a:\n- 1\n- 2\nb:\n  - 3\n", `{a:[1,2],b:[3]}`},
		{"mappings in lists", "- id: a\n  deps: [b, \"c d\"]\n-\n  id: b\n- - x\n  - y\n",
			`[{id:"a",deps:["b","c d"]},{id:"b"},["x","y"]]`},
		{"a block keeps its lines", "a: |\n  one\n    two\n\n  three\n\nb: |-\n  x\n", `{a:"one\n  two\n\nthree\n",b:"x"}`},
		{"a block that is joined", "a: >\n  one\n  two\n\n  three\n    deep\n  four\n",
			`{a:"one two\nthree\n  deep\nfour\n"}`},
		{"a text over lines", "a: one\n  two\n\n  three\nb: \"x \\\n  y\n  z\"\nc: 'it''s\n\n  here'\n",
			`{a:"one two\nthree",b:"x y z",c:"it's\nhere"}`},
		{"escapes", `a: "\t\u00fc\x41\U0001F600\"\\ \ud83d\ude00"`, `{a:"\tüA😀\"\\ 😀"}`},
		{"brackets over lines", "a: [1, # one\n  {b: c, \"d\": [e]},\n]\n", `{a:[1,{b:"c",d:["e"]}]}`},
		{"a document with its marks", "%YAML 1.2\n---\na: b\n...\n", `{a:"b"}`},
		{"keys of all kinds", "\"a b\": 1\n'c': 2\nd e: 3\nhttp://x: 4\n", `{a b:1,c:2,d e:3,http://x:4}`},
		{"a colon in a title", "title: Fix: the parser\nurl: http://x/y\ntime: 12:30\n",
			`{title:"Fix: the parser",url:"http://x/y",time:"12:30"}`},
		{"signs that begin a text", "- `make` passes\n- @home\n- **bold** text\n- 100%\n- -x\n",
			"[\"`make` passes\",\"@home\",\"**bold** text\",\"100%\",\"-x\"]"},
		{"no sign of a comment", "a: b#c\nb: '#x'\n# all\n", `{a:"b#c",b:"#x"}`},
		{"line ends of other systems", "a: 1\r\nb: |\r\n  x\r\n  y\r\n", `{a:1,b:"x\ny\n"}`},
		{"nothing", "# only this\n", "null"},
	} {
		t.Run(row.why, func(t *testing.T) {
			n, fault := ParseYAML([]byte(row.text))
			if fault != nil {
				t.Fatalf("line %d: %s", fault.Line, fault.Text)
			}
			if got := yamlText(n); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestParseYAMLRefuses: unsupported syntax is refused by name and line.
func TestParseYAMLRefuses(t *testing.T) {
	for _, row := range []struct {
		text string
		line int
		want string
	}{
		{"a: &x 1\nb: *x\n", 1, "anchors"}, {"a: 1\nb: *x\n", 2, "aliases"}, {"a: !!str 1\n", 1, "tags"},
		{"a: 1\n? [b]\n: 2\n", 2, "keys that are no texts"}, {"a: 1\n---\nb: 2\n", 3, "a second document"},
		{"a:\n\tb: 1\n", 2, "a tab"}, {"a:\n  b: 1\n c: 2\n", 3, "indented less"}, {"a: 1\nb\n", 2, "not a key"},
		{"a: x\n  b: y\n", 2, "indented further"}, {"a: [1, 2\n", 2, "not closed"}, {"a: [1}\n", 1, "do not match"},
		{"a: \"x\n", 1, "does not end"}, {"a: \"\\q\"\n", 1, "no escape"}, {"a: 'x' y\n", 1, "more after the end"},
		{"<<: {a: 1}\n", 1, "merge keys"},
		{strings.Repeat("[", 200), 1, "nest deeper"}, {strings.Repeat("- ", 200) + "x", 1, "nest deeper"},
	} {
		n, fault := ParseYAML([]byte(row.text))
		switch {
		case fault == nil:
			t.Errorf("%q was read as %s", row.text, yamlText(n))
		case fault.Line != row.line || !strings.Contains(fault.Text, row.want):
			t.Errorf("%q: line %d: %s", row.text, fault.Line, fault.Text)
		}
	}
}

// TestYAMLLines: a value has the line on which a person looks for it.
func TestYAMLLines(t *testing.T) {
	n, fault := ParseYAML([]byte("# head\ntasks:\n  - id: a\n    text: |\n      x\n    deps:\n      - b\n"))
	if fault != nil {
		t.Fatal(fault)
	}
	task := n.Value.(*Object).Fields["tasks"].Value.([]Node)[0]
	o := task.Value.(*Object)
	if task.Line != 3 || o.Fields["id"].Line != 3 || o.Fields["text"].Line != 4 || o.Fields["deps"].Line != 6 {
		t.Errorf("%d %d %d %d", task.Line, o.Fields["id"].Line, o.Fields["text"].Line, o.Fields["deps"].Line)
	}
}

// FuzzParseYAML: any text is read or returns a fault.
func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{"a: [b, {c: d}]\n", "- |\n  x\n- >-\n  y\n", "\"a\": 'b\n  c'\n", "---\n? x\n",
		"a: \"\\u12\"", "- - -"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, fault := ParseYAML(data); fault == nil {
			_ = yamlText(n)
		}
	})
}
