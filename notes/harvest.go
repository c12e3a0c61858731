package notes

import "slices"

// Categories of learnings (ralph_append_learning). They are kept as a tag.
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

// IsLearning says whether an agent recorded k as a learning.
func IsLearning(k Knowledge) bool { return slices.Contains(k.Tags, learningTag) }
