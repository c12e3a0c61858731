package worktree

// Untouched says that the capture's scan found nothing different from its
// checkpoint: no name, no contents, no permission bit, no time. A restore could
// do nothing but look once more. False means "not proved": the times of files
// that were written within the last ticks of the clock prove nothing.
func (c *Capture) Untouched() bool { return c.root == c.cp.root }
