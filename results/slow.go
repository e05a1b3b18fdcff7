package results

import (
	"bytes"
	"slices"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/plan"
	"evbench/results/attribution"
)

// A ServerCount is what a server noted of itself in the measured part.
type ServerCount struct {
	Case           string  `col:"case" unit:"" key:"yes"`
	Repeat         int     `col:"repeat" unit:""`
	Server         int     `col:"server" unit:"" key:"yes"` // position
	BarrierWaitSec float64 `col:"barrier_wait_s" unit:"s"`
	// Stops are the times that its process stood still: its clock was far ahead of when it asked. StoodSec is how long
	// in all, RunDelaySec how long its threads waited for a processor, which is a part of that on a busy machine.
	Stops          uint64  `col:"stops" unit:""`
	StoodSec       float64 `col:"stood_s" unit:"s"`
	LongestStopSec float64 `col:"longest_stop_s" unit:"s"`
	FirstStopSec   float64 `col:"first_stop_s" unit:"s"` // when it began; 0 without one
	RunDelaySec    float64 `col:"run_delay_s" unit:"s"`
	PressureSec    float64 `col:"cpu_pressure_s" unit:"s"`    // some thread of its machine waited for a processor
	MemorySec      float64 `col:"memory_pressure_s" unit:"s"` // or for memory
	Errors         uint64  `col:"adapter_errors" unit:""`     // of all adapters that it sees
}

func (ServerCount) record() {}

// add adds a later slice, which began at a time.
func (c *ServerCount) add(s ServerCount, began float64) {
	if c.Stops == 0 && s.Stops > 0 {
		c.FirstStopSec = began + s.FirstStopSec
	}
	c.BarrierWaitSec += s.BarrierWaitSec
	c.Stops += s.Stops
	c.StoodSec += s.StoodSec
	c.LongestStopSec = max(c.LongestStopSec, s.LongestStopSec)
	c.RunDelaySec += s.RunDelaySec
	c.PressureSec += s.PressureSec
	c.MemorySec += s.MemorySec
	c.Errors += s.Errors
}

// CountOf is the count of a server with the load of its process; nil: it has no record of its own.
func CountOf(server int, waited float64, l *Load) ServerCount {
	c := ServerCount{Server: server, BarrierWaitSec: waited}
	if l == nil {
		return c
	}
	known := func(x *float64) float64 {
		if x == nil {
			return 0
		}
		return *x
	}
	c.Stops, c.StoodSec, c.LongestStopSec, c.FirstStopSec = l.Stops, l.StoodSec, l.LongestStopSec, l.FirstStopSec
	c.RunDelaySec, c.PressureSec, c.MemorySec, c.Errors = known(l.RunDelaySec)+known(l.StealSec), known(l.PressureSec), known(l.MemorySec), l.Errors
	return c
}

// Slowness is what a slice shows of who is slow, with nothing but its pairs and servers. control is the position of
// the server whose cable control messages take, too, -1 for none.
func Slowness(p *plan.Plan, mode modes.Mode, sec float64, pairs []PairCount, servers []ServerCount, control int) attribution.Evidence {
	t := p.Tree
	e := attribution.Evidence{Timed: mode == modes.Sync, Sec: sec, Ways: attribution.Planned{Plan: p}}
	ranks := map[int]int{}
	for r := range t.Servers() {
		ranks[t.Position(r)], e.Names = r, append(e.Names, t.HostName(r))
	}
	loads := attribution.Planned{Plan: p}.Loads()
	for _, x := range pairs {
		src, known := ranks[x.Src]
		dst, also := ranks[x.Dst]
		if !known || !also {
			continue
		}
		y := attribution.Pair{Src: src, Dst: dst, Bytes: x.Bytes, Sec: x.Sec, Longest: x.LongestSec, Messages: int(x.Messages), Resent: x.Resent}
		if loads != nil {
			y.Expected = max(1, loads[src*t.Servers()+dst]) * float64(x.Bytes)
		}
		e.Pairs = append(e.Pairs, y)
	}
	if len(servers) != t.Servers() {
		return e
	}
	e.Servers = make([]attribution.Server, t.Servers())
	for _, x := range servers {
		r, ok := ranks[x.Server]
		if !ok {
			continue
		}
		e.Servers[r] = attribution.Server{
			Stops: int(x.Stops), Stood: max(0, x.StoodSec-x.RunDelaySec), Longest: x.LongestStopSec, First: x.FirstStopSec,
			Control: x.Server == control, Errors: x.Errors,
		}
	}
	return e
}

// Against returns who is slower in a case of a run than it was in another run, beside all others; nobody where one of
// them has not counted its pairs in phases. Plans are read from the texts of the run.
func Against(base, run *Run, name string) []attribution.Cause {
	p, err := plan.Read(bytes.NewReader(run.Plans[name]))
	if err != nil {
		return nil
	}
	was := map[[2]int]PairCount{}
	for _, x := range base.Merge().Pairs {
		if x.Case == name {
			was[[2]int{x.Src, x.Dst}] = x
		}
	}
	of := func(c Case) bool { return c.Name == name && c.Mode == modes.Sync }
	if !slices.ContainsFunc(base.Summary.Cases, of) || !slices.ContainsFunc(run.Summary.Cases, of) {
		return nil
	}
	pairs := lists.Where(run.Merge().Pairs, func(x PairCount) bool { return x.Case == name })
	e := Slowness(p, modes.Sync, 0, pairs, nil, -1)
	if len(e.Pairs) != len(was) {
		return nil
	}
	for i := range e.Pairs {
		y := &e.Pairs[i]
		x := was[[2]int{p.Tree.Position(y.Src), p.Tree.Position(y.Dst)}]
		if x.Bytes == 0 || x.Sec == 0 {
			return nil
		}
		y.Expected = x.Sec / float64(x.Bytes) * float64(y.Bytes)
	}
	return attribution.Find(e)
}

// Culprits says who is slow in a case, as a clause; "" for nobody.
func (c Case) Culprits() string {
	const mostSaid = 2
	said := c.Causes[:min(len(c.Causes), mostSaid)]
	return show.And(lists.Of(said, func(x attribution.Cause) string { return x.Text(c.MeasuredSec) }))
}

// culprit says who is slow in a case, or else in another one of the run.
func (r *reading) culprit(c Case) string {
	for _, x := range append([]Case{c}, r.cases...) {
		if slow := x.Culprits(); slow != "" {
			return slow
		}
	}
	return ""
}
