package results

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"evbench/internal/lists"
	"evbench/internal/show"
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
	Counters
}

// Counters are what the adapters counted that a server sees (/proc/net/dev, ethtool -S, /sys/class/infiniband). They are
// signs: of who is slow, times of messages tell.
type Counters struct {
	Errors         uint64 `json:"adapter_errors,omitempty" unit:""`  // such as symbol errors
	XmitWait       uint64 `json:"xmit_wait,omitempty" unit:""`       // ticks without a credit to send with (InfiniBand)
	PausesSent     uint64 `json:"pauses_sent,omitempty" unit:""`     // frames, by priority (PFC) or of the link: it takes no more
	PausesReceived uint64 `json:"pauses_received,omitempty" unit:""` // its switch takes no more
	Marks          uint64 `json:"ecn_marks,omitempty" unit:""`       // packets that came marked
	Discards       uint64 `json:"discards,omitempty" unit:""`        // packets
}

// A PortCount is a counter of a port of a switch. Where Port is the name of what stands at its other end, it is a sign for
// who is slow; Cable tells it from others between the same two.
type PortCount struct {
	Switch  string `json:"switch"`
	Port    string `json:"port"`
	Counter string `json:"counter"`
	Count   uint64 `json:"count"`
	Cable   string `json:"cable,omitempty"`
}

// IsError reports whether it counts errors of a cable: of symbols, of check sums, of links that went down or were retrained.
func (p PortCount) IsError() bool {
	name := strings.ToLower(p.Counter)
	return slices.ContainsFunc([]string{"symbol", "crc", "fcs", "linkdowned", "link_down", "carrier_down", "linkerrorrecovery", "locallinkintegrity", "portrcverrors"}, func(x string) bool { return strings.Contains(name, x) })
}

// A Course is how long a byte of a pair took in each of equal parts of a slice, in per cent of what it took in the whole, "100 98 - 204":
// "-" where nothing came.
type Course string

// MaxCourse is the most bytes of a Course.
const MaxCourse = 256

// NewCourse makes one of shares of the whole; what is no number, or none above 0, is nothing that came.
func NewCourse(each []float64) Course {
	const most = 99_999
	var b []byte
	end := 0
	for i, x := range each {
		if i > 0 {
			b = append(b, ' ')
		}
		if !(x > 0 && x <= math.MaxFloat64) {
			b = append(b, '-')
			continue
		}
		b = strconv.AppendInt(b, int64(math.Round(min(most, max(1, 100*x)))), 10)
		end = len(b)
	}
	return Course(b[:end])
}

// Parts returns the shares; 0 where nothing came.
func (c Course) Parts() []float64 {
	return lists.Map(strings.Fields(string(c)), func(text string) float64 {
		x, _ := strconv.ParseUint(text, 10, 32)
		return float64(x) / 100
	})
}

const mostPorts = 256 // counters of a case

// Risen adds to counters what rose between two readings, the most first.
func Risen(sum, before, after []PortCount) []PortCount {
	at := map[PortCount]uint64{}
	add := func(of []PortCount, do func(sum, x uint64) uint64) {
		for _, p := range of {
			key := p
			key.Count = 0
			at[key] = do(at[key], p.Count)
		}
	}
	add(before, func(_, x uint64) uint64 { return x })
	rose := map[PortCount]uint64{}
	for _, p := range after {
		key := p
		key.Count = 0
		if was, known := at[key]; known && p.Count > was { // one that was set back tells nothing
			rose[key] = p.Count - was
		}
	}
	at = rose
	add(sum, func(sum, x uint64) uint64 { return sum + x })
	var out []PortCount
	for key, n := range at {
		key.Count = n
		out = append(out, key)
	}
	slices.SortFunc(out, func(a, b PortCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Switch, b.Switch), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Cable, b.Cable), cmp.Compare(a.Counter, b.Counter))
	})
	return out[:min(len(out), mostPorts)]
}

func (c *Counters) each(o *Counters, do func(a, b uint64) uint64) {
	for _, x := range [...][2]*uint64{{&c.Errors, &o.Errors}, {&c.XmitWait, &o.XmitWait}, {&c.PausesSent, &o.PausesSent},
		{&c.PausesReceived, &o.PausesReceived}, {&c.Marks, &o.Marks}, {&c.Discards, &o.Discards}} {
		*x[0] = do(*x[0], *x[1])
	}
}

// Since is what was counted since an earlier reading; a counter that was set back has counted nothing.
func (c Counters) Since(earlier Counters) Counters {
	c.each(&earlier, func(now, then uint64) uint64 { return max(now, then) - then })
	return c
}

func (ServerCount) record() {}

// Add adds a later slice, which began at a time in seconds.
func (c *ServerCount) Add(s ServerCount, began float64) {
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
	c.Counters.each(&s.Counters, func(a, b uint64) uint64 { return a + b })
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
	c.RunDelaySec, c.PressureSec, c.MemorySec, c.Counters = known(l.RunDelaySec)+known(l.StealSec), known(l.PressureSec), known(l.MemorySec), l.Counters
	return c
}

// Culprits says who is slow in a case, as a clause; "" for nobody.
func (s Summary) Culprits(c Case) string { return c.slow(processorsOf(s.Cases, s.Slices)) }

// culprit says who is slow in a case, or else in another one of the run. Whose segments are lost without phases may have a rate
// in the phases of another case, which says more.
func (r *reading) culprit(c Case) string {
	m := r.machine()
	for _, x := range append([]Case{c}, r.cases...) {
		causes := x.blamed(m)
		if len(causes) == 0 {
			continue
		}
		for _, y := range r.cases {
			if also := y.blamed(m); causes[0].Loses() && len(also) > 0 && also[0].Name == causes[0].Name && !also[0].Loses() {
				return y.slow(m)
			}
		}
		return x.slow(m)
	}
	return ""
}

func (c Case) slow(m processors) string {
	const mostSaid = 2
	causes := c.blamed(m)
	return show.And(lists.Map(causes[:min(len(causes), mostSaid)], func(x attribution.Cause) string { return x.Text(c.MeasuredSec) }))
}

// blamed are the causes of a case that its run can vouch for. On a machine that was disturbed itself nobody is blamed
// who stalls at times, as all do there, or whose rate explains less than half of what the case falls short by.
func (c Case) blamed(m processors) []attribution.Cause {
	if m.sign == "" {
		return c.Causes
	}
	short := 0.0
	if c.PredictedEfficiency > 0 && c.MeasuredEfficiency > 0 {
		short = 1 - c.MeasuredEfficiency/c.PredictedEfficiency
	}
	return lists.Filter(c.Causes, func(x attribution.Cause) bool {
		return x.Stops > 0 || x.Loses() || !x.AtTimes && x.Weight(c.MeasuredSec) >= short/2
	})
}
