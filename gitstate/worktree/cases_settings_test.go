//go:build linux

package worktree

// settingsCases are about what changes the meaning of a worktree: settings,
// attributes, states of the index, and rules that change during an iteration.
var settingsCases = []diffCase{
	{name: "attr-removed-before", why: "attributes that are gone when the checkpoint is taken", setup: `echo '*.bat eol=crlf' > .gitattributes; printf 'x\r\n' > r.bat; printf 's\r\n' > s.bat; printf 't\r\n' > t.bat; touch -d '-1 hour' *.bat; commit; rm .gitattributes`, edit: `printf 'z\r\n' > r.bat; rm s.bat`, noKeep: "git reads attributes from its index while it removes them there"},
	{name: "attr-changed-before", why: "attributes that were edited since git wrote the files", setup: `echo '*.bat eol=crlf' > .gitattributes; printf 'x\r\n' > r.bat; printf 's\r\n' > s.bat; touch -d '-1 hour' *.bat; commit; echo '# none' > .gitattributes`, edit: `rm r.bat s.bat`},
	{name: "attr-eol-autocrlf-mix", why: "eol=crlf beside autocrlf=input", setup: `git config core.autocrlf input; echo '*.bat eol=crlf' > .gitattributes; printf 'x\r\n' > r.bat; printf 'y\n' > y.txt; printf 'z\r\n' > z.txt; commit; rm r.bat y.txt; git checkout -q r.bat y.txt`, edit: `printf 'x\r\nq\r\n' > r.bat; printf 'y\r\n' > y.txt; printf 'n\r\n' > n.bat; rm z.txt`},
	{name: "attr-eol-lf-autocrlf-true", why: "eol=lf beside autocrlf=true", setup: `git config core.autocrlf true; printf '*.sh text eol=lf\n*.raw -text\n' > .gitattributes; printf 'a\n' > s.sh; printf 'b\n' > b.txt; printf 'c\r\n' > c.raw; commit; rm b.txt s.sh; git checkout -q b.txt s.sh`, edit: `printf 'a\r\n' > s.sh; rm b.txt; printf 'd\r\n' > c.raw; printf 'e\r\n' > e.txt`},
	{name: "core-eol-crlf", why: "core.eol", setup: `git config core.eol crlf; echo '*.txt text' > .gitattributes; printf 'x\r\n' > r.txt; commit; rm r.txt; git checkout -q r.txt`, edit: `printf 'y\r\n' > r.txt; rm a.txt`},
	{name: "attr-nested-changed-by-agent", why: "the agent edits the attributes of a folder", setup: `mkdir s; echo '*.txt text' > s/.gitattributes; printf 'x\r\n' > s/r.txt; commit`, edit: `echo '*.txt -text' > s/.gitattributes; printf 'y\r\n' > s/r.txt; printf 'n\r\n' > s/n.txt`},
	{name: "attr-gitattributes-symlink", why: "a symbolic link is no attribute file", setup: `echo '*.txt text' > rules; ln -s rules .gitattributes; printf 'x\r\n' > r.txt; commit`, edit: `printf 'y\r\n' > r.txt`},
	{name: "attr-ident-untouched", why: "an expanded ident that nobody touched", setup: `echo '*.c ident' > .gitattributes; printf '/* $Id$ */\n' > i.c; commit; rm i.c; git checkout -q i.c`, edit: `rm i.c`},
	{name: "lfs-pointer-unconfigured", why: "files of git lfs where it is not set up", setup: `echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n' > p.bin; commit`, edit: "rm p.bin", refuse: "filter"},
	{name: "lfs-pointers-skipped", why: "git lfs that leaves pointers in the worktree", setup: `git config filter.lfs.clean cat; git config filter.lfs.smudge cat; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n' > p.bin; commit`, edit: "new p.bin other; new q.bin"},

	{name: "index-v4-intent-to-add", why: "version 4 with an intent to add", setup: "new i; new d/j; git add -N i d/j; git update-index --index-version 4", edit: "new i 2; rm d/j; new n"},
	{name: "split-index-intent-to-add", why: "a split index with flags", setup: "git update-index --split-index; new i; git add -N i; git update-index --assume-unchanged run.sh", edit: "new i 2; new n"},
	{name: "untracked-cache-stale", why: "an untracked cache that is out of date", setup: "git config core.untrackedCache true; git update-index --untracked-cache; git status >/dev/null; new u; new d/u2; new q/r", edit: usualEdits + "rm u; new q/s"},
	{name: "untracked-cache-keep", why: "core.untrackedCache=keep", setup: "git config core.untrackedCache keep; new u", edit: usualEdits},
	{name: "fsmonitor-valid-bit", why: "the index says that a file has not changed, and it has", setup: `printf '#!/bin/sh\nprintf "tok\\0"\n' > .git/fsm; chmod 755 .git/fsm; git config core.fsmonitor .git/fsm; git update-index --fsmonitor; git update-index --fsmonitor-valid a.txt; new a.txt mine`, edit: "new a.txt agent; new n"},
	{name: "checkstat-minimal", why: "core.checkStat=minimal", setup: "git config core.checkStat minimal; git update-index --refresh", edit: usualEdits},
	{name: "trustctime-false", why: "core.trustctime off: the change time counts all the same", setup: "git config core.trustctime false; touch -d '2020-01-01' a.txt; git update-index -q --refresh", edit: "printf 'bbb\\n' > a.txt; touch -d '2020-01-01' a.txt; new n", noKeep: "git does not look at the change time"},
	{name: "preloadindex-false", why: "core.preloadIndex off", setup: "git config core.preloadIndex false", edit: usualEdits},
	{name: "filemode-false-exec", why: "core.fileMode off, and executable bits come and go", setup: "git config core.fileMode false; chmod 755 a.txt; chmod 644 run.sh", edit: "chmod 644 a.txt; chmod 755 d/x.txt; new run.sh 2"},
	{name: "sparse-cone-file-outside-before", why: "a person's file outside the cone", setup: "new k1/f; new k2/f; commit; git sparse-checkout set k1; new k2/mine", edit: "new k2/mine 2; new k1/n", noOracle: "git add refuses paths outside", noKeep: "the same"},
	{name: "autocrlf-split-index", why: "conversions and a split index", setup: `git config core.autocrlf input; git update-index --split-index; printf 'u\r\n' > u.txt`, edit: `printf 'a\r\n' > a.txt; rm u.txt; printf 'n\r\n' > n.txt`},

	{name: "agent-changes-info-exclude", why: "info/exclude as it was at the checkpoint", setup: "echo secret >> .git/info/exclude; new secret", edit: "echo other > .git/info/exclude; new secret 2; new other; new n"},
	{name: "ign-excludesfile-relative", why: "core.excludesFile relative to the worktree", setup: `printf '*.swp\n' > rules; git config core.excludesFile rules; commit`, edit: "new x.swp; new y", quiet: "x.swp"},
	{name: "ign-excludesfile-missing", why: "core.excludesFile that is not there", setup: `git config core.excludesFile "$HOME/nowhere"`, edit: "new x.swp; new y"},
	{name: "ign-excludesfile-folder", why: "core.excludesFile that is a folder", setup: `mkdir "$HOME/exd"; git config core.excludesFile "$HOME/exd"`, edit: "new x.swp; new y", noOracle: "git fails", noKeep: "git fails"},
	{name: "ign-tracked-file-itself", why: "a tracked file that is ignored itself", setup: "new gen.txt; echo gen.txt > .gitignore; git add -f gen.txt .gitignore; git commit -qm g", edit: "new gen.txt 2; new s/gen.txt", quiet: "s s/gen.txt"},
	{name: "config-include-identity", why: "an identity in an included file", setup: `printf '[user]\n\tname = I\n\temail = i@example.com\n' > "$HOME/inc"; git config include.path "$HOME/inc"`, edit: usualEdits},
	{name: "identity-from-env", why: "an identity in the environment only", setup: "git config --unset user.name || true", edit: usualEdits},
	{name: "partial-clone-missing-blob", why: "blobs that were never fetched", setup: `new k1/f; new k2/f two; commit; git config uploadpack.allowFilter true; git clone -q --no-checkout --filter=blob:none "file://$PWD" ../pc; cd ../pc; git sparse-checkout set k1; git checkout -q main`, root: "../pc", edit: "new k1/f 2; new k1/n; rm a.txt"},
}

// kindsCases are about kinds, names and modes of files that change places.
var kindsCases = []diffCase{
	{name: "case-only-rename", why: "names that differ in case only", edit: "mv a.txt A.TXT; mv d D; new D/n"},
	{name: "symlink-dir-symlink", why: "a link becomes a folder, a link again, and a folder", setup: "ln -s d ld; commit", edit: "rm ld; new ld/f; rm -r ld; ln -s d ld; rm ld; new ld/g"},
	{name: "dir-symlink-dir", why: "a folder becomes a link and a folder again", edit: "mv d d2; ln -s d2 d; rm d; mv d2 d; new d/x.txt 2"},
	{name: "dir-symlink-dir-stays-away", why: "the contents stay under another name", edit: "mv d d2; ln -s d2 d; new d/late"},
	{name: "file-dir-file", why: "a file becomes a folder and a file again", edit: "rm a.txt; new a.txt/in; rm -r a.txt; new a.txt other"},
	{name: "file-dir-swap", why: "a file and a folder change places", edit: "mv a.txt t; mv d a.txt; mv t d"},
	{name: "untracked-file-to-dir", why: "a person's file becomes a folder", setup: "new u mine", edit: "rm u; new u/in/deep"},
	{name: "untracked-dir-to-file", why: "a person's folder becomes a file", setup: "new u/in/deep mine", edit: "rm -r u; new u"},
	{name: "untracked-dir-to-symlink-outside", why: "a person's folder becomes a link out of the worktree", setup: "new u/in mine", edit: `mkdir "$HOME/o"; echo o > "$HOME/o/in"; rm -r u; ln -s "$HOME/o" u`},
	{name: "ignored-file-to-dir", why: "an ignored file becomes a folder", setup: "echo .env > .gitignore; commit; new .env S", edit: "rm .env; new .env/x"},
	{name: "ignored-file-to-symlink", why: "an ignored file becomes a link", setup: "echo .env > .gitignore; commit; new .env S", edit: "rm .env; ln -s /etc/passwd .env"},
	{name: "setid-sticky", why: "set-id and sticky bits", setup: "chmod 4755 run.sh; chmod 2644 a.txt; chmod 1777 d; chmod 2755 d/e", edit: "chmod 755 run.sh; new a.txt 2; rm -r d; new n"},
	{name: "hardlinks-tracked", why: "two tracked names of one file", setup: "ln a.txt b.txt; ln a.txt d/c.txt; commit", edit: "echo x >> a.txt; rm d/c.txt"},
	{name: "hardlink-made", why: "a new name of a tracked file", edit: "ln a.txt n; echo x >> n"},
	{name: "device-node", why: "a device", setup: "mknod dev c 1 3 2>/dev/null || mkfifo dev", edit: "mknod dev2 c 1 5 2>/dev/null || mkfifo dev2; new n"},
	{name: "symlink-long-target", why: "a link with a target of 4,000 bytes", setup: `ln -s "$(printf 'x%.0s' $(seq 4000))" l; commit`, edit: `rm l; ln -s "$(printf 'y%.0s' $(seq 4000))" l`},
	{name: "symlink-loop", why: "links in a circle", setup: "ln -s l2 l1; ln -s l1 l2; commit", edit: "rm l1; ln -s l1 l1; new l2x"},
	{name: "name-hfs-ignorable", why: "what a Mac takes for .git", setup: "new \"$(printf '.g\\342\\200\\214it')\"; commit", edit: "new \"$(printf '.g\\342\\200\\214it')\" 2; new \"$(printf '.gi\\342\\200\\215t')\"; new n", noOracle: "git adds the name, and git fsck refuses it"},
	{name: "name-newline-ignored", why: "rules and names with newlines", setup: "printf '*.log\\n' > .gitignore; commit", edit: "new \"$(printf 'a\\nb.log')\"; new \"$(printf 'a.log\\nb')\"", quiet: "a\\x0ab.log"},
	{name: "empty-file", why: "files without a byte", setup: ": > e1; : > e2; commit; : > e3", edit: "echo x > e1; rm e2 e3; : > e4"},
	{name: "gitmodules-by-agent", why: "a .gitmodules without submodules", edit: "printf '[submodule \"x\"]\\n\\tpath = d\\n\\turl = ./x\\n' > .gitmodules; new n"},
	{name: "nested-made-in-untracked", why: "git init in a person's own folder", setup: "new u/mine", edit: "git init -q u; new u/n", noKeep: "git records a link"},
	{name: "nested-under-refused-name", why: "a repository in a folder that git refuses", edit: "git init -q .Git/x; new n", noKeep: "git add fails"},
	{name: "nested-in-place-of-file", why: "an ignored folder with a repository in the place of a tracked file", setup: "echo 'a.txt/' > .gitignore; commit", edit: "rm a.txt; git init -q a.txt/r; new a.txt/x"},
}
