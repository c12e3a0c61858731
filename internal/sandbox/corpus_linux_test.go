package sandbox

import "os"

// corpusFile holds labelled shell commands, one JSON object a line.
const corpusFile = "../../fixtures/guard/dev.jsonl"

func corpusPath() string {
	if p := os.Getenv("GIT_RALPH_CORPUS"); p != "" {
		return p
	}
	return corpusFile
}
