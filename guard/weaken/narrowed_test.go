package weaken

import (
	"strings"
	"testing"
)

// narrowed are lines of a check and what runs less in their place, or nothing at all.
const narrowed = `
vitest run|vitest run easy
vitest|vitest easy
vitest run|vitest run -t easy
vitest run|vitest -v
cargo test|cargo test easy
cargo nextest run|cargo nextest run easy
cargo test --workspace|cargo test
playwright test|playwright test easy
playwright test|playwright test -g easy
deno test|deno test easy.ts
mix test|mix test easy.exs
mix test|mix test --only easy
dotnet test|dotnet test easy
dotnet test|dotnet test --filter easy
bun test|bun test easy
jest|jest -o
jest|jest -v
jest --ci|jest --ci --onlyChanged
mocha|mocha -R dot -g easy
pytest|pytest --lf
pytest|pytest -c easy.ini
python -m unittest discover|python -m unittest discover -s easy
python -m unittest|python -m unittest easy
ctest|ctest -R easy
go test ./...|go test ./easy
go test ./...|go test -short ./...
rspec|rspec -v
phpunit|phpunit --testsuite easy
./gradlew test|./gradlew test -x testHard
gradle test|gradle test -v
mvn test|mvn test -s other.xml
mvn test|mvn test -v
mvn verify|mvn test
node --test|node -v --test
flutter test|flutter test easy
karma start|karma start easy.conf.js
turbo run test|turbo run test --filter=easy
nx run-many -t test|nx affected -t test
pnpm -r test|pnpm --filter easy test
uv run pytest|uv run pytest easy
eslint .|eslint -v
`

// asMuch are lines that run as much.
const asMuch = `
vitest|vitest run
vitest run|vitest run --coverage
cargo test|cargo test -v
cargo test|cargo test --workspace
go test ./...|go test -v ./...
pytest|pytest -v -x -s
jest|jest --verbose
mocha|mocha -R dot
playwright test|playwright test --reporter=list
python -m unittest discover|python -m unittest discover -v
dotnet test|dotnet test -v
deno test|deno test --coverage
`

// TestNarrowedLines: a recipe and a script that run fewer tests than before.
func TestNarrowedLines(t *testing.T) {
	var rows []row
	for _, list := range []struct {
		lines string
		want  []Rule
	}{{narrowed, is(Config)}, {asMuch, nil}} {
		for _, l := range strings.Split(strings.TrimSpace(list.lines), "\n") {
			old, now, _ := strings.Cut(l, "|")
			script := func(line string) string { return `{"scripts": {"test": "` + line + `"}}` }
			rows = append(rows,
				row{why: "npm: " + l, commands: []string{"npm test"}, path: "package.json", before: script(old),
					after: script(now), want: list.want},
				row{why: "make: " + l, commands: []string{"make test"}, path: "Makefile", before: "test:\n\t" + old + "\n",
					after: "test:\n\t" + now + "\n", want: list.want})
		}
	}
	check(t, rows)
}
