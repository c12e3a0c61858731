package guard

import (
	"path"
	"strings"
)

func (j *judge) removes(c *call) bool {
	recursive := c.has("-r -R --recursive") || contains("rimraf trash trash-put srm", c.base)
	for _, o := range c.ops {
		if recursive {
			j.remove(c.sc, o, denyUnknown)
		} else {
			j.write(c.sc, o, "remove")
		}
	}
	return true
}

func (j *judge) copies(c *call) bool {
	if c.base == "install" && c.has("-d --directory") {
		for _, o := range c.ops {
			j.write(c.sc, o, "make")
		}
		return true
	}
	if c.base == "cp" && c.has("-l -s --link --symbolic-link") {
		targets := c.values("-t --target-directory")
		for i, o := range c.ops {
			if i+1 < len(c.ops) || len(targets) > 0 {
				j.link(c.sc, o)
			}
		}
	}
	return j.transfer(c, copying)
}

func (j *judge) links(c *call) bool {
	if len(c.ops) == 1 && len(c.values("-t --target-directory")) == 0 {
		c.ops = append(c.ops, arg{s: path.Base(c.ops[0].s)})
	}
	ops := c.places()
	for i := 0; i+1 < len(ops); i++ {
		o := ops[i]
		j.link(c.sc, o)
		if !isAbs(o.s) {
			// A symbolic link is read from its own folder.
			j.link(c.sc, arg{s: path.Join(path.Dir(ops[len(ops)-1].s), o.s), glob: o.glob})
		}
	}
	return j.transfer(c, copying)
}

func (j *judge) tee(c *call) bool {
	for _, o := range c.ops {
		if o.known() && !j.done {
			for _, p := range c.sc.resolve(o.s) {
				c.sc.note(p, file{text: c.in.text, written: true})
			}
		}
	}
	return true
}

func (j *judge) changesMode(c *call) bool {
	ops := c.ops
	if len(c.values("--reference")) == 0 && len(ops) > 0 && !strings.HasPrefix(c.base, "setfa") {
		ops = ops[1:]
	}
	for _, o := range ops {
		if c.has("-R --recursive") {
			j.remove(c.sc, o, denyUnknown)
		} else {
			j.write(c.sc, o, "change")
		}
	}
	return true
}

func (j *judge) synchronises(c *call) bool {
	for _, o := range c.opts {
		if strings.HasPrefix(o.name, "--del") && len(c.ops) > 1 && !strings.Contains(c.ops[len(c.ops)-1].s, ":") {
			j.remove(c.sc, c.ops[len(c.ops)-1], denyUnknown)
		}
	}
	return j.transfer(c, copying)
}

// rewrites judges what formatters and packers change in place.
func (j *judge) rewrites(c *call) bool {
	for _, o := range c.ops {
		if o.s != "." && o.s != "./..." {
			j.gitOnly(c.sc, o)
		}
	}
	return true
}

func (j *judge) patch(c *call) bool {
	if len(c.ops) > 0 {
		j.write(c.sc, c.ops[0], "write to")
	}
	for _, line := range strings.Split(c.in.text, "\n") {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "+++" || f[0] == "---") && strings.Contains(f[1], ".git/") {
			j.write(c.sc, arg{s: f[1]}, "write to")
		}
	}
	return true
}

// stopsMachine judges verbs of a service manager that end everything.
func (j *judge) stopsMachine(c *call) bool {
	for _, a := range c.rest {
		if contains("poweroff reboot halt kexec suspend hibernate rescue emergency soft-reboot", a.s) {
			j.deny(ClassDestructive, "this stops the machine", insteadTurn)
		}
	}
	return false
}

// places are the operands with the folder that an option names as the last one.
func (c *call) places() []arg {
	return append(c.ops[:len(c.ops):len(c.ops)], c.values("-t --target-directory")...)
}

// transferKind says whether the sources of a transfer remain.
type transferKind bool

const (
	moving  transferKind = true
	copying transferKind = false
)

// transfer judges the last operand as the place written, and the others as
// removed when they are moved; it remembers copies of guarded programs.
func (j *judge) transfer(c *call, move transferKind) bool {
	sc, ops := c.sc, c.places()
	if len(ops) < 2 {
		return true
	}
	dest := ops[len(ops)-1]
	if i := strings.IndexByte(dest.s, ':'); i > 0 && !strings.Contains(dest.s[:i], "/") && i != 1 {
		return true // host:path
	}
	j.write(sc, dest, "write to")
	for _, src := range ops[:len(ops)-1] {
		if j.done {
			break
		}
		if move {
			j.remove(sc, src, allowUnknown)
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
	return true
}

// link judges what a link leads to: writing through it is writing there.
func (j *judge) link(sc *scope, a arg) {
	for _, p := range sc.resolve(a.s) {
		switch class, reason, instead := j.place(spot{path: p, glob: a.glob, dotglob: sc.dotglob}); class {
		case ClassGitFiles, ClassState, ClassProtected:
			j.deny(class, "this would make a link to "+clip(a.s)+", "+reason, instead)
		}
	}
}

// gitOnly judges an operand that a formatter or packer may rewrite: only git's
// own files matter there.
func (j *judge) gitOnly(sc *scope, a arg) {
	for _, p := range sc.resolve(a.s) {
		if class, reason, instead := j.gitPlace(spot{path: p, glob: a.glob, dotglob: sc.dotglob,
			temp: !below(p, j.p.Worktree) && belowAny(p, j.p.temp())}); class != "" {
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
