package worktree

import (
	"context"
	"errors"
	"io"
)

// converter settles what git's conversions (line ends, filters, encodings,
// ident) make of files.
type converter struct{ e *Engine }

func (c *converter) mayConvert() bool { return false }

func (c *converter) settle(_ context.Context, root, _ *node) (*node, error) { return root, nil }

func (c *converter) copyRaw(io.Writer, string, *file) error { return errors.ErrUnsupported }
