package agentctx

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"git-ralph/notes"
)

// maxSkill bounds one skill, in bytes.
const maxSkill = 64 << 10

// LookupSkills finds the skills that a task names below the folders of the
// worktree: <folder>/<name>.md or <folder>/<name>/SKILL.md; the first folder
// that has one wins. Front matter is taken off. What is not found is missing;
// what cannot be used is missing too, with a warning that says why.
func LookupSkills(tree fs.FS, folders, names []string) (found []Skill, missing, warnings []string) {
	seen := map[string]bool{}
	for _, name := range names {
		name = strings.TrimSuffix(strings.TrimSpace(name), ".md")
		if name == "" || seen[name] {
			continue
		}
		seen[name] = true
		sk, err := lookupSkill(tree, folders, name)
		if err != nil {
			missing = append(missing, notes.OneLine(name, 100))
			warnings = append(warnings, fmt.Sprintf("skill %q: %s", notes.OneLine(name, 100), err))
			continue
		}
		found = append(found, sk)
	}
	return found, missing, warnings
}

func lookupSkill(tree fs.FS, folders []string, name string) (Skill, error) {
	if !fs.ValidPath(name) || name == "." {
		return Skill{}, errors.New("is not a name")
	}
	var unusable error
	for _, folder := range folders {
		folder = path.Clean(strings.Trim(strings.ReplaceAll(folder, `\`, "/"), "/"))
		for _, file := range []string{path.Join(folder, name+".md"), path.Join(folder, name, "SKILL.md")} {
			if !fs.ValidPath(file) {
				continue
			}
			st, err := fs.Stat(tree, file)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) && unusable == nil {
					unusable = fmt.Errorf("read %q: %w", file, err)
				}
				continue
			}
			if !st.Mode().IsRegular() {
				continue
			}
			if st.Size() > maxSkill {
				unusable = fmt.Errorf("%s has %d bytes, at most %d are used", file, st.Size(), maxSkill)
				continue
			}
			data, err := fs.ReadFile(tree, file)
			if err != nil {
				unusable = fmt.Errorf("read %q: %w", file, err)
				continue
			}
			return Skill{Name: name, Path: file, Text: strings.TrimSpace(withoutFrontMatter(notes.Clean(string(data))))}, nil
		}
	}
	if unusable != nil {
		return Skill{}, unusable
	}
	return Skill{}, fmt.Errorf("not found in %s", strings.Join(folders, ", "))
}

// withoutFrontMatter takes off a leading block between lines of ---: name and
// description of a SKILL.md are for choosing it, and the task has chosen.
func withoutFrontMatter(s string) string {
	rest, ok := strings.CutPrefix(s, "---\n")
	if !ok {
		return s
	}
	if i := strings.Index("\n"+rest, "\n---\n"); i >= 0 {
		return rest[i+len("---\n"):]
	}
	return s
}
