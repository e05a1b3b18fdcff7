package papers

import (
	"fmt"

	"evbench/routing"
	"evbench/routing/lft"
	"evbench/routing/sssp"
	"evbench/sim/credit"
	"evbench/topology/network"
)

// Networks of dmodc-load: full load takes longer to work out than counting.
const (
	loadHosts = "PGFT(3;6,6,6;1,6,6;1,1,1)"
	loadQuick = "PGFT(2;4,4;1,4;1,1)"
)

// underLoad fills dmodc-load: the paper judges routings by how many flows share a cable
// (dmodc-risk); here is what hosts receive from full load in a lossless network, beside
// what counting flows gives, as more cables are dead.
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
				t := must(routing.Compute(engine, without(whole, share, seed), routing.Options{Seed: seed, Roots: roots}))
				return w.loadShares(t, permutations, seed)
			})
			for i, series := range []string{", permutations, packets", ", permutations, flows", ", shifts, packets", ", shifts, flows"} {
				w.add(engine+series, 100*share, label, "share", columns[i]...)
			}
		}
	}
}

// loadShares returns the share of its link that a host receives: of permutations by packets
// and by flows, and the same of shifts.
func (w *work) loadShares(t *lft.Tables, permutations int, seed uint64) []float64 {
	fabric, hosts := must(credit.NewFabric(t)), t.Net.Hosts()
	full := credit.Load{Flits: quasiMessage * kilobyte, Offered: 1, Warm: 100 * microsecond, Window: 100 * microsecond, Seed: seed}
	drawn, sum := lft.Permutations(permutations, seed), 0.0
	for phase := range permutations {
		to := make([]int32, hosts)
		drawn.Fill(phase, to)
		for h := range to {
			if to[h] < 0 {
				to[h] = int32(h)
			}
		}
		full.Pattern = credit.Permutation(to)
		sum += must(fabric.Run(w, full)).Accepted / float64(permutations)
	}
	full.Pattern = credit.RandomShifts(hosts, seed)
	return []float64{
		sum, lft.Congest(t, drawn, 1).Throughput,
		must(fabric.Run(w, full)).Accepted, lft.Congest(t, lft.Shifts(hosts), 1).Throughput,
	}
}

// jobWays are the routings of jobs-load: what of sar is left out.
var jobWays = []struct {
	series  string
	without sssp.Steps
}{{"sssp", sssp.AllSteps}, {"sar-published", sssp.LookAhead}, {"sar", 0}}

// jobsUnderLoad fills jobs-load: what hosts of the slides' three jobs receive from full load,
// beside the greatest number of routes on a cable, which is what the slides judge by.
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
	random := make([][][]int32, draws)
	for i := range random {
		random[i] = placed(n.Hosts(), 3, 1, 0, w.Seed+uint64(i))
	}
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

// ofJobs returns what hosts of jobs receive, mean and least, by shifts and at random, and the
// routes of the fullest cable.
func (w *work) ofJobs(r quasiRun, n *network.Network, jobs [][]int32, without sssp.Steps) []float64 {
	p := sssp.Placement{Without: without}
	var others []credit.Pattern
	for _, job := range jobs {
		var nodes []network.Node
		for _, h := range job {
			nodes = append(nodes, network.Node(h))
		}
		p.Jobs, others = append(p.Jobs, nodes), append(others, credit.Others(len(job)))
	}
	t := must(sssp.Jobs(n, p, 0))
	fabric := must(credit.NewFabric(t))
	full := r.jobLoads(n.Hosts(), jobs)[0]
	shifts := must(fabric.Run(w, full))
	full.Pattern = credit.Jobs(n.Hosts(), jobs, others)
	random := must(fabric.Run(w, full))
	return []float64{shifts.Accepted, shifts.Worst, random.Accepted, random.Worst, float64(sssp.Index(t, p.Jobs).Max)}
}
