package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"git-ralph/guard"
)

// What the guard needs in the folder of a run.
const (
	// PolicyFile is the policy of the run, beside the folder of our binary.
	PolicyFile = "policy.json"
	// PolicyVar names the policy's path, for a hook that is called by another.
	PolicyVar = "RALPH_GUARD_POLICY"
	// ShimFolder holds the shims, first on the agent's PATH and on nobody
	// else's: checks and steps run the real programs.
	ShimFolder = "shims"
)

// policyFor is the guard's policy of one agent run.
func (l *Loop) policyFor(it *Ready, role Role, tools []string) *guard.Policy {
	p := l.Policy.ForPhase(string(it.phase))
	p.Tools = tools
	p.AllowProtected = it.task.AllowProtected
	p.MCP = l.Settings.Roles[role].MCP
	return p
}

// installGuard writes the policy and the shims into the folder of the run and
// returns the agent's environment with them. It may be called again for a
// further run in the same folder.
func (l *Loop) installGuard(runDir string, p *guard.Policy, env []string) ([]string, error) {
	inside := func(parts ...string) string {
		return l.Sandbox.Inside(runDir, filepath.Join(append([]string{runDir}, parts...)...))
	}
	data, err := p.Marshal()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(runDir, PolicyFile), data, 0o600); err != nil {
		return nil, fmt.Errorf("write the policy of the run: %w", err)
	}
	dir := filepath.Join(runDir, ShimFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the shims: %w", err)
	}
	for _, s := range p.Shims(inside("bin", SelfName(l.Binary)), runtime.GOOS) {
		if err := os.WriteFile(filepath.Join(dir, s.File), []byte(s.Contents), 0o700); err != nil {
			return nil, fmt.Errorf("write the shim of %s: %w", s.Name, err)
		}
	}
	return append(prependPath(env, inside(ShimFolder)), PolicyVar+"="+inside(PolicyFile)), nil
}
