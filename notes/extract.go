package notes

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"git-ralph/internal/text"
)

// Categories of learnings (ralph_append_learning). A learning keeps its
// category as a tag.
func Categories() []string {
	return []string{"pattern", "antipattern", "architecture", "debugging", "build"}
}

// CategoryType is the type of entry that a learning of a category becomes.
func CategoryType(category string) (KnowledgeType, bool) {
	switch category {
	case "pattern", "build":
		return KPattern, true
	case "antipattern", "debugging":
		return KGotcha, true
	case "architecture":
		return KDecision, true
	}
	return "", false
}

// learningTag marks an entry that an agent recorded itself.
const learningTag = "learning"

// IsLearning reports whether an agent recorded k as a learning.
func IsLearning(k Knowledge) bool { return slices.Contains(k.Tags, learningTag) }

// Learn makes the entry of a learning. It returns false without an entry when
// existing says the same already, and an error for an unknown category or an
// empty text.
func Learn(category, said string, iteration int, task string, existing []Knowledge) (Knowledge, bool, error) {
	t, ok := CategoryType(category)
	if !ok {
		return Knowledge{}, false, fmt.Errorf("unknown category %q: it must be one of %s",
			text.Clip(category, 40), strings.Join(Categories(), ", "))
	}
	h := newExtractor(existing, iteration, task)
	if meaningKey(said) == "" {
		return Knowledge{}, false, fmt.Errorf("the learning has no text")
	}
	if !h.add(t, said, learningTag, category) {
		return Knowledge{}, false, nil
	}
	return h.out[0], true, nil
}

// maxExtracted bounds what one handoff can add, of each kind: a handoff may have
// a megabyte, the index is read by every later agent.
const maxExtracted = 20

// ExtractKnowledge turns the constraints and decisions of a handoff into entries, so
// that the index exists even without an indexer. It leaves out what existing already
// says, ignoring case, punctuation and articles. Superseded entries count too, or a
// repeated sentence would restore what was superseded on purpose. The result always
// passes CheckKnowledge(existing, …).
func ExtractKnowledge(h Handoff, iteration int, task string, existing []Knowledge) []Knowledge {
	hv := newExtractor(existing, iteration, task)
	for i, c := range h.ConstraintsDiscovered {
		if i == maxExtracted {
			break
		}
		text := sentence(c.Constraint)
		if s := OneLine(c.Impact, 500); s != "" {
			text += "\nImpact: " + s
		}
		if s := OneLine(c.Workaround, 500); s != "" {
			text += "\nWorkaround: " + s
		}
		hv.add(KConstraint, text, "handoff")
	}
	for i, s := range h.ArchitecturalNotes {
		if i == maxExtracted {
			break
		}
		hv.add(KDecision, sentence(s), "handoff")
	}
	return hv.out
}

func sentence(s string) string { return OneLine(s, 2000) }

type extractor struct {
	taken     map[string]bool // ids, lower case
	said      map[string]bool // type and meaning
	iteration int
	task      string
	out       []Knowledge
}

func newExtractor(existing []Knowledge, iteration int, task string) *extractor {
	h := &extractor{taken: make(map[string]bool, len(existing)), said: make(map[string]bool, len(existing)),
		iteration: iteration, task: task}
	for _, k := range existing {
		h.taken[strings.ToLower(k.ID)] = true
		if k.Status != Withdrawn {
			h.said[string(k.Type)+" "+meaningKey(k.Text)] = true
		}
	}
	return h
}

// Withdraw marks the entries with these ids as withdrawn. What they superseded
// holds again, unless another entry supersedes it as well.
func Withdraw(known []Knowledge, ids []string) []Knowledge {
	out := slices.Clone(known)
	named := func(list []string, id string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, id) })
	}
	for i := range out {
		if named(ids, out[i].ID) {
			out[i].Status = Withdrawn
		}
	}
	for i := range out {
		still := slices.ContainsFunc(out, func(k Knowledge) bool {
			return k.Status != Withdrawn &&
				named(k.Supersedes, out[i].ID)
		})
		if out[i].Status == Superseded && !still {
			out[i].Status = Active
		}
	}
	return out
}

// SinceIteration are the ids of entries whose sources are all iterations after
// n. A person's entries have no iteration.
func SinceIteration(known []Knowledge, n int) []string {
	var ids []string
	for _, k := range known {
		if k.Status != Withdrawn && len(k.Source) > 0 && slices.Min(k.Source) > n {
			ids = append(ids, k.ID)
		}
	}
	return ids
}

func (h *extractor) add(t KnowledgeType, said string, tags ...string) bool {
	said = strings.TrimSpace(CutBytes(Clean(Redact(said)), MaxKnowledgeText))
	key := meaningKey(said)
	if key == "" || h.said[string(t)+" "+key] {
		return false
	}
	k := Knowledge{ID: freeID(h.taken, t, text.FirstLine(said)), Type: t, Status: Active, Task: h.task, Tags: tags,
		Text: said}
	if h.iteration > 0 {
		k.Source = []int{h.iteration}
	}
	if CheckKnowledge(nil, []Knowledge{k}) != nil {
		return false // a task id that is no name; cannot come from a plan
	}
	h.taken[strings.ToLower(k.ID)] = true
	h.said[string(t)+" "+key] = true
	h.out = append(h.out, k)
	return true
}

// meaningKey is the first line of a text as lower case words without articles
// and punctuation. The order stays, because "a before b" is not "b before a".
func meaningKey(s string) string {
	words := strings.FieldsFunc(strings.ToLower(text.FirstLine(s)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	words = slices.DeleteFunc(words, func(w string) bool { return w == "a" || w == "an" || w == "the" })
	return strings.Join(words, " ")
}

// Put is what an indexer or a post agent asks to be recorded
// (ralph_put_knowledge).
type Put struct {
	Type       string   `json:"type"`
	Slug       string   `json:"slug"`
	Text       string   `json:"text"`
	Source     []int    `json:"source_iterations"`
	Supersedes []string `json:"supersedes"`
	Tags       []string `json:"tags"`
}

// Entries makes entries of one helper run's requests. None is left out; check
// them as a whole (CheckKnowledge). If the id of a slug is that of the
// superseded entry itself, it gets a number, because agents name a better
// wording that way. Any other clash remains.
func Entries(puts []Put, iteration int, existing []Knowledge) []Knowledge {
	taken := make(map[string]string, len(existing))
	for _, k := range existing {
		taken[strings.ToLower(k.ID)] = k.ID
	}
	var out []Knowledge
	for _, p := range puts {
		t := KnowledgeType(strings.ToLower(strings.TrimSpace(p.Type)))
		slug := strings.TrimPrefix(strings.TrimSpace(p.Slug), KnowledgeID(t, ""))
		if slug == "" {
			slug = text.FirstLine(p.Text)
		}
		k := Knowledge{ID: KnowledgeID(t, Slug(slug)), Type: t, Status: Active, Source: p.Source,
			Tags: p.Tags, Supersedes: p.Supersedes, Text: strings.TrimSpace(Clean(Redact(p.Text)))}
		if len(k.Source) == 0 && iteration > 0 {
			k.Source = []int{iteration}
		}
		if slices.ContainsFunc(p.Supersedes, func(id string) bool { return strings.EqualFold(id, k.ID) }) {
			for n := 2; taken[strings.ToLower(k.ID)] != ""; n++ {
				k.ID = fmt.Sprintf("%s-%d", KnowledgeID(t, Slug(slug)), n)
			}
		}
		taken[strings.ToLower(k.ID)] = k.ID
		out = append(out, k)
	}
	return out
}
