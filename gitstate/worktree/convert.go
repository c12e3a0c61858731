package worktree

import (
	"context"
	"errors"
	"io"

	"git-ralph/gitstate/object"
)

// converter settles what git's conversions (line ends, filters, encodings,
// ident) make of files.
type converter struct{ e *Engine }

func (c *converter) mayConvert() bool { return false }

func (c *converter) settle(_ context.Context, root, _ *node) (*node, error) { return root, nil }

func (c *converter) copyRaw(io.Writer, string, *file) error { return errors.ErrUnsupported }

func (c *converter) clean(context.Context, string) (object.ID, error) {
	return object.Zero, errors.ErrUnsupported
}

func (c *converter) smudged(*file, string) error { return nil }

func (c *converter) inspect(context.Context, *inspection, *node) error { return nil }
