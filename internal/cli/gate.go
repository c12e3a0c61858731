package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/internal/checks"
	"git-ralph/internal/config"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/loop"
)

// gate is the pull request of the branch, seen through the person's own client.
type gate struct {
	a     *App
	to    prPlace
	chars int // of a check's output in the next prompt
}

// gate is the gate of the settings; nil = there is none. A missing
// requirement is reported at the start and not at the end of a night.
func (a *App) gate(set *config.Resolved) (loop.RemoteGate, error) {
	if !set.PR.Gate {
		return nil, nil
	}
	to, err := a.prPlace(set.PR)
	if err == nil && !a.hasProgram(string(to.forge)) {
		err = gitstate.Hint(8, "install it, then: "+string(to.forge)+" auth login; or gate = false under [pr] in "+
			"ralph.toml", "pr.gate = true reads checks through %s, which is not installed", to.forge)
	}
	if host := cmp.Or(a.getenv("GH_HOST"), to.host); err == nil && to.forge == github && host != "" {
		// The key itself is neither kept nor shown, and no server is asked for it.
		_, kerr := to.forge.call(a, "", "auth", "token", "--hostname", host)
		if kerr != nil && strings.Contains(kerr.Error(), "oauth token") {
			err = gitstate.Hint(8, "gh auth login; or gate = false under [pr] in ralph.toml",
				"pr.gate = true reads checks through gh, and gh is not logged in at %s", host)
		}
	}
	if err != nil {
		how, _ := adviceOf(err)
		return nil, &gitstate.HintError{Err: err, Hint: how.hint, Code: 8}
	}
	return &gate{a, to, set.Context.FailureChars}, nil
}

// gateTime is how long one look, push or output may take.
const gateTime = 30 * time.Second

// Look implements loop.RemoteGate.
func (g *gate) Look(ctx context.Context) (*loop.PullRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	there, err := g.to.forge.open(ctx, g.a, g.to.head, g.to.owner)
	if err != nil || there == nil {
		return nil, err
	}
	if g.to.forge == gitlab {
		return g.pipeline(ctx, there.Number)
	}
	pr := &loop.PullRequest{Name: fmt.Sprintf("pull request %d", there.Number)}
	n := strconv.Itoa(there.Number)
	var at struct {
		Commit string `json:"headRefOid"`
		Fork   bool   `json:"isCrossRepository"`
	}
	data, err := g.to.forge.callWithin(ctx, g.a, "", "pr", "view", n, "--json", "headRefOid,isCrossRepository")
	if err == nil && len(bytes.TrimSpace(data)) > 0 {
		err = json.Unmarshal(data, &at)
	}
	switch {
	case err != nil:
		return nil, err
	case at.Fork && !there.OwnFork:
		return nil, nil // somebody else's branch of the same name
	}
	pr.Commit = at.Commit
	data, err = g.to.forge.callWithin(ctx, g.a, "", "pr", "checks", n, "--json", "name,state,bucket,link,workflow")
	switch {
	case len(bytes.TrimSpace(data)) > 0: // red or pending ones may show in the exit code as well
		pr.Checks, err = checksOf(data)
	case err == nil || strings.Contains(strings.ToLower(err.Error()), "no checks reported"):
		err = nil
	case strings.Contains(err.Error(), "unknown flag"): // before gh 2.50
		data, err = g.to.forge.callWithin(ctx, g.a, "", "pr", "view", n, "--json", "statusCheckRollup")
		if err == nil {
			pr.Checks, err = rollup(data)
		}
	}
	if err != nil {
		return nil, err
	}
	return pr, nil
}

// notUnderstood is an error of gh's answers.
func notUnderstood(err error) error {
	return gitstate.Hint(1, "a newer version of gh may help", "gh printed something unexpected: %w", err)
}

// checksOf reads `gh pr checks --json`.
func checksOf(data []byte) ([]loop.RemoteCheck, error) {
	var list []struct{ Name, State, Bucket, Link, Workflow string }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, notUnderstood(err)
	}
	var out []loop.RemoteCheck
	for _, c := range list {
		out = append(out, loop.RemoteCheck{Name: checkName(c.Workflow, c.Name), Link: c.Link,
			State: githubState(c.Bucket, c.State)})
	}
	return out, nil
}

// rollup reads `gh pr view --json statusCheckRollup`, which has every run of a
// check: the one that began last counts.
func rollup(data []byte) ([]loop.RemoteCheck, error) {
	var doc struct {
		List []struct {
			Name, WorkflowName, Status, Conclusion, DetailsURL string
			Context, State, TargetURL                          string // of a status that no run reports
			StartedAt                                          time.Time
		} `json:"statusCheckRollup"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, notUnderstood(err)
	}
	var out []loop.RemoteCheck
	at, began := map[string]int{}, map[string]time.Time{}
	for _, c := range doc.List {
		one := loop.RemoteCheck{Name: checkName(c.WorkflowName, cmp.Or(c.Name, c.Context)),
			Link: cmp.Or(c.DetailsURL, c.TargetURL), State: githubState("", cmp.Or(c.Conclusion, c.Status, c.State))}
		i, known := at[one.Name]
		switch {
		case !known:
			at[one.Name] = len(out)
			out = append(out, one)
		case c.StartedAt.Before(began[one.Name]):
			continue
		default:
			out[i] = one
		}
		began[one.Name] = c.StartedAt
	}
	return out, nil
}

// checkName is a check with its workflow.
func checkName(workflow, name string) string {
	if workflow != "" && workflow != name {
		return workflow + " / " + name
	}
	return name
}

// githubState is the state of a check as gh sorts it, or else as GitHub calls it.
func githubState(bucket, word string) loop.RemoteState {
	switch strings.ToLower(bucket) {
	case "pass", "skipping":
		return loop.RemoteGreen
	case "fail", "cancel":
		return loop.RemoteRed
	case "pending":
		return loop.RemotePending
	}
	switch strings.ToUpper(word) {
	case "SUCCESS", "SKIPPED", "NEUTRAL":
		return loop.RemoteGreen
	case "FAILURE", "ERROR", "CANCELLED", "TIMED_OUT", "ACTION_REQUIRED", "STARTUP_FAILURE":
		return loop.RemoteRed
	}
	return loop.RemotePending
}

// pipeline is a merge request with the newest pipeline of its branch.
func (g *gate) pipeline(ctx context.Context, number int) (*loop.PullRequest, error) {
	pr := &loop.PullRequest{Name: fmt.Sprintf("merge request %d", number)}
	data, err := gitlab.callWithin(ctx, g.a, "", "ci", "get", "--branch", g.to.head, "--output", "json")
	if err != nil && strings.Contains(strings.ToLower(err.Error()+string(data)), "no pipeline") {
		return pr, nil
	}
	if err != nil {
		return nil, err
	}
	var p struct {
		SHA    string `json:"sha"`
		Status string `json:"status"`
		URL    string `json:"web_url"`
		Jobs   []struct {
			Name         string `json:"name"`
			Status       string `json:"status"`
			URL          string `json:"web_url"`
			AllowFailure bool   `json:"allow_failure"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, gitstate.Hint(1, "a newer version of glab may help", "glab printed something unexpected: %w", err)
	}
	pr.Commit = p.SHA
	whole := loop.RemoteCheck{Name: "the pipeline", Link: p.URL, State: gitlabState(p.Status)}
	if p.Status == "skipped" {
		whole.State = loop.RemotePending // nothing was run for this commit
	}
	red := false
	for _, j := range p.Jobs {
		c := loop.RemoteCheck{Name: j.Name, Link: j.URL, State: gitlabState(j.Status)}
		if j.AllowFailure && c.State == loop.RemoteRed || j.Status == "manual" {
			c.State = loop.RemoteGreen
		}
		red = red || c.State == loop.RemoteRed
		pr.Checks = append(pr.Checks, c)
	}
	// The pipeline itself is named where its jobs do not say the same.
	if whole.State == loop.RemotePending || whole.State == loop.RemoteRed && !red {
		pr.Checks = append(pr.Checks, whole)
	}
	return pr, nil
}

func gitlabState(word string) loop.RemoteState {
	switch word {
	case "success", "skipped":
		return loop.RemoteGreen
	case "failed", "canceled":
		return loop.RemoteRed
	}
	return loop.RemotePending
}

// Push implements loop.RemoteGate: it never forces, and pushes to no other branch.
func (g *gate) Push(ctx context.Context, pr loop.PullRequest, commit object.ID) error {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	out, err := g.a.repo.Git.Run(ctx, "push", "--porcelain", g.to.remote,
		commit.String()+":"+gitstate.BranchRef(g.to.head))
	if err == nil {
		return nil
	}
	for line := range strings.Lines(string(out) + "\n" + err.Error()) {
		if strings.HasPrefix(line, "!\t") {
			return fmt.Errorf("%s: %w", g.to.head, loop.ErrPushRefused)
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%s did not answer in time", g.to.remote)
	}
	return err
}

// jobID is the number of a job in its address.
var jobID = lazyregexp.New(`/jobs?/(\d+)`)

// Printed implements loop.RemoteGate.
func (g *gate) Printed(ctx context.Context, c loop.RemoteCheck) string {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	m := jobID().FindStringSubmatch(c.Link)
	if m == nil {
		return ""
	}
	args := []string{"run", "view", "--job", m[1], "--log-failed"}
	if g.to.forge == gitlab {
		args = []string{"ci", "trace", m[1]}
	}
	out, err := g.to.forge.callWithin(ctx, g.a, "", args...)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		// gh puts job, step and time before each line.
		if parts := strings.SplitN(line, "\t", 3); len(parts) == 3 && g.to.forge == github {
			_, line, _ = strings.Cut(parts[2], " ")
		}
		b.WriteString(line)
	}
	return checks.Narrow([]byte(b.String()), g.chars)
}
