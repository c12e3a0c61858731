package loop

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// surroundings are what a prompt shows of the worktree, read before an agent
// works in it: at the checkpoint.
type surroundings struct {
	instructions, file string // AGENTS.md, else CLAUDE.md, else GEMINI.md
	skills             []agentctx.Skill
	missing            []string
}

// maxInstructions bounds what is read of the project's instructions, in bytes.
const maxInstructions = 256 << 10

// readSurroundings reads the surroundings of a task. Links that lead out of the worktree
// are not followed: an agent may have made them. Skills that are not there are
// named once in a run.
func (l *Loop) readSurroundings(skills []string) surroundings {
	var s surroundings
	if l.Repo == nil {
		return s
	}
	root, err := os.OpenRoot(l.Repo.Root)
	if err != nil {
		l.Log("the worktree cannot be read for the prompt: %v", err)
		return s
	}
	defer root.Close()
	tree := root.FS()
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", "GEMINI.md"} {
		st, err := fs.Stat(tree, name)
		if err != nil || !st.Mode().IsRegular() || st.Size() > maxInstructions {
			continue
		}
		if data, err := fs.ReadFile(tree, name); err == nil {
			s.instructions, s.file = string(data), name
			break
		}
	}
	if len(skills) > 0 {
		var warnings []string
		s.skills, s.missing, warnings = agentctx.LookupSkills(tree, l.Settings.Skills, skills)
		for _, w := range warnings {
			if !l.warned[w] {
				if l.warned == nil {
					l.warned = map[string]bool{}
				}
				l.warned[w] = true
				l.Log("%s", w)
			}
		}
	}
	return s
}

// promptOptions is everything that the prompt of an iteration is made of
// besides the state; handed is what the session before has left.
func (l *Loop) promptOptions(it *Ready, handed string) agentctx.Options {
	o := l.Prompt
	o.Mode = agentctx.Mode(l.Settings.Mode)
	o.Phase, o.Role = it.phase, agentctx.Role(promptRole(it.role))
	o.Iteration, o.Attempt = it.number, it.attempt
	o.Instructions, o.InstructionsFile = it.around.instructions, it.around.file
	o.Skills, o.Missing = it.around.skills, it.around.missing
	o.PreviousPhase = it.asked.Run.LeftPhase
	o.Approach = it.choice.Approach
	o.BytesPerToken = agentctx.FamilyOf(l.model(it.role, it.task, it.choice), l.driver(it.role)).Bytes
	o.Session, o.Prepared = handed, it.prepared
	for _, name := range l.Settings.Roles[it.role].MCP {
		o.Browser = o.Browser || isBrowser(name)
	}
	if p := it.asked.Run.Prep; p.Task != "" && p.Task == it.task.ID && p.Research != "" {
		o.Research = []agentctx.Finding{{Topic: strings.Join(p.Topics, "; "), Text: p.Research}}
	}
	return o
}

// isBrowser says whether an MCP server of this name drives a browser.
func isBrowser(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"browser", "playwright", "puppeteer", "chrome", "selenium"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// assemble makes the prompt of an iteration. It is the only function that does,
// so that `git ralph prompt` and --dry-run print what the agent reads. It uses
// the state before the start, where the task is not in work yet, with what
// helper agents have recorded since.
func (l *Loop) assemble(it *Ready, handed string) agentctx.Prompt {
	o := l.promptOptions(it, handed)
	if it.product != nil {
		o.Request, o.Failure, o.Specs = it.request, it.failure, it.specs
		if p, ok := it.product.(*planning); ok {
			o.Replaces = !p.add && it.asked.Plan.Remaining() > 0
		}
		if s, id, ok := it.product.prompt(it.asked); ok {
			return agentctx.Assemble(s, id, o)
		}
	}
	s := it.asked
	s.Knowledge = it.state.Knowledge
	return agentctx.Assemble(s, it.task.ID, o)
}

// NextPrompt is the prompt of the next iteration on a task, or of the one in
// work on it. In agent-orchestrated mode it is the fallback prompt of a failed
// preparation, because the context agent's text cannot be known.
func (l *Loop) NextPrompt(s state.State, id plan.TaskID) agentctx.Prompt {
	i := s.Plan.Find(id)
	if i < 0 {
		return agentctx.Prompt{}
	}
	it := &Ready{Job: Job{phase: state.Building, role: session.RoleCoding, task: s.Plan.Tasks[i]},
		number: s.Run.Iteration + 1}
	it.attempt, it.choice = it.task.Attempts+1, Choose(l.Settings.Ladder, it.task.Rung)
	if cur := s.Run.Current; cur != nil && cur.Task == it.task.ID {
		it.number = cur.Iteration
		s.Plan.Tasks = slices.Clone(s.Plan.Tasks)
		s.Plan.Tasks[i].Status = plan.Pending // as it was before the start
	}
	it.helped, it.asked, it.around = &helped{state: s}, s, l.readSurroundings(it.task.Skills)
	return l.assemble(it, "")
}
