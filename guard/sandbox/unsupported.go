//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"runtime"

	"git-ralph/internal/proc"
)

// Keeper leaves a command as it is: here nothing can be found by its descent.
func Keeper(cmd proc.Command) (proc.Wrapped, error) { return proc.Wrapped{Command: cmd}, nil }

// Probe reports that there is no kernel sandbox on this system.
func Probe(context.Context, Spec) (Report, error) {
	return Report{Mechanism: None, Detail: "no kernel sandbox on " + runtime.GOOS}, nil
}

// Wrapper always fails here: nothing can confine a command.
func Wrapper(spec Spec) (proc.Wrapper, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	return nil, errors.New("sandbox: none on " + runtime.GOOS)
}

// HomeKept is false here: nothing is kept.
func HomeKept(string, Report) bool { return false }

// OnceHome is not used here.
func OnceHome(dir, name string) string { return dir }

// SweepHomes finds nothing here.
func SweepHomes(string) {}

// TryShare always fails here: nothing can be mounted.
func TryShare(context.Context, Report, string, string) error {
	return errors.New("no kernel sandbox on " + runtime.GOOS)
}
