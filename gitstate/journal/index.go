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

// The index finds the entries of an iteration or a task without a walk. It is a
// cache, <common dir>/ralph/cache/index-<branch>, and never truth: each entry that
// it names is read, and only the entry's own event counts. Whoever appends an entry
// adds its line. A lookup first adds the entries since the last line. An absent,
// torn or foreign index is rebuilt.
//
// It has one line an entry, "<entry> <event type> <iteration> <task>", oldest
// first. The entry of the last line, and all before that, are in it; a line may
// stand twice. Versions before it had lines for iterations only, and "tip <entry>"
// after each addition.

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
	// Every wanted line contains this.
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

// index is the text of the index up to tip. What is missing is added to the file.
func (j *Journal) index(ctx context.Context, tip object.ID) ([]byte, error) {
	path := j.indexPath()
	old, last, whole := readIndex(path)
	if last == tip {
		return old, nil
	}
	var lines []string
	met := false
	// The walk ends where the line of first parents meets the index. What a merge
	// has joined comes in between, and some of it may be in the index.
	next, known := tip, map[object.ID]bool{last: true}
	err := j.walkFrom(ctx, tip, briefly, func(e Entry) (bool, error) {
		onLine := e.ID == next
		if onLine {
			next = e.parent()
		}
		if known[e.ID] {
			met = met || onLine
			return !onLine, nil
		}
		if len(e.Commit.Parents) > 1 && len(known) == 1 {
			known = indexed(old)
		}
		lines = append(lines, indexLine(e.ID, e.Event))
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
	}
	all := b.Bytes()
	if met {
		all = append(old, all...)
	}
	if os.MkdirAll(filepath.Dir(path), 0o700) == nil { // a failure only makes the next lookup slower
		if met && whole {
			appendFile(path, b.Bytes())
		} else {
			_ = gitstate.WriteFile(path, all, 0o600)
		}
	}
	return all, nil
}

func indexLine(id object.ID, e state.Event) string {
	return fmt.Sprintf("%s %s %d %s\n", id, e.Type, e.Iteration, e.Task)
}

// readIndex reads the index up to its last whole line, and the entry that it
// reaches to, Zero when it is of no use. Whole says that nothing comes after that.
func readIndex(path string) (index []byte, last object.ID, whole bool) {
	data, err := os.ReadFile(path)
	if err != nil || bytes.IndexByte(data, 0) >= 0 { // a power cut leaves zeros where data should be
		return nil, object.Zero, false
	}
	index = data[:bytes.LastIndexByte(data, '\n')+1]
	last = lastLine(index)
	if last.IsZero() {
		return nil, object.Zero, false
	}
	return index, last, len(index) == len(data)
}

// lastLine is the entry that the last line names, Zero when it names none.
func lastLine(index []byte) object.ID {
	line, ok := bytes.CutSuffix(index, []byte("\n"))
	if !ok {
		return object.Zero
	}
	f := strings.Split(string(line[bytes.LastIndexByte(line, '\n')+1:]), " ")
	hash := f[0]
	if len(f) == 2 && f[0] == "tip" {
		hash = f[1]
	} else if len(f) != 4 {
		return object.Zero
	}
	id, err := object.ParseID(hash)
	if err != nil {
		return object.Zero
	}
	return id
}

// indexed are the entries of an index.
func indexed(index []byte) map[object.ID]bool {
	all := map[object.ID]bool{}
	for line := range bytes.Lines(index) {
		hash, _, _ := bytes.Cut(bytes.TrimPrefix(line, []byte("tip ")), []byte(" "))
		if id, err := object.ParseID(strings.TrimSpace(string(hash))); err == nil {
			all[id] = true
		}
	}
	return all
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

// draft is the index data of an entry that this process has written.
type draft struct {
	tip, parent object.ID
	line        string
}

// addToIndex adds an entry that the journal has just moved to, and those of others
// that the index does not have. However many these are, they are read once; a writer
// that gave up before many would read some of them anew with every entry. A failure
// only makes the next lookup slower.
func (j *Journal) addToIndex(d draft) {
	path := j.indexPath()
	if d.parent.IsZero() {
		if os.MkdirAll(filepath.Dir(path), 0o700) == nil {
			_ = gitstate.WriteFile(path, []byte(d.line), 0o600)
		}
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return // the first lookup makes it
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return
	}
	end := make([]byte, min(st.Size(), 256))
	if _, err := f.ReadAt(end, st.Size()-int64(len(end))); err != nil {
		return
	}
	if lastLine(end) == d.parent {
		_, _ = f.WriteString(d.line)
		return
	}
	_, _ = j.index(context.Background(), d.tip)
}
