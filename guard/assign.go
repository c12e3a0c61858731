package guard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// exporting says whether programs that are started see the variable.
type exporting bool

const (
	exported   exporting = true
	unexported exporting = false
)

func (j *judge) assign(sc *scope, a *syntax.Assign, exported exporting) {
	if a.Name == nil {
		if a.Value != nil {
			j.text(sc, a.Value)
		}
		return
	}
	name := a.Name.Value
	if a.Array != nil {
		v := value{array: true}
		keys := map[string]string{}
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				key := ""
				if w, ok := e.Index.(*syntax.Word); ok {
					key = j.text(sc, w)
				} else {
					j.arithm(sc, e.Index)
				}
				s := j.text(sc, e.Value)
				keys[key] = s
				v.list = append(v.list, s)
				continue
			}
			if e.Value != nil {
				for _, f := range j.word(sc, e.Value) {
					v.list = append(v.list, f.s)
				}
			}
		}
		old := sc.vars[name]
		if a.Append && old != nil && len(old.vals) > 0 {
			v.list = append(slices.Clone(old.vals[0].elems()), v.list...)
		}
		sc.put(name, &variable{vals: []value{v}, assoc: len(keys) > 0 || old != nil && old.assoc, keys: keys})
		return
	}
	if a.Naked {
		return
	}
	s := j.text(sc, a.Value)
	if a.Index != nil {
		j.assignElement(sc, name, a.Index, s)
		return
	}
	if a.Append {
		s = sc.get(name, "") + s
	}
	sc.set(name, value{s: s})
	if exported {
		v := *sc.vars[name]
		v.exp = true
		sc.put(name, &v)
	}
	j.assigned(sc, name, s)
}

// assigned looks at variables that make shells and loaders run something.
func (j *judge) assigned(sc *scope, name, s string) {
	switch name {
	case "PROMPT_COMMAND", "PS4", "PS1", "PS0":
		if hidesCommand(s) || name == "PROMPT_COMMAND" && s != "" {
			j.script(sc.clone(), s, stream{}, name)
		}
	}
	if startsProgram(name) && strings.ContainsAny(s, " /;|&") {
		j.maybeShell(sc, strings.TrimLeft(s, "|-! "))
	}
	if strings.HasPrefix(name, "BASH_FUNC_") {
		j.undecidable("what the exported function does")
	}
}

// startsProgram lists variables whose value some program runs.
func startsProgram(name string) bool {
	switch name {
	case "EDITOR", "VISUAL", "PAGER", "MANPAGER", "SYSTEMD_PAGER", "PSQL_PAGER", "BAT_PAGER", "GH_PAGER", "DELTA_PAGER",
		"BROWSER", "GH_BROWSER", "LESSOPEN", "LESSCLOSE", "SUDO_EDITOR", "FCEDIT", "SVN_EDITOR", "HGEDITOR",
		"GH_EDITOR", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTC", "CC", "CXX", "LD", "AR", "FC", "CPP", "SHELL",
		"SUDO_ASKPASS", "SSH_ASKPASS", "RSYNC_RSH", "CVS_RSH", "SVN_SSH", "PRE_COMMAND", "npm_config_script_shell",
		"npm_config_editor", "NPM_CONFIG_SCRIPT_SHELL", "FZF_DEFAULT_COMMAND", "FZF_DEFAULT_OPTS",
		"RIPGREP_CONFIG_PATH", "TAR_OPTIONS", "MAKEFLAGS", "GOFLAGS", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "ZDOTDIR":
		return true
	}
	return strings.HasSuffix(name, "_RUNNER") || strings.HasSuffix(name, "_LAUNCHER") ||
		strings.HasSuffix(name, "_EDITOR") || strings.HasSuffix(name, "_PAGER")
}

func (j *judge) assignElement(sc *scope, name string, index syntax.ArithmExpr, s string) {
	key := string(holeForeign)
	if w, ok := index.(*syntax.Word); ok {
		key = j.text(sc, w)
		if v := sc.vars[name]; (v == nil || !v.assoc) && name != "BASH_ALIASES" && name != "BASH_CMDS" {
			j.arithText(sc, key)
		}
	} else {
		j.arithm(sc, index)
	}
	if name == "BASH_ALIASES" {
		sc.alias(key, s)
		return
	}
	if name == "BASH_CMDS" {
		sc.alias(key, quoteWord(s))
		return
	}
	nv := variable{vals: []value{{array: true}}, keys: map[string]string{}}
	if old := sc.vars[name]; old != nil && len(old.vals) > 0 {
		nv.assoc = old.assoc
		nv.vals = []value{{array: true, list: slices.Clone(old.vals[0].elems())}}
		for k, v := range old.keys {
			nv.keys[k] = v
		}
	}
	nv.keys[key] = s
	list := nv.vals[0].list
	n := 0
	for n < len(key) && isDigit(key[n], 10) {
		n++
	}
	if n != len(key) || n > 3 || n == 0 {
		nv.assoc = true
		list = append(list, s)
	} else {
		at := 0
		for _, c := range key {
			at = at*10 + int(c-'0')
		}
		for len(list) <= at {
			list = append(list, "")
		}
		list[at] = s
	}
	nv.vals[0].list = list
	sc.put(name, &nv)
}

// decl evaluates declare, export, local, readonly, typeset, nameref.
func (j *judge) decl(sc *scope, c *syntax.DeclClause) {
	flags := ""
	for _, a := range c.Args {
		if a.Name == nil && a.Value != nil {
			s := j.text(sc, a.Value)
			if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
				flags += s
				continue
			}
			// declare "x=y": an assignment that only appears after expansion.
			if name, v, ok := strings.Cut(s, "="); ok && known(name) {
				sc.set(name, value{s: v})
				j.assigned(sc, name, v)
			}
			continue
		}
		if a.Name == nil {
			continue
		}
		name := a.Name.Value
		if a.Naked {
			if strings.Contains(flags, "A") {
				sc.put(name, &variable{vals: []value{{array: true}}, assoc: true})
			} else if v := sc.vars[name]; v == nil && (c.Variant.Value == "local" || c.Variant.Value == "declare") {
				sc.set(name, value{})
			}
			continue
		}
		if strings.Contains(flags, "A") {
			sc.put(name, &variable{vals: []value{{array: true}}, assoc: true})
		}
		j.assign(sc, a, exported)
		v := sc.get(name, "")
		if strings.Contains(flags, "i") {
			j.arithText(sc, v)
		}
		if strings.Contains(flags, "n") || c.Variant.Value == "nameref" {
			if target, ok := sc.vars[v]; ok {
				sc.put(name, target)
			} else {
				sc.set(name, value{s: string(holeForeign)})
			}
		}
		if strings.Contains(flags, "l") {
			sc.set(name, value{s: strings.ToLower(v)})
		} else if strings.Contains(flags, "u") {
			sc.set(name, value{s: strings.ToUpper(v)})
		}
	}
}
