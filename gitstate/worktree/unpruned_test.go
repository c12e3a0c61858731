//go:build unix

package worktree

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPrunedWhileConverted: a prune takes what git has just written of a converted file. It is
// written again, and the checkpoint has it.
func TestPrunedWhileConverted(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + `git config filter.up.clean 'tr a-z A-Z'
git config filter.up.smudge cat
echo '*.up filter=up' > .gitattributes
echo one > a.up`)
	p.open("", "")
	e := p.engine(Options{})
	bin := filepath.Join(t.TempDir(), "git")
	pruned := bin + "-pruned"
	// The prune is a person's: it does not know the private index of the call before it.
	git := "'" + p.repo.Git.Path + "'"
	script := "#!/bin/sh\ncase \" $* \" in *' update-index '*|*' hash-object '*) ;; *) exec " + git + " \"$@\" ;; esac\n" +
		git + " \"$@\" || exit\n[ -e '" + pruned + "' ] || { touch '" + pruned + "'; unset GIT_INDEX_FILE; " +
		git + " -C '" + p.root + "' prune --expire=now; }\n"
	if err := os.WriteFile(bin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	p.repo.Git.Path = bin
	cp, err := e.Checkpoint(t.Context())
	if err == nil {
		err = p.repo.Store.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(pruned); err != nil {
		t.Error("nothing was pruned")
	}
	id := strings.Fields(p.treeEntries(cp.Tree)["a.up"])
	if got, err := p.gitOut("", "cat-file", "blob", id[len(id)-1]); err != nil || strings.TrimSpace(got) != "ONE" {
		t.Errorf("the checkpoint has %q, %v", got, err)
	}
}
