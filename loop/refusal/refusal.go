// Package refusal owns the errors of the loop that a user can repair: why it does not
// begin, or does not do what a person asked for. It knows no exit code and no
// command; what to do about each kind is said at the command line.
package refusal

import "fmt"

// Kind is what was refused, and why.
type Kind int

// The kinds; Names of an Error are given after the colon.
const (
	Unprovable     Kind = iota + 1 // nothing is configured that could prove a task
	RedBaseline                    // checks are red before any work, and may not be
	NothingGreen                   // no check is green before any work: the task
	MissingProgram                 // a program that checks need is not installed
	SetupFailed                    // the setup commands of the project
	SigningAsks                    // a signature wants a person
	NoCacheFolder                  // the user's cache cannot be written
	NoTempFolder                   // nor the temporary folder
	Diverged                       // a person moved the branch after a crash: commit, evidence
	KeptCommitGone                 // the newest kept commit is not in the branch: the commit
	RefLost                        // a ref was deleted and cannot be made again: its name, its commit
	PlaceGone                      // the repository or worktree is not where it was
	NoIteration                    // there is none of that number
	SharedCommit                   // a commit holds other iterations as well
	FilesInTheWay                  // files have changes of a person
	SpecsChanged                   // and so have specs
	TakenBack                      // an iteration was itself taken back
	LinesChanged                   // a later commit changed the same lines
	BranchesApart                  // the branch here and on the remote: remote, branch
	NoRange                        // what was given is no range of commits
	NoCommitThen                   // there is no commit that a fork could begin at
	LandConflict                   // a commit of a linked worktree does not join the branch: worktree, branch
	LandRed                        // the landed result fails a check: worktree
	JournalsApart                  // two journals went on, each by itself: the other branch
	LandMoved                      // the branch or its journal moved meanwhile
	NotRedactable                  // a text cannot be taken out of a journal
	BranchThere                    // a branch or a journal of that name exists: the name
)

// Error is a refusal.
type Error struct {
	Kind  Kind
	Names []string
	Err   error
}

func (r *Error) Error() string { return r.Err.Error() }

func (r *Error) Unwrap() error { return r.Err }

// About names what a refusal is about.
func (r *Error) About(names ...string) error {
	r.Names = names
	return r
}

// New makes a refusal.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
