package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receive reads the order, and makes the overlay of the home folder when the order wants one.
// Both take as long as all else that a sandbox needs, which is done beside them.
func (i *initProcess) receive(in *os.File) {
	b, err := io.ReadAll(in)
	in.Close()
	if err == nil {
		err = json.Unmarshal(b, &i.order)
	}
	if err != nil {
		i.ordered <- fmt.Errorf("read the order: %w", err)
		return
	}
	i.ordered <- nil
	if i.order.Spec.Mechanism == Namespaces {
		i.layer <- makeHomeLayer(i.order.Spec)
	}
}

// setUpKeeper confines a keeper as far as its order wants that.
func (i *initProcess) setUpKeeper() error {
	if err := <-i.ordered; err != nil || i.order.Spec.Mechanism == None {
		return err
	}
	if err := yieldMemory(); err != nil {
		return err
	}
	if err := confine(i.order.Spec); err != nil || !i.order.Spec.FixedAttributes {
		return err
	}
	return fixAttributes()
}

// setUpNamespaces confines the first process of the namespaces and the thread that will start the
// command.
func (i *initProcess) setUpNamespaces() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("set the parent death signal: %w", err)
	}
	g, gerr := breakGround()
	if err := <-i.ordered; err != nil {
		return err
	}
	if gerr != nil {
		return gerr
	}
	spec := i.order.Spec
	boundProcesses(spec.MaxProcesses)
	m := &mounter{spec: spec, covers: i.order.Covers, hide: i.order.Hide, ground: g, layer: i.layer}
	if err := m.build(); err != nil {
		return err
	}
	if spec.Network == NetworkLoopback {
		if err := loopbackUp(); err != nil {
			return err
		}
	}
	// The session keyring of the user may hold tickets; an empty one does not.
	// A kernel without keyrings has none to hide.
	unix.KeyctlJoinSessionKeyring("")
	if spec.CloseAbstract {
		if err := closeAbstract(); err != nil {
			return err
		}
	}
	// Not dumpable: a process of the same user with as few capabilities as
	// this thread could otherwise trace it and act through the other threads.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("set dumpable: %w", err)
	}
	if spec.FixedAttributes {
		if err := fixAttributes(); err != nil {
			return err
		}
	}
	return dropCaps(clearBounding)
}

// ground is what every sandbox has, whatever its order.
type ground struct {
	mounts   []mountPoint // outside
	nodes    []node
	dev, pts int // detached mounts of new file systems
	proc     int
	procErr  error // why there is no new /proc
}

// breakGround makes what needs no order. Nothing is covered yet.
func breakGround() (g ground, err error) {
	if err := yieldMemory(); err != nil {
		return g, err
	}
	if err := closeCgroups(); err != nil {
		return g, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return g, fmt.Errorf("make mounts private: %w", err)
	}
	if g.mounts, err = readMounts(); err != nil {
		return g, fmt.Errorf("list the mounts: %w", err)
	}
	if g.nodes, err = deviceNodes(); err != nil {
		return g, err
	}
	const quiet = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	if g.dev, err = newFS("tmpfs", quiet, "mode=755", "size=1m", "nr_inodes=1024"); err != nil {
		return g, fmt.Errorf("make a private /dev: %w", err)
	}
	if g.pts, err = newFS("devpts", quiet, "newinstance", "ptmxmode=0666", "mode=620"); err != nil {
		return g, fmt.Errorf("make a private /dev/pts: %w", err)
	}
	g.proc, g.procErr = newFS("proc", quiet|unix.MOUNT_ATTR_NODEV)
	return g, nil
}

// homeLayer is the detached overlay of a home folder, -1 where the order wants none.
type homeLayer struct {
	tree int
	err  error
}

func makeHomeLayer(s Spec) homeLayer {
	if s.Home == "" || s.HomeMode != HomeOverlay {
		return homeLayer{tree: -1}
	}
	r, err := resolve(s.Home)
	if err != nil {
		return homeLayer{-1, err}
	}
	lowers := []string{r.real}
	if s.HomeLower != "" {
		lowers = []string{filepath.Join(s.HomeLower, "upper"), r.real}
	}
	tree, err := overlay(s.HomeUpper, lowers...)
	return homeLayer{tree, err}
}

// loopbackUp starts the loopback interface of a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start the loopback interface: %w", err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("start the loopback interface: %w", err)
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS,
		uintptr(unsafe.Pointer(ifr))); errno != 0 {
		return fmt.Errorf("start the loopback interface: %w", errno)
	}
	return nil
}
