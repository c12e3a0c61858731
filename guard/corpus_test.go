package guard

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// sample is one labelled command of fixtures/guard.
type sample struct {
	Command string   `json:"command"`
	Verdict Decision `json:"verdict"`
	Class   string   `json:"class"`
	Reason  string   `json:"reason"`
}

func readSamples(t testing.TB, name string) []sample {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "fixtures", "guard", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []sample
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var s sample
		if err := json.Unmarshal(sc.Bytes(), &s); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, s)
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// corpusPolicies are the settings under which the labels must hold: those of the
// command line in an unknown repository, wherever it is, and the project for which
// the labels were written.
func corpusPolicies() map[string]*Policy {
	project := New("/data/proj", "/home/agent")
	project.Aliases = map[string]string{"ci": "commit", "co": "checkout", "undo": "reset --soft HEAD~1",
		"shellalias": "!git tag x", "st": "status -sb", "lg": "log --oneline --graph"}
	return map[string]*Policy{
		"unknown repository": New("/srv/code/app", "/home/user"),
		"below /tmp":         New("/tmp/clone", "/root"),
		"labelled project":   project,
	}
}

func TestCorpus(t *testing.T) {
	for name, p := range corpusPolicies() {
		t.Run(name, func(t *testing.T) {
			for _, s := range readSamples(t, "dev.jsonl") {
				v := p.Judge(s.Command)
				if v.Verdict != s.Verdict {
					t.Errorf("%s: got %s (%s: %s), want %s: %q", s.Class, v.Verdict, v.Class, v.Reason, s.Verdict, s.Command)
				}
				if !v.Allowed() && (v.Class == "" || v.Reason == "" || v.Instead == "") {
					t.Errorf("a denial says what and what else: %+v for %q", v, s.Command)
				}
			}
		})
	}
}
