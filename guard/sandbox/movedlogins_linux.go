package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
)

// loginVariables name files and folders with logins that lie elsewhere than in
// DefaultHidden: by variable, what of its value is hidden. "" is the value itself.
// The names are those of the programs' own documentation.
var loginVariables = map[string][]string{
	"KUBECONFIG": {""}, "NETRC": {""}, "PGPASSFILE": {""}, "GNUPGHOME": {""}, "PASSWORD_STORE_DIR": {""},
	"AWS_SHARED_CREDENTIALS_FILE": {""}, "AWS_CONFIG_FILE": {""}, "AWS_WEB_IDENTITY_TOKEN_FILE": {""},
	"GOOGLE_APPLICATION_CREDENTIALS": {""}, "CLOUDSDK_CONFIG": {""}, "AZURE_CONFIG_DIR": {""},
	"AZURE_FEDERATED_TOKEN_FILE": {""}, "OCI_CLI_CONFIG_FILE": {""}, "DATABRICKS_CONFIG_FILE": {""}, "BOTO_CONFIG": {""},
	"DOCKER_CONFIG": {""}, "REGISTRY_AUTH_FILE": {""}, "HELM_REGISTRY_CONFIG": {""},
	"GH_CONFIG_DIR": {"hosts.yml"}, "GLAB_CONFIG_DIR": {"config.yml"},
	"TF_CLI_CONFIG_FILE": {""}, "RCLONE_CONFIG": {""}, "SOPS_AGE_KEY_FILE": {""}, "VAULT_TOKEN_PATH": {""},
	"MYSQL_TEST_LOGIN_FILE": {""}, "HF_TOKEN_PATH": {""}, "HF_HOME": {"token", "stored_tokens"},
	"CARGO_HOME": {"credentials", "credentials.toml"}, "BUNDLE_USER_CONFIG": {""}, "KAGGLE_CONFIG_DIR": {"kaggle.json"},
}

// settingsVariables name files of settings that often hold a login as well, as
// SettingsWithSecrets does.
var settingsVariables = map[string][]string{
	"NPM_CONFIG_USERCONFIG": {""}, "npm_config_userconfig": {""}, "PIP_CONFIG_FILE": {""}, "UV_CONFIG_FILE": {""},
	"GRADLE_USER_HOME": {"gradle.properties"}, "COMPOSER_HOME": {"auth.json"}, "CONDARC": {""}, "CURL_HOME": {".curlrc"},
	"WGETRC": {""}, "HGRCPATH": {""},
}

// folderVariables move a folder of the home.
var folderVariables = map[string]string{
	"XDG_CONFIG_HOME": ".config/", "XDG_DATA_HOME": ".local/share/", "XDG_CACHE_HOME": ".cache/",
}

// movedLogins are the files and folders with logins that the variables of env name.
// A part of the worktree is the work itself, and a folder around something that the
// command needs stays.
func movedLogins(s Spec, env []string) []string {
	var out []string
	add := func(table map[string][]string, wanted func(path string) bool) {
		for name, parts := range table {
			for _, value := range filepath.SplitList(proc.Getenv(env, name)) {
				for _, part := range parts {
					if p := filepath.Join(value, part); filepath.IsAbs(value) && !s.needs(p) && wanted(p) {
						out = append(out, p)
					}
				}
			}
		}
	}
	add(loginVariables, func(string) bool { return true })
	add(settingsVariables, holdsLogin)
	for name, folder := range folderVariables {
		value := proc.Getenv(env, name)
		if !filepath.IsAbs(value) {
			continue
		}
		moved := func(list []string, wanted func(string) bool) {
			for _, p := range list {
				rest, ok := strings.CutPrefix(p, folder)
				if p = filepath.Join(value, rest); ok && !s.needs(p) && wanted(p) {
					out = append(out, p)
				}
			}
		}
		moved(DefaultHidden(), func(string) bool { return true })
		moved(SettingsWithSecrets(), holdsLogin)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// login finds what a program logs in with among its settings.
var login = lazyregexp.New(
	`(?im)_auth|token|password|passwd|secret|api_?key|credential|npmAuth|://[^/\s@]*:[^/\s@]+@|^\s*(?:-u|--?user|` +
		`proxy-user)\b`)

func holdsLogin(file string) bool {
	b, err := os.ReadFile(file)
	return err == nil && login().Match(bytes.TrimSpace(b))
}

// needs says whether the command works in path, or needs something below it. Both may
// be reached by links.
func (s Spec) needs(path string) bool {
	places := []string{filepath.Clean(path), followed(path)}
	for _, p := range slices.Concat([]string{s.Worktree, s.Home, s.HomeUpper}, s.GitDirs, s.Writable, s.ReadOnlyPaths,
		s.Sockets, s.CommandFiles) {
		if p == "" {
			continue
		}
		for _, p := range []string{p, followed(p)} {
			if slices.ContainsFunc(places, func(place string) bool { return within(p, place) }) {
				return true
			}
		}
	}
	return s.Worktree != "" && slices.ContainsFunc(places, func(place string) bool {
		return withinAny(place, []string{s.Worktree, followed(s.Worktree)})
	})
}

// followed is path without links, or path where there is nothing.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
