package companion

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type addresses struct{ *topology.Tree }

func (a addresses) Server(rank, path int) netip.Addr {
	b := a.Leaf(a.Tree.Leaf(rank), path).Addr().As4()
	b[3] = byte(a.Slot(rank) + 1)
	return netip.AddrFrom4(b)
}

func (a addresses) Leaf(leaf, path int) netip.Prefix {
	b := a.Path(path).Addr().As4()
	b[2] = byte(leaf)
	return netip.PrefixFrom(netip.AddrFrom4(b), 24)
}

func (a addresses) Path(path int) netip.Prefix {
	if path == Single {
		path = 200
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(path)}), 16)
}

func newPlan(t testing.TB, tree *topology.Tree, engine string) *plan.Plan {
	t.Helper()
	tables := expect.Value(routing.TreeTables(tree, engine))(t)
	return &plan.Plan{Tree: tree, Routing: engine, Tables: tables}
}

func compute(t testing.TB, p *plan.Plan) Routes {
	t.Helper()
	routes := expect.Value(Compute(p, addresses{p.Tree}))(t)
	return routes
}

func TestComputeGolden(t *testing.T) {
	for _, test := range []struct {
		file, engine string
		down         []topology.Link
	}{
		{"healthy", routing.MinHop, nil},
		{"leaf1-spine0", routing.MinHop, []topology.Link{{Leaf: 1, Spine: 0}}},
		{"ecmp", routing.ECMP, []topology.Link{{Leaf: 1, Spine: 0}}},
		{"spray", routing.Spray, []topology.Link{{Leaf: 1, Spine: 0}}},
	} {
		t.Run(test.file, func(t *testing.T) {
			tree := topologytest.Without(t, topology.Options{Ports: 2, Leaves: 3}, test.down...)
			var got bytes.Buffer
			for _, table := range compute(t, newPlan(t, tree, test.engine)) {
				fmt.Fprintln(&got, NodeName(&tree.Live, table.Node))
				for _, route := range table.Routes {
					fmt.Fprintf(&got, "  %s\n", route.describe(&tree.Live, table.Node))
				}
			}
			path := filepath.Join("testdata", test.file+".txt")
			if *update {
				expect.Must(t, os.WriteFile(path, got.Bytes(), 0o644))
			}
			want := expect.Value(os.ReadFile(path))(t)
			expect.True(t, got.String() == string(want), "got\n%s\nwant\n%s", got.String(), want)
		})
	}
}

func TestComputeNeedsTables(t *testing.T) {
	p := &plan.Plan{Tree: topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2}), Routing: plan.NoRouting}
	expect.Error(t, expect.Err(Compute(p, addresses{p.Tree})), `routing "none"`)
}

// A walker forwards packets by routes as the kernel does, with the longest
// prefix, along every hop of a route.
type walker struct {
	tree   *topology.Tree
	routes Routes
}

func (w walker) lookup(n Node, to netip.Addr) *Route {
	var best *Route
	for i, r := range w.routes[n].Routes {
		if r.Prefix.Contains(to) && (best == nil || r.Prefix.Bits() > best.Prefix.Bits()) {
			best = &w.routes[n].Routes[i]
		}
	}
	return best
}

// ends returns the names of the nodes at which packets from a node stop: the
// server that has the address, or a switch without a route. taken collects the
// links on the way.
func (w walker) ends(n Node, to netip.Addr, hops int, taken map[topology.Link]bool) []string {
	r := w.lookup(n, to)
	if r == nil || hops == 0 {
		return []string{NodeName(&w.tree.Live, n)}
	}
	var out []string
	for _, p := range r.Via {
		link, upper, ok := w.tree.LinkAt(int(n), int(p))
		low, high := w.tree.Ends(link)
		next := high.Switch
		switch {
		case int(n) >= w.tree.Switches():
			next = w.tree.Leaf(int(n) - w.tree.Switches())
		case !ok:
			out = append(out, w.tree.ServerName(w.tree.First(int(n))+int(p)))
			continue
		case !w.tree.LinkAlive(link):
			return []string{"dead link"}
		case upper:
			next = low.Switch
		}
		if int(n) < w.tree.Switches() {
			taken[link] = true
		}
		out = append(out, w.ends(Node(next), to, hops-1, taken)...)
	}
	return out
}

// passes returns the links that a path between two leaves takes.
func passes(t topology.Wires, a, b, path int) map[topology.Link]bool {
	out := map[topology.Link]bool{}
	for _, l := range t.PathLinks(a, b, path) {
		out[l] = true
	}
	return out
}

// installable are the engines whose routes nodes can have.
var installable = []string{routing.MinHop, routing.Spread, routing.ECMP, routing.Spray}

// Every pair reaches each other on the single path and on every live path, by the
// links of that path only; on other paths packets stop at a switch.
func TestComputeForwards(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		tree := randomTree(t, rng)
		engine := installable[rng.IntN(len(installable))]
		w := walker{tree, compute(t, newPlan(t, tree, engine))}
		for src := range tree.Servers() {
			for dst := range tree.Servers() {
				for path := Single; path < tree.Paths(); path++ {
					if src != dst {
						w.check(t, engine, src, dst, path)
					}
				}
			}
		}
	}
}

func (w walker) check(t *testing.T, engine string, src, dst, path int) {
	t.Helper()
	a, b := w.tree.Leaf(src), w.tree.Leaf(dst)
	taken := map[topology.Link]bool{}
	from := Node(w.tree.Switches() + src)
	ends := w.ends(from, addresses{w.tree}.Server(dst, path), 8, taken)
	arrives := !slices.ContainsFunc(ends, func(e string) bool { return e != w.tree.ServerName(dst) })
	alive := a == b || path >= 0 && w.tree.PathAlive(a, b, path) || path == Single && len(w.tree.LivePaths(a, b)) > 0
	where := fmt.Sprintf("%s %s, down %v: rank %d to %d on path %d", w.tree.Notation(), engine, w.tree.DownNames(), src, dst, path)
	expect.MustTrue(t, arrives == alive && !slices.Contains(ends, "dead link"), "%s ends at %v, alive %v", where, ends, alive)
	expect.MustFalse(t, path >= 0 && a != b && alive && !maps.Equal(taken, passes(w.tree.Wires, a, b, path)), "%s takes %v", where, taken)
}

func randomTree(t *testing.T, rng *rand.Rand) *topology.Tree {
	o := topology.Options{Ports: 1 + rng.IntN(4), Leaves: 2 + rng.IntN(3), Spines: 1 + rng.IntN(4)}
	if rng.IntN(2) == 0 {
		o.Pods = 1 + rng.IntN(3)
		o.Leaves, o.Tops = o.Pods*o.Leaves, 1+rng.IntN(3)
	} else {
		o.Cables = 1 + rng.IntN(3)
	}
	for range o.Leaves {
		o.Fill = append(o.Fill, rng.IntN(o.Ports+1))
	}
	o.Fill[0], o.Fill[1] = o.Ports, o.Ports
	tree, err := topology.New(o)
	expect.Must(t, err)
	var down []topology.Link
	for id := range tree.AllLinks() {
		if rng.IntN(4) == 0 {
			down = append(down, tree.LinkOf(id))
		}
	}
	tree, err = tree.Without(down...)
	expect.Must(t, err)
	return tree
}

// Where tables send two servers of a leaf apart, a spine has a route for each.
func TestSpineWithoutAggregate(t *testing.T) {
	tree := topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2})
	p := newPlan(t, tree, routing.MinHop)
	p.Tables.Set(routing.Switch(tree.Leaves()+0), 3)
	spine := compute(t, p)[routing.Switch(tree.Leaves()+0)]
	for address, want := range map[string]bool{"10.200.0.0/24": true, "10.200.1.0/24": false, "10.200.1.1/32": true, "10.200.1.2/32": false} {
		has := slices.ContainsFunc(spine.Routes, func(r Route) bool { return r.Prefix.String() == address })
		expect.Equal(t, has, want, "%s", address)
	}
}
