package view

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestDisplay(t *testing.T) {
	for _, tt := range []struct{ why, in, text, json string }{
		{"plain text", "a\tb\nä 日本 👩\u200d💻 \u00a0\n", "a\tb\nä 日本 👩\u200d💻 \u00a0\n", "a\tb\nä 日本 👩\u200d💻 \u00a0\n"},
		{"a title of the window", "\x1b]0;owned\a", `\x1b]0;owned\x07`, `\u001b]0;owned\u0007`},
		{"a style of somebody else", "\x1b[8mhidden\x1b[0m", `\x1b[8mhidden\x1b[0m`, `\u001b[8mhidden\u001b[0m`},
		{"the eight-bit forms", "\u009b2J \u0085", `\u009b2J \u0085`, `\u009b2J \u0085`},
		{"bidi and invisible ones", "a\u202eb\u2066c\u200bd\ufeff\u2028\U000e0041",
			`a\u202eb\u2066c\u200bd\ufeff\u2028\U000e0041`, `a\u202eb\u2066c\u200bd\ufeff\u2028\udb40\udc41`},
		{"bytes that are no UTF-8", "a\x9bb\xff", `a\x9bb\xff`, `a\x9bb\xff`},
		{"overwriting", "evil\rgood\b\x7f", `evil\x0dgood\x08\x7f`, `evil\u000dgood\u0008\u007f`},
	} {
		for i, want := range []string{tt.text, tt.json} {
			for _, chunk := range []int{1, 3, 1000} {
				var b bytes.Buffer
				w := Through(&b, Format(i == 1))
				for in := []byte(tt.in); len(in) > 0; in = in[min(chunk, len(in)):] {
					if n, err := w.Write(in[:min(chunk, len(in))]); err != nil || n != min(chunk, len(in)) {
						t.Fatal(n, err)
					}
				}
				w.Write([]byte("\n"))
				if b.String() != want+"\n" {
					t.Errorf("%s in pieces of %d: %q, want %q", tt.why, chunk, b.String(), want)
				}
			}
		}
	}
	var b bytes.Buffer
	w := Through(&b, Text)
	w.Write([]byte(Styled(w, "\x1b[31m") + "red\x1b[8m" + Styled(w, "\x1b[0m")))
	if b.String() != "\x1b[31mred\\x1b[8m\x1b[0m" {
		t.Errorf("our own style: %q", b.String())
	}
	if n := visible(Styled(w, "\x1b[31m") + "red" + Styled(w, "\x1b[0m")); n != 3 {
		t.Errorf("it is %d wide", n)
	}
	// Output for programs stays the same.
	b.Reset()
	const value = "\u202e\x7f\U000e0041\x1b ok"
	if err := json.NewEncoder(Through(&b, JSON)).Encode(value); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(b.Bytes(), &got); err != nil || got != value {
		t.Errorf("%q %v from %s", got, err, b.String())
	}
}
