package cli

import (
	"context"
	"strings"

	"git-ralph/internal/agent"
)

// clientDoc is one client of this machine.
type clientDoc struct {
	Driver  string `json:"driver"`
	State   string `json:"state"` // ready, not ready, not installed
	Path    string `json:"path"`
	Version string `json:"version"`
	Login   string `json:"login"` // yes no unknown, "" = it was not looked for
	Detail  string `json:"detail"`
	Hint    string `json:"hint"`
}

// survey looks for the clients of all drivers, with the environment of the user.
func (d *doctor) survey(ctx context.Context) {
	d.clients = []clientDoc{}
	for _, c := range agent.Survey(ctx, d.a.Env) {
		doc := clientDoc{Driver: c.Driver, State: "ready", Path: c.Path, Version: c.Version, Login: c.Login,
			Detail: c.Warning, Hint: c.Hint}
		switch {
		case !c.Found:
			doc.State, doc.Detail = "not installed", c.Problem
		case !c.Supported, c.Login == "no":
			doc.State = "not ready"
			if c.Problem != "" {
				doc.Detail = c.Problem
			}
		}
		d.clients = append(d.clients, doc)
	}
}

func (d *doctor) printClients() {
	a := d.a
	a.printf("\n%s\n", a.colour(a.Out, "1", "clients"))
	var rows [][]string
	for _, c := range d.clients {
		what := []string{}
		if c.Version != "" {
			what = append(what, c.Version)
		}
		if word := map[string]string{"yes": "logged in", "unknown": "its login is not known"}[c.Login]; word != "" {
			what = append(what, word)
		}
		if c.Detail != "" && c.State != "not installed" {
			what = append(what, c.Detail)
		}
		row := []string{"  " + c.Driver, c.State, strings.Join(what, ", ")}
		if c.Hint != "" {
			row[2] = strings.TrimPrefix(row[2]+"; ", "; ") + c.Hint
		}
		rows = append(rows, row)
	}
	a.printer().Table(rows)
	if d.trial == nil {
		return
	}
	a.printf("\n%s\n", a.colour(a.Out, "1", "what "+d.cmd.Agent+" did in a throw-away repository, with a scripted model"))
	rows = nil
	for _, p := range d.trial {
		word := "holds"
		if !p.Holds {
			word = "does not hold"
		}
		rows = append(rows, []string{"  " + word, p.Promise, p.Detail})
	}
	a.printer().Table(rows)
}
