package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/stable"
)

// MaxHandoff is the largest handoff that is read, in bytes.
const MaxHandoff = 1 << 20

// maxProblems bounds the messages about a hostile document.
const maxProblems = 50

// Problem is one thing that is wrong with a handoff. Path is as a reader
// writes it, deviations[2].planned; it is empty for the document as a whole.
type Problem struct {
	Path    string
	Message string
}

func (p Problem) String() string {
	if p.Path == "" {
		return "the handoff " + p.Message
	}
	return p.Path + " " + p.Message
}

// Faults are problems for a person, at most five lines of them: one names all
// fields that are missing, the most important first.
func Faults(problems []Problem) []string {
	var missing, out []string
	for _, p := range problems {
		if p.Message == missingField {
			missing = append(missing, p.Path)
		} else {
			out = append(out, p.String())
		}
	}
	rank := func(field string) int { return slices.Index([]string{"deviations", "freeform"}, field) }
	stable.Sort(missing, func(a, b string) int { return rank(b) - rank(a) })
	if len(missing) > 0 {
		line := missing[0] + " " + missingField
		if len(missing) > 1 {
			line += ", and so are " + strings.Join(missing[1:], ", ")
		}
		out = slices.Insert(out, 0, line)
	}
	return out[:min(len(out), 5)]
}

// ParseHandoff reads and checks a handoff. It returns a handoff without
// problems or problems without a handoff, every one of them named by its path.
// Every text of the handoff has gone through Clean and Redact. It never
// panics, whatever the bytes are.
func ParseHandoff(data []byte) (*Handoff, []Problem) {
	doc, problems := decodeHandoff(data)
	if problems != nil {
		return nil, problems
	}
	clean := loadedSchema().check("", doc, func(path, message string) {
		if len(problems) < maxProblems {
			problems = append(problems, Problem{path, message})
		}
	})
	if problems != nil {
		return nil, problems
	}
	// Only what the schema names is left: encoding/json would fill a field
	// from a key that differs in case.
	text, err := json.Marshal(clean)
	if err != nil {
		return nil, []Problem{{"", "cannot be read: " + err.Error()}}
	}
	var h Handoff
	if err := json.Unmarshal(text, &h); err != nil {
		return nil, []Problem{{"", "cannot be read: " + err.Error()}}
	}
	return &h, nil
}

func decodeHandoff(data []byte) (any, []Problem) {
	one := func(format string, args ...any) (any, []Problem) {
		return nil, []Problem{{"", fmt.Sprintf(format, args...)}}
	}
	if len(data) > MaxHandoff {
		return one("has %d bytes, at most %d are read", len(data), MaxHandoff)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 {
		return one("is empty")
	}
	if !utf8.Valid(data) {
		return one("is not valid UTF-8")
	}
	var doc any
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		return one("is not JSON: %s", jsonFault(data, err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return one("has text after the JSON object")
	}
	// Clients that return structured output wrap it in a string.
	if s, ok := doc.(string); ok && strings.HasPrefix(strings.TrimSpace(s), "{") {
		var inner any
		if err := json.Unmarshal([]byte(s), &inner); err != nil {
			return one("is not JSON: %s", jsonFault([]byte(s), err))
		}
		doc = inner
	}
	return doc, nil
}

// jsonFault says what is wrong and where, without the decoder's own words for
// Go types.
func jsonFault(data []byte, err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at := min(int(syntax.Offset), len(data))
		line := 1 + bytes.Count(data[:at], []byte("\n"))
		return fmt.Sprintf("line %d: %s", line, err)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return err.Error()
}

// FormatProblems lists problems one a line, for a person or for the agent that
// is asked to repair its handoff.
func FormatProblems(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString("- ")
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return b.String()
}
