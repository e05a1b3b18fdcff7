package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/controller"
	"evbench/controller/wire"
	"evbench/failover"
	"evbench/failover/loop"
	"evbench/internal/lists"
	"evbench/results"
	"evbench/scenario"
)

// A measurement is a slice during its measurement, with the goroutines beside the case.
type measurement struct {
	*runner
	m     *measured
	place Place
	end   func(error) // ends the case
	line  *timeline
	links *follower // nil if no link is to change
	rate  meter
	seen  cables

	before     []results.LinkCount // of the links, before the measured part
	counterErr error               // of reading them
}

// backWithin is how long a slice waits for servers that are back: a lab starts a killed one again after 1 s.
const backWithin = 2 * time.Second

// measure runs the case on the workers, plays its timed failures in parallel, and reads counters
// before and after, while the network is quiet.
func (r *runner) measure(ctx context.Context, m *measured, p Place) error {
	beside, stop := context.WithCancel(ctx)
	defer stop()
	g, beside := errgroup.WithContext(beside)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	x := &measurement{runner: r, m: m, place: p, end: end, line: &timeline{fabric: r.f, tree: m.Plan.Tree}, rate: meter{interval: r.s.Interval}}
	x.line.tell = func(e Event) { x.progress(p, e) }
	if len(m.Timed) > 0 || m.Failover != nil {
		var err error
		if x.links, err = r.newFollower(ctx, m, x.line, end); err != nil {
			return err
		}
	}
	c, err := r.controllerCase(m)
	if err != nil {
		return err
	}
	ports := r.readPorts(ctx, m)
	c.OnMeasure = func() { x.begin(ctx, beside, g) }
	c.OnSample = x.sample
	g.Go(func() error { return x.f.WatchCables(beside, x.seen.tell) })
	if r.lost { // servers that are back have a moment to join before the clock begins
		moment, over := context.WithTimeout(ctx, backWithin)
		_ = r.ctl.Join(moment, 0)
		over()
	}
	var runErr error
	m.outcome, runErr = r.ctl.RunCase(ctx, c)
	r.lost = r.lost || len(m.outcome.Away) > 0
	stop()
	besideErr := g.Wait()
	if x.note(runErr); x.line.cut == "" && x.line.waits == "" {
		x.line.cut = r.unreached(ctx, m, runErr)
	}
	err = errors.Join(x.line.blame(runErr), besideErr, x.counterErr, r.readLinks(m, x.before, x.line))
	r.risen(m, ports, r.readPorts(ctx, m))
	r.keepPairs(m)
	r.keepServers(m)
	r.keepExchanges(m)
	r.keepSpans(m)
	return err
}

// begin reads the counters and starts in g the goroutines that run until beside ends.
func (x *measurement) begin(ctx, beside context.Context, g *errgroup.Group) {
	x.before, x.counterErr = x.f.Counters(ctx)
	x.line.start = time.Now()
	if x.links != nil {
		g.Go(func() error { return x.links.run(beside) })
	}
	for _, l := range x.m.Lost {
		g.Go(func() error { return x.lose(beside, l) })
	}
	x.progress(x.place, Measuring{})
	g.Go(func() error { return x.line.play(beside, stepsOf(x.m.Case)) })
}

// lose ends a server when its time has come, and has it come back when that has, or the case is over.
func (x *measurement) lose(ctx context.Context, l scenario.Lost) error {
	if !x.awaits(ctx, l.At) {
		return nil
	}
	x.ctl.Lose(l.Server)
	if x.awaits(ctx, l.At+l.For); l.For == 0 {
		<-ctx.Done()
	}
	x.ctl.Admit(l.Server)
	return nil
}

// awaits waits until a time after the measurement began; false: ctx has ended before.
func (x *measurement) awaits(ctx context.Context, at time.Duration) bool {
	timer := time.NewTimer(time.Until(x.line.start.Add(at)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sample handles a sample of a server that builds events, and reports the rate of each finished
// interval.
func (x *measurement) sample(s results.Sample) {
	if rank, ok := x.s.Tree.Rank(s.Server); ok && !x.s.Tree.Builds(rank) {
		return
	}
	if err := x.sink.Write(s); err != nil {
		x.keep(err)
		x.end(fmt.Errorf("case %q: ends here, because results cannot be written", x.m.Name))
	}
	x.line.series.add(s)
	if interval, all, ok := x.rate.add(s); ok {
		e := Measuring{Elapsed: time.Since(x.line.start), EventsPerSec: all, Interval: interval}
		if s.Buffers != nil {
			b := *s.Buffers
			b.LatencySec, e.Buffers = x.rate.latency, &b
		}
		x.progress(x.place, e)
	}
}

// note records the changes of links, once no goroutine runs beside the case any more.
func (x *measurement) note(runErr error) {
	var odd []string
	x.m.events, odd = x.line.results(policyOf(x.m.Case))
	x.m.events = append(x.m.events, x.ways()...)
	x.m.warnings = append(x.m.warnings, odd...)
	x.m.failovers, x.m.last = x.failovers(x.m, x.line), x.line.plan
	if x.links != nil {
		if d, ok := x.links.Network.(loop.Doubter); ok && d.Doubt() != "" {
			x.m.wrong = append(x.m.wrong, d.Doubt())
		}
	}
	if runErr != nil {
		x.blameCables()
	}
}

// blameCables notes which cables were taken down from outside: at the end, or so shortly before
// that messages may still wait, because their routes are lost. If links between switches are
// followed, their waits are known already.
func (x *measurement) blameCables() {
	t, between := x.m.Plan.Tree, map[string]bool{} // switches; true: alive in the plan
	for id := range t.AllLinks() {
		l := t.LinkOf(id)
		between[t.LinkName(l)] = t.LinkAlive(l)
	}
	x.line.cut = describe(x.seen.since(time.Now().Add(-2*x.timeout(x.m)), func(cable string) bool {
		alive, link := between[cable]
		return !link || alive && x.links == nil
	}))
}

// keep remembers the first error of the sink. The run ends with it after the case, since the
// network must be left in order.
func (r *runner) keep(err error) { r.sinkErr = cmp.Or(r.sinkErr, err) }

func (r *runner) readLinks(m *measured, before []results.LinkCount, line *timeline) error {
	if before == nil {
		return nil
	}
	after, err := r.f.Counters(context.Background())
	if err != nil {
		return err
	}
	events := lists.Map(m.outcome.Servers, func(s controller.Server) uint64 { return s.Events })
	var planned []float64
	o, traced := m.outcome.Offered, m.Load.Arrival == load.Traced
	if m.outcome.Complete && len(m.failovers) == 0 && len(m.outcome.Away) == 0 && !(traced && o != nil && o.Refused > 0) {
		planned = plannedBytes(m.Planned, between(r.s, m.Planned, events))
	}
	m.links = carried(m.Planned, m.repeat, before, after, planned)
	m.drops = drops(m.links) - line.excused
	if m.drops > 0 && line.anyOutside(policyOf(m.Case)) { // no counter reading covers the failure of those links
		m.warnings = append(m.warnings, fmt.Sprintf("links were changed from outside, so it is not known which of %d packets were lost with them", m.drops))
		m.drops = 0
	}
	for _, l := range m.links {
		r.keep(r.sink.Write(l))
	}
	return nil
}

// controllerCase converts a case for the controller. Its error says why the workers cannot open the
// connections of the case.
func (r *runner) controllerCase(m *measured) (controller.Case, error) {
	roles := builder.RolesOf(r.s.Tree)
	c := controller.Case{Case: wire.Case{
		Setting: m.Setting, Common: r.s.Common, Repeat: m.repeat, Epoch: m.Plan.Epoch,
		Fragment: int(r.s.Event.Fragment), Sizes: r.s.Sizes(m.Case), Readers: roles.Readers, Builders: roles.Builders,
		Pairs: r.pairs, Course: r.pairs && r.sink.Keeps().Courses && r.s.Tree.Servers() <= maxPairsRounds, Trace: r.spans(m), Back: m.Plan.Tree.BackPaths(), Ports: m.Plan.Ports() != nil,
	}}
	c.Barrier = barrier.FormOf(m.Barrier, r.own)
	c.Timeout = r.timeout(m)
	if e := m.Prediction.Efficiency; e > 0 {
		c.Expected = time.Duration(float64(r.s.ExchangeTime()) / e)
	}
	c.Credits, c.AsyncCredits = credits(m.Case)
	var err error
	if c.Standby, err = standby(m.Planned, r.f.MayOpen); m.Mode == modes.Ordered {
		c.Windows = m.parts.Ordered.Windows(r.s, m.Case, m.Plan.Tree, m.Ordered)
		return c, err
	}
	c.Rows = rows(m.Plan)
	if err != nil {
		m.warnings = append(m.warnings, "new plans have to open connections first, which takes longer than all else: "+err.Error())
	}
	return c, nil
}

// credits returns how many events of a case are in flight, and how many once its policy has given
// up the phases; see wire.Case.
func credits(c scenario.Case) (events, async int) {
	events = c.Credits
	if c.Mode == modes.Ordered {
		events = c.Window
	}
	if policyOf(c) == failover.Unsync {
		async = asyncCredits
	}
	return events, async
}

// timeout is how long a case may make no progress. Without a barrier all fragments of the events in
// flight arrive in parallel, and none is whole before nearly all of their bytes have arrived. Where the
// transport sees whole fragments only, that is no standstill: the time-out is at least four times the
// predicted time of these events, which may be large.
func (r *runner) timeout(m *measured) time.Duration {
	info := r.f.Info()
	if m.Mode == modes.Sync || info.RateBitPerSec == 0 || m.Prediction.Efficiency == 0 {
		return r.s.Timeout
	}
	bits := heaviest(r.s, m.Case) * float64(m.Credits) * 8
	took := bits / (float64(info.RateBitPerSec) * info.Factor * m.Prediction.Efficiency)
	return max(r.s.Timeout, time.Duration(4*took*float64(time.Second)))
}
