// Package plan joins a tree, a schedule and routes into the Plan that bench, companion, workers and
// files share. It computes the cost of a plan: its duration, its lower bound, and the efficiency
// that its link loads predict. It writes plans, reads them and compares them. scheduler and routing
// decide. Times are in message times.
package plan

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"evbench/routing"
	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// NoRouting is the Routing of a plan that is only a schedule: it has no spines and says nothing
// about contention.
const NoRouting = "none"

// A Plan holds every decision made before the network is used. It is immutable.
type Plan struct {
	Tree     *topology.Tree      // with the dead links
	Schedule *scheduler.Schedule // nil for event building without a schedule
	Routing  string              // a name of Routings

	// Objective is what fors made least; "" for other schedules, and where a file has none.
	Objective schedules.Objective

	// Tables are the routes by destination; nil without routing. With pinned routing they are the
	// spread tables, which carry the barrier, as the schedule does not.
	Tables *routing.Tables

	// OnePath: the paths are pinned and Tables hold them, so no sender chooses a path.
	OnePath bool

	// Bound is the least number of phases of any contention-free plan. Its Phases are 0 where no
	// bound is known or stated.
	Bound scheduler.Bound

	// Unreachable are the pairs of leaves without a live path, whose messages are left out: rising,
	// the smaller leaf first. Pairs without a message are none of them.
	Unreachable [][2]int

	// Paths are the paths that the messages need. All 0 under ecmp and spray,
	// without routing and without a schedule.
	Paths topology.Paths

	// Epoch numbers the plans of one run, from 0.
	Epoch uint32

	// Rates are the slow cables, of servers and of live links. With some phases have lengths, and messages may share
	// links in them.
	Rates topology.Rates

	// Hosts are the names of the servers, by rank, for the file; nil where the servers have none.
	Hosts []Host

	// Whole: the schedule is a closed form on a large tree, whose messages fill no link more than those of the servers.
	Whole bool

	own bool // the schedule is somebody else's: its messages may meet on links

	// Over are the tables that the messages take, in a network of any shape; nil in a tree. Then
	// Tree is the servers alone.
	Over Over
}

// An Over is the tables of a network of any shape, with the order that a plan gives its messages
// over them. Wires are the directions of cables, those of servers included, that messages pass.
type Over interface {
	Wires() int
	// Way appends the wires of a message between two ranks, in the order in which it passes them.
	Way(to []int32, src, dst int) []int32
	// Rate is how many messages a wire carries in a message time.
	Rate(wire int) float64
	// WireName returns the cable of a wire and its direction: "up" is away from the servers and,
	// between switches, away from the end that is named first.
	WireName(wire int) (link, direction string)
	// Hash, WriteText and Judge are those of the plan.
	Hash() string
	WriteText(w io.Writer) error
	Judge() error
}

// A Chooser is an Over whose senders choose the way of a message by its source port.
type Chooser interface {
	// Port returns the source port of a message; scheduler.None: the message has one path.
	Port(src, dst int) int
}

// Ports is p.Over if senders choose by ports, else nil.
func (p *Plan) Ports() Chooser {
	c, _ := p.Over.(Chooser)
	return c
}

// A Host is the name of a server's host, one word, and the number of ranks there for this server.
// Several servers are adapters of one host if they have its name; its ranks use them by Order.
type Host struct {
	Name    string
	Ranks   int
	Adapter string // its name, one word; "" without one
	Order   int    // of its line in the file: the least first, then by rank
}

// Options say what to build.
type Options struct {
	// Schedule is a name of scheduler.Names; "" plans without a schedule.
	Schedule string
	// Own is a plan whose schedule is taken, in place of one that Schedule names (see ReadOwn).
	Own *Plan
	// Routing is a name of Routings. "" means pinned where the schedule chooses spines, else ftree.
	Routing string
	// Engines are known beside routing's own.
	Engines routing.Engines
	// Objective is what fors makes least. "" means schedules.FewestPhases.
	Objective schedules.Objective
	// OnePath: senders cannot choose paths. Tables by destination then hold pinned paths; a plan
	// that needs more paths is an error.
	OnePath bool
	// DropUnreachable leaves out the messages between leaves that share no live path. Otherwise
	// such a tree is an error.
	DropUnreachable bool
	// Seed is the seed of all random draws for a plan.
	Seed uint64
	// Stage, when not nil, is called as each part of the work begins, with "schedule", "routes" and
	// "figures".
	Stage func(name string)
}

func (o Options) stage(name string) {
	if o.Stage != nil {
		o.Stage(name)
	}
}

func (o Options) forScheduler() scheduler.Options {
	return scheduler.Options{Seed: o.Seed, Objective: o.Objective, DropUnreachable: o.DropUnreachable}
}

// objective checks the objective, and returns it as the plan states it.
func (o Options) objective() (schedules.Objective, error) {
	switch {
	case o.Schedule != schedules.FORS && o.Objective == "":
		return "", nil
	case o.Schedule != schedules.FORS:
		return "", fmt.Errorf("objective %s: only the schedule fors has objectives, not %q", o.Objective, o.Schedule)
	}
	return cmp.Or(o.Objective, schedules.FewestPhases), o.Objective.Check()
}

// Build plans for a tree and its dead links. Pairs of leaves without a live path are an
// *UnreachableError unless they are dropped. With pinned routing Build chooses spines that the
// schedule does not choose; a phase that cannot be routed is a *scheduler.UnroutableError. Tables
// that leave out a pair of servers are a *NoRouteError.
func Build(t *topology.Tree, o Options) (*Plan, error) {
	p := &Plan{Tree: t, Routing: o.Routing, Unreachable: t.Severed()}
	if err := p.begin(o); err != nil {
		return nil, err
	}
	if o.Schedule == "" && o.Own == nil {
		p.Bound = scheduler.LowerBound(t, scheduler.Options{})
	} else if err := p.schedule(o); err != nil {
		return nil, err
	}
	o.stage("routes")
	if p.Routing == "" {
		p.Routing = routing.Ftree
		if p.pinnable() {
			p.Routing = routing.Pinned
		}
	}
	p.OnePath = o.OnePath && p.Pinned()
	if err := p.route(o.Engines); err != nil {
		return nil, err
	}
	o.stage("figures")
	p.count()
	return p, nil
}

func (p *Plan) begin(o Options) (err error) {
	if n := p.Tree.Servers(); o.Schedule != "" && n > scheduler.MaxServers {
		return fmt.Errorf("%d servers: evbench plans schedules of at most %d", n, scheduler.MaxServers)
	}
	if len(p.Unreachable) > 0 && !o.DropUnreachable {
		return &UnreachableError{p.Unreachable}
	}
	p.Objective, err = o.objective()
	o.stage("schedule")
	return err
}

func (p *Plan) schedule(o Options) (err error) {
	if o.Own != nil {
		p.own = true
		p.Schedule, err = o.Own.on(p.Tree, cmp.Or(o.Routing, routing.Pinned) == routing.Pinned)
		p.Bound = scheduler.LowerBound(p.Tree, o.forScheduler())
	} else {
		p.Schedule, p.Bound, err = scheduler.ByName(o.Schedule, p.Tree, o.forScheduler())
	}
	if err != nil {
		return err
	}
	if err := p.drop(); err != nil {
		return err
	}
	if o.Routing == routing.Pinned && !p.pinnable() {
		p.Schedule, err = scheduler.Pin(p.Schedule, p.Tree, o.forScheduler())
	}
	return err
}

func (p *Plan) pinnable() bool { return p.Schedule != nil && p.Schedule.Pinned }

func (p *Plan) route(x routing.Engines) (err error) {
	name := p.Routing
	switch name {
	case NoRouting:
		return nil
	case routing.Pinned:
		if p.Schedule == nil {
			return fmt.Errorf("routing pinned needs a schedule; without one there are %s", strings.Join(x.Names(), ", "))
		}
		name = routing.Spread
	}
	if p.Tables, err = Tables(x, p.Tree, name); err == nil && p.OnePath {
		err = p.holdPaths()
	}
	return err
}

func (p *Plan) count() {
	switch {
	case p.Schedule == nil || !p.Static() || p.Tables == nil:
	case p.Pinned():
		p.Whole = p.Schedule.Whole(nil)
	default:
		p.Whole = p.Schedule.Whole(p.Path)
	}
	switch {
	case p.Whole: // one path to each server, from any leaf
		lids := p.Tree.Servers() + p.Tree.Switches()
		p.Paths = topology.Paths{Most: 1, LIDs: lids, Entries: lids - 1}
	case p.Schedule != nil && p.Static():
		p.Paths = routing.CountPaths(p.Tree, p.AllPaths())
	}
}

// FewPaths reports whether fors made paths least.
func (p *Plan) FewPaths() bool { return p.Objective == schedules.FewestPaths }

// ScheduleName returns the schedule's name, or "none".
func (p *Plan) ScheduleName() string {
	if p.Schedule == nil {
		return "none"
	}
	return p.Schedule.Name
}

// Phases returns the number of phases, or 0 without a schedule.
func (p *Plan) Phases() int {
	if p.Schedule == nil {
		return 0
	}
	return p.Schedule.Phases
}

// Gap returns the phases of the plan above the lower bound, 0 where no bound is known. It is
// negative for a schedule whose messages meet on links: the bound applies to plans without
// contention.
func (p *Plan) Gap() int {
	if p.Bound.Phases == 0 {
		return 0
	}
	return p.Phases() - p.Bound.Phases
}

// Pinned reports whether messages take the paths of the schedule.
func (p *Plan) Pinned() bool { return p.Routing == routing.Pinned }

// Path returns the path (topology.Tree.PathOf) of the message from src to dst, or scheduler.None:
// on one leaf, under ecmp or spray, or without routing.
func (p *Plan) Path(src, dst int) int {
	if p.Pinned() {
		_, k := p.Schedule.At(src, dst)
		return p.Tree.PathOf(k, p.Schedule.Top(src, dst))
	}
	if p.Static() && p.Tables != nil && p.Over == nil {
		if path, ok := p.Tables.PathOf(src, dst); ok {
			return path
		}
	}
	return scheduler.None
}

// Static reports whether every message between leaves has one known path. Under ecmp the kernel's
// hash chooses the path, which is known where it has been asked for (Over); under spray each packet has its own.
func (p *Plan) Static() bool {
	return p.Over != nil || p.Routing != routing.ECMP && !routing.PerPacket(p.Routing) && p.Routing != NoRouting
}

// AllPaths returns Path for a whole exchange, in O(1) a message. It keeps a table of leaves and servers.
func (p *Plan) AllPaths() func(src, dst int) int {
	if p.Pinned() || p.Over != nil {
		return p.Path
	}
	n, leaf := p.Tree.Servers(), p.Tree.LeafOfRanks()
	table := make([]int32, p.Tree.Leaves()*n)
	for l := range p.Tree.Leaves() {
		for dst := range n {
			k := scheduler.None
			if p.Tree.ServersOn(l) > 0 && leaf[dst] != l {
				k = p.Path(p.Tree.First(l), dst)
			}
			table[l*n+dst] = int32(k)
		}
	}
	return func(src, dst int) int { return int(table[leaf[src]*n+dst]) }
}

// Through returns the path of each message as a file states it: its spine and, between pods, its
// top switch, else scheduler.None.
func (p *Plan) Through() func(src, dst int) (spine, top int) {
	path, leaf := p.AllPaths(), p.Tree.LeafOfRanks()
	return func(src, dst int) (spine, top int) {
		return p.Tree.Through(leaf[src], leaf[dst], path(src, dst))
	}
}

// Messages returns the number of messages of one exchange.
func (p *Plan) Messages() int {
	all := p.Tree.Messages()
	for _, c := range p.Unreachable {
		all -= p.Tree.MessagesBetween(c[0], c[1])
	}
	return all
}
