package companion

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"evbench/failover"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// fabric is a Target in memory, on which a test plays the kernel.
type fabric struct {
	tables map[Node][]Route
	events chan failover.LinkEvent
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
	changed = len(compare(f.read(want.nodes()), want))
	for _, t := range want {
		f.tables[t.Node] = t.Routes
	}
	return changed, nil
}

func (f *fabric) Write(_ context.Context, edits []Edit) (changed int, err error) {
	if f.fail != nil {
		err, f.fail = f.fail(), nil
		if err != nil {
			return 0, err
		}
	}
	for _, e := range edits {
		f.tables[e.Node] = e.apply(f.tables[e.Node])
		changed += len(e.Set) + len(e.Delete)
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

func (f *fabric) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
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

var (
	linkA = topology.Link{Leaf: 0, Spine: 1}
	linkB = topology.Link{Leaf: 1, Spine: 0}
)

// quiet lets virtual time pass and waits until every goroutine does.
func quiet() {
	time.Sleep(time.Second)
	synctest.Wait()
}

//gate:race
func TestInstallComparesWhatItReads(t *testing.T) {
	p := newPlan(t, topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2}), routing.MinHop)
	f := &fabric{tables: map[Node][]Route{}, lie: func(r Routes) { r[3].Routes = nil }}
	_, err := Install(t.Context(), f, p, addresses{p.Tree})
	expect.Error(t, err, "routes read back differ in 4 places, first spine1: 10.1.0.0/24 via leaf0 is missing")
}
