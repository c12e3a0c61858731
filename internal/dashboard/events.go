package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
)

// hub follows the journal while somebody watches, and tells everybody: parts of
// the state that have changed, new entries, and what the agent says. It reads
// once, however many watch.
type hub struct {
	server *Server

	mu       sync.Mutex
	watching map[chan message]bool
	wake     chan struct{}
	parts    map[string][]byte // of the state, as last sent
	tip      object.ID
	lines    []message // of the agent at work, the newest last
	looked   time.Time // when the state was read last
}

// restful is how often the state is read while the journal stands still: only
// what the agent has used changes then.
const restful = time.Second

// message is one event of a stream.
type message struct {
	event, id string
	data      []byte
}

// recent is how many lines of the agent a new watcher gets.
const recent = 200

// backlog is how many messages may wait for a slow watcher before its stream
// ends: a browser then reconnects by itself.
const backlog = 1024

func (h *hub) run(ctx context.Context) {
	h.mu.Lock()
	h.wake = make(chan struct{}, 1)
	wake := h.wake
	h.mu.Unlock()
	go h.server.Book.Live(ctx, h.heard)
	t := time.NewTicker(h.server.Every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-wake:
		}
		h.look(ctx)
	}
}

// hurry looks again at once.
func (h *hub) hurry() {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// heard takes a line of the agent at work.
func (h *hub) heard(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		return
	}
	m := message{event: "live", data: data}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lines = append(h.lines, m); len(h.lines) > 2*recent {
		h.lines = append([]message{}, h.lines[len(h.lines)-recent:]...)
	}
	h.send(m)
}

// send gives a message to everybody; h.mu is held.
func (h *hub) send(m message) {
	for ch := range h.watching {
		select {
		case ch <- m:
		default:
			delete(h.watching, ch)
			close(ch)
		}
	}
}

// look reads the state and sends what has changed. Nobody there, nothing read.
func (h *hub) look(ctx context.Context) {
	h.mu.Lock()
	n, was, last := len(h.watching), h.tip, h.looked
	h.mu.Unlock()
	if n == 0 {
		return
	}
	tip, err := h.server.Book.Tip(ctx)
	if err != nil || tip.IsZero() {
		return // it is being moved, or was taken away; the next look says
	}
	if tip == was && time.Since(last) < restful {
		return
	}
	fresh, err := h.entriesSince(ctx, tip, was)
	if err != nil {
		return
	}
	parts, err := h.read(ctx)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tip, h.looked = tip, time.Now()
	for _, m := range fresh {
		h.send(m)
	}
	changed := map[string]json.RawMessage{}
	for name, data := range parts {
		if !bytes.Equal(h.parts[name], data) {
			changed[name] = data
		}
	}
	for name := range h.parts {
		if _, there := parts[name]; !there {
			changed[name] = json.RawMessage("null")
		}
	}
	h.parts = parts
	if len(changed) > 0 {
		data, _ := json.Marshal(changed)
		h.send(message{event: "state", data: data})
	}
}

// read is the state by parts, as JSON.
func (h *hub) read(ctx context.Context) (map[string][]byte, error) {
	doc, err := h.server.Book.State(ctx)
	if err != nil {
		return nil, err
	}
	doc["read_only"] = h.server.ReadOnly
	parts := make(map[string][]byte, len(doc))
	for name, v := range doc {
		if parts[name], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// entriesSince are the entries after one, oldest first; the newest fifty when
// there are more, or when that one is of another history.
func (h *hub) entriesSince(ctx context.Context, tip, since object.ID) ([]message, error) {
	if tip == since {
		return nil, nil
	}
	var list []message
	err := h.server.Book.Walk(ctx, tip, func(e journal.Entry) (bool, error) {
		if e.ID == since {
			return false, nil
		}
		data, err := json.Marshal(h.server.Book.Describe(e))
		if err != nil {
			return false, err
		}
		list = append(list, message{event: "entry", id: e.ID.String(), data: data})
		return len(list) < usualPage, nil
	})
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
	}
	return list, err
}

// watch takes a new watcher in and gives it all there is, then what comes.
func (h *hub) watch(ctx context.Context, since object.ID) (chan message, []message, error) {
	tip, err := h.server.Book.Tip(ctx)
	if err != nil {
		return nil, nil, err
	}
	parts, err := h.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watching) >= maxStreams {
		return nil, nil, fmt.Errorf("%d pages watch already", len(h.watching))
	}
	if h.watching == nil {
		h.watching = map[chan message]bool{}
	}
	if len(h.watching) == 0 {
		h.tip, h.parts = tip, parts
	}
	first, err := h.entriesSince(ctx, h.tip, since)
	if err != nil {
		return nil, nil, err
	}
	raw := map[string]json.RawMessage{}
	for name, data := range h.parts {
		raw[name] = data
	}
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, nil, err
	}
	first = append([]message{{event: "state", data: data}}, first...)
	first = append(first, h.lines[max(0, len(h.lines)-recent):]...)
	ch := make(chan message, backlog)
	h.watching[ch] = true
	return ch, first, nil
}

func (h *hub) leave(ch chan message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watching, ch)
}

// heartbeat keeps a stream alive through what is in between, and finds out who
// has gone.
const heartbeat = 15 * time.Second

// stream answers GET /api/events.
func (h *hub) stream(w http.ResponseWriter, r *http.Request) {
	since, err := object.ParseID(r.Header.Get("Last-Event-ID"))
	if err != nil {
		since = object.Zero
	}
	ch, first, err := h.watch(r.Context(), since)
	if err != nil {
		h.server.failed(w, http.StatusServiceUnavailable, err)
		return
	}
	defer h.leave(ch)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	rc.SetReadDeadline(time.Time{})
	write := func(text []byte) bool {
		rc.SetWriteDeadline(time.Now().Add(writeTime))
		_, err := w.Write(text)
		return err == nil && rc.Flush() == nil
	}
	for _, m := range first {
		if !write(m.text()) {
			return
		}
	}
	t := time.NewTicker(heartbeat)
	defer t.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case m, ok := <-ch:
			if !ok || !write(m.text()) {
				return
			}
		case <-t.C:
			if !write([]byte(": alive\n\n")) {
				return
			}
		}
	}
}

// text is the message as the stream has it. JSON has no line breaks.
func (m message) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\n", m.event)
	if m.id != "" {
		fmt.Fprintf(&b, "id: %s\n", m.id)
	}
	fmt.Fprintf(&b, "data: %s\n\n", m.data)
	return b.Bytes()
}
