package agentctx

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// HelperOptions is what a helper agent (context preparation and post,
// indexer, pass) gets in addition to Options.
type HelperOptions struct {
	Options
	// Pass is the pass's name and Template the file it asks for.
	Pass, Template string
	// Handoffs are those not indexed yet, oldest first; nil = the state's
	// recent ones since the last indexing.
	Handoffs []notes.Record
	// Outputs are the newest check outputs, whole.
	Outputs []Output
	// Findings of passes, since the last preparation.
	Findings []string
	// Advice is the last post-processing directive, one line.
	Advice string
	// Verdict and Changed tell a post agent or a pass how the iteration ended.
	Verdict string
	Changed []string
	// Why is the trigger of an indexer.
	Why string
	// Topics are what the previous preparation wanted to be researched.
	Topics []string
	// Stuck says that the last two iterations of the task failed alike.
	Stuck bool
}

// Output is the output of one check.
type Output struct{ Name, Text string }

// File is one that is laid out in $RALPH_CONTEXT_DIR, read-only, for a helper.
// Path is relative and has slashes.
type File struct {
	Path string
	Help string // what the manifest says about it
	Data []byte
}

// Job is the work of a helper agent.
type Job struct {
	Prompt Prompt
	Files  []File
}

// Helper makes the job of a helper agent: a prompt with a manifest of pointers
// and the files they point to. The prompt stays small whatever the files are:
// the agent judges what to open.
func Helper(role Role, s state.State, id plan.TaskID, opt HelperOptions) Job {
	opt.Role = role
	a := newAssembly(s, id, opt.Options)
	a.opt.Role = role
	files := Manifest(s, id, opt)
	v := a.fields()
	v["manifest"] = manifestText(files)
	v["prepared_tokens"] = strconv.Itoa(PreparedLimit(a.opt.window()))
	v["min_bytes"] = strconv.Itoa(MinPrepared)
	v["verdict"] = notes.OneLine(opt.Verdict, 500)
	v["why"] = notes.OneLine(opt.Why, 300)
	v["pass"] = notes.OneLine(opt.Pass, 60)
	v["files"] = changedList(opt.Changed)
	v["signals"] = signals(s, opt)
	topics := opt.Topics
	if s.Handoff != nil {
		topics = append(slices.Clone(s.Handoff.RequestResearch), topics...)
	}
	v["research"] = list(topics, func(t string) string { return notes.OneLine(t, 300) })
	v["knowledge"] = Index(s.Knowledge, helperIndex)
	v["handoffs"] = extracts(unindexed(s, opt))
	tpl := a.opt.templates().pick(role, a.task.Type)
	if role == Reviewer {
		tpl = a.opt.templates().pass(first2(opt.Template, opt.Pass))
	}
	text := tpl.render(v) + "\n"
	job := Job{Files: files}
	job.Prompt = Prompt{Text: text, Tokens: Tokens(len(text), a.factor), BytesPerToken: a.factor, System: System(a.opt),
		Sections: []Section{{Name: Name(role), Text: text, Tokens: Tokens(len(text), a.factor)}}}
	return job
}

// helperIndex bounds the index inside a helper's prompt, in bytes; all of it
// is in knowledge.md.
const helperIndex = 32000

func first2(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func changedList(files []string) string {
	const shown = 50
	text := list(files[:min(len(files), shown)], func(s string) string { return code(notes.OneLine(s, 300)) })
	if n := len(files) - shown; n > 0 {
		text += fmt.Sprintf("\n- and %d more", n)
	}
	return text
}

func unindexed(s state.State, opt HelperOptions) []notes.Record {
	if opt.Handoffs != nil {
		return opt.Handoffs
	}
	var out []notes.Record
	for _, rec := range s.Recent {
		if rec.Origin.Iteration > s.Run.Index.Last {
			out = append(out, rec)
		}
	}
	return out
}

// extracts are the key decisions of handoffs, one JSON object a line.
func extracts(recs []notes.Record) string {
	var lines []string
	for _, rec := range recs {
		lines = append(lines, L2(rec))
	}
	if len(lines) == 0 {
		return ""
	}
	return "```json\n" + strings.Join(lines, "\n") + "\n```"
}

func signals(s state.State, opt HelperOptions) string {
	var lines []string
	if h := s.Handoff; h != nil {
		if h.ConfidenceLevel != "" {
			lines = append(lines, "Confidence of the last handoff: "+h.ConfidenceLevel)
		}
		if r := h.RequestHumanReview; r != nil && r.Needed {
			lines = append(lines, "It asked for a person: "+notes.OneLine(r.Reason, 300))
		}
	}
	if opt.Stuck {
		lines = append(lines, "Stuck: the last two iterations of this task ended in the same way")
	}
	if opt.Advice != "" {
		lines = append(lines, "Advice after the last iteration: "+notes.OneLine(opt.Advice, 500))
	}
	return titled("Signals:", list(lines, func(l string) string { return l }))
}

// Manifest lists the files for a helper agent, in the order in which it
// should look at them. Contents are whole: nothing is truncated for an agent
// that decides itself what to read.
func Manifest(s state.State, id plan.TaskID, opt HelperOptions) []File {
	var files []File
	add := func(p, help, text string) {
		if strings.TrimSpace(text) != "" {
			files = append(files, File{p, help, []byte(strings.TrimRight(text, "\n") + "\n")})
		}
	}
	a := newAssembly(s, id, opt.Options)
	add("task.md", "the task", a.taskText())
	add("failure.md", "why the attempt before was rejected", a.failureText())
	for _, o := range opt.Outputs {
		name := strings.TrimSuffix(o.Name, ".txt") // as the evidence calls it
		add(path.Join("checks", safeName(name)+".txt"), "output of the check "+notes.OneLine(name, 60),
			notes.Clean(o.Text))
	}
	if s.Handoff != nil {
		add("handoff.json", "the last handoff: "+L1(*s.Handoff), handoffJSON(*s.Handoff))
	}
	records := map[string]notes.Record{}
	for _, rec := range append(append([]notes.Record{}, s.Recent...), opt.Handoffs...) {
		records[L3(rec)] = rec
	}
	for _, p := range sortedPaths(records) {
		add(p, L1(records[p]), handoffJSON(records[p]))
	}
	add("knowledge.md", "the knowledge index, active entries", Index(s.Knowledge, 0))
	for _, name := range sortedPaths(s.Memory) {
		add(path.Join("memory", safeName(name)+".md"), "memory: "+notes.OneLine(name, 60), s.Memory[name])
	}
	add("plan.md", "the plan, one line a task", a.planLines())
	for _, sk := range opt.Skills {
		add(path.Join("skills", safeName(sk.Name)+".md"), "skill "+notes.OneLine(sk.Name, 60)+" from "+sk.Path, sk.Text)
	}
	for _, f := range opt.Research {
		add(path.Join("research", safeName(notes.Slug(f.Topic))+".md"), "research: "+notes.OneLine(f.Topic, 100), f.Text)
	}
	add("findings.md", "findings of passes", strings.Join(opt.Findings, "\n"))
	return distinct(files)
}

// distinct gives files of one path a number.
func distinct(files []File) []File {
	seen := map[string]bool{}
	for i := range files {
		ext := path.Ext(files[i].Path)
		stem := strings.TrimSuffix(files[i].Path, ext)
		for n := 2; seen[strings.ToLower(files[i].Path)]; n++ {
			files[i].Path = fmt.Sprintf("%s-%d%s", stem, n, ext)
		}
		seen[strings.ToLower(files[i].Path)] = true
	}
	return files
}

func sortedPaths[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func handoffJSON(rec notes.Record) string {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil { // a RawMessage that is no JSON: cannot come from ParseHandoff
		return ""
	}
	return string(data)
}

// safeName makes a file name of a name that a person chose.
func safeName(s string) string {
	var b strings.Builder
	for _, r := range s {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.'
		if !ok {
			r = '-'
		}
		if b.Len() < 80 {
			b.WriteRune(r)
		}
	}
	if name := strings.Trim(b.String(), ".-"); name != "" {
		return name
	}
	return "file"
}

func manifestText(files []File) string {
	return list(files, func(f File) string { return code(f.Path) + ": " + f.Help })
}

// RepairPrompt asks an agent, in its own session, once more for its handoff.
// raw is what it left, nil for nothing at all; problems say what is wrong.
func RepairPrompt(t *Templates, raw []byte, problems []notes.Problem) string {
	if t == nil {
		t = embedded()
	}
	text := strings.TrimRight(notes.FormatProblems(problems), "\n")
	if text == "" {
		text = "- it is missing"
		if raw != nil {
			text = "- it could not be used"
		}
	}
	return t.pick(HandoffRepair, "").render(map[string]string{"problems": text, "handoff": handoffHow(HandoffRepair)}) +
		"\n"
}

// AskHandoff asks an agent whose window is filling up to hand over; percent 0
// says that a person asked for it.
func AskHandoff(s state.State, id plan.TaskID, opt Options, percent int) string {
	a := newAssembly(s, id, opt)
	a.opt.Role = WindowHandoff
	v := a.fields()
	v["window_percent"] = ""
	if percent > 0 {
		v["window_percent"] = strconv.Itoa(percent)
	}
	return a.opt.templates().pick(WindowHandoff, a.task.Type).render(v) + "\n"
}

// SessionText is what a fresh session of the same iteration is told about the
// one before it (Options.Session), from the handoff it left.
func SessionText(h notes.Handoff) string {
	return paragraphs(strings.TrimSpace(h.Freeform),
		titled("Decisions:", list(h.ArchitecturalNotes, func(s string) string { return notes.OneLine(s, 400) })),
		titled("Constraints:", list(h.ConstraintsDiscovered, func(c notes.Constraint) string {
			return notes.OneLine(c.Constraint, 400)
		})),
		titled("Left to do:", list(h.UnfinishedBusiness, func(u notes.Unfinished) string {
			return notes.OneLine(u.Item, 400)
		})),
		titled("Files:", list(h.FilesTouched[:min(len(h.FilesTouched), 10)],
			func(f notes.FileTouched) string { return notes.OneLine(f.Path, 200) })))
}
