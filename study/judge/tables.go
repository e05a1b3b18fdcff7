package judge

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/internal/parallel"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/network"
)

// Tables are the limits that forwarding tables set for an all-to-all exchange.
type Tables struct {
	Engine string `json:"engine"`
	// Phased is the share of the link rate with the linear shift in the order of ranks, with each
	// phase as long as its fullest link needs. Where messages have sizes there are no phases.
	Phased float64 `json:"phased_efficiency,omitempty"`
	// Phases is that duration, in phases without sharing. Counted is how many of its phases were
	// followed.
	Phases  float64 `json:"phases,omitempty"`
	Counted int     `json:"phases_counted,omitempty"`
	// Unphased is the largest share when all messages flow at once: the fullest link decides.
	Unphased float64 `json:"unphased_efficiency"`
	Routes   int64   `json:"most_routes"` // over that link
	// Links are the fullest directed links. LinksAt is how many links have Routes.
	Links   []LinkLoad `json:"links"`
	LinksAt int        `json:"links_at_most"`

	// Decides says that Links take longer than the cables of hosts.
	Decides bool `json:"links_decide"`

	loads []lft.PortLoad // of all links between switches that have some
	over  *lft.Exchange
}

// A LinkLoad is how many routes of the exchange pass a link in one direction.
type LinkLoad struct {
	Direction
	Routes int64 `json:"routes"`
	// Capacity is the rate of the link, as a share of the link rate, if it is not the whole.
	Capacity float64 `json:"capacity,omitempty"`
	// Pairs are the first host pairs of these routes. Routes is their number.
	Pairs []HostPair `json:"pairs,omitempty"`
}

// A HostPair is a route from a host to another.
type HostPair struct {
	Src string `json:"src"`
	Dst string `json:"dst"`
}

const (
	mostLinks  = 5    // that are named
	allPhases  = 4096 // hosts up to which every phase is followed
	somePhases = 512  // that are drawn of more hosts
)

// tables judges forwarding tables. Tables without a route between two hosts of the job are an
// error.
func (f *fabric) tables(t *lft.Tables) (*Tables, error) {
	for _, v := range f.hosts.Nodes {
		if t.Net.Info(v).LID == 0 {
			return nil, fmt.Errorf("%s has no LID, so no message reaches it: leave it out of --hosts", f.name(v))
		}
	}
	x, err := t.Exchange(lft.Job{Nodes: f.hosts.Nodes, Host: f.hosts.Host, Skip: func(src, dst int) bool { return f.traffic.size(src, dst) == 0 }})
	if err != nil {
		return nil, f.ofTables(t, err)
	}
	out := &Tables{Engine: t.Engine, Routes: f.traffic.most, loads: f.loads(x), over: x}
	f.fullest(out)
	if f.traffic.bytes != nil {
		return out, nil
	}
	times := f.times(x, f.shifts())
	out.Counted = len(times)
	out.Phases = lists.Sum(times, func(x float64) float64 { return x }) / float64(len(times)) * float64(f.traffic.phases())
	out.Phased = float64(f.traffic.most) / out.Phases
	return out, nil
}

// ofTables says of which tables an error is.
func (f *fabric) ofTables(t *lft.Tables, err error) error {
	if f.tablesFile != "" && t.Engine == readTables {
		return within(f.tablesFile, err)
	}
	return within(origin(t.Engine), err)
}

// loads are what all messages put on the links between switches that have some, by switch and port. O(hosts² + leaves · hosts · hops).
func (f *fabric) loads(x *lft.Exchange) (out []lft.PortLoad) {
	sum, amount, first := make([]int64, len(x.Ports)), make([]int64, x.Hosts), make([]int, x.Hosts) // by number of alike hosts
	for src, a := range slices.Backward(x.Alike) {
		first[a] = src
	}
	var way []int32
	for dst := range x.Hosts {
		clear(amount)
		for src, a := range x.Alike {
			amount[a] += f.traffic.size(src, dst)
		}
		for a, n := range amount {
			if n == 0 {
				continue
			}
			way = x.Paths.Append(way[:0], first[a], dst, 0)
			for _, l := range way {
				sum[l] += n
			}
		}
	}
	for l := 2 * x.Hosts; l < len(sum); l++ {
		out = append(out, lft.PortLoad{End: x.Ports[l], Routes: sum[l]})
	}
	slices.SortFunc(out, func(a, b lft.PortLoad) int {
		return cmp.Or(cmp.Compare(a.End.Node, b.End.Node), cmp.Compare(a.End.Port, b.End.Port))
	})
	return out
}

// fullest finds the links that take longest for all routes of an exchange.
func (f *fabric) fullest(out *Tables) {
	out.Links = []LinkLoad{} // in JSON a list, also of none
	most, own := 0.0, 0.0    // of links between switches, and of hosts
	time := func(l lft.PortLoad) float64 { return float64(l.Routes) / f.capacity(l.End) }
	for _, l := range out.loads {
		most = max(most, time(l))
	}
	each := float64(f.traffic.most)
	for i, v := range f.hosts.Nodes {
		own = max(own, float64(max(f.traffic.sent[i], f.traffic.received[i]))/f.capacity(network.End{Node: v, Port: 1}))
	}
	out.Unphased = each / max(most, own)
	out.Decides = most > own*(1+1e-9)
	for _, l := range out.loads {
		if time(l) < most*(1-1e-9) {
			continue
		}
		out.Routes = max(out.Routes, l.Routes)
		if out.Decides {
			out.Routes = l.Routes
		}
		if out.LinksAt++; out.LinksAt <= mostLinks {
			x := LinkLoad{Direction: f.direction(l.End), Routes: l.Routes}
			if c := f.capacity(l.End); c != 1 {
				x.Capacity = c
			}
			out.Links = append(out.Links, x)
		}
	}
}

// shifts are the steps of the linear shift over the hosts of the job, in the order of their ranks, or from readers to builders; for
// many hosts some of them.
func (f *fabric) shifts() (by []int) {
	from, to := f.traffic.sides()
	n := max(len(from), len(to))
	if n <= allPhases {
		for k := n - f.traffic.phases(); k < n; k++ {
			by = append(by, k)
		}
		return by
	}
	p, dst := lft.SomeShifts(n, somePhases, 1), make([]int32, n)
	for k := range p.Phases {
		p.Fill(k, dst)
		by = append(by, int(dst[0]))
	}
	return by
}

// times are how long shifts take, each as long as its fullest link needs for its rate. O(shifts · hosts · hops).
func (f *fabric) times(x *lft.Exchange, by []int) []float64 {
	from, to := f.traffic.sides()
	carries := lists.Map(x.Ports, f.capacity)
	type state struct {
		on  []float64 // messages, by link
		way []int32
	}
	states, times := make([]state, parallel.Workers(0)), make([]float64, len(by))
	parallel.Each(len(states), len(by), func(w, k int) {
		s := &states[w]
		if s.on == nil {
			s.on = make([]float64, len(carries))
		}
		s.way = s.way[:0]
		for i, src := range from {
			if j := (i + by[k]) % max(len(from), len(to)); j < len(to) && f.traffic.size(src, to[j]) > 0 {
				s.way = x.Paths.Append(append(s.way, int32(src), int32(x.Hosts+to[j])), src, to[j], 0)
			}
		}
		for _, l := range s.way {
			s.on[l]++
			times[k] = max(times[k], s.on[l]/carries[l])
		}
		for _, l := range s.way {
			s.on[l] = 0
		}
	})
	return times
}

const mostPairs = 100

// sharers names the first pairs whose routes pass the fullest links, by receiver and then sender.
func (f *fabric) sharers(t *Tables) {
	x := t.over
	var way []int32
	for i := range t.Links {
		l := &t.Links[i]
		at := int32(slices.Index(x.Ports, l.end))
		for dst, to := range f.hosts.Nodes {
			if x.Tables.Port(l.end.Node, int(f.net.Info(to).LID)) != l.end.Port {
				continue // no route to it leaves by this port
			}
			for src, from := range f.hosts.Nodes {
				if !x.Meets(src, dst) || len(l.Pairs) == mostPairs {
					continue
				}
				if way = x.Paths.Append(way[:0], src, dst, 0); slices.Contains(way, at) {
					l.Pairs = append(l.Pairs, HostPair{f.net.Info(from).Name, f.net.Info(to).Name})
				}
			}
		}
	}
}

// alternatives are engines beside that of the tables.
var alternatives = []string{"ftree", "opensm-minhop", "dmodc", "dfsssp"}

// rerouted judges the tables of other engines, the best first.
func (f *fabric) rerouted(in Input, say *notes) (all []Tables) {
	if len(f.hosts.Nodes) > planHosts {
		say.add("no other engine was tried: more than %d hosts", planHosts)
		return nil
	}
	for _, name := range alternatives {
		if name == in.Tables.Engine && in.TablesFile == "" { // these are its tables
			continue
		}
		t, err := engines.Compute(name, in.Net, engines.Options{Roots: in.Roots})
		if err != nil {
			say.add("not tried: %v", err)
			continue
		}
		out, err := f.tables(t)
		if err != nil {
			say.add("engine %s: %v", name, err)
			continue
		}
		out.Engine = name
		all = append(all, *out)
	}
	slices.SortStableFunc(all, func(a, b Tables) int {
		return cmp.Or(cmp.Compare(a.Phases, b.Phases), cmp.Compare(b.Unphased, a.Unphased))
	})
	return all
}

// A Rail is the adapters with the same number on all hosts.
type Rail struct {
	Rail     int      `json:"rail"`
	Leaves   []string `json:"leaves"`
	Adapters int      `json:"adapters"`
	// Phases is how long its adapters, and the links of its leaves, need. Efficiency is the
	// resulting share of the link rate. Tables is the limit of the fullest link of these leaves
	// under the tables, 0 without.
	Phases     float64 `json:"phases"`
	Efficiency float64 `json:"efficiency"`
	Tables     float64 `json:"tables_unphased_efficiency,omitempty"`
}

// rails returns the limits of each rail, where the adapters of hosts are on several leaves.
func (f *fabric) rails(faults []fault, tables *Tables) (out []Rail) {
	var on [][]int // leaves, by rail
	if f.traffic.host == nil {
		return nil
	}
	rank := make([]int, len(f.job))
	for r, i := range f.job {
		rank[i] = r
	}
	apart, nth, first := false, map[int]int{}, map[int]int{} // by host: adapters so far, the leaf of its first
	for i, h := range f.traffic.host {
		n, leaf := nth[h], f.tree.Leaf(rank[i])
		if n == len(on) {
			on, out = append(on, nil), append(out, Rail{Rail: n})
		}
		if n == 0 {
			first[h] = leaf
		}
		apart = apart || first[h] != leaf
		nth[h]++
		on[n] = append(on[n], leaf)
		most := float64(max(f.traffic.sent[i], f.traffic.received[i]))
		out[n].Adapters, out[n].Efficiency = out[n].Adapters+1, max(out[n].Efficiency, most)
	}
	if !apart {
		return nil
	}
	c := f.capacities(f.tree, faults)
	for n := range out {
		r := &out[n]
		most := r.Efficiency
		r.Phases = most
		for leaf := range f.tree.Leaves() {
			if !slices.Contains(on[n], leaf) {
				continue
			}
			r.Leaves = append(r.Leaves, f.name(f.places.Node(leaf)))
			for _, w := range f.flows(leaf, leaf+1) {
				r.Phases = max(r.Phases, w.amount/c.ofLeaf(leaf))
			}
		}
		if r.Efficiency = most / r.Phases; tables != nil {
			r.Tables = most / max(most, f.fullestOf(tables, on[n]))
		}
	}
	return out
}

// fullestOf returns the longest time of a link up from some leaves, or down to them.
func (f *fabric) fullestOf(t *Tables, leaves []int) (most float64) {
	in := map[network.Node]bool{}
	for _, l := range leaves {
		in[f.places.Node(l)] = true
	}
	for _, l := range t.loads {
		if in[l.End.Node] || in[f.net.At(l.End.Node, int(l.End.Port)).Node] {
			most = max(most, float64(l.Routes)/f.capacity(l.End))
		}
	}
	return most
}
