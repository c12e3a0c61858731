package loop

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"git-ralph/gitstate"
)

// TestSecretNames compares the quick look at names with the general matcher.
func TestSecretNames(t *testing.T) {
	names := []string{".env", ".env.", ".env.local", ".envx", "x.env", "env", ".envrc", "a.pem", ".pem", "pem", "id_rsa",
		"id_rsa.pub", "credentials.json", "credentialsjson", "aws-credentials-2.json", "credentials.jso", "secret.json",
		"secretjson", "my.secret.x.json", "secrets.", "secrets.yaml", "secrets", "x.tfvars", ".tfvars",
		"service-account.json", "service-account-1.json", "service-account.jso", "service-accountjson", "a.key", "", "*",
		"secret*.json"}
	for _, name := range names {
		want := slices.ContainsFunc(secretNames, func(pattern string) bool {
			hit, err := filepath.Match(pattern, name)
			return hit && err == nil
		})
		if got := hasSecretName(name); got != want {
			t.Errorf("hasSecretName(%q) = %v, want %v", name, got, want)
		}
	}
}

// TestSecretFoldersAreListedAnew: a new or removed file of secrets is seen at
// once, even if the folder's modification time is put back.
func TestSecretFoldersAreListedAnew(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no change times there: every folder is listed each time")
	}
	root := t.TempDir()
	l := &Loop{}
	l.Repo = &gitstate.Repo{}
	l.Repo.Root = root
	dir := filepath.Join(root, "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	look := func() []string {
		fresh := map[string]folderNames{}
		found := l.secretsIn(fresh, ".")
		for _, name := range fresh["."].folders {
			found = append(found, l.secretsIn(fresh, name)...)
		}
		l.folders = fresh
		return found
	}
	look()
	for !l.folders["d"].seen.Proves(l.folders["d"].seen) { // younger than a tick of the clock
		look()
	}
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		do   func() error
		want []string
	}{
		{func() error { return os.WriteFile(filepath.Join(dir, ".env"), nil, 0o600) }, []string{"d/.env"}},
		{func() error { return os.Rename(filepath.Join(dir, ".env"), filepath.Join(dir, "x.pem")) }, []string{"d/x.pem"}},
		{func() error { return os.Remove(filepath.Join(dir, "x.pem")) }, nil},
		{func() error { return os.Mkdir(filepath.Join(root, "e"), 0o755) }, nil},
		{func() error { return os.WriteFile(filepath.Join(root, "e", "id_rsa"), nil, 0o600) }, []string{"e/id_rsa"}},
	} {
		err := row.do()
		if err == nil {
			err = os.Chtimes(dir, before.ModTime(), before.ModTime())
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := look(); !slices.Equal(got, row.want) {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

// BenchmarkSecretNames is what the names of 10,000 ordinary files cost an iteration.
func BenchmarkSecretNames(b *testing.B) {
	for b.Loop() {
		for range 10_000 {
			hasSecretName("an-ordinary-name.go")
		}
	}
}
