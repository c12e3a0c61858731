package object

// FlushDir does nothing: Windows cannot flush a folder, and NTFS keeps its
// names in a log.
func FlushDir(string) error { return nil }
