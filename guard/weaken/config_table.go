package weaken

const golangci = ".golangci.yml .golangci.yaml .golangci.toml .golangci.json"

// toolSettings is what runners, linters and compilers read, by their names.
var toolSettings = []struct {
	tools string
	settingFiles
}{
	{"pytest py.test", settingFiles{whole: "pytest.ini .pytest.ini", new: "pytest.ini .pytest.ini",
		sections: "pyproject.toml:tool.pytest setup.cfg:tool:pytest tox.ini:pytest"}},
	{"unittest nose2 nose", settingFiles{whole: "unittest.cfg nose2.cfg"}},
	{"tox", settingFiles{sections: "pyproject.toml:tool.tox"}},
	{"hatch pdm poetry uv rye pipenv invoke inv", settingFiles{sections: "pyproject.toml:tool.NAME"}},
	{"ruff", settingFiles{whole: "ruff.toml .ruff.toml", new: "ruff.toml .ruff.toml",
		sections: "pyproject.toml:tool.ruff"}},
	{"mypy dmypy", settingFiles{whole: "mypy.ini .mypy.ini", new: "mypy.ini .mypy.ini",
		sections: "pyproject.toml:tool.mypy setup.cfg:mypy setup.cfg:mypy-"}},
	{"pyright basedpyright", settingFiles{whole: "pyrightconfig.json", new: "pyrightconfig.json",
		sections: "pyproject.toml:tool.pyright pyproject.toml:tool.basedpyright"}},
	{"flake8", settingFiles{whole: ".flake8", new: ".flake8",
		sections: "setup.cfg:flake8 tox.ini:flake8"}},
	{"pylint", settingFiles{whole: ".pylintrc pylintrc", new: ".pylintrc pylintrc",
		sections: "pyproject.toml:tool.pylint"}},
	{"black isort", settingFiles{sections: "pyproject.toml:tool.NAME"}},
	{"shellcheck", settingFiles{whole: ".shellcheckrc", new: ".shellcheckrc"}},
	{"yamllint", settingFiles{whole: ".yamllint .yamllint.yml .yamllint.yaml"}},
	{"golangci-lint", settingFiles{whole: golangci, new: golangci}},
	{"staticcheck", settingFiles{whole: "staticcheck.conf", new: "staticcheck.conf"}},
	{"jest react-scripts", settingFiles{stems: "jest.config", members: "jest"}},
	{"vitest", settingFiles{stems: "vitest.config vitest.workspace", parts: []part{{names: "vite.config.*", gone: true,
		worse: func(before, after []byte) bool {
			old, now := testBlock(before), testBlock(after)
			return old != now && (old != "" || narrows(now))
		}}}}},
	{"tsc vue-tsc", settingFiles{parts: []part{tsconfig}}},
	{"tsd", settingFiles{parts: []part{{names: tsconfig.names, gone: true, worse: func(before, after []byte) bool {
		return after != nil && looserTS(before, after) // without the file it is strict
	}}}}},
	{"cargo cross", settingFiles{whole: "clippy.toml .clippy.toml rustfmt.toml .rustfmt.toml .config/nextest.toml",
		new:   "clippy.toml rustfmt.toml .config/nextest.toml",
		parts: []part{{names: ".cargo/config.toml .cargo/config", decides: cargoRunners, gone: true, new: true}}}},
	{"mvn mvnw", settingFiles{whole: ".mvn/maven.config .mvn/jvm.config", new: ".mvn/maven.config .mvn/jvm.config",
		parts: []part{{names: "*/pom.xml", worse: worsePom, gone: true}}}},
	{"gradle gradlew", settingFiles{parts: []part{{names: "gradle.properties", gains: gradleProp, new: true, gone: true},
		{names: "*/build.gradle */build.gradle.kts */settings.gradle */settings.gradle.kts",
			decides: gradleTests}}}},
	{"mocha nyc c8 ava tap karma cypress playwright wdio jasmine", settingFiles{
		stems: ".NAMErc NAME.config karma.conf cypress .NAME", members: "NAME",
		whole: "test/mocha.opts spec/support/jasmine.json"}},
	{"eslint standard xo", settingFiles{stems: "eslint.config .eslintrc", whole: ".eslintignore",
		new: ".eslintignore .eslintrc.json .eslintrc", members: "eslintConfig eslintIgnore NAME"}},
	{"stylelint prettier commitlint oxlint markdownlint", settingFiles{stems: "NAME.config .NAMErc",
		whole: ".NAMEignore .oxlintrc.json", new: ".NAMEignore", members: "NAME"}},
	{"biome", settingFiles{whole: "biome.json biome.jsonc"}},
	{"rspec", settingFiles{whole: ".rspec spec/spec_helper.rb spec/rails_helper.rb",
		parts: []part{{names: ".rspec", gains: rspecChooses, new: true, gone: true}}}},
	{"rubocop", settingFiles{whole: ".rubocop.yml .rubocop_todo.yml", new: ".rubocop_todo.yml"}},
	{"phpunit pest", settingFiles{whole: "phpunit.xml phpunit.dist.xml phpunit.xml.dist"}},
	{"phpstan", settingFiles{whole: "phpstan.neon phpstan.neon.dist"}},
	{"ctest cmake", settingFiles{whole: "CTestCustom.cmake CTestTestfile.cmake", new: "CTestCustom.cmake",
		parts: []part{{names: "*/CMakeLists.txt", worse: forgivesMore, fewer: cmakeTests}}}},
	{"mix",
		settingFiles{whole: "test/test_helper.exs .formatter.exs", parts: []part{{names: "*/mix.exs", gains: mixTests}}}},
	{"dotnet", settingFiles{whole: ".runsettings xunit.runner.json", parts: []part{
		{names: "*/*.csproj */*.fsproj */*.vbproj", gains: netTests, gone: true},
		{names: "*/Directory.Build.props */Directory.Build.targets", gains: netTests, gone: true, new: true},
		{names: "*.sln *.slnx", loses: testProject}}}},
	{"turbo", settingFiles{whole: "turbo.json"}},
	{"nx", settingFiles{whole: "nx.json", parts: []part{{names: "*/project.json", decides: targets}}}},
	{"lerna", settingFiles{whole: "lerna.json"}},
	{"pre-commit", settingFiles{whole: ".pre-commit-config.yaml"}},
	// Tasks that are written in a language, and where a helper of all tests is.
	{"rails", settingFiles{whole: "test/test_helper.rb"}},
	{"doit", settingFiles{whole: "dodo.py"}},
	{"mage", settingFiles{whole: "magefile.go"}},
	{"earthly", settingFiles{whole: "Earthfile"}},
	{"moon", settingFiles{whole: "moon.yml .moon/tasks.yml .moon/workspace.yml"}},
	{"crystal", settingFiles{whole: "spec/spec_helper.cr"}},
	{"R Rscript", settingFiles{whole: "tests/testthat.R"}},
	{"busted", settingFiles{whole: ".busted", new: ".busted"}},
	{"act", settingFiles{parts: []part{{names: ".github/workflows/*", decides: plainLines}}}},
	{"docker docker-compose podman",
		settingFiles{whole: "docker-compose.yml docker-compose.yaml compose.yml compose.yaml"}},
	// Build tools, of whose files other parts change as well.
	{"sbt", settingFiles{parts: []part{{names: "*/build.sbt", gains: sbtTests, gone: true}}}},
	{"bazel bazelisk",
		settingFiles{parts: []part{{names: ".bazelrc .bazelignore", gains: bazelFlags, new: true, gone: true},
			{names: "*/BUILD */BUILD.bazel", fewer: bazelTests, gains: bazelTags, gone: true}}}},
	{"meson", settingFiles{parts: []part{{names: "*/meson.build", fewer: mesonTests, gone: true}}}},
	{"zig", settingFiles{parts: []part{{names: "build.zig", fewer: zigTests, gone: true}}}},
	{"swift", settingFiles{parts: []part{{names: "Package.swift",
		fewer: swiftTests, gains: swiftOut, gone: true}}}},
	{"dart flutter", settingFiles{parts: []part{{names: "*/dart_test.yaml", gains: dartTests, new: true, gone: true}}}},
	{"ant", settingFiles{parts: []part{{names: "build.xml", fewer: antTests, gains: antOut, gone: true}}}},
	{"stack", settingFiles{parts: []part{{names: "*/*.cabal", fewer: cabalTests, gone: true}, {names: "*/package.yaml",
		decides: haskellTests, gone: true}}}},
	{"cabal", settingFiles{parts: []part{{names: "*/*.cabal", fewer: cabalTests, gone: true}}}},
	{"lein", settingFiles{parts: []part{{names: "project.clj", gains: leinTests, gone: true}}}},
	{"rebar3", settingFiles{parts: []part{{names: "rebar.config", gains: erlTests, gone: true}}}},
	{"dune opam", settingFiles{parts: []part{{names: "*/dune", fewer: duneTests, gains: duneOut, gone: true}}}},
	{"nimble", settingFiles{parts: []part{{names: "*.nimble", loses: nimbleTask, gone: true}}}},
	{"prove", settingFiles{parts: []part{{names: ".proverc", gains: anyLine, new: true, gone: true}}}},
}

// These are the lines, or the texts, by which build files say which tests there are.
const (
	// mixTests are the lines of a project in Elixir that say which files hold tests, and what "test" runs.
	mixTests = `\btest_(paths|pattern|load_filters)|(^| |\[|")test"?: [^:]`
	// netTests are the lines of a project in .NET that take a file out, or choose among the tests.
	netTests = `<Compile [^>]*(Remove|Exclude)=|<IsTestProject>\s*false|EnableDefault(Compile)?Items|` +
		`VSTest|RunSettingsFilePath|DefaultItemExcludes|TestingPlatformCommandLine`
	// testProject is the file of a project of tests, as a solution names it.
	testProject  = `(?i)[\w.]*test[\w.]*\.(cs|fs|vb)proj`
	rspecChooses = `--(tag|example|pattern|exclude-pattern|dry-run|only-failures|default-path|fail)|` +
		`(^| )-[etP] `
	anyLine  = `.`
	sbtTests = `Tests\.|[tT]est\s*/\s*\S*([sS]kip|test|sources|unmanaged|exclude|include)|aggregate|` +
		`excludeFilter`
	bazelFlags = `test_tag_filters|test_filter|build_tests_only|deleted_packages|flaky|run_under|` +
		`test_(size|timeout|lang)_filters|nobuild|test_env`
	bazelTests = `_test\(`
	bazelTags  = `"(manual|flaky|exclusive|no-sandbox)"|flaky = |target_compatible_with`
	cmakeTests = `(?i)\b(add_test|\w+_discover_tests|gtest_add_tests|enable_testing)\s*\(|` +
		`\binclude\s*\(\s*CTest\s*\)`
	mesonTests = `\b(test|benchmark)\s*\(`
	zigTests   = `addTest\(|dependOn\(|addRunArtifact\(`
	swiftTests = `\.testTarget\(`
	swiftOut   = `\bexclude:|\bsources:|-skip`
	dartTests  = `paths|filename|tags|skip|on_platform|override|timeout: none|include:`
	gradleProp = `(?i)skip|test|exclude|ignore`
	antTests   = `<(junit\w*|test|batchtest|testng|testclasses)\b`
	antOut     = `(haltonfailure|failonerror|haltonerror)="(false|no|off)"|` +
		`\b(unless|if|excludes?)=|<exclude`
	yarnRuns   = `yarnPath|plugins|path:|enableScripts`
	pnpmRuns   = `(?i)scriptShell|shellEmulator|ignoreScripts|nodeOptions|pnpmfile|configDependencies`
	leinTests  = `:test-(paths|selectors)|:aliases|"test"`
	erlTests   = `eunit|\bct_|alias|\btests\b|{dir`
	duneTests  = `\(tests?\b`
	duneOut    = `enabled_if|\(modules|\(dirs|data_only_dirs|vendored_dirs`
	cabalTests = `(?m)^test-suite `
	nimbleTask = `(?m)^ *exec .*|^task .*`
)
