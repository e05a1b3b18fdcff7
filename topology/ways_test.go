package topology_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// damaged are views of all shapes without some of their links.
func damaged(t *testing.T) (out []*topology.Tree) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tree := range shapes(t) {
		for range 20 {
			var dead []topology.Link
			for id := range tree.AllLinks() {
				if rng.IntN(4) == 0 {
					dead = append(dead, tree.LinkOf(id))
				}
			}
			out = append(out, expect.Value(tree.Without(dead...))(t))
		}
	}
	return out
}

// The ways of a leaf are the first links of the live paths; those of a switch above are the next ones.
func TestWays(t *testing.T) {
	for _, tree := range damaged(t) {
		for a := range tree.Leaves() {
			for b := range tree.Leaves() {
				want := map[topology.Link]bool{}
				for path := range tree.Paths() {
					if a == b || !tree.PathAlive(a, b, path) {
						continue
					}
					links := tree.PathLinks(a, b, path)
					want[links[0]] = true
					expect.True(t, links[0] == tree.FirstLink(a, path) && links[len(links)-1] == tree.LastLink(b, path), "%s: ends of path %d", tree.Notation(), path)
					if _, high := tree.Ends(links[0]); len(links) > 2 {
						expect.True(t, slices.Contains(slices.Collect(tree.Ways(high.Switch, b)), links[1]), "%s: no way %s to leaf%d", tree.Notation(), links[1], b)
					}
				}
				got := slices.Collect(tree.Ways(a, b))
				expect.True(t, len(got) == len(want) && !slices.ContainsFunc(got, func(l topology.Link) bool { return !want[l] }),
					"%s without %v: leaf%d to leaf%d by %v, want %v", tree.Notation(), tree.DownNames(), a, b, got, want)
			}
		}
	}
}

// From the first switch above its leaf a path that lives leads to the other leaf, port by port.
func TestOnward(t *testing.T) {
	for _, tree := range damaged(t) {
		for a := range tree.Leaves() {
			for b := range tree.Leaves() {
				for path := range tree.Paths() {
					if a == b || !tree.PathAlive(a, b, path) {
						continue
					}
					_, high := tree.Ends(tree.FirstLink(a, path))
					at := high.Switch
					for steps := 0; at != b && steps < 4; steps++ {
						port, ok := tree.Onward(at, b, path)
						expect.MustTrue(t, ok, "%s: path %d ends at %s", tree.Notation(), path, tree.SwitchName(at))
						l, upper, _ := tree.LinkAt(at, port)
						low, high := tree.Ends(l)
						if at = high.Switch; upper {
							at = low.Switch
						}
					}
					expect.True(t, at == b, "%s: path %d from leaf%d ends at %s, not leaf%d", tree.Notation(), path, a, tree.SwitchName(at), b)
				}
			}
		}
	}
}

// The links up from a switch, the ports that lead there, and the leaves below it agree with its ports.
func TestUpwards(t *testing.T) {
	for _, tree := range shapes(t) {
		for sw := range tree.Switches() {
			var up []topology.Link
			below := map[int]bool{}
			for port := range tree.SwitchPorts(sw) {
				if l, upper, ok := tree.LinkAt(sw, port); ok && !upper {
					up = append(up, l)
				} else if ok && !l.Above {
					below[l.Leaf] = true
				}
			}
			first, count := tree.Upward(sw)
			expect.True(t, slices.Equal(slices.Collect(tree.UpLinks(sw)), up) && count == len(up), "%s, %s: up %v", tree.Notation(), tree.SwitchName(sw), up)
			if len(up) > 0 {
				low, _ := tree.Ends(up[0])
				expect.Equal(t, first, low.Port, "first port up")
			}
			for leaf := range tree.Leaves() {
				is := tree.Level(sw) == 2 || below[leaf] || leaf == sw
				expect.True(t, tree.Below(leaf, sw) == is, "%s: leaf%d below %s: %v", tree.Notation(), leaf, tree.SwitchName(sw), !is)
			}
		}
	}
}

// Who sends to whom adds up to the numbers of messages, of all and by leaf.
func TestPairs(t *testing.T) {
	tree := topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 3, Fill: []int{3, 1, 2}})
	for range 2 {
		all, to, most := 0, map[[2]int]int{}, map[int]int{}
		for src, dst := range tree.Pairs {
			expect.True(t, tree.Meets(src, dst), "%d does not meet %d", src, dst)
			all++
			most[src]++
			most[-1-dst]++
			to[[2]int{tree.Leaf(src), tree.Leaf(dst)}]++
		}
		expect.Equal(t, all, tree.Messages(), "messages")
		for a := range tree.Leaves() {
			out, in := tree.Crossing(a)
			for b := range tree.Leaves() {
				if a != b {
					expect.Equal(t, to[[2]int{a, b}], tree.MessagesTo(a, b), "messages between leaves")
					out, in = out-to[[2]int{a, b}], in-to[[2]int{b, a}]
				}
			}
			expect.True(t, out == 0 && in == 0, "leaf%d: %d messages out and %d in are not between leaves", a, out, in)
		}
		for rank := range tree.Servers() {
			expect.Equal(t, max(most[rank], most[-1-rank]), tree.Load(rank), "load")
		}
		tree = expect.Value(tree.WithRoles("leaf0,server6", "leaf1-2"))(t)
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		options         topology.Options
		readers, down   string
		lines, dead, of string
	}{
		{topology.Options{Ports: 2, Leaves: 2}, "", "", "topology FT(2;2,2)\n# fill 2,2\n# down none\n", "0 of 4 links", "4 servers"},
		{topology.Options{Ports: 2, Leaves: 2, Spines: 3, Fill: []int{2, 1}}, "server0", "leaf1-spine2",
			"topology FT(2;2,2)\n# fill 2,1\n# spines 3\n# down leaf1-spine2\n# readers server0\n# builders server0-2\n", "1 of 6 links", "3 servers (1 reader, 3 builders)"},
		{topology.Options{Ports: 2, Leaves: 4, Pods: 2}, "", "leaf0-spine0,pod0-spine1-top0,pod1-spine1-top1",
			"topology FT(3;2,2,2)\n# fill 2,2,2,2\n# down leaf0-spine0,pod0-spine1-top0,pod1-spine1-top1\n", "1 of 8 links and 2 of 8 top links", "8 servers"},
	} {
		var down []string
		if tt.down != "" {
			down = strings.Split(tt.down, ",")
		}
		tree := expect.Value(topologytest.Tree(t, tt.options, down...).WithRoles(tt.readers, ""))(t)
		expect.Equal(t, tree.Words().Lines(), "# "+tt.lines, "lines")
		expect.Equal(t, tree.DeadText(), tt.dead, "dead links")
		expect.Equal(t, tree.ServersText(), tt.of, "servers")
	}
}
