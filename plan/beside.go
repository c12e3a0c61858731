package plan

import (
	"path"
	"slices"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// pathLike finds words that name a file or a folder: with a slash in them, or with
// the ending of a file.
var pathLike = lazyregexp.New(strings.Join([]string{
	`[A-Za-z0-9_.@+-]*(?:/[A-Za-z0-9_.@+*-]+)+/?`,  // lib/parse.js, internal/cli/
	`[A-Za-z0-9_.@+-]+/`,                           // lib/
	`[A-Za-z0-9_@+-]+\.[A-Za-z][A-Za-z0-9]{1,4}\b`, // x.js
	`[A-Za-z0-9_@+-]{2,}\.[chr]\b`,                 // main.c
}, "|"))

// webAddress is no path, however many slashes it has.
var webAddress = lazyregexp.New(`[a-z]+://\S+`)

// Paths are the files and folders that a task names in its title, its description
// and its criteria.
func Paths(t Task) []string {
	var out []string
	for _, text := range append([]string{t.Title, t.Description}, t.Criteria...) {
		for _, word := range pathLike().FindAllString(webAddress().ReplaceAllString(text, ""), -1) {
			p := strings.TrimPrefix(path.Clean(strings.TrimRight(word, ".*")), "/")
			if p != "." && p != "" && p != "and/or" && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// meet reports whether two lists name one file, or one a folder that the other is in.
func meet(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y || strings.HasPrefix(x, y+"/") || strings.HasPrefix(y, x+"/") {
				return true
			}
		}
	}
	return false
}

// NextBeside is the task to work on beside others that are in work: the first that
// could be worked on now and that names no path which one of them names.
func NextBeside(p Plan, busy []TaskID) (TaskID, bool) {
	var taken []string
	for _, id := range busy {
		if i := p.Find(id); i >= 0 {
			taken = append(taken, Paths(p.Tasks[i])...)
		}
	}
	done := p.doneTasks()
	best := -1
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if best >= 0 && t.Priority >= p.Tasks[best].Priority || !runnable(t, done) {
			continue
		}
		if !slices.ContainsFunc(busy, func(id TaskID) bool { return Fold(id) == Fold(t.ID) }) && !meet(Paths(*t), taken) {
			best = i
		}
	}
	if best < 0 {
		return "", false
	}
	return p.Tasks[best].ID, true
}
