package companion

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"evbench/failover"
	"evbench/plan"
	"evbench/routing"
	"evbench/topology"
)

// A Router changes the switches of a target from the routes of one plan to those of the next such
// that no path of either is ever missing, and gives first aid when links fail.
//
// It remembers the routes it has read back, so that first aid writes without reading first. It
// reads first after an error, and if asked for the dead links that it has handled already: then a
// link may have been down too briefly for a report, and the kernel has deleted routes.
//
// Aid, Install and Clean are called one at a time, in parallel with Watch. Routes of servers are
// not touched.
type Router struct {
	target Target
	rule   rule
	have   *held // routes of the switches; nil: not known

	mu   sync.Mutex
	next *precomputed  // from have
	news chan struct{} // holds a token when next has changed
}

type held struct {
	tree   *topology.Tree
	routes Routes
}

// A rule gives the routes of the switches for any dead links.
type rule struct {
	plan   *plan.Plan // installed last
	engine string     // for other dead links than the plan's
	known  routing.Engines
	addr   Addresses
}

func (u rule) routes(t *topology.Tree) (Routes, error) {
	if sameDead(t, u.plan.Tree) {
		return routesAround(u.plan, u.addr)
	}
	tables, err := plan.Tables(u.known, t, u.engine)
	if err != nil {
		return nil, fmt.Errorf("re-route: %w", err)
	}
	return routesAround(&plan.Plan{Tree: t, Routing: u.engine, Tables: tables}, u.addr)
}

// NewRouter returns the router of a target with the routes of p installed. engine is the routing
// that repairs tables: minhop, spread, or one of x. NewRouter does not touch the target: the first call of Aid,
// Install or Clean installs missing routes, so callers begin with an Install of p.
func NewRouter(target Target, a Addresses, p *plan.Plan, engine string, x routing.Engines) (*Router, error) {
	if p.Tables == nil {
		return nil, fmt.Errorf("plan with routing %q: it has no tables to install", p.Routing)
	}
	r := &Router{target: target, rule: rule{p, engine, x, a}, news: make(chan struct{}, 1)}
	if _, err := plan.Tables(x, p.Tree, engine); err != nil {
		return nil, err // the engine is not for this tree
	}
	return r, nil
}

// Watch implements loop.Network. In parallel it computes the routes for each link that may fail or
// come back next.
func (r *Router) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	g, inner := errgroup.WithContext(ctx)
	g.Go(func() error { return r.target.Watch(inner, events) })
	g.Go(func() error { return r.precompute(inner) })
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// Aid implements loop.Network. For the dead links of the plan installed last the tables are those
// of that plan again.
func (r *Router) Aid(ctx context.Context, t *topology.Tree) (changed int, err error) {
	if r.have == nil || sameDead(t, r.have.tree) {
		return r.restore(ctx, t)
	}
	edits, ok := r.next.lookup(&t.Live)
	if !ok {
		want, err := r.rule.routes(t)
		if err != nil {
			return 0, err
		}
		edits = transition(t.Shape, r.have.routes, want)
	}
	return r.bring(ctx, held{t, edits.apply(r.have.routes)}, edits, edits.nodes())
}

// restore changes the switches from any state to the routes for t.
func (r *Router) restore(ctx context.Context, t *topology.Tree) (changed int, err error) {
	want, err := r.rule.routes(t)
	if err != nil {
		return 0, err
	}
	r.have = nil
	return r.repair(ctx, held{t, want})
}

// Install implements loop.Network. The routes that it installs also carry the messages of the plan
// before, those over dead links on detours. After an error Aid still returns to the plan before.
func (r *Router) Install(ctx context.Context, p *plan.Plan) (changed int, err error) {
	want, err := routesAround(p, r.rule.addr)
	if err != nil {
		return 0, err
	}
	before := r.rule
	r.rule.plan = p
	if r.have == nil {
		changed, err = r.repair(ctx, held{p.Tree, want})
	} else {
		edits := transition(p.Tree.Shape, r.have.routes, want)
		changed, err = r.bring(ctx, held{p.Tree, want}, edits, want.nodes())
	}
	if err != nil {
		r.rule = before
	}
	return changed, err
}

// Clean implements loop.Network. Standby routes, and detours around the dead links of the plan,
// belong to its routes: connections wait on those paths.
func (r *Router) Clean(ctx context.Context, p *plan.Plan) (changed int, err error) {
	r.rule.plan = p
	return r.restore(ctx, p.Tree)
}

// bring makes edits and reads back some nodes. If they differ from want, the remembered state was
// wrong, and all are read and repaired.
func (r *Router) bring(ctx context.Context, want held, edits changes, nodes []Node) (changed int, err error) {
	r.have = nil
	if changed, err = r.write(ctx, edits); err != nil {
		return changed, err
	}
	got, err := r.target.Read(ctx, nodes)
	if err != nil {
		return changed, fmt.Errorf("read routes back: %w", err)
	}
	if len(compare(got, want.routes.of(nodes))) > 0 {
		more, err := r.repair(ctx, want)
		return changed + more, err
	}
	r.holds(want)
	return changed, nil
}

// repair reads all switches and corrects differences, in order; then the rest, such as foreign
// routes.
func (r *Router) repair(ctx context.Context, want held) (changed int, err error) {
	have, err := r.target.Read(ctx, want.routes.nodes())
	if err != nil {
		return 0, fmt.Errorf("read routes: %w", err)
	}
	if changed, err = r.write(ctx, transition(want.tree.Shape, have, want.routes)); err != nil {
		return changed, err
	}
	more, err := install(ctx, r.target, &want.tree.Live, want.routes)
	if err != nil {
		return changed + more, err
	}
	r.holds(want)
	return changed + more, nil
}

func (r *Router) write(ctx context.Context, edits changes) (changed int, err error) {
	for _, stage := range edits {
		n, err := r.target.Write(ctx, stage)
		changed += n
		if err != nil {
			return changed, fmt.Errorf("write routes: %w", err)
		}
	}
	return changed, nil
}

// holds records the routes of the switches, and starts computing ahead from there.
func (r *Router) holds(now held) {
	r.have = &now
	r.mu.Lock()
	r.next = &precomputed{rule: r.rule, from: now, edits: map[string]changes{}}
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

func sameDead(a, b *topology.Tree) bool { return slices.Equal(a.Dead(), b.Dead()) }
