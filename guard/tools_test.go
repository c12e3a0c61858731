package guard

import (
	"encoding/json"
	"testing"
)

func TestJudgeWrite(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	p.GitDirs = []string{"/srv/code/app/.git", "/srv/bare/app.git"}
	p.Writable = []string{"/opt/cache"}
	p.AllowProtected = []string{"specs/login.md"}
	for _, c := range []struct {
		path, class, why string
	}{
		{"src/a.go", "", "a file of the worktree"},
		{"/srv/code/app/src/a.go", "", "the same by its absolute path"},
		{"/tmp/x", "", "temporary files are free"},
		{"/opt/cache/x", "", "a folder of guard.writable"},
		{".gitignore", "", "a file of the project like any other"},
		{".github2/x", "", "not below .github"},
		{".git/hooks/pre-commit", ClassGitFiles, "a hook would run as the user"},
		{"src/../.git/config", ClassGitFiles, "cleaned before it is judged"},
		{".GIT/config", ClassGitFiles, "some file systems fold case"},
		{"sub/.git", ClassGitFiles, "a nested repository is a way to run programs"},
		{"/srv/bare/app.git/HEAD", ClassGitFiles, "a git directory elsewhere"},
		{"/home/user/.gitconfig", ClassGitFiles, "git's own settings"},
		{"ralph.toml", ClassProtected, "the settings of the loop"},
		{"specs/a/b.md", ClassProtected, "** crosses folders"},
		{"specs/login.md", "", "lifted for this task"},
		{".github/workflows/ci.yml", ClassProtected, "CI is how others verify"},
		{".ralph/state.json", ClassState, "the loop's state"},
		{"../other/a.go", ClassOutside, "not this project"},
		{"/etc/passwd", ClassOutside, "the system"},
		{"/srv/code/app2/x", ClassOutside, "a name that only begins like the worktree"},
		{"", ClassInput, "no path at all"},
		{"a\x00b", ClassInput, "no such name exists"},
	} {
		v := p.judgeWrite(c.path, "")
		if v.Class != c.class || v.Allowed() != (c.class == "") {
			t.Errorf("%q (%s): got %+v, want class %q", c.path, c.why, v, c.class)
		}
	}
}

func TestJudgeTool(t *testing.T) {
	base := New("/srv/code/app", "/home/user")
	for _, c := range []struct {
		phase, tool, input, class, why string
	}{
		{"building", "Bash", `{"command":"go test ./..."}`, "", "the work itself"},
		{"building", "Bash", `{"command":"git commit -m x"}`, ClassGitWrite, "the harness commits"},
		{"building", "exec_command", `{"cmd":"git push"}`, ClassGitWrite, "another client's name for the shell"},
		{"building", "shell", `{"command":["bash","-lc","git push"]}`, ClassGitWrite, "a list of words"},
		{"building", "run_shell_command", `{"command":"rm HEAD","directory":".git"}`, ClassGitFiles, "it starts in a folder"},
		{"building", "write_stdin", `{"session_id":1,"chars":"git push\n"}`, ClassGitWrite, "typed into a shell that runs"},
		{"building", "write_stdin", `{"session_id":1,"chars":"it's y\n"}`, "", "an answer to a question is no shell line"},
		{"building", "Bash", `{"command":7}`, ClassInput, "arguments of another shape"},
		{"building", "Bash", `{"command":"git push","Command":"ls"}`, ClassInput, "clients take the first, Go the last"},
		{"building", "Bash", `{"command":"git push","Command":null}`, ClassInput, "the same with nothing"},
		{"building", "shell", `{"cmd":"git push","command":"ls"}`, ClassGitWrite, "a client takes one of two names"},
		{"building", "shell", `{"command":null,"cmd":"git push"}`, ClassGitWrite, "the other one is not given"},
		{"building", "Write", `{"file_path":".git/hooks/x","File_path":"a.go"}`, ClassInput, "one file in two spellings"},
		{"building", "Bash", `[`, ClassInput, "no JSON"},
		{"building", "Write", `{"file_path":"/srv/code/app/a.go","content":"x"}`, "", "a file of the worktree"},
		{"building", "Write", `{"file_path":".git/hooks/pre-commit","content":"x"}`, ClassGitFiles, "a hook"},
		{"building", "Write", `{"content":"x"}`, ClassInput, "no file is named"},
		{"building", "Edit", `{"file_path":"ralph.toml"}`, ClassProtected, "protected"},
		{"building", "replace", `{"file_path":"/etc/passwd"}`, ClassOutside, "another client's edit"},
		{"building", "NotebookEdit", `{"notebook_path":"specs/a.ipynb"}`, ClassProtected, "its path has another name"},
		{"building", "apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** End Patch"}`, "",
			"a patch of a file"},
		{"building", "apply_patch",
			`{"command":"*** Begin Patch\n*** Update File: a.go\n*** Move to: .git/x\n*** End Patch"}`, ClassGitFiles,
			"every path of a patch counts"},
		{"building", "apply_patch", `"*** Add File: ../x\n+a"`, ClassOutside, "freeform tools send text"},
		{"building", "apply_patch", `{"input":"nothing"}`, ClassInput, "a patch of no file"},
		{"building", "mcp__ralph__ralph_get_next_task", `{}`, "", "our own tools, any phase"},
		{"building", "mcp_ralph_record_note", `{}`, "", "as Gemini names them"},
		{"building", "ralph_record_note", `{}`, "", "as opencode names them"},
		{"building", "mcp__github__merge", `{}`, ClassTool, "a server that was not named"},
		{"building", "EnterWorktree", `{}`, ClassTool, "it would make a branch"},
		{"building", "CronCreate", `{}`, ClassTool, "the harness decides when to run"},
		{"building", "TodoWrite", `{}`, "", "bookkeeping"},
		{"discovery", "Write", `{"file_path":"specs/login.md"}`, "", "discovery writes specs, though they are protected"},
		{"discovery", "Write", `{"file_path":"src/a.go"}`, ClassTool, "and nothing else"},
		{"discovery", "Write", `{"file_path":"/tmp/x"}`, ClassTool, "not even outside"},
		{"discovery", "Write", `{"file_path":"specs/../.git/x"}`, ClassGitFiles, "a way out of specs"},
		{"discovery", "Bash", `{"command":"ls"}`, ClassTool, "no shell in discovery"},
		{"planning", "Write", `{"file_path":"plan.md"}`, ClassTool, "planning writes nothing"},
		{"planning", "Read", `{"file_path":"a.go"}`, "", "it reads"},
		{"validation", "Edit", `{"file_path":"a.go"}`, ClassTool, "validation does not fix"},
		{"validation", "Bash", `{"command":"npm test"}`, "", "it runs checks"},
		{"", "Read", `{}`, ClassTool, "a phase nobody knows has no tools"},
	} {
		v := base.ForPhase(c.phase).JudgeTool(c.tool, json.RawMessage(c.input))
		if v.Class != c.class || v.Allowed() != (c.class == "") {
			t.Errorf("%s %s %s (%s): got %+v, want class %q", c.phase, c.tool, c.input, c.why, v, c.class)
		}
	}
	if v := base.JudgeTool("Edit", json.RawMessage(`{"file_path":"a.go"}`)); !v.Allowed() {
		t.Errorf("without a phase every known tool is offered: %+v", v)
	}
}

func TestProtected(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		fold, want bool
		why        string
	}{
		{"specs/**", "specs/a/b.md", false, true, "any depth"},
		{"specs/**", "specs", false, true, "the folder itself"},
		{"specs/**", "specs2/a", false, false, "whole parts only"},
		{"**/*.lock", "a/b/c.lock", false, true, "** in front"},
		{"**/*.lock", "c.lock", false, true, "** stands for nothing too"},
		{"a/**/z", "a/b/c/z", false, true, "** within"},
		{"a/**/z", "a/b/c/y", false, false, "the end must match"},
		{"ci", "ci/x/y", false, true, "a folder protects what is in it"},
		{"*.yml", "a/b.yml", false, false, "* stays in its part"},
		{"Ralph.toml", "ralph.toml", false, false, "case counts"},
		{"Ralph.toml", "rALPH.toml", true, true, "unless the file system folds it"},
		{"/ralph.toml", "ralph.toml", false, true, "a leading slash is the root"},
		{"**", "../x", false, false, "outside is not ours to protect"},
		{"[", "[", false, true, "a broken pattern is its own text"},
		{"", "a", false, false, "nothing protects nothing"},
		{"**/**/**/**/**/**/**/**/**/x", "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/y", false, false, "many ** stay cheap"},
	} {
		if _, got := (Protected{Globs: []string{c.glob}, FoldCase: c.fold}).Match(c.path); got != c.want {
			t.Errorf("%q on %q: got %v (%s)", c.glob, c.path, got, c.why)
		}
	}
}

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern string
		argv    []string
		want    bool
		why     string
	}{
		{"docker push *", []string{"docker", "push"}, true, "the last * may stand for nothing"},
		{"docker push *", []string{"/usr/bin/docker", "push", "a", "b"}, true, "the folder of the command does not count"},
		{"docker push", []string{"docker", "push", "a"}, false, "without it the words are all there are"},
		{"npm run *:prod", []string{"npm", "run", "deploy:prod"}, true, "* within a word"},
		{"pip[0-9]* *", []string{"pip3.12", "list"}, true, "classes"},
		{"pip[0-9]* *", []string{"pip-audit"}, false, "another program"},
		{"./x.sh *", []string{"./x.sh"}, true, "a path is compared whole"},
		{"", []string{"a"}, false, "nothing matches nothing"},
	} {
		if got := Pattern(c.pattern).Match(c.argv); got != c.want {
			t.Errorf("%q on %q: got %v (%s)", c.pattern, c.argv, got, c.why)
		}
	}
}
