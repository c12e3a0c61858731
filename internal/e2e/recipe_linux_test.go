package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// recipeLines are the commands of the CI job in doc/sharing.md and of its container.
func recipeLines(t *testing.T) (job string, container []string) {
	t.Helper()
	data, err := os.ReadFile("../../doc/sharing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "- run: |\n")
	if !found {
		t.Fatal("the recipe has no commands")
	}
	for line := range strings.Lines(rest) {
		text, in := strings.CutPrefix(line, "          ")
		if !in {
			break
		}
		job += text
	}
	_, rest, _ = strings.Cut(rest, "ENTRYPOINT ")
	line, _, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(line), &container); err != nil || job == "" {
		t.Fatalf("%v: %q %q", err, job, line)
	}
	return job, container
}

// TestRecipes runs what doc/sharing.md says for a CI system: jobs in fresh clones, four
// at once, and then the command of the container until everything is done.
func TestRecipes(t *testing.T) {
	t.Parallel()
	long.Only(t, "several machines share a plan")
	tasks := long.Number(t, 3, 6)
	s := sharedPlan(t, 1, doTask, "", tasksToml(tasks))
	job, container := recipeLines(t)
	// machine runs a command as a new machine does, with a home folder of its own.
	machine := func(script string, args ...string) (string, error) {
		dir := t.TempDir()
		home := filepath.Join(dir, "home")
		if err := os.Mkdir(home, 0o755); err != nil {
			return "", err
		}
		config := "[user]\n\tname = worker\n\temail = worker@example.com\n"
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
			return "", err
		}
		c := exec.Command("bash", append([]string{"-e", "-c", strings.ReplaceAll(script, "/work", dir+"/work")}, args...)...)
		c.Dir = dir
		c.Env = append(repo.Env(home), "RALPH_GUARD_SANDBOX=off", "RALPH_SHARE_REMOTE=origin", "XDG_RUNTIME_DIR="+home,
			"PATH="+s.machines[0].bin+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
	var jobs sync.WaitGroup
	for range tasks - 2 {
		jobs.Go(func() {
			if out, err := machine("git clone -q \"$0\" clone\ncd clone\n"+job, s.remote); err != nil {
				t.Errorf("a job: %v\n%s", err, out)
			}
		})
	}
	jobs.Wait()
	p := s.machines[0]
	p.must(t, "pull")
	if n := p.workers(t).Tasks.Done; n == 0 || n == tasks {
		t.Errorf("%d jobs that each work on one task have done %d", tasks-2, n)
	}
	if out, err := machine(container[2], s.remote); err != nil || len(container) != 3 {
		t.Errorf("the container: %v\n%s", err, out)
	}
	s.allDone(t, tasks)
}
