package agent

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop/session"
)

// A promise is a property that a driver has with its real client.
type promise struct {
	name string // of the test
	row  string // of the table in doc/drivers.md; promises of a row are adjacent
	// of are the drivers it is tried with; "" = all of them.
	of   string
	test func(dialect, *testing.T)
	// always says that every form of the tests has it, for every client.
	always bool
	// notes are cells of the table that say something else than yes or no, by driver.
	notes map[string]string
}

const ends = "the limit of turns, a provider that hangs, an interrupt of the loop, a client that is killed"

var promises = []promise{
	{name: "whole run", row: "writes, runs a command without the key, calls our tools, is denied a commit and told why",
		test: dialect.wholeRun, always: true},
	{name: "further prompt", row: "a further prompt in the same session", test: dialect.furtherPrompt},
	{name: "session that is gone", row: "a session that is gone is replaced by a fresh one", of: "claude codex",
		test: dialect.lostSession},
	{name: "reading phase", row: "a phase that only reads writes nothing", test: dialect.readingPhase},
	{name: "hostile settings", row: "settings of the repository and of the user have no effect",
		of: "claude codex gemini opencode", test: dialect.hostileSettings, always: true,
		notes: map[string]string{"opencode": "yes, plugins are refused", "acp": "they are the user's"}},
	{name: "limit of turns", row: ends, test: dialect.turnLimit},
	{name: "hang", row: ends, test: dialect.hang},
	{name: "interrupt", row: ends, test: dialect.interrupt},
	{name: "kill", row: ends, test: func(d dialect, t *testing.T) { d.killed(t, syscall.SIGKILL, "signal 9") }},
	{name: "ended from outside", row: "a client that somebody else ends by SIGTERM: `crashed`",
		of: "claude codex gemini opencode", test: func(d dialect, t *testing.T) { d.killed(t, syscall.SIGTERM, "") },
		notes: map[string]string{"codex": "it ends with 0: `protocol_error`"}},
	{name: "recovers", row: "a connection that is cut once, then success", of: "claude codex opencode",
		test: dialect.recovers, notes: map[string]string{"gemini": "it ends, `overloaded`"}},
	{name: "no login", row: "nobody is logged in: it is not started", of: "claude codex gemini opencode",
		test: dialect.noLogin, notes: map[string]string{"claude": "yes, it says so at once: `auth`"}},
	{name: "sandbox", row: "inside of our sandbox, with everything allowed, git stays as it is",
		test: dialect.sandboxed, always: true},
	{name: "without our sandbox", row: "without our sandbox it works as well", test: dialect.alone},
	{name: "effort", row: "`agent.effort` reaches the model", of: "claude codex gemini opencode", test: dialect.effort,
		notes: map[string]string{"gemini": "it has none"}},
	{name: "probe", row: "`git ralph doctor` knows its version", of: "claude codex gemini opencode", test: dialect.probe},
	{name: "broken hooks", row: "a harmless call ends the run when the hook is switched off, replaced or fails",
		of: "gemini", test: dialect.brokenHooks, notes: map[string]string{"claude": "`hooks_applied` in the handshake",
			"codex": "it asks over its protocol", "opencode": "our plugin is the hook", "acp": "it asks over its protocol"}},
	{name: "handoff that is too long", row: "a handoff of 9 MiB by our own tool is refused, and the run continues",
		of: "claude codex", test: dialect.hugeHandoff},
	{name: "tools that do not connect", row: "our tools that do not connect end the run", of: "gemini opencode acp",
		test: dialect.toolless, notes: map[string]string{"claude": "inside the protocol", "codex": "inside the protocol"}},
}

// elsewhere are the rows whose tests are not in this package.
var elsewhere = []struct{ row, dir, test, of string }{
	{"`agent.resume_session`: a retry of the task goes on in the session of the rejected attempt", "../e2e",
		"TestRetryGoesOnInItsSession", "claude codex"},
	{"`git ralph status` shows the tokens while it runs", "../e2e", "TestTokensWhileAClientRuns", "claude codex opencode"},
	{"`git ralph doctor --agent` shows every promise to hold", "../e2e", "TestDoctorTriesTheClient",
		"claude codex gemini opencode acp"},
	{"a plan of three tasks after the other clients, in one journal", "../e2e", "TestEachClientFinishesAPlan",
		"claude codex gemini opencode acp"},
	{"a model that breaks or weakens tests and says that all is well does not end as complete", "../e2e",
		"TestRealClientsThatLie", "claude codex"},
}

func (p promise) holds(d dialect) bool { return among(d.Driver, p.of) }

func among(driver, of string) bool { return of == "" || slices.Contains(strings.Fields(of), driver) }

var updateTable = flag.Bool("update", false, "write the table of doc/drivers.md anew")

// TestDriversTable: the page's table of promises and clients is that of the tests.
func TestDriversTable(t *testing.T) {
	const begin, end = "<!-- what passed -->\n", "<!-- end -->\n"
	page := filepath.Join("..", "..", "doc", "drivers.md")
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(data), begin)
	old, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	table := conformanceTable(t)
	if d := cmp.Diff(table, old); d != "" && !*updateTable {
		t.Errorf("doc/drivers.md says something else than the tests (go test ./internal/agent -run '^TestDriversTable$' "+
			"-update):\n%s", d)
	}
	if *updateTable {
		if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func conformanceTable(t *testing.T) string {
	all := append(slices.Clone(dialects), acpDialects()...)
	var b strings.Builder
	row := func(name string, cell func(dialect) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, d := range all {
			fmt.Fprintf(&b, " %s |", cell(d))
		}
		b.WriteByte('\n')
	}
	row("with the real client", dialect.name)
	b.WriteString("|---" + strings.Repeat("|---", len(all)) + "|\n")
	yes := map[bool]string{true: "yes", false: "no"}
	for i, p := range promises {
		if i > 0 && promises[i-1].row == p.row {
			continue
		}
		row(p.row, func(d dialect) string {
			if note := p.notes[d.Driver]; note != "" {
				return note
			}
			return yes[p.holds(d)]
		})
	}
	var seen []string
	for _, d := range all {
		for _, f := range d.failures {
			if slices.Contains(seen, f.why) {
				continue
			}
			seen = append(seen, f.why)
			row(fmt.Sprintf("%s: `%s`", f.why, f.outcome), func(d dialect) string {
				i := slices.IndexFunc(d.failures, func(g failure) bool { return g.why == f.why })
				switch {
				case i < 0:
					return "–"
				case d.failures[i].until.IsZero():
					return "yes"
				}
				return "yes, with its reset"
			})
		}
	}
	for _, e := range elsewhere {
		if !defined(t, e.dir, e.test) {
			t.Errorf("%s has no %s", e.dir, e.test)
		}
		row(fmt.Sprintf("%s (`%s`)", e.row, e.test), func(d dialect) string { return yes[among(d.Driver, e.of)] })
	}
	return b.String()
}

// defined reports whether a folder has a test of that name.
func defined(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(name string) bool {
		data, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(data), "func "+test+"(t *testing.T)")
	})
}

// recovers: the client repeats a request by itself after a dropped connection.
func (d dialect) recovers(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Drop: true}, {Text: "All done."}} })
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	if n := len(r.model.Turns()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// noLogin: a client without a login is found before it is started. Only Claude Code itself knows where its login
// is, so it is asked, and says so at once.
func (d dialect) noLogin(t *testing.T) {
	if d.Driver == "claude" {
		r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Text: "All done."}} })
		r.req.Env = client.Set(r.req.Env, "ANTHROPIC_API_KEY=")
		r.want(t, r.play(t, t.Context(), nil), session.AuthFailed, "Not logged in")
		return
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	info, err := Probe(t.Context(), d.Driver, d.options(), env)
	if err != nil || info.Supported || info.Login != "no" || info.Hint == "" {
		t.Errorf("%+v, %v", info, err)
	}
}
