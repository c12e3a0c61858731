package text

import "strings"

// ReplacePath puts another folder in the place of root wherever it stands as a
// whole path or as the beginning of one.
func ReplacePath(s, root, to string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, root)
		if i < 0 {
			return b.String() + s
		}
		end := s[i+len(root):]
		b.WriteString(s[:i])
		if before := b.String(); (before == "" || !partOfName(before[len(before)-1])) && (end == "" || !partOfName(end[0])) {
			b.WriteString(to)
		} else {
			b.WriteString(root)
		}
		s = end
	}
}

func partOfName(c byte) bool {
	return c == '-' || c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' ||
		c >= 0x80
}
