package session

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"git-ralph/guard"
	"git-ralph/guard/hook"
)

func judgeTool(p *guard.Policy, u ToolUse) Permission {
	v := p.JudgeTool(u.Tool, u.Input)
	if !v.Allowed() {
		return Permission{Reason: v.Message()}
	}
	updated, _ := p.RewriteInput(u.Input, p.Worktree)
	return Permission{Allow: true, Updated: updated}
}

// InstallSelf makes our binary reachable as git-ralph, so that an agent can
// say `git ralph tool`.
func InstallSelf(binary, dir string) error {
	to := filepath.Join(dir, SelfName(binary))
	if _, err := os.Lstat(to); err == nil {
		return nil // from an earlier session; writing would go through the link
	}
	if os.Symlink(binary, to) == nil || os.Link(binary, to) == nil {
		return nil
	}
	data, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		return fmt.Errorf("put git-ralph on the agent's path: %w", err)
	}
	return nil
}

// SelfName is the file name that InstallSelf gives to our binary.
func SelfName(binary string) string {
	if strings.EqualFold(filepath.Ext(binary), ".exe") {
		return "git-ralph.exe"
	}
	return "git-ralph"
}

func prependPath(env []string, dir string) []string {
	out := make([]string, 0, len(env)+1)
	found := false
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			kv, found = "PATH="+dir+string(os.PathListSeparator)+path, true
		}
		out = append(out, kv)
	}
	if !found {
		out = append(out, "PATH="+dir)
	}
	return out
}

// installGuard writes the policy and the shims into the folder of the run and
// returns the agent's environment with them. It may be called again for a
// further run in the same folder.
func (h *Host) installGuard(runDir string, p *guard.Policy, env []string) ([]string, error) {
	inside := func(parts ...string) string {
		return h.Sandbox.Inside(runDir, filepath.Join(append([]string{runDir}, parts...)...))
	}
	data, err := p.Marshal()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(runDir, hook.PolicyFile), data, 0o600); err != nil {
		return nil, fmt.Errorf("write the policy of the run: %w", err)
	}
	dir := filepath.Join(runDir, hook.ShimFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the shims: %w", err)
	}
	// Most shims are the same file under another name. A hundred files that are made and removed
	// with each iteration would slow everything down that makes files: ext4 gives the inode of a
	// removed file to nobody for a minute, and passes by all of them each time.
	written := map[string]string{}
	for _, s := range p.Shims(inside("bin", SelfName(h.Binary)), runtime.GOOS) {
		path := filepath.Join(dir, s.File)
		if same := written[s.Contents]; same != "" && os.Link(same, path) == nil {
			continue
		}
		if err := os.WriteFile(path, []byte(s.Contents), 0o700); err != nil {
			return nil, fmt.Errorf("write the shim of %s: %w", s.Name, err)
		}
		written[s.Contents] = path
	}
	return append(prependPath(env, inside(hook.ShimFolder)), hook.PolicyVar+"="+inside(hook.PolicyFile)), nil
}
