package agentctx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"git-ralph/notes"
)

// Action is what a context agent answers.
type Action string

// The actions. Proceed and HumanReview are answers of both agents.
const (
	Proceed         Action = "proceed"
	HumanReview     Action = "request_human_review"
	Skip            Action = "skip"             // before the coding agent
	Research        Action = "research"         // before
	SkipTask        Action = "skip_task"        // after; advice
	ModifyPlan      Action = "modify_plan"      // after; advice
	IncreaseRetries Action = "increase_retries" // after; advice
)

// MaxResearch is how often preparation may answer research for one task;
// after that the iteration goes on with the index mode's prompt.
const MaxResearch = 2

// maxDirective bounds an answer, in bytes.
const maxDirective = 4 << 20

// Directive is the answer of a context agent. Prompt and Knowledge are filled
// by agents that answer in one document instead of through tools.
type Directive struct {
	Action Action   `json:"action"`
	Reason string   `json:"reason"`
	Topics []string `json:"topics,omitempty"` // to research
	// Stuck is the agent's own judgement that the task goes in circles.
	Stuck bool `json:"is_stuck,omitempty"`
	// StuckDetection is the same with evidence; ParseDirective folds it into Stuck
	// and Reason.
	StuckDetection *struct {
		IsStuck         bool   `json:"is_stuck"`
		Evidence        string `json:"evidence"`
		SuggestedAction string `json:"suggested_action"`
	} `json:"stuck_detection,omitempty"`
	Suggestions []string    `json:"plan_suggestions,omitempty"`
	Prompt      string      `json:"prompt,omitempty"`
	Knowledge   []notes.Put `json:"knowledge,omitempty"`
}

// actions lists what an agent of the role may answer.
func actions(role Role) []Action {
	switch role {
	case ContextPrep:
		return []Action{Proceed, Skip, HumanReview, Research}
	case ContextPost:
		return []Action{Proceed, SkipTask, ModifyPlan, HumanReview, IncreaseRetries}
	}
	return nil
}

// ParseDirective reads the answer of a context agent (ContextPrep,
// ContextPost) or of an indexer, which has no action. Errors name what is
// wrong in the words of the document.
func ParseDirective(role Role, data []byte) (Directive, error) {
	var d Directive
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	switch {
	case len(data) > maxDirective:
		return d, fmt.Errorf("the directive has %d bytes, at most %d are read", len(data), maxDirective)
	case len(data) == 0:
		return d, fmt.Errorf("the directive is empty")
	case !utf8.Valid(data):
		return d, fmt.Errorf("the directive is not valid UTF-8")
	case data[0] != '{':
		return d, fmt.Errorf("the directive is not a JSON object")
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return Directive{}, fmt.Errorf("the directive cannot be read: %w", err)
	}
	d.Action = Action(strings.ToLower(strings.TrimSpace(string(d.Action))))
	if st := d.StuckDetection; st != nil {
		d.Stuck = d.Stuck || st.IsStuck
		if st.IsStuck {
			d.Reason = strings.TrimSpace(d.Reason + " Stuck: " + st.Evidence + " " + st.SuggestedAction)
		}
		d.StuckDetection = nil
	}
	d.Reason = notes.OneLine(notes.Redact(d.Reason), 1000)
	d.Topics = oneLines(d.Topics)
	d.Suggestions = oneLines(d.Suggestions)
	if err := d.Validate(role); err != nil {
		return Directive{}, err
	}
	return d, nil
}

func oneLines(list []string) []string {
	var out []string
	for _, s := range list {
		if s = notes.OneLine(s, 300); s != "" && len(out) < 20 {
			out = append(out, s)
		}
	}
	return out
}

// Validate reports whether an agent of the role may answer so.
func (d Directive) Validate(role Role) error {
	allowed := actions(role)
	if allowed == nil {
		if d.Action != "" && d.Action != Proceed {
			return fmt.Errorf("action %q is not for the %s", d.Action, role)
		}
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	if d.Action == "" {
		return fmt.Errorf("action is missing: it must be one of %s", strings.Join(names, ", "))
	}
	if !slices.Contains(allowed, d.Action) {
		return fmt.Errorf("unknown action %q: it must be one of %s", notes.OneLine(string(d.Action), 60),
			strings.Join(names, ", "))
	}
	if d.Action != Proceed && d.Reason == "" {
		return fmt.Errorf("action %q needs a reason", d.Action)
	}
	return nil
}

// CheckPrepared reports whether a prepared prompt can be used: at least
// MinPrepared bytes without blanks. Too long ones are cut by Assemble.
func CheckPrepared(text string) error {
	if n := len(strings.TrimSpace(text)); n < MinPrepared {
		return fmt.Errorf("the prepared prompt has %d bytes, at least %d are needed", n, MinPrepared)
	}
	return nil
}
