// Package e2e holds the tests that run the whole program: the binary itself in
// real repositories, with real processes. It has no code of its own. Scripts in
// testdata/script show one promise each; what a script cannot say is a Go test
// on the harness in main_test.go.
package e2e
