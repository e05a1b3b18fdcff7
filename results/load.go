package results

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/builder/load"
	"evbench/internal/answer"
	"evbench/internal/lists"
)

// Offered is what became of the events that a clock offered to a case, over its slices that count. Offered is Complete,
// Incomplete and Refused together.
type Offered struct {
	Load       string  `json:"load" unit:""`              // as in the scenario
	RatePerSec float64 `json:"rate_per_s" unit:"event/s"` // of the clock, events of all servers together
	Share      float64 `json:"share,omitempty" unit:"1"`  // of what the healthy network carries; 0: not known
	Offered    uint64  `json:"offered" unit:"event"`
	Complete   uint64  `json:"complete" unit:"event"`
	Incomplete uint64  `json:"incomplete" unit:"event"` // accepted, and not built: the case ended before
	Refused    uint64  `json:"refused" unit:"event"`    // they found the buffers of the sources full
	// Missing are the sources of what incomplete events lacked when they were closed, the most frequent first.
	Missing []Missing `json:"missing,omitempty"`
	// Away are the times in which the case went on without servers, since its measured part began.
	Away []Away `json:"away,omitempty"`

	// Growth is the share of the offered events by which more wait in the last quarter of the time than in the second:
	// the buffers hold them, for a while.
	Growth float64 `json:"growth,omitempty" unit:"1"`
	// Filling: that is more than chance makes of the clock. A longer case may refuse events.
	Filling bool `json:"filling,omitempty" unit:""`

	DeadSec    float64 `json:"dead_time_s" unit:"s"` // that the refused events stand for at the rate of the clock
	DeadTimes  uint64  `json:"dead_times" unit:""`   // that events were refused one after the other
	LongestSec float64 `json:"longest_dead_time_s" unit:"s"`

	Latency       load.Quantiles `json:"latency_s" unit:"s"`        // from an event until it is built
	Wait          load.Quantiles `json:"wait_s" unit:"s"`           // of it, until its exchange or the requests for its fragments began
	Parts         load.PartTimes `json:"parts_s,omitzero" unit:"s"` // of Latency: only the first, buffer, has the error of clocks
	ClockErrorSec float64        `json:"clock_error_s" unit:"s"`    // by which times may be wrong where servers have clocks of their own, at most
	// Predicted is what the simulation of the case said before it was measured; nil: it said nothing.
	Predicted *Expected `json:"predicted,omitempty"`
}

// NewOffered says what became of the events that a load offered, a share of what the healthy network carries (0: not
// known), of which some are built.
func NewOffered(l load.Load, share float64, a load.Account, built uint64) *Offered {
	n := a.Accepted + a.Refused
	return &Offered{
		Load: l.String(), RatePerSec: l.Rate, Share: share,
		Offered: n, Complete: built, Incomplete: a.Accepted - min(a.Accepted, built), Refused: a.Refused,
		Growth: a.Growth(), Filling: a.Growth() > l.Finest(float64(n)), DeadSec: float64(a.Refused) / l.Rate, DeadTimes: a.Times, LongestSec: a.Longest.Seconds(),
		Latency: a.Latency.Quantiles(), Wait: a.Waited.Quantiles(), Parts: a.Parts.Times(),
	}
}

// An Expected is what a simulation says of the events that a clock offers.
type Expected struct {
	Complete float64        `json:"complete" unit:"1"` // share of those offered
	Dead     float64        `json:"dead" unit:"1"`     // share of the time
	Latency  load.Quantiles `json:"latency_s" unit:"s"`
}

// Buffers are what a clock has offered in a slice so far, and what the buffer of each source holds: events, of each one
// fragment.
type Buffers struct {
	Offered    uint64  `json:"offered"`
	Refused    uint64  `json:"refused"`
	DeadSec    float64 `json:"dead_time_s"`
	Waiting    uint64  `json:"waiting"` // accepted, and their transfer has not begun
	Sending    uint64  `json:"sending"` // begun, and not built
	Free       uint64  `json:"free"`
	LatencySec float64 `json:"latency_s"` // mean, of the events built in the last interval; 0: none was
}

// A LoadRow is what became of the events that a clock offered to a case, as a row of Loads.
type LoadRow struct {
	Case   string `col:"case" unit:"" key:"yes"`
	Repeat int    `col:"repeat" unit:""`
	Offered
}

// Loads returns what was offered to the cases that have a load.
func (s Summary) Loads() (out []LoadRow) {
	for _, c := range s.Cases {
		if c.Offered != nil {
			out = append(out, LoadRow{c.Name, c.Repeat, *c.Offered})
		}
	}
	return out
}

// Missing is a source of which fragments were missing.
type Missing struct {
	Server int    `json:"server"` // position
	Events uint64 `json:"events"` // that lacked its fragment
}

// An Away is the time in which a case went on without a server.
type Away struct {
	Server  int      `json:"server"` // position
	FromSec float64  `json:"from_s"`
	ToSec   *float64 `json:"to_s,omitempty"`  // that it took part again; nil: it did not
	Event   *uint64  `json:"event,omitempty"` // from which on, counted from 0
}

// Taken is the share of the offered events that were built.
func (o Offered) Taken() float64 { return float64(o.Complete) / float64(max(1, o.Offered)) }

// Dead is the share of the time in which events find no room: that of the events refused. Of a clock without order it
// is the share of the time for which the buffers are full; a periodic clock may find them full for longer, between two
// of its events, and lose none.
func (o Offered) Dead() float64 { return float64(o.Refused) / float64(max(1, o.Offered)) }

// Dead is that of an Offered, so far.
func (b Buffers) Dead() float64 { return Offered{Offered: b.Offered, Refused: b.Refused}.Dead() }

// loaded are the cases that a clock offers events.
func (r *reading) loaded() (out []int) {
	for i, c := range r.cases {
		if c.Offered != nil && c.Estimate != nil {
			out = append(out, i)
		}
	}
	return out
}

// Loaded says what simulated cases do with the events that a clock offers them.
func Loaded(cases []Case) []answer.Finding {
	r, of := &reading{cases: cases}, []int(nil)
	for i, c := range cases {
		if c.Offered != nil {
			of = append(of, i)
		}
	}
	return r.offers(of)
}

// offers states what became of the events that were offered to cases: of many, where the first refuses some, or fills its
// buffers, and the most that is taken whole.
func (r *reading) offers(of []int) []answer.Finding {
	by := func(i, j int) int { return cmp.Compare(r.cases[i].Offered.RatePerSec, r.cases[j].Offered.RatePerSec) }
	of = slices.SortedFunc(slices.Values(of), by)
	if len(of) <= mostSentences {
		return lists.Map(of, r.takes)
	}
	var out []answer.Finding
	refuses := func(i int) bool { return r.cases[i].Offered.Taken() < 1 }
	if first := slices.IndexFunc(of, refuses); first >= 0 {
		out = append(out, r.takes(of[first]))
	}
	fills := func(i int) bool { return !refuses(i) && r.cases[i].Offered.Filling }
	if first := slices.IndexFunc(of, fills); first >= 0 && len(out) == 0 {
		out = append(out, r.takes(of[first]))
	}
	if whole := slices.DeleteFunc(slices.Clone(of), func(i int) bool { return refuses(i) || fills(i) }); len(whole) > 0 {
		out = append(out, r.takes(whole[len(whole)-1]))
	}
	return append(out, answer.Finding{Text: fmt.Sprintf("the table has all %d loads", len(of))})
}

// takes states what a case does with the events that it is offered.
func (r *reading) takes(i int) answer.Finding {
	c := r.cases[i]
	o, expected := c.Offered, 1.0
	if o.Share > 0 && c.PredictedEfficiency > 0 { // no more is predicted than is offered
		expected = c.PredictedEfficiency / o.Share
	}
	if o.Predicted != nil { // which knows of builders that are slow
		expected = min(expected, o.Predicted.Complete)
	}
	f := answer.Finding{Place: answer.At, Text: fmt.Sprintf("%s takes all of %s, p99.9 %s", c.called(), load.RateText(o.RatePerSec), span(o.Latency.P999))}
	if o.Filling {
		f.Doubts = []answer.Doubt{{Text: "more and more events wait in the buffers", Remedy: "take a longer --duration, or --find-rate"}}
	}
	if o.Taken() < 1 {
		f.Place, f.Doubts = answer.Below, nil
		f.Text = fmt.Sprintf("%s takes %s of %s", c.called(), percentBelow(o.Taken()), load.RateText(o.RatePerSec))
		if o.Refused > o.Incomplete {
			f.Text += fmt.Sprintf(": %.2g %% dead time", 100*o.Dead())
		} else if len(o.Missing) > 0 {
			f.Text += fmt.Sprintf(": %.2g %% incomplete, most without server%d", 100*float64(o.Incomplete)/float64(o.Offered), o.Missing[0].Server)
		}
		if expected < 1-Tolerance {
			f.Text += fmt.Sprintf(", %.2g %% predicted", 100*(1-expected))
		}
		switch short := 1 - o.Taken()/expected; {
		case short <= Tolerance:
		case r.saturated(c) != "":
			f.Doubts = []answer.Doubt{{Text: fmt.Sprintf("sources make about %s of the %s asked for on this machine, as %s",
				load.RateText(o.Taken()*o.RatePerSec), load.RateText(o.RatePerSec), r.saturated(c)), Remedy: "lower load.rate"}}
		case r.doubts(short):
			f.Doubts = []answer.Doubt{{Text: r.machine().sign, Remedy: r.quieter()}}
		}
	}
	return f
}

// waits is the share of the time for which servers wait for processors that are the limit, whatever the network carries.
const waits = .5

// saturated says by what processors are the limit of a case that refuses events; "": they are not.
func (r *reading) saturated(c Case) string {
	if c.Offered == nil || c.Offered.Refused <= c.Offered.Incomplete {
		return ""
	}
	p := processorsOf([]Case{c}, lists.Filter(r.all, func(s Slice) bool { return s.Case == c.Name }))
	if c.CPUBusy <= maxBusy && p.delay < waits {
		return ""
	}
	return p.sign
}

// percentBelow writes a share below 1 with as many digits as show that.
func percentBelow(x float64) string {
	digits := 0
	for fmt.Sprintf("%.*f", digits, 100*x) == fmt.Sprintf("%.*f", digits, 100.0) && digits < 6 {
		digits++
	}
	return fmt.Sprintf("%.*f %%", digits, 100*x)
}
