package ports

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/bench"
	"evbench/controller/wire"
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
		paths, n.gap = &s.Paths, s.Gap
	}
	if err == nil {
		n.x, err = exchangeOf(paths, func(src, dst int) bool { return src != dst && t.Reads(src) && t.Builds(dst) })
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
	number := map[int]int{}
	for i, h := range hosts {
		at := slices.IndexFunc(p.Hosts, func(o Host) bool { return o.Addr == h.Addr })
		if at < 0 {
			return nil, fmt.Errorf("the paths are those of other hosts: none of them is %s at %s", h.Name, h.Addr)
		}
		number[at] = i
	}
	return p.between(hosts, number), nil
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
	if c.Routing == scenario.Ports {
		out.Bound = scheduler.Bound{Phases: int(whole(max(n.x.leastOfAny(), n.x.Least().Time)))}
	}
	if c.Schedule != "" {
		out.Schedule = scheduler.FromMessages(c.Schedule, p.Tree, false, o.messages)
	}
	return &out, nil
}

// readFile reads a plan of Write, whose hosts may have another order.
func (x *Exchange) readFile(name string) (*Plan, error) {
	f, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := x.read(atomicfile.Text(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func (x *Exchange) read(r io.Reader) (*Plan, error) {
	p := &Plan{Plan: scheduler.NewPlan(x.Hosts, schedules.FilePrefix), x: x}
	p.Path = make([]uint8, x.Hosts*x.Hosts)
	number := map[string]int{} // rank, by number in the file
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		var err error
		switch {
		case n == 1 && strings.TrimSpace(lines.Text()) != "# evbench plan 4":
			err = errors.New("no plan of evbench plan --paths")
		case len(words) == 5 && words[1] == "x-host":
			at := slices.IndexFunc(x.of.Hosts, func(h Host) bool { return h.Addr.String() == words[4] })
			if at < 0 {
				err = fmt.Errorf("host %s at %s has no paths", words[3], words[4])
			}
			number[words[2]] = at
		case len(words) == 0 || words[0] == "#":
		default:
			err = p.row(words, number)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	missing := 0
	x.Each(func(src, dst int) {
		if p.At(src, dst) == scheduler.None {
			missing++
		}
	})
	if missing > 0 {
		return nil, fmt.Errorf("%d messages are missing", missing)
	}
	return p, nil
}

// row takes "phase src dst port".
func (p *Plan) row(words []string, number map[string]int) error {
	if len(words) != 4 {
		return fmt.Errorf("%d words; a row is: phase src dst port", len(words))
	}
	phase, err := strconv.Atoi(words[0])
	src, known := number[words[1]]
	dst, both := number[words[2]]
	port := None
	if err == nil && words[3] != noPort {
		port, err = readPort(words[3])
	}
	if err != nil || !known || !both || src == dst || phase < 0 || phase > 1<<24 {
		return fmt.Errorf("%q: no row phase src dst port, with hosts that an x-host line names", strings.Join(words, " "))
	}
	m := src*p.x.Hosts + dst
	at := slices.Index(p.x.ports[m], port)
	switch {
	case p.Phase[m] != scheduler.None:
		return fmt.Errorf("%s to %s is there twice", p.x.of.Hosts[src].Name, p.x.of.Hosts[dst].Name)
	case at < 0:
		return fmt.Errorf("%s to %s leaves from port %s, whose path is not known: write fabric.routes: {kind: ports, paths: FILE}, with the file that the plan was made for",
			p.x.of.Hosts[src].Name, p.x.of.Hosts[dst].Name, words[3])
	}
	p.Phase[m], p.Path[m] = int32(phase), uint8(at)
	p.Phases = max(p.Phases, phase+1)
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
func (o *over) Judge() error {
	var text bytes.Buffer
	if err := o.plan.Write(&text); err != nil || o.contends {
		return err
	}
	f, err := judge.Read(&text)
	if err != nil {
		return fmt.Errorf("the judge cannot read the plan: %w", err)
	}
	p, err := o.net.x.of.ForJudge()
	if err == nil {
		err = p.Suits(f)
	}
	if n := o.net.x.Hosts; err != nil || o.tree.Messages() < n*(n-1) {
		return err // the judge knows exchanges of all with all
	}
	if r := judge.Check(f, judge.Options{Ports: p, First: 1}); !r.Valid {
		return fmt.Errorf("the judge refuses the plan: %s", r.Offences[0].Text)
	}
	return nil
}

// Check implements bench.Ways.
func (w *Ways) Check(ctx context.Context, a bench.Asked, p *plan.Plan) (again *plan.Plan, found bench.Checked, err error) {
	o := p.Over.(*over)
	c := &checking{over: o, ask: a.Trace, left: make([][]*asked, o.net.x.Hosts)}
	o.net.x.Each(func(src, dst int) {
		if o.Port(src, dst) != scheduler.None {
			c.left[src] = append(c.left[src], &asked{src: src, dst: dst})
		}
	})
	for c.more() && err == nil {
		err = c.round(ctx)
	}
	if c.over != o {
		p = new(*p)
		p.Over = c.over
	}
	return p, c.found, err
}

// An asked message is one whose port is asked about once more.
type asked struct {
	src, dst     int
	silent, busy int   // rounds without an answer, or in which the port was in use
	tried        []int // candidates whose port was in use
	done         bool
}

type checking struct {
	*over
	ask   Ask
	left  [][]*asked
	found bench.Checked
}

// busyRounds is how often a port is tried that is in use: connections of the case before may just be closing.
const (
	busyRounds = 20
	busyPause  = 50 * time.Millisecond
)

// more drops what is done.
func (c *checking) more() bool {
	some := false
	for src := range c.left {
		c.left[src] = slices.DeleteFunc(c.left[src], func(q *asked) bool { return q.done })
		some = some || len(c.left[src]) > 0
	}
	return some
}

func (c *checking) round(ctx context.Context) error {
	x := c.net.x
	trails := lists.Map(c.left, func(all []*asked) []wire.Trail {
		return lists.Map(all, func(q *asked) wire.Trail {
			return x.of.trail(q.src, q.dst, x.of.Port, wire.Trail{Port: c.Port(q.src, q.dst), First: firstHop, Last: firstHop + len(c.hops(q)) - 1})
		})
	})
	seen, err := c.ask(ctx, trails, c.net.gap)
	if err != nil {
		return err
	}
	questions, silent, busy := 0, 0, false
	for src, all := range c.left {
		for i, q := range all {
			if i >= len(seen[src]) {
				return fmt.Errorf("%s cannot ask for paths", x.of.Hosts[src].Name)
			}
			s := seen[src][i]
			switch {
			case s.InUse || s.Err != "":
				busy = true
				if q.busy++; q.busy == busyRounds {
					if err := c.taken(q, s.Err); err != nil {
						return err
					}
				}
			default:
				questions += len(s.Hops)
				silent += c.compare(q, s.Hops)
			}
		}
	}
	c.net.gap = pace(c.net.gap, questions, silent)
	if !busy {
		return nil
	}
	select {
	case <-time.After(cmp.Or(c.w.pause, busyPause)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hops are the switches by which a message should go.
func (c *checking) hops(q *asked) []netip.Addr {
	x := c.net.x
	return lists.Map(x.Paths.Append(nil, q.src, q.dst, c.plan.candidate(q.src*x.Hosts+q.dst)), func(l int32) netip.Addr { return x.hops[int(l)-2*x.Hosts] })
}

// compare holds answers against the path of a message; silent is how many did not come.
func (c *checking) compare(q *asked, answers []string) (silent int) {
	want := c.hops(q)
	for i, hop := range want {
		is := ""
		if i < len(answers) {
			is = answers[i]
		}
		if is == hop.String() {
			continue
		}
		a, err := netip.ParseAddr(is)
		if err == nil {
			q.done = true
			c.moved(q, fmt.Sprintf("was over %s, is over %s", c.net.x.of.hopName(hop), c.net.x.of.hopName(a)))
			return silent
		}
		silent++
	}
	if silent == 0 {
		q.done = true
		return 0
	}
	if q.silent++; q.silent == passes {
		q.done = true
		c.moved(q, "no switch answers any more where one did")
	}
	return silent
}

func (c *checking) moved(q *asked, how string) {
	c.found.Moved = append(c.found.Moved, fmt.Sprintf("%s port %d %s", c.between(q), c.Port(q.src, q.dst), how))
}

func (c *checking) between(q *asked) string {
	return c.net.x.of.Hosts[q.src].Name + " → " + c.net.x.of.Hosts[q.dst].Name
}

// taken gives a message another port with the same path, if one is known.
func (c *checking) taken(q *asked, why string) error {
	x, m := c.net.x, q.src*c.net.x.Hosts+q.dst
	was, at := c.Port(q.src, q.dst), c.plan.candidate(m)
	links := x.Paths.Append(nil, q.src, q.dst, at)
	q.busy, q.tried = 0, append(q.tried, at)
	for i, port := range x.ports[m] {
		if slices.Contains(q.tried, i) || !slices.Equal(links, x.Paths.Append(nil, q.src, q.dst, i)) {
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
		c.found.Ports = append(c.found.Ports, fmt.Sprintf("%s: others have port %d; port %d leads the same way and is taken", c.between(q), was, port))
		return nil
	}
	if why == "" {
		why = "another program has it"
	}
	return fmt.Errorf("%s: port %d cannot be taken (%s), and no other with its path is known: ask for more (fabric.routes: {kind: ports, probes: 4}), or end that program", c.between(q), was, why)
}
