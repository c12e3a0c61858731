package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxHandoff is the largest handoff file that is read.
const maxHandoff = 1 << 20

// ReadHandoff reads what the agent left for us: a regular file, not a link,
// bounded. nil without an error means that there is none.
func ReadHandoff(path string) ([]byte, error) {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the handoff cannot be read: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("the handoff is not a regular file")
	}
	if st.Size() > maxHandoff {
		return nil, fmt.Errorf("the handoff has %d bytes, more than %d", st.Size(), maxHandoff)
	}
	f, err := openNoFollow(path)
	if err != nil {
		return nil, fmt.Errorf("the handoff cannot be read: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxHandoff+1))
	if err != nil {
		return nil, fmt.Errorf("the handoff cannot be read: %w", err)
	}
	if len(data) > maxHandoff {
		return nil, fmt.Errorf("the handoff has more than %d bytes", maxHandoff)
	}
	return data, nil
}
