package lft

import (
	"cmp"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/network"
)

// Options of Check. The zero value checks that routes arrive.
type Options struct {
	// Ranks are the levels of all nodes, hosts 0, as fabric.Ranks gives them. With them Check looks
	// for routes that go up after having gone down.
	Ranks []int
	// First is how many offences are kept. 0 means 10.
	First int
	// Disconnected says which hosts are in different networks by design (network.Disconnected); nil: none.
	Disconnected func(a, b network.Node) bool
}

// A Report describes the effect of tables on all ordered pairs of a host and a LID of another host:
// one LID each with LMC 0.
type Report struct {
	Engine   string `json:"engine"`
	Network  string `json:"network"`
	Hosts    int    `json:"hosts"`
	Switches int    `json:"switches"`
	LIDs     int    `json:"lids"` // of hosts

	Pairs       int64 `json:"pairs"`
	Reached     int64 `json:"reached"`
	Unreachable int64 `json:"unreachable"` // the sum of the next five
	NoEntry     int64 `json:"no_entry"`
	DeadPorts   int64 `json:"dead_ports"`
	Loops       int64 `json:"loops"`
	WrongHost   int64 `json:"wrong_host"`
	NoCable     int64 `json:"no_cable"`

	// NoLID are the pairs to hosts without a LID, of which Unnamed is the first; nothing above counts
	// them.
	NoLID   int64  `json:"no_lid,omitempty"`
	Unnamed string `json:"first_without_lid,omitempty"`

	// Disconnected are pairs in networks that no cable joins by design; nothing above counts them.
	Disconnected int64 `json:"pairs_apart,omitempty"`

	// Hops counts the pairs reached by the number of switches on their route.
	Hops []int64 `json:"hops"`
	// Ranked is whether ranks were given. UpAfterDown is how many of the reached pairs go up after
	// having gone down. Between switches of equal rank, up is towards the smaller GUID, as for
	// OpenSM.
	Ranked      bool  `json:"ranked"`
	UpAfterDown int64 `json:"up_after_down"`

	// Others are the nodes that have LIDs and are no hosts, such as aggregation nodes, OtherLIDs their
	// LIDs. OtherPairs are pairs of a switch with hosts and such a LID, of which OtherUnreachable
	// have no route; nothing above counts them.
	Others           int   `json:"others,omitempty"`
	OtherLIDs        int   `json:"other_lids,omitempty"`
	OtherPairs       int64 `json:"other_pairs,omitempty"`
	OtherUnreachable int64 `json:"other_unreachable,omitempty"`

	// MissingEntries and DeadEntries count the entries of all switches with a
	// cable, used by a route or not, that name no port or a dead one.
	MissingEntries int64 `json:"missing_entries"`
	DeadEntries    int64 `json:"dead_entries"`

	Offences []Offence `json:"offences"` // the first, by LID and then leaf
}

// OK reports whether every host reaches every other, and all that has a LID.
func (r *Report) OK() bool { return r.Unreachable+r.OtherUnreachable == 0 }

// Check follows the routes of all pairs. Routes to one LID make a forest, so each
// switch is looked at once for each LID; it is exact for any number of hosts.
// O(S · LIDs) time, O(S) memory for each worker.
func Check(t *Tables, o Options) *Report {
	g := newGraph(t.Net)
	visitors := lists.Tabulate(parallel.Workers(0), func(w int) *checker { return newChecker(t, g, o) })
	sweep(t, g, visitors)
	r := &Report{
		Engine: t.Engine, Network: t.Net.Notation, Hosts: t.Net.Hosts(), Switches: t.Net.Switches(),
		Others: t.Net.Others(), Ranked: o.Ranks != nil, Hops: []int64{}, Offences: []Offence{},
	}
	var faults [faultCount]int64
	for _, v := range visitors {
		r.add(&v.report)
		for f, pairs := range v.faults {
			faults[f] += pairs
		}
	}
	r.NoEntry, r.DeadPorts, r.Loops = faults[NoEntry], faults[DeadPort], faults[Loop]
	r.WrongHost, r.NoCable = faults[WrongHost], faults[NoCable]
	slices.SortFunc(r.Offences, func(a, b Offence) int { return cmp.Or(a.LID-b.LID, int(a.leaf-b.leaf)) })
	r.Offences = r.Offences[:min(len(r.Offences), visitors[0].first)]
	for h := range network.Node(t.Net.Hosts()) {
		if t.Net.Info(h).LID == 0 {
			if r.NoLID += int64(r.Hosts - 1); r.Unnamed == "" {
				r.Unnamed = t.Net.Info(h).Name
			}
		}
		if t.Net.Leaf(h).Node == network.NoNode { // hears from no host, and Check has not seen it as a source
			others := int64(r.LIDs)
			if i := t.Net.Info(h); i.LID > 0 {
				others -= 1 << i.LMC
			}
			r.Pairs += others
			r.NoCable += others
		}
	}
	r.Unreachable = r.NoEntry + r.DeadPorts + r.Loops + r.WrongHost + r.NoCable
	r.Reached = r.Pairs - r.Unreachable
	return r
}

func (r *Report) add(x *Report) {
	r.LIDs += x.LIDs
	r.Pairs += x.Pairs
	r.Disconnected += x.Disconnected
	r.UpAfterDown += x.UpAfterDown
	r.OtherLIDs += x.OtherLIDs
	r.OtherPairs += x.OtherPairs
	r.OtherUnreachable += x.OtherUnreachable
	r.MissingEntries += x.MissingEntries
	r.DeadEntries += x.DeadEntries
	for len(r.Hops) < len(x.Hops) {
		r.Hops = append(r.Hops, 0)
	}
	for i, c := range x.Hops {
		r.Hops[i] += c
	}
	r.Offences = append(r.Offences, x.Offences...)
}

// A checker is the visitor of Check.
type checker struct {
	t      *Tables
	g      *graph
	tree   *forest
	wired  []bool // switches with a cable
	height []int32
	up     []uint8 // of the rest of the route from a switch: goesUp, illegal
	first  int
	apart  func(a, b network.Node) bool
	report Report            // without faults
	faults [faultCount]int64 // pairs
}

func newChecker(t *Tables, g *graph, o Options) *checker {
	c := &checker{t: t, g: g, tree: newForest(g), first: o.First, apart: o.Disconnected, wired: make([]bool, t.Net.Switches())}
	if c.first <= 0 {
		c.first = 10
	}
	for i := range c.wired {
		for _, e := range t.Net.Ends(t.Net.Switch(i)) {
			c.wired[i] = c.wired[i] || e.Node != network.NoNode
		}
	}
	if o.Ranks != nil {
		c.height, c.up = heights(t.Net, o.Ranks), make([]uint8, t.Net.Switches())
	}
	return c
}

// heights orders switches such that a step is up where it leads to a greater
// height: by rank, and among equals from the greater to the smaller GUID, as
// OpenSM's updn does (osm_ucast_updn.c).
func heights(n *network.Network, ranks []int) []int32 {
	order := lists.Range[int](n.Switches())
	slices.SortFunc(order, func(a, b int) int {
		va, vb := n.Switch(a), n.Switch(b)
		return cmp.Or(ranks[va]-ranks[vb], cmp.Compare(n.Info(vb).GUID, n.Info(va).GUID), a-b)
	})
	height := make([]int32, len(order))
	for h, i := range order {
		height[i] = int32(h)
	}
	return height
}

func (c *checker) visit(lid int, dst network.Node, column []uint8) {
	c.tree.begin(dst, column)
	if c.g.n.IsOther(dst) {
		c.other(lid, dst)
		return
	}
	c.report.LIDs++
	c.entries(column)
	for _, l := range c.g.leaves {
		pairs := int64(c.g.sources(l, dst))
		if pairs == 0 {
			continue
		}
		if c.apart != nil && c.apart(l.first, dst) {
			c.report.Disconnected += pairs
			continue
		}
		c.report.Pairs += pairs
		hops := c.tree.follow(l.sw)
		if hops < 0 {
			f := c.fault(dst, hops)
			c.faults[f] += pairs
			c.keep(f.String(), l, dst, lid)
			continue
		}
		for int(hops) >= len(c.report.Hops) {
			c.report.Hops = append(c.report.Hops, 0)
		}
		c.report.Hops[hops] += pairs
	}
	if c.height != nil {
		c.legality(lid, dst, column)
	}
}

// other follows the routes of leaves to one of the network's others.
func (c *checker) other(lid int, dst network.Node) {
	c.report.OtherLIDs++
	for _, l := range c.g.leaves {
		c.report.OtherPairs++
		if hops := c.tree.follow(l.sw); hops < 0 {
			c.report.OtherUnreachable++
			c.keep(c.fault(dst, hops).String(), l, dst, lid)
		}
	}
}

// fault says why a route with such hops does not arrive.
func (c *checker) fault(dst network.Node, hops int32) Fault {
	if c.g.n.Leaf(dst).Node == network.NoNode {
		return NoCable
	}
	return fault(hops)
}

func (c *checker) keep(kind string, l leaf, dst network.Node, lid int) {
	if len(c.report.Offences) < c.first {
		c.report.Offences = append(c.report.Offences, c.t.offence(kind, l, dst, lid))
	}
}

func (c *checker) entries(column []uint8) {
	for i, p := range column {
		switch {
		case !c.wired[i]:
		case p == NoPort:
			c.report.MissingEntries++
		case p == 0 || c.g.next(int32(i), p) == nowhere:
			c.report.DeadEntries++
		}
	}
}

const (
	goesUp  = 1
	illegal = 2 // down, and then up
)

// legality finds the routes to a LID that go up after having gone down. Switches
// nearer to the destination come first, so each needs only the next one.
func (c *checker) legality(lid int, dst network.Node, column []uint8) {
	for _, i := range c.tree.done {
		c.up[i] = 0
		if c.tree.hops[i] <= 1 {
			continue
		}
		next := c.g.next(i, column[i])
		c.up[i] = c.up[next]
		if c.height[next] > c.height[i] {
			c.up[i] |= goesUp
		} else if c.up[next]&goesUp != 0 {
			c.up[i] |= illegal
		}
	}
	for _, l := range c.g.leaves {
		if pairs := c.g.sources(l, dst); pairs > 0 && c.tree.hops[l.sw] > 0 && c.up[l.sw]&illegal != 0 {
			c.report.UpAfterDown += int64(pairs)
			c.keep("up after down", l, dst, lid)
		}
	}
}
