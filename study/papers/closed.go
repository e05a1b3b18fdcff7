package papers

import (
	"fmt"
	"slices"

	"evbench/routing"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// Trees of switches with 36 ports (18 of them up) and, for the memo, with 24. The papers
// name those with 5,832 and 34,992 hosts; of the others they say no more than "real-life".
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
				_, err := routing.Compute(x.engine, n, routing.Options{Seed: w.Seed})
				return err
			}))
			if values[0] > 10 {
				break
			}
		}
		w.at(x.series, n.Hosts(), "s", values...)
	}
}

// without takes a share of the cables between switches away, drawn by a seed, such that no
// host is cut off.
func without(n *network.Network, share float64, seed uint64) *network.Network {
	dead := int(share * float64(len(n.SwitchCables())))
	if dead == 0 {
		return n
	}
	return n.Without(must(n.Random(dead, seed)), nil)
}

// timed are the works of each figure of computing times.
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
		[]timing{{"opensm-minhop", routing.OpenSMMinHop, tree1152, 0, false}, {"updn", routing.UpDown, tree1152, 0, false}},
	},
}

func dmodcTimes(tree string, slow bool) []timing {
	return []timing{{routing.DModC, routing.DModC, tree, 0, slow}, {"dmodc, 1 % of cables dead", routing.DModC, tree, 0.01, slow}}
}

func allEngines(tree string, slow bool) []timing {
	list := dmodcTimes(tree, false)
	for _, engine := range []string{"ftree", routing.UpDown, routing.OpenSMMinHop} {
		list = append(list, timing{engine, engine, tree, 0, slow})
	}
	return list
}

// quasiTimes are of a PGFT and of the QFT with the same numbers.
func quasiTimes(tree string, slow bool) []timing {
	return []timing{
		{"qft, PGFT", routing.QFT, tree, 0, slow}, {"qft, QFT", routing.QFT, "Q" + tree[2:], 0, slow}, {"ftree, PGFT", "ftree", tree, 0, slow},
	}
}

// riskSmall is the network of dmodc-risk if quick.
const riskSmall = "PGFT(3;4,4,8;1,4,4;1,1,1)"

var riskEngines = []string{routing.DModC, "ftree", routing.UpDown, routing.OpenSMMinHop, routing.SSSP}

// risk is what section 4.3 of IEEE Micro 2020 describes: the most messages that share a cable, by
// pattern, as more and more cables are dead. Messages of a pattern have each host send to one
// and hear from one, so that on no cable there are fewer senders or receivers than messages.
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
				return riskIn(must(routing.Compute(engine, n, routing.Options{Roots: roots, Seed: w.Seed, Partial: true})), permutations, w.Seed)
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

// riskIn returns the most messages on a cable in shifts, the same in permutations, and how
// many percent of the pairs have no route.
func riskIn(t *lft.Tables, permutations int, seed uint64) []float64 {
	shifts := lft.Congest(t, lft.Shifts(t.Net.Hosts()), 1)
	drawn := lft.Congest(t, lft.Permutations(permutations, seed), 1)
	pairs := float64(t.Net.Hosts()) * float64(t.Net.Hosts()-1)
	return []float64{float64(shifts.Worst), drawn.Slowdown, 100 * float64(shifts.Unreachable) / pairs}
}
