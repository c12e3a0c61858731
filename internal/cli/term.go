package cli

import (
	"io"
	"os"
	"runtime/debug"
	"sort"
	"strings"

	"git-ralph/internal/ui"
	"git-ralph/internal/view"
)

// getenv looks a variable up in the environment of the command.
func (a *App) getenv(name string) string {
	value := ""
	for _, kv := range a.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// terminal says whether w is one.
func terminal(w any) bool {
	if d, ok := w.(*view.Display); ok {
		w = view.Behind(d)
	}
	if t, ok := w.(interface{ Terminal() bool }); ok {
		return t.Terminal()
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	if err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	// Standard output has its own name whatever lies behind it.
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(st, null)
}

// columns is how wide the terminal is that w leads to; 0 where there is none.
func columns(w io.Writer) int {
	switch w := view.Behind(w).(type) {
	case *pageWriter:
		return w.columns
	case *ui.Program:
		return w.Columns()
	case *os.File:
		if terminal(w) {
			return ui.Columns(w)
		}
	}
	return 0
}

func sortedStrings(s []string) []string { sort.Strings(s); return s }

// brief is called by commands that read, print and end. With a plan of a thousand
// tasks, or a long history, garbage collection at its defaults takes a quarter to a
// third of their time. Beyond a few dozen megabytes it runs as often as needed to
// stay there, however long the history is.
func brief() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(64 << 20)
}

// printerTo writes text for people to w.
func (a *App) printerTo(w io.Writer) view.Printer {
	return view.Printer{W: w, Colours: a.colours(w), Columns: columns(w)}
}

// printer writes to standard output.
func (a *App) printer() view.Printer { return a.printerTo(a.Out) }

// colour puts text between the sequences of a colour when w wants colours.
func (a *App) colour(w io.Writer, code, text string) string {
	return view.Printer{W: w, Colours: a.colours(w)}.Paint(code, text)
}

// raw is the writer for data that programs read byte by byte: a file of the
// evidence, a plan in another format. Terminals get it escaped.
func (a *App) raw() io.Writer {
	if terminal(a.Out) {
		return a.Out
	}
	if _, ok := view.Behind(a.Out).(*pageWriter); ok {
		return a.Out
	}
	return view.Behind(a.Out)
}
