package judge

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/testing/expect"
	"evbench/topology"
)

// measured is what mpiGraph would see with these tables: a pair gets its share of the fullest
// link on its way, and factor(port) of a link.
func measured(t *testing.T, tables *lft.Tables, factor func(network.End) float64) *foreign.Result {
	t.Helper()
	n := tables.Net
	p := &foreign.Pairs{Shifts: true}
	for v := range network.Node(n.Hosts()) {
		p.Names = append(p.Names, n.Info(v).Name)
	}
	for k := 1; k < n.Hosts(); k++ {
		on, ways := map[network.End]float64{}, make([][]network.End, n.Hosts())
		for src := range n.Hosts() {
			dst := (src + k) % n.Hosts()
			route, fault := tables.Route(network.Node(src), int(n.Info(network.Node(dst)).LID))
			expect.MustTrue(t, fault == lft.NoFault, "%v", fault)
			ways[src] = append(route, network.End{Node: network.Node(src), Port: 1})
			for _, e := range ways[src] {
				on[e]++
			}
		}
		for src, way := range ways {
			rate := 1e10
			for _, e := range way {
				rate = min(rate, 1e10*factor(e)/on[e])
			}
			p.List = append(p.List, foreign.Pair{Src: src, Dst: (src + k) % n.Hosts(), Rate: rate, Group: k})
		}
	}
	return &foreign.Result{What: "pairs", Ranks: n.Hosts(), Pairs: p}
}

// Each slow link, of switches and of hosts, is named by the pairs that are slow over it.
func TestPairsNameTheLink(t *testing.T) {
	in := input(t, "FT(2;4,6)", "dmodc")
	n := in.Net
	f := expect.Value(newFabric(in.Whole, in.Net, in.Hosts))(t)
	for _, c := range n.Cables() {
		for _, slow := range []network.End{c.A, c.B} {
			in.Result = measured(t, in.Tables, func(e network.End) float64 {
				if e == slow {
					return 0.3
				}
				return 1
			})
			p, err := f.pairs(in)
			want := "port " + n.EndName(slow)
			for _, h := range []network.End{slow, n.At(slow.Node, int(slow.Port))} {
				if n.IsHost(h.Node) {
					want = n.Info(h.Node).Name + " or its cable"
				}
			}
			if err != nil || len(p.Causes) != 1 || !strings.Contains(p.Causes[0].Name, want) || len(p.Causes[0].Parts) > 1 || p.Scattered != 0 {
				t.Fatalf("%s: %+v, %v", n.EndName(slow), p, err)
			}
		}
	}
}

// together is what ClusterKit would see: each pair once, its slower direction, in rounds whose pairs share links and that the file does not
// tell, where alone is false.
func together(t *testing.T, tables *lft.Tables, alone bool, factor func(network.End) float64) *foreign.Result {
	t.Helper()
	n := tables.Net
	r := &foreign.Result{What: "pairs", Pairs: &foreign.Pairs{Both: true}}
	for v := range network.Node(n.Hosts()) {
		r.Pairs.Names = append(r.Pairs.Names, n.Info(v).Name)
	}
	last := n.Hosts() - 1
	for round := range last {
		on, ways := map[network.End]float64{}, map[[2]int][]network.End{}
		for i := range n.Hosts() / 2 {
			pair := [2]int{(round + i) % last, (round + last - i) % last}
			if i == 0 {
				pair[1] = last
			}
			for k, src := range pair {
				dst := pair[1-k]
				route, fault := tables.Route(network.Node(src), int(n.Info(network.Node(dst)).LID))
				expect.MustTrue(t, fault == lft.NoFault, "%v", fault)
				ways[pair] = append(append(ways[pair], route...), network.End{Node: network.Node(src), Port: 1})
			}
			for _, e := range ways[pair] {
				if on[e]++; alone {
					on[e] = 1
				}
			}
		}
		for pair, way := range ways {
			rate := 1e10
			for _, e := range way {
				rate = min(rate, 1e10*factor(e)/on[e])
			}
			r.Pairs.List = append(r.Pairs.List, foreign.Pair{Src: pair[0], Dst: pair[1], Rate: rate, Group: len(r.Pairs.List)})
		}
	}
	return r
}

// Of pairs whose figures are of both directions the slow link is named. Where it is not known which of them shared links, only hosts are, or
// nobody, and whether all are slow is open.
func TestPairsBoth(t *testing.T) {
	in := input(t, "FT(2;4,4)", "ftree")
	in.Rate = 1e10
	for _, mode := range []struct{ alone, relative bool }{{true, false}, {true, true}, {false, true}} {
		named := map[bool]int{} // by whether it is a link of a host
		for _, c := range append(in.Net.Cables(), network.Cable{}) {
			in.Result = together(t, in.Tables, mode.alone, func(e network.End) float64 {
				if e == c.A {
					return 0.3
				}
				return 1
			})
			in.Result.Pairs.Relative = mode.relative
			p := judged(t, in).Pairs
			slow, host := c.A != c.B, in.Net.IsHost(c.A.Node)
			want := "port " + in.Net.EndName(c.A)
			if host {
				want = in.Net.Info(c.A.Node).Name + " or its cable"
			}
			for _, x := range p.Causes {
				expect.True(t, slow && strings.Contains(x.Name, want), "%+v: %s for %s", mode, x.Name, want)
				named[host]++
			}
			expect.True(t, mode.relative == (p.OfRate == 0) && p.matrix[1] == p.matrix[16], "%+v", p)
		}
		expect.True(t, named[true] == 16 && (named[false] == 16) != mode.relative || !mode.alone, "%+v: %v", mode, named)
	}
}

// Pairs that share links under the tables are not slow, and the linear shift takes as long as
// the tables say.
func TestPairsShare(t *testing.T) {
	in := input(t, "FT(2;4,4)", "opensm-minhop", "leaf0-spine0", "leaf2-spine1")
	in.Rate = 1e10
	in.Result = measured(t, in.Tables, func(network.End) float64 { return 1 })
	v := judged(t, in)
	expect.True(t, v.Pairs.Slow == 0 && v.Pairs.Causes != nil && v.Pairs.Shared != 0 && v.Pairs.OfRate == 1, "%+v", v.Pairs)
	expect.True(t, math.Abs(v.Measured.OfPhased-1) <= 1e-9, "%+v", v.Measured)
	m := v.Pairs.matrix
	expect.True(t, len(m) == 16*16 && math.IsNaN(m[0]) && m[1] != 0, "%v", m)
}

// Without tables slow hosts are named, in whatever order and of however many ranks.
func TestPairsWithoutTables(t *testing.T) {
	in := input(t, "FT(2;2,4)", "")
	p := &foreign.Pairs{Names: []string{"h5", "h1", "h3", "h1"}}
	for src := range p.Names {
		for dst := range p.Names {
			if rate := 1e9; src != dst {
				if src == 0 {
					rate = 4e8
				}
				p.List = append(p.List, foreign.Pair{Src: src, Dst: dst, Rate: rate, Group: len(p.List)})
			}
		}
	}
	hosts, err := HostsOf(p, in.Net)
	expect.MustTrue(t, err == nil && len(hosts.Nodes) == 3, "%v %v", hosts, err)
	in.Hosts, in.Result = hosts, &foreign.Result{What: "pairs", Pairs: p}
	v := judged(t, in)
	expect.True(t, v.Pairs.Count == 10 && v.Pairs.Slow == 3 && v.Pairs.Causes[0].Name == "h5 or its cable to leaf2" && v.Measured == nil,
		"%+v, measured %+v", v.Pairs, v.Measured)
	ranks := foreign.Pairs{Names: p.Names, Shifts: true}
	expect.Error(t, expect.Err(HostsOf(&ranks, in.Net)), "h5 has 1 rank and h1 has 2")
	ranks.Names = []string{"h5", "h1", "h1", "h5"}
	if hosts, err := HostsOf(&ranks, in.Net); err != nil || hosts.Slots != 2 {
		t.Error(hosts, err)
	}
	in.Rate = 5e8
	expect.Error(t, expect.Err(Judge(in)), "half of the pairs got 1 Gbit/s or more, but a link carries 500 Mbit/s")
	in.Rate = 9e8
	if v := judged(t, in); v.Pairs.Above != 7 || math.Abs(v.Pairs.Fastest-10./9) > 1e-9 || v.Pairs.Usual != in.Rate || v.Pairs.Slow != 3 {
		t.Errorf("%+v", v.Pairs)
	}
	in.Rate = 0
	p.Names[0] = "node9"
	expect.True(t, expect.Err(HostsOf(p, in.Net)) != nil, "a host that is not in the network")
	expect.True(t, expect.Err(Judge(in)) != nil, "a host that is not in the network was judged")
}

// Greedy is worth as much as the best of all orders; with slow links nearly.
func TestGreedyIsExact(t *testing.T) {
	draws := 60
	if !expect.All() {
		draws = 6
	}
	for m := 4; m <= 8; m++ {
		for count := 1; count <= 4; count++ {
			for seed := range draws {
				healthy := expect.Value(topology.New(topology.Options{Ports: 4 + (m-4)*(1-seed%2), Leaves: m}))(t)
				dead := expect.Value(healthy.Random(count, uint64(seed)))(t)
				// One draw of ten has slow links in place of some dead ones.
				cut, more := count, 1+1e-9
				if seed%10 == 1 {
					cut, more = count/2, 1.03
				}
				in, slow := input(t, healthy.Notation(), "", topology.LinkNames(dead[:cut])...), map[network.End]float64{}
				if cut < count {
					for _, c := range in.Whole.Cables() {
						slow[c.A] = 1e10
					}
					for i, l := range dead[cut:] {
						low, _ := healthy.Ends(l)
						slow[network.End{Node: in.Whole.Switch(low.Switch), Port: uint8(low.Port + 1)}] = 1e10 / float64(2+i%3)
					}
					in.Net = in.Net.WithRates(slow)
				}
				f, err := newFabric(in.Whole, in.Net, in.Hosts)
				expect.MustTrue(t, err == nil && f.tree != nil, "%v %v", err, f.why)
				faults := f.faults()
				best, quick := f.exact(faults), f.greedy(faults)
				if g, w := sum(quick), sum(best); g > w*more || len(quick) != count {
					t.Errorf("%s without %v: greedy %s, exact %s", healthy.Notation(), f.faults(), values(quick), values(best))
				}
			}
		}
	}
}

func sum(list []Repair) (s float64) {
	for _, r := range list {
		s += r.Phases
	}
	return s
}

func values(list []Repair) (s string) {
	for _, r := range list {
		s += fmt.Sprintf("%s:%.4g ", r.Link, r.Phases)
	}
	return s
}
