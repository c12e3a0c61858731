package guard

import (
	"strings"
)

func (j *judge) tar(c *call) bool {
	sc, rest := c.sc, c.rest
	extract, create := false, false
	for i, a := range rest {
		s := a.s
		next := arg{}
		if i+1 < len(rest) {
			next = rest[i+1]
		}
		if i == 0 && !strings.HasPrefix(s, "-") || strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "--") {
			letters := strings.TrimPrefix(s, "-")
			if k := strings.IndexByte(letters, 'C'); k >= 0 && k+1 < len(letters) && strings.Contains(letters[k:], "/") {
				next, letters = arg{s: letters[k+1:]}, letters[:k+1]
			}
			extract = extract || strings.Contains(letters, "x")
			create = create || strings.ContainsAny(letters, "cru")
			if strings.HasSuffix(letters, "C") && extract {
				j.write(sc, next, "unpack into")
			}
			if strings.HasSuffix(letters, "f") && create {
				j.write(sc, next, "write to")
			}
			if strings.HasSuffix(letters, "I") || strings.HasSuffix(letters, "F") {
				j.maybeShell(sc, next.s)
			}
			continue
		}
		name, val, has := strings.Cut(s, "=")
		if has {
			next = arg{s: val}
		}
		switch name {
		case "--extract", "--get":
			extract = true
		case "--create", "--append":
			create = true
		case "--directory", "--one-top-level":
			if extract {
				j.write(sc, next, "unpack into")
			}
		case "--file":
			if create {
				j.write(sc, next, "write to")
			}
		case "--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command",
			"--rmt-command":
			j.script(sc.clone(), next.s, stream{}, "tar")
		case "--checkpoint-action":
			if cmd, ok := strings.CutPrefix(next.s, "exec="); ok {
				j.script(sc.clone(), cmd, stream{}, "tar")
			}
		}
	}
	if extract {
		j.fills(sc, "unpack into")
		for _, a := range rest[1:] {
			if strings.HasPrefix(a.s, ".git/") || a.s == ".git" {
				j.write(sc, a, "unpack")
			}
		}
	}
	return true
}

func (j *judge) archive(c *call) bool {
	sc, base, rest := c.sc, c.base, c.rest
	for i, a := range rest {
		prev := ""
		if i > 0 {
			prev = rest[i-1].s
		}
		switch {
		case (prev == "-d" || prev == "-D" || prev == "--directory" || prev == "-TT" || prev == "--unzip-command" ||
			prev == "--rsh-command") && base != "ar":
			if prev == "-TT" || strings.HasSuffix(prev, "-command") {
				j.script(sc.clone(), a.s, stream{}, base)
				continue
			}
			j.write(sc, a, "unpack into")
		case strings.HasPrefix(a.s, "-d") && base == "unzip" && len(a.s) > 2:
			j.write(sc, arg{s: a.s[2:]}, "unpack into")
		case strings.HasPrefix(a.s, "-o") && (base == "7z" || base == "7za") && len(a.s) > 2:
			j.write(sc, arg{s: a.s[2:]}, "unpack into")
		}
	}
	if base == "zip" || base == "ar" || base == "jar" {
		if ops := skipOptions(rest); len(ops) > 0 {
			j.gitOnly(sc, ops[0])
		}
	}
	if base == "unzip" || base == "cpio" {
		j.fills(sc, "unpack into")
	}
	return true
}

func (j *judge) download(c *call) bool {
	sc, base, rest := c.sc, c.base, c.rest
	for i, a := range rest {
		next := arg{}
		if i+1 < len(rest) {
			next = rest[i+1]
		}
		name, val, has := strings.Cut(a.s, "=")
		if has {
			next = arg{s: val}
		}
		target := false
		switch name {
		case "-o", "--output", "--output-dir", "-D", "--dump-header", "-c", "--cookie-jar", "--trace", "--stderr",
			"--trace-ascii":
			target = base != "wget" || name == "-o"
		case "-O", "-P", "--output-document", "--directory-prefix", "--output-file":
			target = base == "wget" || name != "-O" && name != "-P"
		case "--use-askpass", "--on-download-complete":
			j.runCommand(sc, []arg{next}, stream{})
		default:
			if len(a.s) > 2 && (a.s[0] == '-' && a.s[1] != '-') && strings.ContainsAny(a.s[len(a.s)-1:], "oO") &&
				base == "curl" && a.s[len(a.s)-1] == 'o' {
				target = true
			}
			if len(a.s) > 2 && strings.HasPrefix(a.s, "-o") || base == "wget" && len(a.s) > 2 &&
				(strings.HasPrefix(a.s, "-O") || strings.HasPrefix(a.s, "-P")) {
				next, target = arg{s: a.s[2:]}, strings.Trim(a.s[2:], "LfsSkoOiv") != ""
			}
		}
		if target && next.s != "-" && !strings.HasPrefix(next.s, "-") {
			j.write(sc, next, "write to")
			if next.known() && next.s != "" && !j.done {
				for _, p := range sc.resolve(next.s) {
					sc.note(p, file{text: string(holeForeign), decoded: true})
				}
			}
		}
	}
	j.fills(sc, "download into")
	return true
}

// fills denies a command that may write any file into its current folder when that
// folder is git's.
func (j *judge) fills(sc *scope, verb string) {
	for _, d := range sc.cwds {
		if class, reason, instead := j.gitPlace(spot{path: d}); class != "" {
			j.deny(class, "this would "+verb+" "+clip(d)+", "+reason, instead)
		}
	}
}
