package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync/atomic"
	"time"
)

// pipes are the ends of a process's standard streams while it is started. They
// are made here and not by os/exec because its Wait either blocks on a
// grandchild that holds the output open or throws the rest of it away.
type pipes struct {
	child  []*os.File // closed by us as soon as the process has them
	parent []io.Closer
	in     io.Reader
	inW    *os.File
	copies []copyJob
}

type copyJob struct {
	w io.Writer
	r *pipeReader
}

// connect makes the streams of cmd and gives the child's ends to p.cmd.
func (p *Process) connect(cmd Command) (*pipes, error) {
	ps := &pipes{}
	switch {
	case cmd.StdinPipe:
		r, w, err := os.Pipe()
		if err != nil {
			return ps, err
		}
		ps.child, ps.parent = append(ps.child, r), append(ps.parent, w)
		p.cmd.Stdin, p.Stdin = r, w
	case cmd.Stdin != nil:
		if f, ok := cmd.Stdin.(*os.File); ok {
			p.cmd.Stdin = f
			break
		}
		r, w, err := os.Pipe()
		if err != nil {
			return ps, err
		}
		ps.child, ps.parent = append(ps.child, r), append(ps.parent, w)
		p.cmd.Stdin, ps.in, ps.inW = r, cmd.Stdin, w
	}
	if cmd.StdoutPipe {
		w, r, err := p.outPipe(ps)
		if err != nil {
			return ps, err
		}
		p.cmd.Stdout, p.Stdout = w, r
	} else if cmd.Stdout != nil {
		w, err := p.outTo(ps, cmd.Stdout)
		if err != nil {
			return ps, err
		}
		p.cmd.Stdout = w
	}
	if cmd.Stderr != nil {
		if !cmd.StdoutPipe && sameWriter(cmd.Stdout, cmd.Stderr) {
			p.cmd.Stderr = p.cmd.Stdout
			return ps, nil
		}
		w, err := p.outTo(ps, cmd.Stderr)
		if err != nil {
			return ps, err
		}
		p.cmd.Stderr = w
	}
	return ps, nil
}

func (p *Process) outPipe(ps *pipes) (*os.File, *pipeReader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	pr := &pipeReader{f: r}
	ps.child, ps.parent = append(ps.child, w), append(ps.parent, pr)
	p.out = append(p.out, pr)
	return w, pr, nil
}

func (p *Process) outTo(ps *pipes, to io.Writer) (*os.File, error) {
	if f, ok := to.(*os.File); ok {
		return f, nil
	}
	w, r, err := p.outPipe(ps)
	if err != nil {
		return nil, err
	}
	ps.copies = append(ps.copies, copyJob{to, r})
	return w, nil
}

// sameWriter compares without a panic on types that cannot be compared.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a) == reflect.TypeOf(b) &&
		reflect.TypeOf(a).Comparable() && a == b
}

func (ps *pipes) closeChild() {
	for _, f := range ps.child {
		f.Close()
	}
}

func (ps *pipes) closeAll() {
	ps.closeChild()
	for _, f := range ps.parent {
		f.Close()
	}
}

// copy starts the goroutines that move the streams. Output goes on being read
// when its writer fails, so that a full disk does not stop the process too.
func (ps *pipes) copy(p *Process) {
	if ps.in != nil {
		go func() {
			io.Copy(ps.inW, ps.in) // EPIPE: the process did not want the rest
			ps.inW.Close()
		}()
	}
	for _, job := range ps.copies {
		go func() {
			defer p.copies.Done()
			defer job.r.Close()
			if _, err := io.Copy(onlyWriter{job.w}, job.r); err != nil {
				p.mu.Lock()
				p.copyErr = errors.Join(p.copyErr, fmt.Errorf("copy output: %w", err))
				p.mu.Unlock()
				io.Copy(io.Discard, job.r)
			}
		}()
	}
}

// onlyWriter hides ReadFrom, which could buffer without bound.
type onlyWriter struct{ io.Writer }

// pipeReader reads a process's output. It ends soon after the process, even
// when a runaway grandchild keeps the pipe open.
type pipeReader struct {
	f        *os.File
	draining atomic.Bool
	left     int // bytes that may still be read while draining
}

// drainMax is the most that a pipe can hold on Linux (fcntl F_SETPIPE_SZ of an
// ordinary user). More can only come from a process that should not be there.
const drainMax = 1 << 20

// Read implements io.Reader.
func (r *pipeReader) Read(b []byte) (int, error) {
	if r.left == 0 {
		n, err := r.f.Read(b)
		if n > 0 || err == nil {
			return n, err
		}
		if !r.draining.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			if errors.Is(err, os.ErrClosed) {
				err = io.EOF
			}
			return 0, err
		}
		r.left = drainMax
		r.f.SetReadDeadline(time.Time{})
	}
	if r.left < 0 {
		return 0, io.EOF
	}
	// What was written before the end is in the pipe; whoever holds it open
	// now is not waited for.
	n := readNow(r.f, b[:min(len(b), r.left)])
	if n <= 0 || n == r.left {
		r.left = -1
	} else {
		r.left -= n
	}
	if n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}

// drain lets a blocked reader go when the process is gone: it still gets what
// is in the pipe, whenever it comes for it.
func (r *pipeReader) drain() {
	r.draining.Store(true)
	r.f.SetReadDeadline(time.Now())
}

// Close ends the reading side.
func (r *pipeReader) Close() error { return r.f.Close() }
