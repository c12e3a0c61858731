package object

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// packAtMost bounds one pack of loose objects, as git's own task does.
const packAtMost = 50_000

// PackLoose puts the loose objects into a pack and then removes their files. It
// looks at nothing else, so that its time does not depend on the size of the
// repository. git's own task for this names its packs loose-*.pack, and go-git
// and JGit read no pack whose name does not begin with pack-.
func (s *Store) PackLoose(ctx context.Context) error {
	var names strings.Builder
	n := 0
	for i := range 256 {
		folder := fmt.Sprintf("%02x", i)
		files, err := os.ReadDir(filepath.Join(s.dir, folder))
		if err != nil {
			continue // most often there is no such folder
		}
		for _, f := range files {
			if _, err := ParseID(folder + f.Name()); err != nil {
				continue
			}
			// A power cut can leave an empty file, which is no object.
			if st, err := f.Info(); err == nil && st.Size() > 0 && n < packAtMost {
				n++
				names.WriteString(folder + f.Name() + "\n")
			}
		}
	}
	if n == 0 {
		return nil
	}
	_, err := s.git.RunWith(ctx, strings.NewReader(names.String()), nil, "pack-objects", "--quiet",
		filepath.Join(s.dir, "pack", "pack"))
	if err == nil {
		_, err = s.git.Run(ctx, "prune-packed", "--quiet")
	}
	return err
}
