package papers

import (
	"context"
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

type loadRun struct {
	net          *network.Network
	roots        []network.Node
	permutations int
	seed         uint64
	warm, window credit.Time
}

// underLoad fills dmodc-load: the paper judges routings by how many flows share a cable
// (dmodc-risk); here is what hosts receive from full load in a lossless network, beside
// what counting flows gives, as more cables are dead.
func underLoad(ctx context.Context, o *Options, f *Figure) error {
	name, shares, permutations := loadHosts, []float64{0, 0.01, 0.05, 0.1}, 3
	if o.Quick {
		name, shares, permutations = loadQuick, []float64{0, 0.1}, 2
	}
	whole, err := network.Parse(name, 0)
	if err != nil {
		return err
	}
	roots, err := network.DetectRoots(whole)
	if err != nil {
		return err
	}
	draws := o.draws(3, 1)
	f.Setup = []string{
		fmt.Sprintf("%s, %d hosts; dead cables drawn %d times, engines are told the roots; share of its link that a host receives, mean of all", name, whole.Hosts(), draws),
		"packets: all hosts always send, messages of 128 KB, " + fdrSetup,
		"flows: each message gets its share of its fullest cable, as congestion risk is counted",
		fmt.Sprintf("permutations: %d drawn at random; shifts: all in one random order, no barrier", permutations),
	}
	for _, share := range shares {
		label := fmt.Sprintf("%g %%", 100*share)
		for _, engine := range riskEngines {
			o.tell(f.Name, "%s with %s dead", engine, label)
			got := make([]loadShares, draws)
			err := each(ctx, draws, func(i int) error {
				n, err := without(whole, share, o.Seed+uint64(i))
				if err != nil {
					return err
				}
				r := loadRun{n, roots, permutations, o.Seed + uint64(i), 100 * microsecond, 100 * microsecond}
				got[i], err = r.shares(ctx, engine)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s with %s dead: %w", engine, label, err)
			}
			for i, series := range loadSeries {
				values := make([]float64, draws)
				for d := range got {
					values[d] = got[d][i]
				}
				f.add(engine+series, 100*share, label, "share", values...)
			}
		}
	}
	return nil
}

var loadSeries = []string{", permutations, packets", ", permutations, flows", ", shifts, packets", ", shifts, flows"}

type loadShares [4]float64

func (r *loadRun) shares(ctx context.Context, engine string) (s loadShares, err error) {
	t, err := routing.Compute(engine, r.net, routing.Options{Seed: r.seed, Roots: r.roots})
	if err != nil {
		return s, err
	}
	fabric, err := credit.NewFabric(t)
	if err != nil {
		return s, err
	}
	hosts := r.net.Hosts()
	full := credit.Load{Flits: quasiMessage * kilobyte, Offered: 1, Warm: r.warm, Window: r.window, Seed: r.seed}
	drawn := lft.Permutations(r.permutations, r.seed)
	for phase := range r.permutations {
		to := make([]int32, hosts)
		drawn.Fill(phase, to)
		for h := range to {
			if to[h] < 0 {
				to[h] = int32(h)
			}
		}
		full.Pattern = credit.Permutation(to)
		p, err := fabric.Run(ctx, full)
		if err != nil {
			return s, err
		}
		s[0] += p.Accepted / float64(r.permutations)
	}
	full.Pattern = credit.RandomShifts(hosts, r.seed)
	p, err := fabric.Run(ctx, full)
	if err != nil {
		return s, err
	}
	s[2] = p.Accepted
	s[1] = lft.Congest(t, drawn, 1).Throughput
	s[3] = lft.Congest(t, lft.Shifts(hosts), 1).Throughput
	return s, nil
}

// jobWays are the routings of jobs-load: what of sar is left out.
var jobWays = []struct {
	series  string
	without sssp.Steps
}{{"sssp", sssp.AllSteps}, {"sar-published", sssp.LookAhead}, {"sar", 0}}

// jobsUnderLoad fills jobs-load: what hosts of the slides' three jobs receive from full load,
// beside the greatest number of routes on a cable, which is what the slides judge by.
func jobsUnderLoad(ctx context.Context, o *Options, f *Figure) error {
	n, err := network.Parse(jobsTree, 0)
	if err != nil {
		return err
	}
	draws := o.draws(5, 1)
	r := quasiRun{loads: []float64{1}, warm: 100 * microsecond, window: 100 * microsecond, seed: o.Seed}
	if o.Quick {
		r.warm, r.window = 20*microsecond, 20*microsecond
	}
	f.Setup = []string{
		fmt.Sprintf("%s, three jobs of 60 hosts as in jobs-efi, and %d random placements; all hosts always send", jobsTree, draws),
		"mean, least: share of its link that a host receives, of all hosts, and the one that has least; hosts of a job send messages of 128 KB to " +
			"each other without barrier; shifts: by all shifts in one random order; random: each to any other; " + fdrSetup,
		fmt.Sprintf("window of %d us after %d us", r.window/microsecond, r.warm/microsecond),
	}
	random := make([][][]int32, draws)
	for i := range random {
		random[i] = placed(n.Hosts(), 3, 1, 0, o.Seed+uint64(i))
	}
	for x, placement := range []struct {
		label string
		jobs  [][][]int32 // [draw][job][host]
	}{{"a leaf filled", [][][]int32{leafFilled()}}, {"random", random}} {
		for _, way := range jobWays {
			o.tell(f.Name, "%s, %s", placement.label, way.series)
			values := make([]jobShares, len(placement.jobs))
			err := each(ctx, len(values), func(i int) (err error) {
				values[i], err = r.ofJobs(ctx, n, placement.jobs[i], way.without)
				return err
			})
			if err != nil {
				return err
			}
			for k, of := range jobShareSeries {
				column := make([]float64, len(values))
				for i := range values {
					column[i] = values[i][k]
				}
				f.add(way.series+", "+of.series, float64(x), placement.label, of.unit, column...)
			}
		}
	}
	return nil
}

// jobShares are what hosts of jobs receive, and the routes of the fullest cable.
type jobShares [5]float64

var jobShareSeries = []struct{ series, unit string }{
	{"shifts, mean", "share"}, {"shifts, least", "share"}, {"random, mean", "share"}, {"random, least", "share"}, {"fullest cable", "routes"},
}

func (r quasiRun) ofJobs(ctx context.Context, n *network.Network, jobs [][]int32, without sssp.Steps) (out jobShares, err error) {
	p := sssp.Placement{Without: without}
	for _, job := range jobs {
		var nodes []network.Node
		for _, h := range job {
			nodes = append(nodes, network.Node(h))
		}
		p.Jobs = append(p.Jobs, nodes)
	}
	t, err := sssp.Jobs(n, p, 0)
	if err != nil {
		return out, err
	}
	fabric, err := credit.NewFabric(t)
	if err != nil {
		return out, err
	}
	full := r.jobLoads(n.Hosts(), jobs)[0]
	shifts, err := fabric.Run(ctx, full)
	if err != nil {
		return out, err
	}
	var others []credit.Pattern
	for _, job := range jobs {
		others = append(others, credit.Others(len(job)))
	}
	full.Pattern = credit.Jobs(n.Hosts(), jobs, others)
	random, err := fabric.Run(ctx, full)
	return jobShares{shifts.Accepted, shifts.Worst, random.Accepted, random.Worst, float64(sssp.Index(t, p.Jobs).Max)}, err
}
