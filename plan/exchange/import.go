// Package exchange reads work lists of other tools and writes them: a file a
// format, and one reader for all that is JSON, because those formats differ in
// their keys only. What one side cannot say is reported as Lost, never dropped
// in silence.
package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// Format names a file format of a work list.
type Format string

// The formats that Import reads and Export writes.
const (
	FormatTOML           Format = "toml"                // our own: goal, created, [[tasks]]
	FormatJSON           Format = "json"                // the array of `tasks --json`
	FormatPlan           Format = "plan"                // plan.json: depends_on, acceptance_criteria, order
	FormatImplementation Format = "implementation-plan" // implementation_plan.json: dependencies, verification_criteria
	FormatPRD            Format = "prd"                 // prd.json with tasks: todo, in_progress, done, failed
	FormatStories        Format = "user-stories"        // prd.json with userStories and passes
	FormatTaskMaster     Format = "task-master"         // tasks.json, flat or tagged
	FormatMarkdown       Format = "markdown"            // a checklist
	FormatIssues         Format = "issues"              // gh issue list --json number,title,body,labels
)

// Formats is every format, in the order of the documentation.
func Formats() []Format {
	return []Format{
		FormatTOML, FormatJSON, FormatPlan, FormatImplementation, FormatPRD,
		FormatStories, FormatTaskMaster, FormatMarkdown, FormatIssues,
	}
}

// ParseFormat reads a format's name, or the file name that it is known by
// (plan.json, prd.json, tasks.json, plan.md …).
func ParseFormat(name string) (Format, error) {
	key := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	for _, f := range Formats() {
		if key == string(f) {
			return f, nil
		}
	}
	switch key {
	case "plan.json":
		return FormatPlan, nil
	case "implementation_plan.json", "implementation_plan", "implementation-plan.json":
		return FormatImplementation, nil
	case "prd.json":
		return FormatPRD, nil
	case "userstories", "stories", "user_stories":
		return FormatStories, nil
	case "tasks.json", "taskmaster":
		return FormatTaskMaster, nil
	case "md", "checklist":
		return FormatMarkdown, nil
	case "github", "gh", "issues.json":
		return FormatIssues, nil
	}
	switch path.Ext(key) {
	case ".toml":
		return FormatTOML, nil
	case ".md", ".markdown":
		return FormatMarkdown, nil
	case ".json":
		return FormatJSON, nil
	}
	names := make([]string, 0, len(Formats()))
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return "", fmt.Errorf("format %q is not known; known are %s", text.Clip(name, 60), strings.Join(names, ", "))
}

// MaxFile is the largest file that Import reads, in bytes.
const MaxFile = 64 << 20

// Options of Import. The zero value detects the format and knows no checks.
type Options struct {
	// Format forces a format; empty = found out from the content.
	Format Format
	// CheckNames are the names and kinds of the configured checks. A criterion
	// that is one of them, or one of the general names (test, tests, lint,
	// typecheck, format_check, all), goes to verify as well.
	CheckNames []string
	// Known are ids outside the file on which its tasks may depend: those of the
	// plan that it will be merged into.
	Known []plan.TaskID
	// Tag of a task-master file with several lists; empty = "master", else the first.
	Tag string

	keepInProgress bool // for the comparison of exports: nothing is being started
}

// Imported is a plan from elsewhere.
type Imported struct {
	Plan     plan.Plan
	Format   Format
	Places   plan.Places
	Warnings plan.Problems
	// Lost is what the file said and a plan has no place for.
	Lost []Lost
}

// Lost is a field whose value did not survive an import or an export.
type Lost struct {
	Field string `json:"field"`
	// Tasks it happened to; empty for a field of the file as a whole.
	Tasks []plan.TaskID `json:"tasks,omitempty"`
	// Why, in a few words; empty when the field is only unknown to the other side.
	Why string `json:"why,omitempty"`
}

// String is one line for people.
func (l Lost) String() string {
	s := l.Field
	if l.Why != "" {
		s += ": " + l.Why
	}
	switch n := len(l.Tasks); {
	case n == 0:
		return s
	case n == 1:
		return fmt.Sprintf("%s (%s)", s, l.Tasks[0])
	default:
		return fmt.Sprintf("%s (%d tasks)", s, n)
	}
}

// Import reads a work list of any of the Formats. name is the file as the user
// named it, or "-". Unknown keys are errors in our own TOML, where they are
// slips, and Lost elsewhere, where they are another tool's. The error is a
// Problems with everything that is wrong, or says that the format is not known.
func Import(name string, data []byte, opts Options) (Imported, error) {
	if name == "" || name == "-" {
		name = "standard input"
	}
	if len(data) > MaxFile {
		return Imported{}, plan.Problems{{Source: name, Text: fmt.Sprintf("the file is larger than %d MB", MaxFile>>20)}}
	}
	data = decodeText(data)
	im := &importer{Collector: plan.Collector{Source: name}, opts: opts, format: opts.Format,
		syntax: syntaxOf(name, data)}
	if im.format == "" {
		var err error
		if im.format, err = detect(name, im.syntax, data); err != nil {
			return Imported{}, err
		}
	}
	im.places.Source = name
	switch im.format {
	case FormatTOML:
		im.toml(data)
	case FormatMarkdown:
		im.words(string(data))
	default:
		if im.syntax == "" {
			im.syntax = syntaxJSON
		}
		im.json(data)
	}
	plan.NumberTasks(im.plan.Tasks, im.places, im.opts.Known)
	im.secondIDs()
	im.dependencies()
	// Problems of reading come first: what they left out would be reported again.
	if len(im.Problems.Errors()) == 0 {
		known := make(map[string]bool, len(opts.Known))
		for _, id := range opts.Known {
			known[plan.Fold(id)] = true
		}
		im.Problems = append(im.Problems, plan.Check(im.plan, im.places, known)...)
	}
	if err := im.Problems.Err(); err != nil {
		return Imported{}, err
	}
	if len(im.plan.Tasks) == 0 {
		return Imported{}, plan.Problems{{Source: name, Text: "the file contains no task", Hint: knownFormatsHint}}
	}
	return Imported{
		Plan: im.plan, Format: im.format, Places: im.places, Warnings: im.Problems.Warnings(), Lost: im.lost.list,
	}, nil
}

const knownFormatsHint = "import reads a plan in TOML ([[tasks]]), plan.json, implementation_plan.json, prd.json, " +
	"task-master tasks.json, such lists in YAML, a Markdown checklist (- [ ]), gh issue list --json " +
	"number,title,body,labels, and what trackers export as CSV, JSON or XML"

// decodeText takes off byte order marks; some shells redirect in UTF-16.
func decodeText(data []byte) []byte {
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		return rest
	}
	little := bytes.HasPrefix(data, []byte("\xff\xfe"))
	if !little && !bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		lo, hi := data[i], data[i+1]
		if !little {
			lo, hi = hi, lo
		}
		units = append(units, uint16(hi)<<8|uint16(lo))
	}
	return []byte(string(utf16.Decode(units)))
}

// detect finds the format by the content. The name decides only if the content
// is ambiguous or broken.
func detect(name string, as syntax, data []byte) (Format, error) {
	text := bytes.TrimSpace(data)
	ext := strings.ToLower(path.Ext(name))
	if len(text) == 0 {
		return "", plan.Problems{{Source: name, Text: "the file is empty", Hint: knownFormatsHint}}
	}
	if as != "" {
		root, err := parseDocument(as, data)
		if err != nil {
			return "", plan.Problems{{Source: name, Line: err.Line, Text: fmt.Sprintf("the file is not valid %s: %s", as,
				err.Text)}}
		}
		switch f := detectJSON(root); {
		case f != "" && (as == syntaxCSV || as == syntaxXML):
			return FormatIssues, nil
		case f == FormatJSON && as == syntaxYAML: // not what we print
			return FormatPRD, nil
		case f != "":
			return f, nil
		}
		return "", plan.Problems{{Source: name, Text: fmt.Sprintf("the %s contains no list of tasks", as),
			Hint: knownFormatsHint}}
	}
	if strings.EqualFold(path.Base(name), "todo.txt") || ext == ".org" {
		return FormatMarkdown, nil
	}
	boxes, keys, markdown := false, false, false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if _, _, ok := cutBox(line); ok {
			boxes = true
		}
		if !boxes && ext == "" && (strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "### ") ||
			len(cells(line)) > 1) {
			markdown = true
		}
		if item, ok := cutBullet(line); ok && ext == "" {
			_, known, _ := marked(item)
			markdown = markdown || known
		}
		if strings.HasPrefix(line, "[[tasks]]") || strings.HasPrefix(line, "[[ tasks") || tomlKeyLine(line) {
			keys = true
		}
	}
	switch {
	case ext == ".toml" || keys && !(boxes && (ext == ".md" || ext == ".markdown")):
		return FormatTOML, nil
	case boxes || markdown || ext == ".md" || ext == ".markdown":
		return FormatMarkdown, nil
	}
	return "", plan.Problems{{Source: name, Text: "the file is not a work list in a known format", Hint: knownFormatsHint}}
}

// tomlKeyLine: a line that begins with one of our own top keys and "=".
func tomlKeyLine(line string) bool {
	key, _, ok := strings.Cut(line, "=")
	return ok && slices.Contains([]string{"goal", "created", "tasks", "id", "title"}, strings.TrimSpace(key))
}

// importer reads one foreign file.
type importer struct {
	plan.Collector
	opts   Options
	format Format
	syntax syntax
	plan   plan.Plan
	places plan.Places
	lost   losses
	// renamed are new ids by the ids in the file.
	renamed map[plan.TaskID]plan.TaskID
	// unknown are words for states that no table has, with the tasks that have them.
	unknown losses
	// fractions are priorities that are no whole numbers, by the task's place.
	fractions map[int]*big.Rat
}

// losses gathers what is lost, each field once, in the order of first sight.
type losses struct {
	list []Lost
	at   map[string]int
}

func (l *losses) add(field, why string, task plan.TaskID) {
	if l.at == nil {
		l.at = make(map[string]int)
	}
	i, ok := l.at[field]
	if !ok {
		i = len(l.list)
		l.at[field] = i
		l.list = append(l.list, Lost{Field: field, Why: why})
	}
	// Tasks come one after another, so a repetition can only be the last.
	if list := l.list[i].Tasks; task != "" && (len(list) == 0 || list[len(list)-1] != task) {
		l.list[i].Tasks = append(list, task)
	}
}

// settle finishes one task. An imported task is not in work. Criteria of other
// tools that the harness can run become commands. In our own formats verify
// already says what is run.
func (im *importer) settle(t *plan.Task) {
	if t.Status == plan.InProgress && !im.opts.keepInProgress {
		t.Status = plan.Pending
	}
	if t.Title == "" {
		t.Title = plan.TitleFrom(t.Description)
	}
	// A list that is too long is refused later; here it would only cost time.
	if im.format == FormatTOML || im.format == FormatJSON || len(t.Criteria) > plan.MaxItems {
		return
	}
	for _, criterion := range t.Criteria {
		if v, ok := im.opts.runnableCriterion(criterion); ok && !slices.Contains(t.Verify, v) {
			t.Verify = append(t.Verify, v)
		}
	}
}

// runnableCriterion: a criterion that is the name of a check, or has the form
// `cmd` passes. A sentence that merely contains a command is not run.
func (o Options) runnableCriterion(criterion string) (string, bool) {
	c := strings.TrimSpace(criterion)
	if slices.Contains([]string{"test", "tests", "lint", "typecheck", "format_check", "all"}, c) ||
		slices.Contains(o.CheckNames, c) {
		return c, true
	}
	rest, ok := strings.CutPrefix(c, "`")
	if !ok {
		return "", false
	}
	cmd, tail, ok := strings.Cut(rest, "`")
	tail = strings.ToLower(strings.TrimRight(strings.TrimSpace(tail), "."))
	cmd = strings.TrimSpace(cmd)
	return cmd, ok && cmd != "" && tail == "passes"
}

func (im *importer) dependencies() {
	known := make(map[string]plan.TaskID, len(im.opts.Known))
	for _, id := range im.opts.Known {
		known[plan.Fold(id)] = id
	}
	im.byTitle(known)
	plan.CanonicalDependencies(im.plan.Tasks, known)
	if !im.tracker() {
		return
	}
	// A tracker may export only some of its issues; drop dependencies on the others.
	for i := range im.plan.Tasks {
		known[plan.Fold(im.plan.Tasks[i].ID)] = im.plan.Tasks[i].ID
	}
	for i := range im.plan.Tasks {
		t := &im.plan.Tasks[i]
		t.DependsOn = slices.DeleteFunc(t.DependsOn, func(id plan.TaskID) bool {
			_, ok := known[plan.Fold(id)]
			if !ok {
				im.lost.add("depends_on", "what they wait on is not in the file", t.ID)
			}
			return !ok
		})
	}
}

// IsUnknownFormat reports whether err of Import is about the file as a whole and
// not about its tasks; a caller may then offer to plan from the text instead.
func IsUnknownFormat(err error) bool {
	var ps plan.Problems
	return errors.As(err, &ps) && len(ps) == 1 && ps[0].Hint == knownFormatsHint
}
