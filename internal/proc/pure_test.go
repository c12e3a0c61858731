package proc

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestHeadTail(t *testing.T) {
	tests := []struct {
		name  string
		limit int
		in    []string
		want  string
	}{
		{"all fits", 10, []string{"abc", "def"}, "abcdef"},
		{"exactly full", 6, []string{"abcdef"}, "abcdef"},
		{"one too many", 6, []string{"abcdefg"}, "abc\n[… 1 bytes left out …]\nefg"},
		{"odd limit gives the head more", 5, []string{"abcdefg"}, "abc\n[… 2 bytes left out …]\nfg"},
		{"byte by byte", 4, strings.Split("abcdefghij", ""), "ab\n[… 6 bytes left out …]\nij"},
		{"the ring wraps in a write", 6, []string{"abcdef", "gh", "ijkl"}, "abc\n[… 6 bytes left out …]\njkl"},
		{"nothing is kept", 0, []string{"abc"}, "\n[… 3 bytes left out …]\n"},
		{"empty", 10, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := NewHeadTail(tt.limit)
			var total int64
			for _, s := range tt.in {
				h.Write([]byte(s))
				total += int64(len(s))
			}
			if got := h.String(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if h.Total() != total || h.Cut() != strings.Contains(tt.want, "…") {
				t.Errorf("total %d, cut %v", h.Total(), h.Cut())
			}
		})
	}
}

func FuzzHeadTail(f *testing.F) {
	f.Add(5, "abc|defg|h")
	f.Fuzz(func(t *testing.T, limit int, in string) {
		limit = limit % 64
		h := NewHeadTail(limit)
		all := strings.ReplaceAll(in, "|", "")
		for part := range strings.SplitSeq(in, "|") {
			h.Write([]byte(part))
		}
		limit = max(limit, 0)
		want := all
		if missing := len(all) - limit; missing > 0 {
			head := limit - limit/2
			want = fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", all[:head], missing, all[len(all)-limit/2:])
		}
		if got := h.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestHeadTailNeedsConstantMemory(t *testing.T) {
	h := NewHeadTail(1 << 16)
	chunk := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	h.Write(chunk)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 1023 {
		h.Write(chunk)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated for 1 GiB of output", got)
	}
	if h.Total() != 1<<30 {
		t.Errorf("counted %d", h.Total())
	}
}

func TestCleanEnv(t *testing.T) {
	deny := []string{"*SECRET*", "*PASSWORD*", "*TOKEN*", "*_KEY", "AWS_*"}
	base := []string{
		"PATH=/bin", "HOME=/h", "LANG=C",
		"GIT_DIR=/elsewhere", "GIT_INDEX_FILE=x", "GIT_CONFIG_COUNT=1", "GIT_AUTHOR_NAME=Ada",
		"SSH_AUTH_SOCK=/run/a", "DBUS_SESSION_BUS_ADDRESS=unix:abstract=x",
		"GITHUB_TOKEN=t", "my_secret_thing=s", "ANTHROPIC_API_KEY=k", "AWS_REGION=r",
		"KEYBOARD=us", "MONKEY=1", "TOKENIZERS_PARALLELISM=false", "PATH=/usr/bin", "broken", "=odd",
	}
	tests := []struct {
		name              string
		deny, allow, keep []string
		want              []string
	}{
		{
			"the default patterns", deny, nil, nil,
			[]string{"HOME=/h", "LANG=C", "GIT_AUTHOR_NAME=Ada", "KEYBOARD=us", "MONKEY=1", "PATH=/usr/bin"},
		},
		{
			"the client keeps what it needs to authenticate", deny, nil, []string{"ANTHROPIC_API_KEY"},
			[]string{"HOME=/h", "LANG=C", "GIT_AUTHOR_NAME=Ada", "ANTHROPIC_API_KEY=k", "KEYBOARD=us", "MONKEY=1",
				"PATH=/usr/bin"},
		},
		{
			"the user's word counts, patterns in any case", []string{"*token*", "*secret*", "m?nkey"},
			[]string{"tokenizers_*", "SSH_AUTH_SOCK"}, nil,
			[]string{"HOME=/h", "LANG=C", "GIT_AUTHOR_NAME=Ada", "SSH_AUTH_SOCK=/run/a", "ANTHROPIC_API_KEY=k", "AWS_REGION=r",
				"KEYBOARD=us", "TOKENIZERS_PARALLELISM=false", "PATH=/usr/bin"},
		},
		{
			"redirections of git and the session go without any pattern", nil, nil, nil,
			[]string{"HOME=/h", "LANG=C", "GIT_AUTHOR_NAME=Ada", "GITHUB_TOKEN=t", "my_secret_thing=s", "ANTHROPIC_API_KEY=k",
				"AWS_REGION=r", "KEYBOARD=us", "MONKEY=1", "TOKENIZERS_PARALLELISM=false", "PATH=/usr/bin"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, CleanEnv(base, tt.deny, tt.allow, tt.keep)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestSecretNames: variables that look secret by name or value are removed, in any
// case. Those that every program expects stay.
func TestSecretNames(t *testing.T) {
	gone := "DATABASE_URL GH_PAT MYSQL_PWD NPM_AUTH STRIPE_APIKEY APIKEY KEY PASSWD DB_PASS GPG_PASSPHRASE " +
		"ACCESS_KEY_ID JWT SESSION COOKIE BEARER AUTH SENTRY_DSN " +
		"MONGO_URI REDIS_URL SLACK_WEBHOOK_URL DOCKER_AUTH_CONFIG GOOGLE_CREDENTIALS SIGNING_KEY_B64 PRIVATEKEY X_KEYS " +
		"npm_config__auth gh_pat PGPASSFILE MY_JWT"
	stays :=
		"PATH HOME PWD OLDPWD USER LANG TERM XDG_SESSION_ID DESKTOP_SESSION GIT_AUTHOR_NAME KEYBOARD MONKEY COMPASS GOPATH " +
			"HTTPS_PROXY CI AUTHOR"
	var base []string
	for _, n := range strings.Fields(gone + " " + stays) {
		base = append(base, n+"=x")
	}
	for _, kv := range CleanEnv(base, SecretNames(), nil, nil) {
		if n, _, _ := strings.Cut(kv, "="); !slices.Contains(strings.Fields(stays), n) {
			t.Errorf("%s stays", n)
		}
	}
	if got := CleanEnv(base, SecretNames(), nil, nil); len(got) != len(strings.Fields(stays)) {
		t.Errorf("left: %q", got)
	}
	urls := []string{"A=https://me:pw@host/x", "B=https://host/a:b@c", "https_proxy=http://me:pw@proxy", "C=git@host:x",
		"D=postgres://u:p@db"}
	if got := strings.Join(CleanEnv(urls, nil, []string{"D"}, nil), " "); got != strings.Join(urls[1:], " ") {
		t.Errorf("by value: %q", got)
	}
}

// fakeClock moves only when told to.
type fakeClock struct {
	now    time.Time
	timers []*fakeTimer
}

type fakeTimer struct {
	at   time.Time
	f    func()
	done bool
}

func (c *fakeClock) clock() Clock {
	return Clock{
		Now: func() time.Time { return c.now },
		AfterFunc: func(d time.Duration, f func()) func() bool {
			t := &fakeTimer{at: c.now.Add(d), f: f}
			c.timers = append(c.timers, t)
			return func() bool { was := !t.done; t.done = true; return was }
		},
	}
}

func (c *fakeClock) advance(d time.Duration) {
	end := c.now.Add(d)
	for {
		var next *fakeTimer
		for _, t := range c.timers {
			if !t.done && !t.at.After(end) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			c.now = end
			return
		}
		c.now, next.done = next.at, true
		next.f()
	}
}

func TestWatchdog(t *testing.T) {
	const m = time.Minute
	tests := []struct {
		name       string
		wall, idle time.Duration
		play       func(c *fakeClock, w *Watchdog)
		want       []string
	}{
		{"silence", 20 * m, 5 * m, func(c *fakeClock, w *Watchdog) { c.advance(5 * m) }, []string{"idle 5m0s"}},
		{"just not", 20 * m, 5 * m, func(c *fakeClock, w *Watchdog) { c.advance(5*m - 1) }, nil},
		{"signs of life put it off", 20 * m, 5 * m, func(c *fakeClock, w *Watchdog) {
			for range 4 {
				c.advance(4 * m)
				w.Touch()
			}
		}, nil},
		{"a pause is not silence", 60 * m, 5 * m, func(c *fakeClock, w *Watchdog) {
			w.Pause()
			c.advance(30 * m)
			w.Resume()
			c.advance(4 * m)
		}, nil},
		{"silence is counted from the end of the last pause", 60 * m, 5 * m, func(c *fakeClock, w *Watchdog) {
			w.Pause()
			w.Pause()
			c.advance(10 * m)
			w.Resume()
			c.advance(10 * m)
			w.Resume()
			c.advance(5 * m)
		}, []string{"idle 5m0s"}},
		{"the wall clock knows no pause", 20 * m, 5 * m, func(c *fakeClock, w *Watchdog) {
			w.Pause()
			c.advance(20 * m)
		}, []string{"wall 20m0s"}},
		{"one end is enough", 5 * m, 5 * m, func(c *fakeClock, w *Watchdog) { c.advance(60 * m) }, []string{"wall 5m0s"}},
		{"no limits", 0, 0, func(c *fakeClock, w *Watchdog) { c.advance(1000 * m); w.Resume() }, nil},
		{"only silence", 0, m, func(c *fakeClock, w *Watchdog) { c.advance(m / 2); w.Touch(); c.advance(m) },
			[]string{"idle 1m0s"}},
		{"stopped in time", 20 * m, 5 * m, func(c *fakeClock, w *Watchdog) {
			c.advance(m)
			w.Stop()
			c.advance(60 * m)
		}, nil},
		{"stopped while paused stays stopped", 0, 5 * m, func(c *fakeClock, w *Watchdog) {
			w.Pause()
			w.Stop()
			w.Resume()
			c.advance(60 * m)
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &fakeClock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
			var got []string
			w := NewWatchdog(tt.wall, tt.idle, c.clock(), func(_ Limit, detail string) { got = append(got, detail) })
			tt.play(c, w)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestFindMembers(t *testing.T) {
	// 100 is this program (session 50, started by shell 50), 200 an agent.
	base := []entry{
		{pid: 1, sid: 1}, {pid: 50, ppid: 1, sid: 50}, {pid: 100, ppid: 50, sid: 50},
		{pid: 200, ppid: 100, sid: 200}, {pid: 201, ppid: 200, sid: 200},
		{pid: 300, ppid: 100, sid: 50},  // a git process that we started
		{pid: 400, ppid: 100, sid: 400}, // a process of another group
		{pid: 401, ppid: 400, sid: 400},
	}
	own := map[int]bool{200: true, 400: true}
	tests := []struct {
		name  string
		extra []entry
		marks []int
		alone bool
		want  []int
	}{
		{"what it started and its children", nil, nil, true, []int{200, 201}},
		{"a child that made its own session", []entry{{pid: 202, ppid: 201, sid: 202}}, nil, false, []int{200, 201, 202}},
		{"an orphan of its session", []entry{{pid: 203, ppid: 100, sid: 200}}, nil, false, []int{200, 201, 203}},
		{"an orphan with a mark and everything below it", []entry{{pid: 204, ppid: 1, sid: 204},
			{pid: 205, ppid: 204, sid: 205}}, []int{204}, false, []int{200, 201, 204, 205}},
		{"a stray orphan without a mark, nobody else could have lost it", []entry{{pid: 206, ppid: 100, sid: 206}}, nil,
			true, []int{200, 201, 206}},
		{"a stray orphan without a mark beside another group", []entry{{pid: 206, ppid: 100, sid: 206}}, nil, false,
			[]int{200, 201}},
		{"a mark on us and our parents means an outer run", nil, []int{50, 100}, true, []int{200, 201}},
		{"a mark on another group's process is its own business", nil, []int{400}, false, []int{200, 201}},
		{"init adopts, that makes nobody a member", []entry{{pid: 207, ppid: 1, sid: 207}}, nil, true, []int{200, 201}},
		{"a table torn while it was read", []entry{{pid: 208, ppid: 209, sid: 9}, {pid: 209, ppid: 208, sid: 9}}, nil,
			true, []int{200, 201}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := query{self: 100, own: own, roots: map[int]bool{200: true}, sids: map[int]bool{200: true}, alone: tt.alone,
				marked: func(e entry) bool {
					for _, pid := range tt.marks {
						if e.pid == pid {
							return true
						}
					}
					return false
				}}
			got := pids(findMembers(append(append([]entry{}, base...), tt.extra...), q))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestOnlyYoungerProcessesAreAsked: the environment of an older process than this
// program is only read after a killed run.
func TestOnlyYoungerProcessesAreAsked(t *testing.T) {
	table := []entry{{pid: 100, ppid: 1, sid: 50, start: 7}, {pid: 201, ppid: 1, sid: 201, start: 6},
		{pid: 202, ppid: 1, sid: 202, start: 7}, {pid: 203, ppid: 1, sid: 203, start: 8}}
	for young, want := range map[bool][]int{true: {202, 203}, false: {201, 202, 203}} {
		got := pids(findMembers(table, query{self: 100, young: young, marked: func(entry) bool { return true }}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("young %v (-want +got)\n%s", young, diff)
		}
	}
}
