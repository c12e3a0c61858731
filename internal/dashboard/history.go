package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// history is the list of iterations, newest first, as far back as somebody has
// looked. A long journal is never read whole for its first page, and nothing is
// read twice.
type history struct {
	book Book

	mu     sync.Mutex
	rows   []row
	newest object.ID // the newest entry that was seen
	oldest object.ID // the next one to look at; Zero = all were seen
}

// row is the end of one iteration.
type row struct {
	number int
	task   string
	text   string // what a search looks at, in lower case
	doc    json.RawMessage
}

// Page is a part of the list. Next is what to ask for with before= to get on;
// nil = there are no older ones.
type Page struct {
	Iterations []json.RawMessage `json:"iterations"`
	Next       *int              `json:"next"`
}

// query says which iterations are wanted.
type query struct {
	before, limit int    // 0 = from the newest on
	text          string // in lower case; "" = all
	task, verdict string
}

func (q query) wants(r row) bool {
	return (q.before == 0 || r.number < q.before) && (q.text == "" || strings.Contains(r.text, q.text)) &&
		(q.task == "" || strings.EqualFold(r.task, q.task)) &&
		(q.verdict == "" || strings.Contains(r.text, "verdict:"+q.verdict))
}

// page is the part of the list that a query wants.
func (h *history) page(ctx context.Context, q query) (Page, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := Page{Iterations: []json.RawMessage{}}
	if err := h.freshen(ctx); err != nil {
		return p, err
	}
	last := 0
	for i := 0; ; i++ {
		for i >= len(h.rows) && !h.oldest.IsZero() {
			if err := h.lookBack(ctx); err != nil {
				return p, err
			}
		}
		if i >= len(h.rows) {
			return p, nil
		}
		if !q.wants(h.rows[i]) {
			continue
		}
		if len(p.Iterations) == q.limit {
			p.Next = &last
			return p, nil
		}
		p.Iterations, last = append(p.Iterations, h.rows[i].doc), h.rows[i].number
	}
}

// freshen puts what happened since the last look in front.
func (h *history) freshen(ctx context.Context) error {
	tip, err := h.book.Tip(ctx)
	if err != nil || tip == h.newest {
		return err
	}
	if h.newest.IsZero() || tip.IsZero() {
		h.rows, h.newest, h.oldest = nil, tip, tip
		return nil
	}
	var fresh []row
	met := false
	err = h.book.Walk(ctx, tip, func(e journal.Entry) (bool, error) {
		if met = e.ID == h.newest; met {
			return false, nil
		}
		fresh = h.add(fresh, e)
		return true, nil
	})
	if err != nil {
		return err
	}
	if h.newest = tip; met {
		h.rows = append(fresh, h.rows...)
	} else {
		h.rows, h.oldest = fresh, object.Zero // another history: all of it was read
	}
	return nil
}

// step is how many entries are read when a page needs more.
const step = 600

// lookBack reads on from the oldest entry.
func (h *history) lookBack(ctx context.Context) error {
	n, next := 0, object.Zero
	rows := h.rows
	err := h.book.Walk(ctx, h.oldest, func(e journal.Entry) (bool, error) {
		if n++; n > step {
			next = e.ID
			return false, nil
		}
		rows = h.add(rows, e)
		return true, nil
	})
	if err != nil {
		return err
	}
	h.rows, h.oldest = rows, next
	return nil
}

func (h *history) add(rows []row, e journal.Entry) []row {
	if e.Event.Type != state.EvIteration {
		return rows
	}
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false) // a search looks for what people read
	if err := enc.Encode(h.book.Describe(e)); err != nil {
		return rows
	}
	verdict := ""
	if r := e.Event.Result; r != nil {
		verdict = " verdict:" + string(r.Verdict)
	}
	return append(rows, row{number: e.Event.Iteration, task: string(e.Event.Task), doc: doc.Bytes(),
		text: strings.ToLower(doc.String()) + verdict})
}
