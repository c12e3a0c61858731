package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"git-ralph/gitstate"
	"git-ralph/internal/mcp"
	"git-ralph/internal/view"
)

// ToolCmd calls a tool of the iteration that this process belongs to.
type ToolCmd struct {
	Name      string `arg:"" optional:"" help:"The tool; without one, the tools of the run are listed."`
	Arguments string `arg:"" optional:"" name:"arguments" help:"Its arguments as a JSON object, - for standard input."`
	JSON      bool   `name:"json" help:"List the tools as JSON, with the schemas of their arguments."`
}

// Run prints the tool's answer. A refusal is an answer too: it goes to standard
// output as {error, hint}, and the exit code is 1.
func (c *ToolCmd) Run(a *App) error {
	client, err := mcp.Connect(a.Env)
	if err != nil {
		return outsideRun(err)
	}
	if c.Name == "" {
		return c.list(a, client)
	}
	args := json.RawMessage(c.Arguments)
	if c.Arguments == "-" {
		if args, err = readArguments(a.In); err != nil {
			return err
		}
	}
	answer, err := client.Call(a.Ctx, c.Name, args)
	var refusal *mcp.Refusal
	switch {
	case err == nil:
		return a.printLine(answer)
	case errors.As(err, &refusal):
		if err := a.printLine(answer); err != nil {
			return err
		}
		return &ExitError{Code: 1}
	}
	return outsideRun(err)
}

func (c *ToolCmd) list(a *App, client *mcp.Client) error {
	specs, err := client.Tools(a.Ctx)
	if err != nil {
		return outsideRun(err)
	}
	if c.JSON {
		type tool struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"schema"`
		}
		out := make([]tool, len(specs))
		for i, s := range specs {
			out[i] = tool(s)
		}
		return a.printJSON(out)
	}
	rows := make([][]string, len(specs))
	for i, s := range specs {
		rows[i] = []string{s.Name, s.Description}
	}
	a.printer().Table(rows)
	return nil
}

// readArguments reads one byte more than a tool takes, so that too much is
// refused by the tool and not cut here.
func readArguments(in io.Reader) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(in, mcp.MaxRequest+1))
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	return bytes.TrimSpace(data), nil
}

// McpCmd serves the tools of the iteration over MCP on standard input and output.
type McpCmd struct{}

// Run serves until the client has gone.
func (c *McpCmd) Run(a *App) error {
	client, err := mcp.Connect(a.Env)
	if err != nil {
		return outsideRun(err)
	}
	if err := mcp.Serve(a.Ctx, client, Version, io.NopCloser(a.In), nopCloser{view.Behind(a.Out)}); err != nil {
		return outsideRun(err)
	}
	return nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// outsideRun says what to do when there is no run to talk to.
func outsideRun(err error) error {
	switch {
	case errors.Is(err, mcp.ErrOutside):
		return gitstate.Hint(1,
			"the ralph_* tools are for agents: git ralph start runs one; git ralph tasks and git ralph status are for people",
			"%w", err)
	case errors.Is(err, mcp.ErrEnded):
		return gitstate.Hint(1, "its iteration may have ended; git ralph status shows what is running", "%w", err)
	}
	return err
}
