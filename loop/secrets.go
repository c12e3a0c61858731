package loop

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
	"git-ralph/notes"
)

// secretFile is an untracked file of secrets as it was before the agent ran.
// Its contents must not be committed under another name: as a copy, through a
// link, or as a value written into another file.
type secretFile struct {
	path   string
	data   []byte
	values []string
}

// secretNames are the names of such files, at the root and in its folders, with
// at most two stars each.
var secretNames = []string{".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "id_rsa", "id_ed25519",
	"id_ecdsa", ".npmrc",
	".pypirc", ".netrc", "*credentials*.json", "*secret*.json", "secrets.*", "*.tfvars", "service-account*.json"}

const (
	maxSecretFile  = 256 << 10 // a larger one is no file of secrets
	maxSecretFiles = 50
	maxSecretLook  = 1 << 20 // of a changed file, how much is looked at
)

// readSecrets reads the files of secrets that git does not track. What cannot be
// read is left out: the agent cannot read it either.
func (l *Loop) readSecrets() ([]secretFile, error) {
	root := l.Repo.Root
	fresh := map[string]folderNames{}
	found := l.secretsIn(fresh, ".")
	for _, name := range fresh["."].folders {
		found = append(found, l.secretsIn(fresh, name)...)
	}
	l.folders = fresh
	if len(found) == 0 {
		return nil, nil
	}
	slices.Sort(found)
	found = found[:min(len(found), maxSecretFiles)]
	out, err := l.Repo.Git.Run(l.background(), append([]string{"--literal-pathspecs", "ls-files", "-z", "--"},
		found...)...)
	if err != nil {
		return nil, err
	}
	tracked := strings.Split(string(out), "\x00")
	var files []secretFile
	for _, rel := range found {
		if slices.Contains(tracked, filepath.ToSlash(rel)) {
			continue
		}
		if data := readSmall(filepath.Join(root, rel)); len(data) > 0 {
			files = append(files, secretFile{filepath.ToSlash(rel), data, notes.SecretValues(string(data))})
		}
	}
	return files, nil
}

// folderNames is what a look at the names of a folder found.
type folderNames struct {
	seen    worktree.Seen
	secrets []string // paths
	folders []string // of the root
}

// secretsIn are the paths of a folder whose names are those of files of secrets. A
// folder whose times prove that no name in it has come or gone is not listed again.
func (l *Loop) secretsIn(fresh map[string]folderNames, dir string) []string {
	path := filepath.Join(l.Repo.Root, dir)
	seen, err := worktree.See(path)
	if err != nil {
		return nil
	}
	if old, ok := l.folders[dir]; ok && old.seen.Proves(seen) {
		fresh[dir] = old
		return old.secrets
	}
	look := folderNames{seen: seen}
	list, _ := os.ReadDir(path)
	for _, e := range list {
		name := e.Name()
		if hasSecretName(name) && !isSample(name) {
			look.secrets = append(look.secrets, filepath.Join(dir, name))
		}
		if dir == "." && e.IsDir() && name != ".git" {
			look.folders = append(look.folders, name)
		}
	}
	fresh[dir] = look
	return look.secrets
}

// namePattern is a name, or what a name begins with, contains and ends with.
type namePattern struct {
	begin, middle, end string
	open               bool // there is a star
}

// secretPatterns are secretNames, taken apart once: every name in the folders is
// compared with all of them in every iteration.
var secretPatterns = func() (all []namePattern) {
	for _, name := range secretNames {
		p := namePattern{}
		p.begin, p.end, p.open = strings.Cut(name, "*")
		if middle, end, two := strings.Cut(p.end, "*"); two {
			p.middle, p.end = middle, end
		}
		all = append(all, p)
	}
	return all
}()

// hasSecretName says whether a name is that of a file of secrets.
func hasSecretName(name string) bool {
	for i := range secretPatterns {
		if secretPatterns[i].fits(name) {
			return true
		}
	}
	return false
}

func (p *namePattern) fits(name string) bool {
	if !p.open {
		return name == p.begin
	}
	if len(name) < len(p.begin)+len(p.middle)+len(p.end) || !strings.HasPrefix(name, p.begin) ||
		!strings.HasSuffix(name, p.end) {
		return false
	}
	return p.middle == "" || strings.Contains(name[len(p.begin):len(name)-len(p.end)], p.middle)
}

// isSample reports whether a file of secrets is only a sample.
func isSample(name string) bool {
	low := strings.ToLower(name)
	return slices.ContainsFunc([]string{"example", "sample", "template", "dist", "test", "defaults"}, func(w string) bool {
		return strings.Contains(low, w)
	})
}

func readSmall(name string) []byte {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSecretFile {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile))
	if err != nil {
		return nil
	}
	return data
}

// copiedSecrets are the changed paths with what a file of secrets holds.
func (l *Loop) copiedSecrets(secrets []secretFile, changes []worktree.Change) (paths []string) {
	if len(secrets) == 0 {
		return nil
	}
	for _, c := range changes {
		if c.New.ID.IsZero() || c.New.ID == c.Old.ID || c.Size > maxSecretLook {
			continue
		}
		now, err := l.Repo.Store.ReadType(c.New.ID, object.Blob)
		if err != nil {
			continue
		}
		var before []byte
		if !c.Old.ID.IsZero() {
			before, _ = l.Repo.Store.ReadType(c.Old.ID, object.Blob)
		}
		for _, s := range secrets {
			if s.in(now) && !s.in(before) {
				paths = append(paths, c.Path+" (what "+s.path+" holds)")
				break
			}
		}
	}
	return paths
}

// in says whether a text has one of the values, or is the file itself.
func (s secretFile) in(text []byte) bool {
	if len(s.data) >= 16 && bytes.Equal(bytes.TrimSpace(text), bytes.TrimSpace(s.data)) {
		return true
	}
	return slices.ContainsFunc(s.values, func(v string) bool { return bytes.Contains(text, []byte(v)) })
}
