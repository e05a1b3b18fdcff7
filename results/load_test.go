package results_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/results"
)

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
