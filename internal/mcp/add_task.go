package mcp

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// maxAdded bounds the tasks of one planning run.
const maxAdded = 500

// maxRefused bounds the refused ones that people are told of.
const maxRefused = 50

// draft is what a call asked for, by which a repeated call is known, and what
// it was told. The task that was made of it stands at the same place in
// Collected.Tasks.
type draft struct {
	asked    plan.Task
	warnings []string
}

func addTask() tool {
	list := func(name, help string, aliases ...string) field {
		return field{name: name, help: help, kind: kTexts, items: 100, max: 4000, aliases: aliases}
	}
	return tool{
		name: "ralph_add_task",
		help: "Add a task to the plan: one that one agent finishes in one context window. Add tasks in the order in which " +
			"they should be done; " +
			"depends_on names tasks that are in the plan already. The plan as a whole counts when the run has ended and is " +
			"valid.",
		where: "the planning phase",
		args: object{
			{name: "id", help: "letters, digits, . _ -; the next free T-<number> when it is left out", max: plan.MaxID},
			{name: "title", help: "one line", required: true, max: plan.MaxTitle},
			{name: "description", help: "the files and decisions that an agent without your knowledge needs", max: 32000},
			{name: "priority", help: "the lowest number is worked on first; 1 when it is left out", kind: kInt,
				max: math.MaxInt32},
			list("depends_on", "ids of the tasks that must be done before", "dependencies"),
			list("criteria", "what can be observed when it is done", "acceptance_criteria", "verification_criteria"),
			list("verify", "shell commands that prove it by exit status 0, or names of configured checks"),
			list("skills", "names of skill files"),
			{name: "estimated_tokens", help: "the tokens that it will take", kind: kInt, max: 1 << 30},
			{name: "spec", help: "the file under specs/ that it comes from", max: 1000},
			list("libraries", "libraries whose documentation is needed"),
			{name: "needs_docs", help: "documentation has to be looked up", kind: kBool},
			{name: "max_turns", help: "turns of the agent on this task", kind: kInt, max: 10000},
			{name: "max_attempts", help: "attempts before it counts as failed; 0 = no limit", kind: kInt, max: 1000},
			{name: "allow_test_changes", help: "the task asks for tests to be changed or removed", kind: kBool},
			{name: "no_change_expected", help: "the task is done without a change to a file", kind: kBool},
			{name: "notes", help: "anything else", max: 10000},
			{name: "replace", help: "put this in the place of the task with this id that you added before", kind: kBool}},
		offered: planning,
		run:     addOrRefuse,
	}
}

type added struct {
	TaskID   plan.TaskID `json:"task_id"`
	Total    int         `json:"total_tasks"`
	Warnings []string    `json:"warnings,omitempty"`
}

// addOrRefuse is add, and keeps what was refused until the same title is added:
// people are told what a plan lacks.
func addOrRefuse(b *Box, v values) (any, error) {
	out, err := add(b, v)
	title := brief(text(v.text("title")), plan.MaxTitle)
	b.got.Refused = slices.DeleteFunc(slices.Clone(b.got.Refused), func(r session.RefusedTask) bool {
		return r.Title == title
	})
	if err != nil && len(b.got.Refused) < maxRefused {
		b.got.Refused = append(b.got.Refused, session.RefusedTask{Title: title, Why: brief(err.Error(), 1000)})
	}
	if len(b.got.Refused) == 0 {
		b.got.Refused = nil
	}
	return out, err
}

func add(b *Box, v values) (any, error) {
	asked, err := taskFrom(v)
	if err != nil {
		return nil, err
	}
	replace := v.bool("replace")
	if i := slices.IndexFunc(b.drafts, func(d draft) bool { return reflect.DeepEqual(d.asked, asked) }); i >= 0 {
		return added{TaskID: b.got.Tasks[i].ID, Total: len(b.plan().Tasks), Warnings: b.drafts[i].warnings}, nil
	}
	t := asked
	t.DependsOn = slices.Clone(asked.DependsOn)
	known, p := len(b.scope.State.Plan.Tasks), b.plan()
	p.Tasks = slices.Clone(p.Tasks)
	at := -1 // of the task in this run's own
	if t.ID == "" {
		t.ID = plan.NextID(p)
	} else if i := p.Find(t.ID); i >= known && replace {
		at, t.ID = i-known, p.Tasks[i].ID
	} else if i >= known {
		return nil, refuse("leave id out to get the next free one; replace: true puts this in its place",
			"the id %s is taken by a task that you added", p.Tasks[i].ID)
	} else if i >= 0 {
		return nil, refuse("leave id out to get the next free one", "the id %s is taken by a task of the plan", p.Tasks[i].ID)
	}
	if at < 0 && len(b.got.Tasks) >= maxAdded {
		return nil, refuse("end your run", "%d tasks were added in this run, more are not taken", maxAdded)
	}
	for n, dep := range t.DependsOn {
		if i := p.Find(dep); i >= 0 {
			t.DependsOn[n] = p.Tasks[i].ID // as the plan writes it
		}
	}
	before := p
	p.Tasks = slices.Clone(p.Tasks)
	if at >= 0 {
		p.Tasks[known+at] = t
	} else {
		p.Tasks = append(p.Tasks, t)
	}
	errs, warnings := b.problems(p, before)
	if err := several("nothing was added: fix it and call again; tasks are added in the order in which they are done",
		errs); err != nil {
		return nil, err
	}
	if at >= 0 {
		b.got.Tasks, b.drafts = slices.Clone(b.got.Tasks), slices.Clone(b.drafts)
		b.got.Tasks[at], b.drafts[at] = t, draft{asked, warnings}
	} else {
		b.got.Tasks, b.drafts = append(b.got.Tasks, t), append(b.drafts, draft{asked, warnings})
	}
	return added{TaskID: t.ID, Total: len(p.Tasks), Warnings: warnings}, nil
}

// taskFrom makes a task of the arguments.
func taskFrom(v values) (plan.Task, error) {
	t := plan.Task{ID: plan.TaskID(v.text("id")), Title: brief(text(v.text("title")), plan.MaxTitle),
		Description: text(v.text("description")), Status: plan.Pending,
		Priority: v.int("priority", 1), Criteria: cleanAll(v.texts("criteria")),
		Verify: slices.Concat(v.texts("verify")), Skills: cleanAll(v.texts("skills")),
		Libraries: cleanAll(v.texts("libraries")), NeedsDocs: v.bool("needs_docs"),
		Spec: brief(text(v.text("spec")), 1000), MaxTurns: v.int("max_turns", 0),
		EstimatedTokens: int64(v.int("estimated_tokens", 0)), Notes: text(v.text("notes")),
		AllowTestChanges: v.bool("allow_test_changes"), NoChangeExpected: v.bool("no_change_expected")}
	for _, dep := range v.texts("depends_on") {
		t.DependsOn = append(t.DependsOn, plan.TaskID(dep))
	}
	if v.has("max_attempts") {
		n := v.int("max_attempts", 0)
		t.MaxAttempts = &n
	}
	var problems []string
	for i, cmd := range t.Verify {
		// A command is run as it is written, so it is not repaired silently.
		if notes.Clean(cmd) != cmd {
			problems = append(problems, fmt.Sprintf("entry %d of verify holds characters that are not shown", i+1))
		}
	}
	if t.Title == "" {
		problems = append(problems, "title is missing")
	}
	return t, several("write commands in plain characters", problems)
}

func cleanAll(list []string) []string {
	var out []string
	for _, s := range list {
		if s = text(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// problems are those that p has and the plan before had not.
func (b *Box) problems(p, before plan.Plan) (errs, warnings []string) {
	for _, problem := range b.scope.Critic.New(before, p) {
		if line := strings.TrimSpace(problem.Text); problem.Warning {
			warnings = append(warnings, line)
		} else {
			errs = append(errs, line)
		}
	}
	return errs, warnings
}
