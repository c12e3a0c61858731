package client

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
)

// ProbeLimit is the longest that a healthy client needs to say who it is, on a busy machine.
const ProbeLimit = time.Minute

// Probe is how a client is looked for on this machine.
type Probe struct {
	Name    string // of the client, for people
	Tested  string // the version that the tests ran
	Install string // the command that installs it
	Login   string // how to let it in
	// Find is the beginning of its command line, nil = not found.
	Find     func() []string
	LoggedIn func() bool
}

// Run finds the client, asks for its version and looks for a login. An error
// means that ctx ended; everything about the client is in Info.
func (p Probe) Run(ctx context.Context, env []string) (Info, error) {
	if runtime.GOOS == "windows" {
		return Info{Problem: "the " + p.Name + " driver does not work on Windows",
			Hint: "use it in WSL, or another agent.driver"}, nil
	}
	argv := p.Find()
	if len(argv) == 0 {
		return Info{Problem: p.Name + " was not found on PATH", Hint: p.Install}, nil
	}
	info := Info{Found: true, Path: argv[len(argv)-1], Hint: p.Install}
	limited, cancel := context.WithTimeout(ctx, ProbeLimit)
	defer cancel()
	out := proc.NewHeadTail(4 << 10)
	exit, err := proc.Run(limited, proc.Command{Argv: append(argv, "--version"), Env: Set(env, "NO_COLOR=1"), Stdout: out})
	if ctx.Err() != nil {
		return info, fmt.Errorf("probe %s: %w", p.Name, ctx.Err())
	}
	if info.Version = VersionIn(out.String()); err != nil || !exit.Success() || info.Version == "" {
		info.Problem = fmt.Sprintf("%s does not say which version it is (%s)", info.Path, Line(out.String(), 200))
		return info, nil
	}
	switch CompareVersions(info.Version, p.Tested) {
	case -1:
		info.Problem = fmt.Sprintf("%s %s is too old: %s is the oldest that is known to put every tool call to the guard",
			p.Name, info.Version, p.Tested)
		return info, nil
	case 1:
		info.Warning = fmt.Sprintf("%s %s is newer than %s, the newest that git ralph was tested with", p.Name, info.Version,
			p.Tested)
	}
	info.Login = "yes"
	if !p.LoggedIn() {
		info.Login, info.Problem, info.Warning, info.Hint = "no", p.Name+" is not logged in", "", p.Login
		return info, nil
	}
	if info.Supported = true; info.Warning == "" {
		info.Hint = ""
	}
	return info, nil
}

var version = lazyregexp.New(`\d+\.\d+\.\d+`)

// VersionIn is the first version number in text, "" = none.
func VersionIn(text string) string { return version().FindString(strings.TrimSpace(text)) }
