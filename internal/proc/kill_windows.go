package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// killer is a job object: it holds every process that our process starts,
// none can leave it, and it ends when we close its last handle.
type killer struct {
	job windows.Handle
	pid uint32
}

func newKiller(c *exec.Cmd) (*killer, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create job object: %w", err)
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("limit job object: %w", err)
	}
	if c.SysProcAttr == nil {
		c.SysProcAttr = &syscall.SysProcAttr{}
	}
	// Suspended until it is in the job: nothing it starts can be outside.
	c.SysProcAttr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED
	return &killer{job: job}, nil
}

// started puts the process into the job and lets it run.
func (k *killer) started(p *os.Process) error {
	k.pid = uint32(p.Pid)
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.Pid, err)
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(k.job, h); err != nil {
		return fmt.Errorf("assign process %d to its job: %w", p.Pid, err)
	}
	return resume(uint32(p.Pid))
}

func resume(pid uint32) error {
	snap, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	defer windows.CloseHandle(snap)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snap, &entry); err == nil; err = windows.Thread32Next(snap, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		t, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("open thread of process %d: %w", pid, err)
		}
		_, err = windows.ResumeThread(t)
		windows.CloseHandle(t)
		if err != nil {
			return fmt.Errorf("resume process %d: %w", pid, err)
		}
		return nil
	}
	return fmt.Errorf("resume process %d: %w", pid, err)
}

// signal knows two signals: TERM becomes Ctrl-Break for programs that share our
// console, kill ends the job.
func (k *killer) signal(sig os.Signal) error {
	if k.job == 0 {
		return nil
	}
	if sig == syscall.SIGTERM {
		if err := windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, k.pid); err != nil {
			return fmt.Errorf("send ctrl-break: %w", err)
		}
		return nil
	}
	if sig != os.Kill {
		return errors.ErrUnsupported
	}
	if err := windows.TerminateJobObject(k.job, 137); err != nil {
		return fmt.Errorf("terminate job: %w", err)
	}
	return nil
}

func (k *killer) release() {
	if k.job != 0 {
		windows.CloseHandle(k.job)
		k.job = 0
	}
}

func exitOf(st *os.ProcessState) Exit {
	if st == nil {
		return Exit{Code: -1}
	}
	return Exit{Code: st.ExitCode()}
}

// awaitEnd waits for nothing here: the job outlives the process, so the pid is
// not needed.
func awaitEnd(int) bool { return false }

// readNow is not needed: the job is empty, so pipes end by themselves.
func readNow(*os.File, []byte) int { return 0 }
