package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/plan"
)

// notification is what [notify] commands get on their standard input.
type notification struct {
	Event      string       `json:"event"` // complete halt needs_human limit
	Status     string       `json:"status"`
	Reason     string       `json:"reason"`
	Branch     string       `json:"branch"`
	Repository string       `json:"repository"` // the folder
	Host       string       `json:"host"`
	Iteration  int          `json:"iteration"`
	Session    int          `json:"session"`
	Tasks      plan.Counts  `json:"tasks"`
	Percent    int          `json:"percent_complete"`
	CostUSD    view.CostDoc `json:"cost_usd"`
	Tokens     int64        `json:"tokens"`
	Next       string       `json:"next"` // the next command, in words
	Time       time.Time    `json:"time"`
}

// text is the notification in two lines for people.
func (n notification) text() (title, body string) {
	title = fmt.Sprintf("git ralph: %s %s", filepath.Base(n.Repository), n.Status)
	body = fmt.Sprintf("%s: %d of %d tasks done, $%s", n.Branch, n.Tasks.Done, n.Tasks.Wanted(), n.CostUSD.Session)
	if n.Reason != "" {
		body += "\n" + n.Reason
	}
	if n.Next != "" {
		body += "\nnext: " + n.Next
	}
	return title, body
}

func (a *App) notification(event string, s state.State) notification {
	host, _ := os.Hostname()
	r := s.Run
	return notification{Event: event, Status: string(r.Status), Reason: r.Reason, Branch: a.journal.Branch,
		Repository: a.journal.Repo.Root, Host: host, Iteration: r.Iteration, Session: r.Session, Tasks: s.Plan.Counts(),
		Percent: s.Plan.PercentComplete(), Tokens: r.Tokens.Total(), Time: time.Now().UTC(),
		CostUSD: view.Cost(r.Cost)}
}

// notify tells of the end of a run. A notification that fails is a warning.
func (a *App) notify(set *config.Resolved, end loop.End) {
	event, argv := "halt", set.Notify.Halt
	switch end.Status {
	case state.Complete:
		event, argv = "complete", set.Notify.Complete
	case state.NeedsReview, state.Paused:
		event, argv = "needs_human", set.Notify.NeedsHuman
	case state.Interrupted, state.Stopped, state.MaxIterations:
		return
	}
	if len(argv) == 0 {
		return
	}
	n := a.notification(event, end.State)
	n.Status, n.Reason, n.Next = string(end.Status), end.Reason, a.reader().NextMove(end)
	a.send(argv, n)
}

// notifyLimit tells that a run waits for the provider's limit.
func (a *App) notifyLimit(set *config.Resolved, reason string) {
	if len(set.Notify.Limit) == 0 {
		return
	}
	snap, err := a.journal.Load(a.Ctx)
	if err != nil {
		a.warn("the notification failed: %v", err)
		return
	}
	n := a.notification("limit", snap.State)
	if n.Reason == "" {
		n.Reason = reason
	}
	n.Next = "the run continues by itself; git ralph stop ends it"
	a.send(set.Notify.Limit, n)
}

func (a *App) send(argv []string, n notification) {
	ctx, cancel := context.WithTimeout(a.Ctx, 30*time.Second)
	defer cancel()
	kind, to, _ := strings.Cut(argv[0], ":")
	if len(argv) > 1 {
		kind = ""
	}
	to = os.Expand(to, a.getenv)
	title, body := n.text()
	var err error
	switch kind {
	case "desktop":
		err = a.command(ctx, desktopCommand(title, body), nil)
	case "webhook":
		err = post(ctx, to, "application/json", jsonOf(n), nil)
	case "slack":
		err = post(ctx, to, "application/json", jsonOf(map[string]string{"text": title + "\n" + body}), nil)
	case "ntfy":
		if !strings.Contains(to, "://") {
			to = "https://ntfy.sh/" + url.PathEscape(to)
		}
		err = post(ctx, to, "text/plain; charset=utf-8", []byte(body), http.Header{"Title": {title}})
	case "telegram":
		address := a.getenv("TELEGRAM_API")
		if address == "" {
			address = "https://api.telegram.org"
		}
		token := a.getenv("TELEGRAM_BOT_TOKEN")
		if token == "" {
			err = fmt.Errorf("TELEGRAM_BOT_TOKEN is not set")
			break
		}
		err = post(ctx, address+"/bot"+token+"/sendMessage", "application/json",
			jsonOf(map[string]string{"chat_id": to, "text": title + "\n" + body}), nil)
	default:
		err = a.command(ctx, argv, append(jsonOf(n), '\n'))
	}
	if err != nil {
		a.warn("the notification failed: %v", err)
	}
}

func jsonOf(v any) []byte {
	data, _ := json.Marshal(v) // of our own types, which have no failing parts
	return data
}

func (a *App) command(ctx context.Context, argv []string, stdin []byte) error {
	exit, err := proc.Run(ctx, proc.Command{Argv: argv, Dir: a.Dir, Env: a.Env, Stdin: bytes.NewReader(stdin)})
	if err == nil && !exit.Success() {
		err = fmt.Errorf("%s: %s", argv[0], exit)
	}
	return err
}

func desktopCommand(title, body string) []string {
	if runtime.GOOS == "darwin" {
		return []string{"osascript", "-e", "on run argv", "-e",
			"display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", title, body}
	}
	return []string{"notify-send", "--app-name=git ralph", "--", title, body}
}

// post sends a body once. The error does not say the address, which may hold a
// secret.
func post(ctx context.Context, to, kind string, body []byte, header http.Header) error {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("the address is no URL: is its variable set?")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the address of %s cannot be used", u.Host)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%s did not answer in time", u.Host)
		}
		return fmt.Errorf("%s could not be reached", u.Host)
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return fmt.Errorf("%s answered %s", u.Host, res.Status)
	}
	return nil
}
