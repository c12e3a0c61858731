package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/internal/config"
	"git-ralph/loop"
)

// The output of gh and glab becomes checks of one kind, whatever the exit status.
func TestGateReadsTheClients(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the clients are scripts here: ", err)
	}
	check := func(name string, is loop.RemoteState) loop.RemoteCheck {
		return loop.RemoteCheck{Name: name, State: is}
	}
	pull := func(commit string, checks ...loop.RemoteCheck) *loop.PullRequest {
		return &loop.PullRequest{Name: "pull request 7", Commit: commit, Checks: checks}
	}
	merge := func(commit string, checks ...loop.RemoteCheck) *loop.PullRequest {
		return &loop.PullRequest{Name: "merge request 3", Commit: commit, Checks: checks}
	}
	const view = `pr\ view) echo '{"headRefOid":"c1"}' ;;`
	const list = `mr\ list) echo '[{"iid":3,"web_url":"u","draft":true,"description":""}]' ;;`
	for _, tt := range []struct {
		why    string
		client forge
		cases  string // of the shell, over the first two words
		want   *loop.PullRequest
		fails  bool
	}{
		{"gh sorts them into buckets, and exits with 8 while some run", github, view + `pr\ checks) echo '[
			{"name":"a","bucket":"pass"},{"name":"b","bucket":"skipping"},{"name":"c","bucket":"cancel"},
			{"name":"d","bucket":"pending"},{"name":"e","state":"TIMED_OUT"},{"name":"f","state":"NEW_WORD"}]'; exit 8 ;;`,
			pull("c1", check("a", loop.RemoteGreen), check("b", loop.RemoteGreen), check("c", loop.RemoteRed),
				check("d", loop.RemotePending), check("e", loop.RemoteRed), check("f", loop.RemotePending)), false},
		{"gh calls it an error when there are none", github,
			view + `pr\ checks) echo "no checks reported on the 'x' branch" >&2; exit 1 ;;`, pull("c1"), false},
		{"a gh before 2.50 knows no --json there, and lists every run of a check", github, `pr\ checks)
			echo "unknown flag: --json" >&2; exit 1 ;;
			pr\ view) case "$*" in *statusCheckRollup*) echo '{"statusCheckRollup":[
			{"__typename":"CheckRun","name":"a","workflowName":"CI","status":"COMPLETED","conclusion":"FAILURE",
				"detailsUrl":"u","startedAt":"2026-01-01T00:00:00Z"},
			{"__typename":"CheckRun","name":"a","workflowName":"CI","status":"IN_PROGRESS","conclusion":"",
				"startedAt":"2026-01-01T00:05:00Z"},
			{"__typename":"CheckRun","name":"b","status":"COMPLETED","conclusion":"NEUTRAL","startedAt":"2026-01-01T00:05:00Z"},
			{"__typename":"CheckRun","name":"b","status":"COMPLETED","conclusion":"FAILURE","startedAt":"2026-01-01T00:00:00Z"},
			{"__typename":"StatusContext","context":"c","state":"ERROR","targetUrl":""},
			{"__typename":"StatusContext","context":"d","state":"EXPECTED"}]}' ;;
			*) echo '{"headRefOid":"c1"}' ;; esac ;;`,
			pull("c1", check("CI / a", loop.RemotePending), check("b", loop.RemoteGreen), check("c", loop.RemoteRed),
				check("d", loop.RemotePending)), false},
		{"what gh prints may be no JSON", github, view + `pr\ checks) echo "a	pass" ;;`, nil, true},
		{"a stranger's branch of the same name is not ours", github, `pr\ list) echo '[{"number":7,"url":"u",
			"isCrossRepository":true,"headRepositoryOwner":{"login":"eve"}}]' ;;` + view, nil, false},
		{"a branch of a fork is not ours while nobody says whose it is", github,
			`pr\ view) echo '{"headRefOid":"c1","isCrossRepository":true}' ;;`, nil, false},
		{"a branch of the own fork is ours", github, `pr\ list) echo '[{"number":7,"url":"u",
			"isCrossRepository":true,"headRepositoryOwner":{"login":"Pat"}}]' ;;
			pr\ view) echo '{"headRefOid":"c1","isCrossRepository":true}' ;;
			pr\ checks) echo '[{"name":"a","bucket":"fail"}]'; exit 1 ;;`,
			pull("c1", check("a", loop.RemoteRed)), false},
		{"a job of GitLab that may fail is not red, and one that a person starts is not waited for", gitlab,
			list + `ci\ get) echo '{"sha":"c1","status":"failed","jobs":[{"name":"a","status":"success"},
			{"name":"b","status":"failed","allow_failure":true},{"name":"c","status":"manual"},
			{"name":"d","status":"failed"}]}' ;;`,
			merge("c1", check("a", loop.RemoteGreen), check("b", loop.RemoteGreen), check("c", loop.RemoteGreen),
				check("d", loop.RemoteRed)), false},
		{"a pipeline that does not begin has no job that says so", gitlab,
			list + `ci\ get) echo '{"sha":"c1","status":"failed"}' ;;`,
			merge("c1", check("the pipeline", loop.RemoteRed)), false},
		{"a pipeline that was left out proves nothing", gitlab,
			list + `ci\ get) echo '{"sha":"c1","status":"skipped"}' ;;`,
			merge("c1", check("the pipeline", loop.RemotePending)), false},
		{"there is none yet", gitlab, list + `ci\ get) echo "ERROR no pipeline found" >&2; exit 1 ;;`, merge(""), false},
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\ncase \"$1 $2\" in\n" + tt.cases +
			"\npr\\ list) echo '[{\"number\":7,\"url\":\"u\",\"isDraft\":true}]' ;;\nesac\n"
		if err := os.WriteFile(filepath.Join(dir, string(tt.client)), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		a := &App{Ctx: context.Background(), Env: []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH")},
			repo: &gitstate.Repo{Root: dir}}
		got, err := (&gate{a: a, to: prPlace{forge: tt.client, head: "x", owner: "pat"}}).Look(context.Background())
		if d := cmp.Diff(tt.want, got); d != "" || (err != nil) != tt.fails {
			t.Errorf("%s: %v\n%s", tt.why, err, d)
		}
	}
}

// A run with pr.gate reports at its start what it cannot work without.
func TestGateNeedsItsClient(t *testing.T) {
	for _, tt := range []struct {
		why, script, want string
	}{
		{"there is no gh", "", "gh, which is not installed"},
		{"gh has no log-in", "echo 'no oauth token' >&2; exit 1", "gh is not logged in at github.example"},
		{"gh is too old to say whether it has one", "echo 'unknown command \"token\"' >&2; exit 1", ""},
		{"gh is logged in", "echo a-key", ""},
	} {
		dir := repo.New(t, map[string]string{"a.txt": "a"})
		dir.Git("remote", "add", "origin", "https://github.example/pat/notes.git")
		bin := t.TempDir()
		if tt.script != "" {
			script := []byte("#!/bin/sh\n" + tt.script + "\n")
			if err := os.WriteFile(filepath.Join(bin, "gh"), script, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		g, err := gitstate.Open(context.Background(), dir.Dir, dir.Env)
		if err != nil {
			t.Fatal(err)
		}
		a := &App{Ctx: context.Background(), Env: []string{"PATH=" + bin}, repo: g,
			journal: &journal.Journal{Branch: "notes"}}
		var set config.Resolved
		set.PR = config.PR{Gate: true, Remote: "origin", Base: "main"}
		_, err = a.gate(&set)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v; want %q", tt.why, err, tt.want)
		}
	}
}

func TestHostOf(t *testing.T) {
	for remote, want := range map[string]string{
		"https://github.com/pat/notes.git":     "github.com",
		"https://git.example:8443/pat/notes\n": "git.example",
		"git@github.com:pat/notes.git":         "github.com",
		"ssh://git@github.com/pat/notes.git":   "github.com",
		"git@github.com-work:pat/notes.git":    "", // ssh resolves the alias
		"ssh://git@git.example:2222/pat/notes": "",
		"/srv/notes.git":                       "",
		"":                                     "",
	} {
		if got := hostOf(remote); got != want {
			t.Errorf("%s: %q, want %q", remote, got, want)
		}
	}
}
