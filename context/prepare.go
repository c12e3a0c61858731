package agentctx

// Step is what follows a preparation by the context agent.
type Step string

// The steps after a preparation.
const (
	StepPrepared Step = "prepared" // the coding agent reads the prepared prompt
	StepFallback Step = "fallback" // the coding agent reads the index mode's prompt
	StepSkip     Step = "skip"     // the task is skipped
	StepPause    Step = "pause"    // the run waits for a person
	StepResearch Step = "research" // the task stays pending; the next preparation researches
)

// AfterPrep decides what follows a preparation, with the reason. d is the
// agent's directive, nil when it gave none, and prompt its text. failed is why
// the run itself failed. rounds counts earlier research answers for this task.
// A preparation is never fatal: an unusable one falls back.
func AfterPrep(d *Directive, prompt string, failed error, rounds int) (Step, string) {
	switch {
	case failed != nil:
		return StepFallback, "the preparation failed: " + failed.Error()
	case d == nil && prompt == "":
		return StepFallback, "the preparation gave neither a prompt nor a directive"
	case d != nil && d.Action == Skip:
		return StepSkip, d.Reason
	case d != nil && d.Action == HumanReview:
		return StepPause, d.Reason
	case d != nil && d.Action == Research && rounds < MaxResearch:
		return StepResearch, d.Reason
	}
	reason := ""
	if d != nil {
		reason = d.Reason
		if d.Action == Research {
			reason = "research was asked for once too often: " + reason
		}
	}
	if err := CheckPrepared(prompt); err != nil {
		return StepFallback, err.Error()
	}
	return StepPrepared, reason
}
