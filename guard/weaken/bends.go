package weaken

import (
	"cmp"
	"slices"
	"strings"

	"git-ralph/guard/script"
	"git-ralph/internal/text/lazyregexp"
)

// Code that a script of a check sources runs in the check's shell: it can end
// the run with success, redefine what the check judges by, or change the
// check's own variables. bends says how a change does that; "" = it does not.
// from is the script that sources it. all says that it belongs to the tests:
// then every function in it judges.
func (c *configJudge) bends(before, after []byte, from *script.Script, all bool) string {
	old, err := script.Read(string(before))
	if err != nil {
		return "it cannot be read"
	}
	now, err := script.Read(string(after))
	if err != nil {
		return "it cannot be read"
	}
	direct := calledDirectly(&now, from)
	for name, body := range old.Functions {
		if (all || assertingFunction(name) || countsFailures(name, &old, from)) && now.Functions[name] != body {
			return "the function " + name + " judges"
		}
	}
	for name := range now.Functions {
		if _, ok := old.Functions[name]; ok {
			continue
		}
		if _, ok := from.Functions[name]; ok || standardCommand(name) {
			return "it redefines " + name
		}
	}
	if more := added(reaching(&old, direct, from, all), reaching(&now, direct, from, all)); len(more) > 0 {
		return more[0]
	}
	if all && len(added(now.Top(), old.Top())) > 0 {
		return "it does less"
	}
	return ""
}

// calledDirectly are the functions that run in the shell of the check itself:
// what they do is not confined to a command substitution or a pipe.
func calledDirectly(s, from *script.Script) map[string]bool {
	direct := map[string]bool{}
	for _, cmd := range from.Commands {
		if _, ok := s.Functions[cmd.Words[0]]; ok && cmd.Use != script.Output {
			direct[cmd.Words[0]] = true
		}
	}
	for grew := true; grew; {
		grew = false
		for _, cmd := range s.Commands {
			if _, ok := s.Functions[cmd.Words[0]]; ok && !direct[cmd.Words[0]] && cmd.Use != script.Output && !cmd.Once &&
				(cmd.Func == "" || direct[cmd.Func]) {
				direct[cmd.Words[0]], grew = true, true
			}
		}
	}
	return direct
}

// countsFailures reports whether a function decides about the run without
// saying so in its name: it sets a variable that the check reads, called like
// a count of failures.
func countsFailures(name string, s, from *script.Script) bool {
	for _, a := range s.Assigned {
		if a.Func == name && countName().MatchString(a.Name) && (from.Used[a.Name] || from.Compared[a.Name]) {
			return true
		}
	}
	return false
}

var countName = lazyregexp.New(`(?i)fail|err|bad|pass|ok\b|status|tests?$|^rc$|^ret$`)

// reaching is what a script does to the shell that sources it.
func reaching(s *script.Script, direct map[string]bool, from *script.Script, all bool) []string {
	var out []string
	for _, cmd := range s.Commands {
		top := cmd.Func == ""
		if cmd.Once || !top && !direct[cmd.Func] {
			continue
		}
		arg := ""
		if len(cmd.Words) > 1 {
			arg = cmd.Words[1]
		}
		switch word := cmd.Words[0]; word {
		case "exit":
			if !isDigits(arg) || strings.Trim(arg, "0") == "" {
				out = append(out, "it ends the script that sources it (exit)")
			}
		case "exec":
			if arg != "" {
				out = append(out, "it replaces the script that sources it (exec)")
			}
		case "trap":
			body := s.Functions[arg]
			if arg == "" || arg == "-" || strings.Contains(arg+body, "exit") || strings.Contains(arg+body, "kill") {
				out = append(out, "it sets a trap in the script that sources it")
			}
		case "set", "shopt":
			if strings.HasPrefix(arg, "+") || arg == "-n" || arg == "-u" && word == "shopt" {
				out = append(out, "it turns off what ends the script at a failure (set "+arg+")")
			}
		case "alias", "unalias", "enable", "hash":
			out = append(out, "it redefines commands ("+word+")")
		case "eval":
			if top {
				out = append(out, "it runs text that nobody can read here (eval)")
			}
		case "unset":
			for _, w := range cmd.Words[1:] {
				if _, ok := from.Functions[w]; ok || w == "-f" || from.Used[w] {
					out = append(out, "it takes "+w+" from the script that sources it")
				}
			}
		}
	}
	assigned := map[string]bool{}
	for _, a := range from.Assigned {
		assigned[a.Name] = true
	}
	for _, a := range s.Assigned {
		if a.Func != "" && !direct[a.Func] {
			continue
		}
		special := shellSetting(a.Name) && !strings.HasPrefix(strings.Trim(a.Value, `"'`), "$"+a.Name+":")
		if a.Name == "IFS" && a.Func != "" {
			special = false
		}
		if special || all && a.Func == "" || (from.Used[a.Name] || assigned[a.Name]) &&
			(a.Func == "" || countName().MatchString(a.Name)) {
			out = append(out, "it sets "+a.Name+" of the script that sources it to "+cmp.Or(a.Value, "nothing"))
		}
	}
	return out
}

// shellSetting are variables that change how commands are found and run.
func shellSetting(name string) bool {
	switch name {
	case "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "PS4",
		"PROMPT_COMMAND", "SHELL",
		"PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "NODE_OPTIONS", "NODE_PATH",
		"GOFLAGS", "RUSTFLAGS",
		"MAKEFLAGS", "MAKE", "CC", "RUBYOPT", "PERL5OPT", "JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "GRADLE_OPTS":
		return true
	}
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") || strings.HasPrefix(name, "CARGO_")
}

// standardCommand are programs and builtins that scripts judge by.
func standardCommand(name string) bool {
	return slices.Contains(strings.Fields(standardCommands), name)
}

const standardCommands = `[ test true false exit return trap set eval exec source . command builtin echo printf read shift export local
cat grep egrep fgrep diff cmp sed awk sort uniq wc head tail cut tr find xargs ls expr seq basename dirname date env timeout tee sleep kill wait
cd mkdir mktemp rm cp mv touch chmod sh bash python python3 node npm npx pnpm yarn go cargo make just pytest ruby perl php java mvn gradle
jq curl git docker tsc jest vitest mocha eslint ruff mypy bats shellcheck`
