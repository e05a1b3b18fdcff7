package judge

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"evbench/scheduler"
	"evbench/site/network"
	"evbench/topology"
)

// A traffic holds what the servers of an exchange send each other: a message each or bytes, none
// within a host. Servers are adapters, by their places in the job.
type traffic struct {
	host          []int   // of each server; nil: each is a host of its own
	reads, builds []bool  // nil: every server does both
	bytes         []int64 // by src·servers + dst; nil: a message each
	servers       int

	sent, received []int64
	most           int64 // that one server sends, or receives
}

// newTraffic sums what servers send and receive.
func newTraffic(x traffic) (traffic, error) {
	x.sent, x.received = make([]int64, x.servers), make([]int64, x.servers)
	if x.plain() {
		each := []int64{int64(x.servers - 1)}
		x.sent, x.most = slices.Repeat(each, x.servers), each[0]
		x.received = x.sent
		return x, nil
	}
	for i := range x.servers {
		for j := range x.servers {
			n := x.size(i, j)
			x.sent[i] += n
			x.received[j] += n
		}
	}
	for i := range x.servers {
		x.most = max(x.most, x.sent[i], x.received[i])
	}
	if x.most == 0 {
		return x, errors.New("no server has a message for a server of another host")
	}
	return x, nil
}

// plain reports whether every server has a message for every other one.
func (x *traffic) plain() bool { return x.host == nil && x.reads == nil && x.bytes == nil }

// size returns the amount that one server sends another over the network.
func (x *traffic) size(src, dst int) int64 {
	switch {
	case network.OneHost(x.host, src, dst):
		return 0
	case x.bytes != nil:
		return x.bytes[src*x.servers+dst]
	case x.reads != nil && !(x.reads[src] && x.builds[dst]):
		return 0
	}
	return 1
}

// amounts names the unit of the traffic.
func (x *traffic) amounts(n int64) string {
	if x.bytes != nil {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d messages", n)
}

// who returns the plural noun for the servers of a leaf.
func (x *traffic) who(sending bool) string {
	switch {
	case x.reads != nil && sending:
		return "readers"
	case x.reads != nil:
		return "builders"
	case x.host != nil:
		return "adapters"
	}
	return "hosts"
}

// sides are the sending and the receiving servers.
func (x *traffic) sides() (from, to []int) {
	for i := range x.servers {
		if x.reads == nil || x.reads[i] {
			from = append(from, i)
		}
		if x.reads == nil || x.builds[i] {
			to = append(to, i)
		}
	}
	return from, to
}

// phases is the number of phases of the linear shift; if all send to all, without self messages.
func (x *traffic) phases() int {
	if x.reads == nil {
		return x.servers - 1
	}
	from, to := x.sides()
	return max(len(from), len(to))
}

// between returns the traffic from leaf to leaf, by a·leaves + b, without traffic within a leaf.
func (f *fabric) between() []float64 {
	leaf, leaves := f.tree.LeafOfRanks(), f.tree.Leaves()
	out := make([]float64, leaves*leaves)
	if f.traffic.plain() {
		for a := range leaves {
			for b := range leaves {
				if a != b {
					out[a*leaves+b] = float64(f.tree.ServersOn(a) * f.tree.ServersOn(b))
				}
			}
		}
		return out
	}
	for i, a := range leaf {
		for j, b := range leaf {
			if a != b {
				out[a*leaves+b] += float64(f.traffic.size(f.job[i], f.job[j]))
			}
		}
	}
	return out
}

// proven returns the limit that package scheduler proves for a tree of two levels, or for an
// exchange of all with all.
func (f *fabric) proven(t *topology.Tree) limit {
	if f.traffic.plain() {
		b := scheduler.LowerBound(t, scheduler.Options{})
		return limit{phases: float64(b.Phases), Bound: b, why: f.reason(b), whole: true}
	}
	b, _, err := scheduler.BoundBytes(t, func(src, dst int) int64 { return f.traffic.size(f.job[src], f.job[dst]) })
	if err != nil {
		return limit{} // too large: links alone prove something
	}
	out := limit{phases: float64(b.Phases), Bound: b, whole: f.traffic.bytes == nil}
	switch b.Kind {
	case scheduler.KindSend, scheduler.KindReceive:
		out.Kind, out.why = scheduler.KindServer, f.serverWhy(b.At, b.Kind == scheduler.KindSend)
	case scheduler.KindUp, scheduler.KindDown:
		out.Kind, out.why = scheduler.KindLeaf, f.leafWhy(b.At, b.Kind == scheduler.KindUp)
	default:
		out.why = f.reason(out.Bound)
	}
	return out
}

func (f *fabric) serverWhy(rank int, sends bool) string {
	i, x := f.job[rank], &f.traffic
	if sends {
		return fmt.Sprintf("the link of %s is the limit: it sends %s", f.net.Info(f.hosts.Nodes[i]).Name, x.amounts(x.sent[i]))
	}
	return fmt.Sprintf("the link of %s is the limit: it receives %s", f.net.Info(f.hosts.Nodes[i]).Name, x.amounts(x.received[i]))
}

// A flow is the traffic from servers of some leaves to others, or from others.
type flow struct {
	amount  float64
	servers int
	up      bool
}

// flows are the flows of the leaves from..to-1.
func (f *fabric) flows(from, to int) [2]flow { return f.crosses[[2]int{from, to}] }

func (f *fabric) cross(from, to int) [2]flow {
	out, in, t := flow{up: true}, flow{}, f.tree
	for a := from; a < to; a++ {
		for b := range t.Leaves() {
			if b < from || b >= to {
				out.amount += f.demand[a*t.Leaves()+b]
				in.amount += f.demand[b*t.Leaves()+a]
			}
		}
	}
	for rank := t.First(from); rank < t.First(to); rank++ {
		if f.traffic.sent[f.job[rank]] > 0 {
			out.servers++
		}
		if f.traffic.received[f.job[rank]] > 0 {
			in.servers++
		}
	}
	return [2]flow{out, in}
}

func (f *fabric) flowWhy(w flow, where, others string) string {
	verb := "for"
	if !w.up {
		verb = "from"
	}
	return fmt.Sprintf("the %d %s of %s have %s %s %s", w.servers, f.traffic.who(w.up), where, f.traffic.amounts(int64(math.Round(w.amount))), verb, others)
}

// leafWhy says why the live links of a leaf decide, upwards or downwards.
func (f *fabric) leafWhy(leaf int, up bool) string {
	w, verb := f.flows(leaf, leaf+1)[0], "for"
	if !up {
		w, verb = f.flows(leaf, leaf+1)[1], "from"
	}
	return fmt.Sprintf("%s, and %s %s other leaves; %s",
		f.uplinks(leaf, w.servers, f.traffic.who(up)), f.traffic.amounts(int64(math.Round(w.amount))), verb, f.deadOf(leaf))
}

// A Weight is the weight of a link in the proof of a bound. The weights, times the capacities, sum
// up to less than the messages put on them by their lightest paths, over the bound.
type Weight struct {
	Link string `json:"link"`
	Up   int64  `json:"up"`
	Down int64  `json:"down"`
}

// certificate lists the weights of a bound of kind lp.
func (f *fabric) certificate(b scheduler.Bound) (out []Weight) {
	for id := range f.tree.AllLinks() {
		l := f.tree.LinkOf(id)
		if w := int(f.tree.UpWire(l)); w+1 < len(b.Weights) && max(b.Weights[w], b.Weights[w+1]) > 0 {
			out = append(out, Weight{f.tree.LinkName(l), b.Weights[w], b.Weights[w+1]})
		}
	}
	return out
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
