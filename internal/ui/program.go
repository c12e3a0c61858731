package ui

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Action is what a key asks for.
type Action string

// The actions.
const (
	Pause     Action = "pause" // or go on
	Stop      Action = "stop"
	StopNow   Action = "stop-now"
	Skip      Action = "skip"
	Note      Action = "note"
	Interrupt Action = "interrupt"
)

// Options are what a Program needs.
type Options struct {
	In      *os.File
	Out     *os.File
	Palette Palette
	// Look reads what is shown; it is called once a second and after events.
	Look func() Snapshot
	// Act does what a key asked for and says what happened. Text is a note.
	Act func(a Action, text string) string
	// Detail is told when a person switches the agent's own lines on or off.
	Detail func(on bool)
}

// Program draws a View at the bottom of a terminal, below the lines that are
// written to its writers.
type Program struct {
	o    Options
	tea  *tea.Program
	done chan struct{} // closed when nothing is drawn any more
	// drawn is closed when the view has its place. Lines put above it earlier would
	// overwrite what the terminal shows.
	drawn chan struct{}
	// width of the terminal in columns; 0 = not known yet.
	width atomic.Int64

	mu     sync.Mutex // held while the program ends, so that no line is lost in it
	paused bool       // the terminal was lent to a question
	rest   []byte     // the beginning of a line
}

// frames are drawn a second, at most.
const frames = 20

// drawn says that the first frame is there.
type drawn struct{}

// Start begins to draw.
func Start(o Options) *Program {
	p := &Program{o: o, done: make(chan struct{}), drawn: make(chan struct{})}
	m := &model{p: p, view: View{Snapshot: o.Look()}, now: time.Now()}
	opts := []tea.ProgramOption{tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithoutSignalHandler(),
		tea.WithFPS(frames)}
	if w, h, err := term.GetSize(o.Out.Fd()); err != nil || w <= 0 || h <= 0 {
		opts = append(opts, tea.WithWindowSize(80, 24)) // a terminal that does not know its size
	}
	p.tea = tea.NewProgram(m, opts...)
	go func() {
		defer close(p.done)
		p.tea.Run() // an error means that the view is gone; the run continues
	}()
	return p
}

// live says that lines go above the view.
func (p *Program) live() bool {
	select {
	case <-p.done:
		return false
	default:
		return !p.paused
	}
}

// Event shows what happened.
func (p *Program) Event(e Event) { p.tea.Send(e) }

// Write puts whole lines above the view. An unfinished line waits for its end.
func (p *Program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live() {
		rest := p.rest
		p.rest = nil
		if _, err := p.o.Out.Write(append(rest, b...)); err != nil {
			return 0, err
		}
		return len(b), nil
	}
	p.rest = append(p.rest, b...)
	at := bytes.LastIndexByte(p.rest, '\n')
	if at < 0 {
		return len(b), nil
	}
	lines := string(p.rest[:at])
	p.rest = append([]byte(nil), p.rest[at+1:]...)
	// A line that the terminal wraps would leave parts of the view standing.
	select {
	case <-p.drawn:
	case <-p.done:
	case <-time.After(2 * time.Second):
	}
	lines = wrapLines(lines, p.Columns())
	p.tea.Send(tea.Println(lines)())
	return len(b), nil
}

// Columns is how wide the terminal is; 0 = not known yet.
func (p *Program) Columns() int { return int(p.width.Load()) }

// wrapLines breaks lines at spaces so that none is wider than n columns, and indents
// what follows a break.
func wrapLines(lines string, n int) string {
	if n <= 0 {
		return lines
	}
	var out []string
	for line := range strings.SplitSeq(lines, "\n") {
		by := len(line) - len(strings.TrimLeft(line, " ")) + 2
		if ansi.StringWidth(line) > n && by < n/2 {
			line = line[:by-2] + strings.ReplaceAll(ansi.Wrap(line[by-2:], n-by, ""), "\n", "\n"+strings.Repeat(" ", by))
		}
		out = append(out, ansi.Wrap(line, n, ""))
	}
	return strings.Join(out, "\n")
}

// Done is closed when nothing is drawn any more.
func (p *Program) Done() <-chan struct{} { return p.done }

// Terminal says that what is written is seen by a person.
func (p *Program) Terminal() bool { return true }

// Ask lends the terminal to a question.
func (p *Program) Ask(question func()) {
	p.mu.Lock()
	lent := p.live() && p.tea.ReleaseTerminal() == nil
	p.paused = p.paused || lent
	p.mu.Unlock()
	question()
	if lent {
		p.mu.Lock()
		p.paused = false
		p.tea.RestoreTerminal()
		p.mu.Unlock()
	}
}

// Close takes the view away. Lines go on as they come.
func (p *Program) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tea.Send(leave{})
	p.tea.Quit()
	<-p.done
	if len(p.rest) > 0 {
		p.o.Out.Write(p.rest)
		p.rest = nil
	}
}

var _ io.Writer = (*Program)(nil)

type (
	looked Snapshot // read again
	tick   time.Time
	acted  string   // the result of a key
	leave  struct{} // the view ends
)

type model struct {
	p       *Program
	view    View
	width   int
	height  int
	now     time.Time
	typed   string
	detail  bool
	leaving bool
}

func (m *model) Init() tea.Cmd { return tea.Batch(m.tick(), m.look()) }

func (m *model) tick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tick(t) })
}

func (m *model) look() tea.Cmd {
	return func() tea.Msg { return looked(m.p.o.Look()) }
}

func (m *model) act(a Action, text string) tea.Cmd {
	return func() tea.Msg { return acted(m.p.o.Act(a, text)) }
}

// Update implements tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		first := m.width == 0
		m.width, m.height = msg.Width, msg.Height
		m.p.width.Store(int64(msg.Width))
		if first {
			return m, tea.Tick(3*time.Second/frames, func(time.Time) tea.Msg { return drawn{} })
		}
	case drawn:
		close(m.p.drawn)
	case tick:
		m.now = time.Time(msg)
		return m, tea.Batch(m.tick(), m.look())
	case looked:
		m.view.Snapshot = Snapshot(msg)
	case Event:
		m.now = msg.Time
		m.view.Apply(msg)
		if msg.Kind == Began || msg.Kind == Ended {
			return m, m.look()
		}
	case acted:
		m.view.Notice = string(msg)
		return m, m.look()
	case leave:
		m.leaving = true
	case tea.PasteMsg:
		if m.view.Typing != nil {
			m.typed += printable(msg.Content)
		}
	case tea.KeyPressMsg:
		return m, m.key(msg)
	}
	return m, nil
}

func (m *model) key(k tea.KeyPressMsg) tea.Cmd {
	if m.view.Typing != nil {
		return m.type_(k)
	}
	m.view.Notice = ""
	switch k.String() {
	case "p":
		return m.act(Pause, "")
	case "s":
		return m.act(Stop, "")
	case "S":
		return m.act(StopNow, "")
	case "k":
		return m.act(Skip, "")
	case "n", "i":
		m.typed = ""
		m.view.Typing = &m.typed
	case "t":
		m.view.List, m.view.Offset = !m.view.List, 0
	case "up", "pgup", "down", "pgdown":
		if m.view.List {
			m.view.Offset += map[string]int{"up": -1, "pgup": -maxList, "down": 1, "pgdown": maxList}[k.String()]
		}
	case "d":
		m.detail = !m.detail
		on := m.detail
		m.view.Notice = map[bool]string{true: "what the agent says and calls is shown",
			false: "what the agent says and calls is hidden"}[on]
		// Not from here: whoever writes lines may be waiting for this goroutine.
		return func() tea.Msg { m.p.o.Detail(on); return nil }
	case "?", "h":
		m.view.Help = !m.view.Help
	case "esc":
		m.view.Help, m.view.List = false, false
	case "q":
		m.leaving = true
		go m.p.Close()
	case "ctrl+c":
		return m.act(Interrupt, "")
	}
	return nil
}

// type_ takes a key of the line being typed.
func (m *model) type_(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		text := strings.TrimSpace(m.typed)
		m.view.Typing = nil
		if text != "" {
			return m.act(Note, text)
		}
	case "esc":
		m.view.Typing = nil
	case "ctrl+c":
		m.view.Typing = nil
		return m.act(Interrupt, "")
	case "backspace":
		if r := []rune(m.typed); len(r) > 0 {
			m.typed = string(r[:len(r)-1])
		}
	default:
		m.typed += printable(k.Text)
	}
	return nil
}

// printable is text without control characters.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
}

// View implements tea.Model.
func (m *model) View() tea.View {
	if m.leaving {
		return tea.NewView("")
	}
	width, height := m.width, m.height
	if width <= 0 || height <= 0 {
		width, height = 80, 24 // a terminal that does not know its size
	}
	return tea.NewView(strings.Join(m.view.Lines(width, height-1, m.now, m.p.o.Palette), "\n"))
}

// Columns is how wide a terminal is; 0 when it does not say.
func Columns(f *os.File) int {
	n, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return n
}
