package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// login finds what a program logs in with among its settings.
var login = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`(?im)_auth|token|password|passwd|secret|api_?key|credential|npmAuth|://[^/\s@]*:[^/\s@]+@|^\s*(?:-u|--?user|` +
			`proxy-user)\b`)
})

// settingsWithSecrets are the files of SettingsWithSecrets that hold a login.
func settingsWithSecrets(home string) []string {
	if home == "" {
		return nil
	}
	var out []string
	for _, p := range SettingsWithSecrets() {
		p = filepath.Join(home, p)
		if b, err := os.ReadFile(p); err == nil && login().Match(bytes.TrimSpace(b)) {
			out = append(out, p)
		}
	}
	return out
}

// ofOthers are places that root alone can read: homes of other users, passwords
// and host keys of the machine. A home that holds something which the command
// needs stays, without its credentials.
func (m *mounter) ofOthers() []string {
	if !m.root {
		return nil
	}
	var out []string
	for _, pattern := range []string{"/etc/shadow*", "/etc/gshadow*", "/etc/ssh/*_key", "/etc/ssl/private",
		"/etc/NetworkManager/system-connections",
		"/etc/wireguard", "/etc/krb5.keytab", "/etc/sudoers*", "/var/lib/sss/secrets", "/etc/letsencrypt"} {
		found, _ := filepath.Glob(pattern) // the patterns are well formed
		out = append(out, found...)
	}
	s := m.spec
	needed := slices.Concat([]string{s.Worktree, s.Home, s.HomeUpper}, s.GitDirs, s.Writable, s.ReadOnlyPaths,
		s.Sockets, s.CommandFiles)
	for _, b := range s.Binds {
		needed = append(needed, b.Source)
	}
	homes, _ := filepath.Glob("/home/*")
	for _, home := range append(homes, "/root") {
		inUse := slices.ContainsFunc(needed, func(p string) bool {
			if p == "" {
				return false
			}
			if r, err := m.resolve(p); err == nil && within(r.real, home) {
				return true
			}
			return within(p, home)
		})
		switch {
		case s.Home != "" && within(home, s.Home):
		case !inUse:
			out = append(out, home)
		default:
			for _, p := range DefaultHidden() {
				out = append(out, filepath.Join(home, p))
			}
			out = append(out, settingsWithSecrets(home)...)
		}
	}
	return out
}
