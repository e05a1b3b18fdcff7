package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/builder"
	"evbench/scenario"
	"evbench/testing/expect"
	"evbench/topology"
)

func read(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s := expect.Value(shapes.Read("test.yaml", strings.NewReader(text)))(t)
	return s
}

const small = "topology: FT(2;4,4)\n"

func TestDefaults(t *testing.T) {
	s := read(t, small+"cases: [{schedule: linear-shift}]\n")
	fabric := scenario.Fabric{Kind: "lab", Rate: 100_000_000, AutoRate: true, MTU: 9000, Workers: "threads", Hash: "headers", Lossless: s.Fabric.Lossless}
	expect.True(t, s.Name == "test" && s.Tree.Notation() == "FT(2;4,4)" && s.Fabric == fabric,
		"name %q, tree %s, fabric %+v", s.Name, s.Tree.Notation(), s.Fabric)
	x := s.Fabric.Lossless
	expect.True(t, !x.On && x.Packet == 4096 && x.Buffer == 64<<10 && x.Lanes == 1 && x.Queues == scenario.QueuesFIFO, "lossless %+v", x)
	// 100 Mbit/s · 50 ms / 8 · 8948/9014 − 40
	expect.Equal(t, s.Event, scenario.Event{Fragment: 620_383, Phase: 50 * time.Millisecond}, "event")
	expect.True(t, s.Duration == 2*time.Second && s.Interval == time.Second && s.Timeout == 10*time.Second,
		"duration %s, interval %s, timeout %s", s.Duration, s.Interval, s.Timeout)
	expect.False(t, s.Warmup != 1 || s.Rounds != (scenario.Rounds{Limit: 100 * time.Second}) || !s.Control || s.Seed != 1 || s.Deliver != "buffer" || s.Check != "header",
		"settings %+v", s)
	want := scenario.Case{
		Setting: builder.Setting{Name: "linear-shift ftree", Mode: "synchronised", Barrier: "tournament", Credits: 1, Duration: 2 * time.Second}, Schedule: "linear-shift", Routing: "ftree",
	}
	got := fmt.Sprintf("%+v", s.Cases)
	expect.True(t, got == fmt.Sprintf("%+v", []scenario.Case{want}), "cases %s,\nwant %+v", got, want)
	expect.True(t, strings.HasPrefix(string(s.Text), small), "text %q is not the document", s.Text)
}

// What a case leaves open depends on what it says.
func TestCaseDefaults(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"{schedule: fors}", "fors pinned|synchronised|tournament|fors|pinned|0|1"},
		{"{schedule: linear-shift, routing: pinned}", "linear-shift pinned|synchronised|tournament|linear-shift|pinned|0|1"},
		{"{schedule: repair:bandwidth-optimal}", "repair:bandwidth-optimal pinned|synchronised|tournament|repair:bandwidth-optimal|pinned|0|1"},
		{"{schedule: fors-closed}", "fors-closed pinned|synchronised|tournament|fors-closed|pinned|0|1"},
		{"{schedule: fors, routing: minhop}", "fors minhop|synchronised|tournament|fors|minhop|0|1"},
		{"{mode: unsync}", "unsynchronised ftree|unsynchronised|||ftree|0|2"},
		{"{mode: unsync, schedule: none, sources: 3}", "unsynchronised ftree sources 3|unsynchronised|||ftree|3|2"},
		{"{mode: unsync, assign: balanced}", "unsynchronised ftree balanced|unsynchronised|||ftree|0|2"},
		{"{mode: unsynchronised, schedule: fors}", "unsynchronised fors pinned|unsynchronised||fors|pinned|0|2"},
		{"{mode: free-running, credits: 4}", "free-running linear-shift ftree credits 4|free-running||linear-shift|ftree|0|4"},
		{"{mode: sync, barrier: central, schedule: xor}", "xor ftree central|synchronised|central|xor|ftree|0|1"},
		{"{schedule: bandwidth-optimal, failures: [spine1]}", "bandwidth-optimal ftree spine1|synchronised|tournament|bandwidth-optimal|ftree|0|1"},
		{"{name: mine, routing: ecmp}", "mine|synchronised|tournament|linear-shift|ecmp|0|1"},
		{"{failures: [leaf0-spine1, {link: spine2, at: 1s}]}", "linear-shift ftree leaf0-spine1+spine2@1s|synchronised|tournament|linear-shift|ftree|0|1"},
	} {
		c := read(t, small+"cases: ["+tt.in+"]").Cases[0]
		got := fmt.Sprintf("%s|%s|%s|%s|%s|%d|%d", c.Name, c.Mode, c.Barrier, c.Schedule, c.Routing, c.Sources, c.Credits)
		expect.Equal(t, got, tt.want, "%s", tt.in)
	}
}

func TestPresetThesis(t *testing.T) {
	s := read(t, small+"preset: thesis\ncases: [{}, {mode: unsync}, {mode: free-running, duration: 9s}]")
	expect.True(t, s.Duration == time.Minute && s.Interval == 5*time.Second, "duration %s, interval %s", s.Duration, s.Interval)
	for i, want := range []time.Duration{time.Minute, 5 * time.Minute, 9 * time.Second} {
		expect.Equal(t, s.Cases[i].Duration, want, "case %d lasts", i)
	}
	s = read(t, small+"preset: thesis\nduration: 20s\ninterval: 2s\ncases: [{}, {mode: unsync}]")
	expect.True(t, s.Cases[0].Duration == 20*time.Second && s.Cases[1].Duration == 20*time.Second && s.Interval == 2*time.Second,
		"written fields do not win over the preset: %+v", s)
}

// A default interval gives way to a short case.
func TestIntervalDefault(t *testing.T) {
	s := read(t, small+"duration: 300ms\ncases: [{}]")
	expect.True(t, s.Interval == 300*time.Millisecond, "interval %s, want 300ms", s.Interval)
}

func TestHosts(t *testing.T) {
	s := read(t, small+"fabric: {kind: hosts}\ncases: [{}]")
	expect.True(t, s.Fabric.Rate == 0 && s.Event.Fragment == 1<<20, "rate %s, fragment %s; want not known, 1MiB", s.Fabric.Rate, s.Event.Fragment)
}

func TestFailures(t *testing.T) {
	s := read(t, small+`seed: 5
cases:
  - {failures: [leaf1-spine2, leaf0-spine3]}
  - {failures: [leaf2-spine2, spine2]}
  - {failures: [{random: {count: 3, seed: 7}}]}
  - {schedule: xor, failures: [{random: {count: 3}}]}
  - {schedule: fors, failures: [{random: {count: 3}}]}
  - {failure_seed: 7, failures: [{random: {count: 3}}]}
  - {failures: [spine0, {random: {count: 2}}]}
`)
	tree := s.Tree
	random := func(view *topology.Tree, n int, seed uint64) []topology.Link {
		l := expect.Value(view.Random(n, seed))(t)
		v := expect.Value(view.Without(l...))(t)
		return v.Dead()
	}
	spine0 := expect.Value(tree.Links("spine0"))(t)
	noSpine0 := expect.Value(tree.Without(spine0...))(t)
	for i, want := range []struct {
		links []topology.Link
		down  string
	}{
		{[]topology.Link{{Leaf: 0, Spine: 3}, {Leaf: 1, Spine: 2}}, "leaf1-spine2,leaf0-spine3"},
		{[]topology.Link{{Leaf: 0, Spine: 2}, {Leaf: 1, Spine: 2}, {Leaf: 2, Spine: 2}, {Leaf: 3, Spine: 2}}, "leaf2-spine2,spine2"},
		{random(tree, 3, 7), "3 random (seed 7)"},
		{random(tree, 3, 5), "3 random (seed 5)"}, // the scenario's seed,
		{random(tree, 3, 5), "3 random (seed 5)"}, // so that both lose the same links
		{random(tree, 3, 7), "3 random (seed 7)"},
		{random(noSpine0, 2, 5), "spine0,2 random (seed 5)"},
	} {
		c := s.Cases[i]
		expect.True(t, slices.Equal(c.Failures, want.links) && strings.Join(c.Down, ",") == want.down,
			"case %d: %v, written %v; want %v", i, c.Failures, c.Down, want)
	}
}

func TestTimed(t *testing.T) {
	c := read(t, small+`cases:
  - failures: [leaf1-spine1, {link: leaf0-spine3, at: 3s, for: 5s}, {link: leaf0-spine3, at: 8s}]`).Cases[0]
	expect.MustTrue(t, len(c.Failures) == 1 && len(c.Timed) == 2, "failures %v, timed %v", c.Failures, c.Timed)
	first, second := c.Timed[0], c.Timed[1]
	expect.True(t, first.Name == "leaf0-spine3" && first.At == 3*time.Second && first.For == 5*time.Second && len(first.Links) == 1,
		"first timed failure %+v", first)
	expect.True(t, second.At == 8*time.Second && second.For == 0, "second timed failure %+v", second)
}

func TestMatrix(t *testing.T) {
	s := read(t, small+`
matrix:
  schedule: [linear-shift, fors]
  failures: [[], [leaf0-spine0], [spine1, leaf0-spine0]]
`)
	want := []string{
		"linear-shift ftree", "linear-shift ftree leaf0-spine0", "linear-shift ftree spine1+leaf0-spine0",
		"fors pinned", "fors pinned leaf0-spine0", "fors pinned spine1+leaf0-spine0",
	}
	expect.Equal(t, s.CaseNames(), want, "cases")

	s = read(t, small+`
cases:
  - {name: ls, schedule: linear-shift, routing: minhop, failures: [{random: {count: 2}}]}
  - {name: un, mode: unsync, failures: [{random: {count: 2}}]}
matrix: {failure_seed: [1, 2]}
`)
	want = []string{"ls 2 random (seed 1)", "ls 2 random (seed 2)", "un 2 random (seed 1)", "un 2 random (seed 2)"}
	expect.Equal(t, s.CaseNames(), want, "cases")
	expect.True(t, slices.Equal(s.Cases[0].Failures, s.Cases[2].Failures) && !slices.Equal(s.Cases[0].Failures, s.Cases[1].Failures),
		"the seed of the failures does not decide them")

	s = read(t, small+"cases: [{name: a}, {name: b}]\nmatrix: {routing: [minhop], failures: [[], [spine0]]}")
	want = []string{"a healthy", "a spine0", "b healthy", "b spine0"}
	expect.Equal(t, s.CaseNames(), want, "cases")
}

// Long lists of dead links are cut in names, which stay different.
func TestLongNames(t *testing.T) {
	got := read(t, small+`
cases: [{name: x}]
matrix:
  failures: [[spine0, leaf0-spine1, leaf1-spine2, leaf2-spine3], [spine0, leaf0-spine1, leaf2-spine2, leaf3-spine3], [spine0, spine1]]
`).CaseNames()
	want := []string{"x spine0+leaf0-spine1+2 more", "x spine0+leaf0-spine1+2 more (2)", "x spine0+spine1"}
	expect.Equal(t, got, want, "cases")
}

// Cases that say the same get different names.
func TestSameCaseTwice(t *testing.T) {
	got := read(t, small+"cases: [{}, {}, {name: linear-shift ftree (2)}]").CaseNames()
	want := []string{"linear-shift ftree", "linear-shift ftree (3)", "linear-shift ftree (2)"}
	expect.Equal(t, got, want, "cases")
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	s := read(t, small+`
cases:
  - &base {mode: unsync, failures: &dead [spine3]}
  - {<<: *base, mode: sync}
  - {failures: *dead, schedule: fors}
`)
	want := []string{"unsynchronised ftree spine3", "linear-shift ftree spine3", "fors pinned spine3"}
	expect.Equal(t, s.CaseNames(), want, "cases")
}

// Every error at once, each with its line.
func TestAllErrors(t *testing.T) {
	_, err := shapes.Read("bad.yaml", strings.NewReader(`topology: FT(2;4,4)
fabric:
  rte: 100Mbit/s
duration: ten
cases:
  - {mode: synch}
  - {failures: [leaf9-spine1]}
`))
	want := `bad.yaml:3: fabric.rte: unknown field; did you mean rate? there are hash, kind, lossless, mtu, rate, routes, workers
bad.yaml:4: duration: duration "ten": write a number and one of us, ms, s, m, h, such as 10s
bad.yaml:6: cases[0].mode: no mode "synch"; there are synchronised, unsynchronised, free-running, ordered
bad.yaml:7: cases[1].failures[0]: no link "leaf9-spine1"; FT(2;4,4) has leaf0..leaf3 and spine0..spine3`
	expect.True(t, err != nil && err.Error() == want, "error\n%v\nwant\n%s", err, want)
	var e *scenario.Error
	expect.True(t, errors.As(err, &e) && e.Line == 3 && e.Field == "fabric.rte" && e.File == "bad.yaml", "first error %+v", e)
}

func TestManyErrors(t *testing.T) {
	_, err := shapes.Read("bad.yaml", strings.NewReader(small+"cases:\n"+strings.Repeat("  - {mode: x}\n", 30)))
	expect.True(t, err != nil && strings.Count(err.Error(), "\n") == 20 && strings.HasSuffix(err.Error(), "bad.yaml: and 10 more"), "error %v", err)
}

// The scenarios that come with the program are right.
func TestShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*.yaml")
	expect.MustTrue(t, err == nil && len(files) >= 6, "found %d scenarios, %v", len(files), err)
	for _, file := range files {
		s, err := scenario.ReadFile(file, shapes)
		if err != nil {
			t.Error(err)
			continue
		}
		expect.True(t, s.Name == strings.TrimSuffix(filepath.Base(file), ".yaml"), "%s calls itself %s", file, s.Name)
		expect.True(t, strings.HasPrefix(string(s.Text), "# "), "%s does not begin with a comment that says what it shows", file)
	}
}

func TestReadFileMissing(t *testing.T) {
	expect.Is(t, expect.Err(scenario.ReadFile(filepath.Join(t.TempDir(), "none.yaml"), shapes)), os.ErrNotExist)
}
