package notes

import "strings"

// SecretValues are the characteristic parts of a file of secrets: values of
// assignments whose names are secret or that look random, and the lines of a
// key. A value has at least 12 characters.
func SecretValues(text string) (values []string) {
	key := false // inside of a PEM block
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-----BEGIN ") && strings.Contains(line, "PRIVATE KEY"):
			key = true
			continue
		case strings.HasPrefix(line, "-----END "):
			key = false
			continue
		case key:
			if len(line) >= 40 {
				values = append(values, line)
			}
			continue
		case line == "" || line[0] == '#':
			continue
		}
		at := strings.IndexByte(line, '=')
		if at < 1 || line[0] == '"' {
			at = strings.IndexByte(line, ':')
		}
		if at < 1 {
			continue
		}
		name := strings.Trim(strings.TrimPrefix(line[:at], "export "), " \t\"'")
		value := strings.TrimRight(strings.TrimSpace(line[at+1:]), ",")
		value = strings.Trim(value, "\"' \t")
		if len(value) < 12 || strings.ContainsAny(value, " \t") {
			continue
		}
		if i := strings.LastIndexAny(name, "/:."); i >= 0 {
			name = name[i+1:] // //registry.example/:_authToken
		}
		if secretName(name) || entropy(value) >= 3.5 {
			values = append(values, value)
		}
	}
	return values
}
