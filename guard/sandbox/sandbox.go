// Package sandbox is the boundary around everything that an agent wrote or
// runs: the agent's client itself, checks, criteria and steps.
//
// On Linux it is made of kernel namespaces, by this very program started again
// as the first process of a new user, mount, pid and ipc namespace. The
// whole tree is read-only, the worktree is writable, git directories are bound
// read-only on top of it, the home folder is an overlay, temporary folders are
// private, credentials are covered by empty mounts, and when the first process
// ends the kernel ends all others. Where namespaces are refused, Landlock can
// confine writes to a linked worktree whose git directory lies elsewhere.
//
// The package stores nothing of its own. What a sandboxed home folder gathers
// lies in Spec.HomeUpper, which the caller owns. A mechanism is found out by
// doing it once (Probe) and never changed behind the caller's back: what a
// Spec asks for is done, or the command does not start.
package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Mechanism is how a command is confined.
type Mechanism string

// The mechanisms, strongest first.
const (
	Namespaces Mechanism = "namespaces"
	Landlock   Mechanism = "landlock"
	None       Mechanism = "none"
)

// Network is what a command can reach.
type Network string

// The network policies. Without the whole network there are no abstract unix
// sockets of others either.
const (
	NetworkOpen     Network = "open"
	NetworkLoopback Network = "loopback" // own processes, over 127.0.0.1 and ::1
	NetworkNone     Network = "none"
)

// HomeMode is how a command gets a home folder that it may write.
type HomeMode string

// The home modes.
const (
	// HomeOverlay shows the user's home and keeps all changes in HomeUpper.
	HomeOverlay HomeMode = "overlay"
	// HomeCopy is for file systems that refuse an overlay: a folder in
	// HomeUpper with copies of small files and read-only binds of folders;
	// well-known cache folders start empty and are writable.
	HomeCopy HomeMode = "copy"
	// HomeReadOnly shows the user's home as it is, without writing.
	HomeReadOnly HomeMode = "read-only"
)

// RunDir is where files of a run appear inside the namespaces.
const RunDir = "/run/git-ralph"

// Bind shows Source at Target, read-only unless Writable.
type Bind struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	Writable bool   `json:"writable,omitempty"`
}

// Share shows the folder Lower at Target, which is a folder in the worktree, with
// what commands have written there. Lower itself is never changed.
type Share struct {
	Lower  string `json:"lower"`
	Target string `json:"target"`

	// Upper holds what the command writes, Under what others have written and it
	// sees. They are set when the command starts.
	Upper string `json:"upper,omitempty"`
	Under string `json:"under,omitempty"`
}

// Spec says what a sandbox looks like. All paths are absolute.
type Spec struct {
	Mechanism Mechanism `json:"mechanism"`

	// Worktree is where the command works. Required.
	Worktree string `json:"worktree"`
	// WorktreeReadOnly is for phases that only plan.
	WorktreeReadOnly bool `json:"worktree_read_only,omitempty"`
	// GitDirs are bound read-only over everything else: the .git folder or
	// file, and the common git directory. Each must exist.
	GitDirs []string `json:"git_dirs,omitempty"`
	// ReadOnlyPaths are read-only parts of the worktree: nested repositories,
	// submodules, oversized files of the user. Missing ones are ignored.
	ReadOnlyPaths []string `json:"read_only_paths,omitempty"`
	// Writable are further folders or files that may be written. They must
	// exist and not lie in a git directory.
	Writable []string `json:"writable,omitempty"`
	// Hidden are covered by empty mounts, besides DefaultHidden. Missing ones
	// are ignored.
	Hidden []string `json:"hidden,omitempty"`
	// Emptied are folders that look empty except for what is mounted in them,
	// such as a git directory. Missing ones are ignored.
	Emptied []string `json:"emptied,omitempty"`
	// Sockets are unix sockets (or files) that stay reachable although their
	// folder is private, such as /run/docker.sock: a hole by choice.
	Sockets []string `json:"sockets,omitempty"`

	// Home is the user's home folder; "" = none is treated specially.
	Home string `json:"home,omitempty"`
	// HomeMode says how Home becomes writable. Required with Home.
	HomeMode HomeMode `json:"home_mode,omitempty"`
	// HomeUpper is a folder outside Home (see HomeUpperDir) that keeps what is
	// written there, also between runs. It must not be used by two sandboxes
	// at the same time. Required with HomeOverlay and HomeCopy.
	HomeUpper string `json:"home_upper,omitempty"`
	// HomeLower is the HomeUpper of earlier commands. What they wrote lies over
	// Home for this command to read. A missing one is empty; "" = none.
	HomeLower string `json:"home_lower,omitempty"`
	// HomeDiscard gives each command a new folder of its own inside HomeUpper
	// and removes it with everything the command wrote when it has ended. Such
	// commands may run side by side.
	HomeDiscard bool `json:"home_discard,omitempty"`

	// Shares are folders of another worktree that are shown in this one. Commands
	// with the same ShareLayer may run side by side. What one writes is kept
	// there, unless another one is running.
	Shares []Share `json:"shares,omitempty"`
	// ShareLayer is a folder that keeps what is written to Shares. Required with
	// Shares.
	ShareLayer string `json:"share_layer,omitempty"`
	// ShareFrom is the worktree of Shares. Absolute paths into it are rewritten to
	// the same place of Worktree.
	ShareFrom string `json:"share_from,omitempty"`

	// Binds appear at their targets, which lie below RunDir.
	Binds []Bind `json:"binds,omitempty"`
	// TempBytes is how much the private temporary folders may hold together, with
	// one file or folder a KiB of it; 0 = a quarter of the memory.
	TempBytes int64 `json:"temp_bytes,omitempty"`
	// MaxProcesses is how many processes and threads there may be; more end the
	// command. 0 = any number. It needs namespaces and OwnProc.
	MaxProcesses int `json:"max_processes,omitempty"`
	// FixedAttributes keeps commands from changing extended attributes, ACLs and
	// file capabilities, and from changing owners, which root is told was done.
	FixedAttributes bool `json:"fixed_attributes,omitempty"`
	// CommandFiles stay visible although their folder may be private: the
	// program, arguments that are existing files, folders of PATH. Symbolic
	// links on the way are kept. Missing ones are ignored.
	CommandFiles []string `json:"command_files,omitempty"`

	Network Network `json:"network"`
	// OwnProc mounts a /proc of the new pid namespace. Without it the one of
	// the surroundings is shown read-only, as where containers mask theirs.
	OwnProc bool `json:"own_proc,omitempty"`
	// OwnMounts lets a client's own sandbox make mount namespaces. In one, a process
	// can leave our mounts and move what they cover: it is for clients that confine
	// their commands themselves.
	OwnMounts bool `json:"own_mounts,omitempty"`
	// CloseAbstract keeps abstract unix sockets of others closed also while
	// the network is open.
	CloseAbstract bool `json:"close_abstract,omitempty"`
}

// DefaultHidden are the places in a home folder where credentials lie.
// (.cache/git holds the socket of git's credential cache.)
func DefaultHidden() []string {
	return []string{
		".ssh", ".gnupg", ".netrc", "_netrc", ".authinfo", ".git-credentials", ".git-credential-cache",
		".gitcookies", ".config/git/credentials", ".cache/git", ".config/gh", ".config/glab-cli", ".config/hub",
		".aws", ".azure", ".config/gcloud", ".kube", ".docker", ".config/containers", ".pypirc",
		".cargo/credentials", ".cargo/credentials.toml", ".password-store", ".local/share/keyrings",

		".pgpass", ".my.cnf", ".mylogin.cnf", ".vault-token", ".terraform.d", ".terraformrc", ".gem/credentials",
		".local/share/gem/credentials", ".bundle/config",
		".config/rclone", ".config/op", ".s3cfg", ".boto", ".cache/huggingface/token", ".huggingface/token", ".kaggle",
		".databrickscfg", ".snowflake", ".snowsql",
		".config/doctl", ".config/hcloud", ".config/stripe", ".config/heroku", ".config/netlify", ".netlify", ".config/sops",
		".config/age", ".config/pypoetry/auth.toml",
		".config/github-copilot", ".config/helm/registry", ".config/jgit", ".config/fly", ".fly", ".config/vercel",
		".local/share/com.vercel.cli", ".config/ngrok",
		".config/linode-cli", ".oci", ".aliyun", ".bluemix", ".config/scw", ".config/exercism", ".config/wrangler",
		".wrangler", ".config/supabase", ".supabase",
		".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi",
		".config/opera", ".mozilla", ".thunderbird",
		".local/share/kwalletd", ".config/kwalletrc", ".config/keepassxc", ".config/Bitwarden", ".config/1Password",
		".lastpass", ".local/share/uv/credentials",
		".bash_history", ".zsh_history", ".zhistory", ".local/share/fish/fish_history", ".python_history",
		".node_repl_history", ".psql_history", ".mysql_history",
		".sqlite_history", ".rediscli_history", ".irb_history", ".lesshst", ".history",
		".bitcoin", ".ethereum", ".electrum", ".config/solana", ".gnome2/keyrings", ".subversion/auth", ".hgrc.d",
		".config/hub.yml", ".sentryclirc",
		".netrc.gpg", ".authinfo.gpg", ".config/msmtp", ".msmtprc", ".fetchmailrc", ".config/neomutt", ".config/evolution",
		".config/filezilla", ".config/remmina",
		".local/share/remmina", ".config/Slack", ".config/discord", ".config/Signal",
		".config/Code/User/globalStorage/state.vscdb",
	}
}

// SettingsWithSecrets are files of a home folder that many programs need and
// that often hold a login as well: they are covered when they do.
func SettingsWithSecrets() []string {
	return []string{".npmrc", ".yarnrc", ".yarnrc.yml", ".m2/settings.xml", ".m2/settings-security.xml",
		".gradle/gradle.properties", ".config/pip/pip.conf",
		".pip/pip.conf", ".config/uv/uv.toml", ".condarc", ".config/composer/auth.json", ".composer/auth.json",
		".nuget/NuGet/NuGet.Config", ".curlrc", ".wgetrc", ".hgrc"}
}

// Report is what a machine can do, found out by doing it.
type Report struct {
	Mechanism Mechanism `json:"mechanism"`
	// Detail is one sentence for people: what is in force, or why not more.
	Detail string `json:"detail"`
	// Missing names what this mechanism does not cover here.
	Missing []string `json:"missing,omitempty"`

	HomeMode      HomeMode `json:"home_mode,omitempty"`
	OwnProc       bool     `json:"own_proc,omitempty"`
	CloseAbstract bool     `json:"close_abstract,omitempty"`
}

// Apply is spec with the mechanism and the variants that the probe found.
func (r Report) Apply(spec Spec) Spec {
	spec.Mechanism, spec.OwnProc, spec.CloseAbstract = r.Mechanism, r.OwnProc, r.CloseAbstract
	if spec.Home != "" {
		spec.HomeMode = r.HomeMode
	}
	return spec
}

// validate finds what would make a sandbox meaningless, before anything runs.
func (s Spec) validate() error {
	if s.Mechanism != Namespaces && s.Mechanism != Landlock {
		return fmt.Errorf("sandbox: mechanism %q cannot be applied", s.Mechanism)
	}
	switch s.Network {
	case NetworkOpen, NetworkLoopback, NetworkNone:
	default:
		return fmt.Errorf("sandbox: network %q is not one of open, loopback, none", s.Network)
	}
	if s.Mechanism == Landlock && s.Network != NetworkOpen {
		return fmt.Errorf("sandbox: landlock cannot keep to network %q", s.Network)
	}
	if s.Worktree == "" {
		return errors.New("sandbox: no worktree")
	}
	if s.Mechanism == Namespaces && s.Home != "" {
		switch s.HomeMode {
		case HomeOverlay, HomeCopy:
			if s.HomeUpper == "" {
				return errors.New("sandbox: no folder for the home's changes")
			}
			for _, p := range []string{s.HomeUpper, s.HomeLower} {
				if p != "" && within(p, s.Home) {
					return fmt.Errorf("sandbox: %q lies in the home folder whose changes it is to keep", p)
				}
			}
		case HomeReadOnly:
		default:
			return fmt.Errorf("sandbox: home mode %q is not known", s.HomeMode)
		}
	}
	if len(s.Shares) > 0 && (s.Mechanism != Namespaces || s.ShareLayer == "") {
		return errors.New("sandbox: shared folders need namespaces and a folder for what is written to them")
	}
	for _, f := range s.Shares {
		if clean := filepath.Clean(s.Worktree); f.Target == clean || !within(f.Target, clean) {
			return fmt.Errorf("sandbox: shared folder %q is not in the worktree", f.Target)
		}
	}
	for _, b := range s.Binds {
		if b.Target == RunDir || !within(b.Target, RunDir) {
			return fmt.Errorf("sandbox: bind target %q is not in %s", b.Target, RunDir)
		}
	}
	for _, w := range s.Writable {
		for _, g := range s.GitDirs {
			if within(w, g) {
				return fmt.Errorf("sandbox: writable %q lies in the git directory %q", w, g)
			}
		}
		if filepath.Clean(w) == "/" {
			return errors.New("sandbox: writable \"/\" would leave nothing of it")
		}
	}
	all := slices.Concat([]string{s.Worktree}, s.GitDirs, s.ReadOnlyPaths, s.Writable, s.Hidden, s.Emptied, s.Sockets,
		s.CommandFiles)
	for _, b := range s.Binds {
		all = append(all, b.Source)
	}
	for _, f := range s.Shares {
		all = append(all, f.Lower, f.Target)
	}
	for _, p := range append(all, s.Home, s.HomeUpper, s.HomeLower, s.ShareLayer, s.ShareFrom) {
		if p != "" && !filepath.IsAbs(p) {
			return fmt.Errorf("sandbox: path %q is not absolute", p)
		}
	}
	return nil
}

// within says whether path is dir or lies below it. Both are cleaned, neither
// is resolved.
func within(path, dir string) bool {
	path, dir = filepath.Clean(path), filepath.Clean(dir)
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+string(filepath.Separator))
}

func withinAny(path string, dirs []string) bool {
	for _, d := range dirs {
		if within(path, d) {
			return true
		}
	}
	return false
}
