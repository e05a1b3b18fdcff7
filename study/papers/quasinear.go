package papers

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"evbench/routing"
	"evbench/sim/credit"
	"evbench/topology/network"
)

// quasiGroups is Figures 1 and 2 of HOTI 2014: how many hosts are within three switches of a
// host, in trees of three levels with full bisection, by the number of leaves that share
// their parents. Switches of k ports have k/2 hosts or leaves below, but for the top ones,
// which have k.
func quasiGroups(w *work) {
	w.Setup = []string{
		"PGFT and QFT(3;k/2,m,k;1,m,k/2;1,k/2m,1) of switches with k ports, m = 2 to k/2; each host of a network has as many",
		"hosts within three switches: those of its leaf, and of the leaves one switch farther, counted on the network; fewest of all hosts",
	}
	for _, ports := range []int{8, 36, 48} {
		half := ports / 2
		for m := 2; m <= half; m++ {
			if half%m != 0 || w.Quick && ports*half*m > 6000 {
				continue
			}
			w.tell("%d ports, %d leaves with the same parents", ports, m)
			numbers := fmt.Sprintf("(3;%d,%d,%d;1,%d,%d;1,%d,1)", half, m, ports, m, half, half/m)
			suffix := fmt.Sprintf(", %d ports", ports)
			pgft, qft := must(network.Parse("PGFT"+numbers, 0)), must(network.Parse("QFT"+numbers, 0))
			near, with := float64(withinThree(pgft)), float64(withinThree(qft))
			w.at("PGFT"+suffix, qft.Hosts(), "hosts", near)
			w.at("QFT"+suffix, qft.Hosts(), "hosts", with)
			w.at("QFT/PGFT"+suffix, qft.Hosts(), "", with/near)
		}
	}
}

// withinThree returns how many hosts a path of at most three switches leads to from a host,
// itself included: the fewest of all hosts. O(leaves · ports²).
func withinThree(n *network.Network) int {
	below := make([]int, n.Switches()) // hosts of a switch
	for h := range n.Hosts() {
		below[n.Index(n.Leaf(network.Node(h)).Node)]++
	}
	seen := make([]int, n.Switches()) // by whom last, plus one
	fewest := n.Hosts()
	for leaf := range below {
		if below[leaf] == 0 {
			continue
		}
		seen[leaf] = leaf + 1
		hosts := below[leaf]
		for _, up := range n.Ends(n.Switch(leaf)) {
			if up.Node == network.NoNode || n.IsHost(up.Node) {
				continue
			}
			for _, far := range n.Ends(up.Node) {
				if far.Node == network.NoNode || n.IsHost(far.Node) || seen[n.Index(far.Node)] == leaf+1 {
					continue
				}
				seen[n.Index(far.Node)] = leaf + 1
				hosts += below[n.Index(far.Node)]
			}
		}
		fewest = min(fewest, hosts)
	}
	return fewest
}

// quasiJobs is Figure 3 of HOTI 2014: concurrent jobs on hosts that are not next to each
// other, on a QFT and on the PGFT of the same numbers. Each job sends by shifts of its own
// hosts. The paper states no number; its finding is that throughput saturates later on QFT.
func quasiJobs(w *work) {
	r := quasiRun{network: quasiHosts[1:], loads: []float64{0.4, 0.6, 1}, warm: 100 * microsecond, window: 100 * microsecond, seed: w.Seed}
	jobs, mean, deviation := 12, 36.0, 10.0
	if w.Quick {
		r.network, r.loads, jobs, mean, deviation = quasiSmall[1:], []float64{0.3, 1}, 4, 8, 2
	}
	var hosts int
	var best [2]credit.Point // of PGFT and QFT: at full load
	for i, series := range []string{"PGFT", "QFT"} {
		on := r
		on.network = strings.TrimSuffix(series, "FT") + r.network
		net := on.fabric(quasiEngine{series, routing.QFT, false})
		hosts = net.Hosts()
		w.tell("%s", on.network)
		for _, p := range must(net.Curve(w, 0, on.jobLoads(hosts, placed(hosts, jobs, mean, deviation, w.Seed)))) {
			w.point(series, p)
			best[i] = p
		}
	}
	w.at("QFT/PGFT", linkMB, "", best[1].Accepted/best[0].Accepted)
	w.at("QFT/PGFT, least host", linkMB, "", best[1].Worst/best[0].Worst)
	w.Setup = append([]string{
		fmt.Sprintf("%d hosts in %d jobs of equal size, laid out in runs of hosts, Normal(%g,%g) long, in an order that is drawn; the paper's jobs have 300 hosts on average", hosts, jobs, mean, deviation),
		fmt.Sprintf("each job sends messages of %d KB by all shifts of its hosts in a random order of its own, no barrier; MB/s that a host receives", quasiMessage),
		"closed-form tables of qft on both networks",
	}, r.setup()[1:]...) // but for the network and its pattern
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
