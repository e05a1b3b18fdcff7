// Package emulated opens the emulated fabric of a scenario.
package emulated

import (
	"context"
	"fmt"
	"sync"
	"time"

	"evbench/cmd/open"
	"evbench/fabric"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/lists"
	"evbench/model/emulate"
	"evbench/plan"
	"evbench/results"
	"evbench/routing"
	"evbench/scenario"
	"evbench/topology"
	"evbench/transport/tcp"
)

// An emulatedFabric is the model of a fabric for machines without network namespaces. Every worker
// is in this process; messages go over loopback, delayed like on the model's links.
type emulatedFabric struct {
	fabric.Launcher
	model   *emulate.Fabric
	info    results.Fabric
	seed    uint64
	engines routing.Engines

	mu      sync.Mutex
	tree    *topology.Tree // with the links dead now
	changes chan open.LinkChange
}

// Here opens emulated fabrics.
func Here() open.Here {
	return open.Here{Open: emulated, Workers: func(*scenario.Scenario) fabric.Launcher { return open.Threads{} }}
}

func emulated(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	o := emulate.Options{Tree: s.Tree, Rate: s.Fabric.Rate, MTU: s.Fabric.MTU}
	nic := "none: links are clocks in user space"
	if x := s.Fabric.Lossless; x.On {
		o.Buffer = int(x.Buffer)
		nic += fmt.Sprintf(", inputs of switches hold %s", x.Buffer)
	}
	model := emulate.New(o)
	f := &emulatedFabric{model: model, info: open.Info(s.Fabric), seed: s.Seed, engines: s.Engines, tree: s.Tree, changes: make(chan open.LinkChange, 1)}
	f.info.Model = true
	f.info.NIC = nic
	f.Launcher = open.Threads{Sockets: open.Sockets{Virtual: true}, Options: func(int) tcp.Options {
		return tcp.Options{Addr: "127.0.0.1:0", Pace: model}
	}}
	return f, nil
}

func (f *emulatedFabric) Info() results.Fabric { return f.info }

func (f *emulatedFabric) Install(_ context.Context, p *plan.Plan) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tree = p.Tree
	f.model.Install(p.Tree, f.route(p))
	return nil
}

// route returns the path of a pair of servers by the tables of a plan; under ecmp a seeded hash of
// the pair chooses, as the kernel's would.
func (f *emulatedFabric) route(p *plan.Plan) func(src, dst int) int {
	return func(src, dst int) int { return p.Tables.Hashed(f.seed, p.Tree.Leaf(src), src, dst) }
}

func (f *emulatedFabric) Counters(context.Context) ([]results.LinkCount, error) {
	return lists.Map(f.model.Counters(), func(c emulate.Count) results.LinkCount {
		return open.LinkCount(&f.tree.Live, c.Wire, c.Bytes, c.Packets, 0)
	}), nil
}

func (f *emulatedFabric) SetLinks(ctx context.Context, links []topology.Link, up bool) error {
	f.mu.Lock()
	dead := f.tree.Dead()
	if up {
		dead = topology.Minus(dead, links)
	} else {
		dead = append(dead, links...)
	}
	t, err := f.tree.Healthy().Without(dead...)
	if err == nil {
		f.tree = t
		f.model.SetTree(t)
	}
	f.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case f.changes <- open.LinkChange{Links: links, Up: up, At: time.Now()}:
	case <-ctx.Done():
	}
	return nil
}

func (f *emulatedFabric) Dead() ([]topology.Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tree.Dead(), nil
}

func (f *emulatedFabric) Check(context.Context, fabric.Joined) (fabric.Checked, error) {
	return fabric.Checked{}, nil
}

// WatchCables implements fabric.Fabric: no outside change is possible.
func (f *emulatedFabric) WatchCables(context.Context, func(topology.CableEvent)) error { return nil }

func (f *emulatedFabric) Network(_ *plan.Plan, engine string) (loop.Network, error) {
	return emulatedNetwork{f, engine}, nil
}

// An emulatedNetwork has only tables: pinned paths never change.
type emulatedNetwork struct {
	f      *emulatedFabric
	engine string
}

func (n emulatedNetwork) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	return open.SelfHealing{Changes: n.f.changes}.Watch(ctx, events)
}

func (n emulatedNetwork) Aid(_ context.Context, t *topology.Tree) (int, error) {
	p, err := plan.Build(t, plan.Options{Routing: n.engine, Engines: n.f.engines})
	if err != nil {
		return 0, err
	}
	return n.put(p), nil
}

func (n emulatedNetwork) Install(_ context.Context, p *plan.Plan) (int, error) { return n.put(p), nil }

func (n emulatedNetwork) Clean(_ context.Context, p *plan.Plan) (int, error) { return n.put(p), nil }

// put makes messages take the tables of a plan. It does not count the changed entries.
func (n emulatedNetwork) put(p *plan.Plan) int {
	n.f.mu.Lock()
	defer n.f.mu.Unlock()
	n.f.model.Install(n.f.tree, n.f.route(p))
	return 0
}

func (f *emulatedFabric) Close() error { return nil }
