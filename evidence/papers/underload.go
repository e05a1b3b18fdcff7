package papers

import (
	"fmt"
	"strings"

	"evbench/evidence/loadcurve"
	"evbench/internal/lists"
	"evbench/site/engines"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
	"evbench/study/jobs"
)

// Networks of dmodc-load: full load takes longer to compute than counting.
const (
	loadHosts = "PGFT(3;6,6,6;1,6,6;1,1,1)"
	loadQuick = "PGFT(2;4,4;1,4;1,1)"
)

// underLoad fills dmodc-load: the paper judges routings by how many flows share a cable
// (dmodc-risk). This figure has the rate of hosts at full load in a lossless network, beside the
// result of counting flows, as more cables are dead.
func underLoad(w *work) {
	name, shares, permutations := loadHosts, []float64{0, 0.01, 0.05, 0.1}, 3
	if w.Quick {
		name, shares, permutations = loadQuick, []float64{0, 0.1}, 2
	}
	whole := must(network.Parse(name, 0))
	roots := must(network.DetectRoots(whole))
	draws := w.draws(3, 1)
	w.Setup = []string{
		fmt.Sprintf("%s, %d hosts; dead cables drawn %d times, engines are told the roots; share of its link that a host receives, mean of all", name, whole.Hosts(), draws),
		"packets: all hosts always send, messages of 128 KB, " + fdrSetup,
		"flows: each message gets its share of its fullest cable, as congestion risk is counted",
		fmt.Sprintf("permutations: %d drawn at random; shifts: all in one random order, no barrier", permutations),
	}
	for _, share := range shares {
		label := fmt.Sprintf("%g %%", 100*share)
		for _, engine := range riskEngines {
			w.tell("%s with %s dead", engine, label)
			columns := table(w, draws, func(i int) []float64 {
				seed := w.Seed + uint64(i)
				t := must(engines.Compute(engine, without(whole, share, seed), engines.Options{Seed: seed, Roots: roots}))
				return w.loadShares(t, permutations, seed)
			})
			for i, series := range []string{", permutations, packets", ", permutations, flows", ", shifts, packets", ", shifts, flows"} {
				w.add(engine+series, 100*share, label, "share", columns[i]...)
			}
		}
	}
}

// loadShares returns the share of its link that a host receives: for permutations by packets and by
// flows, and the same for shifts.
func (w *work) loadShares(t *lft.Tables, permutations int, seed uint64) []float64 {
	fabric, hosts := must(loadcurve.NewFabric(t)), t.Net.Hosts()
	full := loadcurve.Load{Flits: quasiMessage * kilobyte, Offered: 1, Warm: 100 * microsecond, Window: 100 * microsecond, Seed: seed}
	drawn, sum := lft.Permutations(permutations, seed), 0.0
	for phase := range permutations {
		to := make([]int32, hosts)
		drawn.Fill(phase, to)
		for h := range to {
			if to[h] < 0 {
				to[h] = int32(h)
			}
		}
		full.Pattern = loadcurve.Permutation(to)
		sum += must(fabric.Run(w, full)).Accepted / float64(permutations)
	}
	full.Pattern = loadcurve.RandomShifts(hosts, seed)
	return []float64{
		sum, lft.Congest(t, drawn).Throughput,
		must(fabric.Run(w, full)).Accepted, lft.Congest(t, lft.Shifts(hosts)).Throughput,
	}
}

// jobWays are the routings of jobs-load: the steps of sar that are left out.
var jobWays = []struct {
	series  string
	without opensm.Steps
}{{"sssp", opensm.AllSteps}, {"sar-published", opensm.LookAhead}, {"sar", 0}}

// jobsUnderLoad fills jobs-load: the rate of hosts of the slides' three jobs at full load, beside
// the greatest number of routes on a cable, the measure of the slides.
func jobsUnderLoad(w *work) {
	n := must(network.Parse(jobsTree, 0))
	draws := w.draws(5, 1)
	r := quasiRun{loads: []float64{1}, warm: 100 * microsecond, window: 100 * microsecond, seed: w.Seed}
	if w.Quick {
		r.warm, r.window = 20*microsecond, 20*microsecond
	}
	w.Setup = []string{
		fmt.Sprintf("%s, three jobs of 60 hosts as in jobs-efi, and %d random placements; all hosts always send", jobsTree, draws),
		"mean, least: share of its link that a host receives, of all hosts, and the one that has least; hosts of a job send messages of 128 KB to " +
			"each other without barrier; shifts: by all shifts in one random order; random: each to any other; " + fdrSetup,
		fmt.Sprintf("window of %d us after %d us", r.window/microsecond, r.warm/microsecond),
	}
	random := lists.Tabulate(draws, func(i int) [][]int32 { return placed(n.Hosts(), 3, 1, 0, w.Seed+uint64(i)) })
	for x, placement := range []struct {
		label string
		jobs  [][][]int32 // [draw][job][host]
	}{{"a leaf filled", [][][]int32{leafFilled()}}, {"random", random}} {
		for _, way := range jobWays {
			w.tell("%s, %s", placement.label, way.series)
			columns := table(w, len(placement.jobs), func(i int) []float64 { return w.ofJobs(r, n, placement.jobs[i], way.without) })
			for k, of := range []struct{ series, unit string }{
				{"shifts, mean", "share"}, {"shifts, least", "share"}, {"random, mean", "share"}, {"random, least", "share"}, {"fullest cable", "routes"},
			} {
				w.add(way.series+", "+of.series, float64(x), placement.label, of.unit, columns[k]...)
			}
		}
	}
}

// ofJobs returns the rate of hosts of jobs, mean and least, by shifts and at random, and the routes
// of the fullest cable.
func (w *work) ofJobs(r quasiRun, n *network.Network, jobs [][]int32, without opensm.Steps) []float64 {
	p := opensm.Placement{Without: without}
	p.Jobs = lists.Map(jobs, func(job []int32) []network.Node {
		return lists.Map(job, func(h int32) network.Node { return network.Node(h) })
	})
	others := lists.Map(jobs, func(job []int32) loadcurve.Pattern { return loadcurve.Others(len(job)) })
	t := must(opensm.Jobs(n, p, 0))
	fabric := must(loadcurve.NewFabric(t))
	full := r.jobLoads(n.Hosts(), jobs)[0]
	shifts := must(fabric.Run(w, full))
	full.Pattern = loadcurve.Jobs(n.Hosts(), jobs, others)
	random := must(fabric.Run(w, full))
	return []float64{shifts.Accepted, shifts.Worst, random.Accepted, random.Worst, float64(opensm.Index(t, p.Jobs).Max)}
}

// The example of the slides is a fat tree with full bisection and 180 nodes, and three jobs of
// 60. They do not say which tree, nor where the jobs are.
const (
	jobsTree   = "FT(2;20,9)"
	jobsLeaf   = 20 // hosts of a leaf
	jobsLeaves = 9
)

// leafFilled is a placement with the maximum that the slides start from, the hosts of jobs A, B and
// C: A fills the first leaf and has the first five places of the others, whose rest B and C share.
func leafFilled() [][]int32 {
	hosts := make([][]int32, 3)
	for h := range int32(jobsLeaf * jobsLeaves) {
		job, leaf, place := 2, h/jobsLeaf, h%jobsLeaf
		switch {
		case leaf == 0 || place < 5:
			job = 0
		case place < 12 || place == 12 && leaf <= 4:
			job = 1
		}
		hosts[job] = append(hosts[job], h)
	}
	return hosts
}

func leafFilledJobs() []jobs.Job {
	hosts := leafFilled()
	return lists.Tabulate(len(hosts), func(job int) jobs.Job {
		return jobs.Job{ID: "ABC"[job : job+1], Nodes: lists.Map(hosts[job], func(h int32) string { return fmt.Sprintf("h%d", h) })}
	})
}

// jobsEFI computes the edge forwarding index of jobs as the slides do, and the effect of each step
// of their algorithm.
func jobsEFI(w *work) {
	n := must(network.Parse(jobsTree, 0))
	draws := w.draws(100, 10)
	w.Setup = []string{
		fmt.Sprintf("%s, 180 hosts, three jobs of 60; routes between hosts of a job on the cable between switches that has most, in one direction", jobsTree),
		"a leaf filled: one job has all hosts of a leaf and the first five of each other leaf, the others share the rest; random: " + fmt.Sprintf("%d placements", draws),
		"sssp looks at no job (tables of OpenSM's sssp and dfsssp); sar-published is Algorithm 1 as printed; sar adds a look ahead; " +
			"without: what is left out of sar, so that sar-published is sar without look-ahead",
		"to a leaf: share of placements whose cable with most routes leads down to a leaf; spread: cables to its leaf over which the " +
			"routes to a host come; details (CSV): routes on each cable, a leaf filled",
	}
	r := jobs.NewRouted(jobsTree)
	must(r.Route(n, r.Place(n, leafFilledJobs(), new(jobs.Classes)), 0))
	for _, l := range r.Routings {
		w.add(l.Routing, 0, "a leaf filled", "routes", float64(l.Max))
	}
	for _, l := range r.Routings {
		w.add(l.Routing, 1, "unused there", "cables", float64(l.Unused))
	}
	w.tell("%d random placements", draws)
	d := jobDraws{sizes: []int{60, 60, 60}, seed: w.Seed, draws: draws}
	check(d.place(w, n, allWays))
	for x, of := range []struct {
		label, unit string
		values      func(distribution) []float64
	}{
		{"random", "routes", func(d distribution) []float64 {
			return lists.Map(d.most, func(m int64) float64 { return float64(m) })
		}},
		{"to a leaf", "%", func(d distribution) []float64 { return []float64{100 * float64(d.toLeaf) / float64(draws)} }},
		{"spread", "cables", func(d distribution) []float64 { return []float64{d.spread} }},
	} {
		for _, way := range d.routings {
			w.add(strings.TrimPrefix(way.routing, "sar "), float64(2+x), of.label, of.unit, of.values(way)...)
		}
	}
	w.heat(r, edgesOf(r, n))
}

func (f *Figure) heat(r *jobs.Routed, edges []edge) {
	for _, up := range []bool{true, false} {
		for i, l := range r.Routings {
			name, of := l.Routing+", down", func(e edge) int64 { return e.down[i] }
			if up {
				name, of = l.Routing+", up", func(e edge) int64 { return e.up[i] }
			}
			for k, e := range edges {
				f.add(name, float64(k), e.low+"-"+e.high, "routes", float64(of(e))).Detail = true
			}
		}
	}
}
