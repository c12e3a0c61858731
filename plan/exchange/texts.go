package exchange

import (
	"strings"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// frontMatter reads the tasks that some tools keep in the YAML above a Markdown
// text; false when there are none.
func (im *importer) frontMatter(words string) bool {
	rest, ok := strings.CutPrefix(words, "---\n")
	if !ok {
		return false
	}
	head, body, ok := strings.Cut(rest, "\n---")
	if !ok {
		return false
	}
	root, fault := located.ParseYAML([]byte("\n" + head)) // the lines of the file
	if fault != nil {
		return false
	}
	found, ok := findTasks(root)
	if !ok || len(found.groups) == 0 || !holdsTasks(found.groups[0].nodes) {
		return false
	}
	im.document(root)
	if strings.Trim(body, "- \n") != "" {
		im.lost.add("text outside the list", "", "")
		im.lost.add("headings", "a plan has no sections", "")
	}
	return true
}

var orgHeading = lazyregexp.New(`^(\*+) (?:([A-Z][A-Z-]{2,})(?:\([^)]*\))? )?` +
	`(?:\[#([A-Z0-9])\] )?(.*?)(?:\s+(:[\w@:]+:))?\s*$`)

// org reads an outline: each heading with a keyword is a task, its text the
// description, and boxes in it are criteria. A file without such headings is a list
// with boxes, as in Markdown; false then.
func (im *importer) org(words string) bool {
	var keywords = map[string]string{}
	lines := strings.Split(text.Clean(words), "\n")
	for _, line := range lines {
		key, value, _ := strings.Cut(line, ":")
		switch strings.ToLower(key) {
		case "#+todo", "#+seq_todo", "#+typ_todo":
			open, done, _ := strings.Cut(value, "|")
			for i, list := range []string{open, done} {
				for _, word := range strings.Fields(list) {
					word, _, _ = strings.Cut(word, "(")
					keywords[word] = []string{"pending", "done"}[i]
				}
			}
		}
	}
	var current *markdownTask
	any := false
	finish := func() {
		if current != nil {
			im.take(current)
		}
		current = nil
	}
	for n, line := range lines {
		if m := orgHeading().FindStringSubmatch(line); m != nil {
			finish()
			status, known := statusWord(m[2])
			if word := keywords[m[2]]; word != "" {
				status, known = plan.Status(word), true
			}
			if m[2] == "" || !known {
				im.lost.add("headings", "a plan has no sections", "")
				continue
			}
			any = true
			current = newMarkdownTask(m[4], false, 0, n+1)
			current.task.Status = status
			if m[3] != "" {
				current.task.Priority = strings.Index("ABCDE", m[3])
				if current.task.Priority < 0 {
					current.task.Priority = 1
				}
			}
			if m[5] != "" {
				im.lost.add("tags", "", current.task.ID)
			}
			continue
		}
		body := strings.TrimSpace(line)
		title, titled := text.CutPrefixFold(body, "#+title:")
		switch {
		case current != nil:
			current.line(line, body, n+1, false, im)
		case titled:
			im.plan.Goal = text.OneLine(title)
		case body != "":
			im.lost.add("text outside the list", "", "")
		}
	}
	finish()
	if !any {
		im.lost, im.plan.Goal = losses{}, ""
	}
	return any
}

var todoLine = lazyregexp.New(`^(x )?(?:\(([A-Z])\) )?(?:\d{4}-\d\d-\d\d ){0,2}(.+)$`)

// todoTxt reads a task a line: "(A) 2026-01-31 title", "x title".
func (im *importer) todoTxt(words string) {
	for n, line := range strings.Split(text.Clean(words), "\n") {
		m := todoLine().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		task := newMarkdownTask(m[3], m[1] != "", 0, n+1)
		if m[2] != "" {
			task.task.Priority = int(m[2][0] - 'A')
		}
		if strings.Count(line, "-") > strings.Count(m[3], "-") {
			im.lost.add("dates", "", task.task.ID)
		}
		im.take(task)
	}
}

// toml reads our own list or another tool's: one with other names, or one whose
// keys all have a place in a plan. In our own list any other key is an error.
func (im *importer) toml(data []byte) {
	im.plan, im.places = im.Collector.ReadPlan(data)
	if len(im.Problems.Errors()) > 0 || len(im.plan.Tasks) == 0 {
		root, fault := located.ParseTOML(data)
		if fault == nil {
			_, ours := root.Fields["tasks"].Value.([]located.Node)
			other := &importer{Collector: plan.Collector{Source: im.Source}, opts: im.opts, format: FormatPRD}
			other.places.Source = im.Source
			if _, ok := findTasks(located.Node{Line: 1, Value: root}); ok {
				other.document(located.Node{Line: 1, Value: root})
				if len(other.Problems.Errors()) == 0 && len(other.plan.Tasks) > 0 && (!ours || len(other.lost.list) == 0) {
					*im = *other
					return
				}
			}
		}
	}
	for i := range im.plan.Tasks {
		im.settle(&im.plan.Tasks[i])
	}
}
