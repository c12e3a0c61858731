package gitstate

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// knownIdentity is the author that git named, and the configuration it followed from.
type knownIdentity struct {
	mu     sync.Mutex
	author object.Signature
	from   proc.Config
}

// Identity is the user as author in git's present configuration, without a
// time. It is an error when git does not know the user as author or as
// committer.
func (r *Repo) Identity(ctx context.Context) (object.Signature, error) {
	config, err := r.Git.Config(ctx)
	if err != nil {
		return object.Signature{}, err
	}
	r.identity.mu.Lock()
	defer r.identity.mu.Unlock()
	if r.identity.from != nil && reflect.DeepEqual(r.identity.from, config) {
		return r.identity.author, nil
	}
	author, err := r.askIdentity(ctx, "GIT_AUTHOR_IDENT")
	if err == nil && r.twoIdentities(config) {
		_, err = r.askIdentity(ctx, "GIT_COMMITTER_IDENT")
	}
	if err != nil {
		return author, err
	}
	r.identity.author, r.identity.from = author, config
	return author, nil
}

// twoIdentities says whether git may know the author and not the committer.
func (r *Repo) twoIdentities(config proc.Config) bool {
	for _, s := range config {
		if strings.HasPrefix(s.Key, "author.") || strings.HasPrefix(s.Key, "committer.") {
			return true
		}
	}
	for _, kv := range r.Git.Env {
		if strings.HasPrefix(kv, "GIT_AUTHOR_") || strings.HasPrefix(kv, "GIT_COMMITTER_") {
			return true
		}
	}
	return false
}

func (r *Repo) askIdentity(ctx context.Context, name string) (object.Signature, error) {
	line, err := r.Git.Line(ctx, "-c", "user.useConfigOnly=true", "var", name)
	if err != nil {
		// useConfigOnly refuses a guessed name; a host may be set up so that
		// the guess is what people want, so ask git as it is configured.
		line, err = r.Git.Line(ctx, "var", name)
	}
	if err != nil {
		return object.Signature{}, refuse(NoIdentity, errors.New("git does not know who you are"))
	}
	return object.ParseSignature(line)
}
