package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
	"git-ralph/plan"
	"git-ralph/plan/exchange"
)

// ImportCmd is `git ralph import`.
type ImportCmd struct {
	File    string `complete:"files" arg:"" help:"The plan; - reads standard input, github:LABEL and gitlab:LABEL read issues."`
	Format  string `complete:"formats" placeholder:"NAME" help:"What the file is, when that is not plain from it."`
	Replace bool   `help:"Let tasks of the file take the place of those with the same id."`
	Tag     string `placeholder:"NAME" help:"The list to take from a file with several."`
	DryRun  bool   `help:"Say what would be taken and change nothing."`
	JSON    bool   `name:"json" help:"Print the result as JSON."`
}

// Help says more.
func (ImportCmd) Help() string {
	return "Formats: " + formatNames() +
		". What is JSON there may be YAML, and tables (CSV) and XML of trackers are read as issues. " +
		"New ids are added behind the plan's own, ids that it has already are refused " +
		"unless --replace, done tasks are never touched. A journal is begun when the branch has none."
}

func formatNames() string {
	var names []string
	for _, f := range exchange.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// importResult is what `import --json` prints.
type importResult struct {
	Format   exchange.Format    `json:"format"`
	Added    []plan.TaskID      `json:"added"`
	Changed  []plan.TaskChanged `json:"changed"`
	Kept     []plan.TaskID      `json:"kept_as_done"`
	Tasks    int                `json:"tasks"`
	Warnings []string           `json:"warnings"`
	Lost     []exchange.Lost    `json:"lost"`
}

// Run reads the plan and merges it.
func (c *ImportCmd) Run(a *App) error {
	opts := exchange.Options{Tag: c.Tag}
	if c.Format != "" {
		f, err := exchange.ParseFormat(c.Format)
		if err != nil {
			return usage("without --format it is detected", "%w", err)
		}
		opts.Format = f
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	data, err := c.read(a, &opts)
	if err != nil {
		return err
	}
	var old plan.Plan
	if snap, err := j.Load(a.Ctx); err == nil {
		old = snap.State.Plan
	} else if !errors.Is(err, journal.ErrNone) {
		return err
	}
	in, err := c.parse(a, data, opts, old)
	if err != nil {
		return err
	}
	fresh, there := withoutRepeats(old, in.Plan)
	merged, change, err := plan.Merge(old, fresh, plan.KnownTasks(c.Replace))
	if err != nil {
		return planProblem(err)
	}
	doubts, err := a.critique(old, merged, in.Places)
	if err != nil {
		return err
	}
	if !c.DryRun {
		source := c.File
		if _, _, ok := c.issues(a); !ok && source != "-" {
			source = filepath.Base(source)
		}
		_, _, err = a.change(func(s state.State) (state.Event, error) {
			var err error
			fresh, there = withoutRepeats(s.Plan, in.Plan)
			if merged, change, err = plan.Merge(s.Plan, fresh, plan.KnownTasks(c.Replace)); err != nil {
				return state.Event{}, planProblem(err)
			}
			old = s.Plan
			p, d := upsert(s.Plan, merged, "import", source)
			if d.Empty() {
				return state.Event{}, journal.ErrNothing
			}
			return state.Event{Type: state.EvPlan, Plan: p}, nil
		})
		if err != nil {
			return err
		}
	}
	if c.JSON {
		r := importResult{Format: in.Format, Added: change.Added, Changed: change.Changed, Kept: change.Kept,
			Tasks: len(merged.Tasks), Lost: in.Lost}
		for _, w := range append(in.Warnings, doubts...) {
			r.Warnings = append(r.Warnings, w.String())
		}
		r.Added, r.Changed, r.Kept = view.List(r.Added), view.List(r.Changed), view.List(r.Kept)
		r.Warnings, r.Lost = view.List(r.Warnings), view.List(r.Lost)
		return a.printJSON(r)
	}
	in.Warnings = append(in.Warnings, doubts...)
	c.tell(a, in, old, merged, change)
	if len(there) > 0 {
		a.printf("in the plan already, with the same text: %s\n", view.JoinIDs(there))
	}
	return nil
}

// parse reads the tasks of a plan in whatever format it is.
func (c *ImportCmd) parse(a *App, data []byte, opts exchange.Options, old plan.Plan) (in exchange.Imported, err error) {
	opts.Known = old.Used()
	set, err := a.Settings(nil, nil)
	if err != nil {
		return in, err
	}
	for _, ck := range set.Checks {
		opts.CheckNames = append(opts.CheckNames, ck.Name, ck.Kind)
	}
	in, err = exchange.Import(c.File, data, opts)
	if exchange.IsUnknownFormat(err) {
		return in, gitstate.Hint(1, "formats: "+formatNames()+"; --format NAME says which; git ralph add --plan "+c.File+
			" lets the planning agent make tasks of it", "%w", err)
	}
	if err != nil {
		return in, err
	}
	if len(in.Plan.Tasks) == 0 {
		return in, gitstate.Hint(1, "a Markdown checklist is the simplest plan: one line `- [ ] what to do` a task",
			"%s has no tasks", c.File)
	}
	if in.Format != exchange.FormatTOML && in.Format != exchange.FormatJSON {
		var words []string
		if in.Plan, words = nameless(in, a.planCritic(set)); len(words) > 0 {
			a.warn("%s names no check of the project and was taken as text alone: add it under [[checks]] in ralph.toml, and "+
				"import again with --replace",
				strings.Join(words, ", "))
		}
	}
	return in, nil
}

// issues says whether the argument means issues, not a file: github:LABEL.
func (c *ImportCmd) issues(a *App) (f forge, label string, ok bool) {
	if a.isFile(c.File) {
		return "", "", false
	}
	for name, f := range map[string]forge{"github:": github, "gitlab:": gitlab} {
		if label, ok := strings.CutPrefix(c.File, name); ok {
			return f, label, true
		}
	}
	return "", "", false
}

// read reads the file, or the issues through the client of the service.
func (c *ImportCmd) read(a *App, opts *exchange.Options) ([]byte, error) {
	f, label, ok := c.issues(a)
	if !ok {
		return a.readInput(c.File)
	}
	if label == "" {
		return nil, usage("git ralph import "+c.File+"ralph takes the open issues with the label ralph", "name a label")
	}
	opts.Format = exchange.FormatIssues
	data, err := f.issues(a, label)
	if none := strings.TrimSpace(string(data)); err == nil && (none == "" || none == "[]") {
		return nil, gitstate.Hint(1, string(f)+" issue list shows what there is", "no open issue has the label %s", label)
	}
	return data, err
}

// withoutRepeats leaves out tasks that came without an id and that the plan
// has under another one, word for word: a checklist that grew is imported
// again. The second result names the plan's tasks.
func withoutRepeats(old, in plan.Plan) (plan.Plan, []plan.TaskID) {
	type text struct{ title, description string }
	have := map[text]plan.TaskID{}
	for _, t := range slices.Backward(old.Tasks) { // the first of several counts
		have[text{strings.ToLower(t.Title), t.Description}] = t.ID
	}
	out := in
	out.Tasks = nil
	other := map[plan.TaskID]plan.TaskID{}
	var there []plan.TaskID
	for _, t := range in.Tasks {
		id, ok := have[text{strings.ToLower(t.Title), t.Description}]
		if ok && numbered(t.ID) && old.Find(t.ID) < 0 {
			other[t.ID] = id
			there = append(there, id)
			continue
		}
		out.Tasks = append(out.Tasks, t)
	}
	for i, t := range out.Tasks {
		for n, dep := range t.DependsOn {
			if id, ok := other[dep]; ok {
				deps := slices.Clone(out.Tasks[i].DependsOn)
				deps[n] = id
				out.Tasks[i].DependsOn = deps
			}
		}
	}
	return out, there
}

// numbered says whether an id has the form of those that import gives.
func numbered(id plan.TaskID) bool {
	digits, ok := strings.CutPrefix(string(id), "T-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// tell says what was taken, what was not, and what comes next.
func (c *ImportCmd) tell(a *App, in exchange.Imported, old, merged plan.Plan, change plan.Change) {
	for _, w := range in.Warnings {
		a.warn("%s", w)
	}
	name := c.File
	if name == "-" {
		name = "standard input"
	}
	switch {
	case change.Empty():
		a.printf("nothing new in %s (format %s)\n", name, in.Format)
	case c.DryRun:
		a.printf("to be imported from %s (format %s): %s\n", name, in.Format, change)
		a.printer().Indented(change.Describe(old, merged), "  ")
	default:
		a.printf("imported %s (format %s): %s\n", name, in.Format, change)
		a.printer().Indented(change.Describe(old, merged), "  ")
	}
	for _, l := range in.Lost {
		a.warn("not taken over: %s", l)
	}
	if c.DryRun {
		return
	}
	if next, ok := plan.Next(merged); ok {
		a.printf("\nnext: git ralph start begins with %s%s\n", next, a.note())
	} else if merged.Complete() {
		a.printf("\nevery task is done\n")
	}
}

// readInput reads a file of the user, or standard input for "-".
func (a *App) readInput(name string) ([]byte, error) {
	var r io.Reader = a.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, gitstate.Hint(1, "name a file that exists, or - for standard input", "%w", err)
		}
		defer f.Close()
		if st, err := f.Stat(); err == nil && st.IsDir() {
			return nil, gitstate.Hint(1, "name a file in it", "%s is a folder", name)
		}
		r = f
	} else if terminal(a.In) {
		fmt.Fprintln(a.Err, "reading standard input; end it with Ctrl-D")
	}
	data, err := io.ReadAll(io.LimitReader(r, exchange.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", name, err)
	}
	if len(data) > exchange.MaxFile {
		return nil, gitstate.Hint(1, "split it", "%s is larger than %d MB", name, exchange.MaxFile>>20)
	}
	return data, nil
}
