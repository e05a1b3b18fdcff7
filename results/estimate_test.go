package results_test

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"evbench/results"
	"evbench/testing/expect"
)

// slicesOf are rounds of a control at 1 and of a case at each of some efficiencies.
func slicesOf(name string, values ...float64) []results.Slice {
	var out []results.Slice
	for round, v := range values {
		out = append(out,
			results.Slice{Case: "control", Repeat: round, Round: round, Control: true, Efficiency: 1},
			results.Slice{Case: name, Repeat: round, Round: round, Efficiency: v})
	}
	return out
}

func estimate(name string, slices []results.Slice) *results.Estimate {
	results.Pair(slices)
	return results.NewEstimate(name, slices)
}

func TestInterval(t *testing.T) {
	for _, tt := range []struct {
		values   []float64
		median   float64
		known    bool
		low, top float64
	}{
		{nil, 0, false, 0, 0},
		{[]float64{3, 1, 2}, 2, false, 0, 0},
		{[]float64{5, 1, 2, 4, 3}, 3, false, 0, 0}, // the outermost of five miss the median once in 16 times
		{[]float64{6, 5, 1, 2, 4, 3}, 3.5, true, 1, 6},
	} {
		i := results.NewInterval(tt.values)
		expect.True(t, i.Median == tt.median && i.Known() == tt.known && i.N == len(tt.values), "%v: %+v", tt.values, i)
		if i.Known() && (*i.Lo != tt.low || *i.Hi != tt.top || i.HalfWidth() != (tt.top-tt.low)/2) {
			t.Errorf("%v: %v to %v", tt.values, *i.Lo, *i.Hi)
		}
		if !i.Known() && !math.IsInf(i.HalfWidth(), 1) {
			t.Errorf("%v: half-width %v", tt.values, i.HalfWidth())
		}
	}
}

// Pairing takes out what slows all of a round down, however much.
func TestEstimatePairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := slicesOf("x", 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6)
	for i := range all {
		all[i].Efficiency *= 1 - 0.6*float64(all[i].Round)/10
		if all[i].Case == "x" {
			all[i].Efficiency *= 1 + 0.01*(rng.Float64()-0.5)
		}
	}
	e := estimate("x", all)
	expect.True(t, e.Of == results.OfRatio && e.Over == results.OverRounds && math.Abs(e.Median-0.6) <= 0.004 && e.Resolved() && e.N == 7, "%+v", e)
}

func TestEstimateLeavesOut(t *testing.T) {
	all := slicesOf("x", 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.9, 0.9)
	all[13].Rejected = "disturbed" // the case
	all[14].Rejected = "disturbed" // the control of the last round
	e := estimate("x", all)
	expect.True(t, e.N == 6 && *e.Hi == 0.5, "%+v", e)
	expect.Equal(t, all[15].Ratio, 0, "a slice without a control in its round has the ratio")
	if e := estimate("y", all); e != nil {
		t.Errorf("a case without slices: %+v", e)
	}
}

// With too few rounds exchanges tell, of the case and of the control.
func TestEstimateOverExchanges(t *testing.T) {
	all := slicesOf("x", 0.5, 0.5)
	for i := range all {
		all[i].Took = []float64{0.98, 1, 1.02, 1, 1, 0.99, 1.01, 1}
	}
	e := estimate("x", all)
	if e.Over != results.OverExchanges || e.Median != 0.5 || *e.Lo > 0.5 || *e.Hi < 0.5 || e.HalfWidth() > 0.03 || e.HalfWidth() < 0.01 {
		t.Errorf("%+v, %v to %v", e, *e.Lo, *e.Hi)
	}
	if e := estimate("x", slicesOf("x", 0.5, 0.5)); e.Known() || e.Median != 0.5 {
		t.Errorf("without exchanges: %+v", e)
	}
}

func TestEstimateWithoutControl(t *testing.T) {
	var all []results.Slice
	for round := range 6 {
		all = append(all, results.Slice{Case: "x", Round: round, GoodputBitPerSec: 1e9 + 1e6*float64(round)})
	}
	e := estimate("x", all)
	expect.True(t, e.Of == results.OfGoodput && *e.Lo == 1e9 && *e.Hi == 1.005e9, "%+v", e)
}

// The interval holds the true ratio as often as it says, under noise that is far from
// normal and slows slices down one by one.
func TestEstimateCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const tries = 2000
	held := 0
	for range tries {
		all := slicesOf("x", slices.Repeat([]float64{0.7}, 9)...)
		for i := range all {
			all[i].Efficiency *= math.Exp(-0.2 * rng.ExpFloat64())
		}
		if e := estimate("x", all); e.Holds(0.7) {
			held++
		}
	}
	share := float64(held) / tries
	expect.True(t, share >= results.Confidence-0.01, "the interval holds the ratio in %.3f of %d tries, want %.2f", share, tries, results.Confidence)
}

func TestReject(t *testing.T) {
	for _, tt := range []struct {
		name   string
		delays []float64
		want   []int // rejected
	}{
		{"quiet", []float64{0.01, 0.02, 0.09}, nil},
		{"one disturbed", []float64{0.01, 0.3, 0.02, 0.01}, []int{1}},
		{"always as busy", []float64{0.3, 0.32, 0.28, 0.31}, nil},
		{"busy, and now and then more", []float64{0.2, 0.2, 0.31, 0.2, 0.9}, []int{2, 4}},
		{"the first alone", []float64{0.8}, nil},
		{"nobody told", []float64{0, 0}, nil},
	} {
		var all []results.Slice
		for i, d := range tt.delays {
			all = append(all, results.Slice{Round: i, Delay: d, Rejected: "an older verdict"})
		}
		expect.Equal(t, rejected(all), tt.want, "%s: rejected", tt.name)
	}
}

// rejected returns which slices Reject rejects.
func rejected(all []results.Slice) (which []int) {
	results.Reject(all)
	for i, s := range all {
		if s.Rejected != "" {
			which = append(which, i)
		}
	}
	return which
}

// A slice that was measured again does not come back beside its successor when later ones
// make it usual: the least disturbed of a round stands for it.
func TestRejectKeepsOneOfARound(t *testing.T) {
	all := []results.Slice{{Case: "x", Delay: 0.3}, {Case: "x", Repeat: 1, Delay: 0.25}, {Case: "y", Delay: 0.3}, {Case: "x", Round: 1, Delay: 0.28}}
	got := rejected(all)
	expect.True(t, slices.Equal(got, []int{0}), "rejected %v, want the first of two in one round", got)
	all[0].Delay = 0.2
	expect.Equal(t, rejected(all), []int{1}, "rejected")
}

func TestDelay(t *testing.T) {
	one := results.Load{Host: "a", Cores: 2, WallSec: 2, CPUSec: new(0.5), OthersSec: new(1.0), StealSec: new(0.4), RunDelaySec: new(3.2)}
	two := results.Load{Host: "b", Cores: 2, WallSec: 2, CPUSec: new(0.5), OthersSec: new(0.5), StealSec: new(0.0), RunDelaySec: new(0.8)}
	for _, tt := range []struct {
		name        string
		loads       []results.Load
		servers     int
		delay, busy float64
	}{
		{"nobody told", nil, 16, 0, 0},
		{"sixteen servers of a machine", []results.Load{one}, 16, 0.1 + 0.1, 1.9 / 4},
		{"the worse of two machines", []results.Load{two, one}, 32, 0.1 + 0.1, 1.9 / 4},
		{"it does not know", []results.Load{{Host: "c", Cores: 2, WallSec: 1}}, 4, 0, 0},
	} {
		d, b := results.Delay(tt.loads, tt.servers), results.Busy(tt.loads)
		expect.True(t, math.Abs(d-tt.delay) <= 1e-9 && math.Abs(b-tt.busy) <= 1e-9,
			"%s: delay %v, busy %v, want %v, %v", tt.name, d, b, tt.delay, tt.busy)
	}
}

func TestMerge(t *testing.T) {
	run := &results.Run{
		Summary: results.Summary{
			Cases: []results.Case{{Name: "x", Valid: true, Complete: true, Failures: []string{"leaf0-spine0"}}},
			Slices: []results.Slice{
				{Case: "x", Repeat: 0, Efficiency: 1, MeasuredSec: 2, EventsPerSec: 3, Exchanges: 6, Complete: true},
				{Case: "x", Repeat: 1, Efficiency: 1, MeasuredSec: 2, Rejected: "disturbed", Complete: true},
				{Case: "x", Repeat: 2, Efficiency: 1, MeasuredSec: 3, EventsPerSec: 4, Exchanges: 12, Complete: true},
			},
		},
		Samples: []results.Sample{{Case: "x", Repeat: 0, TSec: 1}, {Case: "x", Repeat: 1, TSec: 1}, {Case: "x", Repeat: 2, TSec: 1}},
		Links: []results.LinkCount{
			{Case: "x", Repeat: 0, Link: "a", Direction: "up", Bytes: 10, Planned: true, PlannedBytes: 9},
			{Case: "x", Repeat: 1, Link: "a", Direction: "up", Bytes: 100},
			{Case: "x", Repeat: 2, Link: "a", Direction: "up", Bytes: 5, Planned: true, PlannedBytes: 6},
		},
		Pairs: []results.PairCount{{Case: "x", Repeat: 0, Dst: 1, Bytes: 7, Sec: 1}, {Case: "x", Repeat: 2, Dst: 1, Bytes: 8, Sec: 2}},
	}
	m := run.Merge()
	expect.True(t, len(m.Samples) == 2 && m.Samples[1].TSec == 3 && m.Samples[1].Repeat == 0, "samples %+v", m.Samples)
	expect.True(t, len(m.Links) == 1 && m.Links[0].Bytes == 15 && m.Links[0].PlannedBytes == 15 && m.Links[0].Planned, "links %+v", m.Links)
	expect.True(t, len(m.Pairs) == 1 && m.Pairs[0].Bytes == 15 && m.Pairs[0].Sec == 3, "pairs %+v", m.Pairs)
	list := run.Summary.Measured()
	expect.True(t, len(list) == 3 && list[0].EventsPerSec.Mean == 3 && list[2].Exchanges == 12 && list[2].Valid, "cases as measured %+v", list)
	expect.True(t, !list[1].Valid && strings.Contains(list[1].Reasons[0], "rejected: disturbed"), "a rejected slice: %+v", list[1])
	old := &results.Run{Summary: results.Summary{Cases: run.Summary.Cases}, Samples: run.Samples}
	expect.True(t, old.Merge() == old && len(old.Summary.Measured()) == 1, "a run without slices has changed")
}

func TestNewStat(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		want results.Stat
	}{
		{nil, results.Stat{}},
		{[]float64{3}, results.Stat{Min: 3, Mean: 3, Median: 3, Max: 3}},
		{[]float64{4, 1}, results.Stat{Min: 1, Mean: 2.5, Median: 2.5, Max: 4}},
		{[]float64{9, 1, 2}, results.Stat{Min: 1, Mean: 4, Median: 2, Max: 9}},
		{[]float64{8, 1, 3, 2}, results.Stat{Min: 1, Mean: 3.5, Median: 2.5, Max: 8}},
	} {
		expect.Equal(t, results.NewStat(tt.in), tt.want, "NewStat(%v)", tt.in)
	}
}

// The order of values does not matter, and as many lie below the median as above.
func TestNewStatProperties(t *testing.T) {
	check := func(raw []int16) bool {
		var values, back []float64
		for i := range raw {
			values = append(values, float64(raw[i]))
			back = append(back, float64(raw[len(raw)-1-i]))
		}
		s := results.NewStat(values)
		below, above := 0, 0
		for _, v := range values {
			if v < s.Median {
				below++
			}
			if v > s.Median {
				above++
			}
		}
		half := len(values) / 2
		return s == results.NewStat(back) && below <= half && above <= half && (len(values) == 0 || s.Min <= s.Mean && s.Mean <= s.Max)
	}
	expect.OK(t, quick.Check(check, nil))
}

// The values are not put in order where they are.
func TestNewStatKeepsInput(t *testing.T) {
	in := []float64{3, 1, 2}
	results.NewStat(in)
	expect.True(t, in[0] == 3 && in[1] == 1, "input became %v", in)
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values  []float64
		q, want float64
	}{
		{[]float64{7}, 0.3, 7},
		{[]float64{1, 2, 4, 9}, 0, 1},
		{[]float64{1, 2, 4, 9}, 0.25, 1.75},
		{[]float64{1, 2, 4, 9}, 0.5, 3},
		{[]float64{1, 2, 4, 9}, 1, 9},
	} {
		expect.Equal(t, results.Quantile(c.values, c.q), c.want, "Quantile(%v, %v)", c.values, c.q)
	}
}

func TestMiddle(t *testing.T) {
	for _, c := range []struct {
		values []int
		want   int
	}{{[]int{3}, 3}, {[]int{9, 1}, 9}, {[]int{5, 1, 3}, 3}, {[]int{4, 1, 3, 2}, 3}} {
		expect.Equal(t, results.Middle(c.values), c.want, "Middle(%v)", c.values)
	}
}

func sec(x float64) *float64 { return &x }

func TestLoadCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		load results.Load
		want string // "": nothing is wrong
	}{
		{"nothing known", results.Load{}, ""},
		{"all known", results.Load{
			Host: "node1", Cores: 2, WallSec: 2, CPUSec: sec(1), OthersSec: sec(0), StealSec: sec(0.5), RunDelaySec: sec(20), PressureSec: sec(2),
		}, ""},
		{"long name", results.Load{Host: strings.Repeat("x", 256)}, "host: a name of 256 bytes"},
		{"no processors", results.Load{Cores: -1}, "cores: -1"},
		{"many processors", results.Load{Cores: 1 << 17}, "cores: 131072"},
		{"clock went back", results.Load{WallSec: -1}, "wall_s: -1"},
		{"not a number", results.Load{CPUSec: sec(math.NaN())}, "cpu_s: NaN"},
		{"infinite", results.Load{OthersSec: sec(math.Inf(1))}, "others_s: +Inf"},
		{"negative", results.Load{StealSec: sec(-0.1)}, "steal_s: -0.1"},
		{"too long", results.Load{RunDelaySec: sec(1e300)}, "run_delay_s: 1e+300"},
		{"negative pressure", results.Load{PressureSec: sec(-1)}, "pressure_s: -1"},
	} {
		err := tt.load.Check()
		expect.False(t, tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)),
			"%s: error %v, want %q", tt.name, err, tt.want)
	}
}

// What is not known stays so through a file; 0 stays 0.
func TestLoadJSON(t *testing.T) {
	want := results.Load{Cores: 2, WallSec: 1.5, StealSec: sec(0)}
	text := expect.Value(json.Marshal(want))(t)
	expect.Equal(t, string(text), `{"cores":2,"wall_s":1.5,"cpu_s":null,"others_s":null,"steal_s":0,"run_delay_s":null,"pressure_s":null}`, "string")
	var got results.Load
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMachines(t *testing.T) {
	// Two workers have a machine with 2 s of processor time used by others to themselves.
	a := results.Load{Host: "a", Cores: 2, WallSec: 2, CPUSec: sec(0.5), OthersSec: sec(3), StealSec: sec(0.25), RunDelaySec: sec(1), PressureSec: sec(1)}
	b := results.Load{Host: "a", Cores: 2, WallSec: 2, CPUSec: sec(1), OthersSec: sec(2.5), StealSec: sec(0.75), RunDelaySec: sec(2), PressureSec: sec(1)}
	both := results.Load{Host: "a", Cores: 2, WallSec: 2, CPUSec: sec(1.5), OthersSec: sec(2), StealSec: sec(0.5), RunDelaySec: sec(3), PressureSec: sec(1)}
	other := results.Load{Host: "c", Cores: 4, WallSec: 2}
	partly := results.Load{Host: "a", Cores: 2, WallSec: 2, OthersSec: sec(3), StealSec: sec(0.25)}
	nameless := results.Load{WallSec: 1}
	for _, tt := range []struct {
		name      string
		all, want []results.Load
	}{
		{"nobody told", nil, nil},
		{"one", []results.Load{a}, []results.Load{a}},
		{"two on one machine, one elsewhere", []results.Load{a, other, b}, []results.Load{both, other}},
		{"one cannot tell all", []results.Load{a, partly}, []results.Load{{Host: "a", Cores: 2, WallSec: 2, StealSec: sec(0.25)}}},
		{"no names", []results.Load{nameless, nameless}, []results.Load{nameless, nameless}},
	} {
		expect.Equal(t, results.Machines(tt.all), tt.want, "%s", tt.name)
	}
}

func TestSalvage(t *testing.T) {
	m := results.Manifest{Name: "x", Fabric: results.Fabric{Model: true}, Predictions: []results.Prediction{
		{Case: "b", Schedule: "fors", Routing: "pinned", PlanHash: "sha256:1", Phases: 16, Bound: 15, Efficiency: 0.9}, {Case: "never came"},
	}}
	sample := func(name string, repeat, server int, events uint64) results.Sample {
		return results.Sample{Case: name, Repeat: repeat, Server: server, IntervalSec: 0.5, Events: events, PayloadBytes: 1000 * events}
	}
	sum := results.Salvage(m, []results.Sample{sample("b", 0, 0, 1), sample("b", 0, 1, 2), sample("b", 0, 0, 3), sample("b", 1, 0, 1), sample("a", 0, 0, 1)})
	expect.MustTrue(t, !sum.Complete && sum.Name == "x" && len(sum.Cases) == 3, "summary %+v", sum)
	c := sum.Cases[0]
	if c.Name != "b" || c.Repeat != 0 || c.Schedule != "fors" || c.PlanHash != "sha256:1" || c.PredictedEfficiency != 0.9 || !c.Model || c.Complete || c.Valid || len(c.Reasons) != 1 {
		t.Errorf("case %+v", c)
	}
	expect.True(t, c.EventsPerSec == (results.Stat{Min: 4, Mean: 4, Median: 4, Max: 4}) && c.GoodputBitPerSec.Max == 32000,
		"events %+v, goodput %+v", c.EventsPerSec, c.GoodputBitPerSec)
	if sum.Cases[1].Repeat != 1 || sum.Cases[2].Name != "a" || sum.Cases[2].Phases != 0 {
		t.Errorf("cases %+v", sum.Cases[1:])
	}
}

// Texts are quoted as encoding/csv quotes them.
func TestLineQuotes(t *testing.T) {
	for _, text := range []string{"", "a", "a,b", `say "a"`, "two\nlines", "a\rb", " a", "\u00a0a", `\.`, `\.x`, "größer", "\xff", "a\tb"} {
		var want strings.Builder
		w := csv.NewWriter(&want)
		expect.Must(t, w.Write([]string{text, "1", "2", "0", "0.500000000"}))
		w.Flush()
		x := results.ExchangeTime{Case: text, Repeat: 1, Exchange: 2, DurationSec: 0.5}
		expect.Equal(t, string(results.Exchanges.Line(nil, results.Row{Record: reflect.ValueOf(x)})), want.String(), "%q", text)
	}
}
