package survey_test

import (
	"fmt"
	"slices"
	"testing"

	"evbench/scheduler"
	"evbench/scheduler/schedules"
	"evbench/site/network"
	"evbench/study/survey"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

// smallTrees returns the numbers of all trees of 3 and 4 levels with up to 24 servers.
func smallTrees() (out []scheduler.Levels) {
	var grow func(m scheduler.Levels)
	grow = func(m scheduler.Levels) {
		n := m.Servers()
		if len(m) >= 3 && n >= 2 {
			out = append(out, m)
		}
		for x := 1; len(m) < 4 && x <= 4 && n*x <= 24; x++ {
			grow(append(slices.Clone(m), x))
		}
	}
	grow(nil)
	return out
}

// The count model message by message, for every level, both schedules and all reductions.
func TestSlowdownLevelsAgainstTheListing(t *testing.T) {
	for _, m := range smallTrees() {
		shift, optimal := slices.Collect(m.LinearShift().All()), slices.Collect(m.BandwidthOptimal().All())
		for level := 1; level < len(m); level++ {
			rows := expect.Value(survey.SlowdownLevels(survey.Run{}, m, level))(t)
			expect.MustTrue(t, len(rows) == 2*m.Below(level), "%v, level %d: %d rows", m, level, len(rows))
			for _, r := range rows {
				ls, bo := slowLevels(m, level, r, shift), slowLevels(m, level, r, optimal)
				expect.MustTrue(t, r.LinearShift == ls && r.BandwidthOptimal == bo && r.Ideal == m.Servers() && r.Phases >= r.HealthyPhases,
					"%v, level %d: %+v, want %d and %d", m, level, r, ls, bo)
			}
		}
	}
}

// slowLevels counts the messages of each phase on the links of every subtree of every level.
func slowLevels(m scheduler.Levels, level int, r survey.SlowdownRow, messages []scheduler.Message) int {
	type place struct{ phase, level, subtree, way int }
	n := map[place]int{}
	lasts := map[int]int{}
	for _, x := range messages {
		for l := 1; l < len(m); l++ {
			size := m.Below(l)
			if x.Src/size == x.Dst/size {
				continue
			}
			for way, q := range [2]int{x.Src / size, x.Dst / size} {
				live := size
				if l == level && (q == 0 || r.All) {
					live -= r.Reduction
				}
				at := place{x.Phase, l, q, way}
				n[at]++
				lasts[x.Phase] = max(lasts[x.Phase], (n[at]+live-1)/live)
			}
		}
	}
	sum := 0
	for _, d := range lasts {
		sum += d
	}
	return sum
}

// With two levels it is the table of trees.
func TestSlowdownLevelsOfTwo(t *testing.T) {
	for m0 := 1; m0 <= 5; m0++ {
		for m1 := 2; m1 <= 5; m1++ {
			want := expect.Value(survey.Slowdown(survey.Run{}, topologytest.Tree(t, topology.Options{Ports: m0, Leaves: m1}), survey.Count, 1))(t)
			got, err := survey.SlowdownLevels(survey.Run{}, scheduler.Levels{m0, m1}, 1)
			expect.True(t, err == nil && slices.Equal(got, want), "FT(2;%d,%d): %v, %+v, want %+v", m0, m1, err, got, want)
		}
	}
}

// Equation 5.1 counts the messages that leave a subtree and the links that it has, here
// one by one in the network; a reduction of F at one level asks for at least what F·M of
// the next does.
func TestEquation51(t *testing.T) {
	for _, m := range smallTrees() {
		notation := fmt.Sprintf("FT(%d;%d", len(m), m[0])
		for _, x := range m[1:] {
			notation += fmt.Sprintf(",%d", x)
		}
		net := expect.Value(network.Parse(notation+")", 0))(t)
		for level := 1; level < len(m); level++ {
			size, s := m.Below(level), m.Servers()
			if up := upwards(net, level); up != s {
				t.Errorf("%v: %d links between levels %d and %d, want %d for each of %d subtrees", m, up, level, level+1, size, s/size)
			}
			leave := 0
			for src := range size {
				for dst := range s {
					if src < size && dst >= size {
						leave++
					}
				}
			}
			for f := range size {
				want := s
				for want*(size-f) < leave {
					want++
				}
				expect.Equal(t, m.PhasesAtLeast(level, f), want, "%v, level %d, %d lost: phases", m, level, f)
				if level+1 < len(m) && m.PhasesAtLeast(level+1, f*m[level]) > m.PhasesAtLeast(level, f) {
					t.Errorf("%v: %d lost at level %d and %d at the next", m, f, level, f*m[level])
				}
			}
		}
	}
}

// upwards returns how many cables join switches of a level with those of the next, by
// their names.
func upwards(n *network.Network, level int) int {
	sum := 0
	for _, c := range n.SwitchCables() {
		var a, b, i int
		if _, err := fmt.Sscanf(n.Info(c.A.Node).Name+" "+n.Info(c.B.Node).Name, "s%d_%d s%d_", &a, &i, &b); err != nil {
			panic(err)
		}
		if min(a, b) == level && max(a, b) == level+1 {
			sum++
		}
	}
	return sum
}

// Where all subtrees of a level are reduced alike, three levels need S-1 in the place of S,
// and fors reaches it.
func TestEquation51IsReached(t *testing.T) {
	for _, m := range []scheduler.Levels{{2, 2, 2}, {2, 3, 2}, {3, 2, 2}, {2, 2, 4}, {4, 2, 2}} {
		o := topology.Options{Ports: m[0], Leaves: m[1] * m[2], Pods: m[2]}
		for level := 1; level < 3; level++ {
			for f := range m.Below(level) {
				tree := topologytest.Tree(t, o)
				reduced := expect.Value(survey.ReducedAt(tree, level, f, true))(t)
				b := scheduler.LowerBound(reduced, scheduler.Options{})
				n, s := m.Below(level), m.Servers()
				want := max(s-1, (n*(s-n)+n-f-1)/(n-f))
				expect.False(t, reduced.Connected() == nil && b.Phases < want,
					"%v, level %d, %d lost: bound %d, want %d", m, level, f, b.Phases, want)
				got, _, err := scheduler.ByName(schedules.FORS, reduced, scheduler.Options{Seed: 1})
				expect.Must(t, err)
				expect.False(t, got.Phases != b.Phases || level == 1 && got.Phases != want,
					"%v, level %d, %d lost: %d phases, bound %d, equation 5.1 %d", m, level, f, got.Phases, b.Phases, want)
			}
		}
	}
}

func TestSlowdownLevelsRefuses(t *testing.T) {
	for _, tt := range []struct {
		m     scheduler.Levels
		level int
		want  string
	}{
		{scheduler.Levels{2, 2, 2}, 3, "level 3: the switches of FT(3;2,2,2) with others above are those of levels 1..2"},
		{scheduler.Levels{2, 2, 2}, 0, "level 0: the switches of FT(3;2,2,2) with others above are those of levels 1..2"},
		{scheduler.Levels{64, 64, 64}, 1, "FT(3;64,64,64): evbench makes schedules of at most 32768 servers"},
		{scheduler.Levels{1, 1, 1}, 1, "FT(3;1,1,1): 1 servers: an all-to-all exchange needs at least 2"},
	} {
		if _, err := survey.SlowdownLevels(survey.Run{}, tt.m, tt.level); err == nil || err.Error() != tt.want {
			t.Errorf("%v: error %v, want %s", tt.m, err, tt.want)
		}
	}
}
