package agent

import (
	"context"
	"sync"
)

// Client is a client of this machine and whether a run could use it.
type Client struct {
	Driver string
	Info
}

// Survey looks for the clients of all drivers that have one, at the same time.
func Survey(ctx context.Context, env []string) []Client {
	list := []Client{{Driver: "claude"}, {Driver: "codex"}, {Driver: "gemini"}, {Driver: "opencode"}}
	var all sync.WaitGroup
	for i := range list {
		all.Go(func() {
			info, err := Probe(ctx, list[i].Driver, Options{}, env)
			if list[i].Info = info; err != nil {
				list[i].Problem = err.Error()
			}
		})
	}
	all.Wait()
	return list
}
