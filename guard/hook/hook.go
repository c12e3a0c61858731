// Package hook is what the clients of a run and the programs on its agent's PATH call before
// they do anything: the guard as a process.
package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"git-ralph/guard"
	"git-ralph/internal/proc"
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

// Command is the first argument by which this program knows that it is called by one of them.
const Command = "hook"

// Canary is the second argument of a call that tries a client's hook. It needs the drivers, and
// is not answered here.
const Canary = "canary"

// Serve does not return when this program was called as the hook. The package atonce calls it.
func Serve() {
	if len(os.Args) > 1 && os.Args[1] == Command && (len(os.Args) < 3 || os.Args[2] != Canary) {
		os.Exit(answer(os.Args, os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	}
}

// maxHookEvent bounds what a client's hook may be told, in bytes. A tool call
// that writes a file carries all of it.
const maxHookEvent = 16 << 20

// refused is the only exit status that every client takes for a refusal: with
// any other one a hook that fails lets the tool run.
const refused = 2

// answer serves `git ralph hook CLIENT` (an event of a client's hook on standard
// input) and `git ralph hook shim NAME WORDS…` (a program of the agent's PATH).
// Whatever goes wrong is a refusal.
func answer(argv, env []string, in io.Reader, out, errs io.Writer) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintln(errs, "blocked (input): the guard could not follow this call")
			code = refused
		}
	}()
	if len(argv) < 3 {
		fmt.Fprintln(errs, "blocked (input): the hook was called for no client")
		return refused
	}
	run := runFolder(argv[0])
	policy, err := readPolicy(run, env)
	if argv[2] == "shim" {
		return shim(argv[3:], withoutShims(env, filepath.Join(run, ShimFolder)), policy, err, errs)
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		policy = nil // which refuses
	}
	event, err := io.ReadAll(io.LimitReader(in, maxHookEvent+1))
	if err != nil || len(event) > maxHookEvent {
		event = nil // no JSON, which is refused
	}
	a := guard.HookAnswer(argv[2], event, policy)
	if a.Record != nil {
		if err := record(policy.HookProbe.Record, a.Record); err != nil {
			fmt.Fprintln(errs, "blocked (input): the canary cannot be recorded:", err)
			return refused
		}
	}
	out.Write(a.Stdout)
	errs.Write(a.Stderr)
	return a.Exit
}

// runFolder is the folder of the run that this program was called from: a shim
// and a client's hook call it as <run folder>/bin/git-ralph. "" = none.
func runFolder(self string) string {
	if !filepath.IsAbs(self) {
		return ""
	}
	return filepath.Dir(filepath.Dir(self))
}

// readPolicy reads the policy that the loop wrote for this run: in the run's
// folder, which the agent cannot write, else where the environment says.
func readPolicy(run string, env []string) (*guard.Policy, error) {
	path := filepath.Join(run, PolicyFile)
	if _, err := os.Lstat(path); run == "" || err != nil {
		path = proc.Getenv(env, PolicyVar)
	}
	if path == "" {
		return nil, fmt.Errorf("there is no policy: this process is not part of a run (%s is not set)", PolicyVar)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the policy of the run: %w", err)
	}
	return guard.Unmarshal(data)
}

// record adds a line in one write, so that the lines of hooks that are called
// at the same time stay whole.
func record(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// shim stands before a program on the agent's PATH: it refuses, or it becomes
// the real program, which is looked for without the folder of the shims.
func shim(argv, env []string, p *guard.Policy, problem error, errs io.Writer) int {
	refuse := func(why string) int {
		fmt.Fprintln(errs, why)
		return refused
	}
	switch {
	case len(argv) == 0:
		return refuse("blocked (input): the shim was called for no program")
	case problem != nil:
		return refuse("blocked (input): " + problem.Error())
	}
	dir, err := os.Getwd()
	if err != nil {
		return refuse("blocked (input): the folder of the call is gone: " + err.Error())
	}
	if next, ok := p.RewriteArgv(argv); ok {
		argv = next
	}
	if v := p.JudgeExec(argv, changedGitEnv(env), dir); !v.Allowed() {
		return refuse(v.Message())
	}
	path := proc.Look(argv[0], env)
	if path == "" {
		fmt.Fprintf(errs, "%s: not found\n", argv[0])
		return 127
	}
	return become(path, argv, env, errs)
}

// withoutShims takes a folder off PATH, so that no shim meets itself.
func withoutShims(env []string, shims string) []string {
	path := slices.DeleteFunc(filepath.SplitList(proc.Getenv(env, "PATH")), func(dir string) bool {
		return filepath.Clean(dir) == shims || runtime.GOOS == "windows" && strings.EqualFold(filepath.Clean(dir), shims)
	})
	return proc.SetEnv(env, "PATH", strings.Join(path, string(os.PathListSeparator)))
}

// changedGitEnv leaves out what the harness itself has set for the agent's git
// (no credential helper; certificates of the user): the rest is judged.
func changedGitEnv(env []string) []string {
	ours := true
	n, err := strconv.Atoi(proc.Getenv(env, "GIT_CONFIG_COUNT"))
	for i := 0; err == nil && i < min(n, 64) && ours; i++ {
		at := strconv.Itoa(i)
		ours = proc.Getenv(env, "GIT_CONFIG_KEY_"+at) == "credential.helper" && proc.Getenv(env, "GIT_CONFIG_VALUE_"+at) == ""
	}
	ours = ours && n <= 64
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "GIT_SSL_CAINFO", name == "GIT_SSL_CAPATH":
			return true
		case name == "GIT_CONFIG_COUNT", strings.HasPrefix(name, "GIT_CONFIG_KEY_"),
			strings.HasPrefix(name, "GIT_CONFIG_VALUE_"):
			return ours
		}
		return false
	})
}
