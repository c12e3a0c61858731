package exchange

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ralph/plan"
)

func ptr[T any](v T) *T { return &v }

// fullTask has every field set to something that no default has.
func fullTask() plan.Task {
	return plan.Task{
		ID: "T-003", Title: `Add the "login" endpoint`, Status: plan.Failed, Priority: 7,
		DependsOn:   []plan.TaskID{"T-001", "T-002"},
		Description: "First line.\n\n\tIndented, with C:\\path and \"\"\" in it.\n",
		Criteria:    []string{"POST /api/login returns a token", "Two\nlines"},
		Verify:      []string{`go test ./... -run 'Login'`, `sh -c "exit 0"`},
		Skills:      []string{"go-http"}, Libraries: []string{"net/http"}, NeedsDocs: true, Spec: "specs/login.md",
		Type:  "feature",
		Model: "opus", MaxTurns: 20, MaxAttempts: ptr(0), AllowTestChanges: true, NoChangeExpected: true,
		AllowProtected:  []string{"specs/**"},
		EstimatedTokens: 25000, Attempts: 2, Rung: 1, Partial: 1, ActualTokens: 31234, CostMicroUSD: 421100,
		CompletedAt: ptr(time.Date(2026, 1, 31, 15, 4, 5, 678000000, time.UTC)), BlockedBy: []string{"no key"},
		SkippedBy: "agent", SkippedIn: 7,
		Notes: "one line", Failure: "--- FAIL: TestLogin\nexit status 1",
	}
}

// tasks makes a plan of lines "ID status priority dep,dep".
func tasks(lines ...string) plan.Plan {
	var p plan.Plan
	for _, line := range lines {
		f := strings.Fields(line)
		t := plan.Task{ID: plan.TaskID(f[0]), Title: "task " + f[0], Status: plan.Pending, Priority: 1}
		if len(f) > 1 {
			t.Status = plan.Status(f[1])
		}
		if len(f) > 2 {
			fmt.Sscan(f[2], &t.Priority)
		}
		if len(f) > 3 {
			for d := range strings.SplitSeq(f[3], ",") {
				t.DependsOn = append(t.DependsOn, plan.TaskID(d))
			}
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func bigPlan(n int) plan.Plan {
	p := plan.Plan{}
	for i := range n {
		t := plan.Task{ID: plan.NumberedID(i), Title: fmt.Sprintf("task %d of a large plan", i), Status: plan.Pending,
			Priority:    i % 7,
			Description: "Some lines\nof description\nwith `code` and \"quotes\".",
			Criteria:    []string{"it works", "it is tested"}, Verify: []string{"go test ./..."}}
		for d := range min(i, 5) {
			t.DependsOn = append(t.DependsOn, plan.NumberedID(i-1-d))
		}
		if i < n/2 {
			t.Status = plan.Done
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func BenchmarkImport(b *testing.B) {
	data := plan.EncodePlan(bigPlan(10_000))
	for b.Loop() {
		if _, err := Import("plan.toml", data, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
