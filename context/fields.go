package agentctx

import "slices"

// Field is something a template may ask for with {{name}}.
type Field struct {
	Name string
	Help string
	// Roles that have it. A field that a role's prompt cannot fill in is not
	// known there, so that no template gets an empty text for good.
	Roles []Role
}

// Fields returns every field of the templates. doc/templates.md lists the
// same; a test compares the two.
func Fields() []Field {
	all := slices.DeleteFunc(Roles(), func(r Role) bool { return r == HandoffRepair })
	work := []Role{Building, FirstIteration, WindowHandoff, ContextPrep, ContextPost, Reviewer, Indexer}
	helpers := []Role{ContextPrep, ContextPost, Indexer, Reviewer}
	return []Field{
		{"goal", "the project's goal, one line", all},
		{"phase", "discovery, planning, building or validation", all},
		{"iteration", "number of the iteration", all},
		{"done", "number of tasks done", all},
		{"total", "number of tasks", all},
		{"checks", "the configured checks as a list: name, kind and command", all},
		{"toolchain", "test, lint, typecheck, add and sync commands as a list", all},
		{"handoff", "how to leave the handoff, and its fields", []Role{Building, HandoffRepair, WindowHandoff}},
		{"subagents", "rules and token limits for sub-agents", []Role{Building, Planning, Validation}},
		{"task_id", "id of the task", work},
		{"task_title", "title of the task", work},
		{"task", "the whole task: id, title, description, criteria, commands", work},
		{"criteria", "the task's criteria as a checklist", work},
		{"verify", "the task's own commands as a list", work},
		{"attempt", "number of the attempt", work},
		{"failure", "why the attempt before was rejected", work},
		{"no_change_expected", "\"yes\" when the task needs no change of files", []Role{Building}},
		{"bug", "\"yes\" when a test of the change has to fail on the code before it", []Role{Building}},
		{"allow_test_changes", "\"yes\" when the task may change or remove tests", []Role{Building}},
		{"protected", "paths whose change rejects the iteration", []Role{Building}},
		{"window_percent", "share of the context window at which a handoff is asked for", []Role{Building, WindowHandoff}},
		{"ask", "\"yes\" when ralph_ask_user is offered", []Role{Building, Discovery}},
		{"request", "what the person asked for", []Role{Discovery, Planning}},
		{"answers", "questions asked so far, with their answers", []Role{Discovery, Planning}},
		{"max_questions", "how many questions may be asked", []Role{Discovery}},
		{"specs", "the files under specs/ as a list", []Role{Discovery, Planning, Validation}},
		{"plan", "the present plan; in planning the open tasks whole", []Role{Planning, Validation}},
		{"replaces", "not empty when the open tasks are replaced", []Role{Planning}},
		{"task_tokens", "the size a task aims at, in tokens", []Role{Planning}},
		{"spec_criteria", "acceptance criteria of every spec", []Role{Validation}},
		{"browser", "\"yes\" when a browser tool is configured", []Role{Validation}},
		{"problems", "what is wrong with the handoff, one a line", []Role{HandoffRepair}},
		{"manifest", "the files in $RALPH_CONTEXT_DIR, one a line", helpers},
		{"research", "topics that the last handoff wants looked up", []Role{ContextPrep}},
		{"signals", "confidence, review request and stuck detection", []Role{ContextPrep, ContextPost}},
		{"prepared_tokens", "most tokens of the prepared prompt", []Role{ContextPrep}},
		{"min_bytes", "fewest bytes of the prepared prompt", []Role{ContextPrep}},
		{"verdict", "keep or reject, with the reasons", []Role{ContextPost, Reviewer}},
		{"why", "the trigger that fired", []Role{Indexer}},
		{"handoffs", "key decisions of the handoffs not indexed yet, as JSON", []Role{Indexer}},
		{"knowledge", "the active entries, with their ids", []Role{Indexer, ContextPost}},
		{"pass", "name of the pass", []Role{Reviewer}},
		{"files", "changed files, one a line", []Role{ContextPost, Reviewer}},
	}
}

// fieldNames lists the fields a role's template may use.
func fieldNames(role Role) []string {
	var names []string
	for _, f := range Fields() {
		if slices.Contains(f.Roles, role) {
			names = append(names, f.Name)
		}
	}
	return names
}
