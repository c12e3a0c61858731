package command

import (
	"strings"
	"sync"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

// An ErrorLine is how a client begins the line that says why it could not work.
type ErrorLine struct {
	Begin string
	// Kind is what it means where the rest of the line says nothing else; "" = only the rest tells.
	Kind session.OutcomeKind
}

// aiderErrors are the exceptions of LiteLLM that aider prints by their names.
var aiderErrors = []ErrorLine{
	{"litellm.AuthenticationError:", session.AuthFailed},
	{"litellm.NotFoundError:", session.AuthFailed}, // of the model
	{"litellm.RateLimitError:", session.RateLimited},
	{"litellm.RouterRateLimitError:", session.RateLimited},
	{"litellm.ContextWindowExceededError:", session.ContextLimit},
	{"litellm.InternalServerError:", session.Overloaded},
	{"litellm.ServiceUnavailableError:", session.Overloaded},
	{"litellm.APIConnectionError:", session.Overloaded},
	{"litellm.Timeout:", session.Overloaded},
}

// gooseErrors are the errors of a provider as goose names them, in its answer and on standard error.
var gooseErrors = func() (list []ErrorLine) {
	for _, before := range []string{"Ran into this error: ", "error: ", "Error: "} {
		list = append(list, ErrorLine{before + "Authentication error:", session.AuthFailed},
			ErrorLine{before + "Credits exhausted:", session.AuthFailed},
			ErrorLine{before + "Rate limit exceeded:", session.RateLimited},
			ErrorLine{before + "Context length exceeded:", session.ContextLimit},
			ErrorLine{before + "Server error:", session.Overloaded},
			ErrorLine{before + "Network error:", session.Overloaded})
	}
	return list
}()

// copilotErrors are what Copilot says on standard error, before it has printed any JSON.
var copilotErrors = []ErrorLine{
	{"Error: No authentication information found", session.AuthFailed},
	{"Error: Authentication token found but could not be validated", session.AuthFailed},
	{"Error: Model ", session.AuthFailed}, // … is not available
	{"Execution failed: ", ""},
}

// lastLines are the last lines of both streams of a client. The last one says why it ended; earlier quotes of its
// commands or its model do not count.
type lastLines struct {
	mu    sync.Mutex
	lines []string
}

const maxLastLines = 6

func (l *lastLines) add(data []byte) {
	text := strings.TrimLeft(client.Line(string(data), 1000), "✘✗● ")
	if text == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines = append(l.lines, text); len(l.lines) > maxLastLines {
		l.lines = l.lines[1:]
	}
}

// ending is what the newest error among the last lines means; nil = there is none.
func (l *lastLines) ending(errors []ErrorLine, now time.Time) *client.Ending {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.lines) - 1; i >= 0; i-- {
		for _, e := range errors {
			if !strings.HasPrefix(l.lines[i], e.Begin) {
				continue
			}
			end := client.Failure{Message: strings.Join(l.lines[i:], " ")}.Ending(now)
			switch end.Kind {
			case session.RateLimited, session.Overloaded, session.ProtocolError:
				if e.Kind != "" {
					end.Kind = e.Kind
				}
			}
			if end.Kind != session.ProtocolError {
				end.Detail = client.Line(l.lines[i], 300)
				return &end
			}
		}
	}
	return nil
}
