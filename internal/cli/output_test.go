package cli

import (
	"errors"
	"strings"
	"testing"
)

// full takes nothing, as a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A command whose output could not be written has not done what it was asked for.
func TestOutputThatIsNotWritten(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"completion", "bash"}, {"config", "--default"}} {
		var errs strings.Builder
		a := &App{Ctx: t.Context(), In: strings.NewReader(""), Out: full{}, Err: &errs}
		if code := a.Run(args); code != 1 || strings.Count(errs.String(), "no space left") != 1 {
			t.Errorf("%v: exit code %d, %q", args, code, errs.String())
		}
		a = &App{Ctx: t.Context(), In: strings.NewReader(""), Out: &errs, Err: &errs}
		if code := a.Run(args); code != 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
