package codex

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// maxTracked bounds the items that are remembered at a time.
const maxTracked = 1000

// conversation is one running client. Its lines are handled one after the other on
// the goroutine that reads them.
type conversation struct {
	*client.Session
	contained bool // the client's own sandbox works here
	callCtx   context.Context
	cancel    context.CancelFunc
	calls     sync.WaitGroup

	// Only the reading goroutine uses these until reading is over.
	stream stream
	judged map[string]bool
	// reasons are refusals that wait until the model was told why.
	reasons map[string]func()

	mu     sync.Mutex
	thread string
	turn   string
}

func newConversation(ctx context.Context, common *client.Session) *conversation {
	common.Awaited = "turn began"
	s := &conversation{Session: common, stream: stream{items: map[string]item{}}, judged: map[string]bool{},
		reasons: map[string]func(){}}
	s.callCtx, s.cancel = context.WithCancel(ctx)
	return s
}

// Begin makes the handshake.
func (s *conversation) Begin() { s.Out.Send(initialize()) }

// Interrupt asks the client to end its turn.
func (s *conversation) Interrupt() {
	s.mu.Lock()
	thread, turn := s.thread, s.turn
	s.mu.Unlock()
	if turn != "" {
		s.Out.Send(request(otherID, "turn/interrupt", object{"threadId": thread, "turnId": turn}))
	}
}

// Line handles one line of the client.
func (s *conversation) Line(data []byte, cut bool) {
	l, ok := parse(data)
	if !ok {
		s.Unread(data, cut)
		return
	}
	if !strings.HasSuffix(l.Method, "/delta") && !strings.HasSuffix(l.Method, "Delta") { // told again as a whole
		s.Transcript.JSON(data)
	}
	switch {
	case l.Method == "":
		s.answered(l)
	case len(l.ID) > 0:
		s.asked(l, cut)
	default:
		s.observe(l)
	}
}

// answered handles the answer to one of our requests.
func (s *conversation) answered(l line) {
	var id string
	if json.Unmarshal(l.ID, &id) != nil || id == otherID {
		return
	}
	if strings.HasPrefix(id, reasonID) {
		if refuse := s.reasons[id]; refuse != nil { // also when the model could not be told
			refuse()
			delete(s.reasons, id)
		}
		return
	}
	if l.Error != nil && id == threadID && s.Request.Resume != nil {
		s.Warn("the session of the attempt before is gone; a fresh one begins")
		s.Request.Resume, s.stream.before = nil, session.Usage{}
		s.Out.Send(startThread(s.Request))
		return
	}
	if l.Error != nil || l.Result == nil {
		why := "an answer without a result"
		if l.Error != nil {
			why = client.Line(l.Error.Message, 300)
		}
		s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "the client refused " + strings.TrimPrefix(id, "ralph-") +
			": " + why})
		return
	}
	switch id {
	case initializeID:
		s.stream.version = client.VersionIn(l.Result.UserAgent)
		s.Out.Send(object{"method": "initialized"})
		s.Out.Send(startThread(s.Request))
	case threadID:
		if string(l.Result.ApprovalPolicy) != `"untrusted"` {
			s.Stop(client.Ending{Kind: session.PermissionDenied, Detail: "a policy of this machine makes the client run " +
				"commands without asking"})
			return
		}
		s.mu.Lock()
		s.thread = client.Line(l.Result.Thread.ID, 100)
		s.mu.Unlock()
		s.stream.model = client.Line(l.Result.Model, 100)
		s.Event(session.AgentEvent{Kind: session.EventSession, Text: s.thread, Model: s.stream.model,
			Version: s.stream.version})
		s.prompt(s.Request.Prompt)
	case turnID:
		s.Started()
	}
}

// prompt starts a turn.
func (s *conversation) prompt(text string) bool {
	tools := client.Tools(s.Request)
	writes := slices.Contains(tools, "Write") || slices.Contains(tools, "Edit") || slices.Contains(tools, "Bash")
	var roots []string
	// for caches; our sandbox decides what of it may be written
	if home := client.Get(s.Request.Env, "HOME"); filepath.IsAbs(home) {
		roots = append(roots, home)
	}
	if s.Request.HandoffFile != "" {
		roots = append(roots, filepath.Dir(s.Request.HandoffFile))
	}
	s.stream.turns++
	return s.Out.Send(startTurn(s.thread, text, sandboxPolicy(s.contained, writes, roots)))
}

// observe follows what the client reports about itself.
func (s *conversation) observe(l line) {
	p := l.Params
	switch l.Method {
	case "turn/started":
		if p.Turn != nil {
			s.mu.Lock()
			s.turn = p.Turn.ID
			s.mu.Unlock()
			if s.Interrupted() {
				s.Interrupt()
			}
		}
	case "item/started":
		if p.Item != nil && isCall(p.Item.Type) {
			s.Watch.Open(p.Item.ID)
		}
	case "item/completed":
		if p.Item != nil && isCall(p.Item.Type) {
			s.Watch.Close(p.Item.ID)
			s.checkJudged(*p.Item)
		}
	case "mcpServer/startupStatus/updated":
		if p.Name != "codex_apps" { // the client's own
			s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "the client started an MCP server that this run does " +
				"not offer: " + client.Line(p.Name, 100)})
		}
	}
	for _, e := range s.stream.read(l) {
		s.Event(e)
	}
	switch l.Method {
	case "thread/tokenUsage/updated":
		if s.Request.MaxTurns > 0 && s.stream.calls >= s.Request.MaxTurns && s.stream.working && s.First == nil {
			s.First = &client.Ending{Kind: session.MaxTurns, Detail: fmt.Sprintf("%d requests to the model", s.stream.calls)}
			s.Interrupt()
		}
	case "turn/completed":
		s.Watch.CloseAll()
		s.turnEnded(p.Turn)
	}
}

// checkJudged stops a client that ran something without asking us and that we
// would not have allowed.
func (s *conversation) checkJudged(it item) {
	asked := s.judged[it.ID]
	delete(s.judged, it.ID)
	if asked || it.Status == "declined" || it.Type != "commandExecution" && it.Type != "fileChange" {
		return
	}
	if p := s.judgeItem(it, it.Command, it.Cwd, it.Actions); !p.Allow {
		s.Stop(client.Ending{Kind: session.ProtocolError, Detail: "a call ran without being judged: " +
			client.Line(it.Command, 100)})
	}
}

// turnEnded decides after each turn whether the session goes on.
func (s *conversation) turnEnded(t *turn) {
	if t == nil {
		t = &turn{}
	}
	e := s.stream.classify(*t, s.Clock.Now())
	s.mu.Lock()
	s.turn = ""
	s.mu.Unlock()
	further := s.stream.turns > 1
	if !further && s.First != nil { // the limit of turns: we interrupted it
		e = *s.First
	}
	s.TurnEnded(e, further, s, s.prompt)
}

// Result is what is known so far.
func (s *conversation) Result() session.Result {
	return session.Result{Usage: s.stream.usage, Model: s.stream.model,
		Client: strings.TrimSpace("codex " + s.stream.version), SessionID: s.thread}
}
