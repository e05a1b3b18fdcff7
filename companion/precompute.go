package companion

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"evbench/internal/lists"
	"evbench/topology"
)

// precomputed holds the edits for the dead links that may come next: one link more, or one less.
type precomputed struct {
	rule rule
	from held

	mu    sync.Mutex
	edits map[string]changes // by dead links
}

func (f *precomputed) lookup(t *topology.Live) (changes, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.edits[deadKey(t)]
	return e, ok
}

// work fills f until it is complete or stop returns true. It skips a set of dead links that cannot
// be routed; a caller that needs it gets the error.
func (f *precomputed) work(stop func() bool) {
	for _, t := range neighbours(f.from.tree) {
		if stop() {
			return
		}
		want, err := f.rule.routes(t)
		if err != nil {
			continue
		}
		e := transition(t.Shape, f.from.routes, want)
		f.mu.Lock()
		f.edits[deadKey(&t.Live)] = e
		f.mu.Unlock()
	}
}

// neighbours returns the trees with one dead link less than t, and with one more.
func neighbours(t *topology.Tree) []*topology.Tree {
	out := lists.Map(t.Dead(), func(l topology.Link) *topology.Tree {
		return withDead(t, topology.Minus(t.Dead(), []topology.Link{l}))
	})
	for id := range t.AllLinks() {
		if l := t.LinkOf(id); t.LinkAlive(l) {
			out = append(out, withDead(t, append(t.Dead(), l)))
		}
	}
	return out
}

func withDead(t *topology.Tree, dead []topology.Link) *topology.Tree {
	out, err := t.Healthy().Without(dead...)
	if err != nil {
		panic(err)
	}
	return out
}

func deadKey(t *topology.Live) string {
	var key []byte
	for _, l := range t.Dead() {
		key = binary.AppendUvarint(key, uint64(t.LinkID(l)))
	}
	return string(key)
}

// calm is how long the switches must have held the same routes before those for the next change are
// computed. Until then cores are for planning and for the backlog of the servers.
const calm = 100 * time.Millisecond

// precompute computes ahead from every state of the switches, until ctx ends.
func (r *Router) precompute(ctx context.Context) error {
	timer := time.NewTimer(calm)
	defer timer.Stop()
	for {
		select {
		case <-r.news:
			timer.Reset(calm)
		case <-timer.C:
			r.mu.Lock()
			next := r.next
			r.mu.Unlock()
			if next != nil {
				next.work(func() bool { return ctx.Err() != nil || len(r.news) > 0 })
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
