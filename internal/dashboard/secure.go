package dashboard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a connection may take. A stream of events lifts the limit of its own
// answer and has one for each write instead.
const (
	headerTime     = 5 * time.Second
	bodyTime       = 15 * time.Second
	answerTime     = 60 * time.Second
	idleTime       = 60 * time.Second
	writeTime      = 10 * time.Second
	maxConnections = 512
	maxStreams     = 64
	maxBody        = 64 << 10
)

func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// guarded lets through only requests that come from the page itself: sent to
// this machine by its own name, not from another site, and by somebody who knows
// the token. Every answer forbids a browser to load, frame or keep anything else.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy())
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case !s.ownHost(r.Host):
			refuse(w, http.StatusForbidden, "open the address that git ralph serve printed", "the host %q is not this page's",
				r.Host)
		case !s.ownOrigin(r):
			refuse(w, http.StatusForbidden, "open the address that git ralph serve printed", "another site may not ask")
		case !s.known(w, r):
			refuse(w, http.StatusUnauthorized, "open the address that git ralph serve printed, with its token",
				"the token is missing or wrong")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ownHost says whether a request names this machine. With DNS rebinding
// another site's page sends the name of that site.
func (s *Server) ownHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil || port != strconv.Itoa(s.port) {
		return false
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}

// ownOrigin says whether the request comes from our page. Programs other than
// browsers send neither header.
func (s *Server) ownOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origins, sent := r.Header["Origin"]
	if !sent {
		return true
	}
	return slices.Equal(origins, []string{"http://" + r.Host})
}

// known says whether a request has the token: as ?token= or in the cookie that
// the first answer to it sets.
func (s *Server) known(w http.ResponseWriter, r *http.Request) bool {
	if given := r.URL.Query().Get("token"); given != "" {
		if !same(given, s.Token) {
			return false
		}
		http.SetCookie(w, &http.Cookie{Name: s.cookieName(), Value: s.cookie(), Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode})
		return true
	}
	for _, c := range r.CookiesNamed(s.cookieName()) {
		if same(c.Value, s.cookie()) {
			return true
		}
	}
	return false
}

// cookieName has the port in it, since cookies do not tell ports apart.
func (s *Server) cookieName() string { return "git-ralph-" + strconv.Itoa(s.port) }

// cookie is not the token itself, so that whoever sees one has not the other.
func (s *Server) cookie() string {
	sum := sha256.Sum256([]byte("cookie of " + s.Token))
	return hex.EncodeToString(sum[:])
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// localPath says whether a path names something of the page and nothing else.
func localPath(u *url.URL) bool {
	return !strings.Contains(u.Path, "..") && !strings.Contains(u.Path, "\\") && !strings.Contains(u.Path, "//")
}

// crowd limits the number of open connections. Above the limit the oldest one
// without a request in progress is closed: slow or silent clients cannot shut
// a person out.
type crowd struct {
	most int

	mu   sync.Mutex
	open []*visitor // oldest first
}

// visitor is one connection.
type visitor struct {
	conn    net.Conn
	serving bool // a request is answered, or its answer is not sent yet
}

type visitorKey struct{}

// enter takes a new connection in.
func (c *crowd) enter(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := &visitor{conn: conn}
	c.open = append(c.open, v)
	if len(c.open) > c.most {
		i := max(0, slices.IndexFunc(c.open, func(v *visitor) bool { return !v.serving }))
		c.open[i].conn.Close()
		c.open = slices.Delete(c.open, i, i+1)
	}
	return context.WithValue(ctx, visitorKey{}, v)
}

// left forgets a connection that has ended, and notes when an answer is sent whole.
func (c *crowd) left(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateIdle:
		if i := slices.IndexFunc(c.open, func(v *visitor) bool { return v.conn == conn }); i >= 0 {
			c.open[i].serving = false
		}
	case http.StateClosed, http.StateHijacked:
		c.open = slices.DeleteFunc(c.open, func(v *visitor) bool { return v.conn == conn })
	}
}

// answering marks a connection whose request is answered. That does not end with next,
// whose output may still wait to be sent.
func (c *crowd) answering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v, ok := r.Context().Value(visitorKey{}).(*visitor); ok {
			c.mu.Lock()
			v.serving = true
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}
