//go:build !unix

package mcp

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

// listenAt listens on the loopback interface and writes the address to path;
// the folder it lies in belongs to the user alone, and the token decides.
func listenAt(path string) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, []byte(l.Addr().String()), 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// dial connects to the address in the file at path.
func dial(ctx context.Context, path string) (net.Conn, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 256))
	if err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("read the address in %s: %w", path, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("read the address in %s: %s is not this machine", path, host)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", net.JoinHostPort(host, port))
}
