package object

import (
	"fmt"
	"runtime"
	"strings"
)

// CheckPath says why a path from a foreign tree must not be checked out. The
// rules are git's own. They include the protections for HFS and NTFS, for later
// readers of the tree. mode is that of the last part.
func CheckPath(path string, mode Mode) error {
	for rest, more := path, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, "/")
		m := ModeDir
		if !more {
			m = mode
		}
		if why := refused(name, m); why != "" {
			return fmt.Errorf("%q is a path that git refuses: %s", path, why)
		}
	}
	return nil
}

// CheckEntry is CheckPath for one entry of a tree.
func CheckEntry(e TreeEntry) error {
	why := refused(e.Name, e.Mode)
	if strings.Contains(e.Name, "/") {
		why = "it has a slash"
	}
	if why != "" {
		return fmt.Errorf("%q is a name that git refuses: %s", e.Name, why)
	}
	return nil
}

// refused says what is wrong with the name of one entry; "" = nothing.
func refused(name string, mode Mode) string {
	switch name {
	case "":
		return "it is empty"
	case ".", "..":
		return "it names another folder"
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "it has a zero byte"
	}
	if runtime.GOOS == "windows" && strings.ContainsAny(name, `\:`) {
		return "Windows takes it for several"
	}
	plain := strings.ToLower(withoutIgnorable(name))
	if plain == ".git" {
		return "it is taken for .git"
	}
	if mode == ModeSymlink && plain == ".gitmodules" {
		return ".gitmodules may be no symbolic link"
	}
	// NTFS begins anew behind a backslash, and ends a name before a colon.
	for part := range strings.SplitSeq(name, `\`) {
		file, _, _ := strings.Cut(part, ":")
		file = strings.ToLower(strings.TrimRight(file, " ."))
		if file == ".git" || file == "git~1" {
			return "it is taken for .git"
		}
		if mode == ModeSymlink && takenForModules(file) {
			return "it is taken for .gitmodules, which may be no symbolic link"
		}
	}
	return ""
}

// takenForModules reports whether NTFS may know .gitmodules by this name, which
// has lower case: gitmod~1 to gitmod~4, or the form with a checksum, gi7eba~1.
func takenForModules(name string) bool {
	if name == ".gitmodules" {
		return true
	}
	if rest, ok := strings.CutPrefix(name, "gitmod~"); ok && len(rest) == 1 && rest[0] >= '1' && rest[0] <= '4' {
		return true
	}
	stem, number, ok := strings.Cut(name, "~")
	return ok && len(name) == 8 && strings.HasPrefix("gi7eba", stem) && number[0] != '0' &&
		strings.Trim(number, "0123456789") == ""
}

// withoutIgnorable is name without the code points that HFS+ ignores.
func withoutIgnorable(name string) string {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return strings.Map(func(r rune) rune {
				switch {
				case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
					return -1
				}
				return r
			}, name)
		}
	}
	return name
}
