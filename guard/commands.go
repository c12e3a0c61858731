package guard

import "strings"

// command is a row of the table: how the options of the commands with these
// names are read, and what the commands may do. The zero value of a field says
// nothing. Several rows may have one name; they are asked in their order until
// one of them has judged the command.
type command struct {
	names string // between blanks; a star stands for any ending, an empty list for every name

	// Options. Letters of those whose value is the rest of the word or the next
	// word, and the long ones whose value may be the next word, between blanks.
	short, long string
	// glued are letters whose value is the rest of the word alone.
	glued string
	// ends is the operand that ends the options; 0 = they may stand anywhere.
	ends int

	// Options by what their value is: a shell line; a text that may be one; a
	// command; a file that is written.
	shell, lines, program, writes string
	// each is what is done to every operand, as "write to" or "make".
	each string
	// does judges what the fields cannot say; false leaves the command to later rows.
	does func(*judge, *call) bool
	// runs says how a command is found that runs the rest of its words.
	runs *wrapper
	// refuse denies the command.
	refuse *denial
	// data means that the words are never run.
	data bool
}

// denial refuses calls of a command. In the reason NAME and VERB stand for the
// command and its first word that is no option.
type denial struct {
	class, reason, instead string
	// Verbs that are allowed, or the only ones that are not; both empty = none is
	// allowed. A list that begins with a blank allows a call without a verb.
	unless, only string
	// Words that make the call one that only asks: anywhere, or as its only word.
	asks, alone string
}

// call is one call of a command, with its options read as its row says.
type call struct {
	sc   *scope
	base string
	args []arg // the name too
	rest []arg
	in   stream
	opts []option
	ops  []arg
}

// option is one option of a call, as "-x" or "--name", with its value.
type option struct {
	name string
	val  arg
}

// has reports whether one of the options is there. A long one may be shortened
// to four letters or more.
func (c *call) has(names string) bool {
	for _, o := range c.opts {
		for rest := names; rest != ""; {
			var n string
			n, rest, _ = strings.Cut(rest, " ")
			if o.name == n || len(o.name) > 5 && strings.HasPrefix(o.name, "--") && strings.HasPrefix(n, o.name) {
				return true
			}
		}
	}
	return false
}

// values returns the values that options of these names have.
func (c *call) values(names string) []arg {
	var out []arg
	for _, o := range c.opts {
		if o.val.s != "" && contains(names, o.name) {
			out = append(out, o.val)
		}
	}
	return out
}

// verb is the first word that is no option.
func (c *call) verb() string {
	v, _ := verbs(c.rest)
	return v
}

// read splits words into options and operands.
func (r *command) read(args []arg) (opts []option, ops []arg) {
	for i := 0; i < len(args); i++ {
		s := args[i].s
		next := func() (a arg) {
			if i+1 < len(args) {
				i++
				a = args[i]
			}
			return a
		}
		switch {
		case s == "--":
			return opts, append(ops, args[i+1:]...)
		case len(s) < 2 || s[0] != '-':
			ops = append(ops, args[i])
			if len(ops) == r.ends {
				return opts, append(ops, args[i+1:]...)
			}
		case strings.HasPrefix(s, "--"):
			name, val, has := strings.Cut(s, "=")
			o := option{name, arg{s: val}}
			if !has && contains(r.long, name) {
				o.val = next()
			}
			opts = append(opts, o)
		default:
			for k := 1; k < len(s); k++ {
				o := option{name: "-" + s[k:k+1]}
				valued, glued := strings.IndexByte(r.short, s[k]) >= 0, strings.IndexByte(r.glued, s[k]) >= 0
				if valued && k+1 == len(s) {
					o.val = next()
				} else if valued || glued {
					o.val = arg{s: s[k+1:]}
				}
				opts = append(opts, o)
				if valued || glued {
					break
				}
			}
		}
	}
	return opts, ops
}

// named reports whether a list of names has one.
func named(list, name string) bool {
	for list != "" {
		var w string
		w, list, _ = strings.Cut(list, " ")
		if w == name || strings.HasSuffix(w, "*") && strings.HasPrefix(name, w[:len(w)-1]) {
			return true
		}
	}
	return false
}

// known judges a command by the rows that have its name. ok is false when none
// of them has judged it.
func (j *judge) known(rows []command, sc *scope, base string, args []arg, in stream) (out string, ok bool) {
	c := call{sc: sc, base: base, args: args, rest: args[1:], in: in}
	if contains(gnuNames, base) {
		c.base = base[1:]
	}
	for i := range rows {
		if r := &rows[i]; named(r.names, c.base) {
			if r.runs != nil {
				return j.wrapper(&c, r), true
			}
			if j.row(&c, r) {
				return j.prints(sc, base, args, in), true
			}
		}
	}
	return "", false
}

// row judges a call by one row, and reports whether the row has judged it.
func (j *judge) row(c *call, r *command) bool {
	c.opts, c.ops = r.read(c.rest)
	for _, o := range c.opts {
		if o.val.s == "" {
			continue
		}
		switch {
		case contains(r.shell, o.name):
			j.script(c.sc.clone(), o.val.s, c.in, c.base)
		case contains(r.lines, o.name):
			j.maybeShell(c.sc, o.val.s)
		case contains(r.program, o.name):
			j.runCommand(c.sc, []arg{o.val}, stream{})
		case contains(r.writes, o.name):
			j.write(c.sc, o.val, "write to")
		}
	}
	if r.each != "" {
		for _, o := range c.ops {
			j.write(c.sc, o, r.each)
		}
	}
	if r.data {
		j.outputs(c.sc, c.rest)
	}
	if r.does != nil && !r.does(j, c) {
		return false
	}
	if r.refuse != nil && !r.refuse.lets(c) {
		verb := clip(c.verb())
		j.deny(r.refuse.class, strings.NewReplacer("NAME", c.base, "VERB", verb).Replace(r.refuse.reason), r.refuse.instead)
	}
	return true
}

// lets reports whether a call is one of those that a refusal allows.
func (f *denial) lets(c *call) bool {
	for _, a := range c.rest {
		if contains(f.asks, a.s) {
			return true
		}
	}
	switch {
	case len(c.rest) == 1 && contains(f.alone, c.rest[0].s):
		return true
	case f.only != "":
		return !contains(f.only, c.verb())
	}
	return contains(f.unless, c.verb())
}
