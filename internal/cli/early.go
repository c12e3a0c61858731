package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"git-ralph/guard/hook"
	_ "git-ralph/guard/hook/atonce"
	"git-ralph/internal/agent"
	"git-ralph/internal/agent/scripted"
)

// early serves what is not for people and has no command line: the trial of a client's hook, and
// the player of the scripted agent. (The hooks of clients and the first process of a sandbox do
// not come to main.)
func early(argv []string) (code int, done bool) {
	if len(argv) > 2 && argv[1] == hook.Command && argv[2] == hook.Canary {
		return probeHook(argv[3:], os.Environ(), os.Stdout, os.Stderr), true
	}
	if len(argv) > 1 && argv[1] == scripted.Command {
		return scripted.Main(os.Stdin, os.Stdout), true
	}
	return 0, false
}

// probeHook answers `git ralph hook canary CLIENT [PATH]`: does this client, on
// this machine, call our hook before a tool runs, and obey it. It is what a
// driver does before its loop, for people who write the settings of a client
// themselves.
func probeHook(argv, env []string, out, errs io.Writer) int {
	if len(argv) < 1 || len(argv) > 2 {
		fmt.Fprintln(errs, "error: no client is named\nhint: git ralph hook canary claude [PATH OF THE CLIENT]")
		return 2
	}
	opts := agent.Options{}
	if len(argv) == 2 {
		opts.ClientPath = argv[1]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	info, err := agent.ProbeHooks(ctx, argv[0], opts, env)
	switch {
	case ctx.Err() != nil:
		return 130
	case err != nil:
		fmt.Fprintf(errs, "error: %v\n", err)
		return 1
	case !info.Supported:
		fmt.Fprintf(errs, "error: %s\nhint: %s\n", info.Problem, info.Hint)
		return 8
	}
	fmt.Fprintf(out, "%s asks the hook before its tools and obeys it\n", argv[0])
	return 0
}
