package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a settings file: the name that messages use, and its bytes.
type File struct {
	Name string
	Data []byte
}

// Hash is TrustHash of the file.
func (f File) Hash() string { return TrustHash(f.Data) }

// ReadProject reads ralph.toml at the root of a worktree; nil without an error
// when there is none. A symbolic link is refused: an agent or a clone could
// point it at any file, and its target would change without the repository
// showing it.
func ReadProject(root string) (*File, error) {
	path := filepath.Join(root, FileName)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read settings: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, notAFile(FileName, "is a symbolic link", "put the file itself there, or use --config FILE")
	}
	return readRegular(path, FileName, openNofollow)
}

// ReadFile reads a file named by --config. Links are followed: the user named it.
func ReadFile(path string) (*File, error) {
	return readRegular(path, path, 0)
}

// readRegular opens before it looks, so that what is checked is what is read,
// and never waits for the other end of a FIFO.
func readRegular(path, name string, flags int) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock|flags, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, notAFile(name, "does not exist", "check the name")
		}
		return nil, fmt.Errorf("read settings: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	switch {
	case info.IsDir():
		return nil, notAFile(name, "is a directory", "settings are a file")
	case !info.Mode().IsRegular():
		return nil, notAFile(name, "is not a regular file", "settings are a file")
	case info.Size() > MaxFile:
		return nil, notAFile(name, fmt.Sprintf("is %s large; settings have at most %s", Size(info.Size()), Size(MaxFile)),
			"check that it is the right file")
	}
	// One byte more than allowed, for a file that grows meanwhile; Load refuses it.
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return &File{Name: name, Data: data}, nil
}

func notAFile(name, msg, hint string) error {
	return &Error{Problems: []Problem{{Where: name, Msg: msg, Hint: hint}}}
}
