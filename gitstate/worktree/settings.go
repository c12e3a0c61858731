package worktree

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"git-ralph/internal/proc"
)

// settings are git's own, as far as they change what a checkpoint is.
type settings struct {
	fileMode, symlinks, ignoreCase, sparse, precompose bool
	autocrlf, eol                                      string
	excludesFile, attributesFile                       string
	skipHash                                           bool
	objectFormat, refStorage, coreWorktree             string
	filters                                            []string // names of configured filters
}

func readSettings(ctx context.Context, git *proc.Git) (settings, error) {
	config, err := git.Config(ctx)
	if err != nil {
		return settings{}, err
	}
	s := settings{fileMode: true, symlinks: true}
	var excludes, attributes *string // nil = not set, which has a default
	for _, set := range config {
		val := set.Value
		if set.Bare {
			val = "true"
		}
		switch key := set.Key; key {
		case "core.filemode":
			s.fileMode = gitBool(val)
		case "core.symlinks":
			s.symlinks = gitBool(val)
		case "core.ignorecase":
			s.ignoreCase = gitBool(val)
		case "core.precomposeunicode":
			s.precompose = gitBool(val)
		case "core.sparsecheckout":
			s.sparse = gitBool(val)
		case "core.autocrlf":
			s.autocrlf = strings.ToLower(val)
			if s.autocrlf != "input" {
				s.autocrlf = strconv.FormatBool(gitBool(val))
			}
		case "core.eol":
			s.eol = strings.ToLower(val)
		case "core.excludesfile":
			excludes = &val
		case "core.attributesfile":
			attributes = &val
		case "core.worktree":
			s.coreWorktree = val
		case "index.skiphash":
			s.skipHash = gitBool(val)
		case "extensions.objectformat":
			s.objectFormat = strings.ToLower(val)
		case "extensions.refstorage":
			s.refStorage = strings.ToLower(val)
		default:
			if name, ok := strings.CutPrefix(key, "filter."); ok {
				if i := strings.LastIndexByte(name, '.'); i > 0 && val != "" && name[i+1:] != "required" {
					s.filters = append(s.filters, name[:i])
				}
			}
		}
	}
	home := envOf(git.Env, "HOME")
	s.excludesFile = userFile(ctx, excludes, git, home, "core.excludesFile", "ignore")
	s.attributesFile = userFile(ctx, attributes, git, home, "core.attributesFile", "attributes")
	return s, nil
}

// userFile is the path that a setting names, with git's default for none. A
// setting that is empty means no file at all.
func userFile(ctx context.Context, set *string, git *proc.Git, home, key, def string) string {
	if set == nil {
		if xdg := envOf(git.Env, "XDG_CONFIG_HOME"); xdg != "" {
			return filepath.Join(xdg, "git", def)
		}
		if home == "" {
			return ""
		}
		return filepath.Join(home, ".config", "git", def)
	}
	switch val := *set; {
	case val == "":
		return ""
	case strings.HasPrefix(val, "~"), strings.HasPrefix(val, "%(prefix)"):
		// git knows where users live and where it is installed.
		if p, err := git.Line(ctx, "config", "--type=path", key); err == nil {
			return p
		}
		return ""
	case !filepath.IsAbs(val):
		return filepath.Join(git.WorkTree, val)
	default:
		return val
	}
}

func envOf(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

func gitBool(v string) bool {
	switch strings.ToLower(v) {
	case "true", "yes", "on":
		return true
	case "", "false", "no", "off":
		return false
	}
	n, err := strconv.Atoi(v)
	return err == nil && n != 0
}

// defaultModes are the permissions that new files get here, from the umask.
func defaultModes() modes {
	mask := uint32(0o022)
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		for _, line := range strings.Split(string(b), "\n") {
			if v, ok := strings.CutPrefix(line, "Umask:"); ok {
				if n, err := strconv.ParseUint(strings.TrimSpace(v), 8, 32); err == nil {
					mask = uint32(n)
				}
			}
		}
	}
	return modes{file: 0o666 &^ mask, exec: 0o777 &^ mask, dir: 0o777 &^ mask}
}
