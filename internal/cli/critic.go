package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/internal/checks"
	"git-ralph/internal/config"
	"git-ralph/loop"
	"git-ralph/plan"
	"git-ralph/plan/exchange"
)

// planCritic reviews plans that agents make, with what this project and this
// machine know.
func (a *App) planCritic(set *config.Resolved) plan.Critic {
	configured := checkSettings(set).Checks
	names := func(entry string) bool {
		got := checks.Criteria([]string{entry}, configured)
		return len(got) > 0 && slices.ContainsFunc(configured, func(c checks.Check) bool { return c.Run == got[0].Run })
	}
	return plan.Critic{TaskTokens: set.Planning.TaskTokens, Check: names, Program: a.hasProgram,
		Closed: a.mayNotRun, Checked: len(configured) > 0, Agent: true}
}

// hasProgram looks for a program on PATH as a shell would.
func (a *App) hasProgram(name string) bool {
	if runtime.GOOS == "windows" {
		return true // names there have endings of their own
	}
	for _, dir := range filepath.SplitList(a.getenv("PATH")) {
		if dir == "" {
			dir = "."
		}
		if !filepath.IsAbs(dir) && a.repo != nil {
			dir = filepath.Join(a.repo.Root, dir)
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			return true
		}
	}
	return false
}

// mayNotRun says that a path of the worktree is a file without the permission
// to execute it.
func (a *App) mayNotRun(path string) bool {
	if runtime.GOOS == "windows" || path == "" || a.repo == nil || !filepath.IsLocal(path) {
		return false
	}
	st, err := os.Stat(filepath.Join(a.repo.Root, path))
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 == 0
}

// critique reviews a person's change of the plan. Errors refuse it; warnings
// are returned to be printed once.
func (a *App) critique(before, after plan.Plan, places plan.Places) (plan.Problems, error) {
	set, err := a.Settings(nil, nil)
	if err != nil {
		// A plan can be written while the settings are being repaired; start refuses.
		a.warn("the plan was not reviewed: %v", err)
		return nil, nil
	}
	c := a.planCritic(set)
	c.Agent, c.Places = false, places.For(after)
	found := c.New(before, after)
	return found.Warnings(), found.Err()
}

func (a *App) warnPlan(found plan.Problems) {
	for _, p := range found {
		a.warn("%s", p)
	}
}

// critiqueStart reviews the tasks that a run would work on. unchecked says
// that the person wants no proof.
func (a *App) critiqueStart(set *config.Resolved, p plan.Plan, unchecked bool) error {
	c := a.planCritic(set)
	c.Agent = false
	found := plan.Review(p, c)
	a.warnPlan(found.Warnings())
	if err := found.Err(); err != nil {
		if unchecked {
			a.warnPlan(found.Errors())
			return nil
		}
		return gitstate.Hint(8, "git ralph edit fixes the plan", "%w", err)
	}
	return nil
}

// warnUncovered names criteria of specs that no task stands for.
func (a *App) warnUncovered(root string, p plan.Plan) error {
	if len(p.Tasks) == 0 {
		return nil // what is missing is the plan
	}
	lines, err := loop.Uncovered(root, p)
	for _, line := range lines {
		a.warn("%s: git ralph add makes one a task, git ralph edit gives a task the criterion", line)
	}
	return err
}

// nameless removes from verify the entries that name a kind of check which the
// project does not have. They are from another tool's file: there the word was
// a criterion, and it stays one. The result names the words.
func nameless(in exchange.Imported, c plan.Critic) (plan.Plan, []string) {
	var words []string
	out := in.Plan
	out.Tasks = slices.Clone(out.Tasks)
	for i := range out.Tasks {
		t := &out.Tasks[i]
		t.Verify = slices.DeleteFunc(slices.Clone(t.Verify), func(v string) bool {
			if strings.ContainsAny(v, " \t/") || !slices.Contains(t.Criteria, v) || c.Check(v) {
				return false
			}
			if !slices.Contains(words, v) {
				words = append(words, v)
			}
			return true
		})
	}
	return out, words
}
