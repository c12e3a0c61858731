package client

import "strings"

// Said gathers a text that a client prints in pieces. What is beyond MaxLine is dropped: a
// text without an end, which a process of the agent can print as well, costs no more memory
// than a line without one.
type Said struct{ b strings.Builder }

// Add appends a piece.
func (s *Said) Add(piece string) {
	if room := MaxLine - s.b.Len(); len(piece) > room {
		piece = strings.ToValidUTF8(piece[:room], "")
	}
	s.b.WriteString(piece)
}

// Take gives the text back and begins a new one; "" = nothing was said.
func (s *Said) Take() string {
	text := s.b.String()
	s.b.Reset()
	return text
}
