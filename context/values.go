package agentctx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// fields are the values of the templates of this run.
func (a *assembly) fields() map[string]string {
	if a.values != nil {
		return a.values
	}
	done, total := progress(a.s.Plan)
	o := a.opt
	a.values = map[string]string{
		"goal":               strings.TrimSpace(a.s.Plan.Goal),
		"phase":              string(o.Phase),
		"iteration":          strconv.Itoa(o.Iteration),
		"done":               strconv.Itoa(done),
		"total":              strconv.Itoa(total),
		"checks":             checkList(o),
		"toolchain":          toolchainList(o.Toolchain),
		"handoff":            handoffHow(o.Role),
		"subagents":          subagents(o.Role),
		"task_id":            string(a.task.ID),
		"task_title":         notes.OneLine(a.task.Title, 300),
		"task":               a.taskText(),
		"criteria":           a.criteria(),
		"verify":             a.verify(),
		"attempt":            strconv.Itoa(o.Attempt),
		"failure":            demote(a.failureText()),
		"no_change_expected": yes(a.task.NoChangeExpected),
		"allow_test_changes": yes(a.task.AllowTestChanges),
		"bug":                yes(a.task.Bug()),
		"protected":          protectedList(o.Protected, a.task.AllowProtected),
		"window_percent":     strconv.Itoa(first(o.HandoffPercent, 60)),
		"ask":                yes(o.Ask),
		"request":            demote(notes.Clean(strings.TrimSpace(o.Request))),
		"answers":            answers(a.s.Questions),
		"max_questions":      strconv.Itoa(first(o.MaxQuestions, 10)),
		"specs":              list(o.Specs, func(f SpecFile) string { return specLine(f) }),
		"spec_criteria":      specCriteria(o.Specs),
		"plan":               a.planLines(),
		"replaces":           yes(o.Replaces),
		"task_tokens":        strconv.Itoa(first(o.TaskTokens, 30000)),
		"browser":            yes(o.Browser),
	}
	return a.values
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func checkList(o Options) string {
	return list(o.Checks, func(c Check) string {
		s := c.Name
		if c.Kind != "" && c.Kind != c.Name {
			s += " (" + c.Kind + ")"
		}
		s += ": " + code(c.Command)
		if c.Lenient {
			s += ", may fail"
		}
		if c.AtEnd {
			s += ", run before the work counts as complete"
		}
		return s
	})
}

func toolchainList(t Toolchain) string {
	rows := []struct{ name, cmd string }{
		{"test", t.Test}, {"lint", t.Lint}, {"typecheck", t.Typecheck},
		{"add a dependency", t.Add}, {"install what is declared", t.Sync},
	}
	var b strings.Builder
	for _, r := range rows {
		if r.cmd != "" {
			fmt.Fprintf(&b, "- %s: %s\n", r.name, code(r.cmd))
		}
	}
	for _, x := range t.Blocked {
		fmt.Fprintf(&b, "- %s is blocked", code(x.Command))
		if x.Instead != "" {
			instead := x.Instead
			if !strings.Contains(instead, "`") {
				instead = code(instead)
			}
			fmt.Fprintf(&b, "; use %s", instead)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func protectedList(paths, allowed []string) string {
	ok := map[string]bool{}
	for _, p := range allowed {
		ok[p] = true
	}
	var out []string
	for _, p := range paths {
		if !ok[p] {
			out = append(out, code(p))
		}
	}
	return strings.Join(out, ", ")
}

func specLine(f SpecFile) string {
	if f.Title == "" {
		return code(f.Path)
	}
	return code(f.Path) + " " + notes.OneLine(f.Title, 120)
}

func specCriteria(specs []SpecFile) string {
	var parts []string
	for _, f := range specs {
		if len(f.Criteria) > 0 {
			parts = append(parts, "### "+specLine(f)+"\n\n"+list(f.Criteria,
				func(s string) string { return indent(notes.Clean(s)) }))
		}
	}
	return paragraphs(parts...)
}

// taskAnswers are agents' questions about the task with the user's answers.
func (a *assembly) taskAnswers() string {
	return titled("### Questions of this task, with their answers", answers(slices.DeleteFunc(slices.Clone(a.s.Questions),
		func(q state.Question) bool { return !q.Answered || !slices.Contains(q.Tasks, a.task.ID) })))
}

func answers(questions []state.Question) string {
	var b strings.Builder
	for _, q := range questions {
		fmt.Fprintf(&b, "- %s\n", notes.OneLine(q.Text, 500))
		if q.Answered {
			fmt.Fprintf(&b, "  Answer: %s\n", notes.OneLine(q.Answer, 1000))
		} else {
			b.WriteString("  Not answered yet.\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// planLines is one line a task; a plan too long to read shows what is left to
// do and counts the rest.
func (a *assembly) planLines() string {
	if a.opt.Role == Planning {
		return a.planWhole()
	}
	const shown = 60
	var b strings.Builder
	done, n := 0, 0
	for _, t := range a.s.Plan.Tasks {
		if len(a.s.Plan.Tasks) > shown && (t.Status == plan.Done || t.Status == plan.Skipped) {
			done++
			continue
		}
		if n++; n > shown {
			continue
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", t.ID, t.Status, notes.OneLine(t.Title, 100))
	}
	if n > shown {
		fmt.Fprintf(&b, "- and %d more\n", n-shown)
	}
	if done > 0 {
		fmt.Fprintf(&b, "- besides %d done or skipped\n", done)
	}
	return strings.TrimRight(b.String(), "\n")
}

// maxPlan bounds the open tasks in a planning prompt, in bytes; each gets an
// equal share.
const maxPlan = 24000

// planWhole is the plan for an agent that plans anew or adds to it: the open
// tasks with all that they ask for, the others by their titles.
func (a *assembly) planWhole() string {
	open, closed := 0, 0
	for _, t := range a.s.Plan.Tasks {
		if t.Status != plan.Done && (t.Status != plan.Skipped || t.SetAside()) {
			open++
		}
	}
	share := maxPlan / max(open, 1)
	var b strings.Builder
	for _, t := range a.s.Plan.Tasks {
		status := string(t.Status)
		if t.SetAside() {
			status = "set aside"
		} else if t.Status == plan.Done || t.Status == plan.Skipped {
			if closed++; closed <= 60 {
				fmt.Fprintf(&b, "- %s %s: %s\n", t.ID, status, notes.OneLine(t.Title, 100))
			}
			continue
		}
		var one strings.Builder
		if len(t.DependsOn) > 0 {
			ids := make([]string, len(t.DependsOn))
			for i, id := range t.DependsOn {
				ids[i] = string(id)
			}
			one.WriteString("waits on: " + strings.Join(ids, ", ") + "\n")
		}
		for _, c := range t.Criteria {
			one.WriteString("criterion: " + notes.OneLine(c, 500) + "\n")
		}
		for _, v := range t.Verify {
			one.WriteString("verify: " + code(notes.OneLine(v, 500)) + "\n")
		}
		if d := strings.TrimSpace(notes.Clean(t.Description)); d != "" {
			one.WriteString(d + "\n")
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", t.ID, status, notes.OneLine(t.Title, 200))
		if text := strings.TrimSpace(notes.CutBytes(one.String(), share)); text != "" {
			b.WriteString("  " + indent(text) + "\n")
		}
	}
	if closed > 60 {
		fmt.Fprintf(&b, "- besides %d done or skipped\n", closed-60)
	}
	return demote(strings.TrimRight(b.String(), "\n"))
}

// subagents are the rules for agents of the agent; the figures are sizes at
// which a summary stays cheaper than doing the work in the own window.
func subagents(role Role) string {
	rows := []string{
		"- search of the code: at most 50,000 tokens, returns a summary of findings only",
		"- analysis of files: at most 30,000 tokens, returns structured facts, never file contents",
	}
	if role != Planning {
		rows = append(rows, "- running tests: at most 40,000 tokens, returns pass or fail and a summary of failures",
			"- searches may run side by side, but only one build or test run at a time")
	}
	return "Sub-agents, if you have them, keep your own window small:\n" + strings.Join(rows, "\n")
}

// handoffHow says how to leave the handoff. It names every required field,
// because not every client enforces the schema.
func handoffHow(role Role) string {
	how := "End with a handoff: call `ralph_submit_handoff`, or write it as JSON to the file named by " +
		"`$RALPH_HANDOFF_FILE`. " +
		"The last one counts. All of these fields are needed, lists may be empty:\n" +
		"- `task_completed` {`task_id`, `summary`, `fully_complete`}, `summary` (one line)\n" +
		"- `freeform`, at least 50 characters and the most important: brief a colleague who picks up tomorrow. What was " +
		"done and why, surprises, what is fragile or unfinished, what to do next, key details\n" +
		"- `deviations` [{`planned`, `actual`, `reason`}], `bugs_encountered` [{`description`, `resolution`, `resolved`}]\n" +
		"- `architectural_notes` [text]: decisions; `constraints_discovered` [{`constraint`, `impact`, `workaround`}]: " +
		"limits to respect, with must, must not or never when they are hard. Both are remembered for good\n" +
		"- `unfinished_business` [{`item`, `reason`, `priority`}], `recommendations` [text]\n" +
		"- `files_touched` [{`path`, `action`}], `tests_added` [{`file`, `test_names`}]\n" +
		"- `plan_amendments` [{`action`: add, modify or remove, `task_id`, `task`, `changes`, `after`, `reason`}], at most " +
		"three\n" +
		"Optional: `request_research` [text], `request_human_review` {`needed`, `reason`}, `confidence_level` high, medium " +
		"or low."
	if role == Discovery || role == Planning || role == Validation {
		return "This phase ends by what it leaves behind, not by a claim. You may hand over what the next phase should " +
			"know:\n\n" + how
	}
	return how
}
