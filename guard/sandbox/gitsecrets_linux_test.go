package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGitSecrets: passwords in git's configuration are not in the sandbox, neither
// for git nor in its files. git works as before.
func TestGitSecrets(t *testing.T) {
	b := newBox(t, "")
	b.outside(`git config remote.origin.url https://me:SECRET1@example.invalid/x.git
		git config remote.origin.pushurl https://SECRET2abcdefghijklmnopqrstuvwxyz@example.invalid/x.git
		git config remote.other.url git@example.invalid:x.git
		git config url.https://me:SECRET3@example.invalid/.insteadOf mine:
		git config http.extraheader 'Authorization: basic SECRET4'
		git config include.path ../../../../other/included
		git config --file ../../../other/included http.https://example.invalid/.extraHeader 'Cookie: SECRET5'
		git config --file ../../../other/included include.path ~/deeper
		git config --file ~/deeper http.proxy http://me:SECRET6@proxy.invalid:3128
		git config --file ~/when github.token SECRET7
		git config includeIf.gitdir:/nowhere/.path ~/when
		echo '# https://me:SECRET8@example.invalid' >>.git/config
		git config --file ~/dotfiles/gitconfig credential.helper '!echo password=SECRET9'
		git config --file ~/dotfiles/gitconfig user.nickname nick
		ln -s dotfiles/gitconfig ~/.gitconfig
		mkdir -p ~/.config/git .git/modules/deep/name && git config --file ~/.config/git/config sendemail.smtppass SECRET10
		git config --file .git/modules/deep/name/config remote.origin.url https://me:SECRET11@example.invalid/sub
		printf '[broken\n\turl = https://me:SECRET12@example.invalid/\n' >.git/modules/deep/config
		git init -q nested && git -C nested config remote.origin.url https://me:SECRET13@example.invalid/n`)
	b.spec.ReadOnlyPaths = []string{filepath.Join(b.work, "nested")}
	look := `git config --list --show-origin --includes; git remote -v; git -C nested remote -v
		cat .git/config nested/.git/config .git/modules/deep/config .git/modules/deep/name/config ../../../other/included ~/deeper ~/when ~/.gitconfig ~/dotfiles/gitconfig ~/.config/git/config
		grep -rs SECRET .git nested/.git ~/.gitconfig ~/.config ~/dotfiles ~/deeper ~/when ../../../other /run/git-ralph || true
		git config user.nickname; git config core.bare; git remote get-url other; git log --oneline | wc -l; git status --short | wc -l`
	outside := b.outside(look)
	for _, n := range []string{"1@", "2a", "3@", "4", "5", "6@", "7", "8@", "9", "10", "11@", "12@", "13@"} {
		if !strings.Contains(outside, "SECRET"+n) {
			t.Fatalf("SECRET%s is not found outside, so this proves nothing:\n%s", n, outside)
		}
	}
	before := b.protected()
	out, exit := b.inside(look + `
		for f in .git/config ~/.gitconfig ~/dotfiles/gitconfig; do umount "$f"; rm -f "$f"; mv "$f" x; echo x >>"$f"; done; git config a.b c; ls -a /run/git-ralph
		for how in --bind --rbind; do unshare -Urm sh -c "mkdir -p /tmp/m && mount $how .git /tmp/m && cat /tmp/m/config; umount -l .git/config; umount -l /tmp/m/config; cat .git/config /tmp/m/config; mount -o remount,rw .git/config"; done
		unshare -Urm sh -c 'mount --move .git/config /tmp; cat .git/config; mount --bind / /mnt; cat "/mnt$PWD/.git/config"'
		ln .git/config hard; cp -a .git copy; cat hard copy/config; cat /proc/1/root$PWD/.git/config; tar c .git | grep -a SECRET; git bundle create b --all; grep -a SECRET b; git clone -q . cloned; git -C cloned remote -v; git submodule status`)
	if !exit.Success() {
		t.Errorf("%v", exit)
	}
	if strings.Contains(out, "SECRET") {
		t.Errorf("inside:\n%s", out)
	}
	for _, want := range []string{"remote.origin.url=https://example.invalid/x.git\n",
		"url.https://example.invalid/.insteadof=mine:\n", "http.proxy=http://proxy.invalid:3128\n",
		"origin\thttps://example.invalid/n (fetch)", "\nnick\nfalse\ngit@example.invalid:x.git\n2\n3\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("inside there is no %q:\n%s", want, out)
		}
	}
	b.unchanged(before)

	var named []string
	for _, s := range GitSecrets(b.spec, b.env) {
		rel, err := filepath.Rel(b.dir, s.File)
		if err != nil {
			t.Fatal(err)
		}
		if named = append(named, rel+" "+s.Key); strings.Contains(s.Key, "SECRET") {
			t.Errorf("the secret itself is named: %+v", s)
		}
	}
	for _, want := range []string{"home/src/proj/.git/config remote.origin.url",
		"home/src/proj/.git/config remote.origin.pushurl", "home/src/proj/.git/config url.https://example.invalid/.*",
		"home/src/proj/.git/config http.extraheader", "other/included http.https://example.invalid/.extraheader",
		"home/deeper http.proxy", "home/when github.token",
		"home/.gitconfig credential.helper", "home/.config/git/config sendemail.smtppass",
		"home/src/proj/.git/modules/deep/name/config remote.origin.url",
		"home/src/proj/.git/modules/deep/config a line", "home/src/proj/nested/.git/config remote.origin.url"} {
		if !slices.Contains(named, want) {
			t.Errorf("%q is not among\n%s", want, strings.Join(named, "\n"))
		}
	}
}

// TestGitLogins: the files that git's configuration names to log in with are hidden,
// wherever they are, so that the agent's git cannot use them to push.
func TestGitLogins(t *testing.T) {
	b := newBox(t, publicPlace(t))
	for name, text := range map[string]string{"home/.gitcookies": "SECRET1", "home/cookies": "SECRET2",
		"other/client.key": "SECRET3", "home/keys/deploy": "SECRET4", "home/keys/second one": "SECRET5",
		"home/keys/third": "SECRET6", "home/.store": "https://me:SECRET7@example.invalid", "other/store": "SECRET8"} {
		b.write(name, text)
	}
	b.outside(`git config --global http.cookieFile ~/cookies
		git config http.https://example.invalid/.sslKey "$HOME/../other/client.key"
		git config core.sshCommand "ssh -i ~/keys/deploy -i '$HOME/keys/second one' -o IdentityFile=~/keys/third -p 22"
		git config credential.helper 'store --file ~/.store'
		git config --add credential.https://example.invalid.helper "!git credential-store --file=$HOME/../other/store"`)
	out, _ := b.inside(`cat ~/.gitcookies ~/cookies ../../../other/* ~/keys/* ~/.store
		git config core.sshCommand; git log --oneline | wc -l`)
	if strings.Contains(out, "SECRET") || !strings.Contains(out, "not yours") || !strings.Contains(out, "-p 22\n2\n") {
		t.Error(out)
	}
}

// TestNoGitSecrets: without secrets nothing is covered, and git's files can be
// bound as they are.
func TestNoGitSecrets(t *testing.T) {
	b := newBox(t, "")
	b.outside(`git config remote.origin.url git@example.invalid:x.git; git config --global user.name me`)
	if covers, logins, found := gitCovers(b.spec, b.env); len(covers)+len(logins)+len(found) > 0 {
		t.Errorf("covered: %v %v %v", covers, logins, found)
	}
	if out, exit := b.inside(`git config --global user.name you && git config user.name`); !exit.Success() ||
		out != "you\n" {
		t.Errorf("%v %q", exit, out)
	}
}
