package worktree

// reuseBase reuses the base's slice of files for out; the caller guarantees that
// no other scan holds it. Out already has the files that are new.
func (t *task) reuseBase(out *node, seen []bool) {
	files := t.base.files
	t.taken = true
	k := 0
	for i := range files {
		f := files[i]
		if !seen[i] {
			ok := !out.added(f.name)
			if ok {
				f, ok = gone(f)
			}
			t.changed = t.changed || !sameInTree(&files[i], &f) || !ok
			if !ok {
				continue
			}
		}
		files[k] = f
		k++
	}
	for i := range out.files {
		t.changed = t.changed || out.files[i].inTree()
	}
	out.files = append(files[:k], out.files...)
}

// found adds what a known file is now.
func (t *task) found(out *node, f *file, now file) {
	if !t.own {
		out.files = append(out.files, now)
		return
	}
	t.changed = t.changed || !sameInTree(f, &now)
	*f = now
}

// sameInTree reports whether a tree has the same for two files of one name.
func sameInTree(a, b *file) bool {
	return a.inTree() == b.inTree() && (!a.inTree() || a.id == b.id && a.mode == b.mode)
}
