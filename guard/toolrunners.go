package guard

import (
	"slices"
	"strings"
)

// uv judges "uv run X", "uv tool run X" and "pipx run X".
func (j *judge) uv(c *call) bool {
	_, rest := uvOptions.read(c.rest)
	switch words := texts(rest); {
	case c.base == "uv" && len(rest) == 0:
		return true
	case len(rest) == 0:
		return false
	case words[0] == "run" && c.base == "uv":
		return j.wrap(c, &uvRun, rest[1:])
	case words[0] == "run":
		return j.wrap(c, &uvTool, rest[1:])
	case len(rest) > 1 && words[0] == "tool" && words[1] == "run":
		return j.wrap(c, &uvTool, rest[2:])
	}
	return false
}

var uvOptions = command{ends: 1, long: "--project --directory --config-file --cache-dir --color"}

// nodeScripts judges what the managers of Node packages run.
func (j *judge) nodeScripts(c *call) bool {
	rest := c.rest
	verb := c.verb()
	if verb != "" {
		rest = rest[indexWord(rest, verb):]
	}
	for i, a := range rest { // npm pkg set scripts.x='…', npm set-script x '…'
		if k, v, ok := strings.Cut(a.s, "="); ok && strings.HasPrefix(k, "scripts.") || verb == "set-script" && i > 1 {
			if verb == "set-script" {
				v = a.s
			}
			j.maybeShell(c.sc, v)
		}
	}
	switch verb {
	case "exec", "x", "dlx":
		return j.wrap(c, &npx, rest[1:])
	case "create", "init":
		return false
	}
	for i, a := range rest {
		if contains("-c --call --script-shell", a.s) && i+1 < len(rest) {
			j.maybeShell(c.sc, rest[i+1].s)
		}
	}
	if c.base != "npm" &&
		contains("husky lerna lefthook release-it standard-version semantic-release git", baseName(verb)) {
		j.runCommand(c.sc, rest, c.in)
		return true
	}
	return false
}

// execVerb judges "bundle exec X", "poetry run X" and their like.
func (j *judge) execVerb(c *call) bool {
	publishes := contains("rye pdm hatch poetry", c.base)
	at := slices.IndexFunc(c.rest, func(a arg) bool { return contains("exec run x enter", a.s) })
	if at < 0 {
		return !publishes
	}
	cmd := c.rest[at+1:]
	if contains("mise rtx pyenv rbenv devbox", c.base) {
		cmd = cmd[indexWord(cmd, "--")+1:]
	}
	if contains("asdf nvm fnm", c.base) {
		for len(cmd) > 0 && (strings.HasPrefix(cmd[0].s, "-") || cmd[0].known() &&
			strings.Trim(cmd[0].s, "v0123456789.") == "") {
			cmd = cmd[1:]
		}
	}
	j.runCommand(c.sc, skipOptions(cmd), c.in)
	return true
}

// environment judges the command that is run in an environment made for it.
func (j *judge) environment(c *call) bool {
	for i, a := range c.rest {
		switch {
		case a.s == "--", contains("--run --command -c", a.s) && i+1 < len(c.rest) && c.base != "nix-shell":
			j.runCommand(c.sc, c.rest[i+1:], c.in)
			return true
		case contains("--run --command -c", a.s) && i+1 < len(c.rest):
			j.script(c.sc.clone(), c.rest[i+1].s, c.in, c.base)
			return true
		}
	}
	j.generic(c.sc, c.args)
	return true
}
