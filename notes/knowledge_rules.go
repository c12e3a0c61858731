package notes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
)

// The states of a knowledge entry.
const (
	Active     = "active"
	Superseded = "superseded"
	// Withdrawn is an entry from reverted work. People can see it and agents
	// are not told; it may be learned again.
	Withdrawn = "withdrawn"
)

// Limits of an entry.
const (
	MaxKnowledgeText = 4000 // bytes
	MaxKnowledgeTags = 16
	maxKnowledgeID   = 64
)

// KnowledgeTypes in the order in which people and prompts read them.
func KnowledgeTypes() []KnowledgeType {
	return []KnowledgeType{KConstraint, KDecision, KUnresolved, KGotcha, KPattern}
}

var hardWords = lazyregexp.New(`(?i)\b(must|never)\b`)

// Hard reports whether k is a hard constraint: a constraint that says must, must
// not or never, as whole words in any case. One is only ever dropped by an
// entry that supersedes it by its id.
func (k Knowledge) Hard() bool { return k.Type == KConstraint && hardWords().MatchString(k.Text) }

// Live reports whether k holds.
func (k Knowledge) Live() bool { return k.Status != Superseded && k.Status != Withdrawn }

// Slug makes the last part of an id from a text: lower case words joined by
// hyphens, at most 40 characters, "entry" when nothing is left.
func Slug(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(text) {
		ok := r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
		if !ok {
			// An apostrophe joins, everything else parts.
			gap = gap || r != '\'' && r != '’' && b.Len() > 0
			continue
		}
		if gap {
			if b.Len() >= 32 {
				break
			}
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
		if b.Len() >= 40 {
			break
		}
	}
	if b.Len() == 0 {
		return "entry"
	}
	return b.String()
}

// KnowledgeID is K-<type>-<slug>.
func KnowledgeID(t KnowledgeType, slug string) string { return "K-" + string(t) + "-" + slug }

// FreeID returns the id for a new entry, with -2, -3 … behind the slug when
// the id is taken.
func FreeID(existing []Knowledge, t KnowledgeType, slug string) string {
	taken := make(map[string]bool, len(existing))
	for i := range existing {
		taken[strings.ToLower(existing[i].ID)] = true
	}
	return freeID(taken, t, slug)
}

func freeID(taken map[string]bool, t KnowledgeType, slug string) string {
	if slug = Slug(slug); len(slug) > 40 {
		slug = slug[:40]
	}
	id := KnowledgeID(t, slug)
	for n := 2; taken[strings.ToLower(id)]; n++ {
		id = fmt.Sprintf("%s-%d", KnowledgeID(t, slug), n)
	}
	return id
}

var knowledgeID = lazyregexp.New(`^K-(constraint|decision|pattern|gotcha|unresolved)-[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckKnowledge reports whether add may join existing, as a whole. The error
// joins every reason (errors.Join). The rules, which no writer can break:
//
//   - an entry is well formed: K-<type>-<slug>, a text of valid UTF-8;
//   - entries are append-only: an id that was used keeps its text, so that
//     rewording needs a new entry that supersedes the old one by its id;
//     repeating an entry word for word is allowed and changes nothing;
//   - ids are unique without regard to case;
//   - every superseded id exists, in existing or earlier in or in the same add;
//   - a hard constraint stays active unless an active entry supersedes it,
//     directly or through others: nothing supersedes itself in a circle.
func CheckKnowledge(existing, add []Knowledge) error {
	_, err := ApplyKnowledge(existing, add)
	return err
}

// ApplyKnowledge returns existing with add behind it, the superseded entries
// marked. Neither argument is changed. When a rule of CheckKnowledge is broken
// it returns existing as it was and every reason.
func ApplyKnowledge(existing, add []Knowledge) ([]Knowledge, error) {
	if len(add) == 0 {
		return existing, nil
	}
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }

	at := make(map[string]int, len(existing)+len(add))
	for i := range existing {
		at[strings.ToLower(existing[i].ID)] = i
	}
	out := slices.Clone(existing)
	for _, k := range add {
		k = normalise(k)
		if reasons := wellFormed(k); len(reasons) > 0 {
			errs = append(errs, reasons...)
			continue
		}
		if i, ok := at[strings.ToLower(k.ID)]; ok {
			old := out[i]
			switch {
			case old.ID != k.ID:
				refuse("%s differs from %s only in case", k.ID, old.ID)
			case old.Text != k.Text:
				refuse("%s exists with another text: give the new text an id of its own and let it supersede %s", k.ID, k.ID)
			case !subset(k.Supersedes, old.Supersedes):
				refuse("%s exists and cannot supersede more than it does", k.ID)
			}
			continue
		}
		at[strings.ToLower(k.ID)] = len(out)
		out = append(out, k)
	}
	fresh := out[len(existing):]
	for _, k := range fresh {
		for _, id := range k.Supersedes {
			if _, ok := at[strings.ToLower(id)]; !ok {
				refuse("%s supersedes %s, which does not exist", k.ID, id)
			}
		}
	}
	if len(errs) == 0 {
		errs = append(errs, circles(fresh)...)
	}
	if len(errs) > 0 {
		return existing, errors.Join(errs...)
	}
	for _, k := range fresh {
		for _, id := range k.Supersedes {
			out[at[strings.ToLower(id)]].Status = Superseded
		}
	}
	return out, nil
}

func normalise(k Knowledge) Knowledge {
	k.Text = strings.TrimSpace(k.Text)
	if k.Status == "" {
		k.Status = Active
	}
	return k
}

func subset(a, b []string) bool {
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y string) bool { return strings.EqualFold(x, y) }) {
			return false
		}
	}
	return true
}

func wellFormed(k Knowledge) []error {
	var errs []error
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	m := knowledgeID().FindStringSubmatch(k.ID)
	switch {
	case m == nil || len(k.ID) > maxKnowledgeID:
		refuse("%q is not an id: it must read K-<constraint|decision|pattern|gotcha|unresolved>-<slug>, at most %d "+
			"characters", text.Clip(k.ID, 80), maxKnowledgeID)
	case m[1] != string(k.Type):
		refuse("%s has the type %q, its id says %s", k.ID, text.Clip(string(k.Type), 40), m[1])
	}
	if k.Status != Active {
		refuse("%s is %s: a new entry is active", text.Clip(k.ID, 80), text.Clip(k.Status, 40))
	}
	switch {
	case k.Text == "":
		refuse("%s has no text", text.Clip(k.ID, 80))
	case len(k.Text) > MaxKnowledgeText:
		refuse("%s has %d bytes of text, at most %d are allowed", text.Clip(k.ID, 80), len(k.Text), MaxKnowledgeText)
	case !utf8.ValidString(k.Text) || strings.ContainsFunc(k.Text, func(r rune) bool {
		return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t'
	}):
		refuse("%s has control characters or invalid UTF-8 in its text", text.Clip(k.ID, 80))
	}
	if len(k.Tags) > MaxKnowledgeTags {
		refuse("%s has %d tags, at most %d are allowed", text.Clip(k.ID, 80), len(k.Tags), MaxKnowledgeTags)
	}
	for _, s := range append(append([]string{k.Task}, k.Tags...), k.Supersedes...) {
		if len(s) > maxKnowledgeID || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			refuse("%s names %q, which is not a name", text.Clip(k.ID, 80), text.Clip(s, 80))
		}
	}
	for _, id := range k.Supersedes {
		if strings.EqualFold(id, k.ID) {
			refuse("%s supersedes itself", k.ID)
		}
	}
	for _, n := range k.Source {
		if n < 0 {
			refuse("%s names iteration %d", k.ID, n)
		}
	}
	return errs
}

// circles finds new entries that supersede each other: all of them would be
// superseded and none would hold. Old entries cannot be part of a circle,
// because what they supersede was there before them.
func circles(fresh []Knowledge) []error {
	next := make(map[string][]string, len(fresh))
	for _, k := range fresh {
		next[strings.ToLower(k.ID)] = k.Supersedes
	}
	const (
		open = 1
		done = 2
	)
	seen := map[string]int{}
	var found error
	var visit func(id string)
	visit = func(id string) {
		seen[id] = open
		for _, to := range next[id] {
			to = strings.ToLower(to)
			switch {
			case next[to] == nil:
			case seen[to] == open && found == nil:
				found = fmt.Errorf("%s and %s supersede each other: none of them would hold", id, to)
			case seen[to] == 0:
				visit(to)
			}
		}
		seen[id] = done
	}
	for _, k := range fresh {
		if id := strings.ToLower(k.ID); seen[id] == 0 {
			visit(id)
		}
	}
	if found == nil {
		return nil
	}
	return []error{found}
}
