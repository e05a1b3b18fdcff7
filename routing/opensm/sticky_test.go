package opensm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"evbench/internal/ibtest"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// between returns a random cable between two switches.
func between(n *network.Network, r *rand.Rand) network.End {
	for {
		s := n.Switch(r.IntN(n.Switches()))
		if p := r.IntN(len(n.Ends(s))) + 1; n.At(s, p).Node != network.NoNode && !n.IsHost(n.At(s, p).Node) {
			return network.End{Node: s, Port: uint8(p)}
		}
	}
}

// TestShortcutIsExact pulls cables and switches one after the other and compares
// the shortcut with choosing all rows.
func TestShortcutIsExact(t *testing.T) {
	for seed := range few(60) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		n := degrade(t, seed, 0).net
		tables := MinHop(n)
		for step := range 4 {
			end := between(n, r)
			if r.IntN(4) == 0 {
				end.Port = 0
			} else if r.IntN(4) == 0 {
				end = network.End{Node: network.Node(r.IntN(n.Hosts())), Port: 1}
			}
			n = without(t, n, end)
			want, got := newView(n).keep(tables), MinHopAfter(n, tables)
			if t.Run(fmt.Sprintf("%d/%d", seed, step), func(t *testing.T) { same(t, got, want) }); t.Failed() {
				return
			}
			tables = got
		}
	}
}

// TestLiveOpenSM pulls cables while OpenSM runs, and plugs them in again.
func TestLiveOpenSM(t *testing.T) {
	ibtest.Need(t)
	for seed, lmc := range []int{0, 0, 0, 2} {
		d := degrade(t, 20+seed, lmc)
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			live, err := ibtest.Start(t.Context(), d.net, "minhop", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			tables, n := MinHop(d.net), d.net
			for range 3 {
				end := between(n, r)
				n = without(t, n, end)
				if err := live.Unlink(end); err != nil {
					t.Fatal(err)
				}
				tables = MinHopAfter(n, tables)
				same(t, tables, read(t, live))
				if r.IntN(2) == 0 {
					continue
				}
				if err := live.Relink(end); err != nil {
					t.Fatal(err)
				}
				n = with(t, n, d.net, end)
				tables = MinHopAfter(n, tables)
				same(t, tables, read(t, live))
			}
		})
	}
}

// with plugs a cable in again.
func with(t testing.TB, n, whole *network.Network, end network.End) *network.Network {
	t.Helper()
	far := whole.At(end.Node, int(end.Port))
	return rebuild(t, whole, func(i network.Info) network.Info { return i }, func(e network.End) bool {
		return n.At(e.Node, int(e.Port)).Node != network.NoNode || e == end || e == far
	})
}

func read(t testing.TB, live *ibtest.Live) *lft.Tables {
	t.Helper()
	tables, err := live.Tables()
	if err != nil {
		t.Fatal(err)
	}
	return tables
}
