package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// edit is one thing that a person does beside an iteration.
type edit struct {
	name string
	path string // where the bytes are at the end
	text string // the bytes
	do   func(root string) error
	// rejects: the iteration cannot be kept with this edit.
	rejects bool
}

func put(path, text string) func(string) error {
	return func(root string) error {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		return os.WriteFile(full, []byte(text), 0o644)
	}
}

// edits are the kinds of changes that a restore could lose. No two touch the
// same path.
func edits() []edit {
	large := strings.Repeat("large ", 300<<10) // above max_file
	return []edit{
		{name: "untracked, edited", path: "notes.txt", text: "notes, second version\n",
			do: put("notes.txt", "notes, second version\n")},
		{name: "untracked, saved by a rename", path: "list.txt", text: "list, second version\n", do: func(root string) error {
			if err := os.WriteFile(filepath.Join(root, "ignored", "list.tmp"), []byte("list, second version\n"),
				0o644); err != nil {
				return err
			}
			return os.Rename(filepath.Join(root, "ignored", "list.tmp"), filepath.Join(root, "list.txt"))
		}},
		{name: "untracked, beside a large one", path: "data/readme.txt", text: "about the data, 2\n",
			do: put("data/readme.txt", "about the data, 2\n")},
		{name: "untracked, grown too large", path: "grow.txt", text: large, do: put("grow.txt", large)},
		{name: "untracked, now a folder", path: "turn/inner.txt", text: "in the folder\n", do: func(root string) error {
			os.Remove(filepath.Join(root, "turn"))
			return put("turn/inner.txt", "in the folder\n")(root)
		}},
		{name: "untracked link, elsewhere", path: "way", text: "-> second", do: func(root string) error {
			os.Remove(filepath.Join(root, "way"))
			return os.Symlink("second", filepath.Join(root, "way"))
		}},
		{name: "hidden by the index, edited", path: "local.conf", text: "port = 2\n", do: put("local.conf", "port = 2\n")},
		{name: "small and ignored, edited", path: ".env", text: "SECRET=2\n", do: put(".env", "SECRET=2\n")},
		{name: "small and ignored, grown", path: "cache.local", text: large, do: put("cache.local", large)},
		{name: "tracked, edited", path: "README", text: "readme, second version\n",
			do: put("README", "readme, second version\n")},
		{name: "new", path: "ideas/new.txt", text: "an idea\n", do: put("ideas/new.txt", "an idea\n")},
		{name: "new beside a large one", path: "data/new.txt", text: "new data\n", do: put("data/new.txt", "new data\n")},
		{name: "new and too large", path: "film.bin", text: large, do: put("film.bin", large), rejects: true},
		{name: "tracked, grown too large", path: "table.txt", text: large, do: put("table.txt", large), rejects: true},
		{name: "a name that git refuses", path: "git~1", text: "an old backup\n", do: put("git~1", "an old backup\n"),
			rejects: true},
		{name: "new, in the place of a folder", path: "box", text: "a file now\n", do: func(root string) error {
			os.RemoveAll(filepath.Join(root, "box"))
			return put("box", "a file now\n")(root)
		}, rejects: true},
		{name: "hidden by an ignore file of now", path: "draft.tmp", text: "a draft\n", do: func(root string) error {
			if err := put(".gitignore", ignoreLines+"*.tmp\nbuild/\n")(root); err != nil {
				return err
			}
			return put("draft.tmp", "a draft\n")(root)
		}, rejects: true},
		{name: "in a folder that is ignored now", path: "build/deep/made.txt", text: "made by hand\n",
			do: put("build/deep/made.txt", "made by hand\n"), rejects: true},
	}
}

const ignoreLines = ".env\n*.local\nignored/\n"

// bytesProject has a file for each kind of edit and an agent that waits.
func bytesProject(t *testing.T, sandbox, agentEnd string, inChecks bool) *project {
	t.Helper()
	wait := "echo x > ignored/ready; while [ ! -e ignored/go ]; do sleep 0.05; done\n"
	agent, test := wait+agentEnd, "test ! -e broken\n"
	if inChecks {
		agent, test = "echo x > ignored/ran\n"+agentEnd, "if [ -e ignored/ran ]; then\n"+wait+"fi\n"+test
	}
	p := newProject(t, agent, check+"[guard]\nsandbox = \""+sandbox+
		"\"\n[worktree]\nmax_file = \"1MB\"\n[loop]\nmax_attempts = 0\n[breaker]\nfailures = 0\n",
		map[string]string{".gitignore": ignoreLines, "README": "readme\n", "table.txt": "1 2 3\n",
			"local.conf": "port = 0\n", "box/one.txt": "1\n", "test.sh": test})
	p.Git("update-index", "--assume-unchanged", "local.conf")
	for path, text := range map[string]string{"notes.txt": "notes\n", "list.txt": "list\n",
		"data/readme.txt": "about the data\n", "grow.txt": "small\n",
		"turn": "a file\n", ".env": "SECRET=1\n", "cache.local": "c\n", "local.conf": "port = 1\n",
		"data/big.bin": strings.Repeat("b", 2<<20), "ignored/keep": ""} {
		if err := put(path, text)(p.Dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("first", filepath.Join(p.Dir, "way")); err != nil {
		t.Fatal(err)
	}
	p.must(t, "add", "the first thing")
	return p
}

// lies returns the contents of a file or the target of a symlink.
func lies(root, path string) string {
	full := filepath.Join(root, path)
	if to, err := os.Readlink(full); err == nil {
		return "-> " + to
	}
	b, _ := os.ReadFile(full)
	return string(b)
}

// untilThere waits until a file exists.
func untilThere(t *testing.T, path string, out *bytes.Buffer) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		if _, err := os.Lstat(path); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come\n%s", path, out.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// startBeside starts the loop, lets the person work while the agent waits, and
// ends the iteration.
func (p *project) startBeside(t *testing.T, person func(), end func(*os.Process)) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "start", "--once")
	c.Dir, c.Env = p.Dir, p.Env
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	untilThere(t, filepath.Join(p.Dir, "ignored/ready"), &out)
	person()
	if end != nil {
		end(c.Process)
	} else if err := os.WriteFile(filepath.Join(p.Dir, "ignored/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.Wait()
	return out.String()
}

// TestNothingOfAPersonIsLost: a person changes files during an iteration.
// However it ends, the bytes are in the worktree, or they are named and
// `restore N -- PATH` restores them.
func TestNothingOfAPersonIsLost(t *testing.T) {
	t.Parallel()
	endings := []struct {
		name  string
		agent string
		end   func(*os.Process)
		keep  bool
		// checks says that the person works while the checks run.
		checks bool
	}{
		{name: "keep", agent: doTask, keep: true},
		{name: "keep, in the checks", agent: doTask, checks: true},
		{name: "reject, in the checks", agent: "echo x > broken\n" + doTask, checks: true},
		{name: "reject", agent: "echo x > broken\n" + doTask},
		{name: "ctrl-c", agent: doTask, end: func(p *os.Process) { p.Signal(syscall.SIGINT) }},
		{name: "crash", agent: doTask, end: func(p *os.Process) { p.Kill() }},
	}
	for i, sandbox := range []string{"off", "auto"} {
		for k, e := range long.Sample(t, endings, 3) {
			t.Run(sandbox+"/"+e.name, func(t *testing.T) {
				if (i+k)%2 > 0 {
					long.Only(t, "each ending is tried with one sandbox")
				}
				t.Parallel()
				p := bytesProject(t, sandbox, e.agent, e.checks)
				var did []edit
				out := p.startBeside(t, func() {
					for _, x := range edits() {
						if e.keep && x.rejects {
							continue
						}
						if err := x.do(p.Dir); err != nil {
							t.Fatalf("%s: %v", x.name, err)
						}
						did = append(did, x)
					}
				}, e.end)
				if e.name == "crash" {
					r := p.run(t, nil, "add", "a second thing") // recovers
					out += r.out + r.err
				}
				p.nothingLost(t, did, out)
			})
		}
	}
}

func (p *project) nothingLost(t *testing.T, did []edit, out string) {
	t.Helper()
	var doc struct {
		Notices []string
		Files   []struct{ Path string }
		PutBack []string `json:"put_back"`
	}
	if err := json.Unmarshal([]byte(p.must(t, "show", "1", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	named := strings.Join(append(doc.Notices, doc.PutBack...), "\n")
	for _, f := range doc.Files {
		named += "\n" + f.Path
	}
	for _, x := range did {
		if lies(p.Dir, x.path) == x.text {
			continue
		}
		first := strings.Split(x.path, "/")[0]
		if !strings.Contains(named, first) {
			t.Errorf("%s: %s is not named:\n%s\n%s", x.name, x.path, named, out)
		}
		if strings.HasPrefix(x.path, "turn/") || x.path == "box" {
			os.RemoveAll(filepath.Join(p.Dir, first)) // the person has to move what took its place
		}
		if r := p.run(t, nil, "restore", "1", "--", x.path); r.code != 0 {
			t.Errorf("%s: restore 1 -- %s: exit %d\n%s%s\n%s", x.name, x.path, r.code, r.out, r.err, out)
		} else if got := lies(p.Dir, x.path); got != x.text {
			t.Errorf("%s: %s came back as %.40q", x.name, x.path, got)
		}
	}
	if lies(p.Dir, "data/big.bin") != strings.Repeat("b", 2<<20) {
		t.Error("the large file is gone")
	}
}
