package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// The index finds the entries of an iteration or of a task without a walk over
// the history. It is a cache, <common dir>/ralph/cache/index-<branch>, and never
// truth: each entry that it names is read, and only the entry's own event says
// what it is. A lookup first adds what came since the last one; an index that is
// absent, torn or of another history is made anew.
//
// Its lines are oldest first: "<entry> <event type> <iteration> <task>" for
// every begin and end of an iteration, and "tip <entry>" after each addition.

func (j *Journal) indexPath() string {
	return filepath.Join(j.Repo.Dir(), "cache", "index-"+strings.ReplaceAll(j.Branch, "/", "%2f"))
}

// lookUp finds entries of a type by iteration number, or by task where the
// number is empty, newest first.
func (j *Journal) lookUp(ctx context.Context, kind state.EventType, iteration, task string) ([]Entry, error) {
	tip, err := j.Tip(ctx)
	if err != nil {
		return nil, err
	}
	if tip.IsZero() {
		return nil, ErrNone
	}
	index, err := j.index(ctx, tip)
	if err != nil {
		return nil, err
	}
	// What every line that is wanted contains.
	part := " " + string(kind) + " " + iteration
	if iteration == "" {
		part = " " + task + "\n"
	}
	var found []Entry
	seen := map[string]bool{}
	for rest := index; ; {
		at := bytes.Index(rest, []byte(part))
		if at < 0 {
			break
		}
		begin := bytes.LastIndexByte(rest[:at+1], '\n') + 1
		if rest[at] == '\n' {
			begin = at + 1
		}
		end := at + 1 + bytes.IndexByte(rest[at+1:], '\n')
		line := string(rest[begin:end])
		rest = rest[end:]
		f := strings.Split(line, " ")
		if len(f) != 4 || f[1] != string(kind) || iteration != "" && f[2] != iteration || iteration == "" &&
			f[3] != task || seen[f[0]] {
			continue
		}
		seen[f[0]] = true
		id, err := object.ParseID(f[0])
		if err != nil {
			continue
		}
		e, err := j.Read(id)
		if err != nil {
			return nil, err
		}
		if e.Event.Type == kind && (iteration == "" && string(e.Event.Task) == task ||
			fmt.Sprint(e.Event.Iteration) == iteration) {
			found = append([]Entry{e}, found...)
		}
	}
	return found, nil
}

// index is the text of the index up to tip.
func (j *Journal) index(ctx context.Context, tip object.ID) ([]byte, error) {
	path := j.indexPath()
	old, last := readIndex(path)
	if last == tip {
		return old, nil
	}
	var lines []string
	met := false
	err := j.walkFrom(ctx, tip, true, func(e Entry) (bool, error) {
		if e.ID == last {
			met = true
			return false, nil
		}
		if t := e.Event.Type; t == state.EvStart || t == state.EvIteration {
			lines = append(lines, fmt.Sprintf("%s %s %d %s\n", e.ID, t, e.Event.Iteration, e.Event.Task))
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
	}
	fmt.Fprintf(&b, "tip %s\n", tip)
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil { // a failure only makes the next lookup slower
		if met {
			appendFile(path, b.Bytes())
		} else {
			_ = gitstate.WriteFile(path, b.Bytes(), 0o600)
		}
	}
	if met {
		return append(old, b.Bytes()...), nil
	}
	return b.Bytes(), nil
}

// readIndex reads the index and the entry that it reaches to; it has none when
// it is absent or torn.
func readIndex(path string) ([]byte, object.ID) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 || data[len(data)-1] != '\n' {
		return nil, object.Zero
	}
	line := data[bytes.LastIndexByte(data[:len(data)-1], '\n')+1 : len(data)-1]
	hash, ok := bytes.CutPrefix(line, []byte("tip "))
	if !ok {
		return nil, object.Zero
	}
	id, err := object.ParseID(string(hash))
	if err != nil {
		return nil, object.Zero
	}
	return data, id
}

// appendFile adds whole lines in one write. Two processes that add the same
// lines at once do no harm.
func appendFile(path string, data []byte) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(data)
}
