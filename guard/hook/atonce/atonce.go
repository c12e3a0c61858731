// Package atonce makes a program that imports it the guard's hook when it is called as that, before
// the rest of the program is initialized, which would take as long as the answer: the hook is called
// for every tool call.
package atonce

import "git-ralph/guard/hook"

func init() { hook.Serve() }
