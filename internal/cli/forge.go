package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// forge is the person's own client of a hosting service, gh or glab: it has the
// log-in and knows the address. git ralph itself speaks to no service.
type forge string

const (
	github forge = "gh"
	gitlab forge = "glab"
)

// request is a pull request, or a merge request, that is open.
type request struct {
	Number int
	URL    string
	Draft  bool
	Body   string
	// OwnFork: its branch is in a fork that belongs to the owner of the remote.
	OwnFork bool
}

// forgeOf tells the client by the address of a remote.
func forgeOf(url string) forge {
	if strings.Contains(strings.ToLower(url), "gitlab") {
		return gitlab
	}
	return github
}

// hostOf is the host that the address of a remote names, and "" where that may be a
// name of the person's own for one, as ssh knows them.
func hostOf(remote string) string {
	remote = strings.TrimSpace(remote)
	if strings.HasPrefix(remote, "git@github.com:") {
		return "github.com"
	}
	u, err := url.Parse(remote)
	if err != nil || u.Scheme != "https" && u.Hostname() != "github.com" {
		return ""
	}
	return u.Hostname()
}

// ownerOf is the account that the address of a remote names: the folder of the repository.
func ownerOf(remote string) string {
	remote = strings.TrimSuffix(strings.TrimRight(strings.TrimSpace(remote), "/"), ".git")
	parts := strings.FieldsFunc(remote, func(r rune) bool { return r == '/' || r == ':' })
	if len(parts) < 2 {
		return ""
	}
	return parts[len(parts)-2]
}

// forgeTime is how long a client may take: it asks a server.
const forgeTime = 2 * time.Minute

// call runs the client in the repository and returns what it printed.
func (f forge) call(a *App, stdin string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(a.Ctx, forgeTime)
	defer cancel()
	return f.callWithin(ctx, a, stdin, args...)
}

// callWithin is call until ctx ends. What was printed is returned with an error
// as well: a client may say both what it found and, by its exit code, what it
// thinks of it.
func (f forge) callWithin(ctx context.Context, a *App, stdin string, args ...string) ([]byte, error) {
	// With neither a pager, a prompt nor colours, whatever the person's settings say.
	env := append([]string{}, a.Env...)
	for _, kv := range [][2]string{{"GH_PROMPT_DISABLED", "1"}, {"NO_PROMPT", "1"}, {"NO_COLOR", "1"}, {"PAGER", "cat"},
		{"GH_PAGER", "cat"}} {
		env = proc.SetEnv(env, kv[0], kv[1])
	}
	var out, complaint bytes.Buffer
	exit, err := proc.Run(ctx, proc.Command{Argv: append([]string{string(f)}, args...), Dir: a.repo.Root, Env: env,
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &complaint})
	switch {
	case errors.Is(err, fs.ErrNotExist) || err != nil && !a.hasProgram(string(f)):
		return nil, gitstate.Hint(1, "install it, then: "+string(f)+" auth login", "%s is not installed", f)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, gitstate.Hint(1, "try it by hand, and again later", "%s %s did not answer in time", f,
			strings.Join(args[:min(2, len(args))], " "))
	case err != nil:
		return nil, err
	case !exit.Success():
		said := strings.TrimSpace(complaint.String())
		return out.Bytes(), gitstate.Hint(1, string(f)+" auth status says whether you are logged in", "%s %s: %s", f,
			strings.Join(args[:min(2, len(args))], " "), text.Clip(orText(said, exit.String()), 500))
	}
	return out.Bytes(), nil
}

// issues are the open issues with a label, as `gh issue list` prints them.
func (f forge) issues(a *App, label string) ([]byte, error) {
	if f == github {
		return f.call(a, "", "issue", "list", "--label", label, "--state", "open", "--limit", "1000", "--json",
			"number,title,body,labels")
	}
	data, err := f.call(a, "", "issue", "list", "--label", label, "--per-page", "100", "--output", "json")
	if err != nil {
		return nil, err
	}
	var there []struct {
		Number int      `json:"iid"`
		Title  string   `json:"title"`
		Body   string   `json:"description"`
		Labels []string `json:"labels"`
	}
	if err := json.Unmarshal(data, &there); err != nil {
		return nil, gitstate.Hint(1, "a newer version of glab may help", "glab printed something unexpected: %w", err)
	}
	type issueLabel struct {
		Name string `json:"name"`
	}
	type issue struct {
		Number int          `json:"number"`
		Title  string       `json:"title"`
		Body   string       `json:"body"`
		Labels []issueLabel `json:"labels"`
	}
	out := []issue{}
	for _, x := range there {
		one := issue{x.Number, x.Title, x.Body, []issueLabel{}}
		for _, l := range x.Labels {
			one.Labels = append(one.Labels, issueLabel{l})
		}
		out = append(out, one)
	}
	return json.Marshal(out)
}

// open finds the request that is open for a branch of owner's repository; nil when there is none.
// Anybody may open one from a branch of the same name in a repository of their own.
func (f forge) open(ctx context.Context, a *App, head, owner string) (*request, error) {
	ctx, cancel := context.WithTimeout(ctx, forgeTime)
	defer cancel()
	var data []byte
	var err error
	var found []struct {
		Number      int    `json:"number"`
		IID         int    `json:"iid"`
		URL         string `json:"url"`
		WebURL      string `json:"web_url"`
		IsDraft     bool   `json:"isDraft"`
		Draft       bool   `json:"draft"`
		Body        string `json:"body"`
		Description string `json:"description"`

		Fork      bool `json:"isCrossRepository"`
		HeadOwner struct {
			Login string `json:"login"`
		} `json:"headRepositoryOwner"`
		From int `json:"source_project_id"`
		To   int `json:"target_project_id"`
	}
	if f == github {
		data, err = f.callWithin(ctx, a, "", "pr", "list", "--head", head, "--state", "open", "--json",
			"number,url,isDraft,body,isCrossRepository,headRepositoryOwner")
	} else {
		data, err = f.callWithin(ctx, a, "", "mr", "list", "--source-branch", head, "--output", "json")
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, gitstate.Hint(1, "a newer version of "+string(f)+" may help", "%s printed something unexpected: %w", f,
			err)
	}
	for _, x := range found {
		if (x.Fork || x.From != x.To) && (x.HeadOwner.Login == "" || !strings.EqualFold(x.HeadOwner.Login, owner)) {
			continue
		}
		return &request{Number: x.Number + x.IID, URL: x.URL + x.WebURL, Draft: x.IsDraft || x.Draft,
			Body: x.Body + x.Description, OwnFork: x.Fork}, nil
	}
	return nil, nil
}

// create opens a request and returns its address.
func (f forge) create(a *App, head, base, title, body string, draft bool) (string, error) {
	var args []string
	stdin := ""
	if f == github {
		args = []string{"pr", "create", "--head", head, "--base", base, "--title", title, "--body-file", "-"}
		stdin = body
	} else {
		args = []string{"mr", "create", "--source-branch", head, "--target-branch", base, "--title", title,
			"--description", body, "--yes"}
	}
	if draft {
		args = append(args, "--draft")
	}
	out, err := f.call(a, stdin, args...)
	return lastAddress(string(out)), err
}

// update gives a request another text, and makes it ready for review.
func (f forge) update(a *App, number int, body string, ready bool) error {
	n := strconv.Itoa(number)
	if f == gitlab {
		args := []string{"mr", "update", n, "--description", body}
		if ready {
			args = append(args, "--ready")
		}
		_, err := f.call(a, "", args...)
		return err
	}
	_, err := f.call(a, body, "pr", "edit", n, "--body-file", "-")
	if err != nil {
		// A gh before 2.66 asks there for classic projects, which GitHub knows no more.
		_, err = f.call(a, body, "api", "--method", "PATCH", "repos/{owner}/{repo}/pulls/"+n, "--field", "body=@-")
	}
	if err != nil || !ready {
		return err
	}
	_, err = f.call(a, "", "pr", "ready", n)
	return err
}

// lastAddress is the address that a client prints when it has made something.
func lastAddress(out string) string {
	found := ""
	for _, word := range strings.Fields(out) {
		if strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://") {
			found = word
		}
	}
	return found
}
