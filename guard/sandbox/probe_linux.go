package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"git-ralph/internal/proc"
)

// Probe tests what this machine can do: it makes a sandbox around a throw-away
// worktree with the home folder of spec (Home and HomeUpper; both may be empty),
// and tries to break out from inside. HomeUpper may be in use, so a throw-away
// folder beside it takes its place. When a part of the sandbox is refused, Probe
// goes on without it and says so. An error means that the probe itself could not
// be made.
func Probe(ctx context.Context, spec Spec) (Report, error) {
	dir, err := proc.TempDir("probe")
	if err != nil {
		return Report{}, fmt.Errorf("probe the sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	work, git := filepath.Join(dir, "work"), filepath.Join(dir, "work", ".git")
	if err := os.MkdirAll(git, 0o700); err != nil {
		return Report{}, fmt.Errorf("probe the sandbox: %w", err)
	}
	try := Spec{
		Mechanism: Namespaces, Worktree: work, GitDirs: []string{git}, Network: NetworkOpen,
		Home: spec.Home, HomeUpper: spec.HomeUpper, HomeMode: HomeOverlay,
		OwnProc: true, CloseAbstract: true,
	}
	if try.Home == "" || try.HomeUpper == "" {
		try.HomeMode = HomeReadOnly
	}
	if err := try.validate(); err != nil {
		return Report{}, err
	}
	if try.HomeUpper != "" {
		if err := os.MkdirAll(filepath.Dir(try.HomeUpper), 0o700); err != nil {
			return Report{}, fmt.Errorf("probe the sandbox: %w", err)
		}
		if try.HomeUpper, err = os.MkdirTemp(filepath.Dir(try.HomeUpper), "probe-"); err != nil {
			return Report{}, fmt.Errorf("probe the sandbox: %w", err)
		}
		defer RemoveHomeUpper(try.HomeUpper)
	}
	var missing []string
	for {
		refused, err := attempt(ctx, try)
		if ctx.Err() != nil {
			return Report{}, fmt.Errorf("probe the sandbox: %w", ctx.Err())
		}
		if err == nil {
			break
		}
		switch {
		case refused == "home" && try.HomeMode == HomeOverlay:
			try.HomeMode = HomeCopy
			missing = append(missing, fmt.Sprintf("home overlay (%v): a copy of the home's small files instead", err))
		case refused == "home" && try.HomeMode == HomeCopy:
			try.HomeMode = HomeReadOnly
			missing = append(missing, fmt.Sprintf("writable home (%v)", err))
		case refused == "proc" && try.OwnProc:
			try.OwnProc = false
			missing = append(missing, "a /proc of its own: processes outside can be seen, not touched")
		case refused == "abstract" && try.CloseAbstract:
			try.CloseAbstract = false
			missing = append(missing, "abstract unix sockets while the network is open")
		default:
			return probeLandlock(ctx, try, err)
		}
	}
	return Report{
		Mechanism: Namespaces, Detail: "user, mount, pid and ipc namespaces",
		Missing:  append(missing, "unix sockets in folders that are not hidden or private"),
		HomeMode: try.HomeMode, OwnProc: try.OwnProc, CloseAbstract: try.CloseAbstract,
	}, nil
}

// attempt makes one sandbox and runs the self-check in it.
func attempt(ctx context.Context, spec Spec) (refused string, err error) {
	if err := spec.validate(); err != nil {
		return "", err
	}
	var stderr bytes.Buffer
	w, err := wrap(proc.Command{Env: minimalEnv(), Stderr: &stderr}, order{Spec: spec, Probe: true})
	if err != nil {
		return w.refused, err
	}
	p, err := proc.Start(ctx, w.cmd)
	if err != nil {
		return w.refused, w.started(0, err)
	}
	if err = w.started(p.Pid, nil); err != nil {
		p.Stop(0)
		return w.refused, err
	}
	defer w.close()
	if exit, err := p.Wait(); err != nil || !exit.Success() {
		return "", fmt.Errorf("sandbox: the self-check ended with %s: %s", exit, bytes.TrimSpace(stderr.Bytes()))
	}
	return "", nil
}

// minimalEnv is enough for our own program.
func minimalEnv() []string {
	return slices.DeleteFunc([]string{"PATH=" + os.Getenv("PATH")}, func(s string) bool { return s == "PATH=" })
}
