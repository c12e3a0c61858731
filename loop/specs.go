package loop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sort"
	"strings"

	agentctx "git-ralph/context"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/notes"
	"git-ralph/plan"
)

// specsDir is where requirements live in the worktree.
const specsDir = "specs"

// Bounds of what is read of specs.
const (
	maxSpecFile     = 1 << 20 // bytes
	maxSpecFiles    = 500
	maxSpecCriteria = 500
)

// Spec is one file of requirements and what the harness thinks of it.
type Spec struct {
	Path     string // specs/login.md
	Title    string
	Criteria []string // of the acceptance checklist, trimmed, each once
	// Problems keep it from being a spec, Warnings do not.
	Problems []string
	Warnings []string
}

// specHeading matches an ATX heading and its level.
var specHeading = lazyregexp.New(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)

// specItem matches an entry of a checklist.
var specItem = lazyregexp.New(`^\s*(?:[-*+]|\d{1,4}[.)])[ \t]+\[[ xX]\][ \t]+(\S.*?)\s*$`)

// listItem matches any entry of a list, which ends the entry before it.
var listItem = lazyregexp.New(`^\s*(?:[-*+]|\d{1,4}[.)])[ \t]`)

// measured matches what makes a success criterion measurable: a figure, a
// command or a quoted value.
var measured = lazyregexp.New("[0-9]|`[^`]+`|\"[^\"]+\"")

// ParseSpec reads a spec. Headings count in any case and at any level;
// whatever is inside a code fence or a comment does not. It never fails: what
// is wrong is in Problems, all of it.
func ParseSpec(name string, data []byte) Spec {
	sp := Spec{Path: name}
	seen := map[string]string{} // heading → text below it
	section, level := "", 0
	collecting := false
	criteria := map[string]bool{}
	last := -1
	for _, line := range specLines(notes.Clean(string(data))) {
		if m := specHeading().FindStringSubmatch(line); m != nil {
			title := strings.TrimSpace(m[2])
			if sp.Title == "" && title != "" {
				sp.Title = notes.OneLine(title, 120)
			}
			last = -1
			if s := specSection(title); s != "" {
				section, level, collecting = s, len(m[1]), s == "acceptance criteria"
				seen[section] += ""
				if section == "constraints" && strings.Contains(strings.ToLower(title), "non") {
					seen["non-goals"] = "" // one heading for both
				}
			} else if len(m[1]) <= level {
				section, level, collecting = "", 0, false
			}
			continue
		}
		if section != "" {
			seen[section] += strings.TrimSpace(line)
		}
		if !collecting {
			continue
		}
		switch m := specItem().FindStringSubmatch(line); {
		case m != nil && len(sp.Criteria) < maxSpecCriteria:
			text := strings.TrimSpace(m[1])
			last = -1
			if !criteria[text] {
				criteria[text] = true
				sp.Criteria = append(sp.Criteria, text)
				last = len(sp.Criteria) - 1
			}
		case m != nil:
			last = -1
		case last >= 0 && strings.TrimSpace(line) != "" && (line[0] == ' ' || line[0] == '\t') &&
			!listItem().MatchString(line):
			sp.Criteria[last] += " " + strings.TrimSpace(line) // an entry that goes on
		default:
			last = -1
		}
	}
	sp.judge(seen)
	return sp
}

func (sp *Spec) judge(seen map[string]string) {
	if sp.Title == "" {
		sp.Title = strings.TrimSuffix(path.Base(sp.Path), ".md")
	}
	for _, want := range []string{"problem statement", "success criteria", "constraints", "acceptance criteria"} {
		text, ok := seen[want]
		switch {
		case !ok:
			sp.Problems = append(sp.Problems, fmt.Sprintf("no heading %q", titled(want)))
		case want == "acceptance criteria":
		case text == "":
			sp.Problems = append(sp.Problems, fmt.Sprintf("nothing under %q", titled(want)))
		}
	}
	if _, ok := seen["acceptance criteria"]; ok && len(sp.Criteria) == 0 {
		sp.Problems = append(sp.Problems, "no checklist under \"Acceptance Criteria\": at least one line `- [ ] …`")
	}
	if len(sp.Criteria) == maxSpecCriteria {
		sp.Warnings = append(sp.Warnings, fmt.Sprintf("only the first %d acceptance criteria are judged", maxSpecCriteria))
	}
	if _, ok := seen["non-goals"]; !ok {
		sp.Warnings = append(sp.Warnings, "no heading \"Non-Goals\"")
	}
	if text := seen["success criteria"]; text != "" && !measured().MatchString(text) {
		sp.Warnings = append(sp.Warnings, "the success criteria name nothing that can be measured")
	}
}

func titled(heading string) string {
	words := strings.Fields(heading)
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, " ")
}

// specSection is the section that a heading begins, "" for any other heading.
func specSection(title string) string {
	t := strings.ToLower(strings.Trim(title, " \t*_:`0123456789.)"))
	t = strings.Join(strings.Fields(strings.NewReplacer("‑", "-", "–", "-", "—", "-").Replace(t)), " ")
	switch t {
	case "problem statement", "success criteria", "acceptance criteria", "constraints":
		return t
	case "constraints and non-goals", "constraints & non-goals", "constraints and non goals", "constraints and nongoals":
		return "constraints"
	case "non-goals", "non goals", "nongoals":
		return "non-goals"
	}
	return ""
}

// specLines is the text without code fences and comments, and with headings
// that are underlined in the form of the others.
func specLines(text string) []string {
	var out []string
	fence := ""
	comment := false
	if rest, ok := strings.CutPrefix(text, "---\n"); ok { // front matter
		if _, body, ok := strings.Cut(rest, "\n---\n"); ok {
			text = body
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if comment {
			if i := strings.Index(line, "-->"); i >= 0 {
				comment, line = false, line[i+3:]
			} else {
				continue
			}
		}
		for {
			i := strings.Index(line, "<!--")
			if i < 0 {
				break
			}
			if j := strings.Index(line[i:], "-->"); j >= 0 {
				line = line[:i] + line[i+j+3:]
				continue
			}
			line, comment = line[:i], true
		}
		trimmed = strings.TrimSpace(line)
		if n := len(trimmed) - len(strings.TrimLeft(trimmed, "`")); n >= 3 {
			fence = trimmed[:n]
			continue
		} else if n := len(trimmed) - len(strings.TrimLeft(trimmed, "~")); n >= 3 {
			fence = trimmed[:n]
			continue
		}
		if n := len(out); n > 0 && len(trimmed) >= 3 && strings.TrimSpace(out[n-1]) != "" &&
			!specHeading().MatchString(out[n-1]) && !listItem().MatchString(out[n-1]) {
			if strings.Trim(trimmed, "=") == "" {
				out[n-1] = "# " + strings.TrimSpace(out[n-1])
				continue
			} else if strings.Trim(trimmed, "-") == "" {
				out[n-1] = "## " + strings.TrimSpace(out[n-1])
				continue
			}
		}
		out = append(out, line)
	}
	return out
}

// Uncovered names the acceptance criteria of the specs below root for which a
// plan has no task, one line a spec.
func Uncovered(root string, p plan.Plan) ([]string, error) {
	specs, err := ReadSpecs(root)
	return uncovered(p, specFiles(specs)), err
}

func uncovered(p plan.Plan, specs []agentctx.SpecFile) []string {
	var out []string
	for _, sp := range specs {
		left := plan.Uncovered(p, sp.Criteria)
		if len(left) == 0 {
			continue
		}
		for i, c := range left {
			left[i] = `"` + notes.OneLine(c, 100) + `"`
		}
		more := ""
		if n := len(left) - 3; n > 0 {
			left, more = left[:3], fmt.Sprintf(" and %d more", n)
		}
		out = append(out, fmt.Sprintf("%s: no task covers %s%s", sp.Path, strings.Join(left, ", "), more))
	}
	return out
}

// ReadSpecs reads specs/*.md below root, in the order of their names. None is
// no error. Links are not followed: they could name any file of the machine.
func ReadSpecs(root string) ([]Spec, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("read the specs: %w", err)
	}
	defer r.Close()
	list, err := fs.ReadDir(r.FS(), specsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the specs: %w", err)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	var out []Spec
	for _, f := range list {
		if !isSpec(specsDir + "/" + f.Name()) {
			continue
		}
		name := specsDir + "/" + f.Name()
		if len(out) == maxSpecFiles {
			return nil, fmt.Errorf("read the specs: there are more than %d", maxSpecFiles)
		}
		info, err := f.Info()
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		switch {
		case !info.Mode().IsRegular():
			out = append(out, Spec{Path: name, Title: f.Name(), Problems: []string{"it is not a regular file"}})
			continue
		case info.Size() > maxSpecFile:
			out = append(out, Spec{Path: name, Title: f.Name(), Problems: []string{fmt.Sprintf("it has %d bytes, more than %d",
				info.Size(), maxSpecFile)}})
			continue
		}
		data, err := r.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		out = append(out, ParseSpec(name, data))
	}
	return out, nil
}

// isSpec says whether a path of the worktree is a spec: a Markdown file
// directly under specs/, other than its README.
func isSpec(name string) bool {
	dir, file := path.Split(name)
	return dir == specsDir+"/" && strings.EqualFold(path.Ext(file), ".md") && !strings.EqualFold(file, "README.md")
}

// specFiles are the specs as prompts and tools want them: those that can be
// used.
func specFiles(specs []Spec) []agentctx.SpecFile {
	var out []agentctx.SpecFile
	for _, sp := range specs {
		if len(sp.Problems) == 0 || len(sp.Criteria) > 0 {
			out = append(out, agentctx.SpecFile{Path: sp.Path, Title: sp.Title, Criteria: sp.Criteria})
		}
	}
	return out
}
