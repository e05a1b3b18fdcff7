package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of a credible measurement.
const (
	minControl = 0.95 // of its own prediction: below, the control is odd
	badControl = 0.90 // of that: below, it is wrong
	maxOffPlan = 0.05 // of the bytes planned for a link
	maxBusy    = 0.90 // of all cores: beyond, that is odd
	overBusy   = 1.05 // of all cores: beyond, the accounts are wrong; below, 1 is a matter of their clocks

	// slack is the share of the busiest link that a link may carry beyond the plan:
	// acknowledgements and the barrier.
	slack = 0.01
	// header is the bytes of a packet's headers as links count them: Ethernet, IP and TCP with time stamps. Plans count messages alone.
	header = 14 + 52
	// reply is the most bytes of a packet without payload beside these, on average: options of an acknowledgement, or a header
	// by which MPI announces or confirms a message. Measured: 10 to 24 bytes.
	reply = 62
	// segment is the most bytes of a retransmission. mostAgain is the largest share of the busiest
	// link for all of them: more would hide a wrong path.
	segment, mostAgain = 9000, 0.15
	// overOne is how far above 1 an efficiency is still noise.
	overOne = 1.02
	// FewBursts: a fragment of fewer bursts of the lab's rate limit may seem some per cent too fast.
	FewBursts = 10
	// namedLinks is how many links off their plan are named.
	namedLinks = 3
)

// Evidence is the input of a verdict beside a case's own figures.
type Evidence struct {
	Duplicate, Corrupt uint64      // fragments that came twice, or not as they were sent
	Links              []LinkCount // those Planned are held against their plan
	Slices             []float64   // of the control: the efficiency of each slice that counts; without any, that of the case tells
	ControlOff         bool        // the run has none
	Wrong              []string    // what is wrong beyond that
	Bursts             float64     // of the links' rate limit in a fragment; 0: they have none
}

// A verdict is built up rule by rule.
type verdict struct{ reasons, warnings []string }

func (v *verdict) wrong(format string, args ...any) {
	v.reasons = append(v.reasons, fmt.Sprintf(format, args...))
}

func (v *verdict) odd(format string, args ...any) {
	v.warnings = append(v.warnings, fmt.Sprintf(format, args...))
}

// Judge says whether anything about a case is wrong or odd: it fills in Valid, Reasons and
// Warnings. Noise makes no measurement wrong; the interval of the case shows it (see Estimate). A
// simulated case has no machine and no control to check.
func (c *Case) Judge(e Evidence) {
	v := verdict{append([]string{}, e.Wrong...), append([]string{}, c.Warnings...)}
	if !c.Complete {
		v.wrong("not complete: the case ended before its time")
	} else { // what was under way when a case was interrupted is not lost
		some(c.EventsLost, v.wrong, "%d events lost")
	}
	some(c.EventsDuplicate+e.Duplicate, v.wrong, "%d events or fragments came twice")
	some(e.Corrupt, v.wrong, "%d fragments corrupt")
	some(c.FragmentsLate, v.odd, "%d fragments late")
	if c.Simulated == "" {
		v.machine(c, e)
		v.links(e.Links, c.Retransmits)
		v.control(c, e)
	}
	c.Valid, c.Reasons, c.Warnings = len(v.reasons) == 0, v.reasons, v.warnings
}

func some(n uint64, say func(string, ...any), format string) {
	if n > 0 {
		say(format, n)
	}
}

func (v *verdict) machine(c *Case, e Evidence) {
	drops := "%d packets dropped"
	if c.changes() {
		drops += " more than 1 s away from any timed failure"
	}
	some(c.Drops, v.wrong, drops)
	switch {
	case c.CPUBusy > overBusy:
		v.odd("the machine accounts for more processor time than has passed (cpu_busy is above 1): how busy its processors were is not known")
	case c.CPUBusy > maxBusy:
		v.odd("processors busy more than %.0f %% of the time, by this run or by others", 100*maxBusy)
	}
	switch {
	case c.MeasuredEfficiency <= overOne:
	case e.Bursts == 0:
		v.odd("efficiency %.3f is above 1: the links are faster than the stated rate", c.MeasuredEfficiency)
	default:
		v.odd("efficiency %.3f is above 1: a fragment is %.1f bursts of the links' rate limit, and what passes at once counts too much; %d to %d are enough (event.phase)", c.MeasuredEfficiency, e.Bursts, FewBursts, 2*FewBursts)
	}
}

// links compares every link with its plan and names the worst. A retransmitted segment crosses its
// links again.
func (v *verdict) links(links []LinkCount, retransmits uint64) {
	most := 0.0
	for _, l := range links {
		if l.Planned {
			most = max(most, float64(l.PlannedBytes))
		}
	}
	again := min(segment*float64(retransmits), mostAgain*most)
	back := map[string][]LinkCount{}
	for _, l := range links {
		back[l.Link] = append(back[l.Link], l)
	}
	var off []LinkCount
	for _, l := range links {
		if l.Planned && offPlan(l) > max(maxOffPlan*float64(l.PlannedBytes), slack*most)+again+replies(l, back[l.Link]) {
			off = append(off, l)
		}
	}
	slices.SortStableFunc(off, func(a, b LinkCount) int { return cmp.Compare(offPlan(b), offPlan(a)) })
	for i, l := range off {
		if i == namedLinks {
			v.wrong("%d more links off their plan", len(off)-i)
			break
		}
		v.wrong("link %s %s carried %s without headers, the plan puts %s there%s", l.Link, l.Direction,
			megabytes(messages(l)), megabytes(float64(l.PlannedBytes)), percent(l))
	}
}

// replies is what a direction of a link may carry in answer to the payload of the other one, of
// which it carries little or none itself, as where some servers only read: at most two packets
// without payload for each packet of that, an acknowledgement and, where a fragment is one packet, its request.
func replies(l LinkCount, both []LinkCount) float64 {
	for _, o := range both {
		if o.Direction != l.Direction && o.PlannedBytes > l.PlannedBytes {
			return reply * float64(min(l.Packets, 2*o.Packets)) * (1 - float64(l.PlannedBytes)/float64(o.PlannedBytes))
		}
	}
	return 0
}

// messages is the bytes that a link carried without the headers of its packets, which are many where fragments are small.
func messages(l LinkCount) float64 { return max(0, float64(l.Bytes)-header*float64(l.Packets)) }

func offPlan(l LinkCount) float64 { return math.Abs(messages(l) - float64(l.PlannedBytes)) }

func megabytes(n float64) string { return fmt.Sprintf("%.2f MB", n/1e6) }

func percent(l LinkCount) string {
	if l.PlannedBytes == 0 {
		return ""
	}
	return fmt.Sprintf(" (%+.1f %%)", 100*(messages(l)/float64(l.PlannedBytes)-1))
}

// control checks the reference of the other cases. A busy machine slows some of its slices down:
// the control is wrong only if the upper end of its interval is too low.
func (v *verdict) control(c *Case, e Evidence) {
	if e.ControlOff {
		v.odd("no control: the scenario says control: off")
	}
	if !c.Control || c.PredictedEfficiency <= 0 {
		return
	}
	i := NewInterval(e.Slices)
	if i.N == 0 {
		i.Median = c.MeasuredEfficiency
	}
	got := i.Median / c.PredictedEfficiency
	most := got
	if i.Known() {
		most = *i.Hi / c.PredictedEfficiency
	}
	switch {
	case most < badControl:
		v.wrong(controlReached+"%s: links, phases or the machine differ from the assumptions of the prediction", lessThan(got, badControl))
	case got < minControl:
		v.odd(controlReached+"%s: if the machine is the cause, cases with short phases lose most, and no ratio is resolved", lessThan(got, minControl))
	}
}

// controlReached begins what is said of a control below its prediction: no other case is wrong for that.
const controlReached = "the control reached "

// Slow reports whether all that is wrong with a case is that it is the control, and below its prediction.
func (c Case) Slow() bool {
	return c.Control && len(c.Reasons) == 1 && strings.HasPrefix(c.Reasons[0], controlReached)
}

// lessThan writes a share with as many digits as show that it is below a limit.
func lessThan(x, limit float64) string {
	digits := 3
	for fmt.Sprintf("%.*f", digits, x) == fmt.Sprintf("%.*f", digits, limit) && digits < 9 {
		digits++
	}
	return fmt.Sprintf("%.*f of its prediction, less than %.2f", digits, x, limit)
}

// A Load is the work of a machine's processors while a worker counted, as the kernel counts it. It
// is independent of the result of the case. nil: this machine cannot tell.
//
// Kernels sample most of these times about every 10 ms, and Linux shows them in steps of 10 ms:
// they suit intervals of a second and more.
type Load struct {
	Host    string  `json:"host,omitempty"` // name of the machine
	Cores   int     `json:"cores"`          // processors of the machine, over which OthersSec and StealSec are summed
	WallSec float64 `json:"wall_s"`

	// CPUSec is the processor time of the worker's process, all its threads, in user mode and
	// in the kernel (/proc/self/stat).
	CPUSec *float64 `json:"cpu_s"`
	// OthersSec is the processor time of all other processes of the machine (user, nice and system
	// of /proc/stat, less CPUSec), without steal and without interrupts: most interrupts come from
	// the network, and so from the case itself.
	OthersSec *float64 `json:"others_s"`
	// StealSec is how long processors had work while the hypervisor ran something else (steal of
	// /proc/stat, of all processors together).
	StealSec *float64 `json:"steal_s"`
	// RunDelaySec is how long threads of the worker's process were ready to run and waited for a
	// processor, summed over threads (/proc/self/task/*/schedstat), without threads that ended in
	// between.
	RunDelaySec *float64 `json:"run_delay_s"`
	// PressureSec is how long at least one thread of the machine waited for a processor
	// ("some" of /proc/pressure/cpu). At most WallSec.
	PressureSec *float64 `json:"pressure_s"`
	// MemorySec is the same for memory (/proc/pressure/memory).
	MemorySec *float64 `json:"memory_pressure_s,omitempty"`

	// Stops are the times that the worker's process stood still, by its own clock: seconds in all, the longest, and
	// when the first began. Waiting for a processor is a part of that.
	Stops          uint64  `json:"stops,omitempty"`
	StoodSec       float64 `json:"stood_s,omitempty"`
	LongestStopSec float64 `json:"longest_stop_s,omitempty"`
	FirstStopSec   float64 `json:"first_stop_s,omitempty"`
	Counters
}

const (
	// maxLoadSec bounds a time: thirty years of a processor.
	maxLoadSec = 1e9
	maxCores   = 1 << 16
	maxName    = 255 // bytes of the name of a host
)

// Check returns an error for a Load that no machine can have.
func (l Load) Check() error {
	if len(l.Host) > maxName {
		return fmt.Errorf("host: a name of %d bytes, at most %d", len(l.Host), maxName)
	}
	if l.Cores < 0 || l.Cores > maxCores {
		return fmt.Errorf("cores: %d, must be 0..%d", l.Cores, maxCores)
	}
	for _, t := range [...]struct {
		name string
		sec  *float64
	}{
		{"wall_s", &l.WallSec},
		{"cpu_s", l.CPUSec},
		{"others_s", l.OthersSec},
		{"steal_s", l.StealSec},
		{"run_delay_s", l.RunDelaySec},
		{"pressure_s", l.PressureSec},
		{"memory_pressure_s", l.MemorySec},
		{"stood_s", &l.StoodSec},
		{"longest_stop_s", &l.LongestStopSec},
		{"first_stop_s", &l.FirstStopSec},
	} {
		if t.sec != nil && (math.IsNaN(*t.sec) || *t.sec < 0 || *t.sec > maxLoadSec) {
			return fmt.Errorf("%s: %v, must be 0..%g", t.name, *t.sec, maxLoadSec)
		}
	}
	return nil
}

// Machines makes one Load for each machine from the loads of workers, in the order in which
// machines come. Workers in processes of their own count each other as others: CPUSec and
// RunDelaySec are their sums, and OthersSec excludes all workers. The rest is their mean, as they
// watch the same processors at the same time. A machine without a name is not shared.
func Machines(loads []Load) []Load {
	var out []Load
	for i, l := range loads {
		here := func(o Load) bool { return l.Host != "" && o.Host == l.Host }
		if slices.ContainsFunc(loads[:i], here) {
			continue
		}
		same := []Load{l}
		for _, o := range loads[i+1:] {
			if here(o) {
				same = append(same, o)
			}
		}
		out = append(out, machine(same))
	}
	return out
}

func machine(of []Load) Load {
	n := float64(len(of))
	l := Load{
		Host: of[0].Host, Cores: of[0].Cores,
		CPUSec:      sum(of, 1, func(l *Load) *float64 { return l.CPUSec }),
		RunDelaySec: sum(of, 1, func(l *Load) *float64 { return l.RunDelaySec }),
		OthersSec:   sum(of, n, func(l *Load) *float64 { return l.OthersSec }),
		StealSec:    sum(of, n, func(l *Load) *float64 { return l.StealSec }),
		PressureSec: sum(of, n, func(l *Load) *float64 { return l.PressureSec }),
		MemorySec:   sum(of, n, func(l *Load) *float64 { return l.MemorySec }),
		WallSec:     *sum(of, n, func(l *Load) *float64 { return &l.WallSec }),
	}
	if l.OthersSec == nil || l.CPUSec == nil {
		l.OthersSec = nil
		return l
	}
	*l.OthersSec = max(*l.OthersSec+*l.CPUSec/n-*l.CPUSec, 0)
	return l
}

// sum adds a time over loads and divides it by n; nil where one load lacks it.
func sum(of []Load, n float64, what func(*Load) *float64) *float64 {
	var total float64
	for i := range of {
		x := what(&of[i])
		if x == nil {
			return nil
		}
		total += *x / n
	}
	return &total
}
