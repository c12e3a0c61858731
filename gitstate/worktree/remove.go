package worktree

import (
	"slices"
)

type removal struct {
	path string
	dir  bool
	spared
}

// removeFile plans to remove what is no folder.
func (r *restorer) removeFile(path string, n *file) {
	x := removal{path: path}
	x.was, x.had = *n, true
	r.removes = append(r.removes, x)
}

// removeNew plans to remove a folder that the checkpoint does not have, apart
// from what is ignored in it.
func (r *restorer) removeNew(d *node) {
	for _, sub := range d.dirs {
		if sub.present {
			r.removeNew(sub)
		}
	}
	left := false
	for i := range d.files {
		f := &d.files[i]
		switch p := join(d.path, f.name); {
		case !f.present():
		case f.class == ignored:
			left = true
		case r.wants(p):
			r.removeFile(p, f)
		}
	}
	for i := range d.extras {
		x := &d.extras[i]
		left = left || x.what == extraIgnored
		if x.name != "" {
			r.compareExtra(join(d.path, x.name), x, nil, outOfTheWay)
		}
	}
	for _, sub := range d.dirs {
		left = left || slices.Contains(r.report.Kept, sub.path)
	}
	switch {
	case left:
		if !slices.Contains(r.report.Kept, d.path) {
			r.report.Kept = append(r.report.Kept, d.path)
		}
	case r.wants(d.path):
		r.removes = append(r.removes, removal{path: d.path, dir: true})
	}
}

// removeAll plans to remove a folder with everything in it.
func (r *restorer) removeAll(d *node) {
	for i := range d.files {
		if f := &d.files[i]; f.present() {
			r.removeFile(join(d.path, f.name), f)
		}
	}
	for i := range d.extras {
		if d.extras[i].what == extraNested {
			r.asides = append(r.asides, join(d.path, d.extras[i].name))
		}
	}
	for _, sub := range d.dirs {
		r.removeAll(sub)
	}
	r.removes = append(r.removes, removal{path: d.path, dir: true})
}
