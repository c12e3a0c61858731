package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSpendOutlivesAKill: the usage of an iteration is shown while it works.
// After a kill and restart it counts once.
func TestSpendOutlivesAKill(t *testing.T) {
	t.Parallel()
	agent := `if [ -e "$O/killed" ]; then
` + doTask + `else
echo '{"type":"usage","input_tokens":700,"output_tokens":300,"cost_usd":1.5,"context_tokens":50000}'
: > "$O/used"
sleep 600
fi
`
	p := newProject(t, agent, "[guard]\nsandbox = \"off\"\n"+check, nil)
	outer := filepath.Dir(p.Dir)
	p.Env = append(p.Env, "O="+outer)
	p.must(t, "add", "a thing")
	type status struct {
		Cost struct {
			Iteration, Session, Total float64
		} `json:"cost_usd"`
		Tokens  struct{ Total int }
		Context int        `json:"context_percent"`
		Told    *time.Time `json:"context_at"`
	}
	look := func() (s status) {
		if err := json.Unmarshal([]byte(p.run(t, nil, "status", "--json").out), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "start")
	c.Dir, c.Env = p.Dir, p.Env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the agent comes to where it is ended", func() bool { return look().Cost.Total > 0 })
	if s := look(); s.Cost.Iteration != 1.5 || s.Cost.Total != 1.5 || s.Tokens.Total != 1000 || s.Context != 25 ||
		s.Told == nil {
		t.Errorf("while it works: %+v", s)
	}
	c.Process.Kill()
	c.Wait()
	if err := os.WriteFile(filepath.Join(outer, "killed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(t, "start")
	if s := look(); s.Cost.Total != 1.5 || s.Tokens.Total != 1000 {
		t.Errorf("after the restart: %+v", s)
	}
	if left, _ := filepath.Glob(filepath.Join(p.Dir, ".git", "ralph", "spend-*")); len(left) > 0 {
		t.Errorf("left behind: %s", strings.Join(left, ", "))
	}
	p.sound(t)
}
