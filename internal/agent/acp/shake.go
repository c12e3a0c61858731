package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/command"
	"git-ralph/internal/proc"
)

// Shake starts a client for its first words alone, and ends it: who it says that it
// is, and which version. An error says why it is no client of the protocol.
func Shake(ctx context.Context, argv []string, dir string, env []string) (name, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, StartLimit)
	defer cancel()
	stderr := proc.NewHeadTail(16 << 10)
	p, err := proc.Start(context.WithoutCancel(ctx), proc.Command{Argv: command.Resolve(argv, dir, env), Dir: dir,
		Env: env, StdinPipe: true, StdoutPipe: true, Stderr: stderr})
	if err != nil {
		return "", "", fmt.Errorf("start the client: %w", err)
	}
	out := client.NewOutbox(p.Stdin)
	answers, over := make(chan line, 1), make(chan struct{})
	go func() {
		defer close(over)
		lines := &client.Lines{Max: client.MaxLine, Line: func(data []byte, cut bool) {
			var l line
			if cut || client.Tolerant(json.Unmarshal(data, &l)) != nil || string(l.ID) != `"`+initializeID+`"` {
				return
			}
			select {
			case answers <- l:
			default:
			}
		}}
		io.Copy(lines, p.Stdout) // ends with the client
		lines.Close()
		p.Stdout.Close()
	}()
	out.Send(hello())
	var answered line
	select {
	case answered = <-answers:
	case <-over:
		select {
		case answered = <-answers:
		default:
			err = errors.New("it ended without an answer")
		}
	case <-ctx.Done():
		err = fmt.Errorf("it gave no answer within %s", client.Span(StartLimit))
	}
	out.Close()
	p.Stop(time.Second)
	if _, waited := p.Wait(); err == nil && waited != nil {
		err = waited
	}
	<-over
	<-out.Done()
	if why := client.Complaint(stderr.String()); err != nil && why != "" {
		err = fmt.Errorf("%w: %s", err, why)
	}
	switch {
	case err != nil:
		return "", "", err
	case answered.Error != nil:
		return "", "", fmt.Errorf("it refused the handshake: %s", client.Line(answered.Error.Message, 200))
	case answered.Result.Version != 1:
		return "", "", otherVersion(answered.Result.Version)
	}
	return client.Line(answered.Result.Agent.Name, 50), client.Line(answered.Result.Agent.Version, 50), nil
}

// hello is the first request. No files and no terminals are offered.
func hello() object {
	return request(initializeID, "initialize", object{"protocolVersion": 1,
		"clientInfo":         object{"name": "git-ralph", "title": "git ralph", "version": "1"},
		"clientCapabilities": object{"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false}})
}

func otherVersion(version int) error {
	return fmt.Errorf("the client speaks version %d of the protocol, and git ralph version 1", version)
}
