package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorTriesTheClient runs doctor --agent on each real client, with its own
// driver and with the Agent Client Protocol. Every promise holds without an
// account, and nothing is left in the project.
func TestDoctorTriesTheClient(t *testing.T) {
	t.Parallel()
	for name, variable := range planClients {
		t.Run(name, func(t *testing.T) {
			driver, client, generic := strings.Cut(name, " ")
			binary := os.Getenv(variable)
			if binary == "" {
				t.Skipf("without %s: npm ci --prefix fixtures/clients --ignore-scripts, then %s=…", driver, variable)
			}
			t.Parallel()
			p := newProject(t, "exit 1\n", check, nil)
			if generic {
				p.Write("ralph.toml", "[agent]\n"+acpCommand(client, binary)+check)
				p.Git("commit", "-qam", "the agent is "+name)
				p.must(t, "trust")
			} else if err := os.Symlink(binary, filepath.Join(p.bin, driver)); err != nil {
				t.Fatal(err)
			}
			for i, kv := range p.Env {
				if path, ok := strings.CutPrefix(kv, "PATH="); ok {
					p.Env[i] = "PATH=" + p.bin + ":" + path
				}
			}
			r := p.run(t, nil, "doctor", "--agent", driver, "--json")
			var doc struct {
				Trial []struct {
					Promise, Detail string
					Holds           bool
				}
				Clients []struct{ Driver, State, Version, Hint string }
			}
			if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
				t.Fatalf("%v\n%s%s", err, r.out, r.err)
			}
			if len(doc.Trial) != 6 {
				t.Errorf("%d promises were tried", len(doc.Trial))
			}
			for _, promise := range doc.Trial {
				if !promise.Holds {
					t.Errorf("does not hold: %s (%s)", promise.Promise, promise.Detail)
				}
			}
			for _, c := range doc.Clients {
				if c.Driver == driver && c.Version == "" {
					t.Errorf("%+v", c)
				}
			}
			if p.Git("status", "--porcelain") != "" {
				t.Error(p.Git("status", "--porcelain"))
			}
		})
	}
}
