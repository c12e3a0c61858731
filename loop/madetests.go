package loop

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
)

// Tests that an iteration made were not there at the beginning. Where a later one changed
// such a test in more than additions, the tests of a commit in between are run as well.
// One commit serves for all tests that stood in it as they were made.

// maxBetween bounds how many commits are tried; each costs a checkout and a run of the tests.
const maxBetween = 12

// stretch is the range of commits, both ends included, in which a version of a
// test was the newest one.
type stretch struct{ from, to int }

// between lists the commits whose tests are run besides those of the base.
func (l *Loop) between(line map[string][]branchCommit, isTest func(path string, was, is []byte) bool,
	read func(object.ID, string) ([]byte, error)) ([]object.ID, error) {
	var list []stretch
	ids := map[int]object.ID{}
	for path, steps := range line {
		for j, c := range steps {
			ids[c.at] = c.id
			// The base's own run covers users' tests and the original ones.
			made := slices.ContainsFunc(steps[:j], func(c branchCommit) bool { return !c.trusted })
			if c.trusted || !made {
				continue
			}
			was, err := read(c.parent, path)
			if err != nil {
				return nil, err
			}
			is, err := read(c.id, path)
			if err != nil {
				return nil, err
			}
			if was != nil && !onlyAdds(was, is) && isTest(path, was, is) {
				list = append(list, stretch{steps[j-1].at, c.at - 1})
			}
		}
	}
	var out []object.ID
	for _, at := range points(list) {
		// The commit at which a stretch begins changed that path, so that it is known; a later
		// one of it holds the same version.
		for ; ids[at].IsZero(); at-- {
		}
		out = append(out, ids[at])
	}
	return out, nil
}

// points are the fewest places such that each stretch has one.
func points(list []stretch) []int {
	stable.Sort(list, func(a, b stretch) int { return cmp.Or(a.to-b.to, a.from-b.from) })
	var out []int
	for _, s := range list {
		if len(out) == 0 || out[len(out)-1] < s.from {
			out = append(out, s.to)
		}
	}
	return out
}

// onlyAdds reports whether a change of a file only adds lines, or words to lines that import
// something. What a test loses by additions the test guard has seen when they were made.
func onlyAdds(was, is []byte) bool {
	if is == nil {
		return false
	}
	now := bytes.Split(is, []byte("\n"))
	for _, line := range bytes.Split(was, []byte("\n")) {
		i := slices.IndexFunc(now, func(n []byte) bool { return bytes.Equal(n, line) || imports(line) && widens(line, n) })
		if i < 0 {
			return false
		}
		now = now[i+1:]
	}
	return true
}

func imports(line []byte) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	return slices.Contains([]string{"import", "from", "use", "using", "#include", "require"}, first) ||
		bytes.Contains(line, []byte("require("))
}

// widens reports whether a line has all words of another one, in their order.
func widens(line, wider []byte) bool {
	words := strings.FieldsFunc(string(wider), notWord)
	for _, w := range strings.FieldsFunc(string(line), notWord) {
		i := slices.Index(words, w)
		if i < 0 {
			return false
		}
		words = words[i+1:]
	}
	return true
}

func notWord(r rune) bool { return strings.ContainsRune(" \t\r,;(){}", r) }

// madeTests names the tests that fail in the version that an iteration made.
func (l *Loop) madeTests(ctx context.Context, base, tip object.ID, s state.State) ([]string, error) {
	history, err := l.touched(ctx, base, tip, s)
	if err != nil {
		return nil, err
	}
	isTest := func(path string, was, is []byte) bool {
		// The version to restore must be a test or a file that tests use.
		tests, _ := l.Prover.TestFiles(WeakenRequest{Files: []ChangedFile{{Path: path, Before: is, After: was}}})
		return len(tests) > 0
	}
	commits, err := l.between(history, isTest, l.contentAt)
	if err != nil {
		return nil, err
	}
	if n := len(commits) - maxBetween; n > 0 {
		l.emit("check", s, "", nil, "old tests: those of %d more commits that changed tests were not run", n)
		commits = commits[:maxBetween]
	}
	for _, c := range commits {
		names, err := l.testsOf(ctx, c, tip, s)
		if err != nil || len(names) > 0 {
			return names, err
		}
	}
	return nil, nil
}
