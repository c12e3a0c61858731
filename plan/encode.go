package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// We write the TOML ourselves, without go-toml, because people read the journal
// with `git log -p`. A text has several lines only if it has line ends. A list
// has a line for each entry only if it is long. Every byte is fixed here.
// go-toml reads the result, in tests too.

// EncodeTask writes a task as its file tasks/<id>.toml: one key a line in a
// fixed order, empty fields left out, the same bytes for the same task. A run of
// invalid UTF-8 becomes U+FFFD; moments are in UTC.
func EncodeTask(t Task) []byte {
	var b bytes.Buffer
	writeTask(&b, &t)
	return b.Bytes()
}

// EncodePlan writes a whole plan as one file, the form that people edit and
// that import and export call "toml".
func EncodePlan(p Plan) []byte {
	var b bytes.Buffer
	if p.Goal != "" {
		writeString(&b, "goal", p.Goal)
	}
	writeTime(&b, "created", p.Created)
	for i := range p.Tasks {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("[[tasks]]\n")
		writeTask(&b, &p.Tasks[i])
	}
	return b.Bytes()
}

// Head is plan.toml of the journal: the facts of the plan as a whole.
type Head struct {
	Goal    string    `toml:"goal"`
	Created time.Time `toml:"created"`
	Order   []TaskID  `toml:"order"`
	Retired []TaskID  `toml:"retired"`
}

// HeadOf is the head of p.
func HeadOf(p Plan) Head {
	h := Head{Goal: p.Goal, Created: p.Created, Retired: p.Retired}
	for i := range p.Tasks {
		h.Order = append(h.Order, p.Tasks[i].ID)
	}
	return h
}

// SameHead reports whether two plans have the same head. It builds neither,
// because it runs for every entry of a history.
func SameHead(a, b Plan) bool {
	if a.Goal != b.Goal || a.Created != b.Created || len(a.Tasks) != len(b.Tasks) ||
		(a.Retired == nil) != (b.Retired == nil) || !slices.Equal(a.Retired, b.Retired) {
		return false
	}
	if len(a.Tasks) > 0 && &a.Tasks[0] == &b.Tasks[0] {
		return true
	}
	for i := range a.Tasks {
		if a.Tasks[i].ID != b.Tasks[i].ID {
			return false
		}
	}
	return true
}

// Plan puts tasks into the head's order. A task that the order does not name
// comes after those it does, as given; a name without a task is passed over.
func (h Head) Plan(tasks []Task) Plan {
	p := Plan{Goal: h.Goal, Created: h.Created, Retired: h.Retired}
	at := make(map[TaskID]int, len(tasks))
	for i := range tasks {
		at[tasks[i].ID] = i
	}
	used := make([]bool, len(tasks))
	for _, id := range h.Order {
		if i, ok := at[id]; ok && !used[i] {
			used[i] = true
			p.Tasks = append(p.Tasks, tasks[i])
		}
	}
	for i := range tasks {
		if !used[i] {
			p.Tasks = append(p.Tasks, tasks[i])
		}
	}
	return p
}

// EncodeHead writes plan.toml of the journal, one id a line, so that adding a
// task changes one line.
func EncodeHead(h Head) []byte {
	var b bytes.Buffer
	writeString(&b, "goal", h.Goal)
	writeTime(&b, "created", h.Created)
	writeIDs(&b, "order", h.Order)
	if len(h.Retired) > 0 {
		writeIDs(&b, "retired", h.Retired)
	}
	return b.Bytes()
}

func writeIDs(b *bytes.Buffer, key string, ids []TaskID) {
	b.WriteString(key + " = [")
	for _, id := range ids {
		b.WriteString("\n  ")
		writeInline(b, string(id))
		b.WriteByte(',')
	}
	if len(ids) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
}

func writeTask(b *bytes.Buffer, t *Task) {
	for _, f := range TaskFields {
		switch v := f.At(t).(type) {
		case *TaskID:
			writeString(b, f.Name, string(*v))
		case *Status:
			writeString(b, f.Name, string(*v))
		case *string:
			if *v != "" || f.Name == "title" {
				writeString(b, f.Name, *v)
			}
		case *bool:
			if *v {
				b.WriteString(f.Name + " = true\n")
			}
		case *int:
			if *v != 0 || f.Name == "priority" {
				fmt.Fprintf(b, "%s = %d\n", f.Name, *v)
			}
		case *int64:
			if *v != 0 {
				fmt.Fprintf(b, "%s = %d\n", f.Name, *v)
			}
		case **int:
			if *v != nil {
				fmt.Fprintf(b, "%s = %d\n", f.Name, **v)
			}
		case *[]string:
			writeList(b, f.Name, *v)
		case *[]TaskID:
			list := make([]string, len(*v))
			for i, id := range *v {
				list[i] = string(id)
			}
			writeList(b, f.Name, list)
		case **time.Time:
			if *v != nil {
				writeTime(b, f.Name, **v)
			}
		}
	}
}

// writeTime leaves out the zero moment and years that TOML cannot say.
func writeTime(b *bytes.Buffer, key string, t time.Time) {
	t = t.UTC()
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return
	}
	b.WriteString(key + " = " + t.Format(time.RFC3339Nano) + "\n")
}

// listWidth is the longest line with a whole list, key included.
const listWidth = 80

func writeList(b *bytes.Buffer, key string, list []string) {
	if len(list) == 0 {
		return
	}
	var line bytes.Buffer
	line.WriteString(key + " = [")
	long := false
	for i, item := range list {
		if i > 0 {
			line.WriteString(", ")
		}
		writeInline(&line, item)
		// An entry with lines stands alone, so that its own lines are readable.
		long = long || strings.Contains(item, "\n")
	}
	line.WriteString("]\n")
	if !long && utf8.RuneCount(line.Bytes()) <= listWidth {
		b.Write(line.Bytes())
		return
	}
	b.WriteString(key + " = [\n")
	for _, item := range list {
		b.WriteString("  ")
		if strings.Contains(item, "\n") {
			writeLines(b, item)
		} else {
			writeInline(b, item)
		}
		b.WriteString(",\n")
	}
	b.WriteString("]\n")
}

func writeString(b *bytes.Buffer, key, s string) {
	b.WriteString(key + " = ")
	if strings.Contains(s, "\n") {
		writeLines(b, s)
	} else {
		writeInline(b, s)
	}
	b.WriteByte('\n')
}

// escaped reports whether a rune cannot stand as it is: TOML forbids control
// characters, and bidi marks or odd line ends would let a text rearrange the
// diff that a person reads.
func escaped(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp))
}

func plain(s string) bool { return !strings.ContainsFunc(s, escaped) }

// writeInline writes a string on one line: literal when that saves escapes,
// as it does for most commands.
func writeInline(b *bytes.Buffer, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD") // before anything is decided by it
	if strings.ContainsAny(s, `"\`) && !strings.ContainsAny(s, "'\n\t") && plain(s) {
		b.WriteString("'" + s + "'")
		return
	}
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			writeRune(b, r, escapeLineEnds)
		}
	}
	b.WriteByte('"')
}

// writeLines writes a string with its line ends as they are. The line end
// after the opening quotes is not part of it.
func writeLines(b *bytes.Buffer, s string) {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.Contains(s, `\`) && !strings.Contains(s, "'''") && !strings.HasSuffix(s, "'") &&
		plain(strings.ReplaceAll(s, "\n", "")) {
		b.WriteString("'''\n" + s + "'''")
		return
	}
	b.WriteString("\"\"\"\n")
	quotes := 0
	for i, r := range s {
		if r != '"' {
			quotes = 0
		}
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case r == '"':
			// Three in a row, or one before the closing ones, would end the string.
			if quotes++; quotes == 3 || i == len(s)-1 {
				b.WriteByte('\\')
				quotes = 0
			}
			b.WriteByte('"')
		default:
			writeRune(b, r, keepLineEnds)
		}
	}
	b.WriteString(`"""`)
}

// lineEnds says what becomes of a line end in a string.
type lineEnds bool

const (
	keepLineEnds   lineEnds = true
	escapeLineEnds lineEnds = false
)

func writeRune(b *bytes.Buffer, r rune, lines lineEnds) {
	switch {
	case r == '\n' && lines == keepLineEnds:
		b.WriteByte('\n')
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t' && lines == escapeLineEnds:
		b.WriteString(`\t`)
	case !escaped(r):
		b.WriteRune(r)
	case r <= 0xFFFF:
		b.WriteString(`\u` + hex(r, 4))
	default:
		b.WriteString(`\U` + hex(r, 8))
	}
}

func hex(r rune, width int) string {
	s := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return strings.Repeat("0", max(0, width-len(s))) + s
}
