package cli

import (
	"strings"
	"testing"
)

// TestShown: another user's file cannot control the terminal or look like the
// program's own output.
func TestShown(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"plain", "a = 1\n", "  | a = 1\n"},
		{"no line feed at the end", "a", "  | a\n"},
		{"nothing", "", ""},
		{"letters of all languages, tabs", "\tgrün 語 ☂\n", "  | \tgrün 語 ☂\n"},
		{"the end of lines of Windows", "a\r\nb\r\n", "  | a\n  | b\n"},
		{"a return inside a line hides what is before it", "rm -rf ~\rok\n", "  | rm -rf ~\\rok\n"},
		{"clear the screen", "\x1b[2J\x1b]0;x\x07", "  | \\x1b[2J\\x1b]0;x\\a\n"},
		{"the same in C1", "\u009b2J", "  | \\u009b2J\n"},
		{"backspace and delete", "ab\b\b\x7f", "  | ab\\b\\b\\x7f\n"},
		{"bidi", "\u202e\u2066", "  | \\u202e\\u2066\n"},
		{"zero width, soft hyphen, byte order mark", "\u200b\u00ad\ufeff", "  | \\u200b\\u00ad\\ufeff\n"},
		{"other spaces and line ends", "\u00a0\u2028\u2029\v\f", "  | \\u00a0\\u2028\\u2029\\v\\f\n"},
		{"tags", "\U000e0041", "  | \\U000e0041\n"},
		{"no UTF-8", "\xff\xc0\xaf", "  | \\xff\\xc0\\xaf\n"},
		{"the replacement character itself", "\ufffd", "  | \ufffd\n"},
		{"zero", "\x00", "  | \\x00\n"},
	} {
		if got := shown([]byte(c.text)); got != c.want {
			t.Errorf("%s: %q, expected %q", c.why, got, c.want)
		}
	}
}

// TestReadLine: what comes after the line is left for the next question.
func TestReadLine(t *testing.T) {
	in := strings.NewReader("yes please\nn\n" + strings.Repeat("x", 5000) + "\nlast")
	for _, want := range []string{"yes please", "n", strings.Repeat("x", 1024), "last", ""} {
		if got := readLine(in); got != want {
			t.Errorf("got %q, expected %q", got, want)
		}
	}
}
