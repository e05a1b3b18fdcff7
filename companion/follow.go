package companion

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/plan"
	"evbench/topology"
)

// Install puts the routes of a plan in place, reads them back and compares. It
// returns how many routes it has changed; the first difference is an error.
func Install(ctx context.Context, target Target, p *plan.Plan, a Addresses) (changed int, err error) {
	want, err := Compute(p, a)
	if err != nil {
		return 0, err
	}
	return install(ctx, target, p.Tree, want)
}

func install(ctx context.Context, target Target, t *topology.Tree, want Routes) (int, error) {
	changed, err := target.Apply(ctx, want)
	if err != nil {
		return changed, fmt.Errorf("install routes: %w", err)
	}
	have, err := target.Read(ctx, want.Nodes())
	if err != nil {
		return changed, fmt.Errorf("read routes back: %w", err)
	}
	if diff := Diff(have, want); len(diff) > 0 {
		return changed, fmt.Errorf("routes read back differ in %d places, first %s", len(diff), diff[0].Describe(t))
	}
	return changed, nil
}

// Following is what Follow needs to know.
type Following struct {
	// Plan is what is installed when Follow starts. Links dead in its tree are
	// taken to be down.
	Plan      *plan.Plan
	Addresses Addresses
	// Reroute computes the plan for a tree whose dead links have changed.
	Reroute func(t *topology.Tree) (*plan.Plan, error)
}

// A Change reports what was done about links that changed.
type Change struct {
	Down, Up []topology.Link // that died, that came back; by leaf and then spine
	Seen     time.Time       // when the first event of the change had been read
	Done     time.Time       // when the new routes were in place and read back
	Changed  int             // routes written or deleted
	Err      error           // the routes are not in place
}

// Follow watches the links of a target until ctx ends. After every event that
// changes the state of a link's end it computes the routes of the new dead set
// and brings all switches to the whole of it, never by deltas: the kernel
// deletes a node's routes over its own interface when that goes down, keeps
// those over a lost carrier, and restores neither. A server's routes do not
// depend on leaf-spine links.
//
// Events that wait already are handled together. A Change is sent once for each
// new dead set, though both ends of a link report it. Repairs for the same dead
// set (the kernel revives hops of shared routes when one end is up, or a link
// was down for less than a re-routing) are made without one. A failed re-routing
// is a Change with Err; the next event tries again. Follow returns when ctx has
// ended and nothing of it runs any more; the error is nil unless the watching
// itself failed.
func Follow(ctx context.Context, target Target, f Following, out chan<- Change) error {
	w, err := newFollower(f, target)
	if err != nil {
		return err
	}
	// Room for both ends of every link, so that what comes together is found
	// together.
	events := make(chan LinkEvent, 2*len(w.ends))
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return target.Watch(inner, events) })
	g.Go(func() error { return w.run(inner, events, out) })
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// grace is how long a failed attempt waits for an event that explains it. A
// link that changes while routes are written makes the kernel refuse or lose
// some; its event is then on the way already.
const grace = 100 * time.Millisecond

// A follower keeps the state of both ends of every link. It is a plain machine
// apart from the calls to its target.
type follower struct {
	Following
	target   Target
	ends     [][2]bool      // [link ID][spine's, leaf's]: down
	reported *topology.Tree // the links as the last Change left them
	tree     *topology.Tree // what want is for
	want     Routes         // of the switches; nil: computing them failed
	failed   bool           // the last attempt
}

func newFollower(f Following, target Target) (*follower, error) {
	t := f.Plan.Tree
	all, err := Compute(f.Plan, f.Addresses)
	if err != nil {
		return nil, err
	}
	w := &follower{Following: f, target: target, reported: t, tree: t, want: all.Switches(t)}
	w.ends = make([][2]bool, t.Leaves()*t.Spines())
	for _, l := range t.Dead() {
		w.ends[t.LinkID(l)] = [2]bool{true, true}
	}
	return w, nil
}

func (w *follower) run(ctx context.Context, events <-chan LinkEvent, out chan<- Change) error {
	for {
		var first LinkEvent
		select {
		case first = <-events:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !w.take(first, events) {
			continue
		}
		c := w.settle(ctx, first.Seen, events)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !w.report(&c) {
			continue
		}
		select {
		case out <- c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take notes an event and all that wait, and reports whether routes may have
// to change.
func (w *follower) take(e LinkEvent, events <-chan LinkEvent) bool {
	news := w.note(e)
	for {
		select {
		case e = <-events:
			news = w.note(e) || news
		default:
			return news
		}
	}
}

// note records what one end says, and reports whether it is news. After lost
// events nothing is certain, so that counts as news too.
func (w *follower) note(e LinkEvent) bool {
	end := &w.ends[w.reported.LinkID(e.Link)][side(e.Leaf)]
	news := *end == e.Up || e.Reread
	*end = !e.Up
	return news
}

func side(leaf bool) int {
	if leaf {
		return 1
	}
	return 0
}

// settle brings the switches to the present dead set, again for as long as it
// fails and further events explain that.
func (w *follower) settle(ctx context.Context, seen time.Time, events <-chan LinkEvent) Change {
	c := Change{Seen: seen}
	for {
		w.resync(ctx, &c)
		if c.Err == nil || !w.more(ctx, events) {
			return c
		}
	}
}

// more waits for news until grace or ctx ends.
func (w *follower) more(ctx context.Context, events <-chan LinkEvent) bool {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		select {
		case e := <-events:
			if w.take(e, events) {
				return true
			}
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// resync makes one attempt.
func (w *follower) resync(ctx context.Context, c *Change) {
	c.Err = nil
	if t := w.present(); w.want == nil || !slices.Equal(t.Dead(), w.tree.Dead()) {
		w.tree = t
		w.want, c.Err = w.compute(t)
	}
	if c.Err == nil {
		var n int
		n, c.Err = install(ctx, w.target, w.tree, w.want)
		c.Changed += n
	}
	c.Done = time.Now()
}

// present returns the tree as the links are now. A link is dead when either end
// says so.
func (w *follower) present() *topology.Tree {
	var dead []topology.Link
	for id, e := range w.ends {
		if e[0] || e[1] {
			dead = append(dead, topology.Link{Leaf: id / w.reported.Spines(), Spine: id % w.reported.Spines()})
		}
	}
	t, err := w.reported.Healthy().Without(dead...)
	if err != nil {
		panic(err) // these links are the tree's own
	}
	return t
}

func (w *follower) compute(t *topology.Tree) (Routes, error) {
	p, err := w.Reroute(t)
	if err != nil {
		return nil, fmt.Errorf("re-route: %w", err)
	}
	all, err := Compute(p, w.Addresses)
	if err != nil {
		return nil, err
	}
	return all.Switches(t), nil
}

// report fills in which links changed since the last Change, and reports
// whether there is anything to tell.
func (w *follower) report(c *Change) bool {
	c.Down = without(w.tree.Dead(), w.reported.Dead())
	c.Up = without(w.reported.Dead(), w.tree.Dead())
	worth := len(c.Down)+len(c.Up) > 0 || c.Err != nil || w.failed
	w.reported, w.failed = w.tree, c.Err != nil
	return worth
}

func without(links, remove []topology.Link) []topology.Link {
	var out []topology.Link
	for _, l := range links {
		if !slices.Contains(remove, l) {
			out = append(out, l)
		}
	}
	return out
}
