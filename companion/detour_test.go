package companion

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/testing/expect"
	"evbench/testing/need"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// A state is the routes of the switches for a tree.
type state struct {
	tree   *topology.Tree
	routes Routes
}

func around(t testing.TB, tree *topology.Tree, engine string) state {
	t.Helper()
	p := newPlan(t, tree, engine)
	routes := expect.Value(routesAround(p, addresses{tree}))(t)
	return state{tree, routes}
}

// sampleTrees are whole and partly filled, with none to many links dead.
func sampleTrees(t *testing.T, rng *rand.Rand) []*topology.Tree {
	shapes := []topology.Options{
		{Ports: 4, Leaves: 4},
		{Ports: 4, Leaves: 4, Fill: []int{4, 1, 3, 0}},
		{Ports: 2, Leaves: 3, Spines: 4},
		{Ports: 3, Leaves: 5, Spines: 2},
		{Ports: 3, Leaves: 3, Spines: 2, Cables: 2},
		{Ports: 2, Leaves: 4, Pods: 2},
		{Ports: 2, Leaves: 6, Pods: 3, Spines: 3, Tops: 2, Fill: []int{2, 1, 0, 2, 2, 1}},
	}
	if expect.All() {
		shapes = append(shapes, topology.Options{Ports: 8, Leaves: 8})
	}
	var out []*topology.Tree
	for _, o := range shapes {
		whole := topologytest.Without(t, o)
		for _, dead := range []int{0, 1, 1, 2, 3, 5, 9} {
			out = append(out, drop(t, whole, dead, rng))
		}
	}
	return out
}

func drop(t *testing.T, tree *topology.Tree, n int, rng *rand.Rand) *topology.Tree {
	t.Helper()
	var dead []topology.Link
	for range n {
		dead = append(dead, tree.LinkOf(rng.IntN(tree.AllLinks())))
	}
	out := expect.Value(tree.Without(dead...))(t)
	return out
}

// flows calls f with every source leaf, destination and path. What a server sends
// depends on its leaf alone.
func flows(tree topology.Wires, f func(leaf, dst, path int)) {
	for leaf := range tree.Leaves() {
		for dst := range tree.Servers() {
			for path := Single; path < tree.Paths(); path++ {
				f(leaf, dst, path)
			}
		}
	}
}

// arrives follows packets over the links that are alive in tree, and notes the
// links on their way.
func (s state) arrives(tree *topology.Tree, leaf, dst, path int, taken map[topology.Link]bool) bool {
	ends := walker{tree, s.routes}.ends(Node(leaf), addresses{tree}.Server(dst, path), 5, taken)
	return len(ends) == 1 && ends[0] == tree.ServerName(dst)
}

// everything checks that packets arrive wherever a path is alive between two leaves, and
// by the links of their own path where that is alive.
func (s state) everything(t *testing.T, what string) {
	t.Helper()
	flows(s.tree.Wires, func(leaf, dst, path int) {
		other := s.tree.Leaf(dst)
		if leaf != other && len(s.tree.LivePaths(leaf, other)) == 0 {
			return
		}
		where := fmt.Sprintf("%s: %s, down %v: leaf%d to rank %d on path %d", what, s.tree.Notation(), s.tree.DownNames(), leaf, dst, path)
		taken := map[topology.Link]bool{}
		expect.True(t, s.arrives(s.tree, leaf, dst, path, taken), "%s does not arrive", where)
		expect.False(t, leaf != other && path >= 0 && s.tree.PathAlive(leaf, other, path) && !maps.Equal(taken, passes(s.tree.Wires, leaf, other, path)),
			"%s, which is alive, takes %v", where, taken)
	})
}

func TestAroundReachesEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, tree := range sampleTrees(t, rng) {
		for _, engine := range []string{routing.MinHop, routing.Spread} {
			around(t, tree, engine).everything(t, engine)
		}
	}
}

// Detours share the load: after one dead link, no spine gets two detours of a leaf
// more than another.
func TestDetoursAreBalanced(t *testing.T) {
	tree := topologytest.Without(t, topology.Options{Ports: 8, Leaves: 8}, topology.Link{Leaf: 2, Spine: 5})
	up, down := make([]int, 8), make([]int, 8)
	for l := range tree.Leaves() {
		for _, r := range detours(&tree.Live, addresses{tree}, l) {
			spine := int(r.Via[0]) - tree.Ports()
			if l == 2 {
				up[spine]++
			} else {
				down[spine]++
			}
		}
	}
	for name, n := range map[string][]int{"up": up, "down": down} {
		expect.True(t, n[5] == 0 && slices.Max(n) <= 2, "%s: detours by spine %v, want none over spine 5 and at most 2 elsewhere", name, n)
	}
}

// Every write and every deletion is made alone, in order; nothing that may be sent
// is without a route, goes in circles or over a dead link after any of them.
func TestTransitionHasNoGap(t *testing.T) {
	need.Heavy(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for _, o := range []topology.Options{
		{Ports: 2, Leaves: 3}, {Ports: 3, Leaves: 3, Fill: []int{3, 1, 2}}, {Ports: 2, Leaves: 4, Spines: 3}, {Ports: 2, Leaves: 4, Pods: 2},
		{Ports: 2, Leaves: 3, Spines: 2, Cables: 2},
	} {
		whole := topologytest.Without(t, o)
		now := around(t, whole, routing.MinHop)
		for range 25 {
			tree := drop(t, whole, rng.IntN(3), rng)
			next := around(t, tree, []string{routing.MinHop, routing.Spread}[rng.IntN(2)])
			now = step(t, now, next)
		}
	}
}

// step walks from one state to the next, with the links dead that either takes to be
// dead, and with all alive: a link may be kept out though it is up.
func step(t *testing.T, now, next state) state {
	t.Helper()
	dead := withDead(next.tree, append(next.tree.Dead(), now.tree.Dead()...))
	for _, tree := range []*topology.Tree{dead, dead.Healthy()} {
		var must [][3]int // what arrives before and after
		flows(tree.Wires, func(leaf, dst, path int) {
			if now.arrives(tree, leaf, dst, path, map[topology.Link]bool{}) && next.arrives(tree, leaf, dst, path, map[topology.Link]bool{}) {
				must = append(must, [3]int{leaf, dst, path})
			}
		})
		walkEdits(t, now, next, func(s state, what string) {
			for _, m := range must {
				expect.MustTrue(t, s.arrives(tree, m[0], m[1], m[2], map[topology.Link]bool{}),
					"leaf%d to rank %d on path %d, from %v to %v dead: a gap after %s",
					m[0], m[1], m[2], now.tree.DownNames(), next.tree.DownNames(), what)
			}
		})
	}
	return next
}

// walkEdits makes the writes that lead from one state to the next one by one.
func walkEdits(t *testing.T, now, next state, f func(s state, what string)) {
	t.Helper()
	routes := now.routes
	for i, stage := range transition(next.tree.Shape, now.routes, next.routes) {
		for _, edit := range stage {
			for _, single := range singles(edit) {
				routes = changes{{single}}.apply(routes)
				f(state{next.tree, routes}, fmt.Sprintf("stage %d, %+v", i, single))
			}
		}
	}
	d := compare(routes, next.routes)
	expect.MustTrue(t, len(d) == 0, "edits leave %d differences", len(d))
}

// singles splits an edit into its writes and deletions.
func singles(e Edit) []Edit {
	var out []Edit
	for i := range e.Set {
		out = append(out, Edit{Node: e.Node, Set: e.Set[i : i+1]})
	}
	for i := range e.Delete {
		out = append(out, Edit{Node: e.Node, Delete: e.Delete[i : i+1]})
	}
	return out
}

func TestAroundNeedsTables(t *testing.T) {
	p := &plan.Plan{Tree: topologytest.Without(t, topology.Options{Ports: 2, Leaves: 2}), Routing: plan.NoRouting}
	expect.True(t, expect.Err(routesAround(p, addresses{p.Tree})) != nil, "no error for a plan without tables")
}
