// Package guard decides what an agent may run and write. It owns the command
// guard (a shell line is parsed and evaluated, never matched as text), the rules
// for the file-writing tools of the clients, the toolchain policy, the matcher
// of protected paths and the answers of the hook processes.
//
// Everything here is pure: a Policy and a command in, a Verdict out. Nothing is
// executed, no file, clock or network is read. The guard explains; it is not the
// boundary. A program that the agent writes and then runs is invisible to it, and
// the sandbox is there for that.
package guard

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Decision is the outcome of a judgement.
type Decision string

// The two decisions.
const (
	Allow Decision = "allow"
	Deny  Decision = "deny"
)

// Classes of denials. An allowed command has the class "".
const (
	ClassGitWrite    = "git-write"       // a git command that changes the repository
	ClassGitExec     = "git-read-exec"   // a reading git command made to run a program or write a file
	ClassGitOptions  = "git-global-opts" // settings handed to git on the line
	ClassGitFiles    = "gitdir-files"    // files of a git directory, or git's own settings
	ClassOtherTools  = "git-other-tools" // gh, jj, husky, release tools …
	ClassManager     = "package-manager" // a blocked package manager
	ClassDestructive = "destructive"     // wipes more than the work at hand
	ClassOutside     = "outside"         // writes outside the worktree
	ClassState       = "ralph-state"     // the loop's own state or process
	ClassProtected   = "protected"       // a protected path
	ClassUndecidable = "undecidable"     // what would run cannot be known beforehand
	ClassUnparsable  = "unparsable"      // not a complete shell line
	ClassDenied      = "denied"          // a pattern of guard.deny
	ClassTool        = "tool"            // a tool that this phase does not have
	ClassInput       = "input"           // the question itself could not be read
)

// Verdict reports whether something may be done. Reason is one sentence without a
// full stop; Instead names the next move. All three texts are empty when allowed.
type Verdict struct {
	Verdict Decision `json:"verdict"`
	Class   string   `json:"class"`
	Reason  string   `json:"reason"`
	Instead string   `json:"instead"`
}

// Allowed reports whether the verdict is allow. The zero Verdict is not.
func (v Verdict) Allowed() bool { return v.Verdict == Allow }

// Message is the denial as one line for the agent: the fact, then what to do.
func (v Verdict) Message() string {
	if v.Allowed() {
		return ""
	}
	s := "blocked (" + v.Class + "): " + v.Reason
	if v.Instead != "" {
		s += ". Instead: " + v.Instead
	}
	return s
}

func allowed() Verdict { return Verdict{Verdict: Allow} }

func denied(class, reason, instead string) Verdict {
	return Verdict{Verdict: Deny, Class: class, Reason: reason, Instead: instead}
}

// Policy is everything a judgement depends on. It is written as JSON for the
// hook processes of a run; the zero Policy is usable and strict. Paths are
// absolute and use slashes (a Windows path as C:/x). All slices may be nil; where
// nil and empty differ, the JSON keeps them apart (null and []).
type Policy struct {
	Worktree string `json:"worktree"`       // root of the worktree, where commands start
	Home     string `json:"home,omitempty"` // the agent's HOME; empty = unknown
	// git directory and common directory; any path with a .git part counts as well
	GitDirs  []string `json:"git_dirs,omitempty"`
	State    []string `json:"state,omitempty"`    // places of the loop's own state, in addition to .ralph and /run/git-ralph
	Writable []string `json:"writable,omitempty"` // folders that may be written, in addition to worktree and temporary folders
	Temp     []string `json:"temp"`               // temporary folders; nil = /tmp, /var/tmp, /private/tmp, /dev/shm

	// Aliases are git's aliases as configured, without the "alias." prefix.
	Aliases map[string]string `json:"aliases,omitempty"`

	// Toolchain holds what the preset blocks and rewrites. A zero one stands
	// for the preset "none", which still blocks the Python managers.
	Toolchain Toolchain `json:"toolchain"`

	// Allow and Deny are command patterns (guard.allow, guard.deny), see Pattern.
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`

	// Protected are globs relative to the worktree; nil = DefaultProtected,
	// empty = none. AllowProtected are globs that a task may touch nevertheless.
	Protected      []string `json:"protected"`
	AllowProtected []string `json:"allow_protected,omitempty"`
	FoldCase       bool     `json:"fold_case,omitempty"` // the file system does not tell A from a

	// Tools are the canonical tools of the phase; nil = all. WriteOnly, when
	// set, is the only place the file tools may write (discovery: specs/**).
	Tools     []string `json:"tools"`
	WriteOnly []string `json:"write_only,omitempty"`
	// MCP lists the servers, besides our own, whose tools may be called.
	MCP []string `json:"mcp,omitempty"`

	// HookProbe, when set, makes the hook refuse and record every tool call. It
	// is nil in every policy of a run.
	HookProbe *HookProbe `json:"canary,omitempty"`
}

// DefaultProtected lists what guard.protected holds without a setting.
func DefaultProtected() []string {
	return []string{"ralph.toml", "specs/**", ".github/**", ".gitlab-ci.yml", ".ci/**"}
}

// New returns the policy of a worktree with every default: what
// "git ralph guard" uses when nothing is configured. It assumes no more than
// this: paths are relative to worktree; .ralph folders, .git parts of any path
// outside temporary folders and every home folder are guarded wherever they
// are; the Python managers are blocked; and a short name that git does not
// know and the repository does not define is harmless only if it
// conventionally reads (st, lg, last …).
func New(worktree, home string) *Policy {
	return &Policy{Worktree: slash(worktree), Home: slash(home)}
}

// Marshal writes the policy for the hook processes of a run.
func (p *Policy) Marshal() ([]byte, error) {
	b, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write the guard policy: %w", err)
	}
	return append(b, '\n'), nil
}

// Unmarshal reads what Marshal wrote. An unknown key or a relative worktree is
// an error: a policy that is not understood whole must not be applied in part.
func Unmarshal(b []byte) (*Policy, error) {
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	p := new(Policy)
	if err := dec.Decode(p); err != nil {
		return nil, fmt.Errorf("read the guard policy: %w", err)
	}
	if !isAbs(p.Worktree) {
		return nil, fmt.Errorf("read the guard policy: worktree %q is not an absolute path", p.Worktree)
	}
	return p, nil
}

func (p *Policy) temp() []string {
	if p.Temp != nil {
		return p.Temp
	}
	return []string{"/tmp", "/var/tmp", "/private/tmp", "/dev/shm"}
}

func (p *Policy) protected() Protected {
	if p.Protected == nil {
		return Protected{Globs: DefaultProtected(), FoldCase: p.FoldCase}
	}
	return Protected{Globs: p.Protected, FoldCase: p.FoldCase}
}

func slash(s string) string { return strings.ReplaceAll(s, `\`, "/") }

// isAbs knows both kinds of absolute paths, because a policy may be judged on
// another system than the one it is about (tests).
func isAbs(s string) bool {
	return strings.HasPrefix(s, "/") || len(s) > 2 && s[1] == ':' && s[2] == '/'
}

// below reports whether the clean path s is dir or is in it.
func below(s, dir string) bool {
	if dir == "" {
		return false
	}
	dir = path.Clean(dir)
	return s == dir || dir == "/" || len(s) > len(dir) && s[len(dir)] == '/' && strings.HasPrefix(s, dir)
}

func belowAny(s string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return below(s, slash(d)) })
}
