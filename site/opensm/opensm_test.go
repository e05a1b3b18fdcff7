package opensm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/plan"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// anyPlan draws a tree with servers and links missing, and a plan for it.
func anyPlan(t *testing.T, seed uint64) *plan.Plan {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	o := topology.Options{Ports: 1 + rng.IntN(5), Leaves: 2 + rng.IntN(5), Spines: 1 + rng.IntN(5)}
	if seed%3 == 0 {
		o.Pods = 1 + rng.IntN(3)
		o.Leaves, o.Spines, o.Tops = o.Pods*(1+rng.IntN(3)), min(o.Spines, 3), 1+rng.IntN(3)
		o.Leaves = max(o.Leaves, 2*o.Pods)
	}
	for range o.Leaves {
		o.Fill = append(o.Fill, rng.IntN(o.Ports+1))
	}
	o.Fill[0], o.Fill[1] = 1, o.Ports
	tree := options(t, o)
	for range rng.IntN(5) {
		without := expect.Value(tree.Without(tree.LinkOf(rng.IntN(tree.AllLinks()))))(t)
		tree = without
	}
	objectives := []schedules.Objective{schedules.FewestPhases, schedules.FewestPaths, schedules.Balanced}
	choices := []plan.Options{
		{Schedule: "fors", Objective: objectives[rng.IntN(3)]},
		{Schedule: "linear-shift", Routing: routing.Ftree},
		{Schedule: "linear-shift", Routing: routing.Spread},
		{Routing: routing.MinHop},
	}
	how := choices[rng.IntN(len(choices))]
	if how.DropUnreachable = true; o.Pods > 0 {
		how.Objective = ""
	}
	p, err := plan.Build(tree, how)
	if err != nil { // no two servers can reach each other
		return build(t, tree.Healthy(), how)
	}
	return p
}

// TestRoutesTakeThePlansPaths walks every message with package lft, which knows
// neither plans nor paths, over networks that are matched by name and by order.
func TestRoutesTakeThePlansPaths(t *testing.T) {
	lmcs := map[int]bool{}
	for seed := range uint64(300) {
		p := anyPlan(t, seed)
		n := networkOf(t, p.Tree.Wires, 0)
		r := compute(t, p, n, int(seed%2))
		lmcs[r.lmc] = true
		walkAll(t, seed, r)
	}
	expect.True(t, len(lmcs) >= 3, "only the LMCs %v were tried", lmcs)
}

// On parallel cables every message takes the plan's cables up and down, over a network of all cables and over one
// that is without the dead ones, where it has the LMC that the plan says.
func TestRoutesTakeThePlansCables(t *testing.T) {
	rng, more := rand.New(rand.NewPCG(31, 7)), 0
	for seed := range uint64(60) {
		tree := options(t, topology.Options{Ports: 1 + rng.IntN(5), Leaves: 2 + rng.IntN(4), Spines: 1 + rng.IntN(3), Cables: 2 + rng.IntN(2)})
		dead := expect.Value(tree.Random(rng.IntN(tree.AllLinks()/3), seed))(t)
		tree = expect.Value(tree.Without(dead...))(t)
		p := build(t, tree, []plan.Options{{Schedule: "fors"}, {Schedule: "linear-shift", Routing: routing.Spread}}[seed%2])
		n := networkOf(t, tree.Wires, 0)
		whole := compute(t, p, n, int(seed%2))
		walkAll(t, seed, whole)
		takesCables(t, seed, whole)
		rest := compute(t, p, n.Without(whole.places.Cables(dead), nil), 0)
		takesCables(t, seed, rest)
		expect.Equal(t, whole.need, p.Paths.LMC, "needed LMC")
		if 1<<whole.need >= 2*max(p.Paths.Most, 1) && whole.need > 0 {
			more++
		}
	}
	expect.True(t, more > 0, "no plan needs more LIDs than it has paths")
	tree := options(t, topology.Options{Ports: 2, Leaves: 2, Cables: 2})
	p := build(t, tree, plan.Options{Schedule: "fors"})
	expect.Error(t, expect.Err(Compute(p, networkOf(t, tree.Wires, 0), Options{ByPath: true})), "a LID for each path is for trees with one")
	three := network.PGFT{M: []int{2, 2}, W: []int{1, 2}, P: []int{1, 3}}
	expect.Error(t, expect.Err(Compute(p, expect.Value(three.Build(0))(t), Options{})), "s1_0 and s2_0 are joined by 3 cables, more than 2")
}

func takesCables(t *testing.T, seed uint64, r *Routes) {
	t.Helper()
	tree := r.Plan.Tree
	for src := range tree.Servers() {
		for dst := range tree.Servers() {
			path := r.Plan.Path(src, dst)
			if src == dst || path < 0 {
				continue
			}
			way, _ := r.Tables.Route(r.places.Host[src], r.dlid(src, dst))
			links := tree.PathLinks(tree.Leaf(src), tree.Leaf(dst), path)
			expect.MustTrue(t, len(way) == 3 && way[0].Port == r.places.Up(links[0]) && way[1].Port == r.places.Down(links[1]),
				"seed %d: %d to %d by %v, planned %v", seed, src, dst, way, links)
		}
	}
}

// With a LID for each path, LID + p leads through path p from every leaf, or pod, that it is alive for, and the
// plan's paths are where they would be without.
func TestLIDPerPath(t *testing.T) {
	for seed := range uint64(100) {
		p := anyPlan(t, seed)
		r := expect.Value(Compute(p, networkOf(t, p.Tree.Wires, 0), Options{ByPath: true, Renumber: true}))(t)
		walkAll(t, seed, r)
		for group := range p.Tree.Leaves() {
			for h := range network.Node(r.Net.Hosts()) {
				at := r.pathsTo(group, h)
				for o, path := range at {
					expect.MustFalse(t, slices.Contains(at, uint16(o)) && int(path) != o,
						"seed %d: from group %d to host %d: LID + %d leads over path %d", seed, group, h, o, path)
				}
			}
		}
	}
}

// TestOneLIDOfPods: of three levels, too, a plan with one path from a leaf to a server takes one LID, though the
// leaves of a pod share it.
func TestOneLIDOfPods(t *testing.T) {
	tree := treeOf(t, "FT(3;3,3,3)")
	for seed := range uint64(30) {
		dead := expect.Value(tree.Random(1+int(seed%4), seed))(t)
		p := build(t, expect.Value(tree.Without(dead...))(t), plan.Options{Schedule: "fors", Objective: schedules.FewestPaths, Routing: "pinned"})
		r, err := Compute(p, networkOf(t, p.Tree.Wires, 0), Options{})
		expect.MustTrue(t, err == nil && r.need == 0, "seed %d, without %v: %v", seed, dead, err)
		walkAll(t, seed, r)
	}
}

// TestNeedIsOfPlans: a plan states the LMC that its tables need, on three levels by pod.
func TestNeedIsOfPlans(t *testing.T) {
	several := 0
	for seed := range uint64(600) {
		p := anyPlan(t, seed)
		r, err := Compute(p, networkOf(t, p.Tree.Wires, 0), Options{Renumber: true})
		if err != nil {
			expect.True(t, p.Paths.LMC > maxLMC, "seed %d: %v, the plan says LMC %d", seed, err, p.Paths.LMC)
			continue
		}
		expect.True(t, r.need == p.Paths.LMC, "seed %d, %s: LMC %d, the plan says %d", seed, p.Tree.Notation(), r.need, p.Paths.LMC)
		if p.Tree.Levels() == 3 && p.Paths.LMC > 0 && 1<<(p.Paths.LMC-1) >= p.Paths.Most {
			several++
		}
	}
	expect.True(t, several > 5, "%d plans whose pods need more than their leaves", several)
}

func walkAll(t testing.TB, seed uint64, r *Routes) {
	t.Helper()
	p, tree := r.Plan, r.Plan.Tree
	type pair struct{ leaf, dst int }
	lids, paths := map[pair]map[int]bool{}, map[pair]map[int]bool{}
	for src := range tree.Servers() {
		for dst := range tree.Servers() {
			if src == dst || r.without(src, dst) {
				continue
			}
			host := r.places.Host[dst]
			base, lid := int(r.Net.Info(host).LID), r.dlid(src, dst)
			expect.MustTrue(t, lid >= base && lid < base+1<<r.lmc, "seed %d: %d to %d by LID %d, not of %d..", seed, src, dst, lid, base)
			path, fault := r.Tables.Route(r.places.Host[src], lid)
			var way []network.Node
			for _, e := range path {
				way = append(way, e.Node)
			}
			leaf, k := tree.Leaf(src), p.Path(src, dst)
			want := []network.Node{r.places.Node(leaf)}
			if k >= 0 {
				links := tree.PathLinks(leaf, tree.Leaf(dst), k)
				for i, l := range links {
					low, high := tree.Ends(l)
					if i >= len(links)/2 {
						high = low
					}
					want = append(want, r.places.Node(high.Switch))
				}
			}
			expect.MustTrue(t, fault == lft.NoFault && slices.Equal(way, want),
				"seed %d: %d to %d: %v %v, planned %v", seed, src, dst, way, fault, want)
			at := pair{leaf, dst}
			if lids[at] == nil {
				lids[at], paths[at] = map[int]bool{}, map[int]bool{}
			}
			lids[at][lid], paths[at][k] = true, true
		}
	}
	for at := range lids {
		expect.MustTrue(t, len(lids[at]) == len(paths[at]),
			"seed %d: leaf %d to %d: %d LIDs for %d paths", seed, at.leaf, at.dst, len(lids[at]), len(paths[at]))
	}
	if len(p.Unreachable) == 0 {
		c := lft.Check(r.Tables, lft.Options{})
		expect.MustTrue(t, c.OK(), "seed %d: %+v", seed, c.Offences)
	}
}

// TestThesisFigures are those of thesis 6.7.2: 326 servers and 38 switches with
// LMC 5 fill 10,469 entries.
func TestThesisFigures(t *testing.T) {
	fill := append([]int{20}, slices.Repeat([]int{18}, 17)...)
	tree := options(t, topology.Options{Ports: 20, Leaves: 18, Fill: fill})
	p := build(t, tree, plan.Options{Schedule: "linear-shift", Routing: routing.Ftree})
	u := compute(t, p, networkOf(t, tree.Wires, 0), 5).Use()
	expect.True(t, u.Entries == 10469 && u.LIDs == 10470 && u.LMC == 5 && u.Capacity == 49152, "%+v", u)
}

// TestMatchByOrder gives the nodes other names: the tables stay.
func TestMatchByOrder(t *testing.T) {
	tree := options(t, topology.Options{Ports: 3, Leaves: 3, Spines: 2, Fill: []int{3, 1, 2}}, "leaf0-spine1")
	p := build(t, tree, plan.Options{Schedule: "fors"})
	n := networkOf(t, tree.Wires, 0)
	want := compute(t, p, n, 0)
	info := make([]network.Info, n.Nodes())
	for v := range info {
		info[v] = n.Info(network.Node(v))
		info[v].Name = fmt.Sprintf("node-%x", info[v].GUID)
	}
	got := compute(t, p, n.WithInfo(info), 0)
	diff := differences(want.Tables, got.Tables)
	expect.True(t, len(diff) == 0, "%d entries differ: %.3s", len(diff), diff)
}

// TestHostsOutsideThePlan are reached as all others: one more on a leaf, and one
// on a spine, as subnet managers may be.
func TestHostsOutsideThePlan(t *testing.T) {
	tree := treeOf(t, "FT(2;2,3)")
	p := build(t, tree, plan.Options{Schedule: "linear-shift", Routing: routing.Ftree})
	full := networkOf(t, tree.Wires, 0)
	var b network.Builder
	for h := range full.Hosts() {
		b.Host(full.Info(network.Node(h)))
	}
	more := b.Host(network.Info{Name: "sm0", GUID: 1, Port: 2})
	spine := b.Host(network.Info{Name: "sm1", GUID: 3, Port: 4})
	for i := range full.Switches() {
		b.Switch(full.Info(full.Switch(i)), 8)
	}
	move := func(e network.End) network.End {
		if !full.IsHost(e.Node) {
			e.Node += 2
		}
		return e
	}
	cables := []network.Cable{
		{A: network.End{Node: more, Port: 1}, B: network.End{Node: spine + 1, Port: 8}},
		{A: network.End{Node: spine, Port: 1}, B: network.End{Node: spine + 1 + 3, Port: 8}},
	}
	for _, c := range full.Cables() {
		cables = append(cables, network.Cable{A: move(c.A), B: move(c.B)})
	}
	for _, c := range cables {
		expect.Must(t, b.Cable(c.A, c.B))
	}
	r := compute(t, p, b.Build(), 1)
	if c := lft.Check(r.Tables, lft.Options{}); !c.OK() || c.Pairs != 8*7*2 {
		t.Errorf("%d pairs, %+v", c.Pairs, c.Offences)
	}
}

func TestLIDsAreKept(t *testing.T) {
	tree := treeOf(t, "FT(2;2,3)", "leaf0-spine0")
	p := build(t, tree, plan.Options{Schedule: "fors", Objective: schedules.FewestPhases})
	for _, c := range []struct {
		name   string
		change func(v network.Node, i *network.Info)
		kept   bool
	}{
		{"as they are", func(network.Node, *network.Info) {}, true},
		{"higher", func(_ network.Node, i *network.Info) { i.LID += 400 }, true},
		{"not aligned", func(_ network.Node, i *network.Info) { i.LID++ }, false},
		{"twice", func(v network.Node, i *network.Info) {
			if v == 1 {
				i.LID -= 2
			}
		}, false},
		{"none", func(_ network.Node, i *network.Info) { i.LID = 0 }, false},
		{"different LMCs", func(v network.Node, i *network.Info) { i.LMC = uint8(min(v, 1)) }, false},
		{"too few", func(_ network.Node, i *network.Info) { i.LMC = 0 }, false},
		{"beyond unicast", func(_ network.Node, i *network.Info) { i.LID += 0xC000 }, false},
	} {
		n := networkOf(t, tree.Wires, 1)
		info := make([]network.Info, n.Nodes())
		for v := range info {
			info[v] = n.Info(network.Node(v))
			c.change(network.Node(v), &info[v])
		}
		expect.Equal(t, compute(t, p, n.WithInfo(info), 1).kept, c.kept, "%s: kept", c.name)
	}
}

// TestFiles reads all files of a small plan back.
func TestFiles(t *testing.T) {
	tree := options(t, topology.Options{Ports: 2, Leaves: 2, Fill: []int{2, 1}})
	p := build(t, tree, plan.Options{Schedule: "fors"})
	r := compute(t, p, networkOf(t, tree.Wires, 1), 1)
	dir := t.TempDir()
	expect.Must(t, expect.Err(Files{Dir: dir}.Put(t.Context(), r)))
	text := func(name string) string {
		b := expect.Value(os.ReadFile(filepath.Join(dir, name)))(t)
		return string(b)
	}
	if want := fmt.Sprintf("# for the plan %s\nrouting_engine file,no_fallback\nlfts_file %s/%s\nlmc 1\nforce_log_flush TRUE\n", p.Hash(), dir, LFTsFile); text(ConfFile) != want {
		t.Errorf("%s, want %s", text(ConfFile), want)
	}
	back, err := lft.ReadDump(strings.NewReader(text(LFTsFile)), r.Net)
	expect.True(t, err == nil && len(differences(r.Tables, back)) == 0, "tables read back differ, %v", err)
	n, err := netfile.ReadGUID2LID(strings.NewReader(text(LIDsFile)), r.Net)
	expect.True(t, err == nil && n.Info(2) == r.Net.Info(2), "%+v, %v", n.Info(2), err)
	lines := strings.Split(strings.TrimSpace(text(PathsFile)), "\n")
	expect.True(t, len(lines) == 1+p.Messages() && lines[0] == "phase,src,dst,dlid", "%q", lines)
	for i, m := range slices.Collect(p.Schedule.All()) {
		want := fmt.Sprintf("%d,%d,%d,%d", m.Phase, tree.Position(m.Src), tree.Position(m.Dst), r.dlid(m.Src, m.Dst))
		expect.True(t, lines[i+1] == want, "%s, want %s", lines[i+1], want)
	}
}

// TestPathsWithoutSchedule have no phases, and lack the messages left out.
func TestPathsWithoutSchedule(t *testing.T) {
	tree := treeOf(t, "FT(2;1,3)", "leaf0-spine0")
	p := build(t, tree, plan.Options{Routing: routing.Ftree, DropUnreachable: true})
	var b bytes.Buffer
	expect.Must(t, compute(t, p, networkOf(t, tree.Wires, 0), 0).writePaths(&b))
	want := "phase,src,dst,dlid\n-,1,2,3\n-,2,1,2\n"
	expect.True(t, b.String() == want, "%q, want %q", b.String(), want)
}

// Over parallel cables a plan with few paths takes the least LIDs for which tables hold its paths: one where each
// leaf has a path and those through a spine share a cable down. Compute checks each message.
func TestCablesOneLID(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 7))
	for range 60 {
		tree := topologytest.Cables(t, rng, 6, 7, 6)
		for o, most := range map[schedules.Objective]int{schedules.FewestPaths: 0, schedules.FewestPhases: maxLMC} {
			p := build(t, tree, plan.Options{Schedule: "fors", Routing: routing.Pinned, Objective: o})
			r := expect.Value(Compute(p, networkOf(t, tree.Wires, 0), Options{Renumber: true}))(t)
			takesCables(t, 0, r)
			expect.True(t, r.need == p.Paths.LMC && r.need <= most, "%s, %s: LMC %d, planned %d", tree.Notation(), o, r.need, p.Paths.LMC)
		}
	}
	for _, name := range []string{"minhop", "dmodc"} { // the tables of engines have one path
		tree := topologytest.Cables(t, rng, 6, 7, 6)
		p := build(t, tree, plan.Options{Schedule: "linear-shift", Routing: name})
		expect.Equal(t, expect.Value(Compute(p, networkOf(t, tree.Wires, 0), Options{Renumber: true}))(t).need, 0, "needed LMC of %s", name)
	}
	single := options(t, topology.Options{Ports: 4, Leaves: 4})
	_, err := Compute(build(t, single, plan.Options{Schedule: "fors", Objective: schedules.FewestPaths}), networkOf(t, single.Wires, 0), Options{LMC: 2})
	expect.Error(t, err, "the plan needs LMC 2 and hosts have 0")
	expect.False(t, strings.Contains(err.Error(), "several cables"), "a tree with single cables: %v", err)
	for _, o := range []topology.Options{{Ports: 4, Leaves: 4, Spines: 4, Cables: 2}, {Ports: 9, Leaves: 4, Spines: 3, Cables: 3}, {Ports: 20, Leaves: 18, Spines: 10, Cables: 2}} {
		p := build(t, options(t, o), plan.Options{Schedule: "fors", Objective: schedules.FewestPaths})
		n := networkOf(t, p.Tree.Wires, 0)
		for _, lmc := range []int{0, 2} { // more LIDs do no harm
			r := expect.Value(Compute(p, n, Options{LMC: lmc, Renumber: true}))(t)
			takesCables(t, 0, r)
			expect.Equal(t, r.need, 0, "needed LMC")
		}
	}
}
