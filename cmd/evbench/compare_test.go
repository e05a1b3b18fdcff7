package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"evbench/results"
	"evbench/results/store"
	"evbench/site/hdf5"
	"evbench/testing/expect"
)

// TestCompare runs the scripts about comparing runs, on results that it makes up.
//
//gate:libraries
func TestCompare(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/compare", UpdateScripts: *update,
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"code": codeCmd, "madeup": madeupCmd},
		Condition: func(string) (bool, error) { return hdf5.Built, nil },
	})
}

// madeup is a run that was never measured: cases of 8 s on 4 servers, each a
// little off the rate that it says.
type madeup struct {
	manifest results.Manifest
	repeats  int
	cases    []string
	invalid  string // case
	control  string // case
	ratio    float64
	rate     float64
	spread   float64
	busy     float64 // share of the time of processors
	plan     string
	size     uint64 // of an event
	rng      *rand.Rand
}

// madeupCmd is "madeup DIR [KEY=VALUE…]"; equal arguments make equal results.
func madeupCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: madeup DIR [KEY=VALUE...]")
	}
	m := madeup{
		manifest: results.Manifest{Name: "made-up", Transport: "tcp", Fabric: results.Fabric{Kind: "lab", RateBitPerSec: 100e6, MTU: 9000}},
		repeats:  6, cases: []string{"healthy", "FORS"}, ratio: 0.94, rate: 90e6, spread: 0.005, plan: "sha256:1", size: 500_000,
		rng: rand.New(rand.NewPCG(1, 1)),
	}
	for _, arg := range args[1:] {
		name, value, _ := strings.Cut(arg, "=")
		ts.Check(m.set(name, value))
	}
	ts.Check(store.Save(ts.MkAbs(args[0]), m.run()))
}

func (m *madeup) set(name, value string) (err error) {
	seed := uint64(0)
	switch name {
	case "seed":
		seed, err = strconv.ParseUint(value, 10, 64)
		m.rng = rand.New(rand.NewPCG(seed, 1))
	case "repeats":
		m.repeats, err = strconv.Atoi(value)
	case "rate":
		m.rate, err = strconv.ParseFloat(value, 64)
	case "busy":
		m.busy, err = strconv.ParseFloat(value, 64)
	case "spread":
		m.spread, err = strconv.ParseFloat(value, 64)
	case "size":
		m.size, err = strconv.ParseUint(value, 10, 64)
	case "mtu":
		m.manifest.Fabric.MTU, err = strconv.Atoi(value)
	case "kind":
		m.manifest.Fabric.Kind = value
	case "transport":
		m.manifest.Transport = value
	case "cases":
		m.cases = strings.Split(value, ",")
	case "invalid":
		m.invalid = value
	case "control":
		m.control = value
	case "ratio":
		m.ratio, err = strconv.ParseFloat(value, 64)
	case "plan":
		m.plan = value
	default:
		return errors.New("madeup: no key " + name)
	}
	return err
}

func (m *madeup) run() *results.Run {
	run := &results.Run{Manifest: m.manifest, Summary: results.Summary{Schema: results.SummarySchema, Complete: true}}
	for r := range m.repeats {
		for _, name := range m.cases {
			const seconds, servers = 8, 4
			bytes := uint64(0)
			level := m.rate * (1 + m.spread*m.rng.NormFloat64())
			for i := range seconds {
				n := uint64(level / 8 * (1 + m.spread*m.rng.NormFloat64()))
				bytes += n
				for server := range servers {
					run.Samples = append(run.Samples, results.Sample{
						Case: name, Repeat: r, Server: server, TSec: float64(i + 1), IntervalSec: 1, PayloadBytes: n,
						Events: n / m.size, EventBytes: m.size, BarrierWaitSec: 0.01,
					})
				}
			}
			goodput := float64(8*bytes) / seconds
			c := results.Case{
				Name: name, Repeat: r, Mode: "synchronised", PlanHash: m.plan, Counts: results.Counts{MeasuredSec: seconds, Exchanges: bytes / m.size, BarrierWaitSec: 0.08, CPUBusy: m.busy}, Complete: true,
				Rates: results.Rates{EventsPerSec: results.Stat{Mean: goodput / 8 / float64(m.size)}, GoodputBitPerSec: results.Stat{Mean: goodput},
					MeasuredEfficiency: goodput / 100e6}, Valid: name != m.invalid, Reasons: []string{},
			}
			if c.Control = name == m.control; c.Control {
				c.RatioToControl = 1
			} else if m.control != "" {
				c.RatioToControl = m.ratio * (1 + m.spread*m.rng.NormFloat64())
			}
			if !c.Valid {
				c.Reasons = append(c.Reasons, "3 events lost")
			}
			run.Summary.Cases = append(run.Summary.Cases, c)
		}
	}
	return run
}

// TestResults runs the scripts about files of results. What a binary can do
// depends on what is built in.
//
//gate:libraries
//gate:debian13
func TestResults(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/results", UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"measure": measureCmd, "code": codeCmd},
		Condition: func(name string) (bool, error) {
			if name == "hdf5" {
				return hdf5.Built, nil
			}
			return false, fmt.Errorf("no condition %q", name)
		},
	})
}

// Exit code 4 is for what is wrong; for what is not resolved where that is required.
func TestVerdictOf(t *testing.T) {
	one := func(valid bool, verdict string, compared bool) results.Summary {
		return results.Summary{Cases: []results.Case{{Name: "a", Valid: true, Assessment: results.Assessment{Verdict: results.Reference}}, {Name: "b", Valid: valid, Assessment: results.Assessment{Verdict: verdict, Compared: compared}}}}
	}
	for _, tt := range []struct {
		name           string
		sum            results.Summary
		code, required int
	}{
		{"resolved", one(true, results.Resolved, true), exitDone, exitDone},
		{"ordered", one(true, results.Ranked, true), exitDone, exitInvalid},
		{"unresolved", one(true, results.Unresolved, true), exitDone, exitInvalid},
		{"unresolved, but not compared", one(true, results.Unresolved, false), exitDone, exitDone},
		{"wrong", one(false, results.Resolved, true), exitInvalid, exitInvalid},
		{"wrong, and not compared", one(false, results.Resolved, false), exitInvalid, exitInvalid},
		{"nothing measured", results.Summary{}, exitDone, exitDone},
	} {
		for _, required := range []bool{false, true} {
			want := tt.code
			if required {
				want = tt.required
			}
			code := exitDone
			if exit, ok := errors.AsType[*exitError](verdictOf(tt.sum, required, nil)); ok {
				code = exit.code
			}
			expect.Equal(t, code, want, "%s, required %t: exit code", tt.name, required)
		}
	}
	if err := errors.New("broken"); !errors.Is(verdictOf(one(false, results.Resolved, true), true, err), err) {
		t.Error("the error of a run is lost")
	}
}
