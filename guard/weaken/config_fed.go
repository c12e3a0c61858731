package weaken

import (
	"path"
	"slices"
	"strings"

	"git-ralph/guard/script"
)

// A command may be told by another one what to run: `find . -name '*.check' -exec sh {} \;`,
// `ls tests/*.sh | xargs -n1 sh`, `for f in tests/*.sh; do sh "$f"; done`, `cat accept | sh`,
// `bash -c "$(cat accept)"`. fed gives the commands with the names filled in; nil =
// nothing tells this one.
func (c *configJudge) fed(cmd simpleCommand, before []simpleCommand) []simpleCommand {
	words := cmd.words
	if len(words) == 0 {
		return nil
	}
	name, args := path.Base(words[0]), words[1:]
	var names []string
	switch {
	case name == "xargs":
		rest := dropOptions(args, "n I L P d E s a max-args replace max-procs delimiter arg-file")
		if at := slices.Index(args, "-I"); at >= 0 && at+1 < len(args) && args[at+1] != "{}" {
			for i := range rest {
				rest[i] = strings.ReplaceAll(rest[i], args[at+1], "{}")
			}
		}
		if file := cmd.option("-a", "--arg-file"); file != "" {
			names = c.wordsOf(file, cmd)
		}
		words, names = rest, append(names, c.listed(cmd, before)...)
	case name == "parallel":
		words = dropOptions(args, "j n N L a")
		if at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, ":::") }); at >= 0 {
			file := strings.HasPrefix(words[at], "::::")
			if words, names = words[:at], words[at+1:]; file && len(names) > 0 {
				names = c.wordsOf(names[0], cmd)
			}
		} else {
			names = c.listed(cmd, before)
		}
	case name == "find":
		at := slices.IndexFunc(args, func(w string) bool { return oneOf("-exec -execdir -ok -okdir", w) })
		if at < 0 {
			return nil
		}
		end := slices.IndexFunc(args[at:], func(w string) bool { return w == ";" || w == "+" })
		if end < 0 {
			end = len(args) - at
		}
		words, names = args[at+1:at+end], c.found(simpleCommand{words: words[:at+1], dir: cmd.dir})
	case isShellName(name) && firstArgument(args) == "" || name == "eval" || (name == "." || name == "source") &&
		len(args) > 0 && strings.HasPrefix(args[0], "<("):
		words, names = []string{"sh", "{}"}, c.printed(cmd, before)
	default:
		return c.looped(cmd, before)
	}
	if len(words) == 0 {
		return nil
	}
	var out []simpleCommand
	if len(names) == 0 && words[len(words)-1] != "{}" { // the program is known, its arguments are not
		one := cmd
		one.words = words
		return []simpleCommand{one}
	}
	for _, n := range names[:min(len(names), maxFed)] {
		one := cmd
		one.words, one.oneOf = slices.Clone(words), true
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "{}") }) {
			one.words = append(one.words, n)
		}
		for i := range one.words {
			one.words[i] = strings.ReplaceAll(one.words[i], "{}", n)
		}
		out = append(out, one)
	}
	return out
}

// maxFed bounds the names that are filled into one command.
const maxFed = 200

func isShellName(name string) bool { return oneOf("sh bash dash zsh ksh ash", name) }

// looped fills in the variable of a loop, or of read.
func (c *configJudge) looped(cmd simpleCommand, before []simpleCommand) []simpleCommand {
	if cmd.from == nil {
		return nil
	}
	var out []simpleCommand
	for name, items := range c.loops(cmd, before) {
		forms := strings.NewReplacer("${"+name+"}", "\x00", "$"+name, "\x00")
		at := slices.IndexFunc(cmd.words, func(w string) bool { return strings.Contains(forms.Replace(w), "\x00") })
		if at < 0 {
			continue
		}
		for _, item := range items[:min(len(items), maxFed)] {
			one := cmd
			one.words, one.oneOf = nil, true
			for _, w := range cmd.words {
				one.words = append(one.words, strings.ReplaceAll(forms.Replace(w), "\x00", item))
			}
			out = append(out, one)
		}
	}
	return out
}

// loops are the values that variables take one after the other, as far as they can be read.
func (c *configJudge) loops(cmd simpleCommand, before []simpleCommand) map[string][]string {
	out := map[string][]string{}
	for name, items := range cmd.from.Loops {
		for _, item := range items {
			if strings.Contains(item, "$(…)") {
				out[name] = append(out[name], c.listed(cmd, before)...)
			} else if !strings.ContainsAny(item, "$`") {
				out[name] = append(out[name], c.matching(cmd.dir, item)...)
			}
		}
	}
	for _, b := range before {
		if b.words[0] == "read" && len(b.words) > 1 {
			out[b.words[len(b.words)-1]] = c.listed(cmd, before)
		}
	}
	return out
}

// listed are the names that the commands before one print for it, or that stand in the file that
// it reads.
func (c *configJudge) listed(cmd simpleCommand, before []simpleCommand) []string {
	var out []string
	if cmd.from != nil {
		for _, in := range cmd.from.Inputs {
			out = append(out, c.wordsOf(in, cmd)...)
		}
	}
	for _, b := range before {
		if b.use != script.Output {
			continue
		}
		args := slices.DeleteFunc(slices.Clone(b.words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
		switch path.Base(b.words[0]) {
		case "echo", "printf", "ls":
			for _, w := range args {
				for _, one := range strings.Fields(strings.ReplaceAll(w, `\n`, " ")) {
					out = append(out, c.matching(b.dir, one)...)
				}
			}
		case "git":
			if len(args) > 1 && args[0] == "ls-files" {
				for _, w := range args[1:] {
					out = append(out, c.matching(b.dir, w)...)
				}
			}
		case "find", "fd":
			out = append(out, c.found(b)...)
		case "cat":
			for _, w := range args {
				out = append(out, c.wordsOf(w, b)...)
			}
		}
	}
	return out
}

// printed are the files whose text the command before one prints for a shell, or that it reads.
func (c *configJudge) printed(cmd simpleCommand, before []simpleCommand) []string {
	var out []string
	if cmd.from != nil {
		out = append(out, cmd.from.Inputs...)
	}
	if len(before) > 0 {
		b := before[len(before)-1]
		if b.use == script.Output && oneOf("cat sed envsubst tr head tail", path.Base(b.words[0])) {
			for _, w := range b.words[1:] {
				if c.content(join(b.dir, w)) != nil {
					out = append(out, w)
				}
			}
		}
	}
	return out
}

// wordsOf are the words of a file.
func (c *configJudge) wordsOf(name string, cmd simpleCommand) []string {
	if p, known := c.resolve(name, cmd); known {
		if b := c.content(p); len(b) < maxSource {
			return strings.Fields(string(b))
		}
	}
	return nil
}

// found are the files that a find command finds, as far as its -name says.
func (c *configJudge) found(cmd simpleCommand) []string {
	var dirs, names []string
	for i, w := range cmd.words[1:] {
		switch {
		case oneOf("-name -iname -path -wholename", w) && i+2 < len(cmd.words):
			names = append(names, path.Base(cmd.words[i+2]))
		case len(dirs) == i && !strings.HasPrefix(w, "-"):
			dirs = append(dirs, strings.TrimSuffix(join(cmd.dir, w), "/"))
		}
	}
	var out []string
	for _, p := range c.known() {
		in := len(dirs) == 0 || slices.ContainsFunc(dirs, func(d string) bool {
			return d == "" || p == d || strings.HasPrefix(p, d+"/")
		})
		named := len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
			ok, err := path.Match(n, path.Base(p))
			return ok && err == nil
		})
		if in && named {
			out = append(out, c.relative(p, cmd.dir))
		}
	}
	return out
}

// matching are the files that a word of a shell means.
func (c *configJudge) matching(dir, word string) []string {
	if !strings.ContainsAny(word, "*?[") {
		return []string{word}
	}
	var out []string
	for _, p := range c.known() {
		if ok, err := path.Match(join(dir, word), p); ok && err == nil {
			out = append(out, c.relative(p, dir))
		}
	}
	return out
}

// known are the files of the worktree, those of the change first.
func (c *configJudge) known() []string {
	const most = 20_000
	return append(c.paths(), c.in.Paths[:min(len(c.in.Paths), most)]...)
}

// relative is a path as a command in dir names it.
func (c *configJudge) relative(p, dir string) string {
	if rest, ok := strings.CutPrefix(p, dir+"/"); ok {
		return rest
	}
	return p
}
