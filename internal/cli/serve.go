package cli

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/internal/dashboard"
)

// ServeCmd is `git ralph serve`.
type ServeCmd struct {
	Addr     string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Where to listen on this machine; port 0 is a free one."`
	ReadOnly bool   `help:"Show, and take no commands."`
	Export   string `placeholder:"DIR" help:"Write the page as files that need no server, and end."`
}

// Help says more.
func (ServeCmd) Help() string {
	return "The first line of its output is the address with a token: open it in a browser of this machine. The page " +
		"shows what the journal says, whether a loop runs or not, follows it as it happens, and takes the commands that " +
		"steer a run. From another machine: git ralph serve --addr 127.0.0.1:8000 here, ssh -L 8000:127.0.0.1:8000 HOST " +
		"there, and the same address. Ctrl-C ends it; the run continues."
}

// Run serves the page until it is interrupted.
func (c *ServeCmd) Run(a *App) error {
	b, err := a.openBook()
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(a.Ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	s := dashboard.New(b, c.ReadOnly)
	if c.Export != "" {
		n, err := s.Export(ctx, c.Export)
		var full *dashboard.NotEmptyError
		if errors.As(err, &full) {
			return usage("name a folder that is new or empty", "%w", err)
		}
		if err != nil {
			return err
		}
		a.printf("%d files in %s; open %s in a browser\n", n, c.Export, filepath.Join(c.Export, "index.html"))
		return nil
	}
	l, url, err := s.Listen(c.Addr)
	var open *dashboard.AddressError
	if errors.As(err, &open) {
		return usage("127.0.0.1 and a port; to look from elsewhere: ssh -L 8000:127.0.0.1:8000 HOST", "%w", err)
	}
	var none *dashboard.NoAddressError
	if errors.As(err, &none) {
		return usage("127.0.0.1:8000, or 127.0.0.1:0 for a free port", "%w", err)
	}
	if err != nil {
		return gitstate.Hint(1, "git ralph serve --addr 127.0.0.1:0 takes a free port",
			"nothing can listen on %s: %w", c.Addr, err)
	}
	a.printf("%s\n", url)
	a.printf("the page of %s; it is for this machine's browsers, and Ctrl-C ends it\n", a.journal.Branch)
	return s.Serve(ctx, l)
}

// openBook opens the run of the branch that is checked out for the page.
func (a *App) openBook() (*book, error) {
	j, err := a.Journal()
	if err != nil {
		return nil, err
	}
	if err := j.Readable(a.Ctx); errors.Is(err, journal.ErrNone) {
		return nil, a.noJournalHere(j)
	} else if err != nil {
		return nil, err
	}
	return &book{a: a}, nil
}
