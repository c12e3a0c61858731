package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve speaks MCP on in and out and forwards to the tools of the run until in
// ends or ctx does. The tools are those that the run offers when it is called.
func Serve(ctx context.Context, c *Client, version string, in io.ReadCloser, out io.WriteCloser) error {
	specs, err := c.Tools(ctx)
	if err != nil {
		return err
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "git-ralph", Version: version}, &sdk.ServerOptions{
		Instructions: "The plan and the notes of this run. What you record counts when the iteration has ended and its " +
			"checks pass."})
	// Whatever a client asks for: not every version of the protocol has a handshake.
	var once sync.Once
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			once.Do(func() { c.Connected(ctx) })
			return next(ctx, method, req)
		}
	})
	for _, s := range specs {
		server.AddTool(&sdk.Tool{Name: s.Name, Description: s.Description, InputSchema: s.Schema},
			func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return toolResult(c.Call(ctx, req.Params.Name, req.Params.Arguments)), nil
			})
	}
	err = server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out, MaxLineLength: MaxRequest + envelope})
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// toolResult is what the model sees. A refusal and a lost run are errors of the
// tool and not of the protocol, so that it reads them and does something else.
func toolResult(answer json.RawMessage, err error) *sdk.CallToolResult {
	if err != nil && len(answer) == 0 {
		answer = encode(refuse("leave the handoff in the file named by $RALPH_HANDOFF_FILE and end your run", "%v", err))
	}
	r := &sdk.CallToolResult{IsError: err != nil, Content: []sdk.Content{&sdk.TextContent{Text: string(answer)}}}
	if err == nil {
		r.StructuredContent = answer
	}
	return r
}
