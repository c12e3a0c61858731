package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"git-ralph/fixtures/long"
)

// disturbing is put into titles, names and reasons here.
const disturbing = "\x1b]0;owned\x07\x1b[2J\u202eevil\u2066\u009b31m"

// TestNothingDisturbsATerminal: no command prints a control or bidi character,
// whoever wrote the text.
func TestNothingDisturbsATerminal(t *testing.T) {
	t.Parallel()
	long.Only(t, "it tries every command")
	agent := "mkdir -p specs; printf x > \"$(printf 'specs/a\\033]0;owned\\007\\342\\200\\256b')\"\n" +
		`printf '{"task_id":"T-001","text":"\u001b[2J\u202e"}\n'; printf '\033]52;c;AAAA\007said\n'; printf ` +
		`'\033[2Jwrong\n' >&2` + "\n"
	p := newProject(t, agent,
		"[loop]\nmax_attempts = 1\n[[checks]]\nname = \"test\"\nrun = \"printf '\\\\033[2J\\\\342\\\\200\\\\256red'; exit "+
			"1\"\n[validation]\nbaseline = \"off\"\n", nil)
	p.must(t, "add", "first "+disturbing)
	p.must(t, "add", "second "+disturbing)
	p.run(t, nil, "block", "T-002", "because "+disturbing)
	p.run(t, nil, "steer", "do "+disturbing)
	p.run(t, nil, "learn", "know "+disturbing)

	// A journal from elsewhere was not cleaned by our code.
	c := exec.Command("sh", "-ec", `ref=$(git for-each-ref --format='%(refname)' refs/ralph/heads)
export GIT_INDEX_FILE="$PWD/../foreign"; git read-tree $ref
for f in $(git ls-files 'tasks/*'); do
	git cat-file blob ":$f" | sed 's/^title = .*/title = "odd \\u001B]0;owned\\u0007\\u202E\\u009B title"/' > ../blob
	git update-index --cacheinfo "100644,$(git hash-object -w ../blob),$f"
done
git update-ref $ref "$(git log -1 --format=%B $ref | git commit-tree "$(git write-tree)" -p $ref^)"`)
	c.Dir, c.Env = p.Dir, p.Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if r := p.run(t, nil, "tasks"); !strings.Contains(r.out, "odd ") {
		t.Errorf("the journal's titles are not shown: exit %d\n%s%s", r.code, r.out, r.err)
	}

	for _, args := range [][]string{
		{"start", "--max-iterations", "1"}, {"status"}, {"tasks"}, {"tasks", "T-001"}, {"log"}, {"history"},
		{"show", "1"}, {"show", "1", "--log"},
		{"show", "T-001"}, {"stats"}, {"knowledge"}, {"memory"}, {"prompt"}, {"export"}, {"fsck"}, {"verify"},
		{"doctor"}, {"config"}, {"diff", "1", "--stat"},
		{"retry", "T-001"}, {"skip", "T-001", disturbing}, {"block", "T-001", disturbing},
		{"guard", "--", "git push " + disturbing}, {"tasks", disturbing},
		{disturbing}, {"restore", "1"}, {"restore", "1", "--branch", disturbing}, {"import", disturbing}, {"answer"},
		{"gc"}, {"reset", "--dry-run"}, {"rewind", "1"},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			if more != nil && (args[0] == "start" || args[0] == "diff" || args[0] == "export" || args[0] == "guard") {
				continue
			}
			r := p.run(t, nil, append(append([]string{}, args...), more...)...)
			for _, text := range []string{r.out, r.err} {
				if i := strings.IndexFunc(text, func(c rune) bool {
					return c != '\n' && c != '\t' && c != '\u200d' && unicode.In(c, unicode.Cc, unicode.Cf)
				}); i >= 0 && args[0] != "diff" {
					t.Errorf("%q: %q", append(args, more...), text[max(0, i-40):min(len(text), i+40)])
				}
			}
		}
	}
}
