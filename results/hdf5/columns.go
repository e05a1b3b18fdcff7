//go:build hdf5

package hdf5

import (
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
