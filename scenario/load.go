package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/load"
	"evbench/builder/modes"
	"evbench/failover"
	"evbench/internal/lists"
	"evbench/internal/unit"
	"evbench/topology"
)

var loadShape = func() shape {
	all := loadFields(&load.Load{}, new(string), new(string))
	return either(offeredRate(&load.Load{}).shape, object(all, "rate"), object(all, "trace"))
}()

func loadFields(l *load.Load, slow, trace *string) group {
	return group{
		{"rate", offeredRate(l), "events that happen in a second, of all servers together, such as 10kHz; or a share of what the healthy network carries, such as 80%"},
		{"trace", word(trace), "instead of rate and sizes: a file that says when events happen, and the bytes of each source"},
		{"arrival", choice(&l.Arrival, "arrival", load.Arrivals()...), "how they follow each other"},
		{"burst", whole(&l.Burst, 1, 1_000_000), "events at once, of arrival bursts"},
		{"buffer", sourceBuffer(l), "of each source, for fragments of events that are not built: bytes, or a number such as 40 fragments"},
		{"builder_buffer", size(&l.Builder, minFragment, 1<<50), "of each builder, for events that are not built; unsynchronised"},
		{"build", nested(either(lasts(&l.Build, 0, 0).shape, object(buildFields(l), "mean"))), "how long a builder works on each complete event; unsynchronised"},
		{"slow", word(slow), "builders that take twice as long, such as server3"},
		{"incomplete", lasts(&l.After, time.Millisecond, maxTimeout), "after which an event is closed without the fragments that are missing; unsynchronised"},
		{"lost", lostServers(&l.GoesOn), "what a lost server does to the run: it ends it, or the case goes on without the server"},
	}
}

func buildFields(l *load.Load) group {
	return group{
		{"mean", lasts(&l.Build, time.Microsecond, maxTimeout), "of all events"},
		{"distribution", choice(&l.Varies.Kind, "distribution", builder.Distributions()...), "what times are drawn from, of each event anew (default: all alike)"},
		{"spread", upTo(&l.Varies.Spread, builder.MaxSpread), "uniform in mean·(1±spread)"},
		{"sigma", upTo(&l.Varies.Sigma, builder.MaxSigma), "log-normal: standard deviation of the logarithm"},
	}
}

// build reads how long builders work on an event: a mean, or all fields.
func (d *document) build(at field, l *load.Load) bool {
	if !at.Given() {
		return true
	}
	f, good := d.section(at.InFull("mean"), buildFields(l), "mean: needed", "spread: needed with distribution="+builder.Uniform,
		"spread: only with distribution="+builder.Uniform, "sigma: only with distribution="+builder.LogNormal)
	if l.Varies.Kind == builder.LogNormal && !f.Given("sigma") {
		l.Varies.Sigma = defaultSigma
	}
	return good
}

func sourceBuffer(l *load.Load) value {
	return to(new(string), withUnit("GiB", "MiB", "KiB", "GB", "MB", "kB", "B", "fragments"), func(text string) (_ string, err error) {
		l.Buffer, l.Held, err = load.ParseBuffer(text)
		if err == nil && l.Held == 0 && (l.Buffer < minFragment || l.Buffer > 1<<50) {
			err = fmt.Errorf("%s: must be %s to %s", text, unit.Bytes(minFragment), unit.Bytes(1<<50))
		}
		return text, err
	})
}

func lostServers(goesOn *bool) value {
	word := ""
	v := choice(&word, "lost", "end", "continue")
	return to(goesOn, v.shape, func(text string) (bool, error) { return text == "continue", v.set(text) })
}

func lossFields(name *string, l *Lost) group {
	return group{
		{"server", word(name), "such as server5, which is lost"},
		{"at", lasts(&l.At, 0, maxDuration), "after the measurement starts"},
		{"for", lasts(&l.For, time.Millisecond, maxDuration), "after which it joins again; else after the case"},
	}
}

// rankOf is the rank of a server by its name; -1: there is none.
func rankOf(t *topology.Shape, name string) int {
	return slices.Index(lists.Tabulate(t.Servers(), t.ServerName), name)
}

// loss reads when a server is lost during a case.
func (d *document) loss(at field, s *Scenario, c *Case) bool {
	var (
		l    Lost
		name string
	)
	f, good := d.section(at, lossFields(&name, &l), "server at: needed; a server that is lost is {server: server5, at: 3s}")
	if !good {
		return false
	}
	rank := rankOf(s.Tree.Shape, name)
	switch {
	case rank < 0:
		d.Fail(f.Get("server"), "%q: there is no such server; there are %s to %s", name, s.Tree.ServerName(0), s.Tree.ServerName(s.Tree.Servers()-1))
	case !c.Load.GoesOn:
		d.Fail(f.Get("server"), "%s ends the run; write load: {rate: 80%%, lost: continue}", name)
	case l.At >= c.Duration:
		d.Fail(f.Get("at"), "%s is not below the duration of the case, %s", short(l.At), short(c.Duration))
	default:
		l.Server = s.Tree.Positions()[rank]
		c.Lost = append(c.Lost, l)
		return true
	}
	return false
}

func offeredRate(l *load.Load) value {
	return to(new(string), withUnit("Hz", "kHz", "MHz", "%"), func(text string) (_ string, err error) {
		l.Rate, l.Share, err = load.ParseRate(text)
		return text, err
	})
}

// load reads what a clock offers to a case: its rate, or all fields.
func (d *document) load(at field, s *Scenario, c *Case) {
	if !at.Given() {
		return
	}
	l, slow, trace := load.Load{Arrival: load.Periodic}, "", ""
	f, good := d.section(at.InFull("rate"), loadFields(&l, &slow, &trace), "rate arrival burst: not with trace, which says when events happen")
	switch {
	case !good, !d.build(f.Get("build"), &l), f.Given("trace") && !d.traced(f.Get("trace"), s, c, &l, trace):
		return
	case !l.On():
		d.Fail(at, "has no rate; write for example load: 10kHz")
		return
	case (l.Arrival == load.Bursts) != f.Given("burst"):
		d.Fail(at, "burst is how many events happen at once, of arrival: bursts; write both or none")
		return
	}
	if slow != "" && s.Tree != nil {
		rank := rankOf(s.Tree.Shape, slow)
		if rank < 0 || !s.Tree.Builds(rank) || l.Build == 0 {
			d.Fail(f.Get("slow"), "%q: write a server that builds events, and how long others take: build: 2ms", slow)
			return
		}
		l.Slow = []int{s.Tree.Positions()[rank]}
	}
	c.Load = l
	if err := c.mayLoad(s); err != nil {
		d.Fail(at, "%v", err)
	}
}

// mayLoad says why a clock cannot offer events to a case.
func (c *Case) mayLoad(s *Scenario) error {
	scheduled := c.Mode != modes.Unsync
	switch {
	case c.Load.After > 0 && scheduled:
		return fmt.Errorf("incomplete: in %s cases all servers wait for a fragment of the schedule; write mode: %s", c.Mode, modes.Unsync)
	case scheduled && (c.Load.Builder > 0 || c.Load.Build > 0):
		return fmt.Errorf("build and builder_buffer: in %s cases a builder has the event of the exchange; write mode: %s", c.Mode, modes.Unsync)
	case c.Load.Builder > 0 && s.Tree != nil && c.Load.Builder < s.Event.Fragment*unit.Bytes(builder.RolesOf(s.Tree).Sources()):
		return fmt.Errorf("builder_buffer: %s holds no event, of %d fragments of %s", c.Load.Builder, builder.RolesOf(s.Tree).Sources(), s.Event.Fragment)
	case c.Load.After >= s.Timeout:
		return fmt.Errorf("incomplete: %s must be below the timeout, %s, after which a server counts as lost", c.Load.After, s.Timeout)
	case c.Load.GoesOn && c.Failover != nil:
		return fmt.Errorf("lost: continue leaves servers out of the plan, which failover: %s makes anew with all of them; write one of the two", c.Failover.Policy)
	case c.Load.GoesOn && s.Sizes(*c).Table != nil:
		return errors.New("lost: continue leaves servers out, and sizes of a file or a trace are those of all; write one of the two")
	case c.Load.GoesOn && s.Fabric.Kind == Hosts && s.Launch.Kind == LaunchStarted:
		return errors.New("lost: continue needs workers that do not end with one of them, as those of mpirun and srun do; write launch: ssh")
	case c.Load.GoesOn && c.Mode == modes.Ordered:
		return fmt.Errorf("lost: continue leaves servers out, and windows of ordered cases are planned for all; write mode: %s", modes.Sync)
	case c.Assign == builder.AssignBalanced:
		return fmt.Errorf("assign: %s knows the sizes of events before they happen; write assign: %s", builder.AssignBalanced, builder.AssignNext)
	case c.Failover != nil && failover.Policy(c.Failover.Policy) == failover.Unsync:
		return fmt.Errorf("failover: %s changes how events are assigned, which a clock cannot follow", failover.Unsync)
	case c.Load.Share > 0 && s.Fabric.Rate == 0:
		return errors.New("nothing says what the network carries: write fabric.rate, or a rate such as 10kHz")
	}
	return nil
}

// Full is the rate of events, of all servers together, that the healthy network carries at the link rate; 0: not known.
func (s *Scenario) Full() float64 {
	if t := s.ExchangeTime(); t > 0 {
		return float64(builder.RolesOf(s.Tree).Events()) / t.Seconds()
	}
	return 0
}

// SearchRates has each case offered what the healthy network carries, or the rate of the case where that is not known,
// for a search for the rate that it takes. There is no control: nothing is held against it. Of cases that only their rates
// told apart the first is left.
func (s *Scenario) SearchRates() error {
	s.Control, s.Answer = false, nil
	err := s.each(func(c *Case) error {
		switch {
		case c.Load.Arrival == load.Traced:
			return errors.New("--find-rate: a trace has its own rate; write a rate")
		case !c.Load.On():
			c.Load.Arrival = load.Periodic
		}
		if s.Fabric.Rate > 0 || s.Fabric.AutoRate || c.Load.Rate == 0 {
			c.Load.Rate, c.Load.Share = 0, 1
		}
		if err := c.mayLoad(s); err != nil {
			return fmt.Errorf("--find-rate: %w", err)
		}
		return nil
	})
	var alone []Case
	for _, c := range s.Cases {
		same := func(o Case) bool {
			o.Name = c.Name
			return reflect.DeepEqual(o, c)
		}
		if !slices.ContainsFunc(alone, same) {
			alone = append(alone, c)
		}
	}
	s.Cases = alone
	return err
}

// Offers is the rate of events that a case is offered, of all servers together, and as a share of what the healthy
// network carries at the link rate; 0: not known, or without a load as many as that.
func (s *Scenario) Offers(c Case) (rate, share float64) {
	full := s.Full()
	switch {
	case c.Load.Rate > 0 && full > 0:
		return c.Load.Rate, c.Load.Rate / full
	case c.Load.Rate > 0:
		return c.Load.Rate, 0
	}
	return c.Load.Share * full, c.Load.Share
}
