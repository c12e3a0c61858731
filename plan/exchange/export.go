package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// Export writes p in a format and reports what the format cannot hold: every
// field of every task that an import would not give back. It finds out by doing
// that import, so the report always matches the writers.
//
// Formats that only have criteria get a verify command as the criterion "`cmd`
// passes", which Import turns into a command again.
func Export(format Format, p plan.Plan) ([]byte, []Lost, error) {
	data, err := encodeAs(format, p)
	if err != nil {
		return nil, nil, fmt.Errorf("export as %s: %w", format, err)
	}
	back := &importer{
		Collector: plan.Collector{Source: "export"}, format: format,
		opts: Options{keepInProgress: true},
	}
	switch format {
	case FormatTOML:
		back.plan, back.places = back.Collector.ReadPlan(data)
	case FormatMarkdown:
		back.markdown(string(data))
	default:
		back.json(data)
	}
	plan.NumberTasks(back.plan.Tasks, back.places, nil)
	if err := back.Problems.Err(); err != nil {
		return nil, nil, fmt.Errorf("export as %s: read it back: %w", format, err)
	}
	if len(back.plan.Tasks) != len(p.Tasks) {
		return nil, nil, fmt.Errorf("export as %s: %d tasks became %d", format, len(p.Tasks), len(back.plan.Tasks))
	}
	return data, compareExport(format, p, back.plan), nil
}

func encodeAs(format Format, p plan.Plan) ([]byte, error) {
	switch format {
	case FormatTOML:
		return plan.EncodePlan(p), nil
	case FormatMarkdown:
		return exportMarkdown(p), nil
	case FormatJSON:
		return marshal(text.OrEmpty(p.Tasks))
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
func compareExport(format Format, p, back plan.Plan) []Lost {
	var out losses
	if p.Goal != "" && back.Goal != text.OneLine(p.Goal) && back.Goal != p.Goal {
		out.add("goal", why(format, "goal"), "")
	}
	if !p.Created.IsZero() && !back.Created.Equal(p.Created) {
		out.add("created", why(format, "created"), "")
	}
	// Ids may change, so dependencies are compared by place.
	at := make(map[plan.TaskID]int, 2*len(p.Tasks))
	backAt := make(map[plan.TaskID]int, len(p.Tasks))
	for i := range p.Tasks {
		at[p.Tasks[i].ID], backAt[back.Tasks[i].ID] = i, i
	}
	for _, f := range plan.TaskFields {
		for i := range p.Tasks {
			if !survived(f, &p.Tasks[i], &back.Tasks[i], at, backAt) {
				out.add(f.Name, why(format, f.Name), p.Tasks[i].ID)
			}
		}
	}
	return out.list
}

func survived(f plan.Field, was, is *plan.Task, at, backAt map[plan.TaskID]int) bool {
	switch v := f.At(was).(type) {
	case *[]plan.TaskID:
		for _, dep := range *v {
			i, known := at[dep]
			if !slices.ContainsFunc(*f.At(is).(*[]plan.TaskID), func(other plan.TaskID) bool {
				j, ok := backAt[other]
				return ok && known && i == j || !known && other == dep
			}) {
				return false
			}
		}
		return true
	case *[]string:
		for _, s := range *f.At(is).(*[]string) {
			// A command among the criteria is not a new criterion.
			cmd, _, _ := strings.Cut(strings.TrimPrefix(s, "`"), "`")
			if f.Name == "criteria" && !slices.Contains(*v, s) && !slices.Contains(was.Verify, cmd) &&
				!slices.Contains(was.Verify, s) {
				return false
			}
			// A criterion that has become a command was changed.
			if f.Name == "verify" && !slices.Contains(*v, s) {
				return false
			}
		}
		for _, s := range *v {
			if !slices.Contains(*f.At(is).(*[]string), s) {
				return false
			}
		}
		return true
	case *string:
		return *v == *f.At(is).(*string)
	}
	return plan.SameValue(f.At(was), f.At(is))
}

// why explains briefly why a field did not come back whole.
func why(format Format, name string) string {
	switch {
	case name == "id" && (format == FormatTaskMaster || format == FormatIssues):
		return "ids are numbers there and were assigned again"
	case name == "priority" && format == FormatTaskMaster:
		return "only high, medium and low"
	case name == "description" && format == FormatImplementation:
		return "the title precedes it"
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
func proofs(t *plan.Task, oneLineEach bool) []string {
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

// jsonTime is nil for moments that JSON cannot say.
func jsonTime(t time.Time) *time.Time {
	t = t.UTC()
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return &t
}

// numbers are the tasks' numbers for tools whose ids are numbers: the ids
// themselves when all are, else the place in the plan.
func numbers(p plan.Plan) map[plan.TaskID]int {
	out := make(map[plan.TaskID]int, len(p.Tasks))
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
