package client

import (
	"encoding/json"
	"io"
	"sync"
)

// Transcript writes the record of a run: one JSON value a line. What a client
// prints that is no JSON object becomes {"type":"output","text":…}. Its methods
// may be called from several goroutines.
type Transcript struct {
	mu        sync.Mutex
	w         io.Writer
	err       error
	buf, line []byte // reused
}

// NewTranscript writes to w, which may be nil.
func NewTranscript(w io.Writer) *Transcript { return &Transcript{w: w} }

// JSON records a line that is known to be one JSON value.
func (t *Transcript) JSON(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.put(line)
}

// maxOutput is how much of a line that is no JSON is recorded. A line of
// progress dots without an end must not push everything else out.
const maxOutput = 16 << 10

// Output records a line that is no JSON. stream is "" for standard output.
func (t *Transcript) Output(stream string, line []byte, cut bool) {
	if len(line) > maxOutput {
		line, cut = line[:maxOutput], true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b := append(t.buf[:0], `{"type":"output"`...)
	if stream != "" {
		b = append(appendText(append(b, `,"stream":"`...), []byte(stream)), '"')
	}
	b = append(appendText(append(b, `,"text":"`...), line), '"')
	if cut {
		b = append(b, `,"cut":true`...)
	}
	t.buf = append(b, '}')
	t.put(t.buf)
}

// Stderr records what a client wrote to its standard error.
func (t *Transcript) Stderr(text []byte) {
	lines := &Lines{Max: MaxPrinted, Line: func(line []byte, cut bool) { t.Output("stderr", line, cut) }}
	lines.Write(text)
	lines.Close()
}

// Prompt records a further prompt.
func (t *Transcript) Prompt(text string) {
	if b, err := json.Marshal(map[string]string{"type": "ralph_prompt", "text": text}); err == nil {
		t.JSON(b)
	}
}

// appendText appends line as the inside of a JSON string. Floods are mostly
// plain text, which needs no encoder.
func appendText(b, line []byte) []byte {
	for _, c := range line {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(string(line))
			if err != nil { // strings cannot fail
				return b
			}
			return append(b, quoted[1:len(quoted)-1]...)
		}
	}
	return append(b, line...)
}

func (t *Transcript) put(line []byte) {
	if t.w == nil || t.err != nil {
		return
	}
	// One call a line, so that the writer never ends between two of them.
	t.line = append(append(t.line[:0], line...), '\n')
	_, t.err = t.w.Write(t.line)
	if cap(t.line) > 64<<10 {
		t.line = nil
	}
}

// Err is the first error of writing. A transcript that cannot be written never
// stops a run.
func (t *Transcript) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
