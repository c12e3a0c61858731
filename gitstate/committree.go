package gitstate

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"git-ralph/gitstate/object"
)

// Signing says whether a commit is signed.
type Signing bool

const (
	Signed   Signing = true
	Unsigned Signing = false
)

// Commit makes the commit that git would make, byte for byte. It asks git itself for one
// that it would write differently, or that is signed. Store.Sync makes it visible to git.
func (r *Repo) Commit(ctx context.Context, msg string, sign Signing, tree object.ID, parents ...object.ID) (object.ID,
	error) {
	sig, plain := r.plainIdentity(ctx)
	text := utf8.ValidString(msg) && !strings.Contains(msg, "\x00") && strings.HasSuffix(msg, "\n")
	if plain && text && sign == Unsigned {
		return r.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents, Author: sig, Committer: sig, Message: msg})
	}
	if err := r.Store.Sync(); err != nil { // git is to find the tree
		return object.Zero, fmt.Errorf("write the tree of a commit: %w", err)
	}
	args := []string{tree.String(), "--no-gpg-sign"}
	if sign == Signed {
		args[1] = "-S"
	}
	for _, p := range parents {
		args = append(args, "-p", p.String())
	}
	return r.CommitTree(ctx, msg, args...)
}

// CommitTree makes a commit through git itself: identity, encoding and
// signature are the user's. Args are those of git commit-tree but the message.
// Nothing points to the commit yet, and no gc takes it or its tree meanwhile:
// one that pruned between two of our steps makes the call try again.
func (r *Repo) CommitTree(ctx context.Context, msg string, args ...string) (object.ID, error) {
	return r.commitTree(ctx, nil, msg, args)
}

// CommitTreeAs is CommitTree with a given author, for a commit that is put on
// top of another one.
func (r *Repo) CommitTreeAs(ctx context.Context, author object.Signature, msg string, args ...string) (object.ID,
	error) {
	_, when, _ := strings.Cut(author.String(), "> ")
	return r.commitTree(ctx, []string{"GIT_AUTHOR_NAME=" + author.Name, "GIT_AUTHOR_EMAIL=" + author.Email,
		"GIT_AUTHOR_DATE=" + when}, msg, args)
}

func (r *Repo) commitTree(ctx context.Context, env []string, msg string, args []string) (object.ID, error) {
	args = append([]string{"commit-tree"}, append(args, "-F", "-")...)
	for try := 0; ; try++ {
		if err := r.Store.EnsureAll(); err != nil {
			return object.Zero, err
		}
		out, err := r.Git.RunWith(ctx, strings.NewReader(msg), env, args...)
		var id object.ID
		if err == nil {
			id, err = object.ParseID(strings.TrimSpace(string(out)))
		}
		if err == nil {
			err = r.Store.Hold(id)
		}
		if err == nil {
			return id, nil
		}
		if try == 20 || !pruned(err) {
			return object.Zero, err
		}
	}
}

// pruned reports whether git failed because an object or its folder was removed
// meanwhile.
func pruned(err error) bool {
	for _, said := range []string{"not a valid object", "not found", "unable to write", "nonexistent object"} {
		if strings.Contains(err.Error(), said) {
			return true
		}
	}
	return false
}
