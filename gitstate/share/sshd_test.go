package share

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

// sshd starts a real ssh server on the loopback address, with its own keys and
// settings, that only admits the present user. It returns the beginning of an address
// and the environment with these keys for git. If the server or ssh is missing, or
// the login fails, the test is skipped.
func sshd(t *testing.T) (address, env string) {
	t.Helper()
	server := "/usr/sbin/sshd" // often not in PATH
	if _, err := os.Stat(server); err != nil {
		if server, err = exec.LookPath("sshd"); err != nil {
			t.Skip("there is no sshd here")
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Skipf("who runs the test has no name: %v", err)
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "mine"} {
		out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key)).CombinedOutput()
		if err != nil {
			t.Skipf("there is no ssh-keygen here: %v %s", err, out)
		}
	}
	port := freePort(t)
	host, err := os.ReadFile(file("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"known": fmt.Sprintf("[127.0.0.1]:%d %s", port, host),
		"config": strings.Join([]string{"ListenAddress 127.0.0.1", "HostKey " + file("host"), "PidFile none",
			"AuthorizedKeysFile " + file("mine.pub"), "PasswordAuthentication no", "KbdInteractiveAuthentication no",
			"UsePAM no", "StrictModes no", "PermitRootLogin prohibit-password", ""}, "\n"),
	} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(server, "-D", "-f", file("config"), "-E", file("log"), "-p", fmt.Sprint(port))
	if _, err := os.Stat("/run/sshd"); err != nil && os.Getuid() == 0 {
		// Root's sshd needs this folder. It gets one in its own mount namespace.
		own := `mount -t tmpfs none /run && mkdir /run/sshd && exec "$0" "$@"`
		c = exec.Command("unshare", append([]string{"--mount", "sh", "-c", own}, c.Args...)...)
		if out, err := exec.Command("unshare", "--mount", "sh", "-c", own, "true").CombinedOutput(); err != nil {
			t.Skipf("sshd wants /run/sshd, which is not here: %v %s", err, out)
		}
	}
	answers(t, c, port)
	login := fmt.Sprintf("ssh -F none -i %s -oIdentitiesOnly=yes -oIdentityAgent=none -oBatchMode=yes "+
		"-oUserKnownHostsFile=%s -oGlobalKnownHostsFile=none -oStrictHostKeyChecking=yes", file("mine"), file("known"))
	at := []string{"-p", fmt.Sprint(port), "--", me.Username + "@127.0.0.1", "git --version"}
	if out, err := exec.Command("ssh", append(strings.Fields(login)[1:], at...)...).CombinedOutput(); err != nil {
		log, _ := os.ReadFile(file("log"))
		t.Skipf("the sshd here does not let %s in: %v %s%s", me.Username, err, out, log)
	}
	return fmt.Sprintf("ssh://%s@127.0.0.1:%d", me.Username, port), "GIT_SSH_COMMAND=" + login
}
