package client

import (
	"os"
	"path/filepath"
	"strings"

	"git-ralph/loop/session"
)

// homeScript makes the client's home folder and becomes what follows. It runs
// inside of the sandbox: only there the paths of the request are true. A file
// that is too long for one argument comes in parts. A login that the client
// renews goes through the link.
const homeScript = `set -eu; umask 077; dir=$1; login=$2; to=$3; shift 3; mkdir -p "$dir"; cd "$dir"
while [ "$1" != -- ]; do
  case $1 in */*) mkdir -p "${1%/*}" ;; esac
  if [ "$2" = new ]; then printf %s "$3" >"$1"; else printf %s "$3" >>"$1"; fi
  shift 3
done
shift
if [ -n "$to" ] && [ -e "$login" ] && [ ! -e "$to" ]; then mkdir -p "${to%/*}"; ln -s "$login" "$to"; fi
cd "$1"; shift; exec "$@"`

// Home is a folder of the client's own for one run, with nothing of the user's
// but a link to the login.
type Home struct {
	// Login is the file of the user's login, relative to HOME; LoginTo is where
	// the client looks for it, relative to the folder. "" = none.
	Login, LoginTo string
	// Files are made in it: path, relative, and contents.
	Files [][2]string
}

// HomeDir is the folder: beside the handoff, else in the temporary folder.
func HomeDir(req session.Request, env []string, client string) string {
	if req.HandoffFile != "" {
		return filepath.Join(filepath.Dir(req.HandoffFile), client)
	}
	dir := Get(env, "TMPDIR")
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "git-ralph-"+client+"-"+req.EventID)
}

// maxPart is the most of a file that one argument holds; Linux takes 128 KiB.
const maxPart = 100 << 10

// Argv is the beginning of a command line that makes the folder dir.
func (h Home) Argv(req session.Request, env []string, dir string) []string {
	argv := []string{"/bin/sh", "-c", homeScript, "home", dir, filepath.Join(Get(env, "HOME"), h.Login), h.LoginTo}
	for _, f := range h.Files {
		text, how := strings.ReplaceAll(f[1], "\x00", ""), "new"
		for {
			n := min(len(text), maxPart)
			argv = append(argv, f[0], how, text[:n])
			if text, how = text[n:], "more"; text == "" {
				break
			}
		}
	}
	return append(argv, "--", req.Dir)
}
