//go:build hdf5

package hdf5

import (
	"math"
	"strings"

	"evbench/results"
)

// A column of a table: named as in the CSV file, with the unit of its values;
// texts, numbers of servers and the like have none.
type column struct{ name, unit string }

// A table says what a dataset of rows is: its columns, and where a row keeps
// them. Column and field types belong together: *string, *int, *uint64, *float64
// and *bool.
type table[T any] struct {
	name, title string
	columns     []column
	fields      func(*T) []any
}

var samples = table[results.Sample]{
	name: "samples", title: "what each server counted in each interval",
	columns: []column{
		{"case", ""}, {"repeat", ""}, {"t_s", "s"}, {"interval_s", "s"}, {"server", ""}, {"events", "event"},
		{"event_size_byte", "byte"}, {"payload_byte", "byte"}, {"goodput_bit_per_s", "bit/s"}, {"barrier_wait_s", "s"},
		{"late", "fragment"}, {"duplicate", "fragment"}, {"corrupt", "fragment"}, {"retransmits", "segment"},
	},
	fields: func(s *results.Sample) []any {
		return []any{
			&s.Case, &s.Repeat, &s.TSec, &s.IntervalSec, &s.Server, &s.Events, &s.EventBytes, &s.PayloadBytes,
			&s.GoodputBitPerSec, &s.BarrierWaitSec, &s.Late, &s.Duplicate, &s.Corrupt, &s.Retransmits,
		}
	},
}

// links has one column more than the CSV file, whose planned_bytes stays empty
// where the plan does not say.
var links = table[results.LinkCount]{
	name: "links", title: "what each direction of each cable carried in the measured part of a case",
	columns: []column{
		{"case", ""}, {"repeat", ""}, {"link", ""}, {"direction", ""}, {"bytes", "byte"}, {"packets", "packet"}, {"drops", "packet"},
		{"planned_bytes", "byte"}, {"planned", ""},
	},
	fields: func(l *results.LinkCount) []any {
		return []any{
			&l.Case, &l.Repeat, &l.Link, &l.Direction, &l.Bytes, &l.Packets, &l.Drops, &l.PlannedBytes, &l.Planned,
		}
	},
}

var pairs = table[results.PairCount]{
	name: "pairs", title: "what each server received of each other one in the measured part of a case, and how long it waited for that",
	columns: []column{{"case", ""}, {"repeat", ""}, {"src", ""}, {"dst", ""}, {"bytes", "byte"}, {"seconds", "s"}},
	fields: func(p *results.PairCount) []any {
		return []any{&p.Case, &p.Repeat, &p.Src, &p.Dst, &p.Bytes, &p.Sec}
	},
}

var exchanges = table[results.ExchangeTime]{
	name: "exchanges", title: "how long the exchanges of a case took, the mean over servers; a row may stand for several that follow one another",
	columns: []column{{"case", ""}, {"repeat", ""}, {"exchange", ""}, {"exchanges", "exchange"}, {"duration_s", "s"}},
	fields: func(e *results.ExchangeTime) []any {
		return []any{&e.Case, &e.Repeat, &e.Exchange, &e.Exchanges, &e.DurationSec}
	},
}

// A caseRow is the summary of a case as far as it fits a row.
type caseRow struct {
	results.Case
	failures, reasons, warnings string
}

func newCaseRow(c results.Case) caseRow {
	return caseRow{c, strings.Join(c.Failures, "; "), strings.Join(c.Reasons, "; "), strings.Join(c.Warnings, "; ")}
}

var cases = table[caseRow]{
	name: "summary", title: "one row for each case and repeat; /summary.json says more",
	columns: []column{
		{"case", ""}, {"repeat", ""}, {"mode", ""}, {"barrier", ""}, {"schedule", ""}, {"routing", ""}, {"failures", ""},
		{"control", ""}, {"model", ""}, {"plan_hash", ""},
		{"events_per_s_min", "event/s"}, {"events_per_s_mean", "event/s"}, {"events_per_s_median", "event/s"}, {"events_per_s_max", "event/s"},
		{"goodput_bit_per_s_min", "bit/s"}, {"goodput_bit_per_s_mean", "bit/s"},
		{"goodput_bit_per_s_median", "bit/s"}, {"goodput_bit_per_s_max", "bit/s"},
		{"phases", "phase"}, {"bound", "phase"}, {"predicted_efficiency", "1"}, {"measured_efficiency", "1"}, {"ratio_to_control", "1"},
		{"exchanges", "exchange"}, {"measured_s", "s"}, {"events_built", "event"}, {"events_lost", "event"}, {"events_duplicate", "event"},
		{"retransmits", "segment"}, {"drops", "packet"}, {"barrier_wait_s", "s"}, {"cpu_busy", "1"},
		{"complete", ""}, {"valid", ""}, {"reasons", ""}, {"warnings", ""},
	},
	fields: func(c *caseRow) []any {
		e, g := &c.EventsPerSec, &c.GoodputBitPerSec
		return []any{
			&c.Name, &c.Repeat, &c.Mode, &c.Barrier, &c.Schedule, &c.Routing, &c.failures,
			&c.Control, &c.Model, &c.PlanHash,
			&e.Min, &e.Mean, &e.Median, &e.Max,
			&g.Min, &g.Mean, &g.Median, &g.Max,
			&c.Phases, &c.Bound, &c.PredictedEfficiency, &c.MeasuredEfficiency, &c.RatioToControl,
			&c.Exchanges, &c.MeasuredSec, &c.EventsBuilt, &c.EventsLost, &c.EventsDuplicate,
			&c.Retransmits, &c.Drops, &c.BarrierWaitSec, &c.CPUBusy,
			&c.Complete, &c.Valid, &c.reasons, &c.warnings,
		}
	},
}

// A failoverRow is a fail-over with lists as texts, and as NaN what is not known or did not happen.
type failoverRow struct {
	results.Failover
	down, up, dead, held string
	times                [10]float64
	rates                [3]float64
}

func newFailoverRow(f results.Failover) failoverRow {
	r := failoverRow{
		Failover: f, down: strings.Join(f.Down, " "), up: strings.Join(f.Up, " "), dead: strings.Join(f.Dead, " "), held: strings.Join(f.Held, " "),
	}
	for i, t := range [...]*float64{
		f.SetSec, f.SeenSec, f.AidedSec, f.PlannedSec, f.VerifiedSec, f.InstalledSec, f.UpdatedSec, f.LastOldSec, f.FirstNewSec, f.CleanedSec,
	} {
		r.times[i] = ifKnown(t)
	}
	for i, x := range [...]*float64{f.BeforeEventsPerSec, f.DuringEventsPerSec, f.AfterEventsPerSec} {
		r.rates[i] = ifKnown(x)
	}
	return r
}

func ifKnown(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

var failovers = table[failoverRow]{
	name: "failovers", title: "what was done about each change of what is alive; times since the measured part began; NaN: not known, or did not happen",
	columns: []column{
		{"case", ""}, {"repeat", ""}, {"id", ""}, {"down", ""}, {"up", ""}, {"dead", ""}, {"held", ""},
		{"set_s", "s"}, {"seen_s", "s"}, {"aided_s", "s"}, {"planned_s", "s"}, {"verified_s", "s"}, {"installed_s", "s"},
		{"updated_s", "s"}, {"last_old_s", "s"}, {"first_new_s", "s"}, {"cleaned_s", "s"},
		{"source", ""}, {"phases", "phase"}, {"plan_hash", ""}, {"from_exchange", "exchange"}, {"routes_changed", "route"}, {"attempts", ""},
		{"superseded", ""}, {"reason", ""},
		{"before_events_per_s", "event/s"}, {"during_events_per_s", "event/s"}, {"after_events_per_s", "event/s"},
	},
	fields: func(f *failoverRow) []any {
		t := &f.times
		return []any{
			&f.Case, &f.Repeat, &f.ID, &f.down, &f.up, &f.dead, &f.held,
			&t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7], &t[8], &t[9],
			&f.Source, &f.Phases, &f.PlanHash, &f.From, &f.Routes, &f.Attempts, &f.Superseded, &f.Reason,
			&f.rates[0], &f.rates[1], &f.rates[2],
		}
	},
}
