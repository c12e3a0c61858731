package gitstate

// Kind is why a repository cannot be worked in as it is. The command line knows
// the exit code and the next move of each.
type Kind int

// The kinds, with what Refusal.Names holds.
const (
	GitMissing       Kind = iota + 1 // no git of a version that will do
	GitUnusable                      // git says nothing sensible: its path
	ForeignOwner                     // git refuses a repository of somebody else: the folder
	NoRepository                     // the folder is in none; the error is ErrNoRepository
	BareRepository                   // there is no worktree
	OutsideWorktree                  // the folder is in a git directory
	ObjectFormat                     // object names that are not SHA-1
	RefFormat                        // refs that are not files
	UnknownExtension                 // git does not know what the repository asks for
	DetachedHead                     // HEAD names no branch
	RebaseInProgress                 // and HEAD is detached meanwhile
	BisectInProgress                 // and HEAD is detached meanwhile
	NoIdentity                       // git does not know the user
	HooksExposed                     // the hooks can be changed by an agent
	NoCommit                         // a linked worktree has nothing to begin at
	BranchTaken                      // the branch of a linked worktree is somebody's own: its name
	PrefixTaken                      // a branch has the name of the folder of such branches
	CheckedOut                       // the branch is checked out elsewhere: where
	WorktreeMisled                   // the .git file of a linked worktree leads elsewhere
)

// Refusal is an error about the repository that its user can repair.
type Refusal struct {
	Kind  Kind
	Names []string
	Err   error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(kind Kind, err error, names ...string) error {
	return &Refusal{Kind: kind, Names: names, Err: err}
}
