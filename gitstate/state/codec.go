package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/pelletier/go-toml/v2"

	"git-ralph/notes"
	"git-ralph/plan"
)

func parseTime(s string) (time.Time, error) { return time.Parse(time.RFC3339, s) }

// Files is the content of an entry's tree by slash-separated path, without
// event/. A nil value in a set of changes means that the file goes.
type Files map[string][]byte

// Changes returns the files that differ between two states. The zero State
// stands for an empty tree.
func Changes(old, new State) Files {
	f := Files{}
	if old.Format != new.Format {
		f["format"] = []byte(new.Format + "\n")
	}
	part(f, "journal.toml", old.Journal, new.Journal, encodeTOML)
	part(f, "run.toml", old.Run, new.Run, encodeTOML)
	if old.Format == "" || !plan.SameHead(old.Plan, new.Plan) {
		f["plan.toml"] = plan.EncodeHead(plan.HeadOf(new.Plan))
	}
	was, now := old.Plan.Tasks, new.Plan.Tasks
	for len(was) > 0 && len(now) > 0 && unchangedTask(&was[0], &now[0]) { // most often one of many changes
		was, now = was[1:], now[1:]
	}
	for len(was) > 0 && len(now) > 0 && unchangedTask(&was[len(was)-1], &now[len(now)-1]) {
		was, now = was[:len(was)-1], now[:len(now)-1]
	}
	items(f, was, now, func(t *plan.Task) string { return "tasks/" + string(t.ID) + ".toml" },
		func(t *plan.Task) []byte { return plan.EncodeTask(*t) })
	if !reflect.DeepEqual(old.Handoff, new.Handoff) {
		f["handoff.json"] = encodeRecord(new.Handoff)
	}
	items(f, old.Recent, new.Recent,
		func(r *notes.Record) string { return "recent/" + strconv.Itoa(r.Origin.Iteration) + ".json" },
		func(r *notes.Record) []byte {
			if data := f["handoff.json"]; data != nil && reflect.DeepEqual(r, new.Handoff) {
				return data // the newest of them stands in both places
			}
			return encodeRecord(r)
		})
	items(f, old.Knowledge, new.Knowledge, func(k *notes.Knowledge) string { return "knowledge/" + k.ID + ".md" },
		func(k *notes.Knowledge) []byte { return notes.EncodeKnowledge(*k) })
	items(f, old.Guidance, new.Guidance, func(g *Guidance) string { return "guidance/" + g.ID + ".toml" },
		func(g *Guidance) []byte { return encodeTOML(g) })
	items(f, old.Questions, new.Questions, func(q *Question) string { return "questions/" + q.ID + ".toml" },
		func(q *Question) []byte { return encodeTOML(q) })
	items(f, old.Claims, new.Claims, func(c *Claim) string { return "claims/" + string(c.Task) + ".toml" },
		func(c *Claim) []byte { return encodeTOML(c) })
	for name, text := range new.Memory {
		if o, ok := old.Memory[name]; !ok || o != text {
			f["memory/"+name+".md"] = []byte(text)
		}
	}
	for name := range old.Memory {
		if _, ok := new.Memory[name]; !ok {
			f["memory/"+name+".md"] = nil
		}
	}
	if !reflect.DeepEqual(old.Baseline, new.Baseline) {
		f["baseline.toml"] = nil
		if new.Baseline != nil {
			f["baseline.toml"] = encodeTOML(baselineFile{new.Baseline})
		}
	}
	if !reflect.DeepEqual(old.Report, new.Report) {
		f["report.toml"] = nil
		if new.Report != nil {
			f["report.toml"] = encodeTOML(new.Report)
		}
	}
	return f
}

// unchangedTask compares two tasks, their memory first: a task copied with its plan
// has the same bytes, with strings and lists at the same addresses. By fields
// alone, a long history of a large plan takes minutes.
func unchangedTask(a, b *plan.Task) bool {
	bytesOf := func(t *plan.Task) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(t)), unsafe.Sizeof(*t)) }
	return bytes.Equal(bytesOf(a), bytesOf(b)) || reflect.DeepEqual(a, b)
}

type baselineFile struct {
	Checks []CheckState `toml:"checks"`
}

func part[T any](f Files, path string, old, new T, enc func(any) []byte) {
	var zero T
	if !reflect.DeepEqual(&old, &new) || reflect.DeepEqual(&old, &zero) {
		f[path] = enc(new)
	}
}

// items compares two lists of things that live in one file each.
func items[T any](f Files, old, new []T, path func(*T) string, enc func(*T) []byte) {
	if len(old) > 0 && len(old) == len(new) && &old[0] == &new[0] {
		return
	}
	was := make(map[string]*T, len(old))
	for i := range old {
		was[path(&old[i])] = &old[i]
	}
	for i := range new {
		p := path(&new[i])
		if o, ok := was[p]; !ok || !reflect.DeepEqual(o, &new[i]) {
			f[p] = enc(&new[i])
		}
		delete(was, p)
	}
	for p := range was {
		f[p] = nil
	}
}

func encodeTOML(v any) []byte {
	var b bytes.Buffer
	enc := toml.NewEncoder(&b)
	enc.SetIndentTables(false)
	if err := enc.Encode(v); err != nil {
		// Every type of a State is made of strings, numbers, times and lists.
		panic("state: " + err.Error())
	}
	return b.Bytes()
}

func encodeRecord(r *notes.Record) []byte {
	if r == nil {
		return nil
	}
	return encodeJSON(r)
}

func encodeJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic("state: " + err.Error())
	}
	return b.Bytes()
}

// DecodeError says which file of the tree cannot be read.
type DecodeError struct {
	Path string
	Err  error
}

func (e *DecodeError) Error() string { return fmt.Sprintf("read %s of the journal: %v", e.Path, e.Err) }
func (e *DecodeError) Unwrap() error { return e.Err }

// FormatError says that a newer program wrote the journal, or that its beginning
// is not the one of a journal.
type FormatError struct{ Format string }

func (e *FormatError) Error() string {
	if e.Format == "" {
		return "the journal has no format: it was deleted, and something was recorded after that"
	}
	return fmt.Sprintf("the journal has format %q, this git-ralph writes format %s", e.Format, Format)
}

// CheckFormat says whether this program knows the format of a tree: nil, or a
// *FormatError.
func CheckFormat(files Files) error {
	if f := strings.TrimSpace(string(files["format"])); f != Format {
		return &FormatError{f}
	}
	return nil
}

// Decode reads a State from the files of a tree.
func Decode(files Files) (State, error) {
	var s State
	s.Format = strings.TrimSpace(string(files["format"]))
	if err := CheckFormat(files); err != nil {
		return s, err
	}
	var head plan.Head
	var tasks []plan.Task
	var first error
	fail := func(path string, err error) {
		if err != nil && (first == nil || path < first.(*DecodeError).Path) {
			first = &DecodeError{path, err}
		}
	}
	for path, data := range files {
		fail(path, s.decodeFile(path, data, &head, &tasks))
	}
	if first != nil {
		return s, first
	}
	s.Plan = head.Plan(tasks)
	s.sort()
	return s, nil
}

// decodeFile decodes one file of a state. Tasks and the head of the plan are put together by the caller.
func (s *State) decodeFile(path string, data []byte, head *plan.Head, tasks *[]plan.Task) error {
	dir, name, nested := strings.Cut(path, "/")
	base := name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		base = name[:i]
	}
	var err error
	switch {
	case path == "journal.toml":
		if err = toml.Unmarshal(data, &s.Journal); err == nil {
			err = checkIDs(s.Journal.ID)
		}
	case path == "run.toml":
		if err = toml.Unmarshal(data, &s.Run); err == nil {
			err = checkIDs(s.Run.Untouched)
			if c := s.Run.Current; c != nil && err == nil {
				err = checkIDs(c.EventID)
			}
		}
	case path == "plan.toml":
		*head, err = plan.DecodeHead(path, data)
	case path == "handoff.json":
		s.Handoff = new(notes.Record)
		err = json.Unmarshal(data, s.Handoff)
	case path == "baseline.toml":
		var b baselineFile
		err = toml.Unmarshal(data, &b)
		s.Baseline = b.Checks
	case path == "report.toml":
		s.Report = new(Report)
		err = toml.Unmarshal(data, s.Report)
	case !nested:
	case dir == "tasks":
		var t plan.Task
		if t, err = plan.DecodeTask(path, data); err == nil {
			*tasks = append(*tasks, t)
		}
	case dir == "recent":
		var r notes.Record
		if err = json.Unmarshal(data, &r); err == nil {
			s.Recent = append(s.Recent, r)
		}
	case dir == "knowledge":
		var k notes.Knowledge
		if k, err = notes.DecodeKnowledge(data); err == nil {
			s.Knowledge = append(s.Knowledge, k)
		}
	case dir == "guidance":
		var g Guidance
		err = toml.Unmarshal(data, &g)
		s.Guidance = append(s.Guidance, g)
	case dir == "questions":
		var q Question
		err = toml.Unmarshal(data, &q)
		s.Questions = append(s.Questions, q)
	case dir == "claims":
		var c Claim
		if err = toml.Unmarshal(data, &c); err == nil && c.Current != nil {
			err = checkIDs(c.Current.EventID)
		}
		s.Claims = append(s.Claims, c)
	case dir == "memory":
		if s.Memory == nil {
			s.Memory = map[string]string{}
		}
		s.Memory[base] = string(data)
	}
	return err
}

// checkIDs refuses ids of journals and events that are not one name: refs and folders
// are named by them, and whoever may push a journal could write "../../heads".
func checkIDs(ids ...string) error {
	for _, id := range ids {
		bad := strings.HasPrefix(id, ".") || strings.Contains(id, "..") || strings.IndexFunc(id, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
		}) >= 0
		if bad {
			return fmt.Errorf("%q is no id", notes.CutBytes(id, 100))
		}
	}
	return nil
}

// sort brings lists into their order, whatever that of the files was.
func (s *State) sort() {
	sort.Slice(s.Recent, func(i, j int) bool { return s.Recent[i].Origin.Iteration < s.Recent[j].Origin.Iteration })
	sort.Slice(s.Knowledge, func(i, j int) bool {
		a, b := &s.Knowledge[i], &s.Knowledge[j]
		if x, y := newest(a.Source), newest(b.Source); x != y {
			return x < y
		}
		return a.ID < b.ID
	})
	sort.Slice(s.Guidance, func(i, j int) bool {
		a, b := &s.Guidance[i], &s.Guidance[j]
		if !a.Time.Equal(b.Time) {
			return a.Time.Before(b.Time)
		}
		return a.ID < b.ID
	})
	sort.Slice(s.Questions, func(i, j int) bool {
		return questionNumber(s.Questions[i].ID) < questionNumber(
			s.Questions[j].ID)
	})
	sort.Slice(s.Claims, func(i, j int) bool { return s.Claims[i].Task < s.Claims[j].Task })
}

func newest(source []int) int {
	n := 0
	for _, i := range source {
		n = max(n, i)
	}
	return n
}

func questionNumber(id string) int {
	n, _ := strconv.Atoi(strings.TrimLeft(id, "Qq"))
	return n
}

// EncodeEvent returns the files below event/. Payload files have the bytes
// that the state has, so that git stores them once.
func EncodeEvent(e Event) Files {
	f := Files{}
	e.Plan = encodePlanChange(f, e.Plan)
	if e.Init != nil && e.Init.State != nil {
		for path, data := range Changes(State{}, *e.Init.State) {
			f["event/state/"+path] = data
		}
	}
	if e.Result != nil {
		r := *e.Result
		r.Plan = encodePlanChange(f, r.Plan)
		if r.Handoff != nil {
			f["event/handoff.json"] = encodeRecord(r.Handoff)
		}
		e.Result = &r
	}
	if e.Merge != nil {
		for i, again := range e.Merge.Again {
			for path, data := range EncodeEvent(again) {
				f[mergedFolder(i)+strings.TrimPrefix(path, "event/")] = data
			}
		}
	}
	f["event/event.json"] = encodeJSON(e)
	return f
}

// mergedFolder is where a merge keeps an event that it applies again.
func mergedFolder(i int) string { return fmt.Sprintf("event/merged/%06d/", i+1) }

// decodeMerged reads the events that a merge applies again.
func decodeMerged(files Files, m *Merge) error {
	again := 0
	for _, done := range m.Events {
		if done.Outcome != "known" {
			again++
		}
	}
	each := make([]Files, again)
	for path, data := range files {
		rest, ok := strings.CutPrefix(path, "event/merged/")
		number, rest, nested := strings.Cut(rest, "/")
		n, err := strconv.Atoi(number)
		if !ok || !nested || err != nil || n < 1 || n > again {
			continue
		}
		if each[n-1] == nil {
			each[n-1] = Files{}
		}
		each[n-1]["event/"+rest] = data
	}
	for i := range each {
		e, err := DecodeEvent(each[i])
		if err != nil {
			return &DecodeError{mergedFolder(i), err}
		}
		m.Again = append(m.Again, e)
	}
	return nil
}

func encodePlanChange(f Files, c *PlanChange) *PlanChange {
	if c == nil {
		return nil
	}
	p := *c
	p.IDs = nil
	for _, t := range p.Upsert {
		p.IDs = append(p.IDs, t.ID)
		f["event/tasks/"+string(t.ID)+".toml"] = plan.EncodeTask(t)
	}
	return &p
}

func decodePlanChange(f Files, c *PlanChange) error {
	if c == nil {
		return nil
	}
	for _, id := range c.IDs {
		path := "event/tasks/" + string(id) + ".toml"
		data, ok := f[path]
		if !ok {
			return &DecodeError{path, fmt.Errorf("it is not there")} // an empty task would take its place
		}
		t, err := plan.DecodeTask(path, data)
		if err != nil {
			return &DecodeError{path, err}
		}
		c.Upsert = append(c.Upsert, t)
	}
	return nil
}

// DecodeBrief reads event/event.json alone: tasks are only named, and a result
// has no handoff.
func DecodeBrief(files Files) (Event, error) {
	var e Event
	data, ok := files["event/event.json"]
	if !ok {
		return e, &DecodeError{"event/event.json", fmt.Errorf("it is not there")}
	}
	err := json.Unmarshal(data, &e)
	if err == nil {
		err = checkIDs(e.ID)
	}
	if err == nil && e.Start != nil {
		err = checkIDs(e.Start.IterationID)
	}
	if err == nil && e.Init != nil {
		err = checkIDs(e.Init.JournalID)
	}
	if err != nil {
		return e, &DecodeError{"event/event.json", err}
	}
	return e, nil
}

// DecodeEvent reads an event from the files below event/.
func DecodeEvent(files Files) (Event, error) {
	e, err := DecodeBrief(files)
	if err != nil {
		return e, err
	}
	if err := decodePlanChange(files, e.Plan); err != nil {
		return e, err
	}
	if e.Merge != nil {
		if err := decodeMerged(files, e.Merge); err != nil {
			return e, err
		}
	}
	if e.Init != nil && e.Init.Redacted != "" {
		whole := Files{}
		for path, data := range files {
			if rest, ok := strings.CutPrefix(path, "event/state/"); ok {
				whole[rest] = data
			}
		}
		s, err := Decode(whole)
		if err != nil {
			return e, err
		}
		e.Init.State = &s
	}
	if e.Result != nil {
		if err := decodePlanChange(files, e.Result.Plan); err != nil {
			return e, err
		}
	}
	if data, ok := files["event/handoff.json"]; ok && e.Result != nil {
		e.Result.Handoff = new(notes.Record)
		if err := json.Unmarshal(data, e.Result.Handoff); err != nil {
			return e, &DecodeError{"event/handoff.json", err}
		}
	}
	return e, nil
}
