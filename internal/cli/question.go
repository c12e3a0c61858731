package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown escapes text from outside for a terminal. Each line follows a mark, so
// that none looks like our own. Anything that would not show as itself (control
// characters, escapes, bidi and zero width characters, bytes that are no UTF-8)
// becomes an escape.
func shown(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		b.WriteString("  | ")
		for len(line) > 0 {
			r, size := utf8.DecodeRuneInString(line)
			switch {
			case r == utf8.RuneError && size == 1:
				fmt.Fprintf(&b, `\x%02x`, line[0])
			case r == '\t' || unicode.IsPrint(r):
				b.WriteString(line[:size])
			default:
				q := strconv.QuoteRuneToASCII(r)
				b.WriteString(q[1 : len(q)-1])
			}
			line = line[size:]
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// ask puts a yes-or-no question on the terminal. No answer is no.
func (a *App) ask(question string) bool {
	ok, err := a.askWithin(a.Ctx, question)
	return ok && err == nil
}

// askWithin is ask until ctx ends, which is exit 130.
func (a *App) askWithin(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.Err, question)
	answer := make(chan string, 1)
	// A read of a terminal cannot be ended: when ctx ends this stays behind,
	// and the process ends soon.
	go func() { answer <- readLine(a.In) }()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.Err)
		return false, &ExitError{Code: 130}
	case line := <-answer:
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		}
		return false, nil
	}
}

// readLine reads to the end of a line and not a byte beyond it, which may
// answer the next question. A line that is too long to be an answer is cut.
func readLine(r io.Reader) string {
	const most = 1 << 10
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := r.Read(one)
		switch {
		case n == 1 && one[0] == '\n', err != nil && !errors.Is(err, io.ErrNoProgress):
			return string(line)
		case n == 1 && len(line) < most:
			line = append(line, one[0])
		}
	}
}
