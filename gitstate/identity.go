package gitstate

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// knownIdentity is the author that git named, and the configuration it followed from.
type knownIdentity struct {
	mu     sync.Mutex
	author object.Signature
	from   proc.Config
	plain  bool // what we write for it is what git writes: see plainIdentity
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
	author, line, err := r.askIdentity(ctx, "GIT_AUTHOR_IDENT")
	two := r.twoIdentities(config)
	if err == nil && two {
		_, _, err = r.askIdentity(ctx, "GIT_COMMITTER_IDENT")
	}
	if err != nil {
		return author, err
	}
	_, encoded := config.Get("i18n.commitencoding")
	here := author
	here.When = author.When.Local()
	r.identity.author, r.identity.from = author, config
	r.identity.plain = !two && !encoded && here.String() == line
	return author, nil
}

// plainIdentity is the user as author and committer of a commit made now. ok = false says
// that only git knows how to write it: author and committer differ, commits have another
// encoding than UTF-8, or git's time zone is not ours.
func (r *Repo) plainIdentity(ctx context.Context) (sig object.Signature, ok bool) {
	sig, err := r.Identity(ctx)
	r.identity.mu.Lock()
	defer r.identity.mu.Unlock()
	sig.When = time.Now()
	return sig, err == nil && r.identity.plain
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

func (r *Repo) askIdentity(ctx context.Context, name string) (sig object.Signature, line string, err error) {
	line, err = r.Git.Line(ctx, "-c", "user.useConfigOnly=true", "var", name)
	if err != nil {
		// useConfigOnly refuses a guessed name; a host may be set up so that
		// the guess is what people want, so ask git as it is configured.
		line, err = r.Git.Line(ctx, "var", name)
	}
	if err != nil {
		return sig, "", refuse(NoIdentity, errors.New("git does not know who you are"))
	}
	sig, err = object.ParseSignature(line)
	return sig, line, err
}
