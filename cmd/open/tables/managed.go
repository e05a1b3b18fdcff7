package tables

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/companion"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/lists"
	"evbench/model/anyshape"
	"evbench/plan"
	"evbench/site/lft"
	"evbench/topology"
)

// A managed network is a networkLab during a case: its tables are those of a manager, and evbench only reads
// them. The manager is a stand-in for that of a fabric, such as OpenSM: when a cable dies or comes back, it
// makes the tables anew by the engine of the case and loads them.
type managed struct {
	*networkLab
	plan *plan.Plan // of the case

	mu      sync.Mutex
	changed int           // routes, by the last load
	failed  error         // of the last load
	pending chan struct{} // closed when the manager is done; nil: it is
}

// sweep is how long the manager waits for more of the same failure.
const sweep = 5 * time.Millisecond

// Watch implements loop.Network. The manager runs as long.
func (m *managed) Watch(ctx context.Context, events chan<- failover.LinkEvent) error {
	g, inner := errgroup.WithContext(ctx)
	said := make(chan failover.LinkEvent, cap(events))
	g.Go(func() error { return m.Target.Watch(inner, said) })
	g.Go(func() error { return m.manage(inner, said, events) })
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// manage passes events on, and loads new tables after those that say something new.
func (m *managed) manage(ctx context.Context, said <-chan failover.LinkEvent, events chan<- failover.LinkEvent) error {
	down := map[topology.Link][2]bool{} // by end
	due := time.NewTimer(time.Hour)
	due.Stop() // until an end changes
	defer due.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due.C:
			var dead []topology.Link
			for l, ends := range down {
				if ends != [2]bool{} {
					dead = append(dead, l)
				}
			}
			slices.SortFunc(dead, topology.Link.Compare)
			changed, err := m.load(ctx, dead)
			m.mu.Lock()
			m.changed, m.failed = changed, err
			close(m.pending)
			m.pending = nil
			m.mu.Unlock()
		case e := <-said:
			end := 0
			if e.Leaf {
				end = 1
			}
			ends := down[e.Link]
			if ends[end] == e.Up || e.Reread {
				due.Reset(sweep)
				m.begin()
			}
			ends[end] = !e.Up
			down[e.Link] = ends
			select {
			case events <- e:
			case <-ctx.Done():
			}
		}
	}
}

// begin notes that the tables in place are to change.
func (m *managed) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending == nil {
		m.pending = make(chan struct{})
	}
}

// load makes the switches hold the tables that avoid dead cables, and returns how many routes it has changed.
func (m *managed) load(ctx context.Context, dead []topology.Link) (changed int, err error) {
	servers, err := m.plan.Tree.Healthy().Without(dead...)
	if err != nil {
		return 0, err
	}
	t, err := m.net.Tables(m.plan, servers)
	if err != nil {
		return 0, err
	}
	return m.Target.Apply(ctx, routesOf(m.Lab, t, m.net.Nodes))
}

// await returns when the manager has loaded its tables, as that of a fabric says in its log, and how many routes
// it has changed.
func (m *managed) await(ctx context.Context) (changed int, err error) {
	for {
		m.mu.Lock()
		pending, changed, err := m.pending, m.changed, m.failed
		m.mu.Unlock()
		if pending == nil {
			return changed, err
		}
		select {
		case <-pending:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (m *managed) read(ctx context.Context) (*lft.Tables, error) {
	t := lft.New(m.plan.Routing, m.net.Net)
	nodes := lists.Tabulate(t.Net.Switches(), func(i int) companion.Node { return companion.Node(i) })
	have, err := m.Target.Read(ctx, nodes)
	if err != nil {
		return nil, fmt.Errorf("read tables: %w", err)
	}
	for i, table := range have {
		for rank, v := range m.net.Nodes {
			for _, r := range table.Routes {
				if len(r.Via) == 1 && r.Prefix.IsSingleIP() && r.Prefix.Addr() == m.Lab.Addr(rank, companion.Single) {
					t.Row(i)[t.Net.Info(v).LID] = uint8(r.Via[0] + 1)
				}
			}
		}
	}
	return t, nil
}

// Plan implements loop.Planner: the best order over the tables that the switches have when their manager is done.
func (m *managed) Plan(ctx context.Context, servers *topology.Tree) (loop.Made, error) {
	if _, err := m.await(ctx); err != nil {
		return loop.Made{}, err
	}
	t, err := m.read(ctx)
	if err != nil {
		return loop.Made{}, err
	}
	return again(m.net, m.plan, t, servers)
}

// again plans the case of a plan over the tables that its network has now.
func again(n *anyshape.Network, of *plan.Plan, t *lft.Tables, servers *topology.Tree) (loop.Made, error) {
	began := time.Now()
	p, kept, err := n.Again(of, t, servers)
	if err != nil {
		return loop.Made{}, err
	}
	source := failover.Computed
	if kept {
		source = failover.Kept
	}
	took := time.Since(began)
	err = p.Judge()
	return loop.Made{Plan: p, Source: source, Took: took, Judged: time.Since(began) - took}, err
}

// Aid implements loop.Network: the manager's work, not evbench's.
func (m *managed) Aid(ctx context.Context, _ *topology.Tree) (changed int, err error) {
	return m.await(ctx)
}

// Install implements loop.Network. It changes nothing, and looks whether the tables are those of the plan.
func (m *managed) Install(ctx context.Context, p *plan.Plan) (changed int, err error) {
	t, err := m.read(ctx)
	if err != nil {
		return 0, err
	}
	return 0, anyshape.Holds(p, t)
}

// Clean implements loop.Network: no route is evbench's.
func (m *managed) Clean(context.Context, *plan.Plan) (changed int, err error) { return 0, nil }
