package gitstate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/internal/proc"
)

// git can read settings and run scripts from the worktree, such as filters. An agent can
// write them, and the next git of the user or of git ralph would use them outside of any
// sandbox. So these files are protected like git's own.

// runsIn reports whether the value of a setting is a command that git starts.
func runsIn(key string) bool {
	section, rest, _ := strings.Cut(key, ".")
	name := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "filter":
		return name == "clean" || name == "smudge" || name == "process"
	case "merge":
		return name == "driver"
	case "diff":
		return name == "textconv" || name == "command" || rest == "external"
	case "gpg":
		return name == "program" || name == "defaultkeycommand"
	case "credential":
		return name == "helper"
	case "core":
		return slices.Contains([]string{"sshcommand", "fsmonitor", "askpass", "gitproxy", "alternaterefscommand", "editor",
			"pager"}, rest)
	}
	return false
}

// reached are the files of the worktree that settings include or run, those that do not
// exist included.
func (r *Repo) reached(config proc.Config) []string {
	var out []string
	add := func(path string) {
		if inTree(path, r.Root, r.CommonDir) && !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	for _, path := range config.Included(proc.Getenv(r.Git.Env, "HOME")) {
		add(path)
	}
	for _, set := range config {
		if !runsIn(set.Key) {
			continue
		}
		module := false
		between := func(c rune) bool { return strings.ContainsRune(" \t\n'\";|&()<>", c) }
		for i, word := range strings.FieldsFunc(set.Value, between) {
			path := word
			if !filepath.IsAbs(path) {
				path = filepath.Join(r.Root, path)
			}
			st, err := os.Stat(path)
			switch {
			case module: // python -m NAME looks in the folder that it is started in
				at := filepath.Join(r.Root, filepath.FromSlash(strings.ReplaceAll(word, ".", "/")))
				add(at + ".py")
				add(filepath.Join(at, "__init__.py"))
				add(filepath.Join(at, "__main__.py"))
			case strings.HasPrefix(word, "-") || strings.Contains(word, "%"):
			case i == 0 && !strings.Contains(word, "/"): // a program on PATH
			case err == nil && st.Mode().IsRegular(), errors.Is(err, fs.ErrNotExist) && strings.Contains(word, "/"):
				add(path)
			}
			module = word == "-m"
		}
	}
	return out
}

func inTree(path, root, common string) bool {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) || rel == "." || rel == ".git" {
		return false
	}
	rel, err = filepath.Rel(common, path)
	return err != nil || !filepath.IsLocal(rel)
}

// Within are the files of the worktree that git takes settings from or runs, as far as
// they exist: nothing of an agent's may write them.
func (r *Repo) Within(ctx context.Context) ([]string, error) {
	files, err := r.settingsFiles(ctx)
	return slices.DeleteFunc(files, func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil || !inTree(path, r.Root, r.CommonDir)
	}), err
}

// PutBackWithin restores the files of the worktree that git reads settings from or runs, before
// any git command. What it finds is moved below aside. bound says that the sandbox kept existing
// files from being written, so that a change of one is the user's and stays.
func (s *Snapshot) PutBackWithin(bound bool, aside string) error {
	var errs []error
	for _, path := range s.outside {
		if !inTree(path, s.root, s.common) {
			continue
		}
		old, had := s.Files["config:"+path]
		is, err := readState(path)
		if errors.Is(err, fs.ErrNotExist) && !had || err == nil && had && is.Sum == old.Sum && is.Mode == old.Mode ||
			bound && had && old.Mode.IsRegular() {
			continue
		}
		now := &Snapshot{Files: map[string]FileState{}}
		if err == nil {
			now.Files["config:"+path] = is
		}
		_, err = s.putBack(Difference{Kind: "config", Name: path}, now, aside)
		errs = append(errs, err)
		s.spoiled = append(s.spoiled, path)
	}
	return errors.Join(errs...)
}

// TakeSpoiled returns what PutBackWithin has put back since it was asked last.
func (s *Snapshot) TakeSpoiled() []string {
	out := s.spoiled
	s.spoiled = nil
	return out
}
