package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// NotEmptyError is a folder of an export that holds something already.
type NotEmptyError struct{ Dir string }

func (e *NotEmptyError) Error() string { return e.Dir + " is not empty" }

// inPage is how many iterations and entries the document of an export has
// inside; older iterations are in files beside it.
const inPage = 500

// Export writes the page with all that it can show as files that need no server:
// index.html, and a script with data for each iteration and task, which the page
// loads when somebody opens it. It gives back the number of files.
func (s *Server) Export(ctx context.Context, dir string) (int, error) {
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return 0, &NotEmptyError{dir}
	}
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
		return 0, err
	}
	x := &export{s: s, dir: dir}
	state, err := s.Book.State(ctx)
	if err != nil {
		return 0, err
	}
	state["read_only"], state["running"] = true, nil
	tip, err := s.Book.Tip(ctx)
	if err != nil {
		return 0, err
	}
	entries, err := s.entries(ctx, tip, inPage, withFirst)
	if err != nil {
		return 0, err
	}
	var first []json.RawMessage
	older := 0
	for q := (query{limit: inPage}); ; {
		page, err := s.history.page(ctx, q)
		if err != nil {
			return x.files, err
		}
		if q.before == 0 {
			first = page.Iterations
		} else {
			older++
			x.data(fmt.Sprintf("older/%d", older), page.Iterations)
		}
		for _, doc := range page.Iterations {
			x.iteration(ctx, doc)
		}
		if page.Next == nil || x.err != nil {
			break
		}
		q.before = *page.Next
	}
	x.tasks(ctx, state["plan"])
	snapshot, err := json.Marshal(map[string]any{"state": state, "iterations": first, "entries": entries, "older": older})
	if err != nil {
		return x.files, err
	}
	html := bytes.Replace(whole(), []byte("<script>"),
		append(append([]byte(`<script id="snapshot" type="application/json">`), snapshot...), "</script>\n<script>"...), 1)
	// A file has no server that sends a policy with it.
	rule := strings.Replace(policy(), "script-src ", "script-src 'self' file: ", 1)
	rule = strings.Replace(rule, "; frame-ancestors 'none'", "", 1)
	html = bytes.Replace(html, []byte("<meta charset=\"utf-8\">"),
		fmt.Appendf(nil, "<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">", rule), 1)
	x.write("index.html", html)
	return x.files, x.err
}

// export is a folder that is being written; the first error stays.
type export struct {
	s     *Server
	dir   string
	files int
	err   error
}

func (x *export) write(name string, data []byte) {
	if x.err != nil {
		return
	}
	x.err = os.WriteFile(filepath.Join(x.dir, filepath.FromSlash(name)), data, 0o644)
	x.files++
}

// data writes a document as a script that passes it on: a page opened as a file
// can only load scripts.
func (x *export) data(name string, v any) {
	doc, err := json.Marshal(v)
	if x.err = errors.Join(x.err, err); x.err == nil {
		x.write("data/"+strings.ReplaceAll(name, "/", "-")+".js", fmt.Appendf(nil, "ralphData(%q, %s);\n", name, doc))
	}
}

func (x *export) iteration(ctx context.Context, brief json.RawMessage) {
	var head struct {
		Iteration int `json:"iteration"`
	}
	if json.Unmarshal(brief, &head) != nil || x.err != nil {
		return
	}
	doc, err := x.s.Book.Iteration(ctx, head.Iteration)
	if err != nil {
		x.err = err
		return
	}
	texts := map[string]string{}
	for _, part := range []string{"diff", "prompt", "transcript"} {
		if data, err := x.s.Book.Part(ctx, head.Iteration, part, ""); err == nil {
			texts[part] = string(data) // what was pruned is left out
		}
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		x.err = err
		return
	}
	var ran struct {
		Checks []struct{ Name string } `json:"checks"`
	}
	if json.Unmarshal(raw, &ran) == nil {
		for _, c := range ran.Checks {
			if data, err := x.s.Book.Part(ctx, head.Iteration, "output", c.Name); err == nil {
				texts["output:"+c.Name] = string(data)
			}
		}
	}
	x.data(fmt.Sprintf("iterations/%d", head.Iteration), map[string]any{"doc": json.RawMessage(raw), "parts": texts})
}

func (x *export) tasks(ctx context.Context, plan any) {
	raw, err := json.Marshal(plan)
	if err != nil {
		x.err = errors.Join(x.err, err)
		return
	}
	var list []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		x.err = errors.Join(x.err, err)
		return
	}
	for _, t := range list {
		if doc, err := x.s.Book.Task(ctx, t.ID); err == nil {
			x.data("tasks/"+t.ID, map[string]any{"doc": doc})
		}
	}
}
