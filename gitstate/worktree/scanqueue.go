package worktree

import (
	"sync"
	"sync/atomic"

	"git-ralph/gitstate/ignore"
)

// task is one folder to look at.
type task struct {
	path, name string
	base       *node         // what is known; nil = nothing
	rules      *ignore.Rules // in force in the parent
	old        *ignore.Rules // the same at the checkpoint, for captures
	keepAll    bool          // below a captured ignored folder
	untracked  bool          // the index has nothing in here
	relist     bool          // an ignore file above has changed
	shut       atomic.Int32  // is this folder ignored: 0 not known, 1 no, 2 yes

	parent  *task
	slot    int
	out     *node
	nested  *extra // it is another repository
	subs    []*node
	subTask []*task
	pending atomic.Int32
	own     bool // the files of base may be overwritten
	taken   bool // out has taken over the files of base, which are not what they were
	changed bool // and these have another tree
	same    bool // out may be replaced by base when the folders below are the same too
}

// queue hands out the newest task first, which keeps the number of open tasks
// near the depth of the tree.
type queue struct {
	mu     sync.Mutex
	cond   sync.Cond
	stack  []*task
	active int
}

func (q *queue) push(t ...*task) {
	q.mu.Lock()
	q.stack = append(q.stack, t...)
	q.mu.Unlock()
	if len(t) > 1 {
		q.cond.Broadcast()
	} else {
		q.cond.Signal()
	}
}

func (q *queue) run(workers int, f func(*task)) {
	q.cond.L = &q.mu
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			q.mu.Lock()
			for {
				for len(q.stack) == 0 && q.active > 0 {
					q.cond.Wait()
				}
				if len(q.stack) == 0 {
					q.mu.Unlock()
					q.cond.Broadcast()
					return
				}
				t := q.stack[len(q.stack)-1]
				q.stack = q.stack[:len(q.stack)-1]
				q.active++
				q.mu.Unlock()
				f(t)
				q.mu.Lock()
				q.active--
			}
		})
	}
	wg.Wait()
}
