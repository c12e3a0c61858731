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
	lt, gt := strings.IndexByte(line, '<'), strings.LastIndexByte(line, '>')
	if lt < 0 || gt < lt {
		return Signature{}, fmt.Errorf("%q is not an identity", line)
	}
	sig := Signature{Name: strings.TrimSpace(line[:lt]), Email: line[lt+1 : gt]}
	f := strings.Fields(line[gt+1:])
	if len(f) > 0 {
		sec, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil {
			return sig, fmt.Errorf("%q is not a time", f[0])
		}
		zone := time.UTC
		if len(f) > 1 && len(f[1]) == 5 {
			if n, err := strconv.Atoi(f[1][1:]); err == nil {
				off := n/100*3600 + n%100*60
				if f[1][0] == '-' {
					off = -off
				}
				zone = time.FixedZone("", off)
			}
		}
		sig.When = time.Unix(sec, 0).In(zone)
	}
	return sig, nil
}

// CommitData is a commit taken apart. Extra headers (gpgsig, encoding …) are
// kept as they are.
type CommitData struct {
	Tree              ID
	Parents           []ID
	Author, Committer Signature
	Extra             []string // further header lines, continuation lines included
	Message           string
}

// Encode returns the commit's bytes.
func (c CommitData) Encode() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.Author, c.Committer)
	for _, x := range c.Extra {
		b.WriteString(x + "\n")
	}
	b.WriteString("\n" + c.Message)
	return b.Bytes()
}

// DecodeCommit reads a commit's bytes.
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
		switch {
		case strings.HasPrefix(line, " "):
			c.Extra = append(c.Extra, line)
		case key == "tree":
			c.Tree, err = ParseID(val)
		case key == "parent":
			var p ID
			p, err = ParseID(val)
			c.Parents = append(c.Parents, p)
		case key == "author":
			c.Author, err = ParseSignature(val)
		case key == "committer":
			c.Committer, err = ParseSignature(val)
		default:
			c.Extra = append(c.Extra, line)
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
func (s *Store) WriteCommit(c CommitData) (ID, error) { return s.Write(Commit, c.Encode()) }
