package sim

import (
	"math"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
)

// A clocked is the clock of a job with a load: which events have happened and found room in the buffers of the sources,
// and how old they were when they were built. It follows the controller, whose messages take no time. Servers count in
// ranks, times are seconds.
type clocked struct {
	trigger *load.Trigger
	roles   builder.Roles
	events  int             // of an exchange
	whole   bool            // an event has left the buffers when all of its exchange have
	stamps  []time.Duration // when each accepted event happened
	told    []float64       // when it was assigned to a builder, where they get events alone
	done    []uint64        // by server: events built
	armed   float64         // when the last wake asked for is
	account load.Account
	skip    func(load.Gap)
	skipped int    // gaps told
	first   uint64 // event
}

// newClocked returns the clock of a job, nil where it has no load.
func newClocked(j *Job) *clocked {
	if !j.Load.On() {
		return nil
	}
	roles := builder.RolesOf(j.Plan.Tree)
	events := roles.Events()
	return &clocked{
		roles: roles, events: events, skip: j.Skip, first: j.Warmup * uint64(events), whole: j.Mode != modes.Unsync, done: make([]uint64, roles.Servers), account: load.NewAccount(),
		trigger: load.NewTrigger(load.Options{
			Clock: load.NewClock(j.Load, j.Seed), Room: j.Load.Room(j.Fragment), Group: uint64(events), For: j.Duration, Most: uint64(j.Exchanges * events),
		}),
	}
}

// run lets events happen until a time. It is called before more events count as built.
func (c *clocked) run(at float64) {
	built, least := uint64(0), uint64(math.MaxUint64)
	for rank, n := range c.done {
		if c.roles.Builds(rank) {
			built, least = built+n, min(least, n)
		}
	}
	if c.whole {
		built = least * uint64(c.events)
	}
	c.trigger.Run(seconds(at), built)
	for ; c.skipped < len(c.trigger.Gaps); c.skipped++ {
		g := c.trigger.Gaps[c.skipped]
		c.skip(load.Gap{Event: c.first + g.Event, Refused: g.Refused})
	}
	c.stamps = append(c.stamps, c.trigger.Take(c.trigger.Waiting())...)
}

// happened reports whether all events of an exchange, from 0, have happened.
func (c *clocked) happened(exchange int) bool { return c.exchanges() > exchange }

// exchanges is how many exchanges have all their events.
func (c *clocked) exchanges() int { return len(c.stamps) / c.events }

// begins returns when an exchange may begin, not before a time; false: there is none.
func (c *clocked) begins(exchange int, at float64) (float64, bool) {
	for c.run(at); !c.happened(exchange); c.run(at) {
		next, more := c.trigger.Next()
		if !more {
			return at, false
		}
		at = max(at, next.Seconds())
	}
	return at, true
}

// ready reports whether an exchange may begin now. If not, the rule is woken when the clock has an event.
func (c *clocked) ready(f *stage, exchange int) bool {
	c.run(f.now)
	if c.happened(exchange) {
		return true
	}
	c.arm(f)
	return false
}

// arm wakes the rule when the clock has its next event.
func (c *clocked) arm(f *stage) {
	if next, more := c.trigger.Next(); more && next.Seconds() > c.armed {
		c.armed = next.Seconds()
		f.wake(moment{at: c.armed, kind: aTick})
	}
}

// built counts the event of a server in an exchange, which began, came and was built at these times.
func (c *clocked) built(exchange, server int, begun, came, now float64) {
	first := exchange * c.events
	told := c.stamps[first+c.events-1].Seconds() // with the last event of the exchange
	c.count(first+c.roles.Place(server), server, told, begun, came, now)
}

// count counts event i, from 0, which was told to its builder, begun, complete and built at these times.
func (c *clocked) count(i, server int, told, begun, came, now float64) {
	c.run(now)
	c.done[server]++
	due := c.stamps[i]
	c.account.Parts.Record(due, seconds(told), seconds(begun), seconds(came), seconds(now))
	c.account.Waited.Record(seconds(begun) - due)
	c.account.Latency.Record(seconds(now) - due)
}

// offered is what became of all events; nil without a clock.
func (c *clocked) offered() *load.Account {
	if c == nil {
		return nil
	}
	c.account.Counts = c.trigger.Counts
	return &c.account
}

// A supply assigns the events of a clock to builders, which begin them in their order, as many at a time as they have
// credits.
type supply struct {
	*clocked
	room   uint64 // events that a builder may have
	fewest bool   // the builder with the fewest gets the next
	credit int
	place  int     // of the builder of the next event
	has    []int   // by server: events assigned and not built
	waits  [][]int // by server: events that it has not begun
	works  []float64
	builds func(server int, event uint64) float64 // how long it works on an event; nil: on none
}

func newSupply(j *Job, c *clocked) *supply {
	n := j.Plan.Tree.Servers()
	s := &supply{
		clocked: c, room: math.MaxUint64, fewest: j.Assign == builder.AssignFree, credit: max(1, j.Credits),
		has: make([]int, n), waits: make([][]int, n), works: make([]float64, n),
	}
	if j.Load.Build > 0 {
		s.builds = func(server int, event uint64) float64 {
			return j.Load.Builds(j.Plan.Tree.Position(server), event, j.Seed).Seconds()
		}
	}
	switch {
	case j.Load.Builder > 0:
		s.room = uint64(j.Load.Builder) / uint64(j.Fragment*c.roles.Sources())
	case s.fewest:
		s.room = uint64(s.credit)
	}
	return s
}

// assign assigns the events that have happened and find room, and begins those whose turn it is.
func (s *supply) assign(f *stage, begin func(server, event int)) {
	s.run(f.now)
	for len(s.told) < len(s.stamps) {
		place, free := load.Place(s.place, s.events, s.fewest, s.room, func(place int) uint64 { return uint64(s.has[s.roles.Builder(place)]) })
		if !free {
			break
		}
		server := s.roles.Builder(place)
		s.place, s.has[server] = (place+1)%s.events, s.has[server]+1
		s.waits[server] = append(s.waits[server], len(s.told))
		s.told = append(s.told, f.now)
		s.begin(server, begin)
	}
	s.arm(f)
}

// begin begins events of a server as far as it has credits.
func (s *supply) begin(server int, begin func(server, event int)) {
	for len(s.waits[server]) > 0 && s.has[server]-len(s.waits[server]) < s.credit {
		event := s.waits[server][0]
		s.waits[server] = slices.Delete(s.waits[server], 0, 1)
		begin(server, event)
	}
}

// work is when a server is done with an event that is complete now: it works on one after the other.
func (s *supply) work(server int, event uint64, now float64) float64 {
	s.works[server] = max(now, s.works[server]) + s.builds(server, event)
	return s.works[server]
}
