// Package anyshape answers: which plan does a case of a scenario follow on a network of any shape?
//
// The tables are those that the network has (routing loaded), or those of an engine, also without the
// dead cables of the case. Over them messages go in the order of ranks, in the best order found (package
// order), or in none. When a cable dies during a case, the engine makes the tables anew, as the manager of a
// network does, and the policy reorder reads them and plans the order anew.
// Scenarios accept such networks where main hands in Networks.
package anyshape

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/model/order"
	"evbench/plan"
	"evbench/plan/best"
	"evbench/scenario"
	"evbench/scheduler"
	"evbench/scheduler/judge"
	planner "evbench/scheduler/order"
	"evbench/scheduler/schedules"
	"evbench/site/engines"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/topology"
)

// Networks has scenarios accept networks of any shape, with the tables of all engines.
func Networks() scenario.Networks {
	names := []string{engines.OpenSMMinHop} // OpenSM's own
	for _, e := range engines.All() {
		if e.Name != engines.File && e.Name != engines.OpenSMMinHop {
			names = append(names, e.Name)
		}
	}
	return scenario.Networks{Routings: names, Open: func(topology, tables, hosts string, files bool) (scenario.Network, error) {
		n, err := Open(topology, tables, hosts, files)
		if err != nil {
			return nil, err
		}
		return n, nil
	}}
}

// A Network is a network, its hosts that are servers, and the tables that cases take. Its methods may
// run at the same time.
type Network struct {
	Net   *network.Network // with LIDs
	Nodes []network.Node   // the servers, by rank

	name   string
	roots  []network.Node
	loaded *lft.Tables // nil: none are given

	mu    sync.Mutex
	plans map[string]*over // by routing, dead cables, schedule, policy and roles; and by tables, schedule and roles
}

// Open opens the network of a notation or, with files, of a file; see scenario.Networks.
func Open(topology, tables, hosts string, files bool) (*Network, error) {
	if _, err := os.Stat(topology); err == nil && !files || err != nil && !strings.Contains(topology, "(") {
		return nil, scenario.ErrNotation
	}
	s, err := netfile.Read(topology, 0)
	if err != nil {
		if kind, _, _ := strings.Cut(topology, "("); slices.Contains([]string{"FT", "PGFT", "KARY"}, strings.ToUpper(strings.TrimSpace(kind))) {
			err = scenario.ErrNotation
		}
		return nil, err
	}
	n := &Network{name: topology, roots: s.Roots}
	if n.Net, err = s.Net.WithSomeLIDs(); err != nil {
		return nil, err
	}
	n.Nodes = network.AllHosts(n.Net).Nodes
	if hosts != "" {
		job, err := netfile.ReadHosts(hosts, n.Net)
		if err != nil {
			return nil, fmt.Errorf("launch.hosts: %w", err)
		}
		n.Nodes = job.Nodes
	}
	if tables != "" {
		if !files {
			return nil, errors.New("tables: only a scenario in a file names others")
		}
		err = n.load(tables)
	}
	return n, err
}

func (n *Network) load(name string) error {
	in, err := atomicfile.Open(name)
	if err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	defer in.Close()
	if n.loaded, err = lft.Read(atomicfile.Bound(atomicfile.Text(in), atomicfile.MaxTables), n.Net); err != nil {
		return fmt.Errorf("tables: %s: %w", name, err)
	}
	return nil
}

// Name implements scenario.Network.
func (n *Network) Name() string { return n.name }

// Servers implements scenario.Network.
func (n *Network) Servers() int { return len(n.Nodes) }

// Loaded implements scenario.Network.
func (n *Network) Loaded() bool { return n.loaded != nil }

// Cut implements scenario.Network.
func (n *Network) Cut(names []string) (out []int, err error) {
	number, index := map[network.End]int{}, network.Names(n.Net)
	for i, c := range n.Net.SwitchCables() {
		number[c.A], number[c.B] = i, i
	}
	for _, name := range names {
		cables, err := index.Down(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		for _, c := range cables {
			i, between := number[c.A]
			if !between {
				return nil, fmt.Errorf("%s: %s is the cable of a server, without which it sends nothing", name, n.cable(c))
			}
			out = append(out, i)
		}
	}
	return out, nil
}

// Random implements scenario.Network.
func (n *Network) Random(down []string, count int, seed uint64) ([]string, error) {
	net, err := n.Net.Degrade(down)
	if err != nil {
		return nil, err
	}
	cables, err := net.Random(count, seed)
	return lists.Map(cables, func(c network.Cable) string { return n.Net.EndName(c.A) }), err
}

// cable names a cable by its ports, that of a host by the host and the switch.
func (n *Network) cable(c network.Cable) string {
	if n.Net.IsHost(c.A.Node) {
		return n.Net.Name(c.A.Node) + "-" + n.Net.Name(c.B.Node)
	}
	return n.Net.EndName(c.A) + "-" + n.Net.EndName(c.B)
}

// Cables implements scenario.Network.
func (n *Network) Cables() []string {
	return lists.Map(n.Net.SwitchCables(), n.cable)
}

// LabCables are the cables that a lab of the network has, in its order: those of the servers, then those
// between switches.
func (n *Network) LabCables() (names []string) {
	for _, v := range n.Nodes {
		names = append(names, n.cable(network.Cable{A: network.End{Node: v, Port: 1}, B: n.Net.Leaf(v)}))
	}
	return append(names, n.Cables()...)
}

// tables are those that the routing of a case makes without its dead cables and those of its servers' tree.
func (n *Network) tables(c scenario.Case, servers *topology.Tree) (*lft.Tables, error) {
	if c.Routing == scenario.Loaded {
		return n.loaded, nil
	}
	net, err := n.Net.Degrade(c.Down)
	if err != nil {
		return nil, err
	}
	all := n.Net.SwitchCables()
	dead := lists.Map(servers.Dead(), func(l topology.Link) network.Cable { return all[servers.LinkID(l)] })
	t, err := engines.Compute(c.Routing, net.Without(dead, nil), engines.Options{Roots: n.roots, Partial: len(dead) > 0})
	if err != nil {
		return nil, fmt.Errorf("routing %s: %w", c.Routing, err)
	}
	return t, nil
}

// Tables are those that the manager of the network makes for the case of a plan when links of its servers'
// tree have died.
func (n *Network) Tables(p *plan.Plan, servers *topology.Tree) (*lft.Tables, error) {
	return n.tables(p.Over.(*over).of, servers)
}

// Again plans the case of a plan over the tables that the network has now. servers has its dead links. kept says
// that there was an order for these tables.
func (n *Network) Again(p *plan.Plan, t *lft.Tables, servers *topology.Tree) (again *plan.Plan, kept bool, err error) {
	c := p.Over.(*over).of
	n.mu.Lock()
	defer n.mu.Unlock()
	x, kept, err := n.follow(c, t, servers.Roles)
	if err != nil {
		return nil, false, err
	}
	return x.plan(servers), kept, nil
}

// Plan implements bench.Planner.
func (n *Network) Plan(c scenario.Case, servers *topology.Tree) (*plan.Plan, error) {
	x, err := n.best(c, servers)
	if err != nil {
		return nil, err
	}
	return x.plan(servers), nil
}

// best is over, where the best plan is the shortest order: over the tables of the case or, where it names none, over those of the
// engines that evbench plan tries.
func (n *Network) best(c scenario.Case, servers *topology.Tree) (*over, error) {
	if c.Schedule != schedules.Best {
		return n.over(c, servers)
	}
	if c.Schedule = schedules.PathColoring; c.Routing != "" {
		return n.over(c, servers)
	}
	_, x, _, err := best.Best(nil, plan.Options{}, topology.Rates{}, []string{engines.MinMax, engines.OpenSMMinHop}, func(engine string) (*over, float64, error) {
		c.Routing = engine
		x, err := n.over(c, servers)
		if err != nil {
			return nil, 0, err
		}
		return x, x.Time(x.Plan.Schedule), nil
	})
	return x, err
}

func (x *over) plan(servers *topology.Tree) *plan.Plan {
	c := x.of
	p := &plan.Plan{Tree: servers, Routing: c.Routing, Over: x}
	p.Bound.Phases = int(math.Ceil(x.Bound.Time))
	if c.Schedule != "" {
		p.Schedule = scheduler.FromMessages(c.Schedule, servers.Wires, false, func(yield func(scheduler.Message) bool) {
			for src, dst := range servers.Pairs {
				if !yield(scheduler.Message{Phase: x.At(src, dst), Src: src, Dst: dst, Spine: scheduler.None, Top: scheduler.None}) {
					return
				}
			}
		})
	}
	return p
}

func (n *Network) over(c scenario.Case, servers *topology.Tree) (*over, error) {
	var first *over
	if c.Failover == nil && len(servers.Dead()) > 0 { // whose order the messages keep
		var err error
		if first, err = n.over(c, servers.Healthy()); err != nil {
			return nil, err
		}
	}
	key := strings.Join(append([]string{c.Routing, c.Schedule, fmt.Sprint(first != nil), servers.Words().Lines()}, c.Down...), "\n")
	n.mu.Lock()
	defer n.mu.Unlock()
	if x := n.plans[key]; x != nil {
		return x, nil
	}
	t, err := n.tables(c, servers)
	if err != nil {
		return nil, err
	}
	x, _, err := n.follow(c, t, servers.Roles)
	if err != nil {
		return nil, err
	}
	if first != nil {
		x.Plan.Schedule, x.contends = first.Schedule, true
	}
	n.plans[key] = x
	return x, nil
}

// follow takes the order of a case over tables, or one that was kept. The lock is held.
func (n *Network) follow(c scenario.Case, t *lft.Tables, servers topology.Roles) (x *over, kept bool, err error) {
	o := n.messages(servers)
	p, err := order.Follow(n.name, t, o)
	if err != nil {
		return nil, false, err
	}
	x = &over{Plan: p, net: n, of: c, contends: c.Schedule != schedules.PathColoring}
	key := fmt.Sprint(p.Over.Sum(), c.Schedule, o.Reads, o.Builds)
	if was := n.plans[key]; was != nil {
		p.Schedule = was.Schedule
		return x, true, nil
	}
	switch c.Schedule {
	case schedules.PathColoring:
		p.Schedule = planner.Best(p.Problem, 0)
	case schedules.LinearShift:
		p.Schedule = p.LinearShift()
	}
	if n.plans == nil {
		n.plans = map[string]*over{}
	}
	n.plans[key] = &over{Plan: &order.Plan{Schedule: p.Schedule}}
	return x, false, nil
}

func (n *Network) messages(servers topology.Roles) lft.Job {
	return lft.Job{Nodes: n.Nodes, Reads: roles(servers.Reads, len(n.Nodes)), Builds: roles(servers.Builds, len(n.Nodes))}
}

// Sum is the digest of what tables say about the messages of the servers; see lft.Exchange. That they do not deliver
// one is an error.
func (n *Network) Sum(t *lft.Tables, servers *topology.Roles) (string, error) {
	x, err := t.Exchange(n.messages(*servers))
	if err != nil {
		return "", err
	}
	return x.Sum(), nil
}

// roles are the ranks that have one, nil if all do.
func roles(has func(rank int) bool, ranks int) []bool {
	out, all := make([]bool, ranks), true
	for r := range out {
		out[r] = has(r)
		all = all && out[r]
	}
	if all {
		return nil
	}
	return out
}

// An over is the order of a case over its tables: a plan.Over. Wires are the links of its problem.
type over struct {
	*order.Plan
	net      *Network
	of       scenario.Case
	contends bool // messages may share links
}

func (x *over) Wires() int { return len(x.Over.Ports) }

// Way begins at the sender, and ends at the receiver.
func (x *over) Way(to []int32, src, dst int) []int32 {
	to = append(to, int32(src))
	return append(append(to, x.Between(src, dst)...), int32(x.Problem.Hosts+dst))
}

func (x *over) Rate(wire int) float64 { return x.Problem.Links[wire].Rate() }

func (x *over) WireName(wire int) (link, direction string) {
	e := x.Over.Ports[wire]
	far := x.Over.Tables.Net.At(e.Node, int(e.Port))
	up := cmp.Or(cmp.Compare(e.Node, far.Node), int(e.Port)-int(far.Port)) < 0
	if x.Over.Tables.Net.IsHost(e.Node) != x.Over.Tables.Net.IsHost(far.Node) {
		up = x.Over.Tables.Net.IsHost(e.Node)
	}
	c := network.Cable{A: e, B: far}
	if !up {
		c = network.Cable{A: far, B: e}
	}
	direction = "down"
	if up {
		direction = "up"
	}
	return x.net.cable(c), direction
}

// Judge has the judge of such plans read the plan and its tables as files. In the order of ranks messages
// may share links.
func (x *over) Judge() error {
	var file, dump bytes.Buffer
	if err := errors.Join(x.WriteText(&file), x.Over.Tables.WriteDump(&dump)); err != nil {
		return err
	}
	f, err := judge.Read(&file)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	tables, err := f.TablesOf(x.Over.Tables.Net.ForJudge(), &dump)
	if err != nil {
		return err
	}
	if r := judge.Check(f, judge.Options{Tables: tables, AllowContention: x.contends}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s", r.Offences[0].Text)
	}
	return nil
}

// Holds reports where messages of a plan of this package take other ways by the given tables of the
// network.
func Holds(p *plan.Plan, have *lft.Tables) error {
	x := p.Over.(*over)
	for src, dst := range p.Tree.Pairs {
		from, to := x.Over.Job.Nodes[src], x.Over.Job.Nodes[dst]
		lid := int(x.net.Net.Info(to).LID)
		want, _ := x.Over.Tables.Route(from, lid)
		if got, fault := have.Route(from, lid); fault != lft.NoFault || !slices.Equal(got, want) {
			return fmt.Errorf("the tables of the network lead another way from %s to %s (LID %d) than those that the plan is for; give the present ones (tables: FILE), or write fabric.routes: {kind: none}",
				x.net.Net.Name(from), x.net.Net.Name(to), lid)
		}
	}
	return nil
}

// LFT are the tables of a plan of this package.
func LFT(p *plan.Plan) *lft.Tables { return p.Over.(*over).Over.Tables }
