// Package scripted is the agent that plays a script: a TOML file that says, for
// each task and attempt, which steps an agent takes. The steps are played by a
// process of their own (this program, called as "agent-script"), started,
// sandboxed, watched and judged like any other client, so that a script shows
// what the loop does with real behaviour, good and bad. The embedded script
// plays the demo.
//
// A script has plays; the first whose conditions hold is played:
//
//	[[play]]
//	task = "T-001"      # "" = any; also role, phase
//	attempt = 1         # 0 = any; also iteration
//	steps = [
//	  { text = "I begin with a test." },
//	  { write = "a.sh", content = "echo a\n", mode = "755" },
//	  { append = "README.md", content = "More.\n" },
//	  { delete = "old.txt" },
//	  { chmod = "a.sh", mode = "644" },
//	  { symlink = "link", to = "a.sh" },
//	  { run = "sh test.sh" },                        # judged by the guard, as all of the above
//	  { sleep = "200ms" },
//	  { usage = { input = 1200, output = 80, cost_usd = 0.01, context = 5000 } },
//	  { tool = "ralph_mark_task_complete", args = { task_id = "${RALPH_TASK_ID}" } },
//	  { handoff = { summary = "…", freeform = "…" } }, # the rest is filled in; by = "file" | "tool"
//	  { flood = 1000000 },                           # bytes on standard output, in one line
//	  { fork = "sleep 1; echo late >late.txt" },     # left behind, in a session of its own
//	  { hang = "deaf" },                             # or "polite", which ends when asked to
//	  { signal = 9 },
//	  { exit = 3 },
//	]
//	again = []          # steps of a further prompt in the same session
package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"git-ralph/internal/stable"
	"git-ralph/loop/session"
)

// Script is a parsed script.
type Script struct {
	Plays []Play `toml:"play"`
}

// Play is what an agent does in one run. The zero value of a condition holds
// always.
type Play struct {
	Task      string `toml:"task"`
	Role      string `toml:"role"`
	Phase     string `toml:"phase"`
	Attempt   int    `toml:"attempt"`
	Iteration int    `toml:"iteration"`
	Steps     []Step `toml:"steps"`
	Again     []Step `toml:"again"`
}

// Step is one action; exactly one of the actions is set.
type Step struct {
	Text    string         `toml:"text" json:"text,omitempty"`
	Write   string         `toml:"write" json:"write,omitempty"`
	Append  string         `toml:"append" json:"append,omitempty"`
	Delete  string         `toml:"delete" json:"delete,omitempty"`
	Chmod   string         `toml:"chmod" json:"chmod,omitempty"`
	Symlink string         `toml:"symlink" json:"symlink,omitempty"`
	Run     string         `toml:"run" json:"run,omitempty"`
	Fork    string         `toml:"fork" json:"fork,omitempty"`
	Sleep   string         `toml:"sleep" json:"sleep,omitempty"`
	Usage   *Usage         `toml:"usage" json:"usage,omitempty"`
	Tool    string         `toml:"tool" json:"tool,omitempty"`
	Handoff map[string]any `toml:"handoff" json:"handoff,omitempty"`
	Flood   int64          `toml:"flood" json:"flood,omitempty"`
	Hang    string         `toml:"hang" json:"hang,omitempty"`
	Signal  int            `toml:"signal" json:"signal,omitempty"`
	Exit    *int           `toml:"exit" json:"exit,omitempty"`

	// What belongs to an action.
	Content string         `toml:"content" json:"content,omitempty"`
	Mode    string         `toml:"mode" json:"mode,omitempty"` // octal
	To      string         `toml:"to" json:"to,omitempty"`
	Args    map[string]any `toml:"args" json:"args,omitempty"`
	By      string         `toml:"by" json:"by,omitempty"` // file | tool; "" = tool when it is offered
}

// Usage is a report of tokens (increments) and cost.
type Usage struct {
	Input      int64    `toml:"input" json:"input_tokens"`
	Output     int64    `toml:"output" json:"output_tokens"`
	CacheRead  int64    `toml:"cache_read" json:"cache_read_tokens,omitempty"`
	CacheWrite int64    `toml:"cache_write" json:"cache_write_tokens,omitempty"`
	CostUSD    *float64 `toml:"cost_usd" json:"cost_usd,omitempty"`
	Context    int64    `toml:"context" json:"context_tokens,omitempty"`
}

// actions names what the step does; more or less than one is a mistake.
func (s Step) actions() (names []string) {
	add := func(name string, set bool) {
		if set {
			names = append(names, name)
		}
	}
	add("text", s.Text != "")
	add("write", s.Write != "")
	add("append", s.Append != "")
	add("delete", s.Delete != "")
	add("chmod", s.Chmod != "")
	add("symlink", s.Symlink != "")
	add("run", s.Run != "")
	add("fork", s.Fork != "")
	add("sleep", s.Sleep != "")
	add("usage", s.Usage != nil)
	add("tool", s.Tool != "")
	add("handoff", s.Handoff != nil)
	add("flood", s.Flood != 0)
	add("hang", s.Hang != "")
	add("signal", s.Signal != 0)
	add("exit", s.Exit != nil)
	return names
}

// check says what is wrong with the step, "" for nothing.
func (s Step) check() string {
	names := s.actions()
	switch len(names) {
	case 0:
		return "does nothing"
	case 1:
	default:
		return "does more than one thing: " + strings.Join(names, ", ")
	}
	if _, err := s.mode(0); err != nil {
		return err.Error()
	}
	if s.Sleep != "" {
		if d, err := time.ParseDuration(s.Sleep); err != nil || d < 0 {
			return fmt.Sprintf("sleep %q is no duration such as 200ms", s.Sleep)
		}
	}
	if s.Hang != "" && s.Hang != "deaf" && s.Hang != "polite" {
		return fmt.Sprintf(`hang is "deaf" or "polite", not %q`, s.Hang)
	}
	if s.By != "" && s.By != "file" && s.By != "tool" {
		return fmt.Sprintf(`by is "file" or "tool", not %q`, s.By)
	}
	if s.Symlink != "" && s.To == "" || s.Chmod != "" && s.Mode == "" {
		return names[0] + " lacks " + map[string]string{"symlink": "to", "chmod": "mode"}[names[0]]
	}
	if s.Flood < 0 || s.Signal < 0 || s.Signal > 64 || s.Exit != nil && (*s.Exit < 0 || *s.Exit > 255) {
		return names[0] + " is out of range"
	}
	return ""
}

// ParseScript reads a script. All mistakes are reported at once, each with its
// place; name is what they call the file.
func ParseScript(name string, data []byte) (*Script, error) {
	var s Script
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		var unknown *toml.StrictMissingError
		if errors.As(err, &unknown) {
			var all []error
			for _, e := range unknown.Errors {
				row, _ := e.Position()
				all = append(all, fmt.Errorf("%s:%d: unknown key %q", name, row, strings.Join(e.Key(), ".")))
			}
			return nil, errors.Join(all...)
		}
		var broken *toml.DecodeError
		if errors.As(err, &broken) {
			row, col := broken.Position()
			return nil, fmt.Errorf("%s:%d:%d: %w", name, row, col, err)
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []error
	if len(s.Plays) == 0 {
		all = append(all, fmt.Errorf("%s: there is no [[play]]", name))
	}
	for i, p := range s.Plays {
		for list, steps := range map[string][]Step{"steps": p.Steps, "again": p.Again} {
			for j, step := range steps {
				if problem := step.check(); problem != "" {
					all = append(all, fmt.Errorf("%s: play %d, %s %d: %s", name, i+1, list, j+1, problem))
				}
			}
		}
	}
	stable.Sort(all, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	return &s, nil
}

// Choose is the play for a request: the first whose conditions hold.
func (s *Script) Choose(req session.Request) (Play, bool) {
	role := req.Role
	if role == "" {
		role = session.RoleCoding
	}
	for _, p := range s.Plays {
		if (p.Task == "" || p.Task == req.TaskID) && (p.Role == "" || p.Role == string(role)) &&
			(p.Phase == "" || p.Phase == req.Phase) &&
			(p.Attempt == 0 || p.Attempt == req.Attempt) && (p.Iteration == 0 || p.Iteration == req.Iteration) {
			return p, true
		}
	}
	return Play{}, false
}
