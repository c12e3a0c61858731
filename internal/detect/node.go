package detect

import (
	"encoding/json"
	"slices"
	"strings"
)

// packageJSON is what is read of package.json.
type packageJSON struct {
	Scripts         map[string]any `json:"scripts"`
	PackageManager  string         `json:"packageManager"`
	Workspaces      any            `json:"workspaces"`
	Dependencies    map[string]any `json:"dependencies"`
	DevDependencies map[string]any `json:"devDependencies"`
}

func (f *folder) packageJSON() (pkg packageJSON, err error) {
	return pkg, json.Unmarshal([]byte(f.read("package.json")), &pkg)
}

// isNodeWorkspace says that the scripts of the root are those of all packages.
func isNodeWorkspace(f *folder) bool {
	pkg, _ := f.packageJSON()
	return pkg.Workspaces != nil || f.has("pnpm-workspace.yaml", "lerna.json", "turbo.json", "nx.json")
}

// node takes the manager from packageManager or the lockfile, and the checks
// from the scripts that exist.
func node(f *folder) {
	pkg, err := f.packageJSON()
	if err != nil {
		f.note("package.json could not be read, so its scripts are not used")
		return
	}
	m := f.nodeManager(pkg)
	f.out.Setup = m.setup
	if m.name == "pnpm" {
		f.out.Preset = "node-pnpm"
	} else {
		f.out.Toolchain.Add, f.out.Toolchain.Sync = m.add, m.sync
	}
	use := func(kind string, names ...string) (string, bool) {
		for _, name := range names {
			if !f.usable(name, pkg.Scripts[name]) {
				continue
			}
			run := m.run + " " + name
			if name == "test" {
				run = m.test
			}
			f.check(kind, run, kind)
			return run, true
		}
		return "", false
	}
	use("format", "format:check", "fmt:check", "check:format", "prettier:check")
	use("lint", "lint")
	use("typecheck", "typecheck", "type-check", "check:types", "tsc")
	test, tested := use("test", "test", "test:unit", "tests", "check")
	if !tested {
		if test = f.nodeTests(pkg, m); test == "" {
			f.note("package.json has no test script that could be a check")
		} else {
			f.test(test)
		}
	}
	if m.name != "pnpm" {
		f.out.Toolchain.Test = test
	}
}

// usable says whether a script can be a check.
func (f *folder) usable(name string, value any) bool {
	script, _ := value.(string)
	if strings.TrimSpace(script) == "" || strings.Contains(script, "no test specified") || !plainName(name) {
		return false
	}
	if strings.Contains(script, "--watch") && !strings.Contains(script, "--watch=false") &&
		!strings.Contains(script, "--watchAll=false") {
		f.note("the script " + name + " watches and never ends, so it is no check")
		return false
	}
	return true
}

// nodeTests is how the packages of a workspace, or tests of node's own runner,
// are run where no script says it.
func (f *folder) nodeTests(pkg packageJSON, m nodeManager) string {
	if pkg.Workspaces != nil || f.has("pnpm-workspace.yaml") {
		switch m.name {
		case "pnpm":
			return "pnpm -r test"
		case "npm":
			return "npm test --workspaces --if-present"
		}
	}
	if f.any("*.test.js", "*.test.mjs", "*.test.cjs", "test/*.test.js", "test/*.test.mjs", "test/*.js", "test/*.mjs") &&
		pkg.runner() == "" {
		return "node --test"
	}
	return ""
}

// runner is the test framework among the dependencies.
func (pkg packageJSON) runner() string {
	for _, name := range []string{"vitest", "jest", "mocha", "ava", "tap", "tape", "uvu", "jasmine"} {
		if pkg.DevDependencies[name] != nil || pkg.Dependencies[name] != nil {
			return name
		}
	}
	return ""
}

type nodeManager struct {
	name, test, run, add, sync string
	setup                      []string
}

func (f *folder) nodeManager(pkg packageJSON) nodeManager {
	name, _, _ := strings.Cut(pkg.PackageManager, "@")
	if !slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name) {
		switch {
		case f.has("pnpm-lock.yaml", "pnpm-workspace.yaml"):
			name = "pnpm"
		case f.has("yarn.lock"):
			name = "yarn"
		case f.has("bun.lock", "bun.lockb"):
			name = "bun"
		default:
			name = "npm"
		}
	}
	var m nodeManager
	locked, exact, plain := false, "", ""
	switch name {
	case "pnpm":
		m = nodeManager{test: "pnpm test", run: "pnpm run", add: "pnpm add", sync: "pnpm install"}
		locked, exact, plain = f.has("pnpm-lock.yaml"), "pnpm install --frozen-lockfile", "pnpm install --no-lockfile"
	case "yarn":
		m = nodeManager{test: "yarn test", run: "yarn run", add: "yarn add", sync: "yarn install"}
		locked, exact, plain = f.has("yarn.lock"), "yarn install --frozen-lockfile", "yarn install"
		if f.has(".yarnrc.yml") {
			exact = "yarn install --immutable"
		}
	case "bun":
		// `bun test` is bun's own runner and not the script of that name.
		m = nodeManager{test: "bun run test", run: "bun run", add: "bun add", sync: "bun install"}
		locked, exact, plain = f.has("bun.lock", "bun.lockb"), "bun install --frozen-lockfile", "bun install --no-save"
	default:
		m = nodeManager{test: "npm test", run: "npm run", add: "npm install", sync: "npm install"}
		locked, exact, plain = f.has("package-lock.json", "npm-shrinkwrap.json"), "npm ci", "npm install --no-package-lock"
		if locked {
			m.sync = "npm ci"
		}
	}
	m.name = name
	switch {
	case locked:
		m.setup = []string{exact}
	case len(pkg.Dependencies)+len(pkg.DevDependencies) > 0:
		// Without a lockfile nothing can be installed exactly, and without an
		// installation no check runs in a fresh checkout.
		m.setup = []string{plain}
	}
	return m
}
