package worktree

// maxFolders bounds the look for repositories in ignored folders.
const maxFolders = 50_000

// IgnoredFolders are the ignored folders of the worktree, which hold nothing
// that is captured or restored.
func (c *Checkpoint) IgnoredFolders() (out []string) {
	_ = c.root.walk(oddExtra, func(n *node) error {
		for i := range n.extras {
			if x := &n.extras[i]; x.what == extraIgnored && x.kind == kindDir {
				out = append(out, join(n.path, x.name))
			}
		}
		return nil
	})
	return out
}

// IgnoredRepositories finds other repositories and linked worktrees in ignored
// folders, which no scan looks into, the shallow ones first. Missed are the
// ignored folders that were not looked at to the end.
func (e *Engine) IgnoredRepositories(c *Checkpoint) (found, missed []string) {
	type place struct{ path, top string }
	var next []place
	for _, p := range c.IgnoredFolders() {
		next = append(next, place{p, p})
	}
	say := func(top string) {
		if len(missed) == 0 || missed[len(missed)-1] != top {
			missed = append(missed, top)
		}
	}
	for looked := 0; len(next) > 0; looked++ {
		if looked == maxFolders {
			for _, p := range next {
				say(p.top)
			}
			break
		}
		at := next[0]
		next = next[1:]
		d, err := e.disk.open(at.path)
		if err != nil {
			if !absent(err) {
				say(at.top)
			}
			continue
		}
		var below []place
		repo := false
		err = d.list(func(x dirent) error {
			switch {
			case string(x.name) == ".git":
				repo = true
			case x.kind == kindDir:
				below = append(below, place{join(at.path, string(x.name)), at.top})
			}
			return nil
		})
		d.close()
		if err != nil {
			say(at.top)
		}
		if repo && e.isRepository(at.path) {
			found = append(found, at.path)
			continue
		}
		next = append(next, below...)
	}
	return found, missed
}

// Fingerprint identifies in 20 bytes what is below a folder, by names, modes, sizes
// and times.
func (e *Engine) Fingerprint(path string) string { return e.fingerprint(path).String() }
