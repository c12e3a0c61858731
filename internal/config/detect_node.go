package config

import (
	"encoding/json"
	"strings"
)

// node reads package.json: the manager from packageManager or the lockfile,
// the checks from the scripts that exist.
func (p *project) node() {
	p.out.Kind = KindNode
	var pkg struct {
		Scripts        map[string]any `json:"scripts"`
		PackageManager string         `json:"packageManager"`
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(p.read("package.json"), "\ufeff")), &pkg); err != nil {
		p.note("package.json could not be read, so its scripts are not used")
		return
	}
	manager := p.nodeManager(pkg.PackageManager)
	p.out.Setup = manager.setup
	if manager.name == "pnpm" {
		p.out.Preset = "node-pnpm"
	}
	taken := map[string]bool{}
	use := func(kind string, names ...string) {
		for _, name := range names {
			script, _ := pkg.Scripts[name].(string)
			if strings.TrimSpace(script) == "" || strings.Contains(script, "no test specified") {
				continue
			}
			if strings.Contains(script, "--watch") && !strings.Contains(script, "--watch=false") &&
				!strings.Contains(script, "--watchAll=false") {
				p.note("the script " + name + " watches and never ends, so it is no check")
				continue
			}
			if !plainName(name) {
				continue
			}
			run := manager.run + " " + name
			if name == "test" {
				run = manager.test
			}
			p.check(kind, run, kind)
			taken[kind] = true
			if manager.name != "pnpm" {
				switch kind {
				case "test":
					p.out.Toolchain.Test = run
				case "lint":
					p.out.Toolchain.Lint = run
				case "typecheck":
					p.out.Toolchain.Typecheck = run
				}
			}
			return
		}
	}
	use("format", "format:check", "fmt:check", "check:format", "prettier:check")
	use("lint", "lint")
	use("typecheck", "typecheck", "type-check", "check:types", "tsc")
	use("test", "test", "test:unit")
	if manager.name != "pnpm" {
		p.out.Toolchain.Add, p.out.Toolchain.Sync = manager.add, manager.sync
	}
	if !taken["test"] {
		p.note("package.json has no test script that could be a check")
	}
}

type nodeManager struct {
	name, test, run, add, sync string
	setup                      []string
}

func (p *project) nodeManager(field string) nodeManager {
	name, _, _ := strings.Cut(field, "@")
	switch name {
	case "npm", "pnpm", "yarn", "bun":
	default:
		switch {
		case p.has("pnpm-lock.yaml"):
			name = "pnpm"
		case p.has("yarn.lock"):
			name = "yarn"
		case p.has("bun.lock", "bun.lockb"):
			name = "bun"
		default:
			name = "npm"
		}
	}
	switch name {
	case "pnpm":
		m := nodeManager{name: name, test: "pnpm test", run: "pnpm run", add: "pnpm add", sync: "pnpm install"}
		if p.has("pnpm-lock.yaml") {
			m.setup = []string{"pnpm install --frozen-lockfile"}
		}
		return m
	case "yarn":
		m := nodeManager{name: name, test: "yarn test", run: "yarn run", add: "yarn add", sync: "yarn install"}
		switch {
		case p.has("yarn.lock") && p.has(".yarnrc.yml"):
			m.setup = []string{"yarn install --immutable"}
		case p.has("yarn.lock"):
			m.setup = []string{"yarn install --frozen-lockfile"}
		}
		return m
	case "bun":
		// `bun test` is bun's own runner and not the script of that name.
		m := nodeManager{name: name, test: "bun run test", run: "bun run", add: "bun add", sync: "bun install"}
		if p.has("bun.lock", "bun.lockb") {
			m.setup = []string{"bun install --frozen-lockfile"}
		}
		return m
	}
	m := nodeManager{name: "npm", test: "npm test", run: "npm run", add: "npm install", sync: "npm install"}
	if p.has("package-lock.json", "npm-shrinkwrap.json") {
		m.setup = []string{"npm ci"}
		m.sync = "npm ci"
	}
	return m
}

// plainName says that a name needs no quotes in a shell.
func plainName(name string) bool {
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_-") == "" && name[0] != '-'
}
