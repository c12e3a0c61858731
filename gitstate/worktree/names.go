package worktree

func findFileBytes(files []file, name []byte) (int, bool) {
	lo, hi := 0, len(files)
	for lo < hi {
		m := (lo + hi) / 2
		switch {
		case files[m].name < string(name):
			lo = m + 1
		case files[m].name == string(name):
			return m, true
		default:
			hi = m
		}
	}
	return lo, false
}

func findDirBytes(dirs []*node, name []byte) (int, bool) {
	lo, hi := 0, len(dirs)
	for lo < hi {
		m := (lo + hi) / 2
		switch {
		case dirs[m].name < string(name):
			lo = m + 1
		case dirs[m].name == string(name):
			return m, true
		default:
			hi = m
		}
	}
	return lo, false
}

// foldName is the name by which the base knows a name of the disk, on a file
// system that does not tell cases apart.
func (n *node) foldName(name []byte) []byte {
	if _, ok := findFileBytes(n.files, name); ok {
		return name
	}
	if _, ok := findDirBytes(n.dirs, name); ok {
		return name
	}
	for i := range n.files {
		if asciiFold(n.files[i].name, string(name)) {
			return []byte(n.files[i].name)
		}
	}
	for _, d := range n.dirs {
		if asciiFold(d.name, string(name)) {
			return []byte(d.name)
		}
	}
	return name
}

func asciiFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		x, y := a[i], b[i]
		if 'A' <= x && x <= 'Z' {
			x += 'a' - 'A'
		}
		if 'A' <= y && y <= 'Z' {
			y += 'a' - 'A'
		}
		if x != y {
			return false
		}
	}
	return true
}
