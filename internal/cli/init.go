package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/internal/config"
	"git-ralph/internal/detect"
	"git-ralph/plan"
)

// InitCmd is `git ralph init`.
type InitCmd struct {
	NoConfig bool `help:"Write no ralph.toml."`
	New      bool `help:"Begin a new journal although a remote has one of this branch."`
	JSON     bool `name:"json" help:"Print the result as JSON."`

	Share string `placeholder:"REMOTE" help:"Work on the plan on several machines, through this git remote."`
}

// Help says more.
func (InitCmd) Help() string {
	return "Idempotent: an existing journal stays as it is, and of an existing ralph.toml nothing is changed; " +
		"when it names no checks, those that were found are added. Nothing is committed. " +
		"What init has just written is trusted; a ralph.toml that was there already is shown and asked about."
}

// initialized is what init found and did.
type initialized struct {
	found   detect.Found
	fresh   bool   // the journal is new
	wrote   bool   // ralph.toml is new
	added   int    // checks were added to a ralph.toml that had none
	pending string // the reason why they were not
}

// Run begins the journal.
func (c *InitCmd) Run(a *App) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	a.newJournal = c.New
	var done initialized
	if done.fresh, err = a.ensureJournal(j); err != nil {
		return err
	}
	file := filepath.Join(repo.Root, config.FileName)
	done.found = detect.In(os.DirFS(repo.Root))
	if !c.NoConfig {
		if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
			data, notes := detect.File(done.found)
			done.found.Notes = append(done.found.Notes, notes...)
			done.wrote = true
			if err := a.writeSettings(repo.Root, data); err != nil {
				return err
			}
		} else if err := c.repair(a, repo.Root, j.Branch, &done); err != nil {
			return err
		}
		if err := writeSchema(repo.Root); err != nil {
			return err
		}
	}
	if c.Share != "" {
		if err := c.share(a, repo); err != nil {
			return err
		}
	}
	snap, err := j.Load(a.Ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]any{"journal": snap.State.Journal.ID, "branch": j.Branch, "created": done.fresh,
			"config": file, "config_written": done.wrote, "checks_added": done.added, "project": done.found.Kind,
			"checks": checkDocs(done.found.Checks), "setup": textOrEmpty(done.found.Setup),
			"notes": textOrEmpty(done.found.Notes)})
	}
	switch {
	case done.fresh && (done.wrote || c.NoConfig):
		a.printf("began the journal of %s\n", j.Branch)
	case !done.fresh:
		a.printf("%s has a journal already\n", j.Branch)
	}
	done.print(a)
	if len(snap.State.Plan.Tasks) == 0 {
		a.printf("\nnext: git ralph import FILE, or git ralph add \"a first task\"; then git ralph start\n")
	} else {
		a.printf("\nnext: git ralph start\n")
	}
	return nil
}

// checkDocs are the checks as init prints them for programs.
func checkDocs(list []config.Check) []map[string]any {
	docs := make([]map[string]any, 0, len(list))
	for _, c := range list {
		docs = append(docs, map[string]any{"name": c.Name, "run": c.Run, "kind": c.Kind, "paths": textOrEmpty(c.Paths)})
	}
	return docs
}

func textOrEmpty(list []string) []string { return append([]string{}, list...) }

// writeSchema puts the schema of ralph.toml where its first line tells editors
// to look. A linked worktree has no such folder, and does without.
func writeSchema(root string) error {
	if st, err := os.Lstat(filepath.Join(root, ".git")); err != nil || !st.IsDir() {
		return nil
	}
	return writeMade(filepath.Join(root, filepath.FromSlash(config.SchemaFile)), string(config.JSONSchema()))
}

// writeSettings writes ralph.toml and trusts what it wrote.
func (a *App) writeSettings(root string, data []byte) error {
	if err := gitstate.WriteFile(filepath.Join(root, config.FileName), data, 0o644); err != nil {
		return err
	}
	f, err := config.ReadProject(root)
	if err != nil {
		return err
	}
	if f == nil || !bytes.Equal(f.Data, data) {
		return gitstate.Hint(1, "look at it, then: git ralph trust", "%s changed while it was being written", config.FileName)
	}
	return a.trust(doubt{file: f})
}

// repair asks about a ralph.toml that was there and, when it names no checks,
// adds those that were found.
func (c *InitCmd) repair(a *App, root, branch string, done *initialized) error {
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	if done.fresh && !c.JSON {
		a.printf("began the journal of %s\n", branch)
	}
	if err := a.askTrust(a.Ctx, set, c.JSON); err != nil {
		return err
	}
	if len(set.Checks) > 0 || len(done.found.Checks) == 0 {
		return nil
	}
	f, err := config.ReadProject(root)
	if err != nil || f == nil || !a.trusted(set) {
		return err
	}
	data := slices.Concat(bytes.TrimRight(f.Data, "\n"), []byte("\n"), detect.Checks(done.found.Checks))
	if _, err := config.Load(config.Sources{Files: []config.File{{Name: config.FileName, Data: data}}}); err != nil {
		done.pending = err.Error()
		return nil
	}
	done.added = len(done.found.Checks)
	return a.writeSettings(root, data)
}

func (d *initialized) print(a *App) {
	var runs []string
	for _, ck := range d.found.Checks {
		runs = append(runs, ck.Run)
	}
	switch {
	case d.wrote:
		a.printf("wrote %s for a %s project", config.FileName, orNone(d.found.Kind))
		if len(runs) > 0 {
			a.printf(", checks: %s", strings.Join(runs, "; "))
		}
		a.printf("\ncommit it: git add %s && git commit -m 'Add %s'\n", config.FileName, config.FileName)
	case d.added > 0:
		a.printf("added to %s, which named no checks: %s\n", config.FileName, strings.Join(runs, "; "))
		a.printf("commit it: git commit -m 'Check with git ralph' %s\n", config.FileName)
	case d.pending != "":
		a.warn("these checks were found, and cannot be added to %s: %s: %s", config.FileName, d.pending,
			strings.Join(runs, "; "))
	}
	if !d.wrote && d.added == 0 {
		return
	}
	for _, n := range append(d.found.Notes, a.missingPrograms(d.found)...) {
		a.printf("note: %s\n", n)
	}
	if len(runs) > 0 {
		a.printf("try them once: git ralph doctor --run\n")
	}
}

// missingPrograms are sentences about programs that the checks need and PATH
// lacks.
func (a *App) missingPrograms(found detect.Found) (notes []string) {
	lines := slices.Clone(found.Setup)
	for _, c := range found.Checks {
		lines = append(lines, c.Run)
	}
	var seen []string
	for _, line := range lines {
		for _, name := range guard.Programs(line) {
			if strings.Contains(name, "/") || slices.Contains(seen, name) || plan.ShellWord(name) || a.hasProgram(name) {
				continue
			}
			seen = append(seen, name)
			note := name + " is not installed here"
			if how := detect.Install(name); how != "" {
				note += ": " + how
			}
			notes = append(notes, note)
		}
	}
	return notes
}

func orNone(kind string) string {
	if kind == "" || kind == "none" {
		return "plain"
	}
	return kind
}

// ensureJournal begins the journal of the branch when there is none. Any
// command that writes calls it.
func (a *App) ensureJournal(j *journal.Journal) (fresh bool, err error) {
	if tip, err := j.Tip(a.Ctx); err != nil || !tip.IsZero() {
		if err != nil {
			return false, err
		}
		_, err = j.Load(a.Ctx)
		return false, err
	}
	if _, err := j.Repo.Identity(a.Ctx); err != nil {
		return false, err
	}
	if err := a.noneElsewhere(j); err != nil {
		return false, err
	}
	if err := a.clearName(j); err != nil {
		return false, err
	}
	base, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return false, err
	}
	in := &state.Init{JournalID: gitstate.NewID(j.Now()), Branch: j.Branch}
	if !base.IsZero() {
		in.Base = base.String()
		if in.Knowledge, in.From, err = a.inherit(j, base); err != nil {
			a.warn("the knowledge of another journal could not be taken over: %v", err)
		}
	}
	_, err = j.Append(a.Ctx, func(s state.State) (state.Event, error) {
		if s.Journal.ID != "" {
			return state.Event{}, journal.ErrNothing
		}
		return state.Event{Type: state.EvInit, Init: in}, nil
	})
	if errors.Is(err, journal.ErrNothing) {
		return false, nil
	}
	return err == nil, err
}

// clearName moves the journal of a deleted branch away when its name is a prefix
// of our branch's, or the reverse: a ref cannot be file and folder.
func (a *App) clearName(j *journal.Journal) error {
	all, err := journal.Others(a.Ctx, j.Repo)
	if err != nil {
		return err
	}
	for name, tip := range all {
		if !strings.HasPrefix(j.Branch, name+"/") && !strings.HasPrefix(name, j.Branch+"/") {
			continue
		}
		branch, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(name))
		if err != nil {
			return err
		}
		if !branch.IsZero() {
			continue // git itself would not have allowed both branches
		}
		snap, err := j.At(tip)
		if err != nil {
			return err
		}
		archive, err := j.Repo.Anchor(gitstate.ArchiveRef(snap.State.Journal.ID), tip)
		if err != nil {
			return err
		}
		if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: gitstate.JournalRef(name), Old: tip}); err != nil {
			return err
		}
		a.warn("the journal of the branch %s, which is gone, was moved to %s", name, archive)
	}
	return nil
}

// FailpointsCmd is `git ralph failpoints`.
type FailpointsCmd struct{}

// Run lists the steps.
func (FailpointsCmd) Run(a *App) error {
	for _, s := range failpoints() {
		fmt.Fprintln(a.Out, s)
	}
	return nil
}

// VersionCmd is `git ralph version`.
type VersionCmd struct{}

// Run prints it.
func (VersionCmd) Run(a *App) error {
	a.printf("%s\n", versionLine())
	return nil
}

// versionLine is the version with the commit and the date that the build knows.
func versionLine() string {
	line := "git-ralph " + Version
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return line
	}
	of := map[string]string{}
	for _, s := range info.Settings {
		of[s.Key] = s.Value
	}
	if commit := of["vcs.revision"]; commit != "" {
		line += " (" + commit[:min(len(commit), 12)]
		if of["vcs.modified"] == "true" {
			line += ", changed"
		}
		line += ", " + strings.TrimSuffix(of["vcs.time"], "Z") + " UTC)"
	}
	return line + ", " + info.GoVersion + ", " + runtime.GOOS + "/" + runtime.GOARCH
}
