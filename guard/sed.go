package guard

import (
	"strings"
)

// sed judges what a sed script runs (e, s///e), writes (w, s///w) and edits (-i).
func (j *judge) sed(c *call) bool {
	sc, rest := c.sc, c.rest
	var scripts []string
	var files []arg
	inPlace, given := false, false
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		next := ""
		if i+1 < len(rest) {
			next = rest[i+1].s
		}
		switch {
		case s == "--":
			files = append(files, rest[i+1:]...)
			i = len(rest)
		case s == "--expression":
			scripts, given = append(scripts, next), true
			i++
		case strings.HasPrefix(s, "--expression="):
			scripts, given = append(scripts, s[len("--expression="):]), true
		case s == "--file" || s == "--line-length":
			given = given || s == "--file"
			i++
		case strings.HasPrefix(s, "--file="):
			given = true
		case strings.HasPrefix(s, "--in-place") || len(s) > 4 && strings.HasPrefix("--in-place", s):
			inPlace = true
		case strings.HasPrefix(s, "--"):
		case len(s) > 1 && s[0] == '-':
			for k := 1; k < len(s); k++ {
				switch s[k] {
				case 'i':
					inPlace = true
					k = len(s) // the rest is a suffix
				case 'e', 'f', 'l':
					v := s[k+1:]
					if v == "" {
						v = next
						i++
					}
					if s[k] == 'e' {
						scripts = append(scripts, v)
					}
					given = given || s[k] != 'l'
					k = len(s)
				}
			}
		case !given && len(scripts) == 0:
			scripts, given = append(scripts, s), true
		default:
			files = append(files, rest[i])
		}
	}
	for _, s := range scripts {
		if !j.done {
			j.sedScript(sc, s)
		}
	}
	if inPlace {
		for _, f := range files {
			j.write(sc, f, "edit")
		}
	}
	return true
}

// sedScript walks over the commands of a script. It follows GNU sed; what it
// does not understand it skips to the next command.
func (j *judge) sedScript(sc *scope, s string) {
	if foreign(s) && !strings.HasPrefix(strings.TrimLeft(s, " "), "s") {
		j.undecidable("what this sed script does")
		return
	}
	for i := 0; i < len(s) && !j.done; {
		i = sedAddress(s, i)
		if i >= len(s) {
			return
		}
		c := s[i]
		i++
		line := func() string { // up to the end of the line
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				end = len(s) - i
			}
			out := strings.TrimSpace(s[i : i+end])
			i += end
			return out
		}
		switch c {
		case 'e':
			if cmd := line(); cmd != "" {
				j.script(sc.clone(), cmd, stream{}, "sed")
			} else {
				j.undecidable("what sed's e command would run")
			}
		case 'w', 'W':
			j.write(sc, arg{s: line()}, "write to")
		case 'r', 'R', 'a', 'i', 'c':
			line()
		case 's', 'y':
			if i >= len(s) {
				return
			}
			d := s[i]
			i = sedSkip(s, i+1, d)
			i = sedSkip(s, i, d)
			if c == 'y' {
				continue
			}
			for i < len(s) && strings.IndexByte(";\n}# \t", s[i]) < 0 {
				switch s[i] {
				case 'e':
					j.undecidable("what sed's e flag would run")
					return
				case 'w':
					i++
					j.write(sc, arg{s: line()}, "write to")
					return
				}
				i++
			}
		}
	}
}

// sedSkip returns the index after the next unescaped delimiter.
func sedSkip(s string, i int, d byte) int {
	class := false
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[' && !class && d != '[':
			class = i+1 < len(s) && strings.IndexByte(s[i+1:], ']') >= 0
			if class && i+1 < len(s) && s[i+1] == ']' {
				i++
			}
		case s[i] == ']':
			class = false
		case s[i] == d && !class:
			return i + 1
		}
	}
	return len(s)
}

// sedAddress skips blanks, separators, braces and addresses.
func sedAddress(s string, i int) int {
	for i < len(s) {
		switch c := s[i]; {
		case strings.IndexByte(" \t\n;{}!,~+0123456789$", c) >= 0:
			i++
		case c == '/':
			i = sedSkip(s, i+1, '/')
			for i < len(s) && (s[i] == 'I' || s[i] == 'M') {
				i++
			}
		case c == '\\' && i+1 < len(s):
			i = sedSkip(s, i+2, s[i+1])
		case c == '#':
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				return len(s)
			}
			i += end
		default:
			return i
		}
	}
	return i
}
