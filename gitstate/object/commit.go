package object

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Signature is an author or a committer.
type Signature struct {
	Name, Email string
	When        time.Time // with the zone to be written
}

// Ours signs the commits that git ralph makes for itself.
func Ours(when time.Time) Signature {
	return Signature{Name: "git-ralph", Email: "git-ralph@localhost", When: when}
}

func (s Signature) String() string {
	_, off := s.When.Zone()
	sign := '+'
	if off < 0 {
		sign, off = '-', -off
	}
	return fmt.Sprintf("%s <%s> %d %c%02d%02d", s.Name, s.Email, s.When.Unix(), sign, off/3600, off%3600/60)
}

// ParseSignature reads `Name <mail> seconds zone`, as `git var` prints it.
func ParseSignature(line string) (Signature, error) {
	if lt := strings.IndexByte(line, '<'); lt < 0 || !strings.Contains(line[lt:], ">") {
		return Signature{}, fmt.Errorf("%q is not an identity", line)
	}
	sig := readSignature(line)
	if sig.When.IsZero() {
		return sig, fmt.Errorf("%q has no time", line)
	}
	return sig, nil
}

// readSignature reads an identity of a commit that anybody may have written,
// like git's log. It finds nothing without a mail address, and no time unless
// seconds and a zone follow the last bracket.
func readSignature(line string) Signature {
	name, rest, _ := strings.Cut(line, "<")
	mail, _, ok := strings.Cut(rest, ">")
	if !ok {
		return Signature{}
	}
	sig := Signature{Name: strings.TrimSpace(name), Email: mail}
	f := strings.Fields(rest[strings.LastIndexByte(rest, '>')+1:])
	if len(f) < 2 || f[1][0] != '+' && f[1][0] != '-' {
		return sig
	}
	sec, err := strconv.ParseInt(f[0], 10, 64)
	zone, err2 := strconv.Atoi(f[1][1:])
	if err != nil || err2 != nil || sec < 0 || zone < 0 {
		return sig
	}
	off := zone/100*3600 + zone%100*60
	if f[1][0] == '-' {
		off = -off
	}
	sig.When = time.Unix(sec, 0).In(time.FixedZone("", off))
	return sig
}

// CommitData is what this program needs of a commit. Headers that are not needed
// (gpgsig, encoding …) are passed over.
type CommitData struct {
	Tree              ID
	Parents           []ID
	Author, Committer Signature
	Message           string
}

// DecodeCommit reads the bytes of anybody's commit, as git does.
func DecodeCommit(data []byte) (CommitData, error) {
	var c CommitData
	head, msg, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok {
		head = bytes.TrimSuffix(data, []byte("\n"))
	}
	c.Message = string(msg)
	for _, line := range strings.Split(string(head), "\n") {
		key, val, _ := strings.Cut(line, " ")
		var err error
		switch key { // a continuation line begins with a blank: its key is empty
		case "tree":
			c.Tree, err = ParseID(val)
		case "parent":
			var p ID
			p, err = ParseID(val)
			c.Parents = append(c.Parents, p)
		case "author":
			c.Author = readSignature(val)
		case "committer":
			c.Committer = readSignature(val)
		}
		if err != nil {
			return c, fmt.Errorf("damaged commit: %w", err)
		}
	}
	if c.Tree.IsZero() {
		return c, fmt.Errorf("damaged commit: no tree")
	}
	return c, nil
}

// ReadCommit reads a commit.
func (s *Store) ReadCommit(id ID) (CommitData, error) {
	data, err := s.ReadType(id, Commit)
	if err != nil {
		return CommitData{}, err
	}
	c, err := DecodeCommit(data)
	if err != nil {
		return c, fmt.Errorf("commit %s: %w", id, err)
	}
	return c, nil
}

// WriteCommit stores a commit.
func (s *Store) WriteCommit(c CommitData) (ID, error) {
	data, err := c.Encode()
	if err != nil {
		return Zero, err
	}
	return s.Write(Commit, data)
}
