package guard

import (
	"strings"
	"testing"
)

// TestDangerousCommands: a command that every project refuses is refused on a shell
// line and in a shim.
func TestDangerousCommands(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	p.Toolchain, _ = NewToolchain("none")
	shims := p.Shims("/bin/git-ralph", "linux")
	for _, c := range []struct{ line, class, why string }{
		{"docker rm -f db", ClassDestructive, "a container of the user's"},
		{"docker --context x rm db", ClassDestructive, "options before the verb"},
		{"docker volume prune -f", ClassDestructive, "data"},
		{"podman rmi app", ClassDestructive, "another program of the kind"},
		{"docker compose down -v", ClassDestructive, "the volumes go"},
		{"docker-compose down --volumes", ClassDestructive, "the same, as it was called before"},
		{"docker compose down", "", "what it started itself"},
		{"docker run --rm alpine rm x", "", "inside a container of its own"},
		{"docker build -t rm .", "", "a name"},
		{"docker ps", "", "reading"},
		{"kubectl delete pod x", ClassDestructive, "in a cluster"},
		{"kubectl -n prod delete pod x", ClassDestructive, "options before the verb"},
		{"kubectl get pods", "", "reading"},
		{"ssh host uptime", ClassOutside, "another machine"},
		{"ssh -p 22 user@host", ClassOutside, "a session there"},
		{"ssh -V", "", "its version"},
		{"ssh git@host git-upload-pack x", "", "how git fetches"},
		{"shutdown now", ClassDestructive, "the machine"},
		{"crontab -l", "", "reading"},
		{"crontab x", ClassDestructive, "it runs later"},
		{"killall -9 -1", "", "judged by its own rule"},
	} {
		argv := strings.Fields(c.line)
		if _, ok := shims[argv[0]]; !ok {
			t.Errorf("%s has no shim", argv[0])
		}
		if argv[0] == "killall" {
			continue
		}
		if v := p.Judge(c.line); v.Class != c.class {
			t.Errorf("%s (%s): the line got %+v", c.line, c.why, v)
		}
		if v := p.JudgeArgv(argv, "/srv/code/app"); v.Class != c.class {
			t.Errorf("%s (%s): the shim got %+v", c.line, c.why, v)
		}
	}
	p.Allow = []string{"ssh build-host *", "docker rm *"}
	for _, line := range []string{"ssh build-host make", "docker rm x"} {
		if !p.JudgeArgv(strings.Fields(line), "/srv/code/app").Allowed() {
			t.Errorf("%s: guard.allow permits it", line)
		}
	}
}

func TestNoneHasNoShimOfAManager(t *testing.T) {
	p := New("/srv/code/app", "/home/user")
	p.Toolchain, _ = NewToolchain("none")
	data, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if p, err = Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	for name := range p.Shims("/bin/git-ralph", "linux") {
		switch name {
		case "pip", "pip3", "poetry", "conda", "npm", "python3":
			t.Errorf("%s has a shim", name)
		}
	}
	if v := p.JudgeArgv([]string{"pip", "install", "x"}, "/srv/code/app"); !v.Allowed() {
		t.Errorf("pip in a hook: %+v", v)
	}
}
