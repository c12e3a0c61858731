//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is the longest path that every kernel takes as the address of
// a Unix socket: 104 bytes with the final zero on macOS, 108 on Linux.
const maxSocketPath = 100

// listenAt listens on a Unix socket at path, whatever its length.
func listenAt(path string) (net.Listener, error) {
	short, undo, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer undo()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the folder goes as a whole, under its real name
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// dial connects to the socket at path, whatever its length.
func dial(ctx context.Context, path string) (net.Conn, error) {
	short, undo, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer undo()
	var d net.Dialer
	return d.DialContext(ctx, "unix", short)
}

// shorten gives a path that a socket address can hold. The limit is on the
// address and not on where it leads, so a symbolic link in a short temporary
// folder, there for the one call, is enough: the socket itself stays in the
// run's folder, which is what a sandbox shows.
func shorten(path string) (short string, undo func(), err error) {
	if len(path) <= maxSocketPath {
		return path, func() {}, nil
	}
	var errs []error
	for _, tmp := range []string{os.TempDir(), "/tmp", "/dev/shm"} {
		dir, err := os.MkdirTemp(tmp, "gr-")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		link := filepath.Join(dir, "d")
		short = filepath.Join(link, filepath.Base(path))
		if len(short) > maxSocketPath {
			err = fmt.Errorf("%s is too long for a socket", tmp)
		} else {
			err = os.Symlink(filepath.Dir(path), link)
		}
		if err == nil {
			return short, func() { os.RemoveAll(dir) }, nil
		}
		os.RemoveAll(dir)
		errs = append(errs, err)
	}
	return "", nil, fmt.Errorf("find a short path for %s: %w", path, errors.Join(errs...))
}
