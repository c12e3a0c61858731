package gitstate

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
)

// PackRefs runs git pack-refs if there are loose refs of git ralph, and returns how
// many there are. With pack = false it only counts. It does nothing where the user
// has switched packing off for git gc.
func (r *Repo) PackRefs(ctx context.Context, pack bool) (int, error) {
	config, err := r.Git.Config(ctx)
	if err != nil {
		return 0, err
	}
	if value, ok := config.Get("gc.packrefs"); ok && (value == "false" || value == "no" || value == "off" ||
		value == "0") {
		return 0, nil
	}
	n := 0
	// Where refs are not kept in files there is no such folder.
	_ = filepath.WalkDir(filepath.Join(r.CommonDir, "refs", "ralph"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return nil
	})
	if n == 0 || !pack {
		return n, nil
	}
	if _, err := r.Git.Run(ctx, "pack-refs", "--all", "--prune"); err != nil {
		return 0, fmt.Errorf("pack the refs: %w", err)
	}
	return n, nil
}
