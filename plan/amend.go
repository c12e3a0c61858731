package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/text"
	"git-ralph/plan/located"
)

// MaxAmendments is how many changes to the plan one iteration may propose.
const MaxAmendments = 3

// Amendment is a change to the plan that an agent proposes in its handoff.
type Amendment struct {
	// Action is "add", "modify" or "remove".
	Action string `json:"action"`
	// TaskID is the task to modify or remove.
	TaskID TaskID `json:"task_id,omitempty"`
	// Task is the new task of add: an object with at least id, title, description.
	Task json.RawMessage `json:"task,omitempty"`
	// Changes of modify: an object of fields. Lists are added to the present
	// ones.
	Changes json.RawMessage `json:"changes,omitempty"`
	// After is the task behind which add puts the new one; empty = last.
	After TaskID `json:"after,omitempty"`
	// Reason in the agent's words.
	Reason string `json:"reason,omitempty"`
}

// AmendResult is the result of one amendment.
type AmendResult struct {
	Action   string `json:"action"`
	TaskID   TaskID `json:"task_id"`
	Accepted bool   `json:"accepted"`
	// Fields that were changed; none for add and remove.
	Fields []string `json:"fields,omitempty"`
	// Why it was refused; empty when accepted.
	Why string `json:"why,omitempty"`
	// Reason is the agent's.
	Reason string `json:"reason,omitempty"`
}

// AmendmentReason is the entry in blocked_by of a task that an amendment removed.
const AmendmentReason = "amendment"

// Amend judges the amendments of the iteration that worked on current, each on the
// result of the earlier ones. It returns the new plan and one result for each
// amendment. More than MaxAmendments refuse the whole batch. p stays as it is.
//
// The rules let an agent record what it found out, but not lower the demands on its
// own or another's work. Of the task in work it may change description and notes.
// To other tasks it may only add criteria and verify commands. Done tasks cannot be
// changed. A removed task is skipped and stays visible. Only people and planning
// may lift a rule or a limit.
func Amend(p Plan, current TaskID, batch []Amendment) (Plan, []AmendResult) {
	out := p.clone()
	results := make([]AmendResult, len(batch))
	for i, a := range batch {
		results[i] = AmendResult{
			Action: text.Clip(text.OneLine(text.Clean(a.Action)), 40),
			TaskID: TaskID(text.Clip(text.Clean(string(a.TaskID)), MaxID)),
			Reason: text.Clean(a.Reason),
		}
		if len(batch) > MaxAmendments {
			results[i].Why = fmt.Sprintf("%d amendments in one iteration; more than %d are refused together", len(batch),
				MaxAmendments)
			continue
		}
		next := out.clone()
		var err error
		switch strings.ToLower(strings.TrimSpace(a.Action)) {
		case "add":
			err = amendAdd(&next, a, &results[i])
		case "modify":
			err = amendModify(&next, current, a, &results[i])
		case "remove":
			err = amendRemove(&next, current, a, &results[i])
		default:
			err = fmt.Errorf("action %q is not add, modify or remove", results[i].Action)
		}
		if err == nil {
			err = newProblem(out, next)
		}
		if err != nil {
			results[i].Why = err.Error()
			results[i].Fields = nil
			continue
		}
		results[i].Accepted = true
		out = next
	}
	return out, results
}

// newProblem is the first thing wrong with next that was not wrong before.
func newProblem(before, next Plan) error {
	known := make(map[string]bool)
	for _, p := range Check(before, Places{}, nil) {
		known[p.Text] = true
	}
	for _, p := range Check(next, Places{}, nil) {
		if !known[p.Text] {
			return errors.New(p.Text)
		}
	}
	return nil
}

func amendAdd(p *Plan, a Amendment, r *AmendResult) error {
	o, err := amendmentObject("task", a.Task)
	if err != nil {
		return err
	}
	c := &Collector{}
	t := Task{Status: Pending, Priority: 1}
	for _, key := range o.Keys {
		n := o.Fields[key]
		name := amendmentField(key)
		switch {
		case n.Value == nil:
		case name == "order": // after says where it stands
		case slices.Contains(addFields, name):
			f, _ := FieldNamed(name)
			c.into(f.At(&t), name, n)
		case name == "status":
			if s, _ := n.Value.(string); s != string(Pending) {
				return fmt.Errorf("a new task is pending, not %s", text.Clip(text.OneLine(s), 40))
			}
		case isDefault(n):
		default:
			if err := forbidden(name, key, addFields); err != nil {
				return err
			}
		}
	}
	if len(c.Problems) > 0 {
		return errors.New(c.Problems[0].Text)
	}
	t.Title = text.OneLine(t.Title)
	if r.TaskID == "" || t.ID != "" {
		r.TaskID = TaskID(text.Clip(text.Clean(string(t.ID)), MaxID))
	}
	var missing []string
	for name, value := range map[string]string{"id": string(t.ID), "title": t.Title,
		"description": strings.TrimSpace(t.Description)} {
		if value == "" {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		slices.Sort(missing)
		return fmt.Errorf("a new task needs id, title and description; it has no %s", strings.Join(missing, ", "))
	}
	if err := ValidID(string(t.ID)); err != nil {
		return err
	}
	if i := p.Find(t.ID); i >= 0 {
		return fmt.Errorf("the plan has a task %s already", p.Tasks[i].ID)
	}
	at := len(p.Tasks)
	if a.After != "" {
		i := p.Find(a.After)
		if i < 0 {
			return fmt.Errorf("after names %s, which is not in the plan", text.Clip(string(a.After), MaxID))
		}
		at = i + 1
	}
	p.Tasks = slices.Insert(p.Tasks, at, t)
	CanonicalDependencies(p.Tasks, nil)
	return nil
}

// addFields are what an agent may say about a new task.
var addFields = []string{
	"id", "title", "description", "priority", "depends_on", "criteria", "verify", "skills", "libraries",
	"needs_docs", "spec", "type", "max_turns", "estimated_tokens", "notes",
}

// currentFields may be changed in the task in work, otherFields added to in
// other tasks.
var (
	currentFields = []string{"description", "notes"}
	otherFields   = []string{"criteria", "verify"}
)

// humanFields lift a rule or a limit.
var humanFields = []string{"allow_test_changes", "no_change_expected", "max_attempts", "allow_protected"}

func forbidden(name, key string, allowed []string) error {
	if slices.Contains(humanFields, name) {
		return fmt.Errorf("%s is set by people and the planning phase alone", name)
	}
	if _, ok := FieldNamed(name); ok {
		return fmt.Errorf("%s cannot be set by an amendment; allowed are %s", name, strings.Join(allowed, ", "))
	}
	text := fmt.Sprintf("unknown field %q", text.Clip(key, 80))
	if near := nearest(key, allowed); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return errors.New(text)
}

// amendmentField is our name of a field; agents also use those of the formats
// that they know.
func amendmentField(key string) string {
	if _, ok := FieldNamed(key); ok {
		return key
	}
	switch text.Key(key) {
	case "acceptancecriteria", "verificationcriteria":
		return "criteria"
	case "dependencies", "dependson":
		return "depends_on"
	case "maxretries":
		return "max_attempts"
	case "retrycount":
		return "attempts"
	case "costusd":
		return "cost_micro_usd"
	}
	return key
}

// isDefault: an agent that repeats a task as shown also sends fields that it
// does not want to set: false, 0, "", [].
func isDefault(n located.Node) bool {
	switch v := n.Value.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case located.Number:
		return v == "0" || v == "0.0"
	case []located.Node:
		return len(v) == 0
	}
	return false
}

func amendmentObject(name string, raw json.RawMessage) (*located.Object, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, fmt.Errorf("%s is missing", name)
	}
	n, perr := located.ParseJSON(raw)
	if perr != nil {
		return nil, fmt.Errorf("%s is not valid JSON: %s", name, perr.Text)
	}
	o, ok := n.Value.(*located.Object)
	if !ok {
		return nil, fmt.Errorf("%s is %s, not an object", name, n.Kind())
	}
	return o, nil
}

// target finds the task to modify or remove.
func target(p *Plan, a Amendment, r *AmendResult) (*Task, error) {
	if a.TaskID == "" {
		return nil, errors.New("task_id is missing")
	}
	i := p.Find(a.TaskID)
	if i < 0 {
		return nil, fmt.Errorf("%s is not in the plan", r.TaskID)
	}
	t := &p.Tasks[i]
	r.TaskID = t.ID
	if t.Status == Done {
		return nil, fmt.Errorf("%s is done and stays as it is", t.ID)
	}
	return t, nil
}

func amendModify(p *Plan, current TaskID, a Amendment, r *AmendResult) error {
	t, err := target(p, a, r)
	if err != nil {
		return err
	}
	o, err := amendmentObject("changes", a.Changes)
	if err != nil {
		return err
	}
	allowed, whose := otherFields, "another task"
	isCurrent := Fold(t.ID) == Fold(current)
	if isCurrent {
		allowed, whose = currentFields, "the task in work"
	}
	was := t.clone()
	c := &Collector{}
	for _, key := range o.Keys {
		n := o.Fields[key]
		name := amendmentField(key)
		f, known := FieldNamed(name)
		if n.Value == nil {
			continue
		}
		if known && !slices.Contains(allowed, name) && repeats(f, t, n) {
			continue // it repeats the task as it was shown
		}
		if !known || slices.Contains(humanFields, name) {
			return forbidden(name, key, allowed)
		}
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("%s of %s cannot be changed by an amendment; allowed are %s", name, whose,
				strings.Join(allowed, " and "))
		}
		if isCurrent {
			text := f.At(t).(*string)
			given := *text
			c.into(text, name, n)
			*text = refined(given, *text)
			continue
		}
		list := f.At(t).(*[]string)
		added := c.texts(name, n)
		if len(c.Problems) == 0 && len(added) == 0 {
			return fmt.Errorf("%s of another task can only be added to", name)
		}
		for _, s := range added {
			if !slices.Contains(*list, s) {
				*list = append(*list, s)
			}
		}
	}
	if len(c.Problems) > 0 {
		return errors.New(c.Problems[0].Text)
	}
	r.Fields = changedFields(&was, t)
	if r.Fields == nil {
		return errors.New("it changes nothing")
	}
	return nil
}

// refinedMark stands between the words that a task was given with and those
// that agents have added.
const refinedMark = "Added by an agent:"

// refined combines a text with an agent's new version. The original stays in
// front, so that an agent cannot lower its own demands.
func refined(was, now string) string {
	given, _, _ := strings.Cut(was, "\n\n"+refinedMark+"\n")
	if given = strings.TrimSpace(given); given == "" {
		return now
	}
	added := strings.TrimSpace(now)
	if rest, ok := strings.CutPrefix(added, given); ok && (rest == "" || rest[0] == '\n' || rest[0] == ' ') {
		added = strings.TrimSpace(rest)
	}
	added = strings.TrimSpace(strings.TrimPrefix(added, refinedMark))
	if added == "" {
		return given
	}
	return given + "\n\n" + refinedMark + "\n" + added
}

// repeats reports whether the value given is the one that the task already has.
func repeats(f Field, t *Task, n located.Node) bool {
	given := t.clone()
	c := &Collector{}
	switch v := f.At(&given).(type) { // lists grow when they are read
	case *[]TaskID:
		*v = nil
	case *[]string:
		*v = nil
	}
	c.into(f.At(&given), f.Name, n)
	return len(c.Problems) == 0 && SameValue(f.At(&given), f.At(t))
}

func amendRemove(p *Plan, current TaskID, a Amendment, r *AmendResult) error {
	t, err := target(p, a, r)
	switch {
	case err != nil:
		return err
	case Fold(t.ID) == Fold(current):
		return fmt.Errorf("%s is the current task; the agent may not change its status", t.ID)
	case t.Status == Skipped:
		return fmt.Errorf("%s is skipped already", t.ID)
	case t.Status == InProgress:
		return fmt.Errorf("%s is being worked on elsewhere", t.ID)
	}
	t.PutAside(0, AmendmentReason, r.Reason)
	return nil
}
