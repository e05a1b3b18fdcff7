package ports

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"evbench/bench"
	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/scenario"
	"evbench/scheduler"
	"evbench/scheduler/balance"
	"evbench/scheduler/judge"
	"evbench/scheduler/schedules"
	"evbench/topology"
)

// Ways are the paths by source ports of a run: a bench.Ways. One goroutine uses them at a time.
type Ways struct {
	Options        // of the questions
	Own     *Paths // given; nil: the run asks
	// Ends are the hosts of a run by rank, and their destination port.
	Ends func(joined []results.Host) ([]Host, int, error)
	// Names and Wires are those of hops, where the network is known; nil: it is not.
	Names map[netip.Addr]string
	Wires map[netip.Addr]topology.Wire

	found []*wayset
	pause time.Duration // between two tries of a port in use; 0: busyPause
}

// A wayset is the paths while some links are dead.
type wayset struct {
	dead string // "": those that were found while a case ran
	x    *Exchange
	gap  time.Duration
}

// Files implements bench.Ways.
func (w *Ways) Files() (out []results.PathsText) {
	for i, n := range w.found {
		var text bytes.Buffer
		_ = n.x.of.Write(&text) // a buffer takes all
		name := "paths.txt"
		if i > 0 {
			name = fmt.Sprintf("paths-%d.txt", i+1)
		}
		out = append(out, results.PathsText{File: name, Text: text.Bytes()})
	}
	return out
}

// of asks for the paths of a tree with its dead links, once; or, by other ports than avoid has, anew.
func (w *Ways) of(ctx context.Context, a bench.Asked, t *topology.Tree, avoid [][]int) (*wayset, error) {
	dead, anew := fmt.Sprint(t.Dead()), avoid != nil
	if anew {
		dead = ""
	} else if i := slices.IndexFunc(w.found, func(n *wayset) bool { return n.dead == dead || w.Own != nil }); i >= 0 {
		return w.found[i], nil
	}
	hosts, port, err := w.Ends(a.Hosts)
	if err != nil {
		return nil, err
	}
	n := &wayset{dead: dead, gap: leastGap}
	paths := w.Own
	if paths != nil && !anew {
		paths, err = paths.of(hosts, port)
	} else {
		var s Survey
		o := w.Options
		o.Avoid, o.Seed = avoid, o.Seed+uint64(len(w.found))
		if anew && len(w.found) > 0 { // the pace that is known
			o.Gap = w.found[len(w.found)-1].gap
		}
		s, err = Run(ctx, hosts, port, o, a.Trace)
		s.Paths.Time, s.Paths.Names = time.Now(), w.Names
		if paths, n.gap = &s.Paths, s.Gap; w.Own != nil {
			paths.Slow = w.Own.Slow
		}
	}
	if err == nil {
		var roles Roles
		if t.Divided() {
			roles = Roles{lists.Tabulate(len(hosts), t.Reads), lists.Tabulate(len(hosts), t.Builds)}
		}
		n.x, err = NewExchange(paths, roles)
	}
	if err != nil {
		return nil, err
	}
	w.found = append(w.found, n)
	return n, nil
}

// of are the paths between the hosts of a run, in their order.
func (p *Paths) of(hosts []Host, port int) (*Paths, error) {
	if was := p.Protocol == RoCE; was != (port == RoCEPort) {
		return nil, fmt.Errorf("the paths are those of %s to port %d, and the transport sends to port %d: ask again (evbench paths --protocol)", p.Protocol, p.Port, port)
	}
	if p.Port != port {
		return nil, fmt.Errorf("the paths are to port %d, and the workers listen on port %d, which switches hash, too: write launch.data_port: %d, or ask again", p.Port, port, p.Port)
	}
	out, err := p.Of(lists.Map(hosts, func(h Host) string { return h.Addr.String() }))
	if err != nil {
		return nil, fmt.Errorf("the paths are those of other hosts: %w", err)
	}
	return out, nil
}

// Plan implements bench.Ways. A case that chooses no port takes the first of each pair, which nobody has chosen.
func (w *Ways) Plan(ctx context.Context, a bench.Asked, c scenario.Case, p *plan.Plan) (*plan.Plan, error) {
	n, err := w.of(ctx, a, p.Tree, nil)
	if err != nil {
		return nil, err
	}
	return w.plan(n, c, p)
}

func (w *Ways) plan(n *wayset, c scenario.Case, p *plan.Plan) (_ *plan.Plan, err error) {
	if c.Schedule == schedules.Best {
		c.Schedule = schedules.PathColoring
	}
	o := &over{w: w, net: n, tree: p.Tree, contends: true, plan: &Plan{x: n.x, made: c.Schedule}}
	file, own := strings.CutPrefix(c.Schedule, schedules.FilePrefix)
	switch {
	case own:
		o.plan, err = n.x.readFile(file)
	case c.Routing == scenario.Ports && c.Schedule == schedules.PathColoring:
		o.plan, o.contends = n.x.Plan(0), false
	case c.Routing == scenario.Ports:
		o.plan.Plan = scheduler.NewPlan(n.x.Hosts, c.Schedule)
		o.plan.Path = balance.Choose(n.x.Problem)
	default:
		o.plan.Plan = scheduler.NewPlan(n.x.Hosts, c.Schedule)
		if p.Schedule != nil {
			o.plan.Phases = p.Schedule.Phases
			for m := range p.Schedule.All() {
				o.plan.Phase[m.Src*n.x.Hosts+m.Dst] = int32(m.Phase)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	out := *p
	out.Over, out.Schedule, out.Routing = o, nil, c.Routing
	if c.Routing == scenario.Ports || n.x.slow != nil { // which the bound of a tree does not know
		least := o.plan.Least // of a plan made here
		if least == 0 {
			least = max(n.x.leastOfAny(), n.x.Least().Time)
		}
		out.Bound = scheduler.Bound{Phases: int(whole(least))}
	}
	if c.Schedule != "" {
		out.Schedule = scheduler.FromMessages(c.Schedule, p.Tree.Wires, false, o.messages)
	}
	return &out, nil
}

// readFile reads a plan of Write, whose hosts may have another order.
func (x *Exchange) readFile(name string) (*Plan, error) {
	in, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	p := &Plan{Plan: scheduler.NewPlan(x.Hosts, schedules.FilePrefix), x: x}
	p.Path = make([]uint8, x.Hosts*x.Hosts)
	f, err := judge.Read(in)
	if err == nil {
		err = p.take(f)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// take takes the messages of a file.
func (p *Plan) take(f *judge.File) error {
	if f.Over == nil || !f.ByPorts() {
		return errors.New("no plan of evbench plan --paths")
	}
	if f.Sized() {
		return errors.New("its fragments differ in size, so it has no phases: a run takes plans of messages of one size")
	}
	x, rank := p.x, make([]int, f.Servers())
	for i := range rank {
		host := f.Host(i)
		if rank[i] = slices.IndexFunc(x.of.Hosts, func(h Host) bool { return len(host) > 1 && h.Addr.String() == host[1] }); rank[i] < 0 {
			return fmt.Errorf("host %s has no paths", strings.Join(host, " at "))
		}
	}
	if made, is := f.Stated("slow"), strings.Join(x.slow, ","); made != is {
		return fmt.Errorf("it was made for the slow cables %q, the paths have %q: write fabric.routes: {kind: ports, paths: FILE}, with the files that it was made for", made, is)
	}
	for _, m := range f.Messages {
		if int(max(m.Src, m.Dst)) >= len(rank) {
			return fmt.Errorf("phase %d: host %d is not among %d", m.Phase, max(m.Src, m.Dst), len(rank))
		}
		src, dst := rank[m.Src], rank[m.Dst]
		to, at := src*x.Hosts+dst, 0
		if at = slices.Index(x.ports[to], m.Port()); at < 0 {
			return fmt.Errorf("%s leaves from port %s, whose path is not known: write fabric.routes: {kind: ports, paths: FILE}, with the file that the plan was made for",
				x.of.pair(src, dst), x.of.portText(m.Port()))
		}
		if p.Phase[to] != scheduler.None {
			return fmt.Errorf("%s is there twice", x.of.pair(src, dst))
		}
		p.Phase[to], p.Path[to], p.Phases = m.Phase, uint8(at), max(p.Phases, int(m.Phase)+1)
	}
	missing := 0
	x.Each(func(src, dst int) {
		if p.At(src, dst) == scheduler.None {
			missing++
		}
	})
	if missing > 0 {
		return fmt.Errorf("%d messages are missing", missing)
	}
	return nil
}

// An over is the ports of a case: a plan.Over and a plan.Chooser. Wires are the links of its problem.
type over struct {
	w        *Ways
	net      *wayset
	tree     *topology.Tree
	plan     *Plan
	contends bool // messages may share links
}

func (o *over) messages(yield func(scheduler.Message) bool) {
	x := o.net.x
	first, in := o.plan.ByPhase()
	for phase := range o.plan.Phases {
		for _, m := range in[first[phase]:first[phase+1]] {
			if !yield(scheduler.Message{Phase: phase, Src: int(m) / x.Hosts, Dst: int(m) % x.Hosts, Spine: scheduler.None, Top: scheduler.None}) {
				return
			}
		}
	}
}

// Port implements plan.Chooser.
func (o *over) Port(src, dst int) int {
	if port := o.plan.port(src*o.net.x.Hosts + dst); port != None {
		return port
	}
	return scheduler.None
}

func (o *over) Wires() int { return len(o.net.x.Links) }

// Way begins at the sender, and ends at the receiver.
func (o *over) Way(to []int32, src, dst int) []int32 {
	x := o.net.x
	to = x.Paths.Append(append(to, int32(src)), src, dst, o.plan.candidate(src*x.Hosts+dst))
	return append(to, int32(x.Hosts+dst))
}

func (o *over) Rate(wire int) float64 { return o.net.x.Links[wire].Rate() }

// WireName has the names of a lab; elsewhere a link is what answers behind it.
func (o *over) WireName(wire int) (link, direction string) {
	n := o.net.x.Hosts
	switch {
	case wire < n:
		return o.tree.WireName(o.tree.FromServer(wire))
	case wire < 2*n:
		return o.tree.WireName(o.tree.ToServer(wire - n))
	}
	if w, ok := o.w.Wires[o.net.x.hops[wire-2*n]]; ok {
		return o.tree.WireName(w)
	}
	return o.net.x.names[wire-2*n], "up"
}

func (o *over) WriteText(w io.Writer) error { return o.plan.Write(w) }

// Hash covers paths, ports and phases.
func (o *over) Hash() string {
	h := sha256.New()
	io.WriteString(h, o.net.x.of.sum())
	o.net.x.Each(func(src, dst int) { fmt.Fprintln(h, o.plan.At(src, dst), src, dst, o.Port(src, dst)) })
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// Judge has the judge of such plans read the plan as a file. Where nobody chose, messages may share links.
func (o *over) Judge() (err error) {
	if !o.contends {
		_, err = o.plan.Judged()
	}
	return err
}

// Check implements bench.Ways.
func (w *Ways) Check(ctx context.Context, a bench.Asked, p *plan.Plan) (again *plan.Plan, found bench.Checked, err error) {
	c := &checking{over: p.Over.(*over)}
	x := c.net.x
	s := &surveying{Survey: &Survey{Paths: *x.of}, ask: a.Trace, gap: c.net.gap, questions: make([][]*question, x.Hosts), taken: c.taken}
	x.Each(func(src, dst int) {
		if port := c.Port(src, dst); port != scheduler.None {
			s.questions[src] = append(s.questions[src], &question{Row: Row{src, dst, port, make([]Hop, len(c.hops(src, dst)))}, reached: true})
		}
	})
	for asked := true; asked && err == nil; {
		c.busy = false
		if asked, err = s.pass(ctx, (*question).trail); !c.busy || err != nil {
			continue
		}
		select {
		case <-time.After(cmp.Or(w.pause, busyPause)):
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if c.net.gap = s.gap; err != nil {
		return p, c.found, err
	}
	s.each(c.compare)
	if c.over != p.Over {
		p = new(*p)
		p.Over = c.over
	}
	return p, c.found, nil
}

// checking asks once more for the paths of the messages of a plan.
type checking struct {
	*over
	busy  bool // a port was in use in this round
	found bench.Checked
}

// busyRounds is how often a port is tried that is in use: connections of the case before may just be closing.
const (
	busyRounds = 20
	busyPause  = 50 * time.Millisecond
)

// hops are the switches by which a message should go.
func (c *checking) hops(src, dst int) []netip.Addr {
	x := c.net.x
	return lists.Map(x.Paths.Append(nil, src, dst, c.plan.candidate(src*x.Hosts+dst)), func(l int32) netip.Addr { return x.hops[int(l)-2*x.Hosts] })
}

// compare holds answers against the path of a message.
func (c *checking) compare(q *question) {
	of, how := c.net.x.of, ""
	for i, want := range c.hops(q.Src, q.Dst) {
		switch is := q.Hops[i]; {
		case how != "":
		case len(is) == 0:
			how = "no switch answers any more where one did"
		case is[0] != want:
			how = fmt.Sprintf("was over %s, is over %s", of.hopName(want), of.hopName(is[0]))
		}
	}
	if how != "" {
		c.found.Moved = append(c.found.Moved, fmt.Sprintf("%s port %d %s", of.pair(q.Src, q.Dst), q.Port, how))
	}
}

// taken tries again, and in the end gives a message another port with the same path, if one is known.
func (c *checking) taken(q *question, why string) error {
	c.busy = true
	if q.tries++; q.tries < busyRounds {
		return nil
	}
	x, m := c.net.x, q.Src*c.net.x.Hosts+q.Dst
	at := c.plan.candidate(m)
	links := x.Paths.Append(nil, q.Src, q.Dst, at)
	q.tries, q.tried = 0, append(q.tried, at)
	for i, port := range x.ports[m] {
		if slices.Contains(q.tried, i) || !slices.Equal(links, x.Paths.Append(nil, q.Src, q.Dst, i)) {
			continue
		}
		next, chosen, phases := *c.over, *c.plan, *c.plan.Plan
		phases.Path = slices.Clone(phases.Path)
		if phases.Path == nil {
			phases.Path = make([]uint8, x.Hosts*x.Hosts)
		}
		phases.Path[m] = uint8(i)
		chosen.Plan, next.plan = &phases, &chosen
		c.over = &next
		c.found.Ports = append(c.found.Ports, fmt.Sprintf("%s: others have port %d; port %d leads the same way and is taken", x.of.pair(q.Src, q.Dst), q.Port, port))
		q.Port = port
		return nil
	}
	return fmt.Errorf("%s: port %d cannot be taken (%s), and no other with its path is known: ask for more (fabric.routes: {kind: ports, probes: 4}), or end that program",
		x.of.pair(q.Src, q.Dst), q.Port, cmp.Or(why, "another program has it"))
}
