package opensm

import (
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/internal/expect"
	"evbench/routing/ibtest"
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

// TestLiveOpenSM pulls cables and switches while OpenSM runs, and plugs some of them in
// again while others are still gone.
func TestLiveOpenSM(t *testing.T) {
	ibtest.Need(t)
	for seed, c := range []struct {
		engine string
		lmc    int
	}{{"minhop", 0}, {"minhop", 0}, {"updn", 0}, {"minhop", 2}, {"updn", 1}, {"dnup", 0}} {
		d := degrade(t, 20+seed, c.lmc)
		t.Run(c.engine+" "+d.name, func(t *testing.T) {
			t.Parallel()
			e := map[string]Engine{"minhop": MinHop, "updn": UpDown, "dnup": DownUp}[c.engine]
			roots := d.roots
			if c.engine != "updn" {
				roots = nil
			}
			live, err := ibtest.Start(t.Context(), d.net, c.engine, roots)
			expect.Must(t, err)
			defer live.Close()
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			tables := compute(t, c.engine, d.net, roots)
			var lost []network.End
			for range 8 {
				n := without(t, d.net, lost...)
				now := event(n, lost, r)
				for len(now) > len(lost) && !allowed(n, d.net, now) {
					now = event(n, lost, r)
				}
				if len(now) > len(lost) {
					err = live.Unlink(now[len(now)-1])
				} else {
					err = live.Relink(missing(lost, now))
				}
				expect.Must(t, err)
				lost = now
				if tables, err = e.After(without(t, d.net, lost...), d.roots, tables); err != nil {
					t.Fatal(err)
				}
				got := read(t, live)
				for differ(tables, got) && live.Next() == nil { // it was a sweep for the event before
					got = read(t, live)
				}
				same(t, tables, got)
			}
		})
	}
}

// differ reports whether any entry is another.
func differ(a, b *lft.Tables) bool {
	for i := range b.Net.Switches() {
		if !slices.Equal(a.Row(i), b.Row(i)) {
			return true
		}
	}
	return false
}

// allowed reports whether the last thing lost leaves the subnet manager its network, at host 0,
// and is no switch that has lost a cable: ibsim would plug that in with the switch.
func allowed(n, whole *network.Network, lost []network.End) bool {
	end := lost[len(lost)-1]
	if sm := n.Leaf(0); end == sm || end.Node == 0 || end.Port == 0 && end.Node == sm.Node {
		return false
	}
	for _, e := range lost[:len(lost)-1] {
		if end.Port == 0 && (e.Node == end.Node || whole.At(e.Node, int(e.Port)).Node == end.Node) {
			return false
		}
	}
	return true
}

// missing returns the end that only the first list has.
func missing(all, some []network.End) network.End {
	for _, e := range all {
		if !slices.Contains(some, e) {
			return e
		}
	}
	return network.End{}
}

func read(t testing.TB, live *ibtest.Live) *lft.Tables {
	t.Helper()
	tables := expect.Value(live.Tables())(t)
	return tables
}
