package weaken

import (
	"encoding/json"
	"maps"
	"path"
	"strings"
)

// node compares the script of package.json that a package manager would run.
func (c *configJudge) node(manager string, cmd simpleCommand, depth int) {
	dir := cmd.dir
	if d := cmd.option("--prefix", "--cwd", "-C", "--dir"); d != "" {
		dir = join(dir, d)
	}
	if ofPackages(cmd.words[1:]) {
		c.packages(cmd, depth)
	}
	words := dropOptions(cmd.words[1:], "prefix cwd C dir w workspace filter F")
	if len(words) > 0 && (words[0] == "run" || words[0] == "run-script") {
		words = dropOptions(words[1:], "prefix cwd w workspace")
	} else if len(words) > 0 && manager == "npm" {
		switch words[0] {
		case "test", "t", "tst", "start", "stop", "restart":
			if words[0] != "start" && words[0] != "stop" && words[0] != "restart" {
				words[0] = "test"
			}
		default:
			return
		}
	}
	if len(words) == 0 {
		return
	}
	script := words[0]
	if manager == "bun" && script == "test" {
		c.pick(dir, "bunfig.toml")
		c.selects(manager, dir)
	}
	c.parts(dir, npmrc, part{names: ".yarnrc.yml", gains: yarnRuns, new: true, gone: true},
		part{names: "pnpm-workspace.yaml", gains: pnpmRuns, new: true, gone: true})
	c.installed(dir)
	p := join(dir, "package.json")
	before := packageJSON(c.content(p))
	f, changed := c.files[p]
	now := packageJSON(f.After)
	fine := c.seen["fine\x00"+p]
	w := wideness{before.Scripts, now.Scripts, c.moved(dir)}
	if changed && !fine && w.runsAsMuch(manager+" run "+script, manager+" run "+script, buildScript(script)) {
		// What the script runs through others was compared with it.
		fine, c.seen["fine\x00"+p] = true, true
		defer delete(c.seen, "fine\x00"+p)
	}
	for _, name := range []string{"pre" + script, script, "post" + script} {
		old, fresh := before.Scripts[name], now.Scripts[name]
		if changed && !f.added() && !fine && !strings.Contains(old, "no test specified") {
			if old != fresh && (old != "" || name != script) && !longerLine(old, fresh) &&
				!w.runsAsMuch(old, fresh, buildScript(name)) {
				c.find(Config, p, "", "changed script %q of %s", name, p)
			}
		}
		if old != "" {
			back := c.replace(w, old, fresh, dir, depth)
			c.line(old, dir, depth+1)
			back()
		}
	}
	if before.Scripts[script] == "" {
		c.tool(script, simpleCommand{words: words, dir: dir}, depth) // yarn jest
	}
}

// replace checks the settings of the runners that a line gained. Settings of the runners
// that it lost are ignored until the returned function is called.
func (c *configJudge) replace(w wideness, old, fresh, dir string, depth int) func() {
	runners := func(line string, scripts map[string]string) (names []string) {
		steps, _ := chain(line, scripts, 0, false)
		for _, s := range steps {
			if runnersOf(s.words) != "" {
				names = append(names, path.Base(s.words[0]))
			}
		}
		return names
	}
	was, is := runners(old, w.was), runners(fresh, w.is)
	if len(was) == 0 || len(is) == 0 {
		return func() {}
	}
	for _, name := range added(was, is) {
		c.tool(name, simpleCommand{words: []string{name}, dir: dir}, depth+1)
	}
	for _, name := range added(is, was) {
		c.seen["replaced\x00"+name] = true
	}
	return func() {
		for _, name := range added(is, was) {
			delete(c.seen, "replaced\x00"+name)
		}
	}
}

// moved reports whether a path is gone and other paths contain a file of the change.
func (c *configJudge) moved(dir string) func(string, []string) bool {
	return func(p string, to []string) bool {
		if f, ok := c.files[join(dir, p)]; !ok || !f.removed() {
			return false
		}
		for _, q := range to {
			q = join(dir, strings.TrimSuffix(q, "/"))
			for _, n := range c.paths() {
				if c.files[n].added() && (n == q || strings.HasPrefix(n, q+"/") || q == "") && path.Ext(n) == path.Ext(p) {
					return true
				}
			}
		}
		return false
	}
}

// longerLine reports whether a command line only gained commands that must pass
// as well.
func longerLine(old, now string) bool {
	rest, ok := strings.CutPrefix(now, old+" && ")
	return ok && old != "" && !strings.ContainsAny(rest, ";|") &&
		!strings.Contains(strings.ReplaceAll(rest, "&&", ""), "&") && !strings.Contains(rest, "exit")
}

// npmrc is what decides in .npmrc how scripts run.
var npmrc = part{names: ".npmrc", gone: true, new: true, worse: func(before, after []byte) bool {
	old := npmSettings(before)
	for key, value := range npmSettings(after) {
		switch key {
		case "script-shell", "ignore-scripts", "node-options", "if-present", "shell", "scripts-prepend-node-path":
			if old[key] != value {
				return true
			}
		}
	}
	return false
}}

// npmSettings reads the keys and values of .npmrc as npm does: with blanks and
// quotes around them, and with underscores for hyphens.
func npmSettings(content []byte) map[string]string {
	out := map[string]string{}
	for _, l := range iniLines(content) {
		key, value, _ := strings.Cut(l, "=")
		trim := func(s string) string { return strings.Trim(s, " \t\"'") }
		out[strings.ToLower(strings.ReplaceAll(trim(key), "_", "-"))] = trim(value)
	}
	return out
}

// installed finds changes of packages that lie in the repository: the programs
// of a check come from there.
func (c *configJudge) installed(dir string) {
	under := join(dir, "node_modules") + "/"
	for _, p := range c.paths() {
		if strings.HasPrefix(p, under) {
			c.find(Config, p, "", "changed installed package %s", p)
			return
		}
	}
}

type packageFile struct {
	Scripts map[string]string
	rest    map[string]json.RawMessage
}

// packageJSON reads what can be read; a broken file has no scripts.
func packageJSON(content []byte) packageFile {
	var p packageFile
	if json.Unmarshal(content, &p.rest) == nil {
		var scripts map[string]any
		if json.Unmarshal(p.rest["scripts"], &scripts) == nil {
			p.Scripts = map[string]string{}
			for k, v := range scripts {
				if s, ok := v.(string); ok {
					p.Scripts[k] = s
				}
			}
		}
	}
	return p
}

// packageKeys compares the settings that tools keep in package.json.
func (c *configJudge) packageKeys(dir string, keys ...string) {
	p := join(dir, "package.json")
	f, ok := c.files[p]
	if !ok || f.added() {
		return
	}
	before, after := packageJSON(f.Before), packageJSON(f.After)
	for _, k := range keys {
		old, now := before.rest[k], after.rest[k]
		if old == nil || !oneOf("eslintConfig xo standard", k) {
			old, now = deciding(k, old), deciding(k, now)
		}
		if (old != nil || narrows(canonical(now))) && c.looserJSON(dir, old, now) {
			c.weaker(p, "changed %q in %s", k, p)
		}
	}
}

// deciding are the members of a runner's settings that decide which tests run and
// whether they count, not how code is compiled or results are shown.
func deciding(tool string, raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	maps.DeleteFunc(members, func(k string, _ json.RawMessage) bool { return !decides(tool, k) })
	if len(members) == 0 {
		return nil
	}
	out, _ := json.Marshal(members) // decoded members always encode
	return out
}

func canonical(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return ""
	}
	b, _ := json.Marshal(v) // sorts keys; a decoded value always encodes
	return string(b)
}

// testBlock is the value of "test:" in a settings file of vite, which has other uses
// too.
func testBlock(content []byte) string {
	found := ""
	var walk func([]node)
	walk = func(list []node) {
		for i, n := range list {
			if n.open != 0 {
				walk(n.kids)
			} else if at(list, i) == "test" && at(list, i+1) == ":" && i+2 < len(list) {
				end := i + 2
				for end < len(list) && at(list, end) != "," {
					end++
				}
				found += text(list[i+2 : end])
			}
		}
	}
	walk(tree(lex(content, languageOf("vite.config.ts"))))
	return found
}

// tsconfig compares what the compiler checks and in which files. The rest of
// the file (paths, output, targets) is the project's own affair.
var tsconfig = part{names: "tsconfig*.json", worse: looserTS}

type tsFile struct {
	Extends         any            `json:"extends"`
	Include         []string       `json:"include"`
	Exclude         []string       `json:"exclude"`
	Files           []string       `json:"files"`
	References      []any          `json:"references"`
	CompilerOptions map[string]any `json:"compilerOptions"`
}

func looserTS(before, after []byte) bool {
	var old, now tsFile
	if json.Unmarshal(relaxed(before), &old) != nil || json.Unmarshal(relaxed(after), &now) != nil {
		return significant("x.json", before) != significant("x.json", after)
	}
	a, _ := json.Marshal(old.Extends)
	b, _ := json.Marshal(now.Extends)
	if string(a) != string(b) || len(added(now.Include, old.Include)) > 0 || len(added(old.Exclude, now.Exclude)) > 0 ||
		len(added(now.Files, old.Files)) > 0 ||
		len(old.Include) == 0 && len(now.Include) > 0 || len(now.References) < len(old.References) {
		return true
	}
	keys := map[string]bool{}
	for k := range old.CompilerOptions {
		keys[k] = true
	}
	for k := range now.CompilerOptions {
		keys[k] = true
	}
	for k := range keys {
		was, is := old.CompilerOptions[k] == true, now.CompilerOptions[k] == true
		switch {
		case k == "skipLibCheck" || k == "skipDefaultLibCheck" || k == "noCheck" || k == "suppressImplicitAnyIndexErrors" ||
			strings.HasPrefix(k, "allowUn"):
			if is && !was {
				return true
			}
		case strings.HasPrefix(k, "strict") || strings.HasPrefix(k, "noImplicit") || strings.HasPrefix(k, "noUnused") ||
			strings.HasPrefix(k, "noUnchecked") ||
			strings.HasPrefix(k, "noFallthrough") || strings.HasPrefix(k, "noPropertyAccess") ||
			k == "exactOptionalPropertyTypes" || k == "checkJs" || k == "alwaysStrict" || k == "noEmitOnError" ||
			k == "useUnknownInCatchVariables":
			// Under strict a member that is set to false is a hole in it.
			if was && !is || !was && now.CompilerOptions[k] == false && old.CompilerOptions[k] == nil {
				return true
			}
		}
	}
	return false
}

// relaxed makes JSON of JSON with comments and trailing commas.
func relaxed(content []byte) []byte {
	toks := lex(content, &language{slash: true})
	var b strings.Builder
	for i, t := range toks {
		if t.is(",") && i+1 < len(toks) && (toks[i+1].is("}") || toks[i+1].is("]")) {
			continue
		}
		b.Write(content[t.pos:t.end])
		b.WriteByte(' ')
	}
	return []byte(b.String())
}
