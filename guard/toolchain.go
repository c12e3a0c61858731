package guard

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ralph/guard/script"
)

// Toolchain is what a preset, or the project itself, says about the commands
// of its build: which are blocked, with the replacement, and which are rewritten.
type Toolchain struct {
	Preset   string    `json:"preset,omitempty"`
	Blocks   []Block   `json:"blocks"` // nil = those of the preset, and without one those of python-uv
	Rewrites []Rewrite `json:"rewrites,omitempty"`
}

// Block is a blocked command. Reason and Instead go into the denial.
type Block struct {
	Pattern Pattern `json:"pattern"`
	Reason  string  `json:"reason"`
	Instead string  `json:"instead"`
}

// Rewrite puts words before a command: pytest becomes "uv run pytest".
type Rewrite struct {
	Name string `json:"name"` // the command's name; "npm test" matches the first words
	With string `json:"with"` // replaces Name
}

// Presets lists the names that NewToolchain knows.
func Presets() []string { return []string{"none", "go", "python-uv", "node-pnpm", "rust"} }

// NewToolchain returns a preset. Each blocks only the managers that would
// bypass its own one; "none" blocks nothing.
func NewToolchain(preset string) (Toolchain, error) {
	switch preset {
	case "", "none", "go", "rust", "python-uv", "node-pnpm":
	default:
		return Toolchain{}, fmt.Errorf("unknown toolchain preset %q: one of %s", preset, strings.Join(Presets(), ", "))
	}
	if preset == "" {
		preset = "none"
	}
	t := Toolchain{Preset: preset}
	t.Blocks = t.blocks()
	if preset == "python-uv" {
		for _, n := range []string{"pytest", "mypy", "ruff", "pyright", "black", "isort", "flake8", "pylint",
			"coverage", "tox", "nox", "bandit", "python", "python3", "ipython"} {
			t.Rewrites = append(t.Rewrites, Rewrite{n, "uv run " + n})
		}
	}
	if preset == "node-pnpm" {
		for _, n := range []string{"npm test", "npm run", "npm start", "npm exec"} {
			t.Rewrites = append(t.Rewrites, Rewrite{n, "pnpm" + n[3:]})
		}
		t.Rewrites = append(t.Rewrites, Rewrite{"npx", "pnpm dlx"})
		for _, n := range []string{"tsc", "eslint", "vitest", "jest", "prettier", "playwright"} {
			t.Rewrites = append(t.Rewrites, Rewrite{n, "pnpm exec " + n})
		}
	}
	return t, nil
}

// blocks returns what is blocked. A preset's list is built on demand, so that
// the start of a process does not pay for it.
func (t *Toolchain) blocks() []Block {
	if t.Blocks != nil {
		return t.Blocks
	}
	const (
		uvReason = "this project manages Python packages with uv alone"
		uvAdd    = "use `uv add NAME` (`uv add --dev NAME`, `uv remove NAME`), `uv sync`, `uv run CMD`"
		uvVenv   = "use `uv venv`; `uv run CMD` makes the environment by itself"
	)
	b := make([]Block, 0, 32)
	switch t.Preset {
	case "", "python-uv":
		for _, n := range []string{"pip *", "pip[0-9]* *", "easy_install *", "easy_install-* *", "pip-compile *",
			"pip-sync *", "python-pip *", "conda *", "mamba *", "micromamba *", "poetry *", "pipenv *"} {
			b = append(b, Block{Pattern(n), uvReason, uvAdd})
		}
		for _, n := range []string{"virtualenv *", "pyvenv *", "pyvenv-* *", "mkvirtualenv *"} {
			b = append(b, Block{Pattern(n), uvReason, uvVenv})
		}
	case "node-pnpm":
		for _, n := range []string{"npm i *", "npm install *", "npm ci *", "npm add *", "npm in *", "npm isntall *",
			"npm uninstall *", "npm un *", "npm remove *", "npm rm *", "npm update *", "npm up *", "npm upgrade *",
			"npm link *", "npm dedupe *", "npm install-test *", "npm it *",
			"yarn", "yarn add *", "yarn install *", "yarn remove *", "yarn upgrade *", "yarn up *", "bun add *",
			"bun install *", "bun i *", "bun remove *", "cnpm *"} {
			b = append(b, Block{Pattern(n), "this project manages Node packages with pnpm alone",
				"use `pnpm add NAME` (`pnpm add -D NAME`), `pnpm install`, `pnpm exec CMD`"})
		}
	case "go":
		for _, n := range []string{"dep *", "glide *", "govendor *", "godep *"} {
			b = append(b, Block{Pattern(n), "this project manages Go packages with modules alone",
				"use `go get NAME`, `go mod tidy`"})
		}
	case "rust":
		for _, n := range []string{"rustup default *", "rustup override *", "rustup self *", "rustup toolchain uninstall *"} {
			b = append(b, Block{Pattern(n), "the toolchain of this project is pinned",
				"use `cargo add NAME`, `cargo build`, `cargo test` with the toolchain that is there"})
		}
	}
	return b
}

// block returns the block that argv meets.
func (t *Toolchain) block(argv []string) (Block, bool) {
	for _, b := range t.blocks() {
		if b.Pattern.Match(argv) {
			return b, true
		}
	}
	return Block{}, false
}

// namedBlock reports whether a command of that name is blocked in some form.
func (j *judge) namedBlock(base string) bool {
	if base == "" {
		return false
	}
	if !mayBlock(base[0]) && j.p.Toolchain.Blocks == nil {
		return false
	}
	for _, b := range j.p.Toolchain.blocks() {
		if f := strings.Fields(string(b.Pattern)); len(f) > 0 && matchGlob(f[0], base) {
			return true
		}
	}
	return false
}

// mayBlock rules most commands out without the preset's list.
func mayBlock(c byte) bool { return strings.IndexByte("pecmvnybdgr", c) >= 0 }

// blocked denies a blocked package manager, python -m included.
func (j *judge) blocked(sc *scope, base string, args []arg) bool {
	check := func(argv []string) bool {
		if !mayBlock(argv[0][0]) && j.p.Toolchain.Blocks == nil {
			return false
		}
		b, ok := j.p.Toolchain.block(argv)
		if !ok {
			return false
		}
		j.deny(ClassManager, b.Reason+", and "+clip(argv[0])+" is not part of that", b.Instead)
		return true
	}
	if isPython(base) {
		if mod, rest, ok := moduleOf(args); ok && known(mod) {
			top := strings.SplitN(mod, ".", 2)[0]
			if top == "venv" || top == "ensurepip" {
				top = "virtualenv"
			}
			if top == "" {
				return false
			}
			return check(append([]string{top}, texts(rest)...))
		}
		for i, a := range args { // python /usr/lib/…/pip install, ensurepip.py
			if i > 0 && !strings.HasPrefix(a.s, "-") {
				if b := strings.TrimSuffix(baseName(a.s), ".py"); b == "get-pip" || b == "pip" || b == "virtualenv" ||
					b == "pip.pyz" {
					return check(append([]string{"pip"}, texts(args[i+1:])...))
				}
				break
			}
		}
		return false
	}
	argv := texts(args)
	argv[0] = base
	if len(argv) > 1 && (base == "npm" || base == "yarn" || base == "bun") {
		// Options may stand before the verb.
		k := 1
		for k < len(argv) && strings.HasPrefix(argv[k], "-") {
			k++
			if contains("--prefix -C --cwd -w --workspace --loglevel --registry", argv[k-1]) {
				k++
			}
		}
		argv = append([]string{base}, argv[min(k, len(argv)):]...)
	}
	return check(argv)
}

// Rewrite returns the line with the commands that the toolchain rewrites
// replaced: "pytest -q && ruff check" becomes "uv run pytest -q && uv run ruff
// check". ok is false when nothing changes. A line that activates an
// environment of its own is left alone, and so is a command behind a wrapper.
func (p *Policy) Rewrite(command string) (line string, ok bool) {
	if len(p.Toolchain.Rewrites) == 0 || len(command) > maxText || script.TooNested(command) {
		return command, false
	}
	defer func() {
		if r := recover(); r != nil {
			line, ok = command, false
		}
	}()
	f, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return command, false
	}
	type cut struct {
		from, to uint
		with     string
	}
	var cuts []cut
	defined := map[string]bool{}
	activated := false
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				defined[n.Name.Value] = true
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				return true
			}
			first := n.Args[0].Lit()
			if first == "source" || first == "." || first == "alias" {
				activated = true
			}
			for _, r := range p.Toolchain.Rewrites {
				words := strings.Fields(r.Name)
				if len(words) == 0 || len(words) > len(n.Args) || defined[first] {
					continue
				}
				same := true
				for i, w := range words {
					same = same && n.Args[i].Lit() == w
				}
				if same {
					cuts = append(cuts, cut{n.Args[0].Pos().Offset(), n.Args[len(words)-1].End().Offset(), r.With})
					break
				}
			}
		}
		return true
	})
	if activated || len(cuts) == 0 {
		return command, false
	}
	var b strings.Builder
	at := uint(0)
	for _, c := range cuts {
		if c.from < at || int(c.to) > len(command) {
			continue
		}
		b.WriteString(command[at:c.from])
		b.WriteString(c.with)
		at = c.to
	}
	b.WriteString(command[at:])
	return b.String(), true
}

// RewriteArgv is Rewrite for a command that a shim was called as. The shim
// folder must not be on the PATH of what then runs, or the shim meets itself.
func (p *Policy) RewriteArgv(argv []string) ([]string, bool) {
	for _, r := range p.Toolchain.Rewrites {
		words := strings.Fields(r.Name)
		if len(words) == 0 || len(words) > len(argv) || baseName(argv[0]) != words[0] {
			continue
		}
		same := true
		for i := 1; i < len(words); i++ {
			same = same && argv[i] == words[i]
		}
		if same {
			return append(strings.Fields(r.With), argv[len(words):]...), true
		}
	}
	return argv, false
}
