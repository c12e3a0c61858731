//go:build !linux

package gitstate

import "os"

// whereIs says where an opened folder lies now; it is not known here.
func whereIs(*os.File) string { return "" }
