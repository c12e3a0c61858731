package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/loop/session"
)

// ErrOutside says that the process is not part of a run.
var ErrOutside = errors.New("there is no running iteration here")

// ErrEnded says that the run of this process does not answer any more.
var ErrEnded = errors.New("the run does not answer")

// Client calls the tools of a run from one of its processes. It keeps no
// connection between calls.
type Client struct{ path, token string }

// Connect finds the endpoint that env names; ErrOutside when it names none. It
// does not talk to it yet.
func Connect(env []string) (*Client, error) {
	c := &Client{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case SocketVar:
			c.path = value
		case TokenVar:
			c.token = value
		}
	}
	if c.path == "" {
		return nil, ErrOutside
	}
	if c.token == "" {
		f, err := os.Open(filepath.Join(filepath.Dir(c.path), tokenName))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrEnded, err)
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, 256))
		if err != nil {
			return nil, fmt.Errorf("read the token of the run: %w", err)
		}
		c.token = strings.TrimSpace(string(data))
	}
	return c, nil
}

// Tools lists the tools that the run offers.
func (c *Client) Tools(ctx context.Context) ([]session.ToolSpec, error) {
	r, err := c.ask(ctx, request{Op: "list"})
	if err != nil {
		return nil, fmt.Errorf("list the tools of the run: %w", err)
	}
	out := make([]session.ToolSpec, len(r.Tools))
	for i, t := range r.Tools {
		out[i] = session.ToolSpec(t)
	}
	return out, nil
}

// Connected tells the run that a client speaks with git ralph mcp. A run
// that cannot be told ends its client, which is no reason to serve nobody.
func (c *Client) Connected(ctx context.Context) {
	c.ask(ctx, request{Op: "connected"})
}

// Call calls a tool, as Box.Call does: when the tool refused, the error is a
// *Refusal and the answer its JSON. Any other error comes without an answer.
func (c *Client) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if len(args) > MaxRequest {
		r := refuse("say it shorter", "the arguments have %d bytes, at most %d are taken", len(args), MaxRequest)
		return encode(r), r
	}
	if args = bytes.TrimSpace(args); len(args) > 0 && !json.Valid(args) {
		r := refuse("send one JSON object", "the arguments are not valid JSON")
		return encode(r), r
	}
	r, err := c.ask(ctx, request{Op: "call", Name: name, Args: args})
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	if !r.Refused {
		return r.Answer, nil
	}
	refusal := &Refusal{}
	if err := json.Unmarshal(r.Answer, refusal); err != nil {
		return nil, fmt.Errorf("call %s: %w", name, err)
	}
	return r.Answer, refusal
}

// ask sends one request and reads the answer. A person may take hours to
// answer a question, so that only ctx and the end of the run bound it.
func (c *Client) ask(ctx context.Context, q request) (response, error) {
	q.Token = c.token
	conn, err := dial(ctx, c.path)
	if err != nil {
		return response{}, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	// Encoding puts the arguments on one line, whatever they look like, and
	// makes them no longer.
	if _, err := conn.Write(append(encode(q), '\n')); err != nil {
		return response{}, lost(ctx, err)
	}
	answer, err := bufio.NewReader(io.LimitReader(conn, maxAnswer)).ReadBytes('\n')
	if err != nil {
		return response{}, lost(ctx, err)
	}
	var r response
	if err := json.Unmarshal(answer, &r); err != nil {
		return response{}, fmt.Errorf("read the answer: %w", err)
	}
	if r.Error != "" {
		return response{}, errors.New(r.Error)
	}
	return r, nil
}

func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", ErrEnded, err)
}
