package guard

import "strings"

// gnuNames are GNU tools under their names on other systems.
const gnuNames = "gsed gcp gmv grm gln gtee gtouch ginstall gdd gchmod gtruncate gtar gsplit gshred gxargs gfind " +
	"gtimeout gtime gnice genv gmake"

const (
	insteadDisk  = "work on files in the worktree"
	insteadTurn  = "end your work by ending your turn"
	insteadNow   = "run what is needed now, as a child of yours"
	insteadTools = "leave commits, versions, hooks and pull requests to people and the harness; describe them in " +
		"the handoff"
	changes  = "NAME VERB changes the repository"
	versions = "NAME commits, tags or publishes a version"
)

// table is what is known about commands. A judge carries it, because what its
// rows do asks it again.
var table = []command{
	// Commands that run the command in their words.
	{names: "sudo doas run0", short: "ughpCcrtTUDRa",
		long: "--user --group --host --prompt --close-from --role --type --chdir --chroot", runs: &wrapper{env: true}},
	{names: "env", short: "uC", long: "--unset --chdir --argv0", shell: "-S --split-string", runs: &wrapper{env: true}},
	{names: "nohup setsid chronic unbuffer eatmydata catchsegv dbus-run-session fakeroot ccache ifne linux32 linux64 " +
		"i386 x86_64 noglob nocorrect bear tini dumb-init caffeinate command_not_found_handle winpty compdbg sem " +
		"annotate-output systemd-cat", short: "tjr", long: "--signal", runs: &wrapper{}},
	{names: "timeout", short: "sk", long: "--signal --kill-after", runs: &wrapper{pos: 1}},
	{names: "time", short: "fo", long: "--format --output", runs: &wrapper{}},
	{names: "nice", short: "n", long: "--adjustment", runs: &wrapper{}},
	{names: "ionice", short: "cnpPu", long: "--class --classdata", runs: &wrapper{}},
	{names: "setarch", runs: &wrapper{pos: 1}},
	{names: "daemonize daemon", short: "acepoul", runs: &wrapper{}},
	{names: "cgexec", short: "g", runs: &wrapper{}},
	{names: "chrt", short: "TPD", runs: &wrapper{pos: 1}},
	{names: "stdbuf", short: "ioe", long: "--input --output --error", runs: &wrapper{}},
	{names: "taskset", short: "p", runs: &wrapper{pos: 1}},
	{names: "unshare nsenter", short: "tRwSG",
		long: "--target --root --wd --setuid --setgid --map-user --map-group --propagation", runs: &wrapper{}},
	{names: "chroot", long: "--userspec --groups", runs: &wrapper{pos: 1}},
	{names: "setpriv prlimit numactl cpulimit softlimit chpst capsh firejail proot torsocks proxychains proxychains4 " +
		"rlwrap pidproxy", short: "flcumNp", long: "--reuid --regid --pid", runs: &wrapper{}},
	{names: "faketime", short: "f", runs: &wrapper{pos: 1}},
	{names: "flock", short: "wE", long: "--timeout --wait --conflict-exit-code", shell: "-c --command",
		runs: &wrapper{pos: 1}},
	{names: "systemd-inhibit", short: "pupEHM", long: "--unit --property --setenv --description --slice " +
		"--working-directory --uid --gid --on-active --on-calendar", runs: &wrapper{}},
	{names: "strace ltrace perf-trace truss dtruss", short: "eopsuaEPSIObX", runs: &wrapper{}},
	{names: "valgrind heaptrack memusage rr busybox toybox", runs: &wrapper{}},
	{names: "ld-linux* ld-musl* ld.so", long: "--library-path --preload --argv0 --inhibit-rpath", runs: &wrapper{}},
	{names: "gdb lldb", short: "xp", long: "-ex -x -iex -eval-command --eval-command --command -cd -d -o",
		runs: &wrapper{}},
	{names: "xvfb-run xvfb-run-safe", short: "efnpsw", long: "--error-file --server-num --server-args", runs: &wrapper{}},
	{names: "runuser gosu su-exec setuidgid sg newgrp", short: "ugGs", shell: "-c --command --session-command",
		runs: &wrapper{pos: 1}},
	{names: "dotenv dotenvx cross-env cross-env-shell env-cmd dotenv-cli aws-vault op-run doppler infisical chamber",
		short: "ef", runs: &wrapper{env: true}},
	{names: "wine mono proot-distro arch-chroot pkexec gksudo exec-with retry parallel-exec ts pv lockf lockfile-run " +
		"solo setlock", short: "ntdsm", long: "--user --times --delay", runs: &wrapper{}},
	{names: "npx bunx dlx", short: npx.short, long: npx.long, shell: npx.shell, runs: npx.runs},
	{names: "uvx", short: uvTool.short, long: uvTool.long, runs: uvTool.runs},

	// Commands that run others in ways of their own.
	{names: "xargs", short: "IJanPLsdE", glued: "iel", ends: 1,
		long: "--arg-file --max-args --max-procs --max-lines --delimiter --max-chars", does: (*judge).xargs},
	{names: "parallel rust-parallel", short: "jaInNLSd", long: "--jobs --arg-file --colsep --delay --timeout --joblog " +
		"--results --tempdir --max-args --sshlogin --wd --retries --halt", ends: 1, does: (*judge).parallel},
	{names: "find", does: (*judge).find},
	{names: "fd fdfind", does: (*judge).fd},
	{names: "watch viddy hwatch", short: "n", long: "--interval", ends: 1, does: (*judge).watch},
	{names: "entr", does: func(j *judge, c *call) bool {
		j.runCommand(c.sc, fill(skipOptions(c.rest), "/_", string(holeName), leaveAsIs), stream{})
		return true
	}},
	{names: "su", short: "cgGsw", long: "--command --group --supp-group --shell --whitelist-environment",
		shell: "-c --command", does: (*judge).su},
	{names: "script scriptreplay", short: "cIOBTEmo", long: "--command --log-in --log-out --log-io --log-timing --echo " +
		"--logging-format --output-limit", ends: 2, shell: "-c --command", writes: "-I -O -B -T --log-in --log-out " +
		"--log-io --log-timing", does: (*judge).typescript},
	{names: "at batch", refuse: &denial{class: ClassDestructive, reason: "NAME has something run later",
		instead: "run what is needed now, as a child of yours", asks: "-l -c -V"}},
	{names: "docker podman nerdctl docker-compose kubectl oc lxc incus", does: (*judge).container},
	{names: "ssh mosh rsh vagrant", short: "bcDEeFIiJLlmOopQRSWw", ends: 1, does: (*judge).ssh},
	{names: "tmux screen zellij dtach abduco", does: (*judge).keys},
	{names: "hyperfine concurrently nodemon watchexec chokidar onchange reflex air modd wait-on start-server-and-test " +
		"npm-run-all just task mprocs overmind foreman honcho poe taskipy multitime bench gotestsum cargo-watch",
		does: (*judge).commandLines},
	{names: "socat ncat nc netcat", does: (*judge).socket},
	{names: "make bmake", does: (*judge).makeTool},
	{names: "perf bpftrace trace-cmd kcov uftrace", does: (*judge).tracer},
	{names: "direnv", does: func(j *judge, c *call) bool {
		if len(c.rest) > 2 && c.rest[0].s == "exec" {
			j.runCommand(c.sc, c.rest[2:], c.in)
		}
		return true
	}},
	{names: "uv pipx", does: (*judge).uv},
	{names: "npm pnpm yarn bun", does: (*judge).nodeScripts},
	{names: "bundle rbenv nodenv goenv pyenv jenv mise rtx asdf fnm volta nvm corepack rye pdm hatch pixi poetry " +
		"conda-run toolbox distrobox flatpak-spawn devbox", does: (*judge).execVerb},
	{names: "nix nix-shell guix flox bwrap", does: (*judge).environment},
	{names: "unsquashfs flatpak rustup n sdk tox nox nx turbo rush moon", does: func(j *judge, c *call) bool {
		j.generic(c.sc, c.args)
		return true
	}},

	// Commands that change files.
	{names: "rm rmdir unlink shred srm trash trash-put rimraf del", short: "ns", does: (*judge).removes},
	{names: "mv", short: "tS", long: "--target-directory --suffix", does: func(j *judge, c *call) bool {
		return j.transfer(c, moving)
	}},
	{names: "cp ditto", short: "tS", long: "--target-directory --suffix", does: (*judge).copies},
	{names: "install", short: "tSmog", long: "--target-directory --suffix --mode --owner --group", does: (*judge).copies},
	{names: "ln link symlink", short: "tS", long: "--target-directory --suffix", does: (*judge).links},
	{names: "tee sponge vipe", each: "write to", does: (*judge).tee},
	{names: "touch truncate mkfifo mknod fallocate", short: "srdtlo", long: "--size --reference --date --time",
		each: "write to"},
	{names: "mkdir md", short: "m", long: "--mode", each: "make"},
	{names: "chmod chown chgrp setfacl chattr xattr setfattr chflags chcon", long: "--reference --from",
		does: (*judge).changesMode},
	{names: "dd", does: func(j *judge, c *call) bool {
		for _, a := range c.rest {
			if v, ok := strings.CutPrefix(a.s, "of="); ok {
				j.write(c.sc, arg{s: v}, "write to")
			}
		}
		return true
	}},
	{names: "rsync scp rclone unison", short: "eBTfMS", long: "--rsh --exclude --include --filter --exclude-from " +
		"--include-from --files-from --log-file --temp-dir --backup-dir --suffix --rsync-path --bwlimit --port --chmod",
		lines: "-e --rsh --rsync-path -S", does: (*judge).synchronises},
	{names: "tar bsdtar", does: (*judge).tar},
	{names: "unzip 7z 7za unrar cpio zip ar jar", does: (*judge).archive},
	{names: "gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 compress dos2unix unix2dos prettier gofmt goimports black ruff " +
		"clang-format rustfmt", long: "--config --stdin-filepath --parser", does: (*judge).rewrites},
	{names: "patch", short: "pdoirBVzDFg", long: "--directory --output --input --strip",
		writes: "-d --directory -o --output -r", does: (*judge).patch},
	{names: "split csplit", short: "alnbCt", long: "--filter --bytes --lines --number", shell: "--filter",
		does: func(j *judge, c *call) bool {
			if len(c.ops) > 1 {
				j.write(c.sc, c.ops[len(c.ops)-1], "write to")
			}
			return true
		}},
	{names: "sort uniq", short: "oktSTz", long: "--output --key --compress-program --temporary-directory --buffer-size",
		writes: "-o --output", program: "--compress-program", does: func(j *judge, c *call) bool {
			if c.base == "uniq" && len(c.ops) > 1 {
				j.write(c.sc, c.ops[1], "write to")
			}
			return true
		}},
	{names: "curl wget aria2c http https", does: (*judge).download},
	{names: "sed", does: (*judge).sed},
	{names: "man", short: "PH", long: "--pager", lines: "-P -H --pager"},
	{names: "rename prename mmv file-rename", does: func(j *judge, c *call) bool {
		for _, o := range skipOptions(c.rest) {
			if strings.Contains(o.s, ".git/") {
				j.write(c.sc, o, "rename")
			}
		}
		return true
	}},
	{names: "less more ed ex vi vim nvim view vimdiff rvim gvim nano pico micro emacs emacsclient kak hx helix joe mg",
		does: (*judge).editor},

	// Commands that change the machine.
	{names: "mkfs mkfs.* wipefs fdisk sfdisk parted blkdiscard mkswap cryptsetup badblocks hdparm sgdisk gdisk " +
		"partprobe pvcreate vgremove lvremove zpool",
		refuse: &denial{class: ClassDestructive, reason: "NAME works on whole disks", instead: insteadDisk}},
	{names: "shutdown reboot halt poweroff telinit kexec",
		refuse: &denial{class: ClassDestructive, reason: "NAME stops the machine", instead: insteadTurn}},
	{names: "init", does: func(j *judge, c *call) bool { return len(c.rest) != 1 || len(c.rest[0].s) != 1 }},
	{names: "init", refuse: &denial{class: ClassDestructive, reason: "NAME stops the machine", instead: insteadTurn}},
	{names: "systemctl loginctl", does: (*judge).stopsMachine},
	{names: "systemctl loginctl", refuse: &denial{class: ClassDestructive,
		reason: "NAME VERB changes what runs on this machine outside of the worktree", instead: insteadNow,
		unless: " status show cat list-units list-unit-files list-timers list-sockets list-dependencies list-jobs " +
			"is-active is-enabled is-failed is-system-running get-default show-environment help --version list-sessions " +
			"list-users session-status user-status"}},
	{names: "systemd-run anacron fcrontab launchctl schtasks incrontab", refuse: &denial{class: ClassDestructive,
		reason: "NAME has something run later or by somebody else", instead: insteadNow,
		alone: "-l -V --version --help list"}},
	{names: "crontab", refuse: &denial{class: ClassDestructive, reason: "this changes what runs later on this machine",
		instead: "run what is needed now", alone: "-l"}},
	{names: "mount umount pivot_root swapoff swapon insmod rmmod modprobe losetup",
		does: func(_ *judge, c *call) bool { return len(c.rest) == 0 || c.rest[0].s == "-l" }},
	{names: "mount umount pivot_root swapoff swapon insmod rmmod modprobe losetup",
		refuse: &denial{class: ClassDestructive, reason: "NAME changes the machine itself", instead: insteadDisk}},
	{names: "userdel useradd usermod groupdel passwd chpasswd visudo vipw chsh",
		refuse: &denial{class: ClassDestructive, reason: "NAME changes the machine's users", instead: insteadDisk}},

	// Interpreters.
	{names: "python* pypy* py ipython ipython3 bun node nodejs deno qjs tsx ts-node iojs perl* ruby* jruby php* lua* " +
		"texlua Rscript R julia ghc groovy scala elixir osascript guile racket sbcl ocaml raku erl octave swift pwsh " +
		"powershell janet bb clojure expect tclsh* wish", does: (*judge).interpreter},
	{names: "awk gawk mawk nawk original-awk goawk", does: (*judge).awk},
	{names: "sqlite3 psql mysql mariadb duckdb", does: (*judge).database},
	{names: "m4", does: (*judge).macros},
}

// npx, uvRun and uvTool are rows that others run as well: npm exec, uv run,
// pipx run. The last names a package, possibly with a version.
var (
	npx = command{short: "pw", long: "--package --workspace --filter", shell: "-c --call", runs: &wrapper{version: "@"}}

	uvRun = command{short: "piw", long: "--with --with-editable --with-requirements --python --extra --group --no-group " +
		"--only-group --env-file --project --directory --package --from --index --index-url --default-index --spec " +
		"--refresh-package --no-extra --cache-dir --python-platform --exclude-newer",
		runs: &wrapper{module: "-m --module"}}
	uvTool = command{short: uvRun.short, long: uvRun.long, runs: &wrapper{module: "-m --module", version: "@=<>["}}
)

// tools are the rows of tools other than git that move commits, tags, hooks or
// packages. A module of Python with the name of one is judged as it.
var tools = []command{
	{names: "gh", does: (*judge).gh},
	{names: "glab tea hut az bb-cli forgejo berg", does: (*judge).forge},
	{names: "jj", does: (*judge).jj},
	{names: "scalar", refuse: &denial{class: ClassOtherTools, reason: "NAME VERB changes repositories and git's settings",
		instead: insteadTools, asks: "list version help -h --help"}},
	{names: "hg chg sl sapling", does: (*judge).mercurial},
	{names: "svn bzr brz fossil darcs pijul cvs p4 got", refuse: &denial{class: ClassOtherTools, reason: changes,
		instead: insteadTools, unless: " log status st stat diff cat blame annotate ann info list ls help version praise " +
			"whatsnew record-status"}},
	{names: "gs gitk tig", does: func(_ *judge, c *call) bool {
		switch c.base {
		case "gs": // or Ghostscript
			return len(c.rest) == 0 || c.rest[0].s != "" && c.rest[0].s[0] == '-'
		case "tig":
			return len(c.rest) == 0 || contains("log show", c.verb())
		}
		return true
	}},
	{names: "stg gt graphite av gitu lazygit gitui tig ghq gita mr repo topgit tg spr ghstack " +
		"forgit gitbutler but gs aider cz czg commitizen gcm",
		refuse: &denial{class: ClassOtherTools, reason: "NAME changes the repository", instead: insteadTools,
			unless: "log status list ls show diff version help check"}},
	{names: "husky lefthook simple-git-hooks ghooks overcommit yorkie captainhook hk prek",
		does: (*judge).hookManager},
	{names: "pre-commit", refuse: &denial{class: ClassOtherTools, reason: "NAME VERB writes git hooks",
		instead: insteadTools, only: "install uninstall init-templatedir hook-impl"}},
	{names: "lerna", does: (*judge).lerna},
	{names: "lerna", refuse: &denial{class: ClassOtherTools, reason: "NAME VERB commits, tags or publishes",
		instead: insteadTools, unless: " run list ls changed diff info la ll bootstrap clean link init"}},
	{names: "npm pnpm yarn bun", does: (*judge).nodeManager},
	{names: "gh-pages surge push-dir ghpages", refuse: &denial{class: ClassOtherTools, reason: "NAME publishes",
		instead: insteadTools, asks: "--help --version --no-push"}},
	{names: "lint-staged", refuse: &denial{class: ClassOtherTools, reason: "NAME stashes and stages",
		instead: insteadTools, asks: "--help --version --debug-config"}},
	{names: "changeset", does: func(_ *judge, c *call) bool {
		return c.verb() == "version" && !hasWord(c.rest, "--snapshot")
	}},
	{names: "changeset", refuse: &denial{class: ClassOtherTools, reason: "NAME VERB tags or publishes",
		instead: insteadTools, only: "tag publish version"}},
	{names: "bump2version bumpversion bump-my-version bump-version bumpver tbump standard-version " +
		"commit-and-tag-version semantic-release python-semantic-release release-it np auto goreleaser versionize nbgv " +
		"shipit standard-release release-please release-plz towncrier-release cocogitto cog release bumpp",
		refuse: &denial{class: ClassOtherTools, reason: versions, instead: insteadTools,
			asks: "--help -h --version", unless: "check show help build healthcheck changelog"}},
	{names: "cargo", does: (*judge).cargo},
	{names: "mvn mvnw gradle gradlew sbt", does: (*judge).javaBuild},
	{names: "gem", refuse: &denial{class: ClassOtherTools,
		reason: "NAME VERB publishes a package", instead: insteadTools, only: "publish upload push"}},
	{names: "twine flit hatch uv pdm rye poetry", refuse: &denial{class: ClassOtherTools,
		reason: "NAME VERB publishes a package", instead: insteadTools, only: "publish upload"}},

	// Commands whose words are data.
	{data: true, names: "ls grep egrep fgrep zgrep ag ack head tail wc cut tr rev diff cmp comm file stat jq yq bat nl " +
		"od xxd hexdump strings tree du df ps id whoami hostname uname uptime nproc free lsof pgrep date cal seq expr bc " +
		"dc factor shuf paste join column fold fmt expand md5sum sha1sum sha256sum sha512sum cksum b2sum base64 base32 " +
		"info apropos whatis tldr help whereis locate realpath readlink basename dirname pathchk sleep yes apt apt-get apk " +
		"dnf yum brew pacman zypper snap ninja cspell codespell typos vale markdownlint shellcheck actionlint tokei cloc " +
		"ctags dig host nslookup ping telnet ss netstat ip notify-send say logger figlet cowsay tput clear stty tty locale " +
		"getconf getent groups arch most gitversion svu"},
}
