package survey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"evbench/model/sweep"
	"evbench/plan"
	"evbench/site/engines"
	"evbench/study/survey"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// Every set planned one after the other, by the plan package alone.
func TestWhatIfAgainstASlowLoop(t *testing.T) {
	for _, c := range []struct {
		o    topology.Options
		down []string
		k    int
	}{
		{o: topology.Options{Ports: 3, Leaves: 3}, k: 1},
		{o: topology.Options{Ports: 3, Leaves: 3}, k: 2},
		{o: topology.Options{Ports: 2, Leaves: 3}, k: 3}, // sets that cut leaves off
		{o: topology.Options{Ports: 3, Leaves: 4, Spines: 2, Fill: []int{3, 0, 1, 2}}, k: 2},
		{o: topology.Options{Ports: 4, Leaves: 3}, down: []string{"leaf0-spine0", "spine2"}, k: 2},
		{o: topology.Options{Ports: 2, Leaves: 4, Pods: 2}, k: 1},
		{o: topology.Options{Ports: 2, Leaves: 3, Pods: 3}, down: []string{"pod0-spine0-top0"}, k: 2}, // sets that cut pods off
		{o: topology.Options{Ports: 2, Leaves: 4, Pods: 2, Tops: 1, Fill: []int{2, 1, 2, 0}}, down: []string{"leaf3-spine1"}, k: 2},
	} {
		base := topologytest.Tree(t, c.o, c.down...)
		cases := append(survey.DefaultCases(), survey.Case{Schedule: "bandwidth-optimal", Routing: "ecmp"}, survey.Case{Schedule: "fors", Routing: "ftree"})
		r := expect.Value(survey.WhatIf(t.Context(), base, survey.WhatIfOptions{Engines: engines.Trees(), K: c.k, Seed: 1, Cases: cases, Workers: 3}))(t)
		expect.MustTrue(t, len(r.Groups) != 0 && r.Groups[0].Group == "links" && !r.Incomplete, "%+v", r)
		for _, g := range r.Groups {
			slow := slowGroup(t, base, g.Group, c.k, cases)
			compareGroup(t, fmt.Sprintf("%s %v k=%d", base.Notation(), c.down, c.k), g, slow, cases)
		}
	}
}

type slowResult struct {
	sets, unreachable int
	phases            [][]int
	efficiency        [][]float64
	names             []string // of the reachable sets
}

// slowGroup tries all subsets of all names by counting in binary.
func slowGroup(t *testing.T, base *topology.Tree, group string, k int, cases []survey.Case) slowResult {
	t.Helper()
	names := slowNames(&base.Live, group)
	r := slowResult{phases: make([][]int, len(cases)), efficiency: make([][]float64, len(cases))}
	for bits := range 1 << len(names) {
		var set []string
		for i, n := range names {
			if bits>>i&1 == 1 {
				set = append(set, n)
			}
		}
		if len(set) != k {
			continue
		}
		r.sets++
		var dead []topology.Link
		for _, n := range set {
			links := expect.Value(base.Links(n))(t)
			dead = append(dead, links...)
		}
		v := expect.Value(base.Without(dead...))(t)
		if v.Connected() != nil {
			r.unreachable++
			continue
		}
		slices.Sort(set)
		r.names = append(r.names, strings.Join(set, ","))
		for i, c := range cases {
			p := expect.Value(plan.Build(v, plan.Options{Schedule: c.Schedule, Routing: c.Routing, Engines: engines.Trees(), Seed: 1}))(t)
			r.phases[i] = append(r.phases[i], p.Phases())
			r.efficiency[i] = append(r.efficiency[i], p.Cost(plan.Equal, 1).Synchronised())
		}
	}
	return r
}

// slowNames returns the names of the links that are alive, or of the switches above the
// leaves that have some.
func slowNames(base *topology.Live, group string) (names []string) {
	add := func(link string, alive bool, switches ...string) {
		if group == "links" {
			switches = []string{link}
		}
		for _, name := range switches {
			if alive && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for s := range base.Spines() {
		name := fmt.Sprintf("spine%d", s)
		for l := range base.Leaves() {
			middle := name
			if base.Levels() == 3 {
				middle = fmt.Sprintf("pod%d-%s", base.Pod(l), name)
			}
			add(fmt.Sprintf("leaf%d-%s", l, name), base.Alive(l, s), middle)
		}
		for i := range base.Pods() * base.Tops() {
			q, top := i/base.Tops(), i%base.Tops()
			add(fmt.Sprintf("pod%d-%s-top%d", q, name, top), base.TopAlive(q, s, top),
				fmt.Sprintf("pod%d-%s", q, name), fmt.Sprintf("%s-top%d", name, top))
		}
	}
	return names
}

func compareGroup(t *testing.T, what string, g survey.GroupReport, slow slowResult, cases []survey.Case) {
	t.Helper()
	if g.Sets != int64(slow.sets) || g.Chosen != slow.sets || g.Done != slow.sets || g.Unreachable != slow.unreachable || (g.First != nil) != (slow.unreachable > 0) {
		t.Fatalf("%s, %s: %+v, want %d sets, %d unreachable", what, g.Group, g, slow.sets, slow.unreachable)
	}
	for i, c := range g.Cases {
		expect.MustTrue(t, c.Case == cases[i] && c.Planned == slow.sets-slow.unreachable && c.Refused == 0,
			"%s, %s, %s: %+v", what, g.Group, c.Case, c)
		if c.Planned == 0 {
			continue
		}
		most, least := slices.Max(slow.phases[i]), slices.Min(slow.efficiency[i])
		expect.True(t, c.Phases.Max == most && c.Phases.Min == slices.Min(slow.phases[i]) && c.Phases.Median == middle(slow.phases[i]),
			"%s, %s, %s: phases %+v, want %v", what, g.Group, c.Case, c.Phases, slow.phases[i])
		if c.Efficiency.Min != least || c.Efficiency.Max != slices.Max(slow.efficiency[i]) || c.Efficiency.Median != middle(slow.efficiency[i]) {
			t.Errorf("%s, %s, %s: efficiency %+v, want %v", what, g.Group, c.Case, c.Efficiency, slow.efficiency[i])
		}
		set := slices.Sorted(slices.Values(c.Efficiency.Worst))
		at := slices.Index(slow.names, strings.Join(set, ","))
		expect.True(t, at >= 0 && slow.efficiency[i][at] == least, "%s, %s, %s: worst set %v", what, g.Group, c.Case, set)
		count := 0
		for _, b := range c.Efficiency.Histogram {
			count += b.Count
			for _, e := range slow.efficiency[i] {
				if e >= b.Value && e < b.Value+0.05-1e-9 {
					count--
				}
			}
		}
		if count != 0 {
			t.Errorf("%s, %s, %s: histogram %+v, values %v", what, g.Group, c.Case, c.Efficiency.Histogram, slow.efficiency[i])
		}
	}
}

// middle is the lower of two middle values.
func middle[T int | float64](values []T) T {
	s := slices.Clone(values)
	slices.Sort(s)
	return s[(len(s)-1)/2]
}

// The report does not depend on the number of workers, nor a sample on anything
// but its seed.
//
//gate:race
func TestWhatIfIsReproducible(t *testing.T) {
	base := tree(t, 4, 4)
	text := func(workers, sample int, seed uint64) string {
		r := expect.Value(survey.WhatIf(t.Context(), base, survey.WhatIfOptions{Engines: engines.Trees(), K: 2, Sample: sample, Seed: seed, Workers: workers}))(t)
		var b bytes.Buffer
		expect.Must(t, r.WriteText(&b))
		expect.Must(t, r.Document().Write(&b, "json"))
		return b.String()
	}
	expect.True(t, text(1, 0, 1) == text(7, 0, 1) && text(1, 30, 5) == text(7, 30, 5), "workers change the report")
	if a, b := text(1, 30, 5), text(1, 30, 6); a == b {
		t.Error("the seed does not change the sample")
	}
	all, most := text(1, 0, 1), text(1, 1000, 1)
	expect.True(t, strings.Count(all, "120 of 120 sets") == 1 && strings.Count(most, "120 of 120 sets") == 1, "a sample larger than all is not all")
}

// All samples are sets without repetition, in order; a combination is found by
// its number.
func TestGroups(t *testing.T) {
	groups(t, &tree(t, 3, 3, "leaf0-spine0").Live)
	// Of two spines in two pods and four top switches of two cables each; eight links are left.
	groups(t, &topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2},
		"leaf0-spine0", "leaf1-spine1", "leaf2-spine1", "leaf3-spine0", "pod0-spine0-top0", "pod0-spine1-top1", "pod1-spine0-top1", "pod1-spine1-top0").Live)
}

func groups(t *testing.T, base *topology.Live) {
	t.Helper()
	for k := 1; k <= survey.MaxK; k++ {
		for _, g := range survey.Groups(base, k) {
			units := map[string]int{"links": 8, "spines": 3, "switches": 8}[g.Name]
			seen := map[string]bool{}
			for i := range g.Count {
				names, dead := g.Set(i)
				expect.MustFalse(t, len(names) != k || g.Name == "links" && len(dead) != k, "%s, k=%d, set %d: %v, %v", g.Name, k, i, names, dead)
				seen[strings.Join(names, ",")] = true
			}
			want := []int{1, units, units * (units - 1) / 2, units * (units - 1) * (units - 2) / 6}[k]
			expect.True(t, len(seen) == want && g.Count == int64(want),
				"%s, k=%d: %d sets, %d different, want %d", g.Name, k, g.Count, len(seen), want)
		}
	}
}

//gate:race
func TestWhatIfStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var last atomic.Int64
	r := expect.Value(survey.WhatIf(ctx, tree(t, 4, 4), survey.WhatIfOptions{Engines: engines.Trees(), K: 2, Workers: 2, Sweep: &sweep.Sweep{Progress: func(done, total int) {
		if last.Store(int64(done)); done == 10 {
			cancel()
		}
		expect.Equal(t, total, 126, "total")
	}}}))(t)
	done := 0
	for _, g := range r.Groups {
		done += g.Done
	}
	expect.False(t, !r.Incomplete || done < 10 || done > 11 || int64(done) != last.Load(), "incomplete %v, %d done, %d told", r.Incomplete, done, last.Load())
	var b bytes.Buffer
	expect.OK(t, r.WriteText(&b))
	expect.Contains(t, b.String(), "INCOMPLETE")
}

//gate:race
func TestWhatIfRefuses(t *testing.T) {
	healthy := tree(t, 3, 3)
	for name, o := range map[string]survey.WhatIfOptions{
		"k = 0":        {K: 0},
		"k = 4":        {K: 4},
		"sample":       {K: 1, Sample: -1},
		"no schedule":  {K: 1, Cases: []survey.Case{{Schedule: "magic", Routing: "ftree"}}},
		"no routing":   {K: 1, Cases: []survey.Case{{Schedule: "fors", Routing: "magic"}}},
		"power of two": {K: 1, Cases: []survey.Case{{Schedule: "xor", Routing: "ftree"}}},
	} {
		r, err := survey.WhatIf(t.Context(), healthy, o)
		expect.True(t, err != nil, "%s: %+v", name, r)
	}
	expect.True(t, expect.Err(survey.WhatIf(t.Context(), tree(t, 2, 2, "leaf0-spine0", "leaf1-spine1"), survey.WhatIfOptions{Engines: engines.Trees(), K: 1})) != nil,
		"a tree in pieces is taken")
}

//gate:race
func TestWhatIfJSON(t *testing.T) {
	r := expect.Value(survey.WhatIf(t.Context(), tree(t, 2, 2), survey.WhatIfOptions{Engines: engines.Trees(), K: 2, Seed: 1}))(t)
	var b bytes.Buffer
	expect.Must(t, r.Document().Write(&b, "json"))
	golden(t, "whatif.json", b.Bytes())
	var doc map[string]any
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc["schema"] != "evbench/whatif/1" {
		t.Errorf("%v: %v", err, doc)
	}
	b.Reset()
	expect.Must(t, r.WriteText(&b))
	golden(t, "whatif.txt", b.Bytes())
}

func BenchmarkWhatIf(b *testing.B) {
	base := tree(b, 8, 8)
	for b.Loop() {
		expect.Must(b, expect.Err(survey.WhatIf(b.Context(), base, survey.WhatIfOptions{Engines: engines.Trees(), K: 2, Sample: 100, Seed: 1})))
	}
}
