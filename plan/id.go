package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/text"
)

// MaxID is the longest id of a task in characters; ids become file names in
// the journal and parts of trailers, which is what bounds them.
const MaxID = 64

// ValidID reports whether id may name a task: [A-Za-z0-9][A-Za-z0-9._-]*, at most
// MaxID characters. The error reads on from "task id".
func ValidID(id string) error {
	if id == "" {
		return fmt.Errorf("id is empty")
	}
	for i := 0; i < len(id); i++ {
		c := id[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		case i == 0 && (c == '.' || c == '_' || c == '-'):
			return fmt.Errorf("id %q begins with %q; ids begin with a letter or digit", text.Clip(id, MaxID), string(c))
		default:
			r, _ := utf8.DecodeRuneInString(id[i:])
			return fmt.Errorf("id %q holds %q; ids are letters, digits, '.', '_' and '-'", text.Clip(id, MaxID), r)
		}
	}
	if len(id) > MaxID {
		return fmt.Errorf("id %q is longer than %d characters", text.Clip(id, MaxID), MaxID)
	}
	return nil
}

// Fold is the key under which ids are unique. Valid ids are ASCII, so no other
// folding can make two of them meet.
func Fold(id TaskID) string { return strings.ToLower(string(id)) }

// NextID is the lowest free id of the form T-001 above all that p uses or has
// used, so that a number is not given twice.
func NextID(p Plan) TaskID {
	highest := 0
	for _, id := range p.Used() {
		if n, ok := Number(id); ok && n > highest {
			highest = n
		}
	}
	return NumberedID(highest + 1)
}

// Used are the ids that no new task may have: those of the plan's tasks and of
// those that have left it.
func (p Plan) Used() []TaskID {
	out := make([]TaskID, 0, len(p.Tasks)+len(p.Retired))
	for i := range p.Tasks {
		out = append(out, p.Tasks[i].ID)
	}
	return append(out, p.Retired...)
}

// Retire notes ids of tasks that have left the plan.
func (p *Plan) Retire(ids ...TaskID) {
	p.Retired = slices.Clip(p.Retired)
	for _, id := range ids {
		if !slices.Contains(p.Retired, id) {
			p.Retired = append(p.Retired, id)
		}
	}
}

// NumberedID is the id that a new task with number n gets.
func NumberedID(n int) TaskID { return TaskID(fmt.Sprintf("T-%03d", n)) }

// Number reads the number of an id of the form T-NNN, which the harness gives.
func Number(id TaskID) (int, bool) {
	s, ok := strings.CutPrefix(Fold(id), "t-")
	if !ok || s == "" || len(s) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// TitleLength is where a title made from a description is cut, in characters:
// git's own width for a subject line.
const TitleLength = 72

// TitleFrom makes a title of a longer text: its first line that says
// something, without list and heading marks, cut at a word at TitleLength.
func TitleFrom(s string) string {
	for line := range strings.Lines(s) {
		line = text.OneLine(strings.TrimLeft(strings.TrimSpace(line), "#*->"))
		if line == "" {
			continue
		}
		if utf8.RuneCountInString(line) <= TitleLength {
			return line
		}
		cut := string([]rune(line)[:TitleLength-1])
		// A cut inside a word reads as a typing error; far back it loses too much.
		if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
			cut = cut[:i]
		}
		return strings.TrimRight(cut, " ,;:") + "…"
	}
	return ""
}

// FromText makes the pending task that `add "text"` adds: the next id, a title
// from the first line, and the text as description when it says more.
func FromText(p Plan, said string) Task {
	said = strings.TrimSpace(text.Clean(said))
	t := Task{ID: NextID(p), Title: TitleFrom(said), Status: Pending, Priority: 1}
	if said != t.Title {
		t.Description = said
	}
	return t
}
