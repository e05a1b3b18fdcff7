package judge

import (
	"fmt"

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

	loads []lft.PortLoad // of all links
}

// A Direction is a link in one direction.
type Direction struct {
	From string `json:"from"`
	To   string `json:"to"`
	Port string `json:"port"` // by which it leaves From

	end network.End
}

// direction names the link that leaves by a port.
func (f *fabric) direction(e network.End) Direction {
	return Direction{f.name(e.Node), f.name(f.net.At(e.Node, int(e.Port)).Node), f.net.EndName(e), e}
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

const (
	mostLinks  = 5    // that are named
	allPhases  = 4096 // hosts up to which every phase is followed
	somePhases = 512  // that are drawn of more hosts
)

func (f *fabric) onlyHosts(t *lft.Tables) *lft.Tables {
	if len(f.hosts.Nodes) == t.Net.Hosts() {
		return t
	}
	in := make([]bool, t.Net.Hosts())
	for _, v := range f.hosts.Nodes {
		in[v] = true
	}
	var out []network.Node
	for v := range network.Node(t.Net.Hosts()) {
		if !in[v] {
			out = append(out, v)
		}
	}
	return t.Clone(t.Engine, t.Net.Without(nil, out))
}

// tables judges forwarding tables. Tables without a route between two hosts of the job are an
// error.
func (f *fabric) tables(t *lft.Tables) (*Tables, error) {
	t = f.onlyHosts(t)
	if err := f.reach(t); err != nil {
		return nil, err
	}
	out := &Tables{Engine: t.Engine, Routes: f.traffic.most}
	if out.loads = lft.Load(t).Routes; !f.traffic.plain() {
		f.count(t, out.loads)
	}
	f.fullest(out)
	if f.traffic.bytes != nil {
		return out, nil
	}
	p := f.shift()
	out.Counted = p.Phases
	slowdown := 0.0
	if f.equal {
		slowdown = lft.Congest(t, p).Slowdown
	} else {
		slowdown = f.phased(t, p)
	}
	out.Phases = slowdown * float64(f.traffic.phases())
	out.Phased = float64(f.traffic.most) / out.Phases
	return out, nil
}

// fullest finds the links that take longest for all routes of an exchange.
func (f *fabric) fullest(out *Tables) {
	most, own := 0.0, 0.0 // of links between switches, and of hosts
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

func (f *fabric) reach(t *lft.Tables) error {
	var pairs int64 // of a host and a LID of another
	for _, v := range f.hosts.Nodes {
		if t.Net.Info(v).LID == 0 {
			return fmt.Errorf("%s has no LID, so no message reaches it: leave it out of --hosts", f.name(v))
		}
		pairs += int64(len(f.hosts.Nodes)-1) << t.Net.Info(v).LMC
	}
	if lft.Check(t, lft.Options{First: 1}).Reached == pairs {
		return nil
	}
	for i, src := range f.hosts.Nodes {
		for j, dst := range f.hosts.Nodes {
			if network.OneHost(f.hosts.Host, i, j) {
				continue
			}
			if _, err := f.route(t, src, dst); err != nil {
				return err
			}
		}
	}
	return nil // what is lost goes to other LIDs
}

// route returns the ports by which a message leaves switches. A lost message is an error.
func (f *fabric) route(t *lft.Tables, src, dst network.Node) ([]network.End, error) {
	lid := int(t.Net.Info(dst).LID)
	way, fault := t.Route(src, lid)
	if fault == lft.NoFault {
		return way, nil
	}
	at := t.Net.Info(t.Net.Leaf(src).Node).Name
	if n := len(way); n > 0 {
		at = t.Net.EndName(way[n-1])
		if fault == lft.NoEntry {
			at = t.Net.Info(t.Net.At(way[n-1].Node, int(way[n-1].Port)).Node).Name
		}
	}
	from := origin(t.Engine)
	if f.tablesFile != "" && t.Engine == readTables {
		from = f.tablesFile
	}
	return nil, fmt.Errorf("%s: no message is taken from %s to %s (LID %d): %s at %s", from, t.Net.Info(src).Name, t.Net.Info(dst).Name, lid, fault, at)
}

// shift is the linear shift over the hosts of the job, in the order of their ranks, or from readers
// to builders; for many hosts only some of its phases.
func (f *fabric) shift() lft.Pattern {
	from, to := f.traffic.sides()
	n, phases := max(len(from), len(to)), f.traffic.phases()
	p := lft.Shifts(n)
	if n > allPhases {
		p = lft.SomeShifts(n, somePhases, 1)
	} else {
		all := p.Fill
		p.Phases, p.Fill = phases, func(phase int, by []int32) { all(phase+n-phases, by) }
	}
	fill := p.Fill
	p.Fill = func(phase int, dst []int32) {
		by := make([]int32, n)
		fill(phase, by)
		for i := range dst {
			dst[i] = -1
		}
		k := max(0, int(by[0])) // reader 0 sends to builder k
		for i, src := range from {
			if j := (i + k) % n; j < len(to) && f.traffic.size(src, to[j]) > 0 {
				dst[f.hosts.Nodes[src]] = int32(f.hosts.Nodes[to[j]])
			}
		}
	}
	return p
}

// count sets the load of each link between switches, for all messages. O(hosts² · hops).
func (f *fabric) count(t *lft.Tables, loads []lft.PortLoad) {
	at := map[network.End]int{}
	for i := range loads {
		at[loads[i].End], loads[i].Routes = i, 0
	}
	for to, dst := range f.hosts.Nodes {
		lid, below := int(t.Net.Info(dst).LID), map[network.Node]int64{} // by leaf
		for from, src := range f.hosts.Nodes {
			below[f.net.Leaf(src).Node] += f.traffic.size(from, to)
		}
		for sw, n := range below {
			for n > 0 && sw != f.net.Leaf(dst).Node {
				port := t.Port(sw, lid)
				loads[at[network.End{Node: sw, Port: port}]].Routes += n
				sw = t.Net.At(sw, int(port)).Node
			}
		}
	}
}
