package papers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"evbench/evidence/loadcurve"
	"evbench/internal/lists"
	"evbench/site/engines"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/network"
)

// Trees of switches with 36 ports (18 of them up) and, for the memo, with 24. The papers name the
// trees with 5,832 and 34,992 hosts; they call the others only "real-life".
const (
	tree648   = "PGFT(2;18,36;1,18;1,1)"
	tree1152  = "PGFT(3;12,4,24;1,4,12;1,3,1)"
	tree1944  = "PGFT(3;18,3,36;1,3,18;1,6,1)"
	tree5832  = "PGFT(3;18,9,36;1,9,18;1,2,1)"
	tree11664 = "PGFT(3;18,18,36;1,18,18;1,1,1)"
	tree34992 = "PGFT(4;18,3,18,36;1,3,18,18;1,6,1,1)"
)

type timing struct {
	series, engine, network string
	dead                    float64 // share of the cables between switches
	slow                    bool    // left out if quick
}

func computingTimes(w *work) {
	runs := w.draws(3, 1)
	w.Setup = []string{timed[w.Name].setup, fmt.Sprintf("ours: full tables of all switches, to hosts and switches, on this machine, all CPUs, "+
		"the network is there already; one table at a time, %d of each, one of what takes 10 s", runs)}
	for _, x := range timed[w.Name].list {
		if x.slow && w.Quick {
			continue
		}
		n := without(must(network.Parse(x.network, 0)), x.dead, w.Seed)
		w.tell("%s on %s", x.series, x.network)
		var values []float64
		for range runs {
			values = append(values, w.seconds(func() error {
				_, err := engines.Compute(x.engine, n, engines.Options{Seed: w.Seed})
				return err
			}))
			if values[0] > 10 {
				break
			}
		}
		w.at(x.series, n.Hosts(), "s", values...)
	}
}

// without removes a share of the cables between switches, drawn by a seed, such that no host is cut
// off.
func without(n *network.Network, share float64, seed uint64) *network.Network {
	dead := int(share * float64(len(n.SwitchCables())))
	if dead == 0 {
		return n
	}
	return n.Without(must(n.Random(dead, seed)), nil)
}

var timed = map[string]struct {
	setup string
	list  []timing
}{
	"dmodc5": {
		"PGFTs of switches with 36 ports, full bisection, two to four levels; ftree, updn and opensm-minhop: those of OpenSM, computed anew",
		slices.Concat(allEngines(tree648, false), allEngines(tree1944, false), allEngines(tree5832, false), allEngines(tree11664, true),
			dmodcTimes(tree34992, true)), // OpenSM's engines take minutes there, see qft-table1
	},
	"qft-table1": {"the four networks of the table; ftree: OpenSM's algorithm, computed anew", slices.Concat(quasiTimes(tree5832, false), quasiTimes(tree34992, true))},
	"memo-time": {
		tree1152 + ", 1,152 hosts on switches with 24 ports: the memo does not say which network had 1,100 nodes",
		[]timing{{"opensm-minhop", engines.OpenSMMinHop, tree1152, 0, false}, {"updn", engines.UpDown, tree1152, 0, false}},
	},
}

func dmodcTimes(tree string, slow bool) []timing {
	return []timing{{engines.DModC, engines.DModC, tree, 0, slow}, {"dmodc, 1 % of cables dead", engines.DModC, tree, 0.01, slow}}
}

func allEngines(tree string, slow bool) []timing {
	list := dmodcTimes(tree, false)
	for _, engine := range []string{"ftree", engines.UpDown, engines.OpenSMMinHop} {
		list = append(list, timing{engine, engine, tree, 0, slow})
	}
	return list
}

func quasiTimes(tree string, slow bool) []timing {
	return []timing{
		{"qft, PGFT", engines.QFT, tree, 0, slow}, {"qft, QFT", engines.QFT, "Q" + tree[2:], 0, slow}, {"ftree, PGFT", "ftree", tree, 0, slow},
	}
}

const riskSmall = "PGFT(3;4,4,8;1,4,4;1,1,1)"

var riskEngines = []string{engines.DModC, "ftree", engines.UpDown, engines.OpenSMMinHop, engines.SSSP}

// risk is section 4.3 of IEEE Micro 2020: the most messages that share a cable, by pattern, as more
// and more cables are dead. In a pattern each host sends to one and hears from one, so no cable has
// fewer senders or receivers than messages.
func risk(w *work) {
	notation, draws, permutations := "PGFT(3;8,8,16;1,8,8;1,1,1)", 10, 100
	if w.Quick {
		notation, draws, permutations = riskSmall, 3, 20
	}
	whole := must(network.Parse(notation, 0))
	roots := must(network.DetectRoots(whole))
	const cutOff = "without a route"
	w.Setup = []string{
		fmt.Sprintf("%s, %d hosts; dead cables drawn %d times, no host cut off; engines are told the roots", notation, whole.Hosts(), draws),
		fmt.Sprintf("shifts: the most messages on a cable in any phase of the linear shift; permutations: the mean over %d random ones of the most", permutations),
		cutOff + ", where there are any: pairs of hosts that the tables do not join, of all pairs",
	}
	for _, share := range []float64{0, 0.01, 0.02, 0.05, 0.1, 0.2} {
		for _, engine := range riskEngines {
			w.tell("%g %% dead, %s", 100*share, engine)
			got := table(w, many(int(1000*share), draws), func(i int) []float64 {
				n := without(whole, share, w.Seed+uint64(i))
				return riskIn(must(engines.Compute(engine, n, engines.Options{Roots: roots, Seed: w.Seed, Partial: true})), permutations, w.Seed)
			})
			x, label := 100*share, fmt.Sprintf("%g %%", 100*share)
			w.add(engine+", shifts", x, label, "messages", got[0]...)
			w.add(engine+", permutations", x, label, "messages", got[1]...)
			if slices.Max(got[2]) > 0 {
				w.add(engine+", "+cutOff, x, label, "%", got[2]...)
			}
		}
	}
}

// riskIn returns the most messages on a cable in shifts and in permutations, and the percentage of
// pairs without a route.
func riskIn(t *lft.Tables, permutations int, seed uint64) []float64 {
	shifts := lft.Congest(t, lft.Shifts(t.Net.Hosts()))
	drawn := lft.Congest(t, lft.Permutations(permutations, seed))
	pairs := float64(t.Net.Hosts()) * float64(t.Net.Hosts()-1)
	return []float64{float64(shifts.Worst), drawn.Slowdown, 100 * float64(shifts.Unreachable) / pairs}
}

const restartTree = "PGFT(2;6,4;1,3;1,3)"

// A restartCase is a row of Table 1 of the memo of 2005: the dead parts when tables were saved, and
// when a subnet manager finds them. lid is the new LID of the first host.
type restartCase struct {
	row          string
	before, then []string
	lid          uint16
}

var restartCases = []restartCase{
	{"new switch", []string{"s2_0"}, nil, 0},
	{"missing switch", nil, []string{"s2_0"}, 0},
	{"new cable", []string{"s1_0/7"}, nil, 0},
	{"missing cable, others join", nil, []string{"s1_0/7"}, 0},
	{"missing cable, the last", nil, []string{"s1_0-s2_0"}, 0},
	{"missing cable to a host", nil, []string{"h0"}, 0},
	{"new host", []string{"h0"}, nil, 0},
	{"LID changed", nil, nil, 4000},
}

// restarts is Table 1 of the memo of 2005: for each change, whether saved min-hop tables are kept,
// and the share of saved entries kept, for nodes present before and after.
func restarts(w *work) {
	w.Setup = []string{
		restartTree + ", three cables from a leaf to a spine, minhop; tables are saved, something changes, a subnet manager starts with them",
		"kept: of saved entries to nodes that are there before and after; 100 and 0 of the memo: \"does not invalidate\", \"invalidates\"",
	}
	whole := must(network.Parse(restartTree, 0))
	for i, c := range restartCases {
		then := must(whole.Degrade(c.then))
		if c.lid > 0 {
			then = renumbered(then, c.lid)
		}
		saved := must(opensm.MinHop.Route(must(whole.Degrade(c.before)), nil))
		tables, is, err := opensm.MinHop.Restart(then, nil, saved)
		check(err)
		hops := 100.0
		if is.MinHops {
			hops = 0
		}
		w.add("min-hop tables", float64(i), c.row, "% kept", hops)
		w.add("entries", float64(i), c.row, "% kept", keptEntries(saved, tables, is))
	}
}

func renumbered(n *network.Network, lid uint16) *network.Network {
	info := lists.Tabulate(n.Nodes(), func(v int) network.Info { return n.Info(network.Node(v)) })
	info[0].LID = lid
	return n.WithInfo(info)
}

// keptEntries is the percentage of saved entries that were kept, for LIDs that both tables lead to.
func keptEntries(saved, now *lft.Tables, is *opensm.Validity) float64 {
	both := 0
	for s := range now.Net.Switches() {
		row := now.Row(s)
		for lid, port := range saved.Row(s) {
			if port != lft.NoPort && lid < len(row) && row[lid] != lft.NoPort {
				both++
			}
		}
	}
	return 100 * float64(is.Kept) / float64(both)
}

// quasiGroups is Figures 1 and 2 of HOTI 2014: how many hosts are within three switches of a host,
// in trees of three levels with full bisection, by the number of leaves that share their parents.
// Switches of k ports have k/2 hosts or leaves below; the top ones have k.
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

// withinThree returns how many hosts a path of at most three switches reaches from a host, itself
// included: the fewest of all hosts. O(leaves · ports²).
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
	var best [2]loadcurve.Point // of PGFT and QFT: at full load
	for i, series := range []string{"PGFT", "QFT"} {
		on := r
		on.network = strings.TrimSuffix(series, "FT") + r.network
		net := on.fabric(quasiEngine{series, engines.QFT, false})
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

func (r *quasiRun) jobLoads(hosts int, jobs [][]int32) []loadcurve.Load {
	patterns := lists.Tabulate(len(jobs), func(j int) loadcurve.Pattern { return loadcurve.RandomShifts(len(jobs[j]), r.seed+uint64(j)) })
	return lists.Map(r.loads, func(offered float64) loadcurve.Load {
		l := r.load(hosts, quasiMessage, offered)
		l.Pattern = loadcurve.Jobs(hosts, jobs, patterns)
		return l
	})
}

// placed cuts hosts into runs of normally distributed lengths, at least 1, and deals these in a
// drawn order to jobs of equal size; the last run of a job is cut off where the job is full. Hosts
// of a job are in the order in which its runs came.
func placed(hosts, count int, mean, deviation float64, seed uint64) [][]int32 {
	rng := rand.New(rand.NewPCG(seed, 3))
	var runs [][]int32
	for first := 0; first < hosts; {
		n := min(hosts-first, max(1, int(mean+deviation*rng.NormFloat64()+0.5)))
		runs = append(runs, lists.Tabulate(n, func(i int) int32 { return int32(first + i) }))
		first += n
	}
	rng.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
	all := slices.Concat(runs...)
	return lists.Tabulate(count, func(j int) []int32 { return all[j*hosts/count : (j+1)*hosts/count] })
}
