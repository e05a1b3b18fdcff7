package results_test

import (
	"slices"
	"strings"
	"testing"

	"evbench/results"
	"evbench/testing/expect"
)

// judged is a case and what it is judged by.
type judged struct {
	results.Case
	e results.Evidence
}

// good is evidence that nothing can be said against.
func good() judged {
	return judged{
		results.Case{Complete: true, Rates: results.Rates{MeasuredEfficiency: 0.93, PredictedEfficiency: 0.94}, Counts: results.Counts{Exchanges: 12, CPUBusy: 0.3}},
		results.Evidence{Links: []results.LinkCount{
			{Link: "leaf0-spine1", Direction: "up", Bytes: 101_000_000, PlannedBytes: 100_000_000, Planned: true},
			{Link: "leaf1-spine1", Direction: "up", Bytes: 900_000, PlannedBytes: 0, Planned: true}, // acknowledgements
			{Link: "leaf2-spine1", Direction: "up", Bytes: 7, PlannedBytes: 0},                      // no plan says
		}},
	}
}

func tooSlow(share string) string {
	return "the control reached " + share + " of its prediction, less than 0.90: links, phases or the machine differ from the assumptions of the prediction"
}

func TestJudge(t *testing.T) {
	accounts := "the machine accounts for more processor time than has passed (cpu_busy is above 1): how busy its processors were is not known"
	for _, tt := range []struct {
		name     string
		change   func(*judged)
		reasons  []string
		warnings []string
	}{
		{name: "good", change: func(*judged) {}},
		{
			name:    "a doubt of the network",
			change:  func(c *judged) { c.e.Wrong = []string{"its tables were not known"} },
			reasons: []string{"its tables were not known"},
		},
		{
			name:    "interrupted",
			change:  func(c *judged) { c.Complete = false },
			reasons: []string{"not complete: the case ended before its time"},
		},
		{
			name:     "events",
			change:   func(c *judged) { c.EventsLost, c.EventsDuplicate, c.e.Corrupt, c.FragmentsLate = 3, 2, 1, 4 },
			reasons:  []string{"3 events lost", "2 events or fragments came twice", "1 fragments corrupt"},
			warnings: []string{"4 fragments late"},
		},
		{
			name:    "drops",
			change:  func(c *judged) { c.Drops = 7 },
			reasons: []string{"7 packets dropped"},
		},
		{name: "not busy", change: func(c *judged) { c.CPUBusy = 0.9 }},
		{name: "busy", change: func(c *judged) { c.CPUBusy = 0.97 }, warnings: []string{"processors busy more than 90 % of the time, by this run or by others"}},
		{name: "wholly busy, by clocks that differ", change: func(c *judged) { c.CPUBusy = 1.05 }, warnings: []string{"processors busy more than 90 % of the time, by this run or by others"}},
		{name: "accounts of more than there is", change: func(c *judged) { c.CPUBusy = 1.06 }, warnings: []string{accounts}},
		{name: "more processor time than has passed", change: func(c *judged) { c.CPUBusy = 2.05 }, warnings: []string{accounts}},
		{
			name:     "too good",
			change:   func(c *judged) { c.MeasuredEfficiency = 1.08 },
			warnings: []string{"efficiency 1.080 is above 1: the links are faster than the stated rate"},
		},
		{
			name:     "too good behind a rate limit",
			change:   func(c *judged) { c.MeasuredEfficiency, c.e.Bursts = 1.044, 6.1 },
			warnings: []string{"efficiency 1.044 is above 1: a fragment is 6.1 bursts of the links' rate limit, and what passes at once counts too much; 10 to 20 are enough (event.phase)"},
		},
		{
			name:     "slow control",
			change:   func(c *judged) { c.Control, c.PredictedEfficiency, c.MeasuredEfficiency = true, 0.6, 0.56 },
			warnings: []string{"the control reached 0.933 of its prediction, less than 0.95: if the machine is the cause, cases with short phases lose most, and no ratio is resolved"},
		},
		{
			name:    "far too slow control",
			change:  func(c *judged) { c.Control, c.PredictedEfficiency, c.MeasuredEfficiency = true, 0.6, 0.53 },
			reasons: []string{tooSlow("0.883")},
		},
		{
			name: "every slice of the control too slow",
			change: func(c *judged) {
				c.Control, c.PredictedEfficiency, c.e.Slices = true, 1, []float64{0.8, 0.8, 0.8, 0.8, 0.8, 0.8}
			},
			reasons: []string{tooSlow("0.800")},
		},
		{
			name:    "one slice of the control, too slow",
			change:  func(c *judged) { c.Control, c.PredictedEfficiency, c.e.Slices = true, 1, []float64{0.8} },
			reasons: []string{tooSlow("0.800")},
		},
		{
			name: "slow slices of the control, which may be noise",
			change: func(c *judged) {
				c.Control, c.PredictedEfficiency, c.e.Slices = true, 1, []float64{0.5, 0.8, 0.88, 0.88, 0.88, 0.95}
			},
			warnings: []string{"the control reached 0.880 of its prediction, less than 0.95: if the machine is the cause, cases with short phases lose most, and no ratio is resolved"},
		},
		{
			name: "one slow slice of the control",
			change: func(c *judged) {
				c.Control, c.PredictedEfficiency, c.MeasuredEfficiency, c.e.Slices = true, 1, 0.9, []float64{0.2, 0.98, 0.99}
			},
		},
		{name: "a control of unknown rate", change: func(c *judged) { c.Control, c.PredictedEfficiency, c.MeasuredEfficiency = true, 0, 0 }},
		{name: "slow, but no control", change: func(c *judged) { c.PredictedEfficiency, c.MeasuredEfficiency = 0.6, 0.56 }},
		{
			name:     "control off",
			change:   func(c *judged) { c.e.ControlOff = true },
			warnings: []string{"no control: the scenario says control: off"},
		},
		{
			name:    "link off its plan",
			change:  func(c *judged) { c.e.Links[0].Bytes = 106_000_000 },
			reasons: []string{"link leaf0-spine1 up carried 106.00 MB without headers, the plan puts 100.00 MB there (+6.0 %)"},
		},
		{
			name:   "segments sent again",
			change: func(c *judged) { c.e.Links[0].Bytes, c.Retransmits = 106_000_000, 200 },
		},
		{
			name:    "more than segments sent again come to",
			change:  func(c *judged) { c.e.Links[0].Bytes, c.Retransmits = 121_000_000, 1e6 },
			reasons: []string{"link leaf0-spine1 up carried 121.00 MB without headers, the plan puts 100.00 MB there (+21.0 %)"},
		},
		{
			name:    "link that the plan leaves empty",
			change:  func(c *judged) { c.e.Links[1].Bytes = 2_000_000 },
			reasons: []string{"link leaf1-spine1 up carried 2.00 MB without headers, the plan puts 0.00 MB there"},
		},
		{
			// From a run over MPI in which leaf0 only read: 6 % of the payload goes back as acknowledgements and headers.
			name: "answers to payload on a link that carries none",
			change: func(c *judged) {
				c.e.Links = append(c.e.Links[:1:1], results.LinkCount{Link: c.e.Links[0].Link, Direction: "down", Bytes: 6_000_000, Packets: 68_000, Planned: true})
				c.e.Links[0].Packets = 69_000
			},
		},
		{
			name: "requests and acknowledgements of fragments of one packet",
			change: func(c *judged) {
				c.e.Links = append(c.e.Links[:1:1], results.LinkCount{Link: c.e.Links[0].Link, Direction: "down", Bytes: 12_000_000, Packets: 100_000, Planned: true})
				c.e.Links[0].Packets = 50_000
			},
		},
		{
			name: "payload on a link that should carry answers only",
			change: func(c *judged) {
				c.e.Links = append(c.e.Links[:1:1], results.LinkCount{Link: c.e.Links[0].Link, Direction: "down", Bytes: 6_000_000, Packets: 4_000, Planned: true})
				c.e.Links[0].Packets = 69_000
			},
			reasons: []string{"link leaf0-spine1 down carried 5.74 MB without headers, the plan puts 0.00 MB there"},
		},
		{
			// Fragments of 1 kB, one a packet: its headers are 6 % more than the plan has.
			name: "headers of small fragments",
			change: func(c *judged) {
				c.e.Links[0].Bytes, c.e.Links[0].PlannedBytes, c.e.Links[0].Packets = 106_346_154, 100_000_000, 96_154
			},
		},
		{
			name:    "other messages than small fragments of the plan",
			change:  func(c *judged) { c.e.Links[0].Bytes, c.e.Links[0].Packets = 113_000_000, 96_154 },
			reasons: []string{"link leaf0-spine1 up carried 106.65 MB without headers, the plan puts 100.00 MB there (+6.7 %)"},
		},
		{
			name: "many links off, the worst first",
			change: func(c *judged) {
				c.e.Links = nil
				for i := range 6 {
					c.e.Links = append(c.e.Links, results.LinkCount{Link: string(rune('a' + i)), Direction: "down", Bytes: uint64(i) * 5e6, PlannedBytes: 100e6, Planned: true})
				}
			},
			reasons: []string{
				"link a down carried 0.00 MB without headers, the plan puts 100.00 MB there (-100.0 %)",
				"link b down carried 5.00 MB without headers, the plan puts 100.00 MB there (-95.0 %)",
				"link c down carried 10.00 MB without headers, the plan puts 100.00 MB there (-90.0 %)",
				"3 more links off their plan",
			},
		},
	} {
		c := good()
		tt.change(&c)
		c.Judge(c.e)
		valid, reasons, warnings := c.Valid, c.Reasons, c.Warnings
		expect.True(t, slices.Equal(reasons, tt.reasons) && slices.Equal(warnings, tt.warnings) && valid == (len(tt.reasons) == 0),
			"%s: valid %v\nreasons  %q\nwant     %q\nwarnings %q\nwant     %q", tt.name, valid, reasons, tt.reasons, warnings, tt.warnings)
		expect.True(t, reasons != nil && warnings != nil, "%s: a list is nil", tt.name)
	}
}

func TestSummaryJSON(t *testing.T) {
	in := results.Summary{Name: "x", Complete: true, Cases: []results.Case{{
		Name: "a <b>", Repeat: 1, Mode: "synchronised", Routing: "ftree", Failures: []string{"leaf0-spine0"},
		Rates: results.Rates{EventsPerSec: results.NewStat([]float64{1, 2})}, Reasons: []string{}, Warnings: []string{"w"},
	}}}
	var b strings.Builder
	expect.Must(t, in.Write(&b))
	for _, want := range []string{`"schema": "evbench/summary/1"`, `"name": "a <b>"`, `"events_per_s": {`, `"reasons": []`} {
		expect.Contains(t, b.String(), want)
	}
	out, err := results.ReadSummary(strings.NewReader(b.String()))
	expect.True(t, err == nil && len(out.Cases) == 1 && out.Cases[0].EventsPerSec == in.Cases[0].EventsPerSec && out.Schema == results.SummarySchema,
		"read back %+v, %v", out, err)
}

func TestReadJSONRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"empty", "", "ends too early"},
		{"cut off", `{"schema":"evbench/man`, "ends too early"},
		{"other schema", `{"schema":"evbench/manifest/2"}`, `schema "evbench/manifest/2"; this evbench reads "evbench/manifest/1"`},
		{"wrong type", `{"schema":"evbench/manifest/1","cores":"two"}`, "cores"},
		{"wrong type, where", "{\"schema\":\"evbench/manifest/1\",\n\"seed\":1,\n\"cores\":\"two\"}\n", "line 3: "},
		{"no JSON", "{\n\"schema\":\nx}", "line 3: invalid character 'x'"},
		{"other schema, other types", `{"cores":"two","schema":"evbench/manifest/2"}`, `schema "evbench/manifest/2"`},
		{"two", `{"schema":"evbench/manifest/1"}{}`, "something follows"},
	} {
		expect.Error(t, expect.Err(results.ReadManifest(strings.NewReader(tt.in))), tt.want)
	}
}

// A simulated case is valid without a word about machine, controls and length; but not
// when it is not whole.
func TestJudgeSimulated(t *testing.T) {
	c := good()
	c.Simulated, c.MeasuredEfficiency, c.CPUBusy = "phase", 1.1, 1
	if c.Judge(c.e); !c.Valid || len(c.Reasons)+len(c.Warnings) > 0 {
		t.Errorf("%+v", c)
	}
	c.Complete, c.EventsLost = false, 3
	if c.Judge(c.e); c.Valid || len(c.Reasons) != 1 { // what is under way is not lost
		t.Errorf("%+v", c)
	}
}
