package e2e

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// recipe runs a script of .ci.
func recipe(t *testing.T, dir, stdin, name string, args ...string) string {
	t.Helper()
	c := exec.Command("bash", append([]string{filepath.Join(".ci", name)}, args...)...)
	c.Dir, c.Stdin = dir, strings.NewReader(stdin)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, errs.Bytes())
	}
	return string(out)
}

// billOf reads a bill of materials and compares it with what its program says of itself.
func billOf(t *testing.T, text, program string) {
	t.Helper()
	var bill struct {
		BOMFormat, SpecVersion string
		Components             []struct{ Type, Name, Version, Purl string }
	}
	if err := json.Unmarshal([]byte(text), &bill); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		want = append(want, fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version))
	}
	for _, c := range bill.Components {
		if c.Type == "library" {
			got = append(got, c.Purl)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if bill.BOMFormat != "CycloneDX" || len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("%s %s names\n%q, not\n%q", bill.BOMFormat, bill.SpecVersion, got, want)
	}
}

// TestFormula: the formula names each archive with its checksum, and is Ruby where there is
// one to say so.
func TestFormula(t *testing.T) {
	t.Parallel()
	var sums strings.Builder
	for i, name := range []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64", "windows_amd64"} {
		fmt.Fprintf(&sums, "%064d  git-ralph_v1.2.3_%s.tar.gz\n", i, name)
	}
	text := recipe(t, filepath.Join("..", ".."), sums.String(), "formula", "v1.2.3", "https://example.com/v1.2.3/")
	for i, name := range []string{"darwin_arm64", "darwin_amd64", "linux_arm64", "linux_amd64"} {
		want := fmt.Sprintf("url \"https://example.com/v1.2.3/git-ralph_v1.2.3_%s.tar.gz\"\n      sha256 \"%064d\"\n",
			name, i)
		if !strings.Contains(text, want) {
			t.Errorf("it lacks\n%s\n%s", want, text)
		}
	}
	if !strings.Contains(text, "version \"1.2.3\"") || strings.Contains(text, "windows") {
		t.Error(text)
	}
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Log("there is no ruby here that would read it")
		return
	}
	c := exec.Command(ruby, "-c")
	c.Stdin = strings.NewReader(text)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWorkflowRunsTheRecipe: what a public host runs is .ci/run and nothing of its own, with
// the go of go.mod.
func TestWorkflowRunsTheRecipe(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", ".github", "workflows", "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bash .ci/run", "go-version-file: go.mod", "fetch-depth: 0"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("it lacks %q", want)
		}
	}
}

// TestRelease makes the release of this commit for this machine twice: the bytes are the
// same, the program is small enough, its bill of materials names all modules that it was
// built from, and the Debian package has a program that runs.
func TestRelease(t *testing.T) {
	t.Parallel()
	long.Only(t, "it builds the program with the flags of a release")
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "clone")
	if out, err := exec.Command("git", "clone", "-q", "--no-local", top, dir).CombinedOutput(); err != nil {
		t.Skipf("this is no repository to make a release of: %v\n%s", err, out)
	}
	target := "linux/" + runtime.GOARCH
	var sums []string
	for range 2 {
		recipe(t, dir, "", "release", target)
		data, err := os.ReadFile(filepath.Join(dir, "dist", "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(data))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") < 2 {
		t.Errorf("two releases of one commit are\n%s\n%s", sums[0], sums[1])
	}
	for line := range strings.Lines(sums[0]) {
		f := strings.Fields(line)
		data, err := os.ReadFile(filepath.Join(dir, "dist", f[1]))
		if got := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || got != f[0] {
			t.Errorf("%s: %s, %v", f[1], got, err)
		}
	}
	packages, _ := filepath.Glob(filepath.Join(dir, "dist", "*.deb"))
	if len(packages) != 1 {
		t.Skip("there is no dpkg-deb here, and so no Debian package to try")
	}
	root := filepath.Join(t.TempDir(), "root")
	if out, err := exec.Command("dpkg-deb", "-x", packages[0], root).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	program := filepath.Join(root, "usr", "bin", "git-ralph")
	bills, _ := filepath.Glob(filepath.Join(dir, "dist", "*.cdx.json"))
	bill, err := os.ReadFile(bills[0])
	if err != nil {
		t.Fatal(err)
	}
	billOf(t, string(bill), program)
	p := newProject(t, doTask, check, nil)
	c := exec.Command(program, "demo", "--help")
	c.Dir, c.Env = p.Dir, p.Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("the program of the package: %v\n%s", err, out)
	}
	for _, name := range []string{"man/man1/git-ralph.1.gz", "bash-completion/completions/git-ralph",
		"doc/git-ralph/copyright"} {
		if !exists(filepath.Join(root, "usr", "share", filepath.FromSlash(name))) {
			t.Errorf("the package lacks %s", name)
		}
	}
}
