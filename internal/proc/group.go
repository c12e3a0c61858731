package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// EventVariable names the environment variable that marks every process of an
// iteration with the id of its event.
const EventVariable = "RALPH_EVENT_ID"

// Wrapped is what a Wrapper makes of a command.
type Wrapped struct {
	Command Command
	// Started is called once after the start was tried, with the id of the process or
	// the error. It returns when the wrapper's own set-up is done; an error of it ends
	// the process, and nothing of the command has run. nil = nothing to do.
	Started func(pid int, err error) error
	// Exit translates the end of the wrapping process into that of the
	// command; it may be called before Started has returned. nil = they are
	// the same.
	Exit func(Exit) Exit
	// Watch is asked while the command runs. It returns the name of a limit that
	// was crossed, for which the command is ended, or "" and when it wants to be
	// asked again. nil = there is nothing to watch.
	Watch func() (limit string, next time.Duration)
	// End makes the wrapping process, a Keeper, kill the command with all its
	// descendants and end. nil = its group is killed.
	End func()
	// Contained says that the wrapping process is the first one of a process
	// namespace: when it has ended, nothing of the command is left anywhere.
	Contained bool
}

// Wrapper puts a command into a sandbox. It never runs it unwrapped: what it
// cannot do is an error.
type Wrapper func(Command) (Wrapped, error)

// GroupOptions say how the processes of an iteration are run.
type GroupOptions struct {
	// EventID marks the processes, so that they are recognised wherever they
	// went and after our own crash. Required.
	EventID string
	// Wrap is applied to every command; nil = none.
	Wrap Wrapper
	// Grace is the time between TERM and KILL at Close; 0 = DefaultGrace.
	Grace time.Duration
	// Limit is how long Close tries to end what cannot be killed (a process
	// in the kernel's uninterruptible sleep); 0 = 30 seconds.
	Limit time.Duration
}

// Group is everything that one iteration starts.
type Group struct {
	opts GroupOptions

	mu     sync.Mutex
	procs  map[int]*Process // started and not ended, by pid
	sids   map[int]bool     // sessions of all that it started
	lost   atomic.Bool      // a keeper was killed: this program inherited its processes
	loose  bool             // it started something that is not contained
	closed bool
}

// NewGroup makes an empty group. From now on this program inherits orphans of
// its descendants, where the operating system allows that.
func NewGroup(opts GroupOptions) (*Group, error) {
	if opts.EventID == "" {
		return nil, errors.New("new process group: no event id")
	}
	if opts.Grace <= 0 {
		opts.Grace = DefaultGrace
	}
	if opts.Limit <= 0 {
		opts.Limit = 30 * time.Second
	}
	if err := adoptOrphans(); err != nil {
		return nil, fmt.Errorf("new process group: %w", err)
	}
	g := &Group{opts: opts, procs: map[int]*Process{}, sids: map[int]bool{}}
	openGroups.add(g)
	return g, nil
}

// Start starts cmd as a part of the group: wrapped, and marked in its
// environment. It returns when the wrapper has done its set-up.
func (g *Group) Start(ctx context.Context, cmd Command) (*Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.New("start process: the group is closed")
	}
	cmd.Env = SetEnv(cmd.Env, EventVariable, g.opts.EventID)
	w := Wrapped{Command: cmd}
	if g.opts.Wrap != nil {
		var err error
		if w, err = g.opts.Wrap(cmd); err != nil {
			return nil, fmt.Errorf("wrap %q: %w", firstOf(cmd.Argv), err)
		}
	}
	watch := &watcher{ask: w.Watch}
	p, err := start(ctx, w.Command, w.End, func(e Exit) Exit {
		if w.End != nil && e.Signal != 0 {
			g.lost.Store(true)
		}
		if w.Exit != nil {
			e = w.Exit(e)
		}
		if e.Limit == "" {
			e.Limit = watch.last()
		}
		return e
	})
	if w.Started != nil {
		pid := 0
		if err == nil {
			pid = p.Pid
		}
		if serr := w.Started(pid, err); serr != nil && err == nil {
			p.Stop(0)
			return nil, fmt.Errorf("start %q: %w", firstOf(cmd.Argv), serr)
		}
	}
	if err != nil {
		return nil, err
	}
	g.procs[p.Pid], g.sids[p.Pid] = p, true
	g.loose = g.loose || !w.Contained
	if w.Watch != nil {
		go watch.run(p)
	}
	go func() {
		<-p.Done()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.procs[p.Pid] == p {
			delete(g.procs, p.Pid)
		}
	}()
	return p, nil
}

// Run starts cmd in the group and waits for it.
func (g *Group) Run(ctx context.Context, cmd Command) (Exit, error) {
	p, err := g.Start(ctx, cmd)
	if err != nil {
		return Exit{}, err
	}
	return p.Wait()
}

// Close ends every process of the group: TERM, a time of grace, KILL, and a
// search for what is left, until there is nothing. An error names the pids
// that could not be ended within GroupOptions.Limit. It may be called again.
func (g *Group) Close() error {
	g.mu.Lock()
	g.closed = true
	loose := g.loose
	procs := make([]*Process, 0, len(g.procs))
	for _, p := range g.procs {
		procs = append(procs, p)
	}
	g.mu.Unlock()
	defer openGroups.remove(g)

	// First what was started and its process groups, each asked once; then
	// whoever left them.
	gone := make(chan struct{})
	go func() {
		var wg sync.WaitGroup
		for _, p := range procs {
			wg.Go(func() { p.Stop(g.opts.Grace) })
		}
		wg.Wait()
		close(gone)
	}()
	t := time.NewTimer(g.opts.Grace + g.opts.Limit)
	defer t.Stop()
	select {
	case <-gone:
		// The search reads every process of the machine. Without it only dead processes
		// that this program inherited by other ways would stay.
		if !loose && !anyDead() {
			return nil
		}
	case <-t.C: // the search below names them
	}
	s := &sweeper{find: g.members, grace: g.opts.Grace, limit: g.opts.Limit}
	if _, err := s.run(); err != nil {
		return fmt.Errorf("end the processes of %s: %w", g.opts.EventID, err)
	}
	return nil
}

// openGroupSet counts the groups of this program that are not closed.
type openGroupSet struct {
	mu  sync.Mutex
	set map[*Group]bool
}

var openGroups openGroupSet

func (s *openGroupSet) add(g *Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = map[*Group]bool{}
	}
	s.set[g] = true
}

func (s *openGroupSet) remove(g *Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.set, g)
}

func (s *openGroupSet) only(g *Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.set) == 0 || len(s.set) == 1 && s.set[g]
}

// entry is one line of the process table.
type entry struct {
	pid, ppid, pgid, sid int
	name                 string // the kernel's, of 15 bytes at most; "" where the system does not say it
	zombie               bool
	gone                 bool   // it ended before more than its pid was read
	start                uint64 // in the kernel's unit; together with pid it names a process until the next boot
}

// members finds the group's processes in a table. A process belongs to it when
// it carries the group's mark, descends from one of its processes, or is an
// orphan that this program inherited and that stems from the group's sessions.
// An orphan without mark and with its own session belongs to it when no other
// group could have lost it, or when one of our keepers was killed. It cannot
// be a child that somebody waits for: those share our session or are
// registered.
func (g *Group) members(t []entry, own map[int]bool) []entry {
	g.mu.Lock()
	roots, sids := map[int]bool{}, map[int]bool{}
	for pid := range g.procs {
		roots[pid] = true
	}
	for sid := range g.sids {
		sids[sid] = true
	}
	g.mu.Unlock()
	return findMembers(t, query{
		self: os.Getpid(), own: own, roots: roots, sids: sids,
		alone: g.lost.Load() || openGroups.only(g), young: true,
		marked: func(e entry) bool {
			return hasEnv(e.pid, EventVariable+"="+g.opts.EventID)
		},
	})
}

type query struct {
	self   int
	own    map[int]bool // children that this program waits for
	roots  map[int]bool // those of them that belong to the group
	sids   map[int]bool
	alone  bool // every stray orphan is the group's
	young  bool // processes older than this program cannot carry the mark: skip them
	marked func(entry) bool
}

// findMembers is the rule of Group.members, free of the system. It never
// returns this program or one of its ancestors.
func findMembers(t []entry, q query) []entry {
	byPid := make(map[int]entry, len(t))
	for _, e := range t {
		byPid[e.pid] = e
	}
	mySid := byPid[q.self].sid
	var begin uint64
	if q.young {
		begin = byPid[q.self].start
	}
	safe := map[int]bool{0: true, 1: true}
	for pid := q.self; pid > 1 && !safe[pid]; pid = byPid[pid].ppid {
		safe[pid] = true
	}
	verdict := map[int]bool{}
	var member func(e entry, depth int) bool
	member = func(e entry, depth int) bool {
		if safe[e.pid] || depth > len(t) {
			return false
		}
		if v, ok := verdict[e.pid]; ok {
			return v
		}
		verdict[e.pid] = false // ends a cycle of a table read while it changed
		v := false
		switch {
		case q.own[e.pid]:
			v = q.roots[e.pid]
		case e.start >= begin && q.marked(e):
			v = true
		case e.ppid == q.self:
			v = e.sid != mySid && (q.sids[e.sid] || q.alone)
		default:
			if parent, ok := byPid[e.ppid]; ok {
				v = member(parent, depth+1)
			}
		}
		verdict[e.pid] = v
		return v
	}
	var out []entry
	for _, e := range t {
		if member(e, 0) {
			out = append(out, e)
		}
	}
	return out
}

// SweepEvent ends every process that carries the mark of an event, as after a
// loop that was killed, and returns the pids it ended. This program and its
// ancestors are never touched.
func SweepEvent(eventID string) (killed []int, err error) {
	if eventID == "" {
		return nil, errors.New("end the processes of an event: no event id")
	}
	s := &sweeper{grace: DefaultGrace, limit: 30 * time.Second, find: markedOnly(eventID), strangers: true}
	killed, err = s.run()
	if err != nil {
		return killed, fmt.Errorf("end the processes of %s: %w", eventID, err)
	}
	return killed, nil
}

// markedOnly finds what carries the mark of an event, and its descendants.
func markedOnly(eventID string) func([]entry, map[int]bool) []entry {
	return func(t []entry, _ map[int]bool) []entry {
		return findMembers(t, query{self: os.Getpid(), marked: func(e entry) bool {
			return hasEnv(e.pid, EventVariable+"="+eventID)
		}})
	}
}

// sweeper ends the processes that find names, and those they start meanwhile.
type sweeper struct {
	find         func(t []entry, own map[int]bool) []entry
	grace, limit time.Duration
	// strangers says that the dead among what it looks for may be reaped by others.
	strangers bool
}

// unsettledLooks is how often in a row a look that finds nobody alive is
// repeated because somebody died during it.
const unsettledLooks = 20

// run asks all to end, waits, and then stops, kills and reaps until a look at
// the table finds none. It returns the pids that it had to end.
func (s *sweeper) run() (ended []int, err error) {
	begin := time.Now()
	seen := map[int]uint64{} // start time of each process met, by pid
	note := func(e entry) (fresh bool) {
		if start, ok := seen[e.pid]; ok && start == e.start {
			return false
		}
		seen[e.pid] = e.start
		ended = append(ended, e.pid)
		return true
	}
	unsettled := 0
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		found, settled, err := s.look()
		if err != nil {
			return ended, err
		}
		if len(found) == 0 {
			if unsettled++; settled || unsettled > unsettledLooks {
				return ended, nil
			}
			continue
		}
		unsettled = 0
		waited := time.Since(begin)
		if waited > s.grace+s.limit {
			return ended, fmt.Errorf("still there after %s: pids %v", waited.Round(time.Second), pids(found))
		}
		if waited < s.grace {
			for _, e := range found {
				if note(e) {
					signalEntry(e, syscall.SIGTERM)
				}
			}
		} else if err := s.kill(found, note); err != nil {
			return ended, err
		}
		time.Sleep(pause)
	}
}

// kill stops what it finds until nothing new appears, then kills it. Stopping
// first lets the search catch up with programs that fork faster than one can
// kill them.
func (s *sweeper) kill(found []entry, note func(entry) bool) error {
	const rounds = 50 // run calls again for what a fork bomb still made
	for range rounds {
		fresh := false
		for _, e := range found {
			fresh = note(e) || fresh
			signalEntry(e, stopSignal)
		}
		more, _, err := s.look()
		if err != nil {
			return err
		}
		known := len(more) <= len(found)
		found = more
		if !fresh && known {
			break
		}
	}
	for _, e := range found {
		signalEntry(e, syscall.SIGKILL)
	}
	return nil
}

// look takes a snapshot, reaps the dead that nobody else waits for, and returns
// the living. A table is not read in one moment: a process younger than the
// list of names is missing. Its parent was alive when the list was made, so it
// is in the table: alive, or dead when it was read. So a look that finds nobody
// is settled only if none of the dead in it can be one that is looked for.
func (s *sweeper) look() (alive []entry, settled bool, err error) {
	t, own, err := children.snapshot()
	if err != nil {
		return nil, false, fmt.Errorf("read the process table: %w", err)
	}
	settled = !reapOrphans(t, own)
	for _, e := range s.find(t, own) {
		if e.zombie {
			settled = false
		} else {
			alive = append(alive, e)
		}
	}
	for _, e := range t {
		if e.gone && s.strangers {
			settled = false
		}
	}
	return alive, settled, nil
}

// reapOrphans takes the status of dead children that this program inherited,
// so that they do not stay as zombies for as long as it runs. They are told
// from children that somebody waits for as in findMembers. It reports whether
// there were any.
func reapOrphans(t []entry, own map[int]bool) (some bool) {
	self := os.Getpid()
	var sid int
	for _, e := range t {
		if e.pid == self {
			sid = e.sid
		}
	}
	for _, e := range t {
		if e.zombie && e.ppid == self && e.sid != sid && !own[e.pid] {
			reapEntry(e)
			some = true
		}
	}
	return some
}

func pids(list []entry) []int {
	out := make([]int, len(list))
	for i, e := range list {
		out[i] = e.pid
	}
	slices.Sort(out)
	return out
}

func firstOf(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	return argv[0]
}
