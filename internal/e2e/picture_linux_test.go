package e2e

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"git-ralph/fixtures/browser"
)

// TestPictureOfTheLiveView takes the picture of the live view in doc/ from a
// terminal in which a real run is at work.
func TestPictureOfTheLiveView(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("RALPH_TEST_PICTURES")
	if dir == "" {
		t.Skip("no picture of the live view is asked for; just pictures takes it")
	}
	b := browser.Start(t)
	p := newProject(t, talker, "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check,
		map[string]string{".gitignore": "go-*\n"})
	for _, title := range []string{"read the figures from a file", "convert miles to kilometres",
		"print them as a table"} {
		p.must(t, "add", title)
	}
	x := p.onScreen(t, 92, []string{"COLORTERM=truecolor"}, "start")
	x.until("T-001 read the figures")
	x.keys("t", "d")
	x.until("· T-003")
	x.until("agent says and calls is shown")
	for i, task := range []string{"T-001", "T-002"} { // the first is kept, the second is rejected and tried again
		x.until(fmt.Sprintf("#%d  %s", i+1, task))
		p.Write("go-"+task, "")
	}
	x.until("attempt 2")
	x.until("iteration 3: T-002 convert miles to kilometres\n  looking around for T-002\n  The tests show")
	out, err := exec.Command("tmux", "-S", x.socket, "capture-pane", "-e", "-p").Output()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "live.html")
	if err := os.WriteFile(file, []byte(asPage(string(out))), 0o600); err != nil {
		t.Fatal(err)
	}
	page := b.Open((&url.URL{Scheme: "file", Path: file}).String(), browser.Look{Width: 820, Height: 500})
	page.Shows("pre", "T-002")
	page.Shot(filepath.Join(dir, "live.png"))
	x.keys("S")
}

var selectGraphic = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// colours are the first sixteen of a terminal, readable on the ground of asPage.
var colours = strings.Fields("#484f58 #ff7b72 #3fb950 #d29922 #58a6ff #bc8cff #39c5cf #c9d1d9 " +
	"#8b949e #ffa198 #56d364 #e3b341 #79c0ff #d2a8ff #56d4dd #ffffff")

// asPage is a screen of tmux as HTML.
func asPage(screen string) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#0d1117;color:#c9d1d9}` +
		`pre{margin:16px;font:14px/19px "DejaVu Sans Mono",monospace}</style><pre>`)
	screen = strings.TrimRight(screen, "\n")
	style := map[string]string{}
	at := 0
	text := func(s string) {
		if s == "" {
			return
		}
		b.WriteString(`<span style="`)
		for name, value := range style {
			b.WriteString(name + ":" + value + ";")
		}
		b.WriteString(`">` + html.EscapeString(s) + `</span>`)
	}
	for _, m := range selectGraphic.FindAllStringSubmatchIndex(screen, -1) {
		text(screen[at:m[0]])
		at = m[1]
		setGraphic(style, strings.Split(screen[m[2]:m[3]], ";"))
	}
	text(screen[at:])
	b.WriteString("</pre>")
	return b.String()
}

// setGraphic applies one SGR escape sequence to a style.
func setGraphic(style map[string]string, codes []string) {
	for i := 0; i < len(codes); i++ {
		var n int
		fmt.Sscan(codes[i], &n) // empty = 0
		switch {
		case n == 0:
			clear(style)
		case n == 1:
			style["font-weight"] = "bold"
		case n == 2:
			style["opacity"] = "0.65"
		case n >= 30 && n <= 37:
			style["color"] = colours[n-30]
		case n == 39:
			delete(style, "color")
		case n >= 90 && n <= 97:
			style["color"] = colours[n-90+8]
		case n == 38 && i+2 < len(codes) && codes[i+1] == "5":
			var c int
			if fmt.Sscan(codes[i+2], &c); c < len(colours) {
				style["color"] = colours[c]
			}
			i += 2
		case n == 38 && i+4 < len(codes):
			style["color"] = "rgb(" + strings.Join(codes[i+2:i+5], ",") + ")"
			i += 4
		}
	}
}
