package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"evbench/model/credit"
	"evbench/routing"
	"evbench/topology"
)

// creditFlit is the unit of credits in bytes, InfiniBand's.
const creditFlit = 64

// A Lossless describes the switches and adapters of a lossless network.
type Lossless struct {
	Packet int // bytes of a packet; BitPerSec is without headers
	Buffer int // bytes of an input port and lane
	Lanes  int // that a packet may take, any free one at each hop with FIFO
	// PerOutput has a queue for each output in an input buffer, in common space. Otherwise the
	// buffer is one FIFO for each lane.
	PerOutput bool
	Reads     int // packets that leave an input buffer at a time, with PerOutput; 0: any number
	Delay     time.Duration
	Cable     time.Duration // from end to end
	// Choice is between the live links up. credit.First takes the link of the plan. Plans with
	// routing spray or adaptive have their own choice.
	Choice credit.Choice
	// InOrder makes a server send its fragments one after the other. Otherwise they take turns by
	// packet, as queue pairs do.
	InOrder bool
}

func flitsOf(bytes int64) int64 { return (bytes + creditFlit - 1) / creditFlit }

func (x Lossless) params(bitPerSec float64) (credit.Params, credit.Time) {
	flit := credit.Time(creditFlit*8/bitPerSec*1e12 + 0.5)
	p := credit.Params{
		Packet: int(flitsOf(int64(x.Packet))), Lanes: x.Lanes, Buffer: int(flitsOf(int64(x.Buffer))), CutThrough: true,
		Delay: credit.Time(x.Delay.Nanoseconds()) * 1000, Credit: flit,
	}
	if x.PerOutput {
		p.Organisation, p.Arbitration = credit.PerOutput, credit.Oldest
		p.Reads, p.After = x.Reads, p.Delay/2
		p.OutputQueue, p.Cross = 2*p.Packet+p.Packet/2, flit
		p.CreditAtEnds = true
		p.Host = credit.HostParams{Generate: flit, Cross: flit, Queue: p.Packet + 4, Ahead: min(4, p.Packet)}
	}
	return p, flit
}

// Packets builds events on a lossless network: packets with credits, as in package credit, under
// the rules of Fluid. A fragment is sent in packets. Under tables and schedules it keeps the path
// of the plan in force when it began.
//
// When a plan takes over, packets that wait at a leaf for a link that is dead in the new plan get
// new routes. Packets on the link, and packets that wait for it at a spine, still cross it.
func Packets(ctx context.Context, j *Job, progress Progress) (*Outcome, error) {
	c, err := newPacketStage(j)
	if err != nil {
		return nil, err
	}
	if err := c.run(ctx, progress); err != nil {
		return nil, err
	}
	return c.outcome(), nil
}

func choiceOf(j *Job) credit.Choice {
	switch j.Plan.Routing {
	case routing.Spray:
		return credit.Random
	case routing.Adaptive:
		return credit.Best
	}
	return j.Lossless.Choice
}

type packetStage struct {
	stage
	job    *Job
	rule   rule
	e      *credit.Engine
	wires  *credit.Wires
	up     []int32 // [topology.Tree.LinkID] the link upwards
	tree   *topology.Tree
	wire   map[int32]int32 // tree's wire of a link
	upBy   map[int32]int32 // link of a wire that leads up
	choice credit.Choice   // between links, by the plan's routing
	packet int64           // flits of a full one

	open  []parcel // fragments under way
	free  []int32
	queue [][]int32 // by server: those that have packets left to send, in turn
	under int
	asked credit.Time // when the engine will call; 0: it will not
}

type parcel struct {
	fragment
	stream     int32
	left, sent int64 // flits not received; sent
	flits      int64
	via        [2]int32
}

func newPacketStage(j *Job) (*packetStage, error) {
	r, err := ruleOf(j)
	if err != nil {
		return nil, err
	}
	p, flit := j.Lossless.params(j.BitPerSec)
	c := &packetStage{stage: newStage(j), job: j, rule: r, tree: j.Plan.Tree, packet: int64(p.Packet), choice: choiceOf(j)}
	c.stage.send = c.put
	c.meter.keep = true
	c.queue = make([][]int32, c.tree.Servers())
	c.build(flit, credit.Time(j.Lossless.Cable.Nanoseconds())*1000)
	if c.e, err = credit.New(p, c.wires, c.routes(0), c, j.Seed); err != nil {
		return nil, err
	}
	c.e.Meter.Until = credit.Time(j.Duration.Nanoseconds()) * 1000
	c.e.Meter.From = c.e.Meter.Until / 3
	return c, nil
}

// build makes the links: servers are hosts, then come the switches as the tree counts them.
func (c *packetStage) build(flit, cable credit.Time) {
	t := c.tree
	n := t.Servers()
	b := credit.NewBuilder(n, t.Switches(), flit, cable)
	c.up = make([]int32, t.AllLinks())
	c.wire = map[int32]int32{}
	leaf := t.LeafOfRanks()
	for s := range n {
		up, down := b.Cable(s, n+leaf[s])
		c.wire[up], c.wire[down] = int32(t.FromServer(s)), int32(t.ToServer(s))
	}
	for id := range c.up {
		link := t.LinkOf(id)
		low, high := t.Ends(link)
		up, down := b.Cable(n+low.Switch, n+high.Switch)
		c.up[id] = up
		c.wire[up], c.wire[down] = int32(t.UpWire(link)), int32(t.UpWire(link)+1)
	}
	c.wires = b.Build()
	c.renumber(b)
}

func (c *packetStage) renumber(b *credit.Builder) {
	wire := make(map[int32]int32, len(c.wire))
	for l, w := range c.wire {
		wire[b.Link(l)] = w
	}
	c.wire = wire
	c.upBy = map[int32]int32{}
	for i, l := range c.up {
		c.up[i] = b.Link(l)
		c.upBy[c.wire[c.up[i]]] = c.up[i]
	}
}

// routes returns the routes of a plan: every way up with which a live path begins, and the way
// down. Where the plan pins messages, or has one path for each pair, the fragment names its way up.
func (c *packetStage) routes(plan int) *credit.Routes {
	t := c.plans.plans[plan].Tree
	r := credit.NewRoutes(c.wires)
	r.Choice = c.choice
	for b := range t.Leaves() {
		for dst := t.First(b); dst < t.First(b+1); dst++ {
			r.Set(b, dst, c.wires.Back[c.wires.First[dst]])
		}
		for sw := range t.Switches() {
			if !t.Below(b, sw) {
				c.set(r, sw, b, c.upwards(&t.Live, sw, b))
			}
		}
		for k := range t.Spines() {
			c.downwards(r, &t.Live, b, k)
		}
	}
	return r
}

// upwards returns the live cables up from a switch that lead to a leaf.
func (c *packetStage) upwards(t *topology.Live, sw, leaf int) (out []int32) {
	for link := range t.Toward(sw, leaf) {
		out = append(out, c.up[t.LinkID(link)])
	}
	return out
}

// downwards sets the live cables from a spine to a leaf. If none is live it takes all, since packets
// on the way there still cross them. It also sets those from the switches above the spine.
func (c *packetStage) downwards(r *credit.Routes, t *topology.Live, leaf, spine int) {
	var out []int32
	var sw int
	for link := range t.Joining(leaf, spine) {
		_, high := t.Ends(link)
		if sw = high.Switch; t.LinkAlive(link) || !t.Alive(leaf, spine) {
			out = append(out, c.wires.Back[c.up[t.LinkID(link)]])
		}
	}
	c.set(r, sw, leaf, out)
	for link := range t.UpLinks(sw) {
		_, high := t.Ends(link)
		c.set(r, high.Switch, leaf, []int32{c.wires.Back[c.up[t.LinkID(link)]]})
	}
}

func (c *packetStage) set(r *credit.Routes, sw, leaf int, links []int32) {
	for dst := c.tree.First(leaf); dst < c.tree.First(leaf+1); dst++ {
		r.Set(sw, dst, links...)
	}
}

func (c *packetStage) put(stream int32, x fragment) {
	c.meter.first = min(c.meter.first, c.now)
	i := c.slot()
	flits := max(1, flitsOf(int64(x.bytes)))
	c.open[i] = parcel{fragment: x, stream: stream, left: flits, flits: flits, via: c.via(&x)}
	c.under++
	c.queue[x.src] = append(c.queue[x.src], i)
	c.e.Wake(x.src)
}

func (c *packetStage) slot() int32 {
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free = c.free[:n-1]
		return i
	}
	c.open = append(c.open, parcel{})
	return int32(len(c.open) - 1)
}

// via returns the links by which a fragment leaves its leaf and the switch above it, plus one; 0 where
// switches decide.
func (c *packetStage) via(x *fragment) (via [2]int32) {
	n := c.plans.nets[c.plans.now]
	a, b := n.leaf[x.src], n.leaf[x.dst]
	if !c.choice.Tables() || a == b {
		return via
	}
	path := c.plans.way(x)
	if path == nil {
		return via
	}
	via[0] = c.upBy[path[1]] + 1
	further, ok := c.upBy[path[2]]
	if !ok {
		further = c.wires.Back[c.upBy[path[2]-1]] // the wire downwards follows that upwards
	}
	via[1] = further + 1
	return via
}

// Next gives a server's next packet.
func (c *packetStage) Next(h int32, now credit.Time) (credit.Message, bool) {
	q := c.queue[h]
	if len(q) == 0 {
		return credit.Message{}, false
	}
	i := q[0]
	x := &c.open[i]
	n := min(c.packet, x.flits-x.sent)
	x.sent += n
	switch {
	case x.sent == x.flits:
		c.queue[h] = append(q[:0], q[1:]...)
	case !c.job.Lossless.InOrder:
		copy(q, q[1:])
		q[len(q)-1] = i
	}
	return credit.Message{Dst: x.dst, Flits: n, Start: now, Tag: i, Via: x.via}, true
}

// Received counts a packet.
func (c *packetStage) Received(_ *credit.Engine, _, _ int32, m credit.Message, now credit.Time) {
	c.now = float64(now) / 1e12
	x := &c.open[m.Tag]
	if x.left -= m.Flits; x.left > 0 {
		return
	}
	whole := *x
	c.free = append(c.free, m.Tag)
	c.under--
	c.meter.arrived(c.now, int(whole.src), int(whole.dst), whole.payload)
	c.rule.ended(&c.stage, whole.stream, &whole.fragment)
	c.ask()
}

// Called handles due moments.
func (c *packetStage) Called(_ *credit.Engine, now credit.Time) {
	c.now = max(c.now, float64(now)/1e12)
	c.asked = 0
	c.dispatch(c.now, c.rule, c.change)
	c.ask()
}

func (c *packetStage) ask() {
	if len(c.moments) == 0 {
		return
	}
	if at := credit.Time(c.moments[0].at*1e12) + 1; c.asked == 0 || at < c.asked {
		c.asked = at
		c.e.Call(at)
	}
}

func (c *packetStage) change(plan int) {
	before := c.plans.dead[c.plans.now]
	c.plans.now = plan
	var died []int32
	for l, w := range c.wire {
		if c.plans.dead[plan][w] && !before[w] {
			died = append(died, l)
		}
	}
	slices.Sort(died)
	c.e.Reroute(c.routes(plan), died)
	for i := range c.open {
		if x := &c.open[i]; x.left > 0 && x.sent < x.flits {
			x.via = c.via(&x.fragment)
		}
	}
}

func (c *packetStage) run(ctx context.Context, progress Progress) error {
	c.rule.begin(&c.stage)
	c.ask()
	slice := credit.Time(max(c.job.Duration.Nanoseconds()/100, 1)) * 1000
	for until := slice; ; until += slice {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.e.Run(until); err != nil {
			return err
		}
		if c.fail != nil {
			return c.fail
		}
		if progress != nil {
			progress(min(seconds(c.now), c.job.Duration), c.job.Duration)
		}
		if c.e.Done() {
			break
		}
	}
	if c.under > 0 {
		return fmt.Errorf("event building stands still at %v: %d fragments wait for credit", seconds(c.now), c.under)
	}
	return c.over(c.rule)
}

func (c *packetStage) outcome() *Outcome {
	for l, w := range c.wire {
		c.meter.wire[w] = float64(c.e.Carried(l) * creditFlit)
	}
	o := c.meter.outcome(c.job)
	o.Packets = c.counted()
	return o
}

func (c *packetStage) counted() packetCount {
	m := &c.e.Meter
	x := packetCount{
		From: time.Duration(m.From / 1000), Until: time.Duration(m.Until / 1000),
		Early: m.Early * creditFlit, Held: m.Held * creditFlit,
	}
	for s, flits := range m.Flits {
		x.Received = append(x.Received, flits*creditFlit)
		x.All += int64(c.meter.wire[c.tree.ToServer(s)])
	}
	for _, t := range c.meter.took {
		x.Took = append(x.Took, seconds(t))
	}
	slices.Sort(x.Took)
	if l, ok := c.rule.(*lockstep); ok {
		x.Barriers = time.Duration(l.onPhase) * time.Duration(l.rounds) * c.job.Timing.Round
	}
	return x
}
