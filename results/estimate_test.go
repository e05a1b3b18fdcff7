package results_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
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
	if got := rejected(all); !slices.Equal(got, []int{1}) {
		t.Errorf("rejected %v, want the second of two in one round", got)
	}
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
		if d, b := results.Delay(tt.loads, tt.servers), results.Busy(tt.loads); math.Abs(d-tt.delay) > 1e-9 || math.Abs(b-tt.busy) > 1e-9 {
			t.Errorf("%s: delay %v, busy %v, want %v, %v", tt.name, d, b, tt.delay, tt.busy)
		}
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
