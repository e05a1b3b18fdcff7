package companion

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// fabric is a Target in memory, on which a test plays the kernel.
type fabric struct {
	tables map[Node][]Route
	events chan LinkEvent
	reads  int
	fail   func() error // of the next Apply
	lie    func(Routes) // changes what Read returns
	broken error        // of Watch
}

func (f *fabric) Apply(_ context.Context, want Routes) (changed int, err error) {
	if f.fail != nil {
		err, f.fail = f.fail(), nil
		if err != nil {
			return 0, err
		}
	}
	changed = len(Diff(f.read(want.Nodes()), want))
	for _, t := range want {
		f.tables[t.Node] = t.Routes
	}
	return changed, nil
}

func (f *fabric) read(nodes []Node) Routes {
	var out Routes
	for _, n := range nodes {
		out = append(out, Table{n, slices.Clone(f.tables[n])})
	}
	slices.SortFunc(out, func(a, b Table) int { return cmp.Compare(a.Node, b.Node) })
	return out
}

func (f *fabric) Read(_ context.Context, nodes []Node) (Routes, error) {
	f.reads++
	out := f.read(nodes)
	if f.lie != nil {
		f.lie(out)
	}
	return out, nil
}

func (f *fabric) Watch(ctx context.Context, events chan<- LinkEvent) error {
	if f.broken != nil {
		return f.broken
	}
	for {
		select {
		case e := <-f.events:
			events <- e
		case <-ctx.Done():
			return nil
		}
	}
}

// set plays what both ends of a link say.
func (f *fabric) set(l topology.Link, up bool) {
	f.events <- LinkEvent{Link: l, Leaf: true, Up: up, Seen: time.Now()}
	f.events <- LinkEvent{Link: l, Leaf: false, Up: up, Seen: time.Now()}
}

// A stage is Follow under way on a fabric.
type stage struct {
	*fabric
	plan    *plan.Plan
	changes chan Change
	routed  int // calls of Reroute
	refuse  error
}

// play runs a test on a stage with virtual time, in which leaks are errors.
func play(t *testing.T, test func(t *testing.T, s *stage)) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{fabric: &fabric{tables: map[Node][]Route{}, events: make(chan LinkEvent)}, changes: make(chan Change, 10)}
		s.plan = newPlan(t, topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3}), routing.MinHop)
		a := addresses{s.plan.Tree}
		if n, err := Install(t.Context(), s.fabric, s.plan, a); err != nil || n == 0 {
			t.Fatalf("install: %d routes, %v", n, err)
		}
		f := Following{Plan: s.plan, Addresses: a, Reroute: func(tree *topology.Tree) (*plan.Plan, error) {
			s.routed++
			return newPlan(t, tree, routing.MinHop), s.refuse
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- Follow(ctx, s.fabric, f, s.changes) }()
		test(t, s)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Follow: %v", err)
		}
	})
}

// quiet lets virtual time pass, longer than any wait of Follow, and waits until
// every goroutine does.
func quiet() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// expect waits until everything is quiet and checks the changes since the last
// call, written as "-leaf0-spine1 +leaf1-spine0 !" (down, up, error).
func (s *stage) expect(t *testing.T, want ...string) {
	t.Helper()
	quiet()
	var got []string
	for len(s.changes) > 0 {
		c := <-s.changes
		var parts []string
		for _, l := range c.Down {
			parts = append(parts, "-"+l.String())
		}
		for _, l := range c.Up {
			parts = append(parts, "+"+l.String())
		}
		if c.Err != nil {
			parts = append(parts, "!")
		}
		got = append(got, strings.Join(parts, " "))
		if c.Seen.IsZero() || c.Done.Before(c.Seen) {
			t.Errorf("seen %s, done %s", c.Seen, c.Done)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes %q, want %q", got, want)
	}
}

// holds checks that the switches hold the routes for a set of dead links.
func (s *stage) holds(t *testing.T, down ...topology.Link) {
	t.Helper()
	tree := topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3}, down...)
	want := compute(t, newPlan(t, tree, routing.MinHop)).Switches(tree)
	if d := Diff(s.read(want.Nodes()), want); len(d) > 0 {
		t.Errorf("%d routes differ from those for dead links %v, first: %s", len(d), down, d[0].Describe(tree))
	}
}

var (
	linkA = topology.Link{Leaf: 0, Spine: 1}
	linkB = topology.Link{Leaf: 1, Spine: 0}
)

func TestFollowOneChangePerDeadSet(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.set(linkA, false)
		s.expect(t, "-leaf0-spine1")
		s.holds(t, linkA)
		s.set(linkB, false)
		s.expect(t, "-leaf1-spine0")
		s.holds(t, linkA, linkB)
		s.set(linkA, true)
		s.expect(t, "+leaf0-spine1")
		s.holds(t, linkB)
		if s.routed != 3 {
			t.Errorf("re-routed %d times for 3 dead sets", s.routed)
		}
	})
}

// The first states that a Watch reports are those of the plan: nothing to do.
func TestFollowIgnoresWhatItKnows(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		before := s.reads
		s.set(linkA, true)
		s.set(linkB, true)
		s.expect(t)
		if s.reads != before {
			t.Errorf("read routes %d times for no news", s.reads-before)
		}
	})
}

// A link that was down so shortly that both events wait together has cost its
// leaf the routes all the same.
func TestFollowRepairsAfterFlap(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		leaf := s.tables[0]
		s.fail = func() error { // the kernel's part, while the first event is handled
			s.tables[0] = leaf[:2]
			return nil
		}
		s.set(linkA, false)
		s.set(linkA, true)
		quiet()
		s.holds(t)
	})
}

func TestFollowAfterLostEvents(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tables[0] = nil
		s.events <- LinkEvent{Link: linkA, Leaf: true, Up: true, Seen: time.Now(), Reread: true}
		s.expect(t)
		s.holds(t)
	})
}

// Routes cannot be installed while a link changes; its event is on the way.
func TestFollowTriesAgainOnNews(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.fail = func() error {
			go s.set(linkB, false)
			return errors.New("network is down")
		}
		s.events <- LinkEvent{Link: linkA, Leaf: true, Seen: time.Now()}
		s.expect(t, "-leaf0-spine1 -leaf1-spine0")
		s.holds(t, linkA, linkB)
	})
}

func TestFollowReportsFailures(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.refuse = errors.New("no path")
		s.set(linkA, false)
		s.expect(t, "-leaf0-spine1 !")
		s.holds(t)
		s.refuse = nil
		s.set(linkB, false)
		s.expect(t, "-leaf1-spine0")
		s.holds(t, linkA, linkB)

		s.lie = func(r Routes) { r[0].Routes = r[0].Routes[1:] }
		s.set(linkB, true)
		s.expect(t, "+leaf1-spine0 !")
		s.lie = nil
		s.set(linkB, false)
		s.set(linkB, true)
		quiet()
		s.holds(t, linkA)
	})
}

func TestFollowEndsWithWatch(t *testing.T) {
	p := newPlan(t, topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2}), routing.MinHop)
	broken := errors.New("socket closed")
	err := Follow(t.Context(), &fabric{broken: broken}, Following{Plan: p, Addresses: addresses{p.Tree}}, nil)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestInstallComparesWhatItReads(t *testing.T) {
	p := newPlan(t, topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2}), routing.MinHop)
	f := &fabric{tables: map[Node][]Route{}, lie: func(r Routes) { r[3].Routes = nil }}
	_, err := Install(t.Context(), f, p, addresses{p.Tree})
	if err == nil || !strings.Contains(err.Error(), "routes read back differ in 4 places, first spine1: 10.1.0.0/24 via leaf0 is missing") {
		t.Errorf("error %v, want the first difference", err)
	}
}
