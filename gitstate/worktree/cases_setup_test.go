//go:build linux

package worktree

// diffCase is one repository, built by real git, and an agent's changes to it.
// Scripts run under `sh -e` in the root of the worktree, with functions from
// scriptHead. If refuse is set, Inspect must refuse it by that name; the rest still
// runs where the engine itself can.
type diffCase struct {
	name, why string
	setup     string // after the base repository was made and committed
	edit      string // what the agent does; "" = the usual edits
	bare      bool   // setup makes the repository itself
	refuse    string // a peculiarity that Inspect has to refuse
	fails     string // Checkpoint fails with this text and changes nothing
	noOracle  string // why git itself cannot say what the tree is
	noKeep    string // why git itself cannot say what a keep is
	left      string // space-separated: paths that stay different, and are reported
	quiet     string // space-separated: paths that stay different because they are new and ignored
	maxFile   int64
	capture   string // Options.CaptureIgnored
	root      string // the worktree, relative; "" = the test's folder
	gitDir    string // relative; "" = .git
	user      bool   // has to run as an ordinary user
}

const scriptHead = `
set -e
new() { [ "$1" != -- ] || shift; case $1 in */*) [ -d "${1%/*}" ] || mkdir -p -- "${1%/*}";; esac; printf '%s\n' "${2:-new}" > "$1"; }
commit() { git add -A && git commit -q -m "${1:-more}"; }
`

const baseRepo = `
git init -q -b main .
new a.txt aaa; new d/x.txt x; new d/e/y.txt y; new del.txt gone; new run.sh '#!/bin/sh'; chmod 755 run.sh
commit base
`

const usualEdits = `
new a.txt changed; new new.txt; new nd/deep/n.txt; rm del.txt; rm -r d/e; chmod 644 run.sh
`

const submodule = `
git init -q "$HOME/smsrc"; (cd "$HOME/smsrc"; new s.txt s; commit s)
git -c protocol.file.allow=always submodule --quiet add "$HOME/smsrc" sm; git commit -qm sm
`

const branches = `
git checkout -q -b side; new s1; commit s; git checkout -q main; new m1; commit m
`

const conflict = `
git checkout -q -b side; new a.txt side; commit s; git checkout -q main; new a.txt mine; commit m
`
