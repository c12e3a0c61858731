package e2e

import "os"

// peak is not told by this system.
func peak(*os.ProcessState) int64 { return 0 }
