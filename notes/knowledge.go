package notes

// KnowledgeType is what a knowledge entry is about; it is part of its id,
// K-<type>-<slug>.
type KnowledgeType string

// The types of knowledge.
const (
	KConstraint KnowledgeType = "constraint"
	KDecision   KnowledgeType = "decision"
	KPattern    KnowledgeType = "pattern"
	KGotcha     KnowledgeType = "gotcha"
	KUnresolved KnowledgeType = "unresolved"
)

// Knowledge is one entry of the project's memory. Entries are append-only: a
// newer one supersedes an older one by id, nothing is reworded in place.
type Knowledge struct {
	ID         string        `toml:"id" json:"id"`
	Type       KnowledgeType `toml:"type" json:"type"`
	Status     string        `toml:"status" json:"status"` // active | superseded | withdrawn
	Source     []int         `toml:"source" json:"source"` // iterations
	Task       string        `toml:"task,omitempty" json:"task,omitempty"`
	Tags       []string      `toml:"tags,omitempty" json:"tags,omitempty"`
	Supersedes []string      `toml:"supersedes,omitempty" json:"supersedes,omitempty"`
	Text       string        `toml:"-" json:"text"`
}
