package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/long"
)

// TestFixedAttributes: attributes that a restore ignores cannot be changed.
// Programs that usually change them still work.
func TestFixedAttributes(t *testing.T) {
	b := newBox(t, publicPlace(t))
	attr := func(path string) string {
		buf := make([]byte, 100)
		n, err := unix.Lgetxattr(path, "user.mark", buf)
		if err != nil {
			return ""
		}
		return string(buf[:n])
	}
	file := filepath.Join(b.work, "a.txt")
	if err := unix.Setxattr(file, "user.mark", []byte("mine"), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
	const change = `python3 - <<'P'
import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
acl = b'\2\0\0\0' + b'\1\0\6\0\xff\xff\xff\xff' + b'\2\0\6\0\1\0\0\0' + b'\4\0\4\0\xff\xff\xff\xff' + b'\20\0\6\0\xff\xff\xff\xff' + b'\40\0\4\0\xff\xff\xff\xff'
def t(what, f):
    try: f(); print('changed', what)
    except OSError as e: print('refused', what, e.errno)
t('set', lambda: os.setxattr('a.txt', 'user.mark', b'evil'))
t('fset', lambda: os.setxattr(os.open('a.txt', os.O_RDONLY), 'user.mark', b'evil'))
t('lset', lambda: os.setxattr('a.txt', 'user.mark', b'evil', follow_symlinks=False))
t('remove', lambda: os.removexattr('a.txt', 'user.mark'))
t('acl', lambda: os.setxattr('a.txt', 'system.posix_acl_access', acl))
t('at', lambda: (_ for _ in ()).throw(OSError(ctypes.get_errno(), 'at')) if libc.syscall(466, -100, b'a.txt', 0, b'user.mark') else None)
P
unshare -Ur python3 -c "import os; os.setxattr('a.txt', 'user.mark', b'evil')" 2>&1 | grep -v Traceback
python3 - <<'P'
import ctypes, mmap, os, struct
libc = ctypes.CDLL(None, use_errno=True)
params = ctypes.create_string_buffer(120) # struct io_uring_params
fd = libc.syscall(425, 4, params)
if fd < 0: print('refused', 'ring', ctypes.get_errno()); raise SystemExit
sq, cq = struct.unpack_from('10I', params.raw, 40), struct.unpack_from('10I', params.raw, 80)
ring = mmap.mmap(fd, max(sq[6] + 64, cq[5] + 256), flags=mmap.MAP_SHARED)
entries = mmap.mmap(fd, 256, flags=mmap.MAP_SHARED, offset=0x10000000)
name, value, path = (ctypes.create_string_buffer(b) for b in (b'user.mark', b'evil', b'a.txt'))
at = ctypes.addressof
entries[:64] = struct.pack('<BBHiQQIIQHHIQQ', 42, 0, 0, -1, at(value), at(name), 4, 0, 0, 0, 0, 0, at(path), 0) # SETXATTR
struct.pack_into('I', ring, sq[6], 0)
struct.pack_into('I', ring, sq[1], 1)
if libc.syscall(426, fd, 1, 1, 1, None, 0) == 1 and struct.unpack_from('<Qi', ring, cq[5])[1] == 0: print('changed', 'ring')
else: print('refused', 'ring')
P
setcap cap_chown+ep a.txt; setfacl -m u:1:rw a.txt; chown 1234:1234 a.txt . ; chown -h 1234 a.txt; unshare -Ur chown 1234:1234 a.txt; true`
	const tools = `set -e
mkdir src out && echo x >src/f && ln -s f src/l && chmod 750 src/f
cp -a src copy && cp -p a.txt b.txt && mv b.txt /tmp/ && mv /tmp/b.txt . && install -m 755 a.txt i
tar cf s.tar --owner=1234 --group=1234 src && tar xpf s.tar -C out && stat -c %a out/src/f
git status --short >/dev/null; python3 -c "import shutil; shutil.copytree('src', 'tree'); shutil.copy2('a.txt', 'c')"
echo fine`
	// npm takes longer than all of the others.
	const npm = `mkdir pkg && cd pkg && echo '{"name":"p","version":"1.0.0"}' >package.json && npm pack --silent &&
mkdir ../use && cd ../use && npm init -y >/dev/null && npm install --silent --offline --no-audit ../pkg/p-1.0.0.tgz &&
test -e node_modules/p/package.json && echo installed`
	owner := func() string {
		var st unix.Stat_t
		if err := unix.Stat(file, &st); err != nil {
			t.Fatal(err)
		}
		return strings.Join([]string{string(rune('0' + st.Uid%10)), string(rune('0' + st.Gid%10))}, ":")
	}
	was := owner()
	b.spec.FixedAttributes = true
	out, _ := b.inside(change)
	if strings.Contains(out, "changed") || attr(file) != "mine" || owner() != was {
		t.Errorf("attribute %q, owner %s (%s before)\n%s", attr(file), owner(), was, out)
	}
	if n := strings.Count(out, "refused"); n != 7 {
		t.Errorf("%d of 7 calls were refused:\n%s", n, out)
	}
	if out, _ := b.inside(tools); !strings.Contains(out, "fine") || !strings.Contains(out, "750") {
		t.Errorf("tools fail:\n%s", out)
	}
	if _, err := exec.LookPath("npm"); err != nil || !long.On() {
		t.Log("npm is tried with -long, where there is one")
	} else if out, _ := b.inside(npm); !strings.Contains(out, "installed") {
		t.Errorf("npm fails:\n%s", out)
	}

	// Without FixedAttributes the attacks succeed.
	b.spec.FixedAttributes = false
	if out, _ := b.inside(change); attr(file) == "mine" || os.Getuid() == 0 && owner() == was {
		t.Errorf("nothing was changed in the open sandbox: %s\n%s", attr(file), out)
	}
}
