package weaken

import (
	"path"
	"slices"
	"strings"

	"git-ralph/guard/script"
)

// runsAsMuch reports whether a command line still runs every runner that the old
// one ran, on as many tests, and fails when one of them does. scripts are those
// of package.json, old and new.
func runsAsMuch(old, now string, was, is map[string]string) bool {
	before, ok := chain(old, was, 0)
	after, ok2 := chain(now, is, 0)
	if !ok || !ok2 {
		return false
	}
	for _, o := range before {
		i := slices.IndexFunc(after, func(n []string) bool { return asWide(o, n) })
		if i < 0 && !idleProgram(path.Base(o[0])) {
			return false
		}
		if i >= 0 {
			after = slices.Delete(slices.Clone(after), i, i+1)
		}
	}
	return true
}

// chain are the commands of a line that run one after the other, each of which has
// to pass; false when the line is of another form. Scripts that it runs are
// replaced by their commands.
func chain(line string, scripts map[string]string, depth int) ([][]string, bool) {
	s, err := script.Read(line)
	if err != nil || depth > 8 || len(s.Functions) > 0 || len(s.Assigned) > 0 ||
		strings.ContainsAny(strings.ReplaceAll(line, "&&", ""), ";|&`") || strings.Contains(line, "$(") {
		return nil, false
	}
	var out [][]string
	for _, raw := range s.Commands {
		cmd, inner := simpleCommand{words: raw.Words, use: raw.Use}.unwrap()
		w := cmd.words
		if inner != "" || raw.Use != script.Plain || len(w) == 0 {
			return nil, false
		}
		switch w[0] { // what measures coverage runs the rest
		case "nyc", "c8":
			for w = w[1:]; len(w) > 0 && strings.HasPrefix(w[0], "-"); {
				w = w[1:]
			}
			if len(w) == 0 {
				return nil, false
			}
		case "exit", "set", "trap":
			return nil, false
		case "npm", "yarn", "pnpm", "bun":
			rest := w[1:]
			if len(rest) > 0 && (rest[0] == "run" || rest[0] == "run-script") {
				rest = rest[1:]
			}
			if len(rest) == 1 && scripts[rest[0]] != "" {
				for _, name := range []string{"pre" + rest[0], rest[0], "post" + rest[0]} {
					more, ok := chain(scripts[name], scripts, depth+1)
					if !ok {
						return nil, false
					}
					out = append(out, more...)
				}
				continue
			}
		}
		out = append(out, w)
	}
	return out, true
}

// asWide reports whether a command runs the same program on as much.
func asWide(old, now []string) bool {
	if slices.Equal(old, now) {
		return true
	}
	if old[0] != now[0] || !runsTests(path.Base(old[0]), []string{"test"}) {
		return false
	}
	oldFlags, oldPaths := arguments(old[1:])
	flags, paths := arguments(now[1:])
	if len(oldPaths) == 0 && len(paths) > 0 {
		return false
	}
	for _, p := range oldPaths {
		if !slices.ContainsFunc(paths, func(q string) bool { return p == q || strings.HasPrefix(p, strings.TrimSuffix(q, "/")+"/") }) {
			return false
		}
	}
	return !slices.ContainsFunc(added(oldFlags, flags), func(f string) bool { return !harmlessFlag(f) && !strings.HasPrefix(f, "--strict") }) &&
		!slices.ContainsFunc(added(flags, oldFlags), func(f string) bool { return !harmlessFlag(f) })
}

// arguments separates options, with the values of those that are known to have one,
// from what is run.
func arguments(words []string) (flags, paths []string) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case !strings.HasPrefix(w, "-"):
			paths = append(paths, w)
		case i+1 < len(words) && !strings.Contains(w, "=") && slices.Contains([]string{"-R", "--reporter", "-r", "--require", "--timeout", "-t", "--target",
			"--ui", "-n", "--config", "-c", "-k", "-m", "--jsx", "--moduleResolution", "--cov-report", "--tb", "-p", "--project"}, w):
			i++
			flags = append(flags, w+" "+words[i])
		default:
			flags = append(flags, w)
		}
	}
	return flags, paths
}

// harmlessFlag are options of runners that change what they print or how fast they
// are, or load something in front of the tests.
func harmlessFlag(flag string) bool {
	for _, p := range []string{"-R ", "--reporter", "-v", "--verbose", "--color", "--no-color", "--coverage", "--cov", "--ci", "--runInBand", "--maxWorkers",
		"--tb", "-ra", "-rA", "--no-cache", "--moduleResolution", "--jsx", "--esModuleInterop", "--check-leaks", "--pretty", "--watch=false"} {
		if strings.HasPrefix(flag, p) && !strings.HasPrefix(flag, "--coverageT") {
			return true
		}
	}
	return false
}

// idleProgram are commands that check nothing.
func idleProgram(name string) bool {
	switch name {
	case "rm", "rimraf", "mkdir", "mkdirp", "cp", "echo", "del", "del-cli", "shx", "cpy", "rollup", "webpack", "esbuild", "babel", "tsup", "clear", "cd":
		return true
	}
	return false
}

// toxLines are the commands of a tox.ini as one line, with the defaults of what a
// person may type behind tox.
func toxLines(content []byte) string {
	var out []string
	in, key := "", ""
	for _, l := range iniLines(content) {
		t := strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(t, "["):
			in, key = strings.Trim(t, "[] "), ""
		case l[0] != ' ' && l[0] != '\t':
			name, value, _ := strings.Cut(t, "=")
			key, t = strings.TrimSpace(name), strings.TrimSpace(value)
			fallthrough
		default:
			if strings.HasPrefix(in, "testenv") && strings.HasPrefix(key, "commands") && t != "" {
				out = append(out, toxArguments(t))
			} else if strings.HasPrefix(key, "ignore_") && t != "" {
				out = append(out, key+" "+t)
			}
		}
	}
	return strings.Join(out, " && ")
}

func toxArguments(line string) string {
	for {
		a := strings.Index(line, "{posargs")
		if a < 0 {
			return strings.Join(strings.Fields(line), " ")
		}
		b := strings.IndexByte(line[a:], '}')
		if b < 0 {
			return line
		}
		value := strings.TrimPrefix(strings.TrimPrefix(line[a:a+b], "{posargs"), ":")
		line = line[:a] + value + line[a+b+1:]
	}
}
