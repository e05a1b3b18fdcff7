package judge

import (
	"fmt"
	"math"
	"slices"

	"evbench/scheduler"
	"evbench/topology"
	"evbench/topology/network"
)

// A fault is a link that is dead or slow: Share of the rate that it should have is left, 0 of
// a dead one. It is one between switches, or the cable of a host.
type fault struct {
	name  string
	share float64
	link  topology.Link // where host is NoNode
	host  network.Node
}

// rates finds the rate of the links, that of the cables that most hosts have, and the cables that are
// slower than most of their kind.
func (f *fabric) rates() {
	var own []network.Cable // of hosts of the job
	for _, v := range f.hosts.Nodes {
		own = append(own, network.Cable{A: network.End{Node: v, Port: 1}, B: f.net.Leaf(v)})
	}
	switches := f.net.SwitchCables()
	host, between := f.net.UsualRate(own), f.net.UsualRate(switches)
	f.slow, f.even = map[network.End]float64{}, true
	if f.rate = host; f.rate == 0 {
		f.rate = between
	}
	note := func(cables []network.Cable, usual float64) {
		for _, c := range cables {
			if r := f.net.Rate(c.A); r > 0 && r < usual {
				f.slow[c.A], f.slow[c.B] = r/usual, r/usual
			}
			f.even = f.even && f.capacity(c.A) == 1
		}
	}
	note(own, host)
	note(switches, between)
	known := 0
	for _, c := range append(own, switches...) {
		if f.net.Rate(c.A) > 0 {
			known++
		}
	}
	if known > 0 {
		f.unstated = len(own) + len(switches) - known
	}
}

// capacity is what the cable at a port carries, as a share of the link rate; 1 where it is not
// known.
func (f *fabric) capacity(at network.End) float64 {
	if r := f.net.Rate(at); r > 0 && f.rate > 0 {
		return r / f.rate
	}
	return 1
}

// port is the lower end of a link of the tree; its port is 0 where there is no cable.
func (f *fabric) port(l topology.Link) network.End {
	c, _ := f.places.Cable(l)
	return c.A
}

// faults are the dead and the slow links of a tree, and the slow cables of its hosts.
func (f *fabric) faults() (out []fault) {
	for _, l := range f.tree.Dead() {
		out = append(out, fault{f.tree.LinkName(l), 0, l, network.NoNode})
	}
	if len(f.slow) == 0 {
		return out
	}
	for id := range f.tree.AllLinks() {
		if l := f.tree.LinkOf(id); f.tree.LinkAlive(l) {
			if share, ok := f.slow[f.port(l)]; ok {
				out = append(out, fault{f.tree.LinkName(l), share, l, network.NoNode})
			}
		}
	}
	for _, v := range f.hosts.Nodes {
		at := network.End{Node: v, Port: 1}
		if share, ok := f.slow[at]; ok {
			out = append(out, fault{f.net.Info(v).Name + "-" + f.name(f.net.Leaf(v).Node), share, topology.Link{}, v})
		}
	}
	return out
}

// slowNames are the slow links with what is left of their rate.
func slowNames(faults []fault) (out []string) {
	for _, x := range faults {
		if x.share > 0 {
			out = append(out, fmt.Sprintf("%s (%s)", x.name, percent(x.share)))
		}
	}
	return out
}

// A limit is a time below which an exchange does not end, in phases of a whole link.
type limit struct {
	phases float64
	scheduler.Bound
	why string // where Bound is not from package scheduler
}

// bound returns the best limit of the tree with some faults only: that of package scheduler, where no
// link has more than the link rate and the tree is not too large for it, and what the capacities of links prove.
func (f *fabric) bound(left []fault) limit {
	var dead []topology.Link
	for _, x := range left {
		if x.share == 0 {
			dead = append(dead, x.link)
		}
	}
	t, err := f.tree.Healthy().Without(dead...)
	if err != nil {
		return limit{phases: math.Inf(1)} // not met: these are links of the tree
	}
	var out limit
	large := t.Levels() == 3 && t.Servers() > planHosts
	if !large && f.atMostOne() {
		b := scheduler.LowerBound(t, scheduler.Options{})
		out = limit{phases: float64(b.Phases), Bound: b}
	}
	if !large && f.even {
		return out
	}
	c := f.capacities(t, left)
	x := c.simple(f)
	if f.even {
		x.phases, x.why = math.Ceil(x.phases-1e-9), "" // whole phases
	}
	if x.phases > out.phases+1e-9 {
		out = x
	}
	if t.Levels() == 2 && !f.even && t.Connected() == nil {
		if x := c.split(); x > out.phases*(1+1e-6) {
			out = limit{x, scheduler.Bound{Kind: scheduler.KindLP}, "no split of the messages over the links, by their rates, loads the fullest less"}
		}
	}
	return out
}

// atMostOne reports whether no cable between switches would be faster than the link rate.
func (f *fabric) atMostOne() bool {
	return f.rate == 0 || f.net.UsualRate(f.net.SwitchCables()) <= f.rate
}

// capacities are those of the links of a tree, by LinkID, and of its slowest host.
type capacities struct {
	t    *topology.Tree
	link []float64
	host float64
	name string // of that host
}

func (f *fabric) capacities(t *topology.Tree, left []fault) *capacities {
	c := &capacities{t: t, link: make([]float64, t.AllLinks()), host: 1}
	usual := 1.0
	if r := f.net.UsualRate(f.net.SwitchCables()); r > 0 && f.rate > 0 {
		usual = r / f.rate
	}
	for id := range c.link {
		if c.link[id] = usual; !t.LinkAlive(t.LinkOf(id)) {
			c.link[id] = 0
		}
	}
	for _, x := range left {
		switch {
		case x.share == 0:
		case x.host != network.NoNode:
			if x.share < c.host {
				c.host, c.name = x.share, x.name
			}
		default:
			c.link[t.LinkID(x.link)] = usual * x.share
		}
	}
	return c
}

func (c *capacities) path(a, b, path int) float64 {
	least := math.Inf(1)
	for _, l := range c.t.PathLinks(a, b, path) {
		least = min(least, c.link[c.t.LinkID(l)])
	}
	return least
}

// simple returns the best limit by the cable of a host, the links of a leaf, and those of a
// pod. O(links).
func (c *capacities) simple(f *fabric) limit {
	t, s := c.t, c.t.Servers()
	out := limit{float64(s-1) / c.host, scheduler.Bound{Kind: scheduler.KindServer}, fmt.Sprintf("each host has %d messages to send, one after the other", s-1)}
	if c.host < 1 {
		out.why = fmt.Sprintf("a host has %d messages to send over %s, a link of %s of the usual rate", s-1, c.name, percent(c.host))
	}
	leaf, pod := make([]float64, t.Leaves()), map[int]float64{}
	for id, x := range c.link {
		if l := t.LinkOf(id); l.Above {
			pod[l.Leaf] += x
		} else {
			leaf[l.Leaf] += x
		}
	}
	for i, sum := range leaf {
		n := t.On(i)
		if x := float64(n*(s-n)) / sum; n > 0 && n < s && x > out.phases*(1+1e-9) {
			why := fmt.Sprintf("the %d hosts of %s have %d messages for other leaves, over links of %.4g times the link rate in all", n, f.name(f.places.Node(i)), n*(s-n), sum)
			out = limit{x, scheduler.Bound{Kind: scheduler.KindLeaf, Leaf: i}, why}
		}
	}
	if t.Levels() == 3 {
		on := make([]int, t.Pods())
		for i := range leaf {
			on[t.Pod(i)] += t.On(i)
		}
		for i, n := range on {
			if x := float64(n*(s-n)) / pod[i]; n > 0 && n < s && x > out.phases*(1+1e-9) {
				why := fmt.Sprintf("the %d hosts of pod %d have %d messages for other pods, over links of %.4g times the link rate in all", n, i, n*(s-n), pod[i])
				out = limit{x, scheduler.Bound{Kind: scheduler.KindPod, Leaf: i}, why}
			}
		}
	}
	return out
}

// split returns what weights of links prove of two levels, near the best: whatever spines the
// messages take, those of leaves a and b put n_a·n_b times the least weight of a path on the
// links, and links of capacity c carry c times their weight in a phase. One pair of leaves
// after the other takes its lightest path, which makes that heavier (Garg and Könemann, 1998,
// with rounds of all pairs in place of their lengths of steps). Any weights prove a limit. Parallel
// cables count as one of their capacity in all.
func (c *capacities) split() (best float64) {
	t := c.t
	spines := t.Spines()
	capacity := make([]float64, t.Leaves()*spines)
	for id, x := range c.link {
		l := t.LinkOf(id)
		capacity[l.Leaf*spines+l.Spine] += x
	}
	weight, load := make([]float64, len(capacity)), make([]float64, len(capacity))
	for i := range weight {
		weight[i] = 1
	}
	lightest := func(a, b int) (least float64, at int) {
		least = math.Inf(1)
		for k := range spines {
			if x := weight[a*spines+k] + weight[b*spines+k]; x < least && capacity[a*spines+k] > 0 && capacity[b*spines+k] > 0 {
				least, at = x, k
			}
		}
		return least, at
	}
	rounds, most := min(splitRounds, max(10, splitWork/(t.Leaves()*t.Leaves()*spines))), float64(t.Servers())
	for range rounds {
		total, sum := 0.0, 0.0
		for i, x := range capacity {
			sum += weight[i] * x
		}
		for a := range t.Leaves() {
			for b := range a {
				if n := float64(t.On(a) * t.On(b)); n > 0 {
					least, _ := lightest(a, b)
					total += n * least
				}
			}
		}
		best = max(best, total/sum)
		clear(load)
		for a := range t.Leaves() {
			for b := range a {
				n := float64(t.On(a) * t.On(b))
				if n == 0 {
					continue
				}
				_, k := lightest(a, b)
				for _, i := range [2]int{a*spines + k, b*spines + k} {
					load[i] += n
					weight[i] *= math.Exp(splitStep * n / capacity[i] / most)
				}
			}
		}
		most = 0
		for i, x := range capacity {
			if x > 0 {
				most = max(most, load[i]/x)
			}
		}
		if top := slices.Max(weight); top > 1e100 {
			for i := range weight {
				weight[i] /= top
			}
		}
	}
	return best
}

const (
	splitWork   = 20_000_000 // pairs of leaves times spines times rounds
	splitRounds = 400
	splitStep   = 0.1
)
