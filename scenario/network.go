package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/topology"
	"evbench/transport"
)

// A Network is a network that is no tree. A case takes the order of its messages over tables that
// this network has, or that an engine makes for it; servers are its hosts, by rank.
type Network interface {
	Name() string // the notation or the file
	Servers() int
	// Loaded reports whether the tables of the network are given.
	Loaded() bool
	// Cables names the cables between switches.
	Cables() []string
	// Cut returns the numbers of the cables of these names, or why there are none.
	Cut(names []string) ([]int, error)
	// Random draws so many more cables between switches that all servers stay joined without; it returns their names.
	Random(down []string, count int, seed uint64) ([]string, error)
}

// Networks open networks that are no trees; main hands them in (Files). The zero value opens none.
type Networks struct {
	// Open opens the network of a notation or, with files, of a file. tables are the file of its
	// tables, "" none; hosts are its servers, a list as launch.hosts, "" all. The error is ErrNotation
	// for a text that is neither.
	Open func(topology, tables, hosts string, files bool) (Network, error)
	// Routings are the engines that make tables for such a network.
	Routings []string
}

// ErrNotation says that a text names no network.
var ErrNotation = errors.New("no network")

// network opens the network of a document whose topology is no tree, or that gives its tables. The tree is
// its servers, and a link for each cable between switches.
func (d *document) network(f fields, t *top) (*topology.Tree, error) {
	if t.networks.Open == nil {
		return nil, t.noTree
	}
	var err error
	hosts := ""
	if at := f.Get("launch"); at.Given() && at.Group() && at.Has("hosts") {
		hosts = d.Mapping(at, launchFields(&Launch{}).names()).Text("hosts")
	}
	t.Network, err = t.networks.Open(f.Text("topology"), t.Tables, hosts, d.files != nil)
	if errors.Is(err, ErrNotation) && t.noTree != nil {
		err = t.noTree
	}
	if err != nil {
		return nil, err
	}
	n, cables := t.Network.Servers(), t.Network.Cables()
	if n < 2 || n > maxServers {
		return nil, fmt.Errorf("%d servers; a run has 2 to %d", n, maxServers)
	}
	o := topology.Options{Ports: min(n, topology.MaxPorts), Leaves: 1 + max(n-1, len(cables)-1)/topology.MaxPorts}
	o.Spines = max(1, (len(cables)+o.Leaves-1)/o.Leaves)
	for range o.Leaves {
		o.Fill = append(o.Fill, min(n, o.Ports))
		n -= o.Fill[len(o.Fill)-1]
	}
	tree, err := topology.New(o)
	if err != nil {
		return nil, err
	}
	return tree.Named(&topology.Names{
		Called: append(cables, make([]string, tree.AllLinks()-len(cables))...), Switches: lists.Tabulate(tree.Switches(), tree.SwitchName),
	}), nil
}

// Topology is the network in a few words: a notation or a file.
func (s *Scenario) Topology() string {
	if s.Network != nil {
		return s.Network.Name()
	}
	return s.Tree.Notation()
}

// ControlRouting is the routing of the control: ftree, ecmp on hosts whose switches choose by a hash, and that of the first
// case on a network that is no tree.
func (s *Scenario) ControlRouting() string {
	switch {
	case s.Network != nil:
		return cmp.Or(s.engine, s.networks.Routings[0])
	case s.Fabric.Kind == Hosts && s.Fabric.Routes.Kind == Ports:
		return routing.ECMP
	}
	return routing.Ftree
}

// asksBest reports whether a case of a document has the schedule best.
func (d *document) asksBest(f fields) bool {
	is := func(at field) bool { return at.Given() && at.Value == schedules.Best }
	return slices.ContainsFunc(f.Get("cases").Elements(), func(at field) bool { return is(d.Mapping(at, nil).Get("schedule")) }) ||
		slices.ContainsFunc(d.Mapping(f.Get("matrix"), nil).Get("schedule").Elements(), is)
}

// settleNetwork sets the routing of a case on a network that is no tree. That of the best plan is the engine whose tables
// it is over, and known when it is planned.
func (s *Scenario) settleNetwork(c *Case) {
	if c.Routing == "" && s.Network.Loaded() {
		c.Routing = Loaded
	} else if c.Routing == "" && (c.Schedule != schedules.Best || c.Mode == modes.Unsync) {
		c.Routing = s.networks.Routings[0]
	}
	s.engine = cmp.Or(s.engine, c.Routing)
}

// Loaded is the routing of a case over the tables of Scenario.Tables.
const Loaded = "loaded"

// suitsNetwork says why a case does not suit the network, and the field at fault.
func (c *Case) suitsNetwork(s *Scenario) (name string, err error) {
	if s.Network == nil {
		switch {
		case s.Tree == nil: // that is said
		case c.policy() == policyReorder && c.Routing != Ports:
			return "failover", fmt.Errorf("%s is for networks that are no trees, or with tables, and for routing %s; on a tree take %s", policyReorder, Ports, policyFORS)
		case c.Routing == Ports || s.Fabric.Routes.Kind == Ports:
			return c.suitsPorts(s)
		case c.Schedule == schedules.PathColoring:
			return "schedule", fmt.Errorf("%s is an order over given tables; write tables: FILE, or take %s", c.Schedule, schedules.FORS)
		case c.Routing != "" && !slices.Contains(s.treeRoutings(), c.Routing):
			return "routing", fmt.Errorf("%s is for networks that are no trees, or with tables; there are %s", c.Routing, strings.Join(s.treeRoutings(), ", "))
		}
		return "", nil
	}
	rules := []struct {
		name   string
		wrong  bool
		reason string
	}{
		{"schedule", !slices.Contains([]string{"", schedules.LinearShift, schedules.PathColoring, schedules.Best}, c.Schedule), "a network that is no tree has " +
			schedules.LinearShift + ", " + schedules.PathColoring + ", " + schedules.Best + " and " + noSchedule},
		{"mode", c.Mode == modes.Ordered, "ordered cases need a tree"},
		{"routing", c.Routing != "" && c.Routing != Loaded && !slices.Contains(s.networks.Routings, c.Routing), "there are " + strings.Join(append([]string{Loaded}, s.networks.Routings...), ", ")},
		{"routing", c.Routing == Loaded && !s.Network.Loaded(), "the tables of the network are not given; write tables: FILE, or an engine: " + strings.Join(s.networks.Routings, ", ")},
		{"routing", c.Routing == Loaded && len(c.Down) > 0, "these are the tables of the whole network; write an engine, which makes them without the dead cables"},
		{"failures", len(c.Down)+len(c.Timed) > 0 && s.Fabric.Kind == Hosts, "evbench takes no cable of a network down that is no tree; leave failures out"},
		{"routing", len(c.Timed) > 0 && c.Routing == Loaded, "these are the tables of the whole network; write an engine, which makes them anew when a cable dies"},
		{"failover", c.Failover != nil && c.policy() != policyReorder, "the tables of a network that is no tree are not evbench's to change; take " + policyReorder},
		{"failover", c.Failover != nil && s.Fabric.Kind == Hosts && s.Fabric.Routes.Kind != RoutesLoaded,
			"the tables of the network are not read again; write fabric.routes: {kind: loaded, dump: COMMAND}, or take fabric lab"},
		{"schedule", c.Failover != nil && !c.inOrder(), "policy " + policyReorder + " plans the order anew; take " + schedules.PathColoring},
	}
	for _, r := range rules {
		if r.wrong {
			return r.name, errors.New(r.reason + s.because)
		}
	}
	return "", nil
}

// suitsPorts says why a case does not suit a network whose switches choose by a hash, and the field at fault.
func (c *Case) suitsPorts(s *Scenario) (name string, err error) {
	own := strings.HasPrefix(c.Schedule, schedules.FilePrefix)
	switch {
	case s.Fabric.Routes.Kind != Ports:
		return "routing", errors.New("the plan chooses source ports, whose paths have to be asked for: write fabric: {routes: ports}")
	case s.Transport != transport.TCP && s.Transport != transport.RDMA:
		return "routing", fmt.Errorf("source ports are those of transport %s and %s, not of %s", transport.TCP, transport.RDMA, s.Transport)
	case !c.Hashed() && s.Fabric.Kind == Hosts:
		return "routing", fmt.Errorf("the switches choose by a hash (fabric.routes: ports): there are %s and %s", routing.ECMP, Ports)
	case c.Routing != Ports && c.inOrder():
		return "schedule", fmt.Errorf("%s is planned for chosen ports; write routing: %s", c.Schedule, Ports)
	case c.Routing != Ports:
		return "", nil
	case c.Mode == modes.Ordered:
		return "mode", errors.New("ordered cases choose spines, not source ports")
	case len(c.Timed) > 0 && c.Failover == nil, c.Failover != nil && c.policy() != policyReorder:
		return "failover", fmt.Errorf("of plans of ports %s alone is a policy, which asks for paths anew; without it ports that lead another way are noticed when the case ends", policyReorder)
	case !c.inOrder() && !own:
		return "schedule", fmt.Errorf("with routing %s there are %s, %s, and a file of evbench plan --paths", Ports, schedules.PathColoring, schedules.Best)
	case own && c.Failover != nil:
		return "schedule", fmt.Errorf("policy %s plans the order anew; take %s", policyReorder, schedules.PathColoring)
	}
	return "", nil
}

// suitsAny says why a fabric has no network that is no tree.
func (f Fabric) suitsAny() error {
	switch {
	case f.Kind == Emulate:
		return errors.New("the fabric emulate models trees; this network is none: take lab or hosts")
	case f.Lossless.On:
		return errors.New("fabric.lossless is simulated for trees; this network is none")
	case f.Routes.Kind == RoutesOpenSM || f.Routes.Kind == RoutesKernel || f.Routes.Kind == Ports:
		return errors.New("fabric.routes: nothing is installed on a network that is no tree; take loaded or none")
	}
	return nil
}

// cut reads the cables that are dead in a case, those drawn with a seed among them, and those that die during it.
func (d *document) cut(at field, draws uint64, s *Scenario, c *Case) {
	good, timed := true, []field(nil)
	find := func(name string) (links []topology.Link, err error) {
		ids, err := s.Network.Cut([]string{name})
		return lists.Map(ids, s.Tree.LinkOf), err
	}
	for _, f := range d.List(at) {
		name, err := "", error(nil)
		switch {
		case f.Has("random"):
			count, seed := 0, draws
			_, ok := d.drawn(f, len(s.Network.Cables()), &count, &seed)
			if good = good && ok; !good {
				continue
			}
			var drawn []string
			if drawn, err = s.Network.Random(c.Down, count, seed); err != nil {
				d.Fail(f, "%v", err)
			}
			c.Down = append(c.Down, drawn...)
		case f.Group():
			all, ok := d.timed(f, find)
			good = good && ok
			c.Timed, timed = append(c.Timed, all...), append(timed, slices.Repeat([]field{f}, len(all))...)
		case d.scalar(f, word(&name)):
			c.Down = append(c.Down, name)
			if _, err = find(name); err != nil {
				d.Fail(f, "%v", err)
			}
		}
		good = good && err == nil
	}
	if good && s.Fabric.Kind != Hosts {
		d.timedRules(timed, s.Tree, s, c)
	}
}
