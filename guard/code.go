package guard

import (
	"strings"
)

// code judges an inline program of another language. It does not understand
// the language: it looks for the calls that start processes or change files,
// and judges the text literals that they could be given.
func (j *judge) code(sc *scope, lang, text string) {
	if j.done {
		return
	}
	if len(text) > maxText {
		j.undecidable("what a program this long does")
		return
	}
	if strings.Trim(text, " \n\t"+holes) == "" && foreign(text) {
		j.undecidable("what this program does")
		return
	}
	if pipImport(text) && (lang == "python" || isPython(lang)) && j.namedBlock("pip") {
		b, _ := j.p.Toolchain.block([]string{"pip"})
		j.deny(ClassManager, "this drives pip from inside Python", b.Instead)
		return
	}
	lits := literals(lang, text)
	runs := execAt(lang, text)
	if len(runs) > 0 {
		j.execs(sc, lang, text, lits, runs)
	}
	if !j.done && changesFilesIn(text) {
		for _, l := range lits {
			if l.text != "" && len(l.text) < 300 && !strings.ContainsAny(l.text, " \n(){};$*") &&
				(strings.Contains(l.text, "/") || strings.HasPrefix(l.text, ".") || strings.Contains(l.text, ".toml")) {
				j.write(sc, arg{s: l.text}, "change")
			}
		}
		// os.path.join('.git', 'config'), and .git put together from parts.
		if strings.Contains(text, "'.g'") || strings.Contains(text, `".g"`) {
			j.undecidable("which file this program changes")
		}
		if shutilSweep(text) {
			for _, l := range lits {
				if strings.HasPrefix(l.text, "/") || strings.HasPrefix(l.text, "~") || l.text == "." || l.text == ".." {
					s := l.text
					if strings.HasPrefix(s, "~") {
						s = j.home(sc) + s[1:]
					}
					j.remove(sc, arg{s: s}, denyUnknown)
				}
			}
		}
	}
}

func shutilSweep(text string) bool {
	for _, w := range []string{"rmtree", "rmSync", "rmdirSync", "rm_rf", "rm_r(", "remove_tree", "FileUtils.rm",
		"fs.rm("} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

func pipImport(text string) bool {
	for _, w := range []string{"import pip", "from pip", "pip._internal", "import ensurepip", "import venv",
		"from venv", "run_module('pip", `run_module("pip`, "run_module('venv", `run_module("venv`, "import_module('pip",
		`import_module("pip`, "__import__('pip", `__import__("pip`, "import virtualenv"} {
		if i := strings.Index(text, w); i >= 0 {
			if end := i + len(w); end == len(text) || !isWordByte(text[end]) {
				return true
			}
		}
	}
	return false
}

func isWordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func changesFilesIn(text string) bool {
	for _, w := range []string{"'w'", `"w"`, "'a'", `"a"`, "'wb'", `"wb"`, "'ab'", `"ab"`, "'w+'", `"w+"`, "'a+'",
		`"a+"`, "'x'", `"x"`, "'r+'", `"r+"`, "'rb+'", `"rb+"`, "'r+b'", "write_text", "write_bytes", "writeFile",
		"appendFile", "createWriteStream", "unlink", "os.remove", "rmtree", "rmSync", "rmdir", "rename", "os.replace",
		"shutil", "copyFile", "cpSync", "symlink", "os.link", "chmod", "mkdir", "makedirs", "truncate", "touch(",
		"File.write", "IO.write", "FileUtils", "File.delete", "rm_rf", "rm_f", "file_put_contents", "Deno.write",
		"Bun.write", "'>", `">`, "'+<", "open(F", "O_WRONLY", "O_RDWR", "O_CREAT", "fs.rm", "os.open", "with-open-file",
		"spit", ">>", "> \"", "remove("} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// execAt returns where the text may start a process.
func execAt(lang, text string) []int {
	var words []string
	switch lang {
	case "awk":
		words = []string{"system", "getline", "|"}
	case "perl":
		words = []string{"system", "exec", "`", "qx", "open", "fork", "IPC::"}
	case "ruby":
		words = []string{"system", "exec", "`", "%x", "spawn", "popen", "Open3", "open("}
	case "php":
		words = []string{"system", "exec", "passthru", "popen", "proc_open", "`"}
	case "lua":
		words = []string{"execute", "popen"}
	case "tcl":
		words = []string{"exec", "spawn", "open", "system"}
	case "vim":
		words = []string{"system(", "shell-command", "call-process", "start-process", "termopen", "jobstart",
			"job_start", "os.execute", "io.popen", "make-process"}
	default:
		words = []string{"subprocess", "system", "popen", "Popen", "exec", "spawn", "child_process", "pty.", "os.posix",
			"check_output", "check_call", "getoutput", "shell", "Deno.Command", "Deno.run", "Command::new", "Command(",
			"Bun.$", "execa", "Process", "run(", "`git", "sh.git", "import sh", "syscmd", "esyscmd", "sys.cmd",
			"ctypes", "process.binding", "importlib", "__import__", "Repo(", "pygit2", "dulwich", "isomorphic-git",
			"simple-git", "do shell script", "Start-Process", "os:cmd", "System.cmd"}
	}
	var out []int
	for _, w := range words {
		for from := 0; ; {
			i := strings.Index(text[from:], w)
			if i < 0 {
				break
			}
			out = append(out, from+i)
			from += i + len(w)
			if len(out) > 200 {
				return out
			}
		}
	}
	return out
}

// execs judges the literals of a program that starts processes.
func (j *judge) execs(sc *scope, lang, text string, lits []literal, runs []int) {
	for _, w := range []string{"Repo(", "pygit2", "dulwich", "isomorphic-git", "simple-git", "import sh", "sh.git"} {
		if strings.Contains(text, w) && (strings.Contains(text, ".commit") || strings.Contains(text, ".push") ||
			strings.Contains(text, ".add") || strings.Contains(text, "create_") || strings.Contains(text, "git(") ||
			strings.Contains(text, "tag")) {
			j.deny(ClassGitWrite, "this program would change the repository through a library", insteadGit)
			return
		}
	}
	started := false
	for _, i := range runs {
		if !isCall(lang, text, i) {
			continue
		}
		started = true
		// What stands right behind the call is what it runs, whatever it looks like.
		for _, l := range lits {
			if l.start > i && l.start < i+48 && !strings.ContainsAny(text[i:l.start], "'\";\n=") {
				if strings.Contains(l.text, " ") {
					j.maybeShell(sc, l.text)
					j.maybeShell(sc, strings.NewReplacer("{", "", "}", "", `"`, "", "'", "").Replace(l.text)) // f'{"git"} push'
				}
				if strings.Contains(l.text, "(") && j.nest < 8 { // exec("os.system(…)")
					j.nest++
					j.code(sc, lang, l.text)
					j.nest--
				}
				break
			}
		}
	}
	if !started {
		return
	}
	j.literals(sc, lang, text, lits)
	if !j.done {
		j.assembled(lang, text, lits)
	}
}

// literals judges each literal alone, as a shell line, and each run of neighbours
// as words.
func (j *judge) literals(sc *scope, lang, text string, lits []literal) {
	for k := 0; k < len(lits) && !j.done; k++ {
		s := lits[k].text
		if looksGuarded(j, s) {
			j.maybeShell(sc, s)
		}
		for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '`' || r == '|' }) {
			if part != s && looksGuarded(j, strings.TrimSpace(part)) {
				j.maybeShell(sc, part)
			}
		}
		end := k + 1
		for end < len(lits) && end-k < 24 && strings.Trim(text[lits[end-1].end:lits[end].start],
			" \t\n,[](){}rbuf+:;") == "" {
			end++
		}
		if end > k+1 {
			words := make([]string, 0, end-k)
			for _, l := range lits[k:end] {
				words = append(words, l.text)
			}
			if plain := strings.Join(words, ""); looksGuarded(j, plain) &&
				(lang == "awk" || strings.Contains(text[lits[k].end:lits[k+1].start], "+")) {
				j.maybeShell(sc, plain)
			}
			if looksGuarded(j, words[0]) {
				j.maybeShell(sc, quoteWords(words))
				// subprocess.run("git", "tag") style calls of a shell: sh, -c, line
			}
		}
		if w := baseName(s); (w == "git" || w == "pip" || w == "gh") && end == k+1 {
			j.deny(ClassUndecidable, "this program starts "+w+" in a way that cannot be followed",
				"run "+w+" itself, so that it can be judged")
			return
		}
	}
}

// assembled judges a program that makes a command of pieces, decodes or reads it.
func (j *judge) assembled(lang, text string, lits []literal) {
	for _, w := range []string{"chr(", "fromhex", "b64decode", "base64", "atob(", "fromCharCode", "[::-1]", "reverse",
		"decode(", "unhexlify", "rot13", "bytes(", "codecs", "pack(", "sprintf(", "String.raw", "unescape", "\\x",
		"\\u00", "\\1"} {
		if strings.Contains(text, w) {
			j.undecidable("which command this program puts together and runs")
			return
		}
	}
	all := ""
	for _, l := range lits {
		all += l.text + " "
	}
	// Pieces of "git" joined by + or formatting.
	joined := strings.ReplaceAll(all, " ", "")
	if strings.Contains(joined, "git") && !strings.Contains(all, "git") {
		j.undecidable("which command this program puts together and runs")
		return
	}
	if strings.ContainsAny(text, holes) && foreign(text) {
		j.undecidable("which command this program runs")
		return
	}
	if lang == "awk" && strings.Contains(text, "system($") {
		j.undecidable("which commands awk would run")
	}
	for _, src := range []string{"stdin", "environ", "argv", "ARGV", "input(", "ENV[", "<STDIN>", "process.env", "gets",
		"open('/tmp", `open("/tmp`} {
		if strings.Contains(text, src) && len(lits) < 3 && !strings.Contains(all, "go ") {
			j.undecidable("which command this program reads and runs")
			return
		}
	}
}

// looksGuarded is the cheap test before a literal is judged as a shell line.
func looksGuarded(j *judge, s string) bool {
	if s == "" || len(s) > 4096 {
		return false
	}
	first := strings.TrimLeft(s, " \t(!")
	if i := strings.IndexAny(first, " \t\n;|&"); i > 0 {
		first = first[:i]
	}
	switch b := baseName(first); b {
	case "git", "sh", "bash", "env", "sudo", "gh", "jj", "hg", "rm", "python", "python3", "cd", "eval", "exec",
		"command", "nohup", "timeout", "xargs", "find", "cp", "mv", "tee", "echo", "zsh", "dash", "kill", "npx", "npm", "uv":
		return true
	default:
		return j.namedBlock(b) || strings.HasPrefix(b, "git-") || strings.Contains(s, "git ") || strings.Contains(s, "pip ")
	}
}

// isCall tells a call from a mention: "system(" from "the system".
func isCall(lang, text string, i int) bool {
	end := i
	for end < len(text) && (isWordByte(text[end]) || text[end] == '.' || text[end] == ':') {
		end++
	}
	before := byte(' ')
	if i > 0 {
		before = text[i-1]
	}
	if text[i] == '`' || text[i] == '|' || strings.HasPrefix(text[i:], "%x") || strings.HasPrefix(text[i:], "qx") {
		return true
	}
	switch lang {
	case "perl", "ruby", "tcl", "awk", "lua", "php", "vim":
		// No parentheses needed. A word inside a longer word is not a call.
		return !isWordByte(before) || before == '_'
	}
	rest := strings.TrimLeft(text[end:], " \t")
	if strings.HasPrefix(rest, "(") {
		return true
	}
	return strings.Contains(text[i:], "(") && (strings.Contains(text, "import") || strings.Contains(text, "require") ||
		strings.Contains(text, "os.")) || lang == "osascript" || lang == "pwsh" || lang == "powershell" || lang == "m4"
}

// literal is a text literal of a program: its decoded contents and where it stands.
type literal struct {
	text       string
	start, end int
}

// literals finds the quoted texts of a program. Escapes are decoded as most
// languages do.
func literals(lang, text string) []literal {
	var out []literal
	quotes := "'\"`"
	if lang == "awk" {
		quotes = `"`
	}
	for i := 0; i < len(text) && len(out) < 400; i++ {
		c := text[i]
		if (lang == "perl" || lang == "ruby") && (c == 'q' || c == '%') && (i == 0 || !isWordByte(text[i-1])) {
			if l, ok := wordQuote(text, i); ok {
				out = append(out, l...)
				i = l[len(l)-1].end - 1
				continue
			}
		}
		if c == '{' && lang == "tcl" {
			if end := strings.IndexByte(text[i:], '}'); end > 0 {
				out = append(out, literal{text[i+1 : i+end], i, i + end + 1})
			}
			continue
		}
		if strings.IndexByte(quotes, c) < 0 {
			continue
		}
		if c != '`' && strings.HasPrefix(text[i:], strings.Repeat(string(c), 3)) {
			if end := strings.Index(text[i+3:], strings.Repeat(string(c), 3)); end >= 0 {
				out = append(out, literal{text[i+3 : i+3+end], i, i + end + 6})
				i += end + 5
				continue
			}
		}
		k := i + 1
		for k < len(text) && text[k] != c {
			if text[k] == '\\' {
				k++
			}
			k++
		}
		if k >= len(text) {
			break
		}
		out = append(out, literal{ansiC(text[i+1 : k]), i, k + 1})
		i = k
	}
	if lang == "tcl" { // exec git tag evil: words need no quotes
		for _, verb := range []string{"exec ", "spawn ", "system "} {
			for from := 0; ; {
				i := strings.Index(text[from:], verb)
				if i < 0 {
					break
				}
				from += i + len(verb)
				end := strings.IndexAny(text[from:], ";\n]")
				if end < 0 {
					end = len(text) - from
				}
				out = append(out, literal{text[from : from+end], from, from + end})
			}
		}
	}
	return out
}

// wordQuote reads q(…), qq{…}, qw/…/, qx(…) and %w[…], %x(…).
func wordQuote(text string, i int) ([]literal, bool) {
	k := i + 1
	for k < len(text) && k < i+3 && strings.IndexByte("qwxWQ", text[k]) >= 0 {
		k++
	}
	if k >= len(text) || k == i+1 && text[i] == '%' || isWordByte(text[k]) ||
		strings.IndexByte(" \t\n=,;)", text[k]) >= 0 {
		return nil, false
	}
	closing := text[k]
	if p := strings.IndexByte("([{<", text[k]); p >= 0 {
		closing = ")]}>"[p]
	}
	end := strings.IndexByte(text[k+1:], closing)
	if end < 0 {
		return nil, false
	}
	body := text[k+1 : k+1+end]
	stop := k + end + 2
	if strings.ContainsAny(text[i:k], "wW") {
		var out []literal
		for _, w := range strings.Fields(body) {
			out = append(out, literal{w, stop - 1, stop - 1})
		}
		if len(out) == 0 {
			return nil, false
		}
		out[len(out)-1].end = stop
		return out, true
	}
	return []literal{{body, i, stop}}, true
}
