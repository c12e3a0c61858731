package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// hidden are the paths that are to be covered and exist: credentials of the user and of
// others, and Spec.Hidden.
func hidden(s Spec) (paths []string) {
	var ofHome []string
	if s.Home != "" {
		ofHome = hiddenIn(s.Home, namesIn)
	}
	for _, p := range slices.Concat(ofHome, settingsWithSecrets(s.Home), ofOthers(s), s.Hidden) {
		var st unix.Stat_t
		if unix.Lstat(p, &st) == nil { // os.Lstat would make an error of each, and most do not exist
			paths = append(paths, p)
		}
	}
	return paths
}

// settingsWithSecrets are the files of SettingsWithSecrets that hold a login.
func settingsWithSecrets(home string) []string {
	if home == "" {
		return nil
	}
	var out []string
	for _, p := range SettingsWithSecrets() {
		if p = filepath.Join(home, p); holdsLogin(p) {
			out = append(out, p)
		}
	}
	return out
}

// ofOthers are places that only root can read: other users' homes, the
// machine's passwords and host keys. A home that the command needs something
// from stays, without its credentials.
func ofOthers(s Spec) []string {
	if os.Getuid() != 0 {
		return nil
	}
	out := []string{"/etc/ssl/private", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/krb5.keytab",
		"/var/lib/sss/secrets", "/etc/letsencrypt"}
	for _, name := range orNone(namesIn("/etc")) {
		if strings.HasPrefix(name, "shadow") || strings.HasPrefix(name, "gshadow") || strings.HasPrefix(name, "sudoers") {
			out = append(out, "/etc/"+name)
		}
	}
	for _, name := range orNone(namesIn("/etc/ssh")) {
		if strings.HasSuffix(name, "_key") {
			out = append(out, "/etc/ssh/"+name)
		}
	}
	lstat := statOnce()
	needed := slices.Concat([]string{s.Worktree, s.Home, s.HomeUpper}, s.GitDirs, s.Writable, s.ReadOnlyPaths,
		s.Sockets, s.CommandFiles)
	for _, b := range s.Binds {
		needed = append(needed, b.Source)
	}
	homes := []string{"/root"}
	for _, name := range orNone(namesIn("/home")) {
		homes = append(homes, "/home/"+name)
	}
	for _, home := range homes {
		inUse := slices.ContainsFunc(needed, func(p string) bool {
			if p == "" {
				return false
			}
			if r, err := resolveBy(p, lstat); err == nil && within(r.real, home) {
				return true
			}
			return within(p, home)
		})
		switch {
		case s.Home != "" && within(home, s.Home):
		case !inUse:
			out = append(out, home)
		default:
			out = append(out, hiddenIn(home, namesIn)...)
			out = append(out, settingsWithSecrets(home)...)
		}
	}
	return out
}

// namesIn are the names in a folder.
func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

func orNone(names []string, _ error) []string { return names }

// hiddenIn are the places of DefaultHidden that a home folder may have. It lists
// each folder once instead of looking for each place. In a folder that cannot be
// listed a place may still exist.
func hiddenIn(home string, list func(dir string) ([]string, error)) []string {
	type folder struct {
		names  map[string]bool
		closed bool
	}
	folders := map[string]folder{}
	var out []string
	for _, p := range DefaultHidden() {
		dir, name := filepath.Split(p)
		f, ok := folders[dir]
		if !ok {
			names, err := list(filepath.Join(home, dir))
			f = folder{map[string]bool{}, err != nil && !errors.Is(err, os.ErrNotExist)}
			for _, n := range names {
				f.names[strings.ToLower(n)] = true // folders can be made to ignore case
			}
			folders[dir] = f
		}
		if f.closed || f.names[strings.ToLower(name)] {
			out = append(out, filepath.Join(home, p))
		}
	}
	return out
}
