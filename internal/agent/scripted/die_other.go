//go:build !unix

package scripted

import "os"

// die has no signals here; a status above 128 says the same.
func die(sig int) error { return exitError(128 + sig) }

func politeSignals() []os.Signal { return []os.Signal{os.Interrupt} }
