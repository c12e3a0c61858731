# git ralph: what there is to run. `just --list` shows it.

version := `git describe --tags --always --dirty 2>/dev/null || echo dev`
ldflags := "-s -w -X git-ralph/internal/cli.Version=" + version

# Without cgo, as the releases are: no dynamic linker runs before each of the many processes that are this program,
# which is a third of what a start takes of the processor.

# the binary
build:
    CGO_ENABLED=0 go build -trimpath -ldflags '{{ldflags}}' -o git-ralph .

# into GOBIN, so that `git ralph` works, with completions and the man pages of `git ralph --help`
install:
    CGO_ENABLED=0 go install -trimpath -ldflags '{{ldflags}}' .
    "$(go list -f '{{{{.Target}}' .)" completion --install

# the main job, end to end, in a throw-away repository
demo:
    go run . demo

# what a person waits for: long tests run in their short forms
test:
    go test ./...

# every kill, every differential case and attack, long journals: the packages that have a long form
test-long:
    bash .ci/test-long

# every figure beside what it is compared with in the same run; writes doc/benchmarks.md. Takes a while
bench text=".":
    #!/usr/bin/env bash
    set -uo pipefail
    export RALPH_FIGURES=$(mktemp) CGO_ENABLED=0
    go test -run '^$' -bench '{{text}}' -p 1 -timeout 120m \
        ./guard ./guard/hook ./guard/sandbox ./context ./gitstate/worktree ./internal/e2e
    status=$?
    go test ./internal/e2e -run '^TestBenchmarks$' -count=1 -v || status=1
    rm -f "$RALPH_FIGURES"
    exit $status

# what everything costs on journals of 1,000, 10,000 and 100,000 entries; writes doc/scale.md
scale:
    RALPH_SCALE=1000,10000,100000 go test ./internal/e2e -run '^TestScale$' -count=1 -v -timeout 60m

# how many honest commits of real repositories the test guard rejects, and how many made weakenings it finds
measure-guard +repos:
    go test ./guard/weaken -run '^TestMeasure$' -count=1 -v -args {{repos}}

# how many made weakenings comparing and the old tests find together, where the repositories' tests run; it runs them
measure-together +repos:
    go test ./guard/weaken -run '^TestMeasureTogether$' -count=1 -v -timeout 60m -args {{repos}}

# the documents that are written from the code
doc:
    go test ./internal/config -run '^TestReferenceIsCurrent$' -update
    go test ./internal/cli -run '^TestSchemasAreCurrent$' -update
    go test ./plan/exchange -run 'LossesAreDocumented$' -update
    go test ./internal/agent -run '^TestDriversTable$' -update
    go test ./internal/dashboard -run '^TestPageIsPacked$' -update
    MCP_UPDATE_DOC=1 go test ./internal/mcp -run '^TestDocumented$'

# the pictures in doc/ of the page and the live view, taken from real runs; all that the tests take are in _artifacts
pictures:
    RALPH_TEST_PICTURES={{justfile_directory()}}/doc go test ./internal/e2e -count=1 \
        -run '^(TestPageInABrowser|TestPictureOfTheLiveView)$' -artifacts -outputdir {{justfile_directory()}}

lint:
    test -z "$(git ls-files -z '*.go' | xargs -0 gofmt -l)"
    go vet ./...
    go tool staticcheck ./...

# what decides whether a change lands
ci:
    bash .ci/run

# the tests of chance (power cuts, kills, gc beside a loop) n times; power cuts need root
reliability n="30":
    RELIABILITY_ROUNDS={{n}} go test ./internal/e2e -run 'TestPowerCut|TestKilledWithItsGit|TestPruneBesideALoop' -count=1 -v -timeout 60m

# every kind of fault, meant for ten minutes: commands killed at each step and at moments of chance, alone, with their
# group, control group or one git, or standing still, beside git gc, eight writers and a person; calls that fail (some of
# each kind; RALPH_CALLS_APART=100 tries all); full and read-only disks; power cuts (root); a clock that jumps
chaos seconds="300":
    #!/usr/bin/env bash
    export RALPH_LONG=1 RALPH_CHAOS={{seconds}} RALPH_CALLS=${RALPH_CALLS:-4}
    tests=(TestChaos TestTwoDeadRuns TestEveryStepOfEveryCommand TestEveryCallOfAnIterationFails
        TestOneCallOfAnIterationFails TestPeopleMayWork TestClockJumps TestEveryCallFails TestFullDisk
        TestReadOnlyGitDirectory TestReadOnlyDisk TestDiskFullAtAnyPoint TestPowerCut TestKilledWithItsGit
        TestPruneBesideALoop TestNoEventIsLost)
    all=$(IFS='|'; echo "${tests[*]}")
    go test ./internal/e2e ./loop ./gitstate/... -count=1 -v -timeout 60m -run "^($all)\$"

# what is published: archives, Debian packages and checksums in dist/; the same commit gives the same bytes
release *targets:
    bash .ci/release {{targets}}

# n iterations of every kind in one process, or as many as some minutes allow; writes doc/long-run.md and its picture
long-run n="5000" minutes="1440":
    RALPH_LONG_RUN={{n}} RALPH_LONG_RUN_MINUTES={{minutes}} go test ./internal/e2e -run '^TestLongRun$' -count=1 -v -timeout 30h \
        -args -long

# minutes with the real Claude Code (RALPH_TEST_CLAUDE names its program) and a scripted model that thinks so many seconds
# before each answer; writes doc/night.md and its picture
night minutes="480" thinks="3":
    RALPH_NIGHT={{minutes}} RALPH_NIGHT_THINKS={{thinks}} go test ./internal/e2e -run '^TestNight$' -count=1 -v -timeout 30h -args -long

# every fuzz target in turn, so many seconds each; a text chooses among them
fuzz seconds="60" text="":
    .ci/fuzz {{seconds}} {{text}}

# lying and harmful agents of every class in plain loops and in git ralph; writes the table into doc/honesty.md
honesty:
    RALPH_HONESTY=1 go test ./internal/e2e -run '^TestHonesty$' -count=1 -v -timeout 60m
