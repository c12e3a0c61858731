package guard

import (
	"path"
	"strings"
)

// operands splits words into options and operands. short lists the letters of
// options that take a separate argument; long the same, each between blanks.
func operands(args []arg, short, long string) (opts []string, ops []arg, vals map[string]arg) {
	vals = map[string]arg{}
	for i := 0; i < len(args); i++ {
		s := args[i].s
		switch {
		case s == "--":
			return opts, append(ops, args[i+1:]...), vals
		case len(s) < 2 || s[0] != '-':
			ops = append(ops, args[i])
		case strings.HasPrefix(s, "--"):
			name, val, has := strings.Cut(s, "=")
			opts = append(opts, name)
			if has {
				vals[name] = arg{s: val}
			} else if strings.Contains(long, " "+name+" ") && i+1 < len(args) {
				i++
				vals[name] = args[i]
			}
		default:
			opts = append(opts, s)
			for k := 1; k < len(s); k++ {
				if strings.IndexByte(short, s[k]) < 0 {
					continue
				}
				if k+1 < len(s) {
					vals["-"+s[k:k+1]] = arg{s: s[k+1:]}
				} else if i+1 < len(args) {
					i++
					vals["-"+s[k:k+1]] = args[i]
				}
				break
			}
		}
	}
	return opts, ops, vals
}

// hasOpt reports whether a short letter or a long option (or its abbreviation
// of at least four letters) is among the options.
func hasOpt(opts []string, letters string, long ...string) bool {
	for _, o := range opts {
		if strings.HasPrefix(o, "--") {
			for _, l := range long {
				if o == l || len(o) > 5 && strings.HasPrefix(l, o) {
					return true
				}
			}
			continue
		}
		if strings.ContainsAny(o[1:], letters) {
			return true
		}
	}
	return false
}

// fileCommand judges the commands that change files, by what they would change.
func (j *judge) fileCommand(sc *scope, base string, args []arg, in stream) bool {
	rest := args[1:]
	switch base { // GNU tools under their names on other systems
	case "gsed", "gcp", "gmv", "grm", "gln", "gtee", "gtouch", "ginstall", "gdd", "gchmod", "gtruncate", "gtar",
		"gsplit", "gshred":
		base = base[1:]
	}
	switch base {
	case "rm", "rmdir", "unlink", "shred", "srm", "trash", "trash-put", "rimraf", "del":
		opts, ops, _ := operands(rest, "ns", "")
		recursive := hasOpt(opts, "rR", "--recursive") || base == "rimraf" || base == "trash" || base == "trash-put" ||
			base == "srm"
		for _, o := range ops {
			if recursive {
				j.remove(sc, o, true)
			} else {
				j.write(sc, o, "remove")
			}
		}
	case "mv":
		_, ops, vals := operands(rest, "tS", " --target-directory --suffix ")
		if dir, ok := vals["-t"]; ok {
			ops = append(ops, dir)
		}
		if dir, ok := vals["--target-directory"]; ok {
			ops = append(ops, dir)
		}
		j.transfer(sc, ops, true)
	case "cp", "install", "ditto":
		short := "tS"
		if base == "install" {
			short = "tSmog"
		}
		opts, ops, vals := operands(rest, short, " --target-directory --suffix --mode --owner --group ")
		if base == "install" && hasOpt(opts, "d", "--directory") {
			for _, o := range ops {
				j.write(sc, o, "make")
			}
			break
		}
		for _, k := range []string{"-t", "--target-directory"} {
			if dir, ok := vals[k]; ok {
				ops = append(ops, dir)
			}
		}
		if hasOpt(opts, "ls", "--link", "--symbolic-link") && base == "cp" && len(ops) > 1 {
			for _, o := range ops[:len(ops)-1] {
				j.link(sc, o)
			}
		}
		j.transfer(sc, ops, false)
	case "ln", "link", "symlink":
		_, ops, vals := operands(rest, "tS", " --target-directory --suffix ")
		if dir, ok := vals["-t"]; ok {
			ops = append(ops, dir)
		}
		if len(ops) == 1 {
			ops = append(ops, arg{s: path.Base(ops[0].s)})
		}
		if len(ops) > 1 {
			dest := ops[len(ops)-1]
			for _, o := range ops[:len(ops)-1] {
				j.link(sc, o)
				if !isAbs(o.s) {
					// A symbolic link is read from its own folder.
					j.link(sc, arg{s: path.Join(path.Dir(dest.s), o.s), glob: o.glob})
				}
			}
		}
		j.transfer(sc, ops, false)
	case "tee", "sponge", "vipe":
		_, ops, _ := operands(rest, "", "")
		for _, o := range ops {
			j.write(sc, o, "write to")
			if o.known() && !j.done {
				for _, p := range sc.resolve(o.s) {
					sc.note(p, file{text: in.text, written: true})
				}
			}
		}
	case "touch", "truncate", "mkfifo", "mknod", "fallocate":
		_, ops, _ := operands(rest, "srdtlo", " --size --reference --date --time ")
		for _, o := range ops {
			j.write(sc, o, "write to")
		}
	case "mkdir", "md":
		_, ops, _ := operands(rest, "m", " --mode ")
		for _, o := range ops {
			j.write(sc, o, "make")
		}
	case "chmod", "chown", "chgrp", "setfacl", "chattr", "xattr", "setfattr", "chflags", "chcon":
		opts, ops, vals := operands(rest, "", " --reference --from ")
		if _, ok := vals["--reference"]; !ok && len(ops) > 0 && !strings.HasPrefix(base, "setfa") {
			ops = ops[1:]
		}
		for _, o := range ops {
			if hasOpt(opts, "R", "--recursive") {
				j.remove(sc, o, true)
			} else {
				j.write(sc, o, "change")
			}
		}
	case "dd":
		for _, a := range rest {
			if v, ok := strings.CutPrefix(a.s, "of="); ok {
				j.write(sc, arg{s: v}, "write to")
			}
		}
	case "rsync", "scp", "rclone", "unison":
		opts, ops, vals := operands(rest, "eBTfMS",
			" --rsh --exclude --include --filter --exclude-from --include-from --files-from --log-file --temp-dir "+
				"--backup-dir --suffix --rsync-path --bwlimit --port --chmod ")
		for _, k := range []string{"-e", "--rsh", "--rsync-path", "-S"} {
			if v, ok := vals[k]; ok {
				j.maybeShell(sc, v.s)
			}
		}
		for _, o := range opts {
			if strings.HasPrefix(o, "--del") && len(ops) > 1 && !strings.Contains(ops[len(ops)-1].s, ":") {
				j.remove(sc, ops[len(ops)-1], true)
			}
		}
		j.transfer(sc, ops, false)
	case "tar", "bsdtar":
		j.tar(sc, rest)
	case "unzip", "7z", "7za", "unrar", "cpio", "zip", "ar", "jar":
		j.archive(sc, base, rest)
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4", "compress", "dos2unix", "unix2dos",
		"prettier", "gofmt", "goimports", "black", "ruff", "clang-format", "rustfmt":
		_, ops, _ := operands(rest, "", " --config --stdin-filepath --parser ")
		for _, o := range ops {
			if o.s != "." && o.s != "./..." {
				j.gitOnly(sc, o)
			}
		}
	case "patch":
		_, ops, vals := operands(rest, "pdoirBVzDFg", " --directory --output --input --strip ")
		for _, k := range []string{"-d", "--directory", "-o", "--output", "-r"} {
			if v, ok := vals[k]; ok {
				j.write(sc, v, "write to")
			}
		}
		if len(ops) > 0 {
			j.write(sc, ops[0], "write to")
		}
		for _, line := range strings.Split(in.text, "\n") {
			if f := strings.Fields(line); len(f) > 1 && (f[0] == "+++" || f[0] == "---") && strings.Contains(f[1], ".git/") {
				j.write(sc, arg{s: f[1]}, "write to")
			}
		}
	case "split", "csplit":
		_, ops, vals := operands(rest, "alnbCt", " --filter --bytes --lines --number ")
		if v, ok := vals["--filter"]; ok {
			j.script(sc.clone(), v.s, stream{}, base)
		}
		if len(ops) > 1 {
			j.write(sc, ops[len(ops)-1], "write to")
		}
	case "mkfs", "wipefs", "fdisk", "sfdisk", "parted", "blkdiscard", "mkswap", "cryptsetup", "badblocks", "hdparm",
		"sgdisk", "gdisk", "partprobe", "pvcreate", "vgremove", "lvremove", "zpool":
		j.deny(ClassDestructive, base+" works on whole disks", "work on files in the worktree")
	case "shutdown", "reboot", "halt", "poweroff", "telinit", "kexec":
		j.deny(ClassDestructive, base+" stops the machine", "end your work by ending your turn")
	case "init":
		if len(rest) == 1 && len(rest[0].s) == 1 {
			j.deny(ClassDestructive, "init stops the machine", "end your work by ending your turn")
		}
	case "systemctl", "loginctl":
		for _, a := range rest {
			switch a.s {
			case "poweroff", "reboot", "halt", "kexec", "suspend", "hibernate", "rescue", "emergency", "soft-reboot":
				j.deny(ClassDestructive, "this stops the machine", "end your work by ending your turn")
			}
		}
		verb, _ := verbs(rest)
		if !contains(
			" status show cat list-units list-unit-files list-timers list-sockets list-dependencies list-jobs is-active "+
				"is-enabled is-failed is-system-running get-default show-environment help --version list-sessions list-users "+
				"session-status user-status", verb) {
			j.deny(ClassDestructive, base+" "+clip(verb)+" changes what runs on this machine outside of the worktree",
				"run what is needed now, as a child of yours")
		}
	case "systemd-run", "anacron", "fcrontab", "launchctl", "schtasks", "incrontab":
		if len(rest) == 1 && contains("-l -V --version --help list", rest[0].s) {
			return true
		}
		j.deny(ClassDestructive, base+" has something run later or by somebody else",
			"run what is needed now, as a child of yours")
	case "crontab":
		if len(rest) != 1 || rest[0].s != "-l" {
			j.deny(ClassDestructive, "this changes what runs later on this machine", "run what is needed now")
		}
	case "mount", "umount", "pivot_root", "swapoff", "swapon", "insmod", "rmmod", "modprobe", "losetup":
		if len(rest) > 0 && rest[0].s != "-l" {
			j.deny(ClassDestructive, base+" changes the machine itself", "work on files in the worktree")
		}
	case "userdel", "useradd", "usermod", "groupdel", "passwd", "chpasswd", "visudo", "vipw", "chsh":
		j.deny(ClassDestructive, base+" changes the machine's users", "work on files in the worktree")
	case "curl", "wget", "aria2c", "http", "https":
		j.download(sc, base, rest)
	case "sed":
		j.sed(sc, rest)
	case "man":
		for i, a := range rest {
			if (a.s == "-P" || a.s == "-H" || a.s == "--pager") && i+1 < len(rest) {
				j.maybeShell(sc, rest[i+1].s)
			} else if v, ok := strings.CutPrefix(a.s, "--pager="); ok {
				j.maybeShell(sc, v)
			} else if v, ok := strings.CutPrefix(a.s, "-P"); ok {
				j.maybeShell(sc, v)
			}
		}
	case "rename", "prename", "mmv", "file-rename":
		for _, o := range skipOptions(rest) {
			if strings.Contains(o.s, ".git/") {
				j.write(sc, o, "rename")
			}
		}
	case "less", "more", "ed", "ex", "vi", "vim", "nvim", "view", "vimdiff", "rvim", "gvim", "nano", "pico", "micro",
		"emacs", "emacsclient", "kak", "hx", "helix", "joe", "mg":
		j.editor(sc, base, rest, in)
	case "sort", "uniq":
		_, ops, vals := operands(rest, "oktSTz", " --output --key --compress-program --temporary-directory --buffer-size ")
		for _, k := range []string{"-o", "--output"} {
			if v, ok := vals[k]; ok {
				j.write(sc, v, "write to")
			}
		}
		if v, ok := vals["--compress-program"]; ok {
			j.runCommand(sc, []arg{v}, stream{})
		}
		if base == "uniq" && len(ops) > 1 {
			j.write(sc, ops[1], "write to")
		}
	default:
		if strings.HasPrefix(base, "mkfs.") {
			j.deny(ClassDestructive, base+" works on whole disks", "work on files in the worktree")
			return true
		}
		return false
	}
	return true
}

// transfer judges the last operand as the place written, and the others as
// removed when they are moved; it remembers copies of guarded programs.
func (j *judge) transfer(sc *scope, ops []arg, move bool) {
	if len(ops) < 2 {
		return
	}
	dest := ops[len(ops)-1]
	if i := strings.IndexByte(dest.s, ':'); i > 0 && !strings.Contains(dest.s[:i], "/") && i != 1 {
		return // host:path
	}
	j.write(sc, dest, "write to")
	for _, src := range ops[:len(ops)-1] {
		if j.done {
			return
		}
		if move {
			j.remove(sc, src, false)
		}
		into := arg{s: dest.s + "/" + path.Base(slash(src.s)), glob: src.glob}
		if strings.HasSuffix(src.s, "/") || strings.HasSuffix(src.s, "/.") {
			into = dest // contents go there
		}
		if strings.HasSuffix(dest.s, "/") || dest.s == "." || dest.s == ".." || len(ops) > 2 {
			j.write(sc, into, "write to")
		}
		f, ok := sc.made(src.s)
		if !ok && src.known() {
			switch b := baseName(src.s); {
			case b == "git" || isShell(b) || b == "env" || b == "busybox" || j.namedBlock(b):
				f, ok = file{program: b}, true
			}
		}
		if ok {
			for _, d := range []string{dest.s, into.s} {
				for _, p := range sc.resolve(d) {
					sc.note(p, f)
				}
			}
		}
	}
}

// link judges what a link leads to: writing through it is writing there.
func (j *judge) link(sc *scope, a arg) {
	for _, p := range sc.resolve(a.s) {
		switch class, reason, instead := j.place(p, a.glob, sc.dotglob, false); class {
		case ClassGitFiles, ClassState, ClassProtected:
			j.deny(class, "this would make a link to "+clip(a.s)+", "+reason, instead)
		}
	}
}

// gitOnly judges an operand that a formatter or packer may rewrite: only git's
// own files matter there.
func (j *judge) gitOnly(sc *scope, a arg) {
	for _, p := range sc.resolve(a.s) {
		if class, reason, instead := j.gitPlace(p, a.glob, sc.dotglob, !below(p, j.p.Worktree) &&
			belowAny(p, j.p.temp())); class != "" {
			j.deny(class, "this would change "+clip(a.s)+", "+reason, instead)
		}
	}
}

// outputs judges the options of unknown commands that name a file to write.
func (j *judge) outputs(sc *scope, rest []arg) {
	for i, a := range rest {
		name, val, has := strings.Cut(a.s, "=")
		switch name {
		case "-o", "--output", "--out", "--outfile", "--output-file", "--out-file", "--log-file", "--logfile",
			"--outdir", "--out-dir", "--output-dir", "--report", "-O":
			if !has && i+1 < len(rest) {
				j.write(sc, rest[i+1], "write to")
			} else if has {
				j.write(sc, arg{s: val}, "write to")
			}
		default:
			if strings.HasPrefix(a.s, "-o") && strings.Contains(a.s, "/") {
				j.write(sc, arg{s: a.s[2:], glob: a.glob}, "write to")
			}
		}
	}
}
