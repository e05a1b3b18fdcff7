package tables_test

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"evbench/evidence/tables"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/site/engines"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

var update = flag.Bool("update", false, "rewrite golden files")

func tree(t testing.TB, m0, m1 int, down ...string) *topology.Tree {
	t.Helper()
	return topologytest.Tree(t, topology.Options{Ports: m0, Leaves: m1}, down...)
}

// The numbers that thesis 5.5 states for a bandwidth reduction of 1.
func TestSlowdownReproducesTheThesis(t *testing.T) {
	for _, c := range []struct {
		m0, m1         int
		ls, bo, boAll  float64
		phases         int
		lsfs, bofs     float64 // at reduction 1
		halfFS, halfBO float64 // LS/FS and BO/FS at half the links
	}{
		{16, 16, 1.8750, 1, 1, 256, 1.8750, 1, 1.0292, 1.0667},
		{20, 18, 1.8889, 1, 1, 360, 1.8889, 1, 1.0265, 1.0588},
		{16, 32, 1.9375, 1.5, 2, 530, 1.8717, 1.4491, 1.0141, 1.0323},
	} {
		rows := expect.Value(tables.Slowdown(tables.Run{}, tree(t, c.m0, c.m1), tables.Count, 1))(t)
		expect.MustTrue(t, len(rows) == 2*c.m0, "FT(2;%d,%d): %d rows", c.m0, c.m1, len(rows))
		for _, all := range []int{0, c.m0} {
			one, half := rows[all+1], rows[all+c.m0/2]
			bo := c.bo
			if all > 0 {
				bo = c.boAll
			}
			s := float64(one.Ideal)
			near(t, "LS", float64(one.LinearShift)/s, c.ls)
			near(t, "BO", float64(one.BandwidthOptimal)/s, bo)
			near(t, "LS/FS", float64(one.LinearShift)/float64(one.Adapted), c.lsfs)
			near(t, "half LS/FS", float64(half.LinearShift)/float64(half.Adapted), c.halfFS)
			near(t, "half BO/FS", float64(half.BandwidthOptimal)/float64(half.Adapted), c.halfBO)
			expect.True(t, one.Phases == c.phases && one.HealthyPhases == c.m0*c.m1 && one.Reduction == 1 && one.All == (all > 0),
				"FT(2;%d,%d): %+v", c.m0, c.m1, one)
		}
		near(t, "BO/FS", float64(rows[1].BandwidthOptimal)/float64(rows[1].Adapted), c.bofs)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	expect.True(t, math.Abs(got-want) <= 5e-5, "%s: %.5f, want %.4f", what, got, want)
}

// Algorithm 2 message by message, for every shape up to 6×6, both schedules and
// all reductions, and trees that are not full.
func TestCountModelAgainstTheListing(t *testing.T) {
	for m0 := 1; m0 <= 6; m0++ {
		for m1 := 2; m1 <= 6; m1++ {
			fill := slices.Repeat([]int{m0}, m1)
			for _, missing := range []int{0, 1} {
				fill[0] -= missing
				o := topology.Options{Ports: m0, Leaves: m1, Fill: fill, Spines: m0 + missing}
				if m0*m1 == 2 && missing == 1 {
					continue // one server is left
				}
				healthy := topologytest.Tree(t, o)
				rows := expect.Value(tables.Slowdown(tables.Run{}, healthy, tables.Count, 1))(t)
				for _, r := range rows {
					reduced := expect.Value(tables.Reduced(healthy, r.Reduction, r.All))(t)
					ls, bo := listing(reduced, scheduler.LinearShift(healthy)), listing(reduced, scheduler.BandwidthOptimal(healthy.Shape))
					expect.MustFalse(t, r.LinearShift != ls || r.BandwidthOptimal != bo,
						"%s %v, reduction %d, all %v: %d and %d, want %d and %d", healthy.Notation(), fill, r.Reduction, r.All, r.LinearShift, r.BandwidthOptimal, ls, bo)
				}
			}
		}
	}
}

// listing is thesis Algorithm 2 with ⌈ ⌉, as slow as it is printed.
func listing(t *topology.Tree, s *scheduler.Schedule) int {
	from, to := make([]map[int]int, s.Phases), make([]map[int]int, s.Phases)
	for p := range s.Phases {
		from[p], to[p] = map[int]int{}, map[int]int{}
	}
	for m := range s.All() {
		if a, b := t.Leaf(m.Src), t.Leaf(m.Dst); a != b {
			from[m.Phase][a]++
			to[m.Phase][b]++
		}
	}
	sum := 0
	for p := range s.Phases {
		most := 0
		for l := range t.Leaves() {
			links := len(t.AliveSpines(l))
			most = max(most, (from[p][l]+links-1)/links, (to[p][l]+links-1)/links)
		}
		sum += most
	}
	return sum
}

// What the routed model says of linear-shift and fors is what a plan says of
// itself; bandwidth-optimal is never better than the count model, and no longer
// than with all traffic on the spines that all leaves have.
func TestRoutedModelAgainstPlans(t *testing.T) {
	shapes := [][2]int{{2, 2}, {3, 5}, {4, 8}, {6, 4}, {5, 5}}
	for _, shape := range shapes {
		healthy := tree(t, shape[0], shape[1])
		rows := expect.Value(tables.Slowdown(tables.Run{}, healthy, tables.Routed, 3))(t)
		count := expect.Value(tables.Slowdown(tables.Run{}, healthy, tables.Count, 3))(t)
		for i, r := range rows {
			reduced := expect.Value(tables.Reduced(healthy, r.Reduction, r.All))(t)
			ls := cost(t, reduced, "linear-shift", "minhop", 3)
			expect.True(t, r.LinearShift == ls, "%s, row %d: linear-shift %d, a plan %d", healthy.Notation(), i, r.LinearShift, ls)
			fors := cost(t, reduced, "fors", "pinned", 3)
			expect.True(t, r.Adapted == fors && r.Phases == fors,
				"%s, row %d: fors %d in %d phases, a plan %d", healthy.Notation(), i, r.Adapted, r.Phases, fors)
			least, most := count[i].BandwidthOptimal, together(reduced, scheduler.BandwidthOptimal(healthy.Shape))
			expect.True(t, r.BandwidthOptimal >= least && r.BandwidthOptimal <= most,
				"%s, row %d: bandwidth-optimal %d, must be %d..%d", healthy.Notation(), i, r.BandwidthOptimal, least, most)
		}
	}
}

func cost(t *testing.T, tree *topology.Tree, schedule, routing string, seed uint64) int {
	t.Helper()
	p := expect.Value(plan.Build(tree, plan.Options{Schedule: schedule, Routing: routing, Engines: engines.Trees(), Seed: seed}))(t)
	return int(p.Cost(plan.Equal, 0).Duration)
}

// together is the duration of a schedule on the spines that no leaf has lost: by
// König ⌈messages of a leaf / such spines⌉ a phase.
func together(t *topology.Tree, s *scheduler.Schedule) int {
	spines := 0
	for k := range t.Spines() {
		alive := true
		for l := range t.Leaves() {
			alive = alive && t.Alive(l, k)
		}
		if alive {
			spines++
		}
	}
	var dead []topology.Link
	for l := range t.Leaves() {
		for k := spines; k < t.Spines(); k++ {
			dead = append(dead, topology.Link{Leaf: l, Spine: k})
		}
	}
	reduced, err := t.Healthy().Without(dead...)
	if err != nil {
		return 0
	}
	return listing(reduced, s)
}

func TestSlowdownRefuses(t *testing.T) {
	expect.True(t, expect.Err(tables.Slowdown(tables.Run{}, tree(t, 2, 2, "leaf0-spine0"), tables.Count, 1)) != nil, "dead links are taken")
	if _, err := tables.Slowdown(tables.Run{}, tree(t, 2, 2), "guess", 1); err == nil || err.Error() != `no model "guess"; there are count and routed` {
		t.Error(err)
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		expect.Must(t, os.WriteFile(file, got, 0o644))
	}
	want := expect.Value(os.ReadFile(file))(t)
	expect.True(t, bytes.Equal(got, want), "%s has changed; -update rewrites it. Now:\n%s", name, got)
}
