package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"git-ralph/internal/text"
)

// WireTask is a task as every `--json` output shows it: lists are never null,
// money is dollars, fields that no task of the project uses are left out.
type WireTask struct {
	ID               TaskID      `json:"id"`
	Title            string      `json:"title"`
	Description      string      `json:"description"`
	Priority         int         `json:"priority"`
	Status           Status      `json:"status"`
	DependsOn        []TaskID    `json:"depends_on"`
	Criteria         []string    `json:"criteria"`
	Verify           []string    `json:"verify"`
	Skills           []string    `json:"skills"`
	Libraries        []string    `json:"libraries"`
	NeedsDocs        bool        `json:"needs_docs"`
	Spec             string      `json:"spec"`
	Type             string      `json:"type,omitempty"`
	Model            string      `json:"model,omitempty"`
	MaxTurns         int         `json:"max_turns"`
	MaxAttempts      *int        `json:"max_attempts"`
	Attempts         int         `json:"attempts"`
	Rung             int         `json:"rung,omitempty"`
	Partial          int         `json:"partial,omitempty"`
	EstimatedTokens  int64       `json:"estimated_tokens"`
	ActualTokens     int64       `json:"actual_tokens"`
	CostUSD          json.Number `json:"cost_usd"`
	BlockedBy        []string    `json:"blocked_by"`
	SkippedBy        string      `json:"skipped_by,omitempty"`
	SkippedIn        int         `json:"skipped_in,omitempty"`
	Notes            string      `json:"notes"`
	CompletedAt      *time.Time  `json:"completed_at"`
	AllowTestChanges bool        `json:"allow_test_changes"`
	NoChangeExpected bool        `json:"no_change_expected"`
	AllowProtected   []string    `json:"allow_protected,omitempty"`
}

// MarshalJSON writes the task as all `--json` outputs show it: lists never null,
// cost_usd a number of dollars without rounding, completed_at null or RFC 3339
// in UTC. The failure of the newest attempt is not part of it.
func (t Task) MarshalJSON() ([]byte, error) {
	w := WireTask{
		ID: t.ID, Title: t.Title, Description: t.Description, Priority: t.Priority, Status: t.Status,
		DependsOn: text.OrEmpty(t.DependsOn), Criteria: text.OrEmpty(t.Criteria), Verify: text.OrEmpty(t.Verify),
		Skills: text.OrEmpty(t.Skills), Libraries: text.OrEmpty(t.Libraries), NeedsDocs: t.NeedsDocs, Spec: t.Spec,
		Type: t.Type, Model: t.Model, MaxTurns: t.MaxTurns, MaxAttempts: t.MaxAttempts, Attempts: t.Attempts,
		Rung: t.Rung, Partial: t.Partial,
		EstimatedTokens: t.EstimatedTokens, ActualTokens: t.ActualTokens, CostUSD: json.Number(Dollars(t.CostMicroUSD)),
		BlockedBy: text.OrEmpty(t.BlockedBy), SkippedBy: t.SkippedBy, SkippedIn: t.SkippedIn, Notes: t.Notes,
		AllowTestChanges: t.AllowTestChanges,
		NoChangeExpected: t.NoChangeExpected, AllowProtected: t.AllowProtected,
	}
	if t.CompletedAt != nil {
		if at := t.CompletedAt.UTC(); at.Year() >= 0 && at.Year() <= 9999 {
			w.CompletedAt = &at
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON writes. A missing status is pending and
// a missing priority 1; fields of a newer version are passed over.
func (t *Task) UnmarshalJSON(data []byte) error {
	w := WireTask{Status: Pending, Priority: 1}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	cost, err := ParseDollars(string(w.CostUSD))
	if err != nil {
		return fmt.Errorf("cost_usd: %w", err)
	}
	*t = Task{
		ID: w.ID, Title: w.Title, Description: w.Description, Priority: w.Priority, Status: w.Status,
		DependsOn: w.DependsOn, Criteria: w.Criteria, Verify: w.Verify, Skills: w.Skills, Libraries: w.Libraries,
		NeedsDocs: w.NeedsDocs, Spec: w.Spec, Type: w.Type, Model: w.Model, MaxTurns: w.MaxTurns,
		MaxAttempts: w.MaxAttempts, Attempts: w.Attempts, Rung: w.Rung, Partial: w.Partial,
		EstimatedTokens: w.EstimatedTokens, ActualTokens: w.ActualTokens,
		CostMicroUSD: cost, BlockedBy: w.BlockedBy, SkippedBy: w.SkippedBy, SkippedIn: w.SkippedIn,
		Notes: w.Notes, CompletedAt: w.CompletedAt,
		AllowTestChanges: w.AllowTestChanges, NoChangeExpected: w.NoChangeExpected, AllowProtected: w.AllowProtected,
	}
	return nil
}

// Dollars writes micro-dollars as dollars with as many decimals as they need:
// 421100 is "0.4211".
func Dollars(micro int64) string {
	sign, n := "", uint64(micro)
	if micro < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%s%d.%06d", sign, n/1_000_000, n%1_000_000)
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// ParseDollars reads a decimal number of dollars as micro-dollars, rounded to
// the nearest. Not through float64: 0.1 has no exact one.
func ParseDollars(s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	if len(s) > 64 || strings.ContainsAny(s, "/_xXpPbBoO") {
		return 0, errors.New("not an amount in dollars")
	}
	// An exponent is expanded by Rat: 1e999999999 must not become a number.
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 4 {
		return 0, errors.New("not an amount in dollars")
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, errors.New("not an amount in dollars")
	}
	r.Mul(r, big.NewRat(1_000_000, 1))
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		half.Neg(half)
	}
	r.Add(r, half)
	q := new(big.Int).Quo(r.Num(), r.Denom())
	if !q.IsInt64() {
		return 0, errors.New("amount is too large")
	}
	return q.Int64(), nil
}
