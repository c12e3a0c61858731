package worktree

import (
	"context"
	"crypto/sha1"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate/ignore"
	"git-ralph/gitstate/object"
)

// attributes answer one question about a path: could git convert its contents?
// The answer is on the safe side. Which conversion applies is for git to say.
type attributes struct {
	key     string // equal keys mean equal answers
	all     bool   // core.autocrlf: every file
	lines   []attributeLine
	filters []attributeLine // those of lines that name a filter
	opaque  []attributeLine // and those for which equal sizes prove nothing
	former  []attributeLine // lines of attribute files that have gone or changed since
	reasons map[string]bool // the attributes that were seen
}

// attributeLine is the pattern of a line, and the folder of its file with a
// final slash: it holds for nothing outside.
type attributeLine struct {
	in      string
	pattern *ignore.Rules
}

func (a *attributes) possible() bool { return a.all || len(a.lines)+len(a.former) > 0 }

func (a *attributes) match(path string) bool {
	return a.all || matches(a.lines, path)
}

// filtered reports whether a filter may make something small of a large file.
func (a *attributes) filtered(path string) bool { return matches(a.filters, path) }

// shrinks reports whether git could only remove something from the file on its
// way into the tree: carriage returns and expanded idents. Then a file as long
// as its blob equals it.
func (a *attributes) shrinks(path string) bool {
	return !matches(a.opaque, path) && !matches(a.former, path)
}

// was reports whether git may have converted the file when it wrote it, and nobody
// has read it since.
func (a *attributes) was(path string, f *file) bool {
	return !f.has(bitRead) && matches(a.former, path)
}

func matches(lines []attributeLine, path string) bool {
	for _, l := range lines {
		if strings.HasPrefix(path, l.in) && l.pattern.Match(path, false) == ignore.Ignored {
			return true
		}
	}
	return false
}

// converting are the attributes that make git convert.
func converting(name string) bool {
	switch name {
	case "text", "eol", "crlf", "ident", "filter", "working-tree-encoding":
		return true
	}
	return false
}

// attributesOf reads every source of attributes that holds for the snapshot.
func (c *converter) attributesOf(root *node) *attributes { return c.attributesSince(root, nil) }

// attributesSince is attributesOf, and also with the attribute files that an
// earlier snapshot had and root has no more, or has changed. git wrote the files
// of the worktree by their rules, and a file that it has not looked at since is
// not what its blob is.
func (c *converter) attributesSince(root, before *node) *attributes {
	e := c.e
	a := &attributes{reasons: map[string]bool{}}
	if v := e.settings.autocrlf; v == "true" || v == "input" {
		a.all = true
		a.reasons["core.autocrlf="+v] = true
	}
	h := sha1.New()
	fmt.Fprintf(h, "%s %s\n", e.settings.autocrlf, e.settings.eol)
	type source struct{ text, dir string }
	var present, former []source
	read := func(text []byte, dir string) {
		if len(text) == 0 {
			return
		}
		fmt.Fprintf(h, "%q %q\n", dir, text)
		present = append(present, source{string(text), dir})
	}
	for _, p := range []string{"/etc/gitattributes", "/usr/local/etc/gitattributes", "/opt/homebrew/etc/gitattributes",
		e.settings.attributesFile, filepath.Join(e.repo.CommonDir, "info", "attributes")} {
		if p != "" {
			if b, err := readRegular(p); err == nil {
				read(b, "")
			}
		}
	}
	_ = root.walk(oddAttributes, func(n *node) error {
		f := n.file(".gitattributes")
		if f == nil || f.mode == object.ModeSymlink {
			return nil
		}
		if f.present() {
			if d, err := e.disk.open(n.path); err == nil {
				if b, err := e.readSmall(d, f.name); err == nil {
					read(b, n.path)
				}
				d.close()
			}
		} else if !f.id.IsZero() {
			// git reads it from the index when it is not checked out.
			if b, err := e.repo.Store.ReadType(f.id, object.Blob); err == nil {
				read(b, n.path)
			}
		}
		return nil
	})
	_ = before.walk(oddAttributes, func(n *node) error {
		f := n.file(".gitattributes")
		if f == nil || f.id.IsZero() || f.mode == object.ModeSymlink {
			return nil
		}
		if now := root.fileAt(join(n.path, f.name)); now == nil || now.id != f.id {
			if b, err := e.repo.Store.ReadType(f.id, object.Blob); err == nil {
				fmt.Fprintf(h, "former %q %q\n", n.path, b)
				former = append(former, source{string(b), n.path})
			}
		}
		return nil
	})
	a.key = fmt.Sprintf("%x", h.Sum(nil))
	// A macro counts before its line as well, and so does one that another one names.
	macros := map[string]bool{}
	for n := -1; n != len(macros); {
		n = len(macros)
		for _, s := range slices.Concat(present, former) {
			(&attributes{reasons: map[string]bool{}}).parse(s.text, s.dir, macros, e.settings.ignoreCase)
		}
	}
	for _, s := range present {
		a.parse(s.text, s.dir, macros, e.settings.ignoreCase)
	}
	for _, s := range former {
		old := &attributes{reasons: map[string]bool{}}
		old.parse(s.text, s.dir, macros, e.settings.ignoreCase)
		a.former = append(a.former, old.lines...)
	}
	return a
}

func (a *attributes) parse(text, dir string, macros map[string]bool, fold bool) {
	for _, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = strings.TrimLeft(strings.TrimRight(line, "\r"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		pattern, rest := "", ""
		if line[0] == '"' {
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				continue
			}
			if pattern, err = strconv.Unquote(q); err != nil {
				continue
			}
			rest = line[len(q):]
		} else if i := strings.IndexAny(line, " \t"); i > 0 {
			pattern, rest = line[:i], line[i:]
		}
		hit, filter, opaque := false, false, false
		for _, w := range strings.Fields(rest) {
			if w[0] == '-' || w[0] == '!' {
				continue
			}
			name, val, _ := strings.Cut(w, "=")
			if converting(name) || macros[name] {
				hit = true
				filter = filter || name == "filter" || macros[name]
				opaque = opaque || filter || name == "working-tree-encoding"
				if name == "filter" || name == "working-tree-encoding" {
					name += "=" + val
				}
				a.reasons[name] = true
			}
		}
		if !hit {
			continue
		}
		if m, ok := strings.CutPrefix(pattern, "[attr]"); ok {
			macros[m] = true
			continue
		}
		rule := attributeLine{pattern: (*ignore.Rules)(nil).Push(ignore.Parse([]byte(pattern), dir, fold))}
		if dir != "" {
			rule.in = dir + "/"
		}
		a.lines = append(a.lines, rule)
		if filter {
			a.filters = append(a.filters, rule)
		}
		if opaque {
			a.opaque = append(a.opaque, rule)
		}
	}
}

// seen is a snapshot in which to find attribute files: the newest one or, if
// there is none, one that only looks. It is nil when that fails; then no file
// counts as converted.
func (e *Engine) seen(ctx context.Context) *node {
	if e.last != nil {
		return e.last
	}
	if e.looked == nil {
		base, _, err := e.readNodes(ctx)
		if err != nil {
			return nil
		}
		if e.looked, err = e.scan(ctx, base, forLook); err != nil {
			return nil
		}
	}
	return e.looked
}
