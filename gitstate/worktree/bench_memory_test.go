//go:build linux

package worktree

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ralph/fixtures/figures"
)

// BenchmarkMemory compares peak memory with that of git status: for a process that
// takes a checkpoint, and for one that takes three and restores. It measures a
// checkpoint again with an untracked file of 2 GiB, once above the size limit and
// once without a limit.
func BenchmarkMemory(b *testing.B) {
	n := 10000
	if s := os.Getenv("WORKTREE_BENCH_FILES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	p := benchPlace(b)
	generate(b, p, n)
	p.open("", "")
	bin, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	// A process starts with the peak of the one that forked it, so a small one
	// stands in between.
	peak := func(env []string, command ...string) float64 {
		c := exec.Command(bin, command...)
		c.Dir, c.Env = p.root, append(append(append([]string{}, p.env...), env...), "WORKTREE_TEST_TOOL=peak")
		c.Stderr = os.Stderr
		out, err := c.Output()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		kb, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			b.Fatal(err)
		}
		return float64(kb) / 1024
	}
	status := func() float64 { return peak(nil, p.git.Path, "status", "--porcelain") }
	tool := func(what string) float64 { return peak([]string{"WORKTREE_PEAK_TOOL=" + what}, bin, p.root) }
	for b.Loop() {
		base := status()
		b.ReportMetric(base, "git_status_MB")
		for _, what := range []string{"checkpoint", "bracket"} {
			v := tool(what)
			figures.Put(b, figures.Figure{What: "memory of a " + what, Value: v, Unit: "MB", Base: base,
				Against: "git status", Most: 1.5})
			b.ReportMetric(v/base, what+"/git")
		}
		large := filepath.Join(p.root, "large.bin")
		if err := os.WriteFile(large, nil, 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Truncate(large, 2<<30); err != nil {
			b.Fatal(err)
		}
		base = status()
		b.ReportMetric(tool("checkpoint50")/base, "checkpoint+2GiB/git")
		b.ReportMetric(tool("checkpoint")/base, "checkpoint+2GiB_stored/git")
		if err := os.Remove(large); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// peakTool runs a command and prints its peak memory in KiB.
func peakTool(command []string) error {
	c := exec.Command(command[0], command[1:]...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "WORKTREE_TEST_TOOL=") {
			c.Env = append(c.Env, strings.Replace(v, "WORKTREE_PEAK_TOOL=", "WORKTREE_TEST_TOOL=", 1))
		}
	}
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	fmt.Println(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return nil
}

// checkpointTool is the process that BenchmarkMemory watches.
func checkpointTool(root string, rounds int, o Options) error {
	e, err := toolEngine(root, o)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range rounds {
		cp, err := e.Checkpoint(ctx)
		if err != nil {
			return err
		}
		if rounds > 1 {
			if err := os.WriteFile(filepath.Join(root, "new"), []byte{byte(i)}, 0o644); err != nil {
				return err
			}
			if _, err := e.Restore(ctx, cp); err != nil {
				return err
			}
		}
	}
	return nil
}
