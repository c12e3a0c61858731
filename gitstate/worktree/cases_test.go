//go:build linux

package worktree

// diffCase is one repository, built by real git, and what an agent does in it.
// Scripts run under `sh -e` in the root of the worktree, with functions from
// scriptHead. A case with refuse expects Inspect to refuse it by that name, and
// runs the rest all the same where the engine itself can.
type diffCase struct {
	name, why string
	setup     string // after the base repository was made and committed
	edit      string // what the agent does; "" = the usual edits
	bare      bool   // setup makes the repository itself
	refuse    string // a peculiarity that Inspect has to refuse
	fails     string // Checkpoint fails with this text and changes nothing
	noOracle  string // why git itself cannot say what the tree is
	noKeep    string // why git itself cannot say what a keep is
	left      string // space-separated: paths that stay different, and are reported
	quiet     string // space-separated: paths that stay different because they are new and ignored
	maxFile   int64
	capture   string // Options.CaptureIgnored
	root      string // the worktree, relative; "" = the test's folder
	gitDir    string // relative; "" = .git
	user      bool   // has to run as an ordinary user
}

const scriptHead = `
set -e
new() { [ "$1" != -- ] || shift; case $1 in */*) [ -d "${1%/*}" ] || mkdir -p -- "${1%/*}";; esac; printf '%s\n' "${2:-new}" > "$1"; }
commit() { git add -A && git commit -q -m "${1:-more}"; }
`

const baseRepo = `
git init -q -b main .
new a.txt aaa; new d/x.txt x; new d/e/y.txt y; new del.txt gone; new run.sh '#!/bin/sh'; chmod 755 run.sh
commit base
`

const usualEdits = `
new a.txt changed; new new.txt; new nd/deep/n.txt; rm del.txt; rm -r d/e; chmod 644 run.sh
`

var differential = []diffCase{
	{name: "basic", why: "the usual edits"},
	{name: "nothing", why: "an agent that does nothing", edit: "true"},
	{name: "everything-removed", why: "rm -rf *", edit: "rm -rf -- *"},
	{name: "staged-before", why: "a staged file is tracked", setup: "new s.txt; git add s.txt; new a.txt staged; git add a.txt; new a.txt dirty", edit: "new s.txt 2; new a.txt agent; rm d/x.txt"},
	{name: "dirty-before", why: "the person's own edits come back", setup: "new a.txt mine; rm del.txt", edit: "new a.txt agent; new del.txt back; new n"},
	{name: "ign-dir-and-env", why: "ignored files that existed survive, small ones come back", setup: `printf 'node_modules/\n*.log\n.env\n' > .gitignore; commit; new .env SECRET; new node_modules/p/i.js; new x.log`, edit: "new a.txt 2; rm .env; new x.log other; new n.txt"},
	{name: "ign-env-mode", why: "a mode of an ignored file comes back", setup: `echo .env > .gitignore; commit; new .env S; chmod 600 .env`, edit: "chmod 644 .env; new .env T"},
	{name: "ign-negation", why: "re-included files", setup: `printf '*.log\n!keep.log\ndir/*\n!dir/sub/\n' > .gitignore; commit; new a.log; new keep.log; new dir/no; new dir/sub/keep.log`, edit: "new no.log; new dir/no2; new dir/sub/yes; new keep.log 2", quiet: "no.log dir/no2"},
	{name: "ign-neg-excluded-parent", why: "nothing is re-included below an ignored folder", setup: `printf 'nm/\n!nm/keep.js\n' > .gitignore; commit`, edit: "new nm/keep.js; new nm/x.js", quiet: "nm nm/keep.js nm/x.js"},
	{name: "ign-anchored", why: "patterns with slashes are anchored", setup: `printf '/only-root.txt\nbuild/\ndoc/frotz\nfoo/\n' > .gitignore; commit`, edit: "new only-root.txt; new s/only-root.txt; new build/o; new doc/frotz; new s/doc/frotz; new x/foo/z; new foo", quiet: "only-root.txt build build/o doc doc/frotz x x/foo x/foo/z"},
	{name: "ign-trailing-spaces", why: "unquoted trailing blanks are cut", setup: `printf 'foo.txt  \nbar\\ \nbaz\\\\ \n' > .gitignore; commit`, edit: `new foo.txt; new 'bar '; new bar; new 'baz\'`, quiet: "foo.txt bar\\x20 baz\\x5c"},
	{name: "ign-doublestar", why: "**", setup: `printf '**/v1\nabc/**\na/**/b\nlib/**/*.so\nfoo**bar\n**\\\\/q\n' > .gitignore; commit`, edit: "new v1/f; new lib/v1/f; new abc/d/f; new a/b/f; new a/q/r/b; new lib/a.so; new lib/x/y.so; new fooXbar; new foo/bar", quiet: "*"},
	{name: "ign-nested-files", why: "deeper ignore files win", setup: `echo '*.o' > .gitignore; mkdir -p sub/deep; printf '!*.o\n/only\n' > sub/.gitignore; printf 'd.o\n' > sub/deep/.gitignore; commit`, edit: "new r.o; new sub/s.o; new sub/only; new sub/deep/only; new sub/deep/d.o", quiet: "r.o sub/only sub/deep/d.o"},
	{name: "ign-whitelist", why: "everything ignored but some", setup: `printf '*\n!*/\n!*.go\n!.gitignore\n' > .gitignore; git add -f .gitignore; git commit -qm i`, edit: "new m.go; new README; new pkg/sub/x.txt; new pkg/sub/y.go", quiet: "README pkg pkg/sub pkg/sub/x.txt"},
	{name: "ign-charclass", why: "classes, ranges, negations, escapes", setup: `printf '[!a].txt\nw[1-3].t\nn[[:digit:]].dat\n\\!bang\n\\#hash\nfoo\\*bar\nq?\n[a-\n[]x]y\n' > .gitignore; commit; new z.txt`, edit: "new b.txt; new w1.t; new w4.t; new n5.dat; new nx.dat; new '!bang'; new '#hash'; new 'foo*bar'; new fooXbar; new q7; new q78; new ']y'; new xy", quiet: "b.txt w1.t n5.dat !bang #hash foo*bar q7 ]y xy"},
	{name: "ign-crlf-file", why: "CRLF in ignore files", setup: `printf '*.log\r\nout/\r\n' > .gitignore; commit`, edit: "new x.log; new out/f; new y", quiet: "x.log out out/f"},
	{name: "ign-bom", why: "a byte order mark", setup: `printf '\357\273\277out\n*.log\n' > .gitignore; commit`, edit: "new out; new x.log; new y", quiet: "out x.log"},
	{name: "ign-no-newline", why: "a last line without a newline", setup: `printf '*.log\nlast' > .gitignore; commit`, edit: "new last; new x.log; new y", quiet: "last x.log"},
	{name: "ign-info-exclude", why: "info/exclude", setup: `echo secret1 >> .git/info/exclude`, edit: "new secret1; new y", quiet: "secret1"},
	{name: "ign-info-exclude-order", why: "info/exclude is stronger than core.excludesFile, weaker than .gitignore", setup: `printf 'a\nb\n' > "$HOME/ex"; git config core.excludesFile "$HOME/ex"; printf '!a\nc\n' > .git/info/exclude; echo '!c' > .gitignore; commit`, edit: "new a; new b; new c", quiet: "b"},
	{name: "ign-excludesfile-repo", why: "core.excludesFile in the repository", setup: `echo '*.swp' > "$HOME/ex1"; git config core.excludesFile "$HOME/ex1"; new pre.swp`, edit: "new x.swp; rm pre.swp; new y", quiet: "x.swp"},
	{name: "ign-excludesfile-tilde", why: "core.excludesFile with ~", setup: `echo '*.swp' > "$HOME/ex2"; git config core.excludesFile '~/ex2'; new pre.swp`, edit: "new x.swp; new y", quiet: "x.swp"},
	{name: "ign-excludesfile-global", why: "core.excludesFile of the user", setup: `echo '*.swp' > "$HOME/exg"; git config --global core.excludesFile "$HOME/exg"; new pre.swp`, edit: "new x.swp; new pre.swp 2; new y", quiet: "x.swp"},
	{name: "ign-excludesfile-empty", why: "an empty setting switches the default off", setup: `mkdir -p "$HOME/.config/git"; echo '*.swp' > "$HOME/.config/git/ignore"; git config core.excludesFile ''`, edit: "new x.swp; new y"},
	{name: "ign-xdg-default", why: "the default of core.excludesFile", setup: `mkdir -p "$HOME/.config/git"; echo '*.swp' > "$HOME/.config/git/ignore"; new pre.swp`, edit: "new x.swp; rm pre.swp; new y", quiet: "x.swp"},
	{name: "ign-tracked-but-ignored", why: "tracked files in ignored folders", setup: `new gen/tracked; commit; echo gen/ > .gitignore; commit; new gen/untracked`, edit: "new gen/tracked 2; new gen/more; rm gen/untracked", quiet: "gen/more gen/untracked"},
	{name: "ign-tracked-ignored-deleted", why: "a tracked and ignored file is removed", setup: `new gen.txt; commit; echo gen.txt > .gitignore; commit`, edit: "rm gen.txt"},
	{name: "ign-gitignore-symlink", why: "a symbolic link is no ignore file", setup: `echo '*.log' > rules; ln -s rules .gitignore; commit`, edit: "new x.log"},
	{name: "ign-changed-by-agent", why: "the agent takes rules away", setup: `printf 'data/\n*.key\n' > .gitignore; commit; new data/db; new my.key`, edit: "echo nothing > .gitignore; new data/db 2; new other.key; new n", quiet: "data/db other.key"},
	{name: "ign-added-by-agent", why: "the agent adds rules", setup: "new mine.txt", edit: "printf 'new\nmine.txt\nn2\n' > .gitignore; new new/x; new n2; rm mine.txt"},
	{name: "ign-nested-added-by-agent", why: "an ignore file in a new folder hides nothing from a restore", edit: "mkdir evil; echo '*' > evil/.gitignore; new evil/payload; echo '*' > d/.gitignore; new d/payload"},
	{name: "ign-gitignore-ignored", why: "an ignore file that ignores itself", setup: "mkdir venv; echo '*' > venv/.gitignore; new venv/lib/x", edit: "new venv/y; rm venv/.gitignore; new z", quiet: "venv/y"},
	{name: "ign-gitignore-dir", why: "a folder called .gitignore", edit: "mkdir .gitignore; new .gitignore/x; new y"},
	{name: "ign-large-ignored", why: "ignored files above 1 MiB are left alone", setup: "echo '*.bin' > .gitignore; commit; head -c 1100000 /dev/zero > big.bin; head -c 1000 /dev/zero > small.bin", edit: "echo x > small.bin; echo x > big.bin", left: "big.bin"},
	{name: "ign-capture-setting", why: "worktree.capture_ignored", setup: "printf 'data/\nnm/\n' > .gitignore; commit; new data/a/b; new data/c; new nm/x", capture: "data/", edit: "rm -r data/a; new data/c 2; new nm/x 2; new data/new", left: "nm/x", quiet: "data/new"},
	{name: "ign-case-sensitive", why: "rules tell cases apart", setup: "echo '*.LOG' > .gitignore; commit", edit: "new a.log; new b.LOG", quiet: "b.LOG"},
	{name: "ign-dir-rule-on-file", why: "a rule for folders does not touch a file or a link", setup: "echo 'x/' > .gitignore; commit", edit: "new x; ln -s d s; mkdir -p t/x; new t/x/f", quiet: "t t/x t/x/f"},
	{name: "ign-untracked-dir-all-ignored", why: "a folder in which everything is ignored", setup: "echo '*.o' > .gitignore; commit; new o/a.o; new o/b/c.o", edit: "rm -r o; new p/a.o", quiet: "p p/a.o"},

	{name: "autocrlf-true", why: "line ends are converted", setup: `git config core.autocrlf true; printf 'a\r\nb\r\n' > w.txt; printf 'l\nm\n' > l.txt; commit; printf 'u\r\n' > u.txt; printf 'mix\r\ned\n' > mixed.txt`, edit: `printf 'a\r\nB\r\n' > w.txt; printf 'x\ny\r\n' > l.txt; printf 'n\r\n' > n.txt; rm u.txt; echo > mixed.txt`},
	{name: "autocrlf-input", why: "line ends are converted one way", setup: `git config core.autocrlf input; printf 'a\r\nb\r\n' > w.txt; commit; printf 'u\r\n' > u.txt`, edit: `printf 'a\nB\n' > w.txt; printf 'n\r\n' > n.txt; rm u.txt`},
	{name: "autocrlf-crlf-in-index", why: "what has CRLF in the index stays so", setup: `printf 'a\r\nb\r\n' > w.txt; commit; git config core.autocrlf true`, edit: `printf 'a\r\nc\r\n' > w.txt; printf 'a\r\nb\r\n' > v.txt`},
	{name: "attr-eol-crlf", why: "eol=crlf", setup: `echo '*.bat eol=crlf' > .gitattributes; printf 'x\r\n' > r.bat; commit; printf 'y\r\n' > s.bat`, edit: `printf 'x\r\nz\r\n' > r.bat; printf 'q\r\n' > n.bat; rm s.bat`},
	{name: "attr-text-auto", why: "text=auto", setup: `echo '* text=auto' > .gitattributes; printf 'x\r\n' > r.txt; printf '\0\r\n' > b.bin; commit; printf 'u\r\n' > u.txt`, edit: `printf 'y\r\n' > r.txt; printf 'q\r\n' > n.txt; printf '\0\1\r\n' > b.bin; rm u.txt`},
	{name: "attr-text-auto-lf", why: "nothing to convert", setup: `echo '* text=auto' > .gitattributes; commit`, edit: usualEdits},
	{name: "attr-nested", why: "attributes of a folder", setup: `mkdir s; echo '*.txt text' > s/.gitattributes; printf 'x\r\n' > s/r.txt; printf 'x\r\n' > r.txt; commit`, edit: `printf 'y\r\n' > s/r.txt; printf 'y\r\n' > r.txt`},
	{name: "attr-info", why: "info/attributes", setup: `mkdir -p .git/info; echo '*.txt text' > .git/info/attributes; printf 'x\r\n' > r.txt; commit`, edit: `printf 'y\r\n' > r.txt; printf 'n\r\n' > n.txt`},
	{name: "attr-global", why: "core.attributesFile", setup: `echo '*.txt text' > "$HOME/attr"; git config core.attributesFile "$HOME/attr"; printf 'x\r\n' > r.txt; commit`, edit: `printf 'y\r\n' > r.txt; printf 'n\r\n' > n.txt`},
	{name: "attr-macro", why: "a macro of attributes", setup: `printf '[attr]dos text eol=crlf\n*.d dos\n' > .gitattributes; printf 'x\r\n' > r.d; commit`, edit: `printf 'y\r\n' > r.d; printf 'n\r\n' > n.d`},
	{name: "attr-binary-minus-text", why: "conversion switched off", setup: `printf '* text=auto\n*.raw -text\n' > .gitattributes; printf 'x\r\n' > r.raw; commit`, edit: `printf 'y\r\n' > r.raw; printf 'n\r\n' > n.raw`},
	{name: "attr-added-by-agent", why: "the agent adds attributes", setup: `printf 'x\r\n' > r.txt; commit; printf 'u\r\n' > u.txt`, edit: `echo '*.txt text' > .gitattributes; printf 'y\r\n' > r.txt; printf 'n\r\n' > n.txt; rm u.txt`},
	{name: "attr-removed-by-agent", why: "the agent removes attributes", setup: `echo '*.txt text' > .gitattributes; printf 'x\r\n' > r.txt; commit`, edit: `rm .gitattributes; printf 'y\r\n' > r.txt`},
	{name: "attr-utf16", why: "working-tree-encoding", setup: `echo '*.u working-tree-encoding=UTF-16LE eol=lf' > .gitattributes; printf 'h\0i\0\n\0' > s.u; commit; printf 'u\0\n\0' > t.u`, edit: `printf 'x\0\n\0' > s.u; printf 'n\0\n\0' > n.u; rm t.u`},
	{name: "attr-ident", why: "ident", setup: `echo '*.c ident' > .gitattributes; printf '/* $Id$ */\n' > i.c; commit; rm i.c; git checkout -q i.c`, edit: `printf '/* $Id: x $ */\nmore\n' > i.c; new j.c '$Id: y $'`},
	{name: "attr-quoted-pattern", why: "a quoted pattern", setup: `printf '"a b*.txt" text\n' > .gitattributes; printf 'x\r\n' > 'a b1.txt'; commit`, edit: `printf 'y\r\n' > 'a b1.txt'; printf 'y\r\n' > 'a b2.txt'`},
	{name: "filter-lfs-like", why: "a clean and smudge filter", setup: `git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; echo '*.big filter=up' > .gitattributes; new h.big hello; commit; new Mixed.big MiXeD`, edit: "new h.big world; new n.big new; rm Mixed.big"},
	{name: "filter-lossy", why: "a filter that cannot be undone", setup: `git config filter.cut.clean 'head -c 3'; git config filter.cut.smudge cat; echo '*.p filter=cut' > .gitattributes; new h.p longer-than-three; commit`, edit: "rm h.p"},
	{name: "filter-required-missing", why: "a required filter that fails", setup: `echo '*.big filter=gone' > .gitattributes; git config filter.gone.required true; git add .gitattributes; git commit -qm a; new u.big x`, refuse: "filter", fails: "u.big"},
	{name: "filter-untouched", why: "filtered files that nobody touched", setup: `git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; echo '*.big filter=up' > .gitattributes; new h.big hello; commit; rm h.big; git checkout -q h.big`, edit: usualEdits},
	{name: "filter-large", why: "a filtered file above the size limit comes back through the filter", setup: `git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; echo '*.big filter=up' > .gitattributes; head -c 3000 /dev/zero | tr '\0' q > h.big; commit; rm h.big; git checkout -q h.big`, maxFile: 2000, edit: "rm h.big"},
	{name: "gitattributes-export", why: "attributes that convert nothing", setup: `printf '*.txt diff=x export-ignore linguist-generated\n' > .gitattributes; commit`},

	{name: "symlinks", why: "relative, absolute, dangling", setup: "ln -s a.txt rel; ln -s /etc/hostname abs; ln -s nowhere dang; ln -s d dl; commit; ln -s a.txt ul", edit: "ln -sfn b rel; rm abs; ln -sfn /tmp dang; ln -sfn /etc nl; rm ul; ln -s x ul"},
	{name: "symlink-type-change", why: "file and link change places", setup: "ln -s a.txt l; commit", edit: "rm a.txt l; ln -s d/x.txt a.txt; new l file"},
	{name: "symlink-exec", why: "a link becomes an executable", setup: "ln -s a.txt l; commit", edit: "rm l; new l; chmod 755 l"},
	{name: "dir-to-symlink", why: "a folder becomes a link to a full one", edit: "mv d d2; ln -s d2 d"},
	{name: "dir-to-symlink-outside", why: "a folder becomes a link out of the worktree", edit: `mkdir -p "$HOME/out/e"; echo o > "$HOME/out/x.txt"; echo o > "$HOME/out/e/y.txt"; rm -r d; ln -s "$HOME/out" d`},
	{name: "symlink-to-dir-replaced", why: "a link becomes a folder", setup: "ln -s d ld; commit", edit: "rm ld; new ld/f"},
	{name: "exec-bit", why: "the executable bit", setup: "new t.sh; commit; new u.sh; chmod 755 u.sh", edit: "chmod 755 a.txt; chmod 755 t.sh; chmod 644 u.sh run.sh"},
	{name: "filemode-false", why: "core.fileMode off", setup: "git config core.fileMode false; new u; chmod 755 u", edit: "chmod 755 a.txt; chmod 644 run.sh; new n.sh; chmod 755 n.sh"},
	{name: "symlinks-false", why: "core.symlinks off", setup: `ln -s a.txt l; commit; git config core.symlinks false; rm l; git checkout -q l`, edit: "printf d/x.txt > l; new n"},
	{name: "perm-0600", why: "permissions that no tree has", setup: "chmod 600 a.txt; chmod 640 d/x.txt; chmod 711 d; chmod 2755 d/e", edit: "chmod 644 a.txt; new a.txt 2; rm -r d; new n"},
	{name: "perm-only", why: "nothing but permissions", edit: "chmod 600 a.txt; chmod 700 d; chmod 4755 run.sh; chmod 1777 d/e"},
	{name: "umask-0002", why: "files of a group", setup: "umask 002; rm a.txt; new a.txt aaa; chmod 664 a.txt d/x.txt; chmod 775 d", edit: "umask 022; rm -r d; new a.txt 3"},
	{name: "file-to-dir", why: "a file becomes a folder", edit: "rm a.txt; new a.txt/inside"},
	{name: "file-to-dir-ignored", why: "a folder of ignored files in the place of a file", setup: "echo '*.o' > .gitignore; commit", edit: "rm a.txt; new a.txt/x.o; new a.txt/y"},
	{name: "dir-to-file", why: "a folder becomes a file", edit: "rm -r d; new d file"},
	{name: "dir-to-ignored-file", why: "a folder becomes an ignored file", setup: "printf 'o.log\n' > .gitignore; new o.log/t; git add -f o.log/t; commit", edit: "rm -r o.log; new o.log file"},
	{name: "dir-renamed", why: "a folder moves", edit: "mv d q"},
	{name: "swap-names", why: "two files change names", setup: "new b.txt bbb; commit", edit: "mv a.txt t; mv b.txt a.txt; mv t b.txt"},
	{name: "hardlink", why: "a restore does not write through a hard link", setup: `ln a.txt "$HOME/hl"`, edit: `echo agent >> a.txt; cp a.txt "$HOME/hl.after"`},

	{name: "unicode-nfc-nfd", why: "both forms of a name", setup: `new "$(printf 'nfc-\303\251')"; new "$(printf 'nfd-e\314\201')"; commit`, edit: `new "$(printf 'nfc-\303\251')" 2; rm "$(printf 'nfd-e\314\201')"; new "$(printf 'e\314\201')"; new "$(printf '\303\251')"`},
	{name: "names-space-quote-dash", why: "names that shells dislike", setup: `new ' lead'; new 'q"uote'; new -- -dash; new "ap'os"; commit`, edit: `new ' lead' 2; rm 'q"uote'; new -- --all; new '*'; new '$HOME'`},
	{name: "name-newline", why: "a newline in a name", edit: `new "$(printf 'new\nline')"`},
	{name: "name-newline-tracked", why: "a newline in a tracked name", setup: `new "$(printf 'new\nline')"; new "$(printf 'd\nir/f')"; commit; chmod 600 "$(printf 'new\nline')"; new "$(printf 'un\ntr')"`, edit: `new "$(printf 'new\nline')" 2; rm -r "$(printf 'd\nir')"; rm "$(printf 'un\ntr')"`},
	{name: "name-tab-ctrl", why: "control characters", setup: `new "$(printf 't\tab')"; commit`, edit: `new "$(printf '\001ctl')"; rm "$(printf 't\tab')"; new "$(printf '\177')"`},
	{name: "name-backslash", why: "a backslash", setup: `new 'b\s'; commit`, edit: `new 'b\s' 2; new 'c\d'`},
	{name: "name-trailing-dot", why: "a trailing dot", setup: `new 'dot.'; commit`, edit: `new 'dot.' 2; new 'e.'`},
	{name: "name-trailing-space", why: "a trailing space", setup: `new 'sp '; commit`, edit: `rm 'sp '; new 'sq '`},
	{name: "name-colon", why: "a colon", setup: `new 'c:x'; commit`, edit: `new 'c:x' 2; new ':(top)y'; new ':!z'`},
	{name: "name-con-aux", why: "names of devices elsewhere", edit: "new CON; new aux.txt; new nul"},
	{name: "name-gittilde1", why: "git refuses git~1", edit: "new git~1; new n", noKeep: "git add fails"},
	{name: "name-dotgit-case", why: "git refuses .Git", edit: "new .Git; new n; mkdir d/.GIT; new d/.GIT/x", noKeep: "git add fails"},
	{name: "name-dotgit-variants", why: "what Windows takes for .git", edit: "new '.git '; new '.git.'; new '.git::$INDEX_ALLOCATION'; new n", noKeep: "git add fails"},
	{name: "name-invalid-utf8", why: "bytes that are no text", setup: `new "$(printf 'l\351')"; commit; new "$(printf 'u\377')"`, edit: `new "$(printf 'l\351')" 2; new "$(printf '\300\200')"; rm "$(printf 'u\377')"`},
	{name: "name-git-file-nested", why: "a bogus .git file makes no repository", setup: "mkdir x; echo nonsense > x/.git; new x/f", edit: "new x/f 2; new x/g; mkdir y; : > y/.git; new y/f"},
	{name: "name-git-dir-empty", why: "an empty .git folder makes no repository", edit: "mkdir -p y/.git; new y/f"},
	{name: "name-long-255", why: "the longest name", setup: `n=$(printf '%0255d' 7); new $n; commit`, edit: `n=$(printf '%0255d' 7); new $n 2; m=$(printf '%0255d' 8); new $m`},
	{name: "path-deep", why: "a path of 2,400 bytes", setup: `p=$(printf 'abcdefghi/%.0s' $(seq 240)); new "${p}f"; commit`, edit: `p=$(printf 'abcdefghi/%.0s' $(seq 240)); new "${p}f" 2; new "${p}g"; rm -r d`},
	{name: "many-files-one-dir", why: "a folder larger than one getdents", setup: "mkdir m; for i in $(seq 1500); do echo $i > m/a-long-file-name-number-$i; done; commit", edit: "rm m/a-long-file-name-number-7*; echo x > m/a-long-file-name-number-1; new m/zz"},
	{name: "order-dash-slash", why: "a-b sorts between a and a/", setup: "new a/x; new a-b; new a.b; new a0; commit", edit: "new a/x 2; rm a-b; new a-c; new a/y; new a,b"},
	{name: "ignorecase-true", why: "core.ignoreCase on a file system that tells cases apart", setup: "git config core.ignoreCase true", refuse: "ignorecase", noOracle: "git folds names that are two files here", noKeep: "the same"},

	{name: "empty-dirs", why: "empty folders come back", setup: "mkdir -p empty/er; chmod 700 empty/er; mkdir e2", edit: "rmdir empty/er empty; mkdir -p new/empty; new e2/f"},
	{name: "empty-dirs-ignored", why: "empty ignored folders are left alone", setup: "echo ig/ > .gitignore; commit; mkdir -p ig/cache/tmp; new ig/keep", edit: "new n"},
	{name: "dir-emptied", why: "a folder that loses its only file", setup: "new only/f; commit", edit: "rm only/f"},
	{name: "dir-of-untracked-removed", why: "untracked folders come back", setup: "new u/v/w; new u/x", edit: "rm -r u"},

	{name: "nested-repo-untracked", why: "another repository is left alone", setup: "git init -q nested; (cd nested; new n.txt; commit n; new dirty.txt)", edit: "new a.txt 2; new n", noOracle: "git records a nested repository as a link"},
	{name: "nested-repo-empty", why: "another repository without a commit", setup: "git init -q nested; new nested/n.txt", edit: "new a.txt 2", noOracle: "git add fails"},
	{name: "nested-repo-ignored", why: "an ignored repository", setup: "echo nested > .gitignore; commit; git init -q nested; new nested/n.txt", edit: "new a.txt 2"},
	{name: "nested-repo-touched", why: "an agent that works in another repository", setup: "git init -q nested; (cd nested; new n.txt; commit n)", edit: "new nested/n.txt 2", noOracle: "git records a nested repository as a link", left: "nested/n.txt"},
	{name: "nested-repo-made", why: "a repository that appears is moved aside", edit: "git init -q made; (cd made; new m; commit m); new n", noKeep: "git records a link"},
	{name: "nested-repo-made-in-tracked", why: "git init in a tracked folder", edit: "git init -q d; new d/n"},
	{name: "worktree-inside-repo", why: "linked worktrees inside", setup: "git worktree add -q wt/one -b one", edit: "new a.txt 2; new wt/one/new", noOracle: "git records a link", left: "wt/one/new"},
	{name: "submodule-clean", why: "a submodule", setup: submodule, edit: usualEdits},
	{name: "submodule-dirty", why: "a submodule with changes", setup: submodule, edit: "new sm/new.txt; new sm/s.txt 2; new n", left: "sm/new.txt sm/s.txt"},
	{name: "submodule-newcommit", why: "a submodule that moves on", setup: submodule, edit: "(cd sm; new s.txt 2; commit s)", noKeep: "a changed submodule rejects", left: "sm/s.txt"},
	{name: "submodule-uninit", why: "a submodule that is not checked out", setup: submodule + "git submodule deinit -q -f sm", edit: "rmdir sm; new n", noKeep: "a changed submodule rejects"},
	{name: "submodule-removed", why: "a submodule that is removed", setup: submodule, edit: "rm -rf sm", noKeep: "a changed submodule rejects", left: "sm sm/.git sm/s.txt"},
	{name: "submodule-dirty-before", why: "a submodule that is dirty at the start", setup: submodule + "new sm/s.txt mine", edit: "new n", refuse: "submodule-dirty"},
	{name: "gitlink-no-gitmodules", why: "a link without .gitmodules", setup: "git init -q g; (cd g; new s.txt; commit s); git add g 2>/dev/null; git commit -qm g", edit: usualEdits},

	{name: "sparse-cone", why: "a sparse checkout", setup: "new k1/f; new k2/f; commit; git sparse-checkout set k1", edit: "new k1/f 2; new k1/n; rm run.sh || true"},
	{name: "sparse-cone-newfile-outside", why: "files outside the cone", setup: "new k1/f; new k2/f; commit; git sparse-checkout set k1", edit: "new k2/f other; new k2/g", noKeep: "git add refuses paths outside"},
	{name: "sparse-index", why: "a sparse index", setup: "new k1/f; new k2/f; new k2/s/g; commit; git sparse-checkout set --sparse-index k1", edit: "new k1/f 2; new k1/n"},
	{name: "sparse-no-cone", why: "a sparse checkout by patterns", setup: "new k1/f; new k2/f; commit; git sparse-checkout set --no-cone '/*' '!k2'", edit: "new k1/f 2"},
	{name: "index-v3", why: "version 3", setup: "new i; git add -N i; git update-index --index-version 3", edit: "new i 2; new n"},
	{name: "index-v4", why: "version 4", setup: "git update-index --index-version 4; new s; git add s", edit: usualEdits},
	{name: "split-index", why: "a split index", setup: "git update-index --split-index", edit: usualEdits},
	{name: "split-index-later", why: "a split index with changes", setup: "git update-index --split-index; new s; git add s; git rm -q --cached del.txt", edit: "new s 2; new n"},
	{name: "split-index-config", why: "core.splitIndex", setup: "git config core.splitIndex true; new s; commit", edit: usualEdits},
	{name: "skip-worktree-mod", why: "a skip-worktree file with edits", setup: "git update-index --skip-worktree a.txt; new a.txt hidden", edit: "new a.txt agent; new n", noKeep: "the hidden edit is put back, not kept"},
	{name: "skip-worktree-absent", why: "a skip-worktree file that is not there", setup: "git update-index --skip-worktree a.txt; rm a.txt", edit: "new n"},
	{name: "skip-worktree-clean-touched", why: "a skip-worktree file that the agent changes", setup: "git update-index --skip-worktree a.txt", edit: "new a.txt agent", noKeep: "git would not look"},
	{name: "assume-unchanged-mod", why: "an assume-unchanged file with edits", setup: "git update-index --assume-unchanged a.txt; new a.txt hidden", edit: "rm a.txt; new n", noKeep: "the hidden edit is put back, not kept"},
	{name: "assume-unchanged-absent", why: "an assume-unchanged file that is not there", setup: "git update-index --assume-unchanged a.txt; rm a.txt", edit: "new n"},
	{name: "intent-to-add", why: "an intent to add", setup: "new i; git add -N i", edit: "new i 2; new n"},
	{name: "intent-to-add-removed", why: "an intent to add that goes", setup: "new i; git add -N i", edit: "rm i"},
	{name: "untracked-cache", why: "the untracked cache", setup: "git update-index --untracked-cache; git status >/dev/null; new u", edit: usualEdits},
	{name: "fsmonitor-hook", why: "a file system monitor that lies", setup: `printf '#!/bin/sh\nprintf "tok\\0"\n' > .git/fsm; chmod 755 .git/fsm; git config core.fsmonitor .git/fsm; git update-index --fsmonitor; git status >/dev/null`, edit: usualEdits},
	{name: "agent-stages", why: "an agent that uses git add", edit: "new a.txt 2; new n; git add -A; git rm -q --cached del.txt"},
	{name: "agent-commits", why: "an agent that commits", edit: "new a.txt 2; new n; commit agent"},

	{name: "mtime-preserved-same-size", why: "same size and time", setup: "touch -d '2020-01-01' a.txt; git status >/dev/null", edit: "printf 'bbb\n' > a.txt; touch -d '2020-01-01' a.txt", noKeep: "git compares seconds"},
	{name: "mtime-preserved-replace", why: "another file of the same size and time", setup: "touch -d '2020-01-01' a.txt; git status >/dev/null", edit: "printf 'bbb\n' > t; touch -d '2020-01-01' t; mv t a.txt"},
	{name: "mtime-preserved-dir", why: "a folder's time put back after a file was added", setup: "touch -d '2020-01-01' d", edit: "new d/evil; touch -d '2020-01-01' d"},
	{name: "mtime-1960", why: "before 1970", setup: "touch -d '1960-01-01' a.txt; commit --allow-empty 2>/dev/null || git add -A", edit: "touch -d '1960-01-01' d/x.txt; new n"},
	{name: "mtime-epoch0", why: "1970", setup: "touch -d @0 a.txt; git add -A", edit: "new d/x.txt 2; touch -d @0 d/x.txt"},
	{name: "mtime-2200", why: "the far future", setup: "touch -d '2200-01-01' a.txt; git add -A", edit: "new a.txt 2; touch -d '2200-01-01' a.txt"},
	{name: "racy", why: "edited in the moment of the commit", setup: "new a.txt aab; git add a.txt; new a.txt aac", edit: "new a.txt aad"},

	{name: "linked-worktree", why: "a linked worktree", setup: "git worktree add -q ../linked -b lw; new ../linked/u", root: "../linked", edit: usualEdits},
	{name: "linked-worktree-config", why: "extensions.worktreeConfig", setup: "git config extensions.worktreeConfig true; git config --worktree core.fileMode false", edit: usualEdits},
	{name: "unborn-head", why: "no commit yet", bare: true, setup: "git init -q -b main .; new a; git add a; new u", edit: "new a 2; new n; rm u"},
	{name: "empty-repo", why: "nothing at all", bare: true, setup: "git init -q -b main .", edit: "new n"},
	{name: "detached-head", why: "no branch", setup: "git checkout -q --detach", edit: usualEdits},
	{name: "merge-in-progress-clean", why: "a merge that waits", setup: branches + "git merge -q --no-commit --no-ff side", edit: usualEdits, refuse: "merge", noKeep: "the merge's own changes"},
	{name: "merge-conflict", why: "a merge with conflicts", setup: conflict + "git merge -q side >/dev/null || true", edit: usualEdits, refuse: "unmerged", noKeep: "the merge's own changes"},
	{name: "cherry-pick-conflict", why: "a cherry-pick with conflicts", setup: conflict + "git cherry-pick side >/dev/null 2>&1 || true", edit: usualEdits, refuse: "cherry-pick", noKeep: "the pick's own changes"},
	{name: "rebase-conflict", why: "a rebase with conflicts", setup: conflict + "git rebase -q side >/dev/null 2>&1 || true", edit: usualEdits, refuse: "rebase", noKeep: "the rebase's own changes"},
	{name: "revert-conflict", why: "a revert with conflicts", setup: "new a.txt 2; commit two; new a.txt 3; commit three; git revert --no-edit HEAD~1 >/dev/null 2>&1 || true", edit: usualEdits, refuse: "revert", noKeep: "the revert's own changes"},
	{name: "am-conflict", why: "a patch that does not apply", setup: conflict + "git format-patch -q -1 side -o \"$HOME/p\" >/dev/null; git am -q \"$HOME\"/p/* >/dev/null 2>&1 || true", edit: usualEdits, refuse: "am"},
	{name: "delete-modify-conflict", why: "removed here, changed there", setup: "git checkout -q -b side; new a.txt s; commit s; git checkout -q main; git rm -q a.txt; git commit -qm r; git merge -q side >/dev/null 2>&1 || true", edit: "new n; new a.txt m", refuse: "unmerged", noKeep: "the merge's own changes"},
	{name: "bisect", why: "a bisection", setup: "new a.txt 2; commit 2; git bisect start -q HEAD HEAD~1 >/dev/null", edit: usualEdits, refuse: "bisect"},
	{name: "stash", why: "a stash stays", setup: "new a.txt st; git stash -q; new u", edit: usualEdits},
	{name: "shallow", why: "a shallow clone", setup: "new b; commit; git clone -q --depth 1 \"file://$PWD\" ../sh", root: "../sh", edit: usualEdits},
	{name: "partial-clone", why: "a clone without blobs", setup: "new b; commit; git config uploadpack.allowFilter true; git clone -q --filter=blob:none \"file://$PWD\" ../pc", root: "../pc", edit: usualEdits},
	{name: "sha256", why: "another object format", bare: true, setup: "git init -q --object-format=sha256 .; new a; commit", refuse: "sha256", fails: "sha256"},
	{name: "packed", why: "objects in packs", setup: "git gc -q", edit: usualEdits},
	{name: "packed-refs", why: "refs in a file", setup: "git pack-refs --all", edit: usualEdits},
	{name: "packed-refs-nested-branch", why: "a branch with slashes", setup: "git checkout -q -b a/b/c; git pack-refs --all", edit: usualEdits},
	{name: "alternates", why: "objects of another repository", setup: "git clone -q --shared . ../alt", root: "../alt", edit: usualEdits},
	{name: "alternates-relative", why: "a relative path to them", setup: "git clone -q --shared . ../alt; echo ../../../main/.git/objects > ../alt/.git/objects/info/alternates", root: "../alt", edit: usualEdits},
	{name: "ext-preciousobjects", why: "extensions.preciousObjects", setup: "git config core.repositoryFormatVersion 1; git config extensions.preciousObjects true", edit: usualEdits},
	{name: "core-worktree", why: "core.worktree", setup: "mkdir ../wt; git config core.worktree ../../wt; cd ../wt; cp -a ../main/d ../main/a.txt ../main/del.txt ../main/run.sh .; new u", root: "../wt", gitDir: "../main/.git", edit: usualEdits},
	{name: "gitdir-in-worktree", why: "the git directory under another name", setup: "mv .git meta; git --git-dir=meta config core.worktree ..", gitDir: "meta", edit: usualEdits, noOracle: "git adds its own directory", noKeep: "the same"},
	{name: "config-include", why: "settings in an included file", setup: `echo '[core]
	fileMode = false' > "$HOME/inc"; git config include.path "$HOME/inc"`, edit: "chmod 755 a.txt; new n"},
	{name: "replace-ref", why: "a replaced object", setup: "r=$(echo replaced | git hash-object -w --stdin); git replace $(git rev-parse HEAD:a.txt) $r", edit: "rm a.txt; new n"},
	{name: "grafted-commit-tree-replace", why: "a replaced tree", setup: "t=$(git mktree </dev/null); git replace $(git rev-parse HEAD:d) $t", edit: "rm -r d; new n"},

	{name: "unreadable-untracked-file", why: "a file that may not be read", setup: "new secret; chmod 000 secret", edit: usualEdits, user: true, noOracle: "git add fails", noKeep: "git add fails"},
	{name: "unreadable-tracked-file", why: "a tracked file that may not be read", setup: "chmod 000 a.txt; touch a.txt", user: true, fails: "a.txt", refuse: "-"},
	{name: "unreadable-dir", why: "a folder that may not be read", setup: "new u/f; chmod 000 u", edit: usualEdits, user: true},
	{name: "unreadable-ignored-dir", why: "an ignored folder that may not be read", setup: "echo pgdata/ > .gitignore; commit; new pgdata/f; chmod 000 pgdata", edit: usualEdits, user: true},
	{name: "agent-locks-out", why: "an agent that takes rights away", setup: "new u; new w/v", edit: "chmod 000 a.txt u; chmod 000 d w; new n/x; chmod 000 n", user: true, noKeep: "git add fails"},
	{name: "readonly-dir", why: "a folder that may not be written", setup: "chmod 555 d", edit: "chmod 755 d; rm d/x.txt; new d/z; new d/e/y.txt 2; chmod 555 d", user: true},
	{name: "readonly-dir-by-agent", why: "an agent that makes its folders read-only", edit: "new n/m/f; rm d/x.txt; chmod 555 n/m n d", user: true},

	{name: "fifo-untracked", why: "a FIFO that was there", setup: "mkfifo pipe", edit: usualEdits},
	{name: "fifo-made", why: "a FIFO that the agent made", edit: "mkfifo pipe; mkfifo d/pipe; mkdir q; mkfifo q/p"},
	{name: "fifo-ignored", why: "an ignored FIFO", setup: "echo '*.fifo' > .gitignore; commit; mkfifo x.fifo", edit: "mkfifo y.fifo; new n", quiet: "y.fifo"},
	{name: "fifo-replaces-tracked", why: "a FIFO in the place of a file", edit: "rm a.txt; mkfifo a.txt", noKeep: "git add fails"},
	{name: "fifo-replaces-untracked", why: "a FIFO in the place of the person's file", setup: "new u", edit: "rm u; mkfifo u"},
	{name: "fifo-removed", why: "a FIFO that the agent removed is named", setup: "mkfifo pipe", edit: "rm pipe", left: "pipe"},
	{name: "fifo-gitignore", why: "a FIFO called .gitignore", edit: "mkfifo .gitignore; mkfifo d/.gitattributes; new n", noKeep: "git hangs"},
	{name: "fifo-gitattributes", why: "a FIFO called .gitattributes where git converts", setup: "echo '*.txt text' > .gitattributes; commit", edit: "mkfifo d/.gitattributes; new d/x.txt 2", noKeep: "git hangs"},
	{name: "socket", why: "a socket", setup: "mksocket s.sock", edit: usualEdits},
	{name: "socket-replaces-tracked", why: "a socket in the place of a file", edit: "rm a.txt; mksocket a.txt", noKeep: "git add fails"},
	{name: "index-lock-held", why: "another git works", setup: ": > .git/index.lock", edit: "new a.txt 2; new n", refuse: "index.lock"},
	{name: "hook-precommit-rejects", why: "hooks do not matter here", setup: `printf '#!/bin/sh\nexit 1\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit`, edit: usualEdits},
	{name: "corrupt-index", why: "an index that is no index", setup: "echo junk > .git/index", refuse: "index", fails: "index"},
	{name: "truncated-index", why: "half an index", setup: "head -c 100 .git/index > i; mv i .git/index", refuse: "index", fails: "index"},
	{name: "no-index-file", why: "no index at all", setup: "rm .git/index", edit: "new n; new a.txt 2", noKeep: "every file is untracked"},
	{name: "index-skiphash", why: "an index without a checksum", setup: "git -c index.skipHash=true update-index --force-write-index 2>/dev/null || true; nullhash .git/index", edit: usualEdits},
	{name: "large-untracked", why: "the person's large file is left alone", setup: "head -c 3000 /dev/zero > big", maxFile: 2000, edit: "new n; new a.txt 2", noOracle: "git would store it"},
	{name: "large-made", why: "the agent's large file is not stored", maxFile: 2000, edit: "head -c 3000 /dev/zero > big; new n", noKeep: "git would store it"},
	{name: "large-tracked-changed", why: "a large tracked file comes back", setup: "head -c 3000 /dev/zero > big; commit", maxFile: 2000, edit: "head -c 3001 /dev/zero > big; new n", noKeep: "git would store it"},
	{name: "large-tracked-touched", why: "a large tracked file with a new time is no change", setup: "head -c 3000 /dev/zero > big; commit", maxFile: 2000, edit: "touch -d 2001-01-01 big; new n"},
	{name: "temp-left-behind", why: "a temporary file of a killed restore goes", edit: "new .git-ralph-0011223344556677.tmp; new n"},
}

const submodule = `
git init -q "$HOME/smsrc"; (cd "$HOME/smsrc"; new s.txt s; commit s)
git -c protocol.file.allow=always submodule --quiet add "$HOME/smsrc" sm; git commit -qm sm
`

const branches = `
git checkout -q -b side; new s1; commit s; git checkout -q main; new m1; commit m
`

const conflict = `
git checkout -q -b side; new a.txt side; commit s; git checkout -q main; new a.txt mine; commit m
`
