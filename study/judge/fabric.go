package judge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/site/network"
	"evbench/study/judge/foreign"
	"evbench/topology"
)

// A fabric is a network with the hosts of a job and, where it is a tree, that tree.
type fabric struct {
	whole, net *network.Network // with and without what is dead
	hosts      network.Job
	// tree has the job's hosts as servers, and the network's names; nil: see why.
	tree   *topology.Tree
	why    error
	places *network.Places // of the tree in whole
	gaps   string          // cables of the tree that whole lacks

	inexact *network.Places // of a tree that has not the bound of the network, so tree is nil

	rate float64                 // of links, bit/s; 0: not known
	slow map[network.End]float64 // ports of slow cables: what is left of their usual rate
	even bool                    // every host, and link of the tree, where a faster cable is several, has the link rate

	unstated   int // cables without a rate, where others have one
	tablesFile string

	traffic traffic
	job     []int              // the place in the job of each server of the tree, by rank
	demand  []float64          // between, of the tree
	crosses map[[2]int][2]flow // flows of each leaf and each pod
	usual   [2]float64         // rates of storeys, as shares of the link rate
}

// fabricOf is the network with the traffic of the exchange, of which the result is one.
func fabricOf(in Input) (*fabric, error) {
	f, err := newFabric(in.Whole, in.Net, in.Hosts)
	if err != nil {
		return nil, err
	}
	f.tablesFile = in.TablesFile
	if in.Readers != "" || in.Builders != "" {
		err = f.roles(in.Readers, in.Builders)
	}
	if err == nil && in.Bytes != nil {
		err = f.take(traffic{bytes: in.Bytes})
	}
	if err != nil {
		return nil, err
	}
	return f, within(in.ResultFile, f.sized(in.Result))
}

// newFabric checks that each host has its cable, and finds the tree.
func newFabric(whole, net *network.Network, hosts network.Job) (*fabric, error) {
	f := &fabric{whole: whole, net: net, hosts: hosts}
	for _, v := range hosts.Nodes {
		if net.Leaf(v).Node == network.NoNode {
			return nil, fmt.Errorf("host %s has no cable", net.Info(v).Name)
		}
	}
	if err := f.joined(); err != nil {
		return nil, err
	}
	f.rates()
	if f.tree, f.places, f.why = f.find(); f.why == nil {
		f.why = f.tree.Connected()
	}
	if f.why != nil {
		f.tree = nil
	} else {
		at := map[network.Node]int{}
		for i, v := range hosts.Nodes {
			at[v] = i
		}
		for _, v := range f.places.Host {
			f.job = append(f.job, at[v])
		}
	}
	f.evenly()
	return f, f.take(traffic{})
}

// take sets the traffic of the job's servers.
func (f *fabric) take(x traffic) (err error) {
	x.servers, x.host = len(f.hosts.Nodes), f.hosts.Host
	if f.traffic, err = newTraffic(x); err == nil && f.tree != nil {
		f.demand = f.between()
		crosses, t := map[[2]int][2]flow{}, f.tree
		for i := range t.Leaves() {
			crosses[[2]int{i, i + 1}] = f.cross(i, i+1)
		}
		for q := range t.Pods() {
			crosses[[2]int{q * t.PodLeaves(), (q + 1) * t.PodLeaves()}] = f.cross(q*t.PodLeaves(), (q+1)*t.PodLeaves())
		}
		f.crosses = crosses
	}
	return err
}

func (f *fabric) find() (*topology.Tree, *network.Places, error) {
	p, err := network.Spineless(f.whole)
	if err == nil {
		f.gaps = cmp.Or(p.Gaps(), p.Joints())
		p, err = p.For(f.net, f.hosts.Nodes)
	}
	if err == nil && !p.Exact(&p.Tree.Live) {
		f.inexact = p
		err = fmt.Errorf("no tree has the bound of three levels %s; evbench plan has one", p.Inexact())
	}
	if err != nil {
		return nil, nil, err
	}
	return p.Tree, p, nil
}

// roles restricts the exchange to readers and builders, lists in the form of topology.WithRoles.
func (f *fabric) roles(readers, builders string) (err error) {
	if f.tree == nil {
		return fmt.Errorf("readers and builders are servers of a tree: %w", f.why)
	}
	if f.tree, err = f.tree.WithRoles(readers, builders); err != nil || !f.tree.Divided() {
		return err
	}
	x := traffic{reads: make([]bool, len(f.job)), builds: make([]bool, len(f.job))}
	for rank, i := range f.job {
		x.reads[i], x.builds[i] = f.tree.Reads(rank), f.tree.Builds(rank)
	}
	return f.take(x)
}

// joined checks that live cables join the adapters of different hosts: otherwise no measurement is possible.
func (f *fabric) joined() error {
	nodes, part := f.hosts.Nodes, map[network.Node]int{}
	for i, nodes := range f.net.Parts() {
		for _, v := range nodes {
			part[v] = i
		}
	}
	other := slices.IndexFunc(f.hosts.Host, func(host int) bool { return host != f.hosts.Host[0] })
	for i, v := range nodes {
		from := 0
		if network.OneHost(f.hosts.Host, 0, i) {
			from = max(other, 0)
		}
		if part[v] != part[nodes[from]] {
			text := fmt.Sprintf("no live cables join %s and %s", f.net.Info(nodes[from]).Name, f.net.Info(v).Name)
			if f.hosts.Host != nil {
				text += "; of several planes judge one: --hosts lists its adapters, HOST ADAPTER a line"
			}
			return errors.New(text)
		}
	}
	return nil
}

// sized checks that a result has messages of the given sizes, or of equal size without them.
func (f *fabric) sized(r *foreign.Result) error {
	switch {
	case r == nil:
	case f.traffic.bytes == nil && r.Sized:
		return errors.New("its messages have sizes, which it does not state: give them with --sizes")
	case f.traffic.bytes != nil && !r.Sized && r.Efficiency == 0:
		return errors.New("--sizes is for the time of a call, a share of the link rate, or alltoallv_perf: this result is of equal messages, or a rate")
	case r.Busiest > 0 && f.traffic.most > r.Busiest*int64(f.hosts.Slots)+aligned*int64(f.traffic.servers*f.hosts.Slots):
		return fmt.Errorf("its busiest rank has %d bytes, that of --sizes %d: they belong to different runs", r.Busiest, f.traffic.most)
	}
	return nil
}

// name is the name of a node; for a switch, its name in the tree.
func (f *fabric) name(v network.Node) string {
	if f.tree != nil && !f.whole.IsHost(v) {
		return f.places.Name(v)
	}
	return f.whole.Info(v).Name
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

// rates finds the rate of the links, which is the rate of most hosts' cables, and the cables that
// are slower than most of their kind.
func (f *fabric) rates() {
	var own []network.Cable // of hosts of the job
	for _, v := range f.hosts.Nodes {
		own = append(own, network.Cable{A: network.End{Node: v, Port: 1}, B: f.net.Leaf(v)})
	}
	switches := f.net.SwitchCables()
	f.rate, f.slow = f.net.MessageRate(f.hosts.Nodes), map[network.End]float64{}
	note := func(cables []network.Cable, usual float64) {
		for _, c := range cables {
			if r := f.net.Rate(c.A); r > 0 && r < usual {
				f.slow[c.A], f.slow[c.B] = r/usual, r/usual
			}
		}
	}
	note(own, f.net.UsualRate(own))
	for i, cables := range f.storeys() {
		r := f.net.UsualRate(cables)
		note(cables, r)
		if f.usual[i] = 1; r > 0 && f.rate > 0 {
			f.usual[i] = r / f.rate
		}
	}
	known := lists.CountIf(append(own, switches...), func(c network.Cable) bool { return f.net.Rate(c.A) > 0 })
	if known > 0 {
		f.unstated = len(own) + len(switches) - known
	}
}

// storeys are the cables of switches with hosts, and those between others.
func (f *fabric) storeys() (out [2][]network.Cable) {
	for _, c := range f.net.SwitchCables() {
		i := 0
		if f.net.HostCount(c.A.Node)+f.net.HostCount(c.B.Node) == 0 {
			i = 1
		}
		out[i] = append(out[i], c)
	}
	return out
}

// evenly finds whether every link has the link rate.
func (f *fabric) evenly() {
	f.even = true
	for _, v := range f.hosts.Nodes {
		f.even = f.even && f.capacity(network.End{Node: v, Port: 1}) == 1
	}
	for id := range f.links() {
		f.even = f.even && f.places.Share(f.tree.LinkOf(id)) == 1
	}
}

// links is the number of links of the tree, 0 without one.
func (f *fabric) links() int {
	if f.tree == nil {
		return 0
	}
	return f.tree.AllLinks()
}

// capacity is the rate of the cable at a port, as a share of the link rate; 1 where it is not
// known.
func (f *fabric) capacity(at network.End) float64 {
	if r := f.net.Rate(at); r > 0 && f.rate > 0 {
		return r / f.rate
	}
	return 1
}

// port is the lower end of a link of the tree; its port is 0 for a missing cable.
func (f *fabric) port(l topology.Link) network.End {
	c, _ := f.places.Cable(l)
	return c.A
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

// deadCables names what is dead in a network that is no tree.
func (f *fabric) deadCables() (names []string) {
	if f.inexact != nil {
		return f.inexact.Tree.DownNames()
	}
	for _, c := range f.whole.SwitchCables() {
		if !f.net.Has(c) {
			names = append(names, f.whole.CableName(c))
		}
	}
	return names
}
