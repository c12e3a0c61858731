package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"git-ralph/internal/text"
)

// Problem is one thing that is wrong with the settings.
type Problem struct {
	// Where says which source it is in: "ralph.toml", "git config",
	// "environment", "flag"; with Line and Col (both from 1) in a file.
	Where     string
	Line, Col int
	// Key is the setting, in the dotted form of ralph.toml; empty when the
	// source as a whole is at fault.
	Key string
	Msg string
	// Hint is the next move, when there is one besides fixing the place.
	Hint string
}

// String is one line: the place, then the fact. Names and values in it come
// from files of strangers, so nothing that moves a terminal's cursor or fakes
// another line is let through.
func (p Problem) String() string {
	switch {
	case p.Line > 0:
		return printable(fmt.Sprintf("%s:%d:%d: %s", p.Where, p.Line, p.Col, p.Msg))
	case p.Where != "":
		return printable(p.Where + ": " + p.Msg)
	}
	return printable(p.Msg)
}

// printable writes control characters and bytes that are no text as Go escapes.
func printable(text string) string {
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, odd) {
		return text
	}
	var out strings.Builder
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		if odd(r) {
			out.WriteString(strings.Trim(strconv.Quote(text[i:i+size]), `"`))
			continue
		}
		out.WriteString(text[i : i+size])
	}
	return out.String()
}

// maxProblems bounds what is shown of a file that is wrong from end to end.
const maxProblems = 50

// Error is everything that is wrong with the settings, in the order of the
// sources and, in a file, of its lines. Problems holds at most 50; More counts
// the rest.
type Error struct {
	Problems []Problem
	More     int
}

// Error has one line a problem.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, p := range e.Problems {
		lines = append(lines, p.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// Hint is the next move: that of the first problem which has one.
func (e *Error) Hint() string {
	for _, p := range e.Problems {
		if p.Hint != "" {
			return p.Hint
		}
	}
	return "git ralph config lists every setting with its value and where it came from"
}

// suggest ends a sentence about an unknown name by the nearest known one.
func suggest(name string, known []string) string {
	best, distance := nearest(name, known)
	switch {
	case best == "":
		return ""
	case distance <= max(2, len(name)/3):
		return "; did you mean " + best + "?"
	}
	return "; the nearest known one is " + best
}

// nearest finds the known name with the fewest changes. A key that only stands
// in the wrong table is as near as one with a single letter wrong.
func nearest(name string, known []string) (best string, distance int) {
	const most = 80 // longer names are not misspelt keys
	if len(name) > most {
		name = name[:most]
	}
	name = strings.ToLower(name)
	last := name[strings.LastIndexByte(name, '.')+1:]
	distance = -1
	for _, k := range known {
		d := text.Distance(name, strings.ToLower(k))
		if i := strings.LastIndexByte(k, '.'); i >= 0 && len(last) > 3 {
			d = min(d, 1+text.Distance(last, strings.ToLower(k[i+1:])))
		}
		if distance < 0 || d < distance {
			best, distance = k, d
		}
	}
	return best, distance
}
