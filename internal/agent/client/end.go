package client

import (
	"context"
	"fmt"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// DefaultGrace is how long a client may take to end after it was asked to.
// Claude Code needs up to 2.3 s for SIGTERM, because it ends its own children.
const DefaultGrace = 5 * time.Second

// Follow waits for p and ends w. It stops p, with grace between asking and killing, when
// ctx ends (Interrupted) or a limit of w is crossed (Hang, detail "idle 5m");
// otherwise the outcome is what the exit says.
func Follow(ctx context.Context, p *proc.Process, w *Watch, grace time.Duration) (session.OutcomeKind, string,
	proc.Exit,
	error) {
	defer w.Stop()
	kind, detail := session.OutcomeKind(""), ""
	select {
	case <-p.Done():
	case detail = <-w.Late():
		kind = session.Hang
		p.Stop(grace)
	case <-ctx.Done():
		kind = session.Interrupted
		p.Stop(grace)
	}
	exit, err := p.Wait()
	if kind == "" {
		kind, detail = Outcome(exit)
	}
	return kind, detail, exit, err
}

// Outcome is what the end of a process by itself means: status 0 is completed,
// everything else a crash, "signal 9" or "exit 3". A status above 128 is a
// signal too: shells and the init process of the sandbox pass signals on so.
func Outcome(exit proc.Exit) (session.OutcomeKind, string) {
	signal := exit.Signal
	if signal == 0 && exit.Code > 128 && exit.Code <= 128+64 {
		signal = exit.Code - 128
	}
	switch {
	case signal != 0:
		return session.Crashed, fmt.Sprintf("signal %d", signal)
	case exit.Code != 0:
		return session.Crashed, fmt.Sprintf("exit %d", exit.Code)
	}
	return session.Completed, ""
}
