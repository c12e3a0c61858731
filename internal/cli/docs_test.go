package cli

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

const root = "../.."

// documents are the README and everything that it leads to, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "doc", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range append(files, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"),
		filepath.Join(root, "SECURITY.md")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[file] = strings.ReplaceAll(string(data), "\r\n", "\n")
	}
	if len(out) < 10 {
		t.Fatalf("only %d documents", len(out))
	}
	return out
}

// eachDocument calls f for every document in order.
func eachDocument(t *testing.T, f func(t *testing.T, file, text string)) {
	t.Helper()
	docs := documents(t)
	for _, file := range slices.Sorted(maps.Keys(docs)) {
		t.Run(filepath.Base(file), func(t *testing.T) { f(t, file, docs[file]) })
	}
}

var (
	spans   = regexp.MustCompile("`([^`\n]+)`")
	links   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	invoked = regexp.MustCompile(`git[ -]ralph (?:-C (?:<[^>]*>|\S+) )?([a-z][a-z-]*)([^#|;&)` + "`" + `\n]*)`)
	flags   = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
	names   = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	setting = regexp.MustCompile(`^([a-z]+)\.([a-z_]+)$`)
	place   = regexp.MustCompile(`^(internal|loop|guard|gitstate|plan|notes|context|fixtures|doc)/[\w./-]+$`)
)

// TestDocumentsNameWhatExists: every command, flag, path, test and setting that
// the documents name exists, and every link leads somewhere.
func TestDocumentsNameWhatExists(t *testing.T) {
	commands, tests := commandFlags(t), testNames(t)
	settings := documents(t)[filepath.Join(root, "doc", "configuration.md")]
	eachDocument(t, func(t *testing.T, file, text string) {
		for _, m := range codeOf(text) {
			for _, call := range invoked.FindAllStringSubmatch(m, -1) {
				known, ok := commands[call[1]]
				if !ok {
					t.Errorf("there is no git ralph %s", call[1])
					continue
				}
				args, _, _ := strings.Cut(call[2], " -- ")
				for _, f := range flags.FindAllStringSubmatch(args, -1) {
					if !known[f[1]] {
						t.Errorf("git ralph %s has no flag --%s", call[1], f[1])
					}
				}
			}
		}
		for _, m := range spans.FindAllStringSubmatch(text, -1) {
			switch span := m[1]; {
			case names.MatchString(span) && !tests[span]:
				t.Errorf("there is no test %s", span)
			case strings.HasSuffix(span, ".txtar"):
				exists(t, filepath.Join(root, "internal/e2e/testdata/script", span))
			case place.MatchString(span):
				exists(t, filepath.Join(root, span))
			case setting.MatchString(span) && !strings.HasSuffix(span, ".md") && !strings.HasSuffix(span, ".lock"):
				table := "\n## [" + setting.FindStringSubmatch(span)[1] + "]\n"
				if strings.Contains(settings, table) && !strings.Contains(settings, "| `"+span+"`") &&
					!strings.Contains(settings, "["+span+".") {
					t.Errorf("there is no setting %s", span)
				}
			}
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if exists(t, target) && anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s has no heading #%s", target, anchor)
			}
		}
	})
}

// TestReadmeIsShort: it is for newcomers; what is looked up is in doc/.
func TestReadmeIsShort(t *testing.T) {
	readme := documents(t)[filepath.Join(root, "README.md")]
	if n := strings.Count(readme, "\n"); n >= 200 {
		t.Errorf("the README has %d lines", n)
	}
}

// codeOf is what a document shows as code: spans, and the lines of blocks.
func codeOf(text string) []string {
	var out []string
	fenced := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			out = append(out, line)
		default:
			for _, m := range spans.FindAllStringSubmatch(line, -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// commandFlags are the flags of every command, hidden ones included.
func commandFlags(t *testing.T) map[string]map[string]bool {
	t.Helper()
	parser, err := kong.New(&Commands{}, kong.Name("git ralph"))
	if err != nil {
		t.Fatal(err)
	}
	// hook runs before the command line is parsed: every tool call starts it.
	out := map[string]map[string]bool{"help": {}, "hook": {}}
	for _, node := range parser.Model.Children {
		known := map[string]bool{"help": true, "dir": true, "verbose": true}
		var add func(n *kong.Node)
		add = func(n *kong.Node) {
			for _, f := range n.Flags {
				known[f.Name] = true
			}
			for _, c := range n.Children {
				add(c)
			}
		}
		add(node)
		for _, name := range append(node.Aliases, node.Name) {
			out[name] = known
		}
	}
	return out
}

// testNames are the tests and benchmarks of the project.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(data, -1) {
			out[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil {
		t.Errorf("%s is named and does not exist", path)
	}
	return err == nil
}

// anchors are the headings of a document, as links name them.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, line := range strings.Split(string(data), "\n") {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			kept := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(title), "")
			out = append(out, strings.ReplaceAll(kept, " ", "-"))
		}
	}
	return out
}

// TestPromisesAreHeld: every promise, and every rule of SECURITY.md, names its test.
func TestPromisesAreHeld(t *testing.T) {
	docs := documents(t)
	text, _, _ := strings.Cut(docs[filepath.Join(root, "doc", "promises.md")], "\n## How each is run")
	_, lines, _ := strings.Cut(docs[filepath.Join(root, "SECURITY.md")], "\n## The test for each rule")
	lines, _, _ = strings.Cut(lines, "\n## ")
	if strings.Count(lines, "\n| ") < 10 {
		t.Errorf("SECURITY.md names the tests of too few rules:\n%s", lines)
	}
	text += lines
	held := regexp.MustCompile("`((Test|Fuzz|Benchmark)\\w+|[\\w-]+\\.txtar)`|honesty\\.md")
	rows := 0
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise ") || strings.HasPrefix(line, "| rule ") {
			continue
		}
		if rows++; !held.MatchString(line) {
			t.Errorf("no test is named: %s", line)
		}
	}
	if rows < 30 {
		t.Errorf("only %d promises were looked at", rows)
	}
}
