package companion

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"evbench/failover"
	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A routed is a router on a fabric in memory that holds the routes of a plan.
type routed struct {
	*fabric
	*Router
	plan *plan.Plan
}

func newRouted(t *testing.T, engine string) routed {
	t.Helper()
	f := &fabric{tables: map[Node][]Route{}, events: make(chan failover.LinkEvent)}
	p := newPlan(t, topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3}), routing.Ftree)
	r := expect.Value(NewRouter(f, addresses{p.Tree}, p, engine, nil))(t)
	n, err := r.Install(t.Context(), p)
	expect.MustTrue(t, err == nil && n != 0, "install: %d routes, %v", n, err)
	return routed{f, r, p}
}

// holds checks that the fabric holds the routes of an engine around dead links.
func (r routed) holds(t *testing.T, engine string, dead ...topology.Link) {
	t.Helper()
	want := around(t, withDead(r.plan.Tree, dead), engine)
	if d := compare(r.read(want.routes.nodes()), want.routes); len(d) > 0 {
		t.Errorf("%d routes differ from %s around %v, first: %s", len(d), engine, dead, d[0].Describe(&want.tree.Live))
	}
}

func (r routed) aid(t *testing.T, dead ...topology.Link) int {
	t.Helper()
	n, err := r.Aid(t.Context(), withDead(r.plan.Tree, dead))
	expect.Must(t, err, "aid around %v", dead)
	return n
}

//gate:race
func TestRouterAid(t *testing.T) {
	r := newRouted(t, routing.Spread)
	r.holds(t, routing.Ftree)
	expect.True(t, r.aid(t, linkA) != 0, "no route had to change")
	r.holds(t, routing.Spread, linkA)
	r.aid(t, linkA, linkB)
	r.holds(t, routing.Spread, linkA, linkB)
	r.aid(t)
	r.holds(t, routing.Ftree) // the plan's own, not the engine's
	expect.Equal(t, r.aid(t), 0, "routes changed when nothing had")
}

// What it holds it knows; asked for the same dead links again, it looks.
//
//gate:race
func TestRouterRepairs(t *testing.T) {
	r := newRouted(t, routing.MinHop)
	reads := r.reads
	r.aid(t, linkA)
	n := r.reads - reads
	expect.True(t, n == 1, "read %d times for the first aid, want once: back", n)
	r.tables[1] = r.tables[1][:3]
	expect.True(t, r.aid(t, linkA) != 0, "nothing repaired")
	r.holds(t, routing.MinHop, linkA)

	r.tables[0] = nil // of a leaf that the next change touches
	r.aid(t, linkB)
	r.holds(t, routing.MinHop, linkB)
}

//gate:race
func TestRouterInstallAndClean(t *testing.T) {
	r := newRouted(t, routing.MinHop)
	r.aid(t, linkA)
	next := newPlan(t, withDead(r.plan.Tree, []topology.Link{linkA}), routing.Spread)
	expect.Must(t, expect.Err(r.Install(t.Context(), next)))
	r.holds(t, routing.Spread, linkA)
	r.tables[2] = nil
	n, err := r.Clean(t.Context(), next)
	expect.True(t, err == nil && n != 0, "clean: %d routes, %v", n, err)
	r.holds(t, routing.Spread, linkA)
	expect.Must(t, expect.Err(r.Install(t.Context(), r.plan)))
	r.holds(t, routing.Ftree)
}

// After an error nothing is certain: the next call reads before it writes.
//
//gate:race
func TestRouterAfterFailure(t *testing.T) {
	r := newRouted(t, routing.MinHop)
	r.fail = func() error {
		r.tables[0] = nil
		return errors.New("network is down")
	}
	expect.Error(t, expect.Err(r.Aid(t.Context(), withDead(r.plan.Tree, []topology.Link{linkA}))), "write routes: network is down")
	r.aid(t, linkA, linkB)
	r.holds(t, routing.MinHop, linkA, linkB)

	r.lie = func(routes Routes) { routes[0].Routes = nil }
	next := newPlan(t, withDead(r.plan.Tree, []topology.Link{linkB}), routing.Spread)
	expect.Error(t, expect.Err(r.Install(t.Context(), next)), "read back differ")
	r.lie = nil
	r.aid(t, linkB)
	r.holds(t, routing.MinHop, linkB) // nothing of the plan that could not be installed
	r.aid(t)
	r.holds(t, routing.Ftree)
}

func TestNewRouterRefuses(t *testing.T) {
	tree := topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2})
	expect.True(t, expect.Err(NewRouter(nil, addresses{tree}, &plan.Plan{Tree: tree, Routing: plan.NoRouting}, routing.MinHop, nil)) != nil,
		"no error for a plan without tables")
	expect.True(t, expect.Err(NewRouter(nil, addresses{tree}, newPlan(t, tree, routing.Ftree), "nonsense", nil)) != nil, "no error for an unknown engine")
}

// What has been worked out ahead is what would be computed, for every link.
//
//gate:race
func TestForesight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouted(t, routing.MinHop)
		r.aid(t, linkA)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Router.Watch(ctx, nil) }()
		quiet()
		all := neighbours(r.have.tree)
		expect.Equal(t, len(all), r.plan.Tree.Leaves()*r.plan.Tree.Spines(), "neighbours")
		for _, tree := range all {
			edits, ok := r.next.lookup(&tree.Live)
			expect.MustTrue(t, ok, "%v: not foreseen", tree.Dead())
			want := expect.Value(r.rule.routes(tree))(t)
			d := compare(edits.apply(r.have.routes), want)
			expect.True(t, len(d) == 0, "%v: %d differences", tree.Dead(), len(d))
		}
		r.aid(t, linkA, linkB)
		quiet()
		if _, ok := r.next.lookup(&withDead(r.plan.Tree, []topology.Link{linkB}).Live); !ok {
			t.Error("nothing foreseen after the second aid")
		}
		cancel()
		expect.OK(t, <-done)
	})
}

// Any sequence of changes ends with the routes of the last.
//
//gate:race
func TestRouterManyChanges(t *testing.T) {
	r := newRouted(t, routing.MinHop)
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		dead := drop(t, r.plan.Tree, rng.IntN(4), rng).Dead()
		r.aid(t, dead...)
		if len(dead) > 0 {
			r.holds(t, routing.MinHop, dead...)
		} else {
			r.holds(t, routing.Ftree)
		}
	}
}

func TestEditsNodes(t *testing.T) {
	e := changes{{{Node: 4, Set: make([]Route, 2)}}, {{Node: 1}, {Node: 4}}}
	expect.Equal(t, e.nodes(), []Node{1, 4}, "nodes")
}
