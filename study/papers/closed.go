package papers

import (
	"context"
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

const runsNote = "ours: full tables of all switches, to hosts and switches, on this machine, all CPUs, the network is there already; one table at a time, %d of each, one of what takes 10 s"

type timing struct {
	series, engine, network string
	dead                    float64 // share of the cables between switches
	slow                    bool    // left out if quick
}

func computingTimes(ctx context.Context, o *Options, f *Figure) error {
	runs := o.draws(3, 1)
	f.Setup = []string{timed[f.Name].setup, fmt.Sprintf(runsNote, runs)}
	for _, w := range timed[f.Name].list {
		if w.slow && o.Quick {
			continue
		}
		n, err := network.Parse(w.network, 0)
		if err != nil {
			return err
		}
		if n, err = without(n, w.dead, o.Seed); err != nil {
			return err
		}
		o.tell(f.Name, "%s on %s", w.series, w.network)
		var values []float64
		for range runs {
			if err := ctx.Err(); err != nil {
				return err
			}
			start := o.now()
			if _, err := routing.Compute(w.engine, n, routing.Options{Seed: o.Seed}); err != nil {
				return fmt.Errorf("%s: %w", w.network, err)
			}
			values = append(values, (o.now() - start).Seconds())
			if values[0] > 10 {
				break
			}
		}
		f.add(w.series, float64(n.Hosts()), fmt.Sprint(n.Hosts()), "s", values...)
	}
	return nil
}

// without takes a share of the cables between switches away, drawn by a seed, such that no
// host is cut off.
func without(n *network.Network, share float64, seed uint64) (*network.Network, error) {
	dead := int(share * float64(len(n.SwitchCables())))
	if dead == 0 {
		return n, nil
	}
	cables, err := n.Random(dead, seed)
	if err != nil {
		return nil, err
	}
	return n.Without(cables, nil), nil
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

// Networks and shares of dead cables of dmodc-risk.
const (
	riskTree  = "PGFT(3;8,8,16;1,8,8;1,1,1)"
	riskSmall = "PGFT(3;4,4,8;1,4,4;1,1,1)"
)

var (
	riskShares  = []float64{0, 0.01, 0.02, 0.05, 0.1, 0.2}
	riskEngines = []string{routing.DModC, "ftree", routing.UpDown, routing.OpenSMMinHop, routing.SSSP}
)

// risk is what section 4.3 of IEEE Micro 2020 describes: the most messages that share a cable, by
// pattern, as more and more cables are dead. Messages of a pattern have each host send to one
// and hear from one, so that on no cable there are fewer senders or receivers than messages.
func risk(ctx context.Context, o *Options, f *Figure) error {
	notation, draws, permutations := riskTree, 10, 100
	if o.Quick {
		notation, draws, permutations = riskSmall, 3, 20
	}
	whole, err := network.Parse(notation, 0)
	if err != nil {
		return err
	}
	roots, err := network.DetectRoots(whole)
	if err != nil {
		return err
	}
	f.Setup = []string{
		fmt.Sprintf("%s, %d hosts; dead cables drawn %d times, no host cut off; engines are told the roots", notation, whole.Hosts(), draws),
		fmt.Sprintf("shifts: the most messages on a cable in any phase of the linear shift; permutations: the mean over %d random ones of the most", permutations),
		cutOff + ", where there are any: pairs of hosts that the tables do not join, of all pairs",
	}
	for _, share := range riskShares {
		for _, engine := range riskEngines {
			o.tell(f.Name, "%g %% dead, %s", 100*share, engine)
			got := make([]riskOf, many(int(1000*share), draws))
			err := each(ctx, len(got), func(i int) error {
				n, err := without(whole, share, o.Seed+uint64(i))
				if err != nil {
					return err
				}
				t, err := routing.Compute(engine, n, routing.Options{Roots: roots, Seed: o.Seed, Partial: true, Workers: 1})
				if err == nil {
					got[i] = riskIn(t, permutations, o.Seed)
				}
				return err
			})
			if err != nil {
				return fmt.Errorf("%g %% dead: %w", 100*share, err)
			}
			f.riskRows(engine, share, got)
		}
	}
	return nil
}

type riskOf struct{ shifts, permutations, lost float64 }

func riskIn(t *lft.Tables, permutations int, seed uint64) riskOf {
	shifts := lft.Congest(t, lft.Shifts(t.Net.Hosts()), 1)
	drawn := lft.Congest(t, lft.Permutations(permutations, seed), 1)
	pairs := float64(t.Net.Hosts()) * float64(t.Net.Hosts()-1)
	return riskOf{float64(shifts.Worst), drawn.Slowdown, 100 * float64(shifts.Unreachable) / pairs}
}

const cutOff = "without a route"

// riskRows adds what came of an engine; pairs without a route only where there are some.
func (f *Figure) riskRows(engine string, share float64, got []riskOf) {
	x, label := 100*share, fmt.Sprintf("%g %%", 100*share)
	for _, s := range []struct {
		series, unit string
		of           func(riskOf) float64
	}{
		{"shifts", "messages", func(r riskOf) float64 { return r.shifts }},
		{"permutations", "messages", func(r riskOf) float64 { return r.permutations }},
		{cutOff, "%", func(r riskOf) float64 { return r.lost }},
	} {
		values := make([]float64, len(got))
		for i, r := range got {
			values[i] = s.of(r)
		}
		if s.series == cutOff && slices.Max(values) == 0 {
			continue
		}
		f.add(engine+", "+s.series, x, label, s.unit, values...)
	}
}
