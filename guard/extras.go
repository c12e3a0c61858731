package guard

import (
	"encoding/json"
	"path"
	"strings"
)

// execOptions judges the values of options that many programs have in common
// and that name a command: --exec, --pager, --preview, -toolexec …
func (j *judge) execOptions(sc *scope, base string, rest []arg) {
	for i, a := range rest {
		if len(a.s) < 4 || a.s[0] != '-' {
			continue
		}
		name, val, has := strings.Cut(strings.TrimLeft(a.s, "-"), "=")
		switch name {
		case "exec", "pager", "preview", "pre", "toolexec", "vettool", "shell", "hook", "prog", "program", "editor",
			"runner", "execute", "cmd", "command", "on-change", "onchange", "pre-command", "post-command", "startas",
			"rsh", "script-shell", "filter", "compress-program", "use-compress-program", "to-command", "after",
			"before", "ProxyCommand":
		default:
			if base == "apt-get" || base == "apt" || base == "dpkg" {
				if k := strings.Index(a.s, "Invoke"); k >= 0 {
					has, val = true, a.s[strings.LastIndexByte(a.s, '=')+1:]
					break
				}
			}
			continue
		}
		if !has && i+1 < len(rest) {
			val = rest[i+1].s
			if baseName(val) == "git" { // start-stop-daemon --exec /usr/bin/git -- push
				if cmd := skipOptions(rest[i+2:]); len(cmd) > 0 && gitKind(cmd[0].s) == gitWrites {
					j.runCommand(sc.clone(), append([]arg{{s: "git"}}, cmd...), stream{})
				}
			}
		}
		if strings.ContainsAny(val, " ;|&") && known(val) {
			j.maybeShell(sc, val)
		}
		if j.done {
			return
		}
	}
	if base == "apt-get" || base == "apt" {
		for _, a := range rest {
			if k := strings.Index(a.s, "Invoke"); k >= 0 {
				j.maybeShell(sc, strings.Trim(a.s[strings.LastIndexByte(a.s, '=')+1:], `"'`))
			}
		}
	}
}

// madeSources judges sources that this line wrote when their compiler or
// interpreter is called. The sandbox covers files that were on disk before.
func (j *judge) madeSources(sc *scope, base string, rest []arg) {
	if len(sc.files) == 0 || j.done {
		return
	}
	verb, _ := verbs(rest)
	switch base {
	case "go", "gcc", "cc", "clang", "g++", "c++", "clang++", "tcc", "rustc", "java", "javac", "kotlinc", "kotlin",
		"swift", "swiftc", "zig", "dotnet", "csc", "ghc", "runghc", "ocaml", "nim", "crystal", "v", "dart", "scala",
		"groovy", "bb", "tsx", "ts-node":
		if base == "go" && verb != "run" && verb != "build" && verb != "generate" && verb != "install" {
			return
		}
		for name, f := range sorted(sc.files) {
			switch path.Ext(name) {
			case ".go", ".c", ".cc", ".cpp", ".rs", ".java", ".kt", ".swift", ".zig", ".cs", ".hs", ".ml", ".nim",
				".cr", ".v", ".dart", ".scala", ".groovy", ".clj", ".ts":
			default:
				continue
			}
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			if base == "go" && verb == "generate" {
				for _, line := range strings.Split(f.text, "\n") {
					if cmd, ok := strings.CutPrefix(line, "//go:generate "); ok {
						j.maybeShell(sc, cmd)
					}
				}
			}
			j.code(sc, strings.TrimPrefix(path.Ext(name), "."), f.text)
		}
	case "npm", "pnpm", "yarn", "bun", "npx", "turbo", "nx":
		for name, f := range sorted(sc.files) {
			if path.Base(name) != "package.json" || !f.written {
				continue
			}
			var pkg struct {
				Scripts map[string]string `json:"scripts"`
			}
			if json.Unmarshal([]byte(f.text), &pkg) == nil {
				for _, s := range pkg.Scripts {
					j.maybeShell(sc, s)
				}
			}
		}
	case "just", "task", "rake", "ninja", "cmake", "tox", "nox", "invoke", "fab", "gulp", "grunt", "scons", "waf",
		"bazel", "meson", "mage", "ansible-playbook", "tup":
		for name, f := range sorted(sc.files) {
			switch b := strings.ToLower(path.Base(name)); b {
			case "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "rakefile", "build.ninja", "tox.ini",
				"cmakelists.txt":
				for _, line := range strings.Split(f.text, "\n") {
					line = strings.TrimLeft(line, " \t@-")
					for _, pre := range []string{"cmd: ", "- ", "command = ", "commands = ", "sh ", "cmds: ", "COMMAND "} {
						line = strings.TrimPrefix(line, pre)
					}
					if strings.Contains(line, "git") {
						j.maybeShell(sc, strings.Trim(line, `"'`))
					}
				}
			case "noxfile.py", "tasks.py", "fabfile.py", "sconstruct", "wscript", "gulpfile.js", "gruntfile.js":
				j.code(sc, map[bool]string{true: "node", false: "python"}[strings.HasSuffix(b, ".js")], f.text)
			}
		}
	}
}
