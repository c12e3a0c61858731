package cli

import (
	"context"
	"io"
	"os"
	"strings"

	"git-ralph/internal/proc"
	"git-ralph/internal/view"
)

// page sends what follows through the pager that git would use, when standard
// output is a terminal and git has not started one already. The function that
// it returns waits for the person to leave the pager.
func (a *App) page() (done func()) {
	if !terminal(a.Out) || a.JSON {
		return func() {}
	}
	pager, err := a.gitVar("GIT_PAGER")
	if err != nil || pager == "" || pager == "cat" {
		return func() {}
	}
	colours := a.colours(a.Out)
	r, w, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	env := append([]string{}, a.Env...)
	// As git does: leave when it fits the screen, pass colours, do not clear.
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if proc.Getenv(env, name) == "" {
			env = proc.SetEnv(env, name, value)
		}
	}
	ctx, cancel := context.WithCancel(a.Ctx)
	old, oldCtx, ended := a.Out, a.Ctx, make(chan struct{})
	go func() {
		defer close(ended)
		proc.Attach(oldCtx, proc.Command{Argv: []string{a.repo.Git.Path, "-c", "alias.ralph-pager=!" + pager, "ralph-pager"},
			Dir: a.repo.Root, Env: env, Stdin: r, Stdout: view.Behind(old), Stderr: view.Behind(a.Err)})
		r.Close()
	}()
	a.Out, a.Ctx = view.Through(&pageWriter{w: w, left: cancel, colours: colours, columns: columns(old)}, view.Text), ctx
	return func() {
		w.Close()
		<-ended
		cancel()
		a.Out, a.Ctx = old, oldCtx
	}
}

// pageWriter writes to a pager and ends the work when the person has left it:
// nobody reads the rest of a hundred thousand lines.
type pageWriter struct {
	w       io.Writer
	left    context.CancelFunc
	colours bool
	columns int // of the terminal behind the pager
}

func (p *pageWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if err != nil {
		p.left()
	}
	return n, err
}

// colours says whether text for w is coloured: as git's color.ui says, never
// with NO_COLOR or on a dumb terminal.
func (a *App) colours(w io.Writer) bool {
	if p, ok := view.Behind(w).(*pageWriter); ok {
		return p.colours
	}
	if a.getenv("NO_COLOR") != "" || a.getenv("TERM") == "dumb" {
		return false
	}
	if a.coloured == nil {
		a.coloured = map[bool]bool{}
	}
	tty := terminal(w) || a.getenv("GIT_PAGER_IN_USE") == "1" && w == a.Out
	if answer, ok := a.coloured[tty]; ok {
		return answer
	}
	answer := tty
	if git, err := a.gitConfig(); err == nil {
		for _, v := range git {
			switch strings.ToLower(v.Key) {
			case "color.ui", "color.ralph":
				answer = colourSetting(v.Value, tty)
			}
		}
	}
	a.coloured[tty] = answer
	return answer
}

func colourSetting(value string, tty bool) bool {
	switch strings.ToLower(value) {
	case "always":
		return true
	case "never", "false", "no", "off", "0":
		return false
	}
	return tty
}
