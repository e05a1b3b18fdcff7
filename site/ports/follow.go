package ports

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"evbench/bench"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/plan"
	"evbench/scenario"
	"evbench/topology"
)

// following is the network of a case whose plan of ports changes when its ways move.
type following struct {
	loop.Network // of a lab, where the run sets links and routes, or others
	w            *Ways
	a            bench.Asked
	c            scenario.Case
	build        func(*topology.Tree) (*plan.Plan, error)

	mu    sync.Mutex // guards what follows; a plan is made within it
	avoid [][]int    // ports of connections, by host: those of plans before stay open
	over  *over      // of the plan made last
	told  bool       // its ways have moved, and Watch has said so
}

// Follow implements bench.Ways.
func (w *Ways) Follow(a bench.Asked, c scenario.Case, p *plan.Plan, build func(*topology.Tree) (*plan.Plan, error), under loop.Network) loop.Network {
	f := &following{Network: under, w: w, a: a, c: c, build: build}
	if under == nil {
		f.Network = others{f}
	}
	f.take(p)
	return f
}

// take notes a plan whose connections are opened; mu is held, or nobody else knows f.
func (f *following) take(p *plan.Plan) {
	f.over, f.told = p.Over.(*over), false
	x := f.over.net.x
	if f.avoid == nil {
		f.avoid = make([][]int, x.Hosts)
	}
	x.Each(func(src, dst int) {
		if port := f.over.plan.port(src*x.Hosts + dst); port != None {
			f.avoid[src] = append(f.avoid[src], port)
		}
	})
}

// Plan implements loop.Planner. Answers of old and of new routes make no plan: the machine asks again.
func (f *following) Plan(ctx context.Context, t *topology.Tree) (loop.Made, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	began := time.Now()
	p, err := f.plan(ctx, t)
	if err != nil {
		f.told = false // so that Watch says it again
		return loop.Made{}, err
	}
	f.take(p)
	took := time.Since(began)
	err = p.Judge()
	return loop.Made{Plan: p, Source: failover.Computed, Took: took, Judged: time.Since(began) - took}, err
}

func (f *following) plan(ctx context.Context, t *topology.Tree) (*plan.Plan, error) {
	base, err := f.build(t)
	if err != nil {
		return nil, err
	}
	n, err := f.w.of(ctx, f.a, t, f.avoid)
	if err != nil {
		return nil, err
	}
	return f.w.plan(n, f.c, base)
}

// The pause between two looks at the ways, of which each asks one question a link: shorter where switches answer a survey fast.
const (
	lookSoon, lookAgain = 100 * time.Millisecond, 250 * time.Millisecond
	gapsApart           = 50
)

// others set the links and routes of a network: a plan of ports needs none of them changed.
type others struct{ *following }

func (others) Aid(context.Context, *topology.Tree) (changed int, err error) { return 0, nil }
func (others) Install(context.Context, *plan.Plan) (changed int, err error) { return 0, nil }
func (others) Clean(context.Context, *plan.Plan) (changed int, err error)   { return 0, nil }

// Watch implements loop.Network. The ways of connections cannot be asked for while these are open, so it asks about ports
// that the plan has left: for each link one, another at each look. What moves the ways of others has moved those of the plan, or may.
func (f others) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	silent := map[netip.Addr]bool{}
	var of *over
	var spares map[netip.Addr][]Row
	for look := 0; ; look++ {
		f.mu.Lock()
		o, told := f.over, f.told
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(max(lookSoon, gapsApart*o.net.gap), lookAgain)):
		}
		if o != of {
			of, spares = o, o.spares()
		}
		moved, err := f.look(ctx, o, spares, look, silent)
		if err != nil {
			return err
		}
		f.mu.Lock()
		news := moved && !told && o == f.over
		f.told = f.told || news
		f.mu.Unlock()
		if !news {
			continue
		}
		clear(silent)
		select {
		case events <- failover.LinkEvent{Moved: true, Seen: time.Now()}:
		case <-ctx.Done():
		}
	}
}

// look asks one question a link. A link that has been silent twice counts as one whose ways have moved.
func (f *following) look(ctx context.Context, o *over, spares map[netip.Addr][]Row, look int, silent map[netip.Addr]bool) (moved bool, err error) {
	x := o.net.x
	trails, want := make([][]wire.Trail, x.Hosts), make([][]netip.Addr, x.Hosts)
	for hop, rows := range spares {
		r := rows[look%len(rows)]
		at := firstHop + slices.IndexFunc(r.Hops, func(h Hop) bool { return h[0] == hop })
		trails[r.Src] = append(trails[r.Src], x.of.trail(r.Src, r.Dst, x.of.Port, wire.Trail{Port: r.Port, First: at, Last: at, Wait: lookSoon}))
		want[r.Src] = append(want[r.Src], hop)
	}
	seen, err := f.a.Trace(ctx, trails, o.net.gap)
	if err != nil {
		return false, err
	}
	for src, all := range seen {
		for i, s := range all {
			switch hop := want[src][i]; {
			case len(s.Hops) != 1: // the port is in use by now
			case s.Hops[0] != "":
				moved = moved || s.Hops[0] != hop.String()
				delete(silent, hop)
			case silent[hop]:
				moved = true
			default:
				silent[hop] = true
			}
		}
	}
	return moved, nil
}

// spares are, by the hop that a link leads to, the known rows over it whose ports no connection of a plan has.
func (o *over) spares() map[netip.Addr][]Row {
	out := map[netip.Addr][]Row{}
	x := o.net.x
	for _, r := range x.of.Rows {
		if r.Port > 0 && r.Known() && !r.Sprayed() && r.Port != o.Port(r.Src, r.Dst) {
			for _, h := range r.Hops {
				out[h[0]] = append(out[h[0]], r)
			}
		}
	}
	return out
}
