package weaken

import "testing"

// TestSettingsThatSelect: new settings that name what is run, while a test that
// is there is not among it.
func TestSettingsThatSelect(t *testing.T) {
	py := []string{"calc.py", "tests/test_calc.py", "tests/unit/test_add.py", "conftest.py"}
	js := []string{"src/calc.ts", "src/calc.test.ts", "test/add.test.ts", "test/helper.ts"}
	project := "[project]\nname = \"x\"\n"
	ini := "\n[tool.pytest.ini_options]\n"
	selects := func(why, command, path, before, after string, paths []string, want ...Rule) row {
		return row{why: why, commands: []string{command}, path: path, before: before, after: after, paths: paths, want: want}
	}
	check(t, []row{
		selects("pytest: testpaths leaves a file out", "pytest", "pyproject.toml", project,
			project+ini+"testpaths = [\"tests/unit\"]\n", py, Config),
		selects("pytest: testpaths in a section that is there", "python -m pytest -q", "pyproject.toml",
			project+ini+"addopts = \"-ra\"\n", project+ini+"addopts = \"-ra\"\ntestpaths = [\"tests/unit\"]\n", py, Config),
		selects("pytest: testpaths has them all", "pytest", "pyproject.toml", project,
			project+ini+"testpaths = [\"tests\"]\n", py),
		selects("pytest: testpaths is a pattern", "pytest", "pyproject.toml", project,
			project+ini+"testpaths = [\"tes*\", \"integration\"]\n", py),
		selects("pytest: pytest.ini", "pytest", "pytest.ini", "-", "[pytest]\ntestpaths =\n    tests/unit\n", py, Config),
		selects("pytest: a new pytest.ini with all", "pytest", "pytest.ini", "-", "[pytest]\ntestpaths = tests\n", py),
		selects("pytest: setup.cfg", "pytest", "setup.cfg", "[metadata]\nname = x\n",
			"[metadata]\nname = x\n[tool:pytest]\ntestpaths = tests/unit\n", py, Config),
		selects("pytest: the checks run in a folder", "cd py && pytest", "py/pytest.ini", "-",
			"[pytest]\ntestpaths = tests\n", []string{"py/tests/test_calc.py", "test_other.py"}),
		selects("vitest: include in new settings", "vitest run", "vitest.config.ts", "-",
			"export default defineConfig({ test: { include: ['test/**/*.test.ts'] } })\n", js, Config),
		selects("vitest: include has them all", "vitest run", "vitest.config.ts", "-",
			"export default defineConfig({ test: { include: ['{src,test}/**/*.{test,spec}.?(c|m)[jt]s?(x)'] } })\n", js),
		selects("vitest: include of something else", "vitest run", "vite.config.ts", "-",
			"export default { optimizeDeps: { include: ['react'] }, test: { coverage: { include: ['src'] } } }\n", js),
		selects("vitest: a folder", "vitest run", "vitest.config.mts", "-", "export default { test: { dir: 'test' } }\n", js,
			Config),
		selects("vitest: the test block of vite is new", "vitest run", "vite.config.ts", "export default { plugins: [] }\n",
			"export default { plugins: [], test: { include: ['src/**'] } }\n", js, Config),
		selects("jest: roots", "npx jest", "jest.config.js", "-", "module.exports = { roots: ['<rootDir>/test'] };\n", js,
			Config),
		selects("jest: roots that have them all", "npx jest", "jest.config.js", "-",
			"module.exports = { roots: ['<rootDir>/test', '<rootDir>/src'] };\n", js),
		selects("jest: roots in package.json", "npx jest", "package.json", "{\"name\": \"x\"}",
			"{\"name\": \"x\", \"jest\": {\"roots\": [\"test\"]}}", js, Config),
		selects("mocha: spec", "mocha", ".mocharc.yml", "-", "spec:\n  - test/add.test.ts\n",
			[]string{"test/add.test.ts", "test/sub.test.ts"}, Config),
		selects("mocha: spec has them all", "mocha", ".mocharc.json", "-", "{\"spec\": \"test/**/*.ts\"}",
			[]string{"test/add.test.ts", "test/sub.test.ts"}),
		selects("bun: the root of tests", "bun test", "bunfig.toml", "-", "[test]\nroot = \"test\"\n", js, Config),
		selects("bun: the root has them all", "bun test", "bunfig.toml", "-", "[test]\nroot = \".\"\ncoverage = true\n", js),
		selects("bun: the root of something else", "bun test", "bunfig.toml", "-", "[serve]\nroot = \"test\"\n", js),
		selects("playwright: testDir", "npx playwright test", "playwright.config.ts", "-",
			"export default defineConfig({ testDir: './test' });\n", js, Config),
	})
}

// TestSettingsOfOtherRunners: mix, dotnet and the runners of many packages.
func TestSettingsOfOtherRunners(t *testing.T) {
	mix := "defmodule X.MixProject do\n  def project do\n    [app: :x, version: \"0.1.0\"]\n  end\nend\n"
	proj := "<Project Sdk=\"Net\">\n  <PropertyGroup>\n    <TargetFramework>net8.0</TargetFramework>\n" +
		"  </PropertyGroup>\n</Project>\n"
	sln := "Project(\"{1}\") = \"App\", \"App\\App.csproj\", \"{2}\"\nEndProject\n" +
		"Project(\"{1}\") = \"App.Tests\", \"App.Tests\\App.Tests.csproj\", \"{3}\"\nEndProject\n"
	pkg := `{"name": "a", "version": "1.0.0", "scripts": {"test": "vitest run", "build": "tsc"}}`
	root := map[string]string{"package.json": `{"workspaces": ["packages/*"], "scripts": {"test": "turbo run test"}}`}
	after := func(why, command, path, before, old, new string, want ...Rule) row {
		r := edit(why, path, before, old, new, want...)
		r.commands, r.lookup = []string{command}, root
		return r
	}
	check(t, []row{
		after("mix: other folders", "mix test", "mix.exs", mix, "app: :x", "app: :x, test_paths: [\"easy\"]", Config),
		after("mix: other names of tests", "mix test", "mix.exs", mix, "app: :x", "app: :x, test_pattern: \"*_easy.exs\"",
			Config),
		after("mix: another test task", "mix test", "mix.exs", mix, "app: :x",
			"app: :x, aliases: [test: \"cmd true\"]", Config),
		after("mix: another version", "mix test", "mix.exs", mix, "0.1.0", "0.2.0"),
		after("dotnet: a test is not compiled", "dotnet test", "App.Tests/App.Tests.csproj", proj, "  <PropertyGroup>",
			"  <ItemGroup><Compile Remove=\"CalcTests.cs\" /></ItemGroup>\n  <PropertyGroup>", Config),
		after("dotnet: no project of tests", "dotnet test", "App.Tests/App.Tests.csproj", proj, "    <TargetFramework>",
			"    <IsTestProject>false</IsTestProject>\n    <TargetFramework>", Config),
		after("dotnet: a filter for all projects", "dotnet test", "Directory.Build.props", proj, "    <TargetFramework>",
			"    <VSTestTestCaseFilter>Category=Easy</VSTestTestCaseFilter>\n    <TargetFramework>", Config),
		after("dotnet: a project leaves the solution", "dotnet test", "App.sln", sln,
			"Project(\"{1}\") = \"App.Tests\", \"App.Tests\\App.Tests.csproj\", \"{3}\"\nEndProject\n", "", Config),
		after("dotnet: another framework", "dotnet test", "App.Tests/App.Tests.csproj", proj, "net8.0", "net9.0"),
		after("turbo: the script of a package", "npm test", "packages/a/package.json", pkg, "vitest run", "true", Config),
		after("turbo: another version of a package", "npm test", "packages/a/package.json", pkg, "1.0.0", "1.1.0"),
		after("pnpm: the script of a package", "pnpm -r test", "packages/a/package.json", pkg, "vitest run", "true", Config),
		after("npm: the script of a workspace", "npm test --workspaces", "packages/a/package.json", pkg, "vitest run",
			"vitest run easy", Config),
		after("nx: the script of a package", "npx nx run-many -t test", "packages/a/package.json", pkg, "vitest run", "true",
			Config),
		after("nx: the target of a project", "nx test a", "packages/a/project.json",
			`{"name": "a", "targets": {"test": {"executor": "@nx/vite:test"}}}`, "@nx/vite:test", "nx:noop", Config),
		after("lerna: a script", "lerna run test", "packages/a/package.json", pkg, "vitest run", "true", Config),
		after("turbo: the tasks", "turbo test", "turbo.json", `{"tasks": {"test": {"dependsOn": ["build"]}}}`,
			`"test"`, `"test2"`, Config),
	})
}
