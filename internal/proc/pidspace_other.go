//go:build !linux

package proc

func pidSpace() string { return "" }
