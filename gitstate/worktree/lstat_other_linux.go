//go:build linux && !amd64 && !arm64

package worktree

// The system call has another number or form here: see quickLstat.
func local(int) bool { return false }

func quickLstat(fd int, dir, name string) (stat, error) { return lstatAt(fd, join(dir, name)) }
