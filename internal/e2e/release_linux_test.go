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

// billOf compares a bill of materials with the build info of its program.
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
		if strings.HasPrefix(m.Path, ".") {
			continue // one of our folders
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

// TestFormula: the formula names each archive with its checksum. Ruby, if installed, runs
// it.
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
	for system, want := range map[string]string{
		"macos arm":   "url https://example.com/v1.2.3/git-ralph_v1.2.3_darwin_arm64.tar.gz",
		"linux intel": "url https://example.com/v1.2.3/git-ralph_v1.2.3_linux_amd64.tar.gz",
	} {
		c := exec.Command(ruby, append([]string{"-w", "-e", homebrew}, strings.Fields(system)...)...)
		c.Dir, c.Stdin = filepath.Join("..", ".."), strings.NewReader(text)
		out, err := c.CombinedOutput()
		if err != nil || strings.Count(string(out), "url ") != 1 || !strings.Contains(string(out), want+"\n") {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
		for _, want := range []string{"bin: git-ralph\n", "completions/git-ralph.zsh as _git-ralph\n",
			"test: git init -q\n", "test: git-ralph status exits 1\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: it lacks %q\n%s", system, want, out)
			}
		}
	}
}

// homebrew evaluates a formula from its standard input for a system and a processor, as Homebrew
// would, and prints what it does.
const homebrew = `
SYSTEM, PROCESSOR = ARGV
class Place
  def initialize(name) = @name = name
  def install(what)
    what = what.map { |from, to| "#{from} as #{to}" } if what.is_a?(Hash)
    puts "#{@name}: #{[what].flatten.join(' ')}"
  end
  def to_s = @name
end
class Formula
  def self.desc(text) = (raise "the description is long" if text.size > 80)
  def self.homepage(url) = (raise url unless url.start_with?("https://"))
  %i[version license depends_on].each { |name| define_singleton_method(name) { |*args| puts "#{name} #{args.join}" } }
  def self.url(text) = puts("url #{text}")
  def self.sha256(text) = (raise text unless text.match?(/\A\h{64}\z/))
  def self.on_macos = (yield if SYSTEM == "macos")
  def self.on_linux = (yield if SYSTEM == "linux")
  def self.on_arm = (yield if PROCESSOR == "arm")
  def self.on_intel = (yield if PROCESSOR == "intel")
  def self.test(&block) = define_method(:try, &block)
  %i[bin man1 man5 bash_completion zsh_completion fish_completion].each do |name|
    define_method(name) { Place.new(name.to_s) }
  end
  def system(*args) = puts("test: #{args.join(' ')}")
  def shell_output(line, status) = "git ralph init".tap { puts "test: #{line[/git-ralph \w+/]} exits #{status}" }
  def assert_match(want, got) = (raise got unless got.include?(want))
end
eval STDIN.read
formula = GitRalph.new
formula.install
formula.try
`

// TestWorkflowRunsTheRecipe: a public host runs only .ci/run, with the Go version of go.mod.
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

// TestRelease builds this commit's release for this machine twice, the second time as on
// another machine. The bytes are the same. The program is small enough. Its bill of materials
// names all its modules. The program in the Debian package runs.
func TestRelease(t *testing.T) {
	t.Parallel()
	long.FullOnly(t, "it builds the program twice with the flags of a release")
	top, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	target := "linux/" + runtime.GOARCH
	var dir string
	var sums []string
	// The folder, file modes and settings of a machine must not change the release.
	machines := []string{"", "umask 077; export GOFLAGS=-buildvcs=false GOAMD64=v2 GOARM64=v8.1;"}
	for i, machine := range machines {
		dir = filepath.Join(t.TempDir(), strings.Repeat("a", 1+20*i))
		c := exec.Command("bash", "-c",
			machine+`git clone -q --no-local "$0" "$1" || exit 77; cd "$1" && exec .ci/release "$2"`, top, dir, target)
		if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() == 77 {
			t.Skipf("this is no repository to make a release of: %s", out)
		} else if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		top = dir // whose commit stays the same
		data, err := os.ReadFile(filepath.Join(dir, "dist", "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(data))
	}
	if first, last := sums[0], sums[len(sums)-1]; first != last || strings.Count(first, "\n") < 2 {
		t.Errorf("two releases of one commit are\n%s\n%s", first, last)
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
