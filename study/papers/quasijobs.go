package papers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"

	"evbench/routing"
	"evbench/sim/credit"
)

// quasiJobs is Figure 3 of HOTI 2014: concurrent jobs on hosts that are not next to each
// other, on a QFT and on the PGFT of the same numbers. Each job sends by shifts of its own
// hosts. The paper states no number; its finding is that throughput saturates later on QFT.
func quasiJobs(ctx context.Context, o *Options, f *Figure) error {
	r := quasiRun{network: quasiHosts[1:], loads: []float64{0.4, 0.6, 1}, warm: 100 * microsecond, window: 100 * microsecond, seed: o.Seed}
	jobs, mean, deviation := 12, 36.0, 10.0
	if o.Quick {
		r.network, r.loads, jobs, mean, deviation = quasiSmall[1:], []float64{0.3, 1}, 4, 8, 2
	}
	var hosts int
	var best [2][2]float64 // of PGFT and QFT: mean and worst host at full load
	for i, series := range []string{"PGFT", "QFT"} {
		engine := quasiEngine{series, routing.QFT, false}
		on := r
		on.network = []string{"PG", "Q"}[i] + r.network
		net, err := on.fabric(engine)
		if err != nil {
			return err
		}
		hosts = net.Hosts()
		o.tell(f.Name, "%s", on.network)
		points, err := net.Curve(ctx, 0, on.jobLoads(hosts, placed(hosts, jobs, mean, deviation, o.Seed)))
		if err != nil {
			return err
		}
		for _, p := range points {
			f.jobRows(series, p)
			best[i] = [2]float64{p.Accepted, p.Worst}
		}
	}
	f.add("QFT/PGFT", linkMB, strconv.Itoa(linkMB), "", best[1][0]/best[0][0])
	f.add("QFT/PGFT, least host", linkMB, strconv.Itoa(linkMB), "", best[1][1]/best[0][1])
	f.Setup = append([]string{
		fmt.Sprintf("%d hosts in %d jobs of equal size, laid out in runs of hosts, Normal(%g,%g) long, in an order that is drawn; the paper's jobs have 300 hosts on average", hosts, jobs, mean, deviation),
		fmt.Sprintf("each job sends messages of %d KB by all shifts of its hosts in a random order of its own, no barrier; MB/s that a host receives", quasiMessage),
		"closed-form tables of qft on both networks",
	}, r.setup()[1:]...) // but for the network and its pattern
	return nil
}

func (f *Figure) jobRows(series string, p credit.Point) {
	at := strconv.FormatFloat(p.Offered*linkMB, 'f', -1, 64)
	got := p.Accepted * linkMB
	f.add(series, p.Offered*linkMB, at, megabyte, got)
	if p.Offered == 1 { // with less, some host hears from nobody for a while
		f.add(series+", least host", p.Offered*linkMB, at, megabyte, p.Worst*linkMB)
	}
	f.add(series+", message", got, at, "us", p.Message/microsecond).Detail = true
	f.add(series+", packet", got, at, "us", p.Packet/microsecond).Detail = true
}

func (r *quasiRun) jobLoads(hosts int, jobs [][]int32) []credit.Load {
	patterns := make([]credit.Pattern, len(jobs))
	for j, job := range jobs {
		patterns[j] = credit.RandomShifts(len(job), r.seed+uint64(j))
	}
	var out []credit.Load
	for _, offered := range r.loads {
		l := r.load(hosts, quasiMessage, offered)
		l.Pattern = credit.Jobs(hosts, jobs, patterns)
		out = append(out, l)
	}
	return out
}

// placed cuts hosts into runs whose lengths are normally distributed, at least 1, and deals
// these in a drawn order to jobs of equal size; the last of a job is cut off where it is full.
// Hosts of a job are in the order in which its runs came.
func placed(hosts, count int, mean, deviation float64, seed uint64) [][]int32 {
	rng := rand.New(rand.NewPCG(seed, 3))
	var runs [][]int32
	for first := 0; first < hosts; {
		n := min(hosts-first, max(1, int(mean+deviation*rng.NormFloat64()+0.5)))
		run := make([]int32, n)
		for i := range run {
			run[i] = int32(first + i)
		}
		runs, first = append(runs, run), first+n
	}
	rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	var all []int32
	for _, run := range runs {
		all = append(all, run...)
	}
	jobs := make([][]int32, count)
	for j := range jobs {
		jobs[j] = all[j*hosts/count : (j+1)*hosts/count]
	}
	return jobs
}
