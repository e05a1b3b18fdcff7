package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"evbench/bench"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/fabric/lab"
	"evbench/internal/answer"
	"evbench/internal/show"
	"evbench/internal/unit"
	"evbench/results"
	"evbench/scenario"
)

// A Machine is the performance of a lab on this machine, measured on a small tree at full load, and for a
// large tree on that one.
type Machine struct {
	Servers   int     `json:"servers"`           // of the tree with these phases
	PhaseSec  float64 `json:"phase_s"`           // what a phase takes beside its fragment: the time of its barrier
	BitPerSec float64 `json:"carried_bit_per_s"` // by the links of all servers of the small tree together
}

const (
	machineTree = "FT(2;4,8)"
	machineRate = unit.Rate(1e9)

	nothingToSend = "{fragment: 1KiB}"
	muchToSend    = "{phase: 10ms}" // short phases have small packets, as low rates do
)

// MeasureMachine measures this machine on a kind of fabric, the lab or the emulation; try has the control of a
// scenario run at its rate (see TryRate).
func MeasureMachine(kind string, try func(*scenario.Scenario) (results.TriedRate, error)) (Machine, error) {
	var m Machine
	for _, event := range []string{nothingToSend, muchToSend} {
		text := fmt.Sprintf("topology: %s\nfabric: {kind: %s, rate: %s}\nevent: %s\ndeliver: discard\ntimeout: 1m\ncases: [{}]\n", machineTree, kind, machineRate, event)
		s, err := scenario.Read("machine", strings.NewReader(text))
		if err != nil {
			return Machine{}, err
		}
		tried, err := try(s)
		if err != nil {
			return Machine{}, err
		}
		if tried.Efficiency <= 0 {
			return Machine{}, fmt.Errorf("no result from a lab of %d servers", s.Tree.Servers())
		}
		m.Servers = s.Tree.Servers()
		if event == nothingToSend {
			m.PhaseSec = s.FragmentTime().Seconds() / tried.Efficiency
		} else {
			m.BitPerSec = float64(m.Servers) * float64(machineRate) * tried.Efficiency
		}
	}
	return m, nil
}

// MeasureTree measures the phases of a scenario on its own tree, where that is too large for tries of a rate
// (Untried): there messages take longer than in proportion to the servers. try is as for MeasureMachine.
func (m *Machine) MeasureTree(s *scenario.Scenario, try func(*scenario.Scenario) (results.TriedRate, error)) error {
	tried, err := try(s)
	if err != nil {
		return err
	}
	n := s.Tree.Servers()
	if tried.Efficiency <= 0 {
		return fmt.Errorf("no result from a lab of %d servers", n)
	}
	beside := loaded(s).Phase.Seconds() * (1/tried.Share() - 1)
	m.PhaseSec = max(beside, m.PhaseSec*float64(n)/float64(m.Servers))
	m.Servers = n
	return nil
}

// mostLost is the share of the time that barriers may take before a forecast suggests longer
// phases.
const mostLost = 0.05

// leastBursts is how many bursts of the rate limit a fragment of the lab has at least.
const leastBursts = 10

// perSocket is the memory in bytes of one end of a connection in the lab, with its share of buffers
// and of the worker: 326 servers with 213,000 ends took 3.2 GB.
const perSocket = 16 << 10

// A Forecast compares the needs of a scenario in the lab with the resources of a machine.
type Forecast struct {
	Servers     int `json:"servers"`
	Switches    int `json:"switches"`
	Connections int `json:"connections"` // one for data in each direction of each pair of servers
	Processes   int `json:"processes"`   // for the servers; 0: the files of one server are too many for a process

	NeedBytes  uint64 `json:"need_byte"`
	EventBytes uint64 `json:"event_byte"`  // part of it for events
	Usable     uint64 `json:"usable_byte"` // memory available here; 0: not known

	RateBitPerSec    float64 `json:"rate_bit_per_s"`    // of a link, as the scenario says
	CarriedBitPerSec float64 `json:"carried_bit_per_s"` // of a link, when as many servers as possible receive at once
	PhaseSec         float64 `json:"phase_s"`           // without its barrier
	BarrierSec       float64 `json:"barrier_s"`         // 0: no case has barriers
	RoundSec         float64 `json:"round_s,omitempty"` // a slice of each case and of the control; 0: not known
	Machine          Machine `json:"machine"`

	rounds scenario.Rounds
}

// NewForecast returns the forecast for a scenario in the lab. A process may have the files of inOne
// servers; usable is the available memory in bytes, 0 if it is unknown.
//
// Messages of all servers pass through the same processors, so with more servers a barrier takes
// longer and each link carries less.
func NewForecast(s *scenario.Scenario, m Machine, inOne int, usable uint64) Forecast {
	n, events := s.Tree.Servers(), EventBytes(s, s.Tree.Servers())
	pairs := s.Tree.Messages()
	atOnce := float64(pairs) / float64(s.Tree.MostMessages()) // messages, if no leaf lacks links
	f := Forecast{
		Servers: n, Switches: s.Tree.Switches(), Connections: pairs, Usable: usable, Machine: m,
		NeedBytes: uint64(pairs)*2*perSocket + events, EventBytes: events, RateBitPerSec: float64(s.Fabric.Rate),
		CarriedBitPerSec: m.BitPerSec / atOnce, PhaseSec: s.FragmentTime().Seconds(),
	}
	if inOne > 0 {
		f.Processes = (n + inOne - 1) / inOne
	}
	if slices.ContainsFunc(s.Cases, func(c scenario.Case) bool { return c.Mode == modes.Sync }) {
		f.BarrierSec = m.PhaseSec * float64(n) / float64(m.Servers)
	}
	return f
}

// Untried reports whether a tree is too large for tries of a link rate.
func Untried(s *scenario.Scenario) bool { return leastTry(s) > RateLimit }

// SettleRate sets the rate of a scenario whose rate is auto and whose tree is too large for tries (SearchRate):
// it is a sixth of what links carry, for a packet costs more among the switches of a large tree, and phases
// wait for the last one. With 326 servers on two processors, where links carry 30 Mbit/s, phases of 60 ms take 8 ms
// longer at 5 Mbit/s and 38 ms longer at 10 Mbit/s. The time of a run does not depend on the rate.
func (f Forecast) SettleRate(s *scenario.Scenario) error {
	if !s.Fabric.AutoRate || !Untried(s) {
		return nil
	}
	return s.SettleRate(max(roundDown(f.CarriedBitPerSec/6), 1e6))
}

// SettlePhase sets the phase of a scenario whose phase is auto, such that barriers take a twentieth of the time,
// and a fragment is ten of the bursts that links let pass at once: a link that waits for others saves one up.
func (f Forecast) SettlePhase(s *scenario.Scenario) error {
	if !s.Event.AutoPhase {
		return nil
	}
	least := leastFragment
	if s.Fabric.Kind == scenario.Lab {
		least = leastBursts * lab.Burst(s.Fabric.Rate, 0)
	}
	phase := max(time.Duration(f.BarrierSec*(1-mostLost)/mostLost*1e9), lasts(s.Fabric, least), tryPhaseMin)
	return s.SettlePhase(min(roundUp(phase), scenario.MaxPhase))
}

// lasts is how long so many bytes take at the rate of a fabric.
func lasts(f scenario.Fabric, bytes int) time.Duration {
	return time.Duration(float64(8*bytes) / f.BitPerSec() * 1e9)
}

// Rounds sets how long a round of planned cases takes: the exchanges that each throws away, and as many as
// its duration needs.
func (f *Forecast) Rounds(s *scenario.Scenario, planned []bench.Planned) {
	f.RoundSec, f.rounds = 0, s.Rounds
	for _, p := range planned {
		if p.Prediction.Efficiency <= 0 {
			f.RoundSec = 0
			return
		}
		exchange := s.ExchangeTime().Seconds() / p.Prediction.Efficiency / (1 - f.Lost())
		f.RoundSec += exchange * (float64(s.Warmup) + math.Ceil(p.Duration.Seconds()/exchange))
	}
}

// EventBytes is the memory of the event buffers of the given number of servers of a scenario.
func EventBytes(s *scenario.Scenario, servers int) uint64 {
	fragments, credits := s.Tree.Readers(), 1
	servers = min(servers, s.Tree.Builders())
	for _, c := range s.Cases {
		credits = max(credits, c.Credits, c.Window)
	}
	if s.Deliver == builder.DeliverDiscard {
		fragments = 1 // one fragment for each event
	}
	return uint64(servers*fragments*credits) * uint64(s.Event.Fragment)
}

// Fits reports whether the lab of the scenario can be built and started.
func (f Forecast) Fits() bool {
	return f.Processes > 0 && f.memory()
}

func (f Forecast) memory() bool { return f.Usable == 0 || f.NeedBytes <= f.Usable }

// Carried reports whether links carry the rate of the scenario.
func (f Forecast) Carried() bool { return f.RateBitPerSec <= f.CarriedBitPerSec }

// Lost is the share of the time that barriers take.
func (f Forecast) Lost() float64 { return f.BarrierSec / (f.BarrierSec + f.PhaseSec) }

// Time says how long a run takes, "" where it is not known.
func (f Forecast) Time() string {
	round, r := time.Duration(f.RoundSec*1e9), f.rounds
	switch {
	case round == 0:
		return ""
	case r.Count > 0:
		return fmt.Sprintf("%s of about %s, %s in all", show.Plural(r.Count, "round", "rounds"), rough(round), rough(time.Duration(r.Count)*round))
	case 2*round > r.Limit:
		return fmt.Sprintf("one round of about %s, for the limit is %s: no interval", rough(round), r.Limit)
	}
	return fmt.Sprintf("at most %s of about %s, for the limit is %s", show.Plural(int(r.Limit/round), "round", "rounds"), rough(round), r.Limit)
}

func rough(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(10 * time.Second)
	}
	return d.Round(time.Second)
}

// Answer says whether the lab of the scenario of that name fits, and whether its links and barriers are as it says.
func (f Forecast) Answer(name string) answer.Answer {
	findings := []answer.Finding{{Text: show.Plural(f.Servers, "server fits", "servers fit") + " on this machine", Place: answer.At}}
	short := func(cause, format string, args ...any) {
		findings = append(findings, answer.Finding{Text: fmt.Sprintf(format, args...), Place: answer.Below, Cause: cause})
	}
	if f.Processes == 0 {
		short("raise ulimit -Hn", "no process may have the files of one server")
	}
	if !f.memory() {
		short("deliver: discard, smaller fragments or fewer credits take less", "%s take about %s of memory; %s may be taken",
			show.Plural(f.Servers, "server", "servers"), unit.Bytes(f.NeedBytes), unit.Bytes(f.Usable))
	}
	if carried := roundDown(f.CarriedBitPerSec); !f.Carried() {
		short("take rate: "+carried.String()+" or less", "this machine carries about %s on each link, not %s", carried, unit.Rate(f.RateBitPerSec))
	}
	if !f.quick() {
		short("take phase: "+brief(f.BarrierSec*(1-mostLost)/mostLost).String()+" or more", "barriers of about %s take %.0f %% of the time", brief(f.BarrierSec), 100*f.Lost())
	}
	if len(findings) == 1 {
		findings[0].Text += fmt.Sprintf("; it carries about %s on each link", roundDown(f.CarriedBitPerSec))
	}
	e := answer.Evidence{Findings: findings}
	if f.Fits() {
		e.Next = []string{answer.Typed("evbench", "run", name)}
	}
	return answer.Decide(answer.Fits.About(name), e)
}

// quick reports whether barriers leave enough of the time, as printed.
func (f Forecast) quick() bool { return f.BarrierSec == 0 || f.Lost() < mostLost+0.005 }

// String has one line for each question, in the form of lab.Report.
func (f Forecast) String() string {
	var b strings.Builder
	line := func(ok bool, format string, args ...any) {
		word := "ok"
		if !ok {
			word = "no"
		}
		fmt.Fprintf(&b, "  %-4s  %s\n", word, fmt.Sprintf(format, args...))
	}
	advise := func(format string, args ...any) { fmt.Fprintf(&b, "        take %s\n", fmt.Sprintf(format, args...)) }
	if f.Processes == 0 {
		line(false, "%d servers, %d switches: no process may have the files of one server; raise ulimit -Hn", f.Servers, f.Switches)
	} else {
		line(true, "%d servers, %d switches, %d connections, processes: %d", f.Servers, f.Switches, f.Connections, f.Processes)
	}
	if f.Usable > 0 {
		line(f.memory(), "memory: about %s (%s for events) of %s that may be taken", unit.Bytes(f.NeedBytes), unit.Bytes(f.EventBytes), unit.Bytes(f.Usable))
		if !f.memory() {
			advise("deliver: discard, smaller fragments or fewer credits")
		}
	}
	carried := roundDown(f.CarriedBitPerSec)
	if line(f.Carried(), "links of %s: this machine carries about %s on each at a time", unit.Rate(f.RateBitPerSec), carried); !f.Carried() {
		advise("fabric: {rate: %s} or less", carried)
	}
	if text := f.Time(); text != "" {
		line(true, "%s", text)
	}
	if f.BarrierSec == 0 {
		return b.String()
	}
	line(f.quick(), "phases of %s: barriers of about %s take %.0f %% of the time", brief(f.PhaseSec), brief(f.BarrierSec), 100*f.Lost())
	if !f.quick() {
		advise("event: {phase: %s} or more for %.0f %%", brief(f.BarrierSec*(1-mostLost)/mostLost), 100*mostLost)
	}
	return b.String()
}

// roundUp has two digits.
func roundUp(d time.Duration) time.Duration {
	step := time.Duration(math.Pow10(max(0, int(math.Log10(float64(d)))-1)))
	return (d + step - 1) / step * step
}

func brief(sec float64) time.Duration {
	step := time.Duration(math.Pow10(int(math.Floor(math.Log10(sec*1e9))) - 1))
	return time.Duration(sec * 1e9).Round(step)
}

func roundDown(bitPerSec float64) unit.Rate {
	step := math.Pow10(int(math.Log10(max(bitPerSec, 1))))
	return unit.Rate(math.Floor(bitPerSec/step) * step)
}
