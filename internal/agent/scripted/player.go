package scripted

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
)

// Main plays the steps that come on standard input, in the present folder, and
// returns the exit status. It is what "git-ralph agent-script" does.
func Main(stdin io.Reader, stdout io.Writer) int {
	p := &player{in: json.NewDecoder(stdin), out: bufio.NewWriter(stdout)}
	var o opening
	if err := p.in.Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "agent-script: this command is started by git ralph:", err)
		return 2
	}
	p.tools = o.Tools
	p.print(question{Type: "ready"})
	steps := o.Steps
	for {
		for _, s := range steps {
			if err := p.play(s); err != nil {
				var exit exitError
				if errors.As(err, &exit) {
					return int(exit)
				}
				p.print(map[string]any{"type": "text", "text": "the step failed: " + err.Error()})
			}
		}
		a, err := p.ask(question{Type: "end"})
		if err != nil {
			return 1 // the harness is gone
		}
		if !a.More {
			return 0
		}
		steps = o.Again
	}
}

// exitError ends the player with its status.
type exitError int

func (e exitError) Error() string { return "exit " + strconv.Itoa(int(e)) }

type player struct {
	in    *json.Decoder
	out   *bufio.Writer
	tools []string
	next  int
}

func (p *player) print(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return
	}
	p.out.Write(b)
	p.out.WriteByte('\n')
	p.out.Flush()
}

// ask puts a question and waits for its answer.
func (p *player) ask(q question) (answer, error) {
	p.next++
	q.ID = p.next
	p.print(q)
	for {
		var a answer
		if err := p.in.Decode(&a); err != nil {
			return a, fmt.Errorf("hear the harness: %w", exitError(1))
		}
		if a.ID == q.ID {
			return a, nil
		}
	}
}

// errDenied is a step that the guard denied. Like a model, the script goes on
// with something else.
var errDenied = errors.New("denied")

// guarded asks for permission, does the work and says that it is done. do gets
// the arguments, which the harness may have changed.
func (p *player) guarded(tool string, input map[string]string, do func(input map[string]string) error) error {
	raw, err := json.Marshal(input)
	if err != nil {
		return err
	}
	a, err := p.ask(question{Type: "ask", Tool: tool, Input: raw})
	if err != nil {
		return err
	}
	defer p.print(question{Type: "done", ID: p.next, Tool: tool})
	if !a.Allow {
		return fmt.Errorf("%w: %s", errDenied, a.Reason)
	}
	if a.Input != nil {
		var updated map[string]any
		if err := json.Unmarshal(a.Input, &updated); err != nil {
			return fmt.Errorf("read the changed arguments: %w", err)
		}
		for k, v := range updated {
			if s, ok := v.(string); ok {
				input[k] = s
			}
		}
	}
	return do(input)
}

// play does one step.
func (p *player) play(s Step) error {
	switch {
	case s.Text != "":
		p.print(map[string]string{"type": "text", "text": expand(s.Text)})
	case s.Write != "":
		return p.guarded("Write", map[string]string{"file_path": absolute(s.Write), "content": expand(s.Content)},
			func(in map[string]string) error {
				return write(in["file_path"], in["content"], s, os.O_TRUNC)
			})
	case s.Append != "":
		return p.guarded("Edit", map[string]string{"file_path": absolute(s.Append), "new_string": expand(s.Content)},
			func(in map[string]string) error {
				return write(in["file_path"], in["new_string"], s, os.O_APPEND)
			})
	case s.Delete != "":
		return p.shellLike("rm -rf -- "+quote(s.Delete), func() error { return os.RemoveAll(s.Delete) })
	case s.Chmod != "":
		return p.shellLike("chmod "+s.Mode+" "+quote(s.Chmod), func() error {
			mode, err := s.mode(0)
			if err != nil {
				return err
			}
			return os.Chmod(s.Chmod, mode)
		})
	case s.Symlink != "":
		return p.shellLike("ln -s "+quote(s.To)+" "+quote(s.Symlink), func() error { return os.Symlink(s.To, s.Symlink) })
	case s.Run != "":
		return p.guarded("Bash", map[string]string{"command": s.Run}, func(in map[string]string) error {
			return p.run(in["command"])
		})
	case s.Fork != "":
		return p.guarded("Bash", map[string]string{"command": s.Fork},
			func(in map[string]string) error { return p.fork(in["command"]) })
	case s.Sleep != "":
		d, err := time.ParseDuration(s.Sleep)
		if err != nil {
			return err
		}
		time.Sleep(d)
	case s.Usage != nil:
		p.print(struct {
			Type string `json:"type"`
			Usage
		}{"usage", *s.Usage})
	case s.Tool != "":
		return p.call(s.Tool, expandAll(s.Args))
	case s.Handoff != nil:
		return p.handoff(s)
	case s.Flood != 0:
		return p.flood(s.Flood)
	case s.Hang != "":
		if s.Hang == "deaf" {
			signal.Ignore(politeSignals()...)
		}
		for { // not select {}: a program that can never go on is ended by its runtime
			time.Sleep(time.Hour)
		}
	case s.Signal != 0:
		p.out.Flush()
		return die(s.Signal)
	case s.Exit != nil:
		return exitError(*s.Exit)
	}
	return nil
}

// shellLike is a step that a client would do with its shell.
func (p *player) shellLike(command string, do func() error) error {
	return p.guarded("Bash", map[string]string{"command": command}, func(in map[string]string) error {
		if in["command"] != command {
			return p.run(in["command"])
		}
		return do()
	})
}

// run runs a shell command and shows what it printed, as a client does.
func (p *player) run(command string) error {
	out := proc.NewHeadTail(30_000)
	exit, err := proc.Run(context.Background(), proc.Command{Argv: []string{"sh", "-c", command}, Env: os.Environ(),
		Stdout: out, Stderr: out})
	if err != nil {
		return err
	}
	p.print(map[string]any{"type": "tool_result", "tool": "Bash", "exit_code": exit.Code, "output": out.String()})
	return nil
}

// fork leaves a process behind that has nothing to do with us any more. What
// starts it ends at once, and only then is its session swept.
func (p *player) fork(command string) error {
	const leave = `if command -v setsid >/dev/null; then (setsid sh -c "$1" </dev/null >/dev/null 2>&1 &); else (nohup ` +
		`sh -c "$1" </dev/null >/dev/null 2>&1 &); fi; sleep 0.1`
	exit, err := proc.Run(context.Background(), proc.Command{Argv: []string{"sh", "-c", leave, "sh", command},
		Env: os.Environ()})
	if err == nil && !exit.Success() {
		err = errors.New(exit.String())
	}
	return err
}

// call executes a ralph_* tool through the harness.
func (p *player) call(tool string, args any) error {
	if args == nil {
		args = map[string]any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	a, err := p.ask(question{Type: "call", Tool: tool, Input: raw})
	if err != nil {
		return err
	}
	p.print(map[string]any{"type": "tool_result", "tool": tool, "output": a.Result, "error": a.Error})
	return nil
}

// handoffTool takes a handoff.
const handoffTool = "ralph_submit_handoff"

// handoff submits the handoff, by tool when it is offered, else as the file.
func (p *player) handoff(s Step) error {
	doc := completeHandoff(s.Handoff)
	if s.By == "tool" || s.By == "" && slices.Contains(p.tools, handoffTool) {
		return p.call(handoffTool, doc)
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(os.Getenv("RALPH_HANDOFF_FILE"), append(b, '\n'), 0o600)
}

// completeHandoff fills in the required fields that a script leaves out: the
// task of this run, complete, and nothing to report.
func completeHandoff(given map[string]any) map[string]any {
	doc := map[string]any{}
	for _, name := range []string{"deviations", "bugs_encountered", "architectural_notes", "unfinished_business",
		"recommendations",
		"files_touched", "plan_amendments", "tests_added", "constraints_discovered"} {
		doc[name] = []any{}
	}
	for k, v := range given {
		doc[k] = expandAny(v)
	}
	task, _ := doc["task_completed"].(map[string]any)
	if task == nil {
		task = map[string]any{}
	}
	for k, v := range map[string]any{"task_id": os.Getenv("RALPH_TASK_ID"), "summary": doc["summary"],
		"fully_complete": true} {
		if _, ok := task[k]; !ok {
			task[k] = v
		}
	}
	doc["task_completed"] = task
	return doc
}

// flood prints n bytes without a newline.
func (p *player) flood(n int64) error {
	chunk := strings.Repeat("x", 64<<10)
	for n > 0 {
		m := min(n, int64(len(chunk)))
		if _, err := p.out.WriteString(chunk[:m]); err != nil {
			return err
		}
		n -= m
	}
	p.out.WriteByte('\n')
	return p.out.Flush()
}

// mode is the step's file mode, or otherwise.
func (s Step) mode(otherwise fs.FileMode) (fs.FileMode, error) {
	if s.Mode == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseUint(s.Mode, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q is no octal number such as 755", s.Mode)
	}
	return fs.FileMode(n), nil
}

func write(path, content string, s Step, how int) error {
	mode, err := s.mode(0o644)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	if s.Mode != "" {
		err = errors.Join(err, f.Chmod(mode))
	}
	return errors.Join(err, f.Close())
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// variable matches what expand replaces. Only our own variables: a script's
// text must not show what else is in the environment.
var variable = lazyregexp.New(`\$\{RALPH_[A-Z_]+\}`)

func expand(s string) string {
	return variable().ReplaceAllStringFunc(s, func(m string) string { return os.Getenv(m[2 : len(m)-1]) })
}

func expandAll(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	v, _ := expandAny(m).(map[string]any)
	return v
}

func expandAny(v any) any {
	switch v := v.(type) {
	case string:
		return expand(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = expandAny(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = expandAny(v[k])
		}
		return out
	}
	return v
}
