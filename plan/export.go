package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Export writes p in a format, with what the format could not take: every field
// of every task whose value an import of the result would not give back. That
// is found by doing it, so the report cannot drift from the writers.
//
// A command of verify is written as the criterion "`cmd` passes" where criteria
// are all that a format has, because Import makes a command of that again.
func Export(format Format, p Plan) ([]byte, []Lost, error) {
	data, err := encodeAs(format, p)
	if err != nil {
		return nil, nil, fmt.Errorf("export as %s: %w", format, err)
	}
	back := &importer{
		collector: collector{source: "export"}, format: format,
		opts: Options{keepInProgress: true},
	}
	switch format {
	case FormatTOML:
		back.plan, back.places = back.collector.plan(data)
	case FormatMarkdown:
		back.markdown(string(data))
	default:
		back.json(data)
	}
	numberTasks(back.plan.Tasks, back.places, nil)
	if err := back.problems.Err(); err != nil {
		return nil, nil, fmt.Errorf("export as %s: read it back: %w", format, err)
	}
	if len(back.plan.Tasks) != len(p.Tasks) {
		return nil, nil, fmt.Errorf("export as %s: %d tasks became %d", format, len(p.Tasks), len(back.plan.Tasks))
	}
	return data, compareExport(format, p, back.plan), nil
}

func encodeAs(format Format, p Plan) ([]byte, error) {
	switch format {
	case FormatTOML:
		return EncodePlan(p), nil
	case FormatMarkdown:
		return exportMarkdown(p), nil
	case FormatJSON:
		return marshal(orEmpty(p.Tasks))
	case FormatPlan:
		return marshal(exportPlan(p))
	case FormatImplementation:
		return marshal(exportImplementation(p))
	case FormatPRD:
		return marshal(exportPRD(p))
	case FormatStories:
		return marshal(exportStories(p))
	case FormatTaskMaster:
		return marshal(exportTaskMaster(p))
	case FormatIssues:
		return marshal(exportIssues(p))
	}
	_, err := ParseFormat(string(format))
	if err == nil {
		err = fmt.Errorf("format %q is not known", format)
	}
	return nil, err
}

// marshal writes JSON for people: indented, and < and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return b.Bytes(), err
}

// compareExport finds the fields that did not come back. Lists may come back
// longer: a command stands among the criteria as well.
func compareExport(format Format, p, back Plan) []Lost {
	var out losses
	if p.Goal != "" && back.Goal != oneLine(p.Goal) && back.Goal != p.Goal {
		out.add("goal", why(format, "goal"), "")
	}
	if !p.Created.IsZero() && !back.Created.Equal(p.Created) {
		out.add("created", why(format, "created"), "")
	}
	// Ids may be new; what a dependency points at is compared by place.
	at := make(map[TaskID]int, 2*len(p.Tasks))
	backAt := make(map[TaskID]int, len(p.Tasks))
	for i := range p.Tasks {
		at[p.Tasks[i].ID], backAt[back.Tasks[i].ID] = i, i
	}
	for _, f := range taskFields {
		for i := range p.Tasks {
			if !survived(f, &p.Tasks[i], &back.Tasks[i], at, backAt) {
				out.add(f.name, why(format, f.name), p.Tasks[i].ID)
			}
		}
	}
	return out.list
}

func survived(f field, was, is *Task, at, backAt map[TaskID]int) bool {
	switch v := f.at(was).(type) {
	case *[]TaskID:
		for _, dep := range *v {
			i, known := at[dep]
			if !slices.ContainsFunc(*f.at(is).(*[]TaskID), func(other TaskID) bool {
				j, ok := backAt[other]
				return ok && known && i == j || !known && other == dep
			}) {
				return false
			}
		}
		return true
	case *[]string:
		for _, s := range *f.at(is).(*[]string) {
			// A command that stands among the criteria is no new one.
			cmd, _, _ := strings.Cut(strings.TrimPrefix(s, "`"), "`")
			if f.name == "criteria" && !slices.Contains(*v, s) && !slices.Contains(was.Verify, cmd) && !slices.Contains(was.Verify, s) {
				return false
			}
		}
		for _, s := range *v {
			if !slices.Contains(*f.at(is).(*[]string), s) {
				return false
			}
		}
		return true
	case *string:
		return *v == *f.at(is).(*string)
	}
	return sameValue(f.at(was), f.at(is))
}

// why says in a few words what became of a field that did not come back whole.
func why(format Format, name string) string {
	switch {
	case name == "id" && (format == FormatTaskMaster || format == FormatIssues):
		return "ids are numbers there and were given anew"
	case name == "priority" && format == FormatTaskMaster:
		return "only high, medium and low"
	case name == "description" && format == FormatImplementation:
		return "the title stands in front of it"
	case name == "status":
		switch format {
		case FormatPlan, FormatImplementation:
			return "no such status there; written as the nearest"
		case FormatPRD:
			return "only todo, in_progress, done and failed"
		case FormatStories:
			return "only passes or not"
		case FormatMarkdown:
			return "only a box, ticked or not"
		case FormatIssues:
			return "only open or closed"
		case FormatTaskMaster:
			return "no failed there; written as pending"
		}
	case name == "verify" || name == "criteria" || name == "description":
		return "some text means something else there"
	}
	return "no place for it"
}

// proofs are the criteria, and after them the commands as criteria. Where an
// entry is one line, a command of several is left out: joined, its lines would
// be another command.
func proofs(t *Task, oneLineEach bool) []string {
	out := []string{}
	for _, c := range t.Criteria {
		if oneLineEach {
			c = flat(c)
		}
		out = append(out, c)
	}
	for _, v := range t.Verify {
		if strings.Contains(v, "`") || oneLineEach && strings.Contains(v, "\n") {
			continue
		}
		if _, named := (Options{}).runnableCriterion(v); !named {
			v = "`" + v + "` passes"
		}
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// The structures below are the formats as their tools write them: only keys
// that these tools know.

type planJSON struct {
	Tasks []planTask `json:"tasks"`
}

type planTask struct {
	ID                 TaskID   `json:"id"`
	Title              string   `json:"title"`
	Description        string   `json:"description"`
	Status             string   `json:"status"`
	Order              int      `json:"order"`
	Skills             []string `json:"skills"`
	NeedsDocs          bool     `json:"needs_docs"`
	Libraries          []string `json:"libraries"`
	AcceptanceCriteria []string `json:"acceptance_criteria"`
	DependsOn          []TaskID `json:"depends_on"`
	MaxTurns           int      `json:"max_turns,omitempty"`
	RetryCount         int      `json:"retry_count"`
	MaxRetries         *int     `json:"max_retries,omitempty"`
}

func exportPlan(p Plan) planJSON {
	out := planJSON{Tasks: []planTask{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		status := t.Status
		if status == Blocked { // what it would do with one: leave it to a person
			status = Failed
		}
		out.Tasks = append(out.Tasks, planTask{
			ID: t.ID, Title: t.Title, Description: t.Description, Status: string(status), Order: i + 1,
			Skills: orEmpty(t.Skills), NeedsDocs: t.NeedsDocs, Libraries: orEmpty(t.Libraries),
			AcceptanceCriteria: proofs(t, false), DependsOn: orEmpty(t.DependsOn),
			MaxTurns: t.MaxTurns, RetryCount: t.Attempts, MaxRetries: t.MaxAttempts,
		})
	}
	return out
}

type implementationJSON struct {
	Tasks     []implementationTask `json:"tasks"`
	CreatedAt *time.Time           `json:"created_at,omitempty"`
}

type implementationTask struct {
	ID                   TaskID     `json:"id"`
	Description          string     `json:"description"`
	Priority             int        `json:"priority"`
	Status               string     `json:"status"`
	Dependencies         []TaskID   `json:"dependencies"`
	VerificationCriteria []string   `json:"verification_criteria"`
	Blockers             []string   `json:"blockers"`
	EstimatedTokens      int64      `json:"estimated_tokens"`
	ActualTokensUsed     *int64     `json:"actual_tokens_used"`
	CompletionNotes      *string    `json:"completion_notes"`
	CompletedAt          *time.Time `json:"completed_at"`
	RetryCount           int        `json:"retry_count"`
}

// exportImplementation puts the title first in the description, where that
// format's prompt shows it and where Import finds it again.
func exportImplementation(p Plan) implementationJSON {
	out := implementationJSON{Tasks: []implementationTask{}, CreatedAt: jsonTime(p.Created)}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		w := implementationTask{
			ID: t.ID, Description: t.Title, Priority: t.Priority, Dependencies: orEmpty(t.DependsOn),
			VerificationCriteria: proofs(t, false), Blockers: orEmpty(t.BlockedBy),
			EstimatedTokens: t.EstimatedTokens, RetryCount: t.Attempts,
		}
		if t.Description != "" && TitleFrom(t.Description) == t.Title {
			w.Description = t.Description
		} else if t.Description != "" {
			w.Description += "\n\n" + t.Description
		}
		switch t.Status {
		case Done:
			w.Status = "complete"
		case Failed, Blocked:
			w.Status = "blocked"
		case Skipped: // finished, as far as that tool can say
			w.Status = "complete"
		default:
			w.Status = string(t.Status)
		}
		if t.ActualTokens != 0 {
			w.ActualTokensUsed = &t.ActualTokens
		}
		if t.Notes != "" {
			w.CompletionNotes = &t.Notes
		}
		if t.CompletedAt != nil {
			w.CompletedAt = jsonTime(*t.CompletedAt)
		}
		out.Tasks = append(out.Tasks, w)
	}
	return out
}

// jsonTime is nil for moments that JSON cannot say.
func jsonTime(t time.Time) *time.Time {
	t = t.UTC()
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return &t
}

type prdTask struct {
	ID                 TaskID   `json:"id"`
	Title              string   `json:"title"`
	Description        string   `json:"description"`
	Priority           int      `json:"priority"`
	Status             string   `json:"status"`
	Dependencies       []TaskID `json:"dependencies"`
	AcceptanceCriteria []string `json:"acceptance_criteria"`
}

type prdStory struct {
	ID                 TaskID   `json:"id"`
	Title              string   `json:"title"`
	Description        string   `json:"description"`
	AcceptanceCriteria []string `json:"acceptanceCriteria"`
	Priority           int      `json:"priority"`
	Passes             bool     `json:"passes"`
	Notes              string   `json:"notes"`
}

func exportPRD(p Plan) any {
	out := struct {
		Description string    `json:"description,omitempty"`
		Tasks       []prdTask `json:"tasks"`
	}{oneLine(p.Goal), []prdTask{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		w := prdTask{
			ID: t.ID, Title: t.Title, Description: t.Description, Priority: t.Priority,
			Dependencies: orEmpty(t.DependsOn), AcceptanceCriteria: proofs(t, false),
		}
		switch t.Status {
		case Done, Skipped:
			w.Status = "done"
		case Failed, Blocked:
			w.Status = "failed"
		case InProgress:
			w.Status = "in_progress"
		default:
			w.Status = "todo"
		}
		out.Tasks = append(out.Tasks, w)
	}
	return out
}

func exportStories(p Plan) any {
	out := struct {
		Description string     `json:"description,omitempty"`
		UserStories []prdStory `json:"userStories"`
	}{oneLine(p.Goal), []prdStory{}}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		out.UserStories = append(out.UserStories, prdStory{
			ID: t.ID, Title: t.Title, Description: t.Description, AcceptanceCriteria: proofs(t, false),
			Priority: t.Priority, Passes: t.Status == Done || t.Status == Skipped, Notes: t.Notes,
		})
	}
	return out
}

// numbers are the tasks' numbers for tools whose ids are numbers: the ids
// themselves when all are, else the place in the plan.
func numbers(p Plan) map[TaskID]int {
	out := make(map[TaskID]int, len(p.Tasks))
	for i := range p.Tasks {
		n, err := strconv.Atoi(string(p.Tasks[i].ID))
		if err != nil || n < 1 || strconv.Itoa(n) != string(p.Tasks[i].ID) {
			for i := range p.Tasks {
				out[p.Tasks[i].ID] = i + 1
			}
			return out
		}
		out[p.Tasks[i].ID] = n
	}
	return out
}

// bullets writes a list as lines; an entry alone stays as it is.
func bullets(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	var b strings.Builder
	for i, s := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + s)
	}
	return b.String()
}
