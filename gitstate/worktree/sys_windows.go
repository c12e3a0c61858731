package worktree

import "io/fs"

const nonBlock = 0

// fillSys adds nothing: Windows has no inode or change time that a plain stat
// returns, so only size and modification time are compared there, as git does.
func fillSys(*stat, fs.FileInfo) {}

// isOtherDevice is about mounts, which a rename here does not cross silently.
func isOtherDevice(error) bool { return false }
