// Package weaken owns the question whether a change makes the tests of a
// project weaker. It compares the files of a change before and after, without
// running anything: it reads no clock, file or network, and the same input gives
// the same findings in the same order.
//
// # What is found
//
//   - removed: a test that existed is gone. A test is the same test under
//     another name, in another file or another folder when its body is, or is
//     similar enough (names and literals); a test whose assertions reappear in
//     new tests (split, merged, made a table) is not gone.
//   - skipped: a test that ran is skipped, marked as expected to fail, put
//     under a build constraint or a condition, or its suite is; it returns under a
//     condition before it has asserted anything; what surrounds it keeps it from being
//     called (a private method, an abstract class, an override in a subclass, a function
//     that nothing calls); a helper, fixture or set-up of it skips; a decorator of the project
//     swallows what fails in it, or does not run it. A test that is new may be skipped. `.only` and its
//     kin keep other tests from running and are found in new tests too.
//   - assertions: a test, or a helper in a test file, asserts less than
//     before. Assertions are counted, those of helpers with them, times the rows
//     of the table that they run for; ones that cannot fail (assert True, x == x,
//     if false, behind a return, inside a try whose handler swallows, in a function that nothing
//     calls or that a helper is given which drops it) are not. Fewer of them stand without a
//     condition than before (an if with an else that asserts as well is none).
//   - cases: the table of a test has fewer different rows.
//   - escape: something ends or bends the whole run: TestMain that does not
//     run the tests, os._exit in a test module, collection hooks in conftest.py,
//     a load_tests that leaves tests out, a redefined expect, a process.on that
//     exits, code that ends the process when it sees that tests run, that turns
//     assertions off or takes their place (signs.go), values of the code that are equal
//     to everything.
//   - config: what a check's command resolves to was changed: the script, the
//     recipe of make or just, the script of package.json, the settings of the
//     runner, linter or compiler; or something is added that takes their place.
//
// # What does not reject
//
// Findings reject. Report.Notes are for a person to look at: a test, or
// assertions, that went with what they exercised (a name that the code of the change
// defined and no longer holds, unless it has another name now), and assertions
// that compare with a value no longer (equality to truth, a class of errors to
// any), files that are left with fewer tests because some were joined, and settings of a
// linter that the same change raises. Report.Open are lost assertions and rows beside changed code, lost tests that
// name what the change altered, and tests that are skipped on other systems alone: they reject
// unless the old tests, run on the new code by a runner that is known, pass; lost tests
// reject then as well when there are fewer than before.
// Files of continuous integration are the business of guard.protected.
// Tests without assertions and calls that name next to nothing, and those that assert
// constants, are nothing to lose.
//
// # How each language is read
//
//   - Go: go/parser says what a file declares and which braces are those of values: TestXxx, FuzzXxx, Example
//     with output, methods of suites, Ginkgo trees. Bodies are then read like those of the others.
//   - Go's functions, Python, JavaScript and TypeScript, Rust, and Java with its kin as trees of tokens and
//     brackets; Python's indentation becomes brackets first (tree.go). The words of a
//     language stand in one table (words.go), control flow (statements.go) and the counting
//     of assertions (walk.go) are the same for all, and a file each says where tests stand:
//   - Python: functions and methods named
//     test*, classes that pytest or unittest collect, decorators, parametrize,
//     subclasses; the last definition of a name counts, as in Python.
//   - JavaScript and TypeScript: it, test, describe and their
//     modifiers and prefixes, options objects, each, subtests, scripts of assertions.
//   - Rust: test attributes anywhere, #[cfg(test)] modules
//     inside source files, cfg and ignore, rstest cases, and tests that a macro of the
//     project makes, when its name says so.
//   - Java, Kotlin, Groovy, Scala: annotations of JUnit 3 to 5 and
//     TestNG, argument providers, nested classes, names that Maven collects.
//   - Other languages (C, C++, C#, Ruby, PHP, Swift, Elixir, shell, …): the
//     file is one unit; tests, assertions and skips are counted by the names that
//     their frameworks use. A rename is the same file under another name.
//
// Comments and strings are never taken for code. Not counted as assertions are, in
// Go, checks of the error of a call into the standard library (`dir, err :=
// os.MkdirTemp(…)`), which come and go with the call. A helper is compared by itself
// when its name says that it asserts, or when it gets a *testing.T; others
// are judged by the tests of the change that call them.
//
// # What may be changed
//
// A script, recipe or package script that a check runs may gain commands when
// nothing that was there can be skipped by them: every old line stands in its
// order, new ones are single plain commands, and a shell script stops at the
// first failure (set -e). A file that did not exist may be added, except where it
// takes the place of another one or its settings leave something out: by words that
// do, or because they name what runs and a test of the checkpoint is not among it. Of
// tsconfig.json, Cargo.toml, pom.xml, pyproject.toml, vite.config, mix.exs, project files
// of .NET and package.json only the parts count that decide about checks. The scripts of
// packages count when a runner of many packages starts them.
//
// Code that a check exercises may change, also when a script of the check starts,
// sources or imports it (behind.go): what is started for its output, libraries of
// functions, modules, lists of sources. In the process of the check it may not end
// or bend the run (bends.go, imports.go). What a wrapper runs through a variable
// cannot be followed; the files that it could be are noted when they change.
//
// # What is not found
//
// An assertion replaced by another one that says less is only noted
// (assertEqual by assertIsNotNone), and a changed expected value is not: the
// checkpoint's own tests, run against the new code, are there for that
// (JudgeOldTests). They are there, too, for what stands around an unchanged
// test: set-up functions, fixtures, mocks, hooks. Not seen are
// assertions in callbacks of events that never happen, and those
// that stand outside of tests, tests that are generated,
// doctests, and expected output in files other than Jest's snapshots. Helpers that
// live in files which the change does not touch count one assertion if their
// name says so. Comparing a value with itself counts as nothing, also where a test
// means it (the reflexivity of ==). A file above 4 MiB has no tests.
//
// Some honest changes are found as well: changing the build script that a check runs, a condition
// added in front of an existing test. For those a task has allow_test_changes.
package weaken
