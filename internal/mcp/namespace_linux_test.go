package mcp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"git-ralph/loop/session"
)

// noNamespaces is the exit code of a child that may not mount.
const noNamespaces = 77

// childOther: "bound RUNDIR ELSEWHERE" shows the run's folder read-only at
// another path, hides it where it was, and calls a tool from there.
func childOther(job string) int {
	words := strings.Fields(job)
	dir, elsewhere := words[1], words[2]
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{dir, elsewhere, "", unix.MS_BIND},
		{"", elsewhere, "", unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV},
		{"tmpfs", dir, "tmpfs", unix.MS_RDONLY},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			fmt.Fprintf(os.Stderr, "mount %s: %v\n", m.target, err)
			return noNamespaces
		}
	}
	if f, err := os.Create(filepath.Join(elsewhere, "x")); err == nil {
		f.Close()
		fmt.Fprintln(os.Stderr, "the folder can be written")
		return 4
	}
	env := os.Environ()
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, SocketVar+"="); ok {
			env[i] = SocketVar + "=" + strings.Replace(path, dir, elsewhere, 1)
		}
	}
	return childCall(env, os.Args[1], os.Args[2])
}

// TestFromInsideNamespaces: processes in a user namespace reach the endpoint over a
// read-only mount, whatever their uid there.
func TestFromInsideNamespaces(t *testing.T) {
	for _, uid := range []int{0, 1000, 4711} {
		dir, elsewhere := t.TempDir(), t.TempDir()
		b := box(t, "coding", func(s *session.Scope) { s.RunDir = dir })
		cmd := child(t, "bound "+dir+" "+elsewhere, b.Env(), "ralph_mark_task_complete", `{"task_id":"T-002"}`)
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getgid(), Size: 1}},
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN},
		}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == noNamespaces {
			t.Skipf("this machine refuses namespaces: %s %v", out, err)
		}
		if err != nil || b.Collected().Complete == nil {
			t.Errorf("as %d: %s, %v", uid, out, err)
		}
	}
}
