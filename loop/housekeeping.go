package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"git-ralph/loop/recovery"
)

// housekeepEvery is the number of iterations between two looks at the object
// database: one iteration leaves some 30 loose objects, and git's own
// threshold is 6,700.
const housekeepEvery = 25

// releaseEvery is the number of iterations after which the second names of new objects
// are removed. Before that all processes are looked at for a git that prunes.
const releaseEvery = 4

// housekeep keeps a repository fast over thousands of iterations. It removes
// old evidence and lets git pack objects and refs when there are enough. We
// never start git's automatic gc beside an agent. A failure stops nothing and
// is reported once.
func (l *Loop) housekeep(ctx context.Context) {
	tidy := l.Repo.Store.EnsureAll
	if l.since%releaseEvery == 0 {
		tidy = l.Repo.ReleaseObjects
	}
	if err := tidy(); err != nil && !l.untidy {
		l.untidy = true
		l.Log("%v", err)
	}
	if l.since++; l.since < housekeepEvery {
		return
	}
	l.since = 0
	if err := recovery.Prune(l.Repo, l.Journal, l.Settings.KeepEvidence); err != nil && !l.untidy {
		l.untidy = true
		l.Log("old evidence could not be pruned: %v", err)
	}
	auto, ok := l.gcThreshold(ctx)
	if !ok {
		return
	}
	l.packLoose(ctx, 256)
	// gc of a large repository takes minutes and is worth them at night; what
	// it cannot do then, the next round does.
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	_, err := l.Repo.Git.Run(ctx, "-c", "gc.auto="+auto, "-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false",
		"-c", "maintenance.auto=true",
		"maintenance", "run", "--auto", "--quiet")
	if err != nil && ctx.Err() == nil && !l.untidy {
		l.untidy = true
		l.Log("git could not tidy up: %v", err)
	}
}

// packLoose puts loose objects into a pack where there are some hundreds: thirty
// iterations leave a thousand, of which each takes a block of the disk.
func (l *Loop) packLoose(ctx context.Context, least int) {
	if !manyLoose(l.Repo.CommonDir, least) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := l.Repo.Store.PackLoose(ctx); err != nil && ctx.Err() == nil && !l.untidy {
		l.untidy = true
		l.Log("git could not pack loose objects: %v", err)
	}
}

// manyLoose says whether a repository has about so many loose objects or more. It
// looks at 16 of their 256 folders, as their names are spread evenly.
func manyLoose(commonDir string, least int) bool {
	n := 0
	for i := range 16 {
		files, err := os.ReadDir(filepath.Join(commonDir, "objects", fmt.Sprintf("%02x", i*17)))
		if err == nil {
			n += len(files)
		}
	}
	return 16*n >= least
}

// gcThreshold is the user's gc.auto; false when they switched automatic
// maintenance off. Our own calls carry -c gc.auto=0, which does not count.
func (l *Loop) gcThreshold(ctx context.Context) (string, bool) {
	config, err := l.Repo.Git.Config(ctx)
	if err != nil {
		return "6700", true
	}
	switch value, _ := config.Get("maintenance.auto"); value {
	case "false", "no", "off", "0":
		return "", false
	}
	auto, set := config.Get("gc.auto")
	if !set {
		auto = "6700"
	}
	return auto, auto != "0"
}
