package worktree

import (
	"fmt"
	"strconv"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree/index"
)

type manifest struct {
	c      *Checkpoint
	modes  modes
	rules  []string
	files  []file // names are paths
	dirs   []node // path and perm
	extras []extra
}

func parseManifest(text []byte) (*manifest, error) {
	m := &manifest{c: &Checkpoint{}}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != manifestFormat {
		return nil, fmt.Errorf("the format %q is not known", lines[0])
	}
	for i, line := range lines[1:] {
		if err := m.line(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	return m, nil
}

func (m *manifest) line(line string) (err error) {
	word, rest, _ := strings.Cut(line, " ")
	p := fields{rest: rest}
	switch word {
	case "head":
		if m.c.Head = p.quoted(); m.c.Head == "-" {
			m.c.Head = ""
		}
	case "tip":
		m.c.Tip = p.id()
	case "before":
		m.c.Tree = p.id()
	case "index":
		m.c.Index.Tree = p.id()
	case "modes":
		m.modes = modes{uint32(p.num(8)), uint32(p.num(8)), uint32(p.num(8))}
	case "rules":
		m.rules = append(m.rules, p.quoted())
	case "file":
		f := file{class: class(p.num(10)), mode: object.Mode(p.num(8)), id: p.id(), kind: kind(p.num(10)),
			perm: uint32(p.num(8)),
			form: form(p.num(10)), raw: p.id(), bits: uint16(p.num(10)), name: p.quoted()}
		f.size, f.mtime, f.ino = p.num(10), p.num(10), p.inode()
		if f.name == "" {
			p.bad("a file without a name")
		}
		m.files = append(m.files, f)
	case "dir":
		m.dirs = append(m.dirs, node{perm: uint32(p.num(8)), path: p.quoted()})
	case "extra":
		x := extra{what: extraKind(p.num(10)), kind: kind(p.num(10)), mark: p.id(), size: p.num(10), name: p.quoted(),
			ino: p.inode()}
		if p.rest != "" {
			x.perm, x.mtime, x.ctime = uint32(p.num(8)), p.num(10), p.num(10)
		}
		m.extras = append(m.extras, x)
	case "stage":
		m.c.Index.Unmerged = append(m.c.Index.Unmerged,
			StageEntry{Stage: uint8(p.num(10)), Mode: object.Mode(p.num(8)), ID: p.id(), Path: p.quoted()})
	case "bits":
		m.c.Index.Bits = append(m.c.Index.Bits, EntryBits{Flags: index.Flags(p.num(10)), Path: p.quoted()})
	default:
		return fmt.Errorf("%q is not known", word)
	}
	return p.err
}

// fields takes the values of a line one by one and keeps the first error.
type fields struct {
	rest string
	err  error
}

func (p *fields) bad(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("damaged: %s", what)
	}
}

func (p *fields) word() string {
	w, rest, _ := strings.Cut(p.rest, " ")
	p.rest = rest
	return w
}

func (p *fields) num(base int) int64 {
	w := p.word()
	n, err := strconv.ParseInt(w, base, 64)
	if err != nil {
		p.bad("the number " + strconv.Quote(w))
	}
	return n
}

// inode is the last value of a line; checkpoints of earlier versions lack it.
func (p *fields) inode() uint64 {
	if p.rest == "" {
		return 0
	}
	w := p.word()
	n, err := strconv.ParseUint(w, 10, 64) // overlayfs, mergerfs and NFS use all 64 bits
	if err != nil {
		p.bad("the inode " + strconv.Quote(w))
	}
	return n
}

func (p *fields) id() object.ID {
	w := p.word()
	id, err := object.ParseID(w)
	if err != nil {
		p.bad("the id " + strconv.Quote(w))
	}
	return id
}

func (p *fields) quoted() string {
	q, err := strconv.QuotedPrefix(p.rest)
	if err != nil {
		p.bad("a name is not quoted")
		return ""
	}
	p.rest = strings.TrimPrefix(p.rest[len(q):], " ")
	s, err := strconv.Unquote(q)
	if err != nil {
		p.bad("the name " + q)
	}
	return s
}
