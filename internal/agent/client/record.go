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
	mu  sync.Mutex
	w   io.Writer
	err error
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
	b, err := json.Marshal(struct {
		Type   string `json:"type"`
		Stream string `json:"stream,omitempty"`
		Text   string `json:"text"`
		Cut    bool   `json:"cut,omitempty"`
	}{"output", stream, string(line), cut})
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.put(b)
	}
}

func (t *Transcript) put(line []byte) {
	if t.w == nil || t.err != nil {
		return
	}
	if _, t.err = t.w.Write(line); t.err == nil {
		_, t.err = t.w.Write([]byte{'\n'})
	}
}

// Err is the first error of writing. A transcript that cannot be written never
// stops a run.
func (t *Transcript) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
