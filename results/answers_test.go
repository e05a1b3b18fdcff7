package results_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"evbench/builder/modes"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/testing/expect"
)

// The first lines of runs, measured on hosts, in the lab or emulated, as testdata/answers.txt has them: what was
// measured, and the whole first line, written by hand.
func TestAnswers(t *testing.T) {
	text := string(expect.Value(os.ReadFile("testdata/answers.txt"))(t))
	rows := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, " | ", 3)
		expect.MustTrue(t, len(cells) == 3, "%s: three cells", line)
		got := evidenceOf(t, cells[0], cells[1]).answer().String()
		expect.Equal(t, got, cells[2], "%s | %s", cells[0], cells[1])
		rows++
	}
	expect.True(t, rows >= 80, "%d rows", rows)
}

// A run for an answer.
type evidence struct {
	results.Setting
	cases  []results.Case
	slices []results.Slice
}

func (e evidence) answer() *results.Answer {
	compared := results.Compare(e.cases, e.Asked)
	results.Assess(e.cases, e.slices, compared)
	for i := range e.cases {
		var control []float64
		for _, s := range e.slices {
			if s.Case == e.cases[i].Name && s.Counts() && s.Efficiency > 0 {
				control = append(control, s.Efficiency)
			}
		}
		e.cases[i].Judge(results.Evidence{Slices: control})
	}
	return results.NewAnswer(e.Setting, e.cases, e.slices, compared)
}

// evidenceOf reads how a run was made, in words, and its cases: "NAME* unsync .58~.01 /.577 !1", a control (*), its
// mode, its efficiency with what it varies by over rounds, its prediction and how many cables are dead.
func evidenceOf(t *testing.T, how, cases string) (e evidence) {
	e.Cables = 16
	rounds, delay, rejected, busy, took := 6, .02, 0, 0.0, []float64(nil)
	for _, word := range strings.Fields(how) {
		switch n, err := strconv.ParseFloat(word[1:], 64); {
		case word == "off": // no case is the control
		case word == "hosts" || word == "lab" || word == "emulate":
			e.Fabric.Kind = word
		case word == "asked":
			e.Asked = []string{"-"}
		case word == "stop":
			e.Stopped = "interrupted after 3 of 9 s"
		case word == "busy":
			busy = .95
		case word == "took":
			took = slices.Repeat([]float64{.1, .101}, 6)
		case err != nil:
			t.Fatalf("what is %q?", word)
		case word[0] == 'r':
			rounds = int(n)
		case word[0] == 't':
			took = slices.Repeat([]float64{.1, .101}, int(n))[:int(n)]
		case word[0] == 'd':
			delay = n / 100
		case word[0] == 'x':
			rejected = int(n)
		case word[0] == 'G':
			e.Fabric.RateBitPerSec = int64(n * 1e9)
		}
	}
	for text := range strings.SplitSeq(cases, "; ") {
		e.add(t, text, rounds, took)
	}
	for i := range e.slices {
		e.slices[i].Delay, e.slices[i].Load = delay, []results.Load{{}}
		if i < rejected {
			e.slices[i].Rejected = "servers waited"
		}
	}
	for i := range e.cases {
		e.cases[i].CPUBusy = busy
	}
	return e
}

func (e *evidence) add(t *testing.T, text string, rounds int, took []float64) {
	name, rest, _ := strings.Cut(text, " ")
	c := results.Case{Name: strings.ReplaceAll(strings.TrimSuffix(name, "*"), "_", " "), Control: strings.HasSuffix(name, "*"), Mode: modes.Sync, Schedule: "linear-shift", Routing: "ftree", Complete: true}
	c.Exchanges, c.MeasuredSec, c.Phases = 100, 150, 15
	c.PredictedEfficiency = 1
	value, spread := 1.0, 0.005
	for _, word := range strings.Fields(rest) {
		n, err := strconv.ParseFloat(word[1:], 64)
		switch {
		case slices.Contains([]string{"unsynchronised", "ordered", "free-running"}, word):
			c.Mode, c.Schedule = modes.Mode(word), ""
		case word == "fors":
			c.Schedule, c.Routing, c.Phases, c.Bound = word, "pinned", 16, 16
		case word == "slow":
			c.Causes = []attribution.Cause{{Name: "server5 or its cable to leaf1", Share: .44}}
		case word == "stalls":
			c.Causes = []attribution.Cause{{Name: "server0 or its cable to leaf0", AtTimes: true, Slow: 1, Pairs: 15, Share: .9}}
		case word == "little":
			c.Causes = []attribution.Cause{{Name: "server0 or its cable to leaf0", Share: .9}}
		case word == "loses":
			c.Causes = []attribution.Cause{{Name: "leaf2-spine1", Resent: 28}}
		case word == "drops":
			c.Causes = []attribution.Cause{{Name: "server5 or its cable to leaf1", Resent: 166}}
		case word == "stood":
			c.Causes = []attribution.Cause{{Name: "server9", Stops: 3, Stood: 6, Longest: 2, First: 12.4}}
		case word == "brief":
			c.MeasuredSec = 1
		case word == "stopped":
			c.Complete = false
		case word == "asked":
			e.Asked = append(e.Asked, c.Name)
		case word == "readers":
			c.Roles = new(results.Roles)
		case word == "at":
			c.Failures = append(c.Failures, "leaf0-spine0 at 3s")
		case word[0] == '!':
			for i := range int(n) {
				c.Failures, c.Routing = append(c.Failures, fmt.Sprintf("leaf%d-spine0", i)), "minhop"
			}
		case word[0] == '/':
			c.PredictedEfficiency = n
		case word[0] == 'b':
			c.Bound = int(n)
		case word[0] == '~':
			spread = n
		case word[0] == 'l' && err == nil:
			c.EventsLost = uint64(n)
		case word[0] == 'p' && err == nil:
			c.Drops = uint64(n)
		default:
			value = expect.Value(strconv.ParseFloat(word, 64))(t)
		}
	}
	if c.Schedule == "fors" {
		c.Routing = "pinned"
	}
	if base := slices.IndexFunc(e.cases, func(c results.Case) bool { return c.Control }); base >= 0 {
		c.PredictedRatio = c.PredictedEfficiency / e.cases[base].PredictedEfficiency
	}
	rate := max(1e9, float64(e.Fabric.RateBitPerSec))
	c.MeasuredEfficiency, c.EventsPerSec.Mean, c.GoodputBitPerSec.Mean = value, 1.33*value, rate*value
	for round := range rounds {
		v := value
		if rounds > 1 {
			v += spread * (2*float64(round)/float64(rounds-1) - 1)
		}
		s := results.Slice{Case: c.Name, Repeat: round, Round: round, Control: c.Control, Efficiency: v, GoodputBitPerSec: v * rate, EventsPerSec: 1.33 * v, Took: took}
		if e.Fabric.RateBitPerSec == 0 {
			s.Efficiency = 0
		}
		e.slices = append(e.slices, s)
	}
	if e.Fabric.RateBitPerSec == 0 {
		c.PredictedEfficiency, c.MeasuredEfficiency = 0, 0
	}
	e.cases = append(e.cases, c)
}

// Who reads a stored run is told of the same culprits as the run itself told: none whom its machine may have slowed.
func TestCulpritsOfSummary(t *testing.T) {
	stalls := attribution.Cause{Name: "server0", AtTimes: true, Slow: 1, Pairs: 15}
	slow := attribution.Cause{Name: "server5", Share: .44}
	for _, tt := range []struct {
		busy float64
		of   attribution.Cause
		want string
	}{
		{.5, stalls, "server0 stalls at times (1 of 15 pairs)"},
		{.95, stalls, ""},
		{.95, slow, "server5 carries 44 % of its usual rate"},
	} {
		c := results.Case{Name: "x", Causes: []attribution.Cause{tt.of}}
		c.PredictedEfficiency, c.MeasuredEfficiency, c.CPUBusy = 1, .5, tt.busy
		expect.Equal(t, results.Summary{Cases: []results.Case{c}}.Culprits(c), tt.want, "%v", tt)
	}
}
