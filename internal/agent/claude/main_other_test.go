//go:build !unix

package claude

func ignoreTerm() {}
