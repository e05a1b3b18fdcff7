package opensm

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// saveAndLoad is what a subnet manager does before and after its restart.
func saveAndLoad(t testing.TB, tables *lft.Tables) *lft.Tables {
	t.Helper()
	var text bytes.Buffer
	expect.Must(t, tables.WriteSaved(&text))
	back, said, err := lft.ReadSaved(&text, nil)
	expect.MustTrue(t, err == nil && said, "%v %v", said, err)
	return back
}

// lose returns the network without the nodes of these names.
func lose(t testing.TB, n *network.Network, gone ...string) *network.Network {
	t.Helper()
	return expect.Value(ibtest.Lose(n, func(v network.Node) bool { return slices.Contains(gone, n.Info(v).Name) }))(t)
}

// renumbered returns the network with another LID of a host.
func renumbered(n *network.Network, host string, lid uint16) *network.Network {
	info := make([]network.Info, n.Nodes())
	for v := range info {
		if info[v] = n.Info(network.Node(v)); info[v].Name == host {
			info[v].LID = lid
		}
	}
	return n.WithInfo(info)
}

// moved returns the network with a host at the place of another, which is gone.
func moved(t testing.TB, n *network.Network, host, place string) *network.Network {
	t.Helper()
	names := named(n)
	to := n.Leaf(names[place])
	n = without(t, n, network.End{Node: names[host], Port: 1}, network.End{Node: names[place], Port: 1})
	var b network.Builder
	for v := range network.Node(n.Nodes()) {
		if n.IsHost(v) {
			b.Host(n.Info(v))
		} else {
			b.Switch(n.Info(v), len(n.Ends(v)))
		}
	}
	for _, c := range append(n.Cables(), network.Cable{A: network.End{Node: names[host], Port: 1}, B: to}) {
		expect.Must(t, b.Cable(c.A, c.B))
	}
	return b.Build()
}

// TestTable1 holds each row of Table 1 of the memo against what is said of saved tables
// and against the entries that change. PGFT(2;6,4;1,3;1,3) has three cables from a
// leaf to a spine, FT(2;4,8) one.
func TestTable1(t *testing.T) {
	wide := build(t, network.PGFT{M: []int{6, 4}, W: []int{1, 3}, P: []int{1, 3}}, 0)
	thin := build(t, references["ft2_4_8"], 0)
	down := func(n *network.Network, names ...string) *network.Network {
		d := expect.Value(n.Degrade(names))(t)
		return d
	}
	all, none := Effect{MinHops: true, Entries: true, Roots: true}, Effect{}
	for _, c := range []struct {
		row      Change
		old, now *network.Network
		want     Effect
		others   map[Change]int // rows that the same event belongs to
		touched  func(sw string, lid int, port uint8) bool
	}{
		{NewSwitch, down(wide, "s2_0"), wide, all, nil, nil},
		{NewSwitch, lose(t, thin, "s2_1"), thin, all, nil, nil},
		{MissingSwitch, wide, down(wide, "s2_1"), all, nil, nil},
		{MissingSwitch, thin, lose(t, thin, "s2_3"), all, nil, nil},
		{NewCable, down(thin, "s1_0/5"), thin, none, nil, func(string, int, uint8) bool { return false }},
		{MissingCable, wide, down(wide, "s1_0/7"), Effect{Some: true}, nil,
			func(sw string, _ int, port uint8) bool { return sw == "s1_0" && port == 7 || sw == "s2_0" && port == 1 }},
		{MissingLastCable, thin, down(thin, "s1_0/5"), Effect{MinHops: true, Some: true}, nil,
			// the ends of the cable, and ways to leaf 0 over spine 0 and to spine 0 from leaf 0
			func(sw string, lid int, port uint8) bool {
				leaf := sw[:2] == "s1"
				return sw == "s1_0" && port == 5 || sw == "s2_0" && port == 1 || leaf && port == 5 && (lid <= 4 || lid == 33) || sw[:2] == "s2" && lid == 41
			}},
		{MissingHostCable, thin, down(thin, "h5"), none, nil, func(_ string, lid int, _ uint8) bool { return lid == 6 }},
		{NewHost, lose(t, thin, "h5"), thin, none, nil, func(_ string, lid int, _ uint8) bool { return lid == 6 }},
		{MissingHost, thin, lose(t, thin, "h5"), none, nil, func(_ string, lid int, _ uint8) bool { return lid == 6 }},
		{LIDChanged, thin, renumbered(thin, "h5", 60), Effect{Some: true}, nil, func(_ string, lid int, _ uint8) bool { return lid == 6 || lid == 60 }},
		{HostMoved, thin, moved(t, thin, "h5", "h30"), Effect{Some: true}, map[Change]int{MissingHostCable: 1},
			func(_ string, lid int, _ uint8) bool { return lid == 6 || lid == 31 }},
	} {
		t.Run(c.row.String(), func(t *testing.T) {
			saved := saveAndLoad(t, minHop(c.old))
			got, is, _ := MinHop.Restart(c.now, nil, saved)
			count := map[Change]int{c.row: 1}
			maps.Copy(count, c.others)
			for row, names := range is.Changes {
				if len(names) != count[Change(row)] {
					t.Errorf("%s: %v", Change(row), names)
				}
			}
			expect.True(t, is.Effect == c.want && Effects[c.row] == c.want, "%+v, want %+v", is.Effect, c.want)
			if is.Entries {
				same(t, got, minHop(c.now))
				return
			}
			m := newMatch(saved.Net, got.Net)
			for i := range got.Net.Switches() {
				sw := got.Net.Info(got.Net.Switch(i)).Name
				old := saved.Row(saved.Net.Index(m.was[got.Net.Switch(i)]))
				for lid, port := range got.Row(i) {
					before := uint8(lft.NoPort)
					if lid < len(old) {
						before = old[lid]
					}
					expect.False(t, port != before && !c.touched(sw, lid, before), "%s LID %d: port %d was %d", sw, lid, port, before)
				}
			}
			r := lft.Check(got, lft.Options{})
			expect.True(t, r.Unreachable == r.NoCable, "%+v", r)
			again, same2, _ := MinHop.Restart(c.now, nil, saveAndLoad(t, got))
			same(t, again, got)
			expect.Equal(t, same2.Chosen, 0, "a second restart chooses: entries")
		})
	}
}

// TestRestartReplayed replays failures and returns with two subnet managers. One keeps
// running. The other is stopped now and then: it saves, loads, looks at the network
// as it was, and goes on. Both always have the same tables.
func TestRestartReplayed(t *testing.T) {
	for seed := range few(25) {
		for _, e := range []Engine{MinHop, UpDown} {
			t.Run(fmt.Sprint(e.name, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(seed), 11))
				whole := degrade(t, seed, seed%7/6).net
				after := func(n *network.Network, saved *lft.Tables) (*lft.Tables, *Validity) {
					tables, is, err := e.Restart(n, nil, saved)
					if err != nil {
						t.Skip(err) // as OpenSM: a net without switches that look like roots
					}
					return tables, is
				}
				running, err := e.Route(whole, nil)
				if err != nil {
					t.Skip(err)
				}
				stopped, n := running, whole
				var lost []network.End
				for range 10 {
					if r.IntN(2) == 0 { // a restart, in which nothing has happened
						back, is := after(n, saveAndLoad(t, stopped))
						expect.MustTrue(t, is.Chosen <= 0 && !is.MinHops, "a restart without a change: %+v", is)
						stopped = back
					}
					for range 1 + r.IntN(2) {
						lost = event(n, lost, r)
						n = without(t, whole, lost...)
					}
					before := running
					running, _ = after(n, running)
					if r.IntN(2) == 0 { // the restart comes with the events
						stopped = saveAndLoad(t, stopped)
					}
					var is *Validity
					stopped, is = after(n, stopped)
					same(t, stopped, running)
					if e.name == "minhop" {
						justified(t, n, before, running, is)
					}
				}
			})
		}
	}
}

// event loses a cable, a host or a switch, or has one back.
func event(n *network.Network, lost []network.End, r *rand.Rand) []network.End {
	if i := r.IntN(8); i < len(lost) {
		return slices.Delete(slices.Clone(lost), i, i+1)
	}
	end := between(n, r)
	switch r.IntN(6) {
	case 0:
		end.Port = 0
	case 1:
		if leaf := n.Leaf(network.Node(r.IntN(n.Hosts()))); leaf.Node != network.NoNode {
			end = leaf
		}
	}
	return append(slices.Clip(lost), end)
}

// justified holds the tables after a change against those before, entry by entry and by
// rules of its own: what Table 1 leaves valid stays if it still leads on, and where
// only cables and hosts were lost all is as a running OpenSM has it.
func justified(t *testing.T, n *network.Network, before, after *lft.Tables, is *Validity) {
	t.Helper()
	if is.Entries {
		same(t, after, minHop(n))
		return
	}
	if len(is.Changes[NewCable])+len(is.Changes[NewHost]) == 0 && before.Net.Hosts() == n.Hosts() {
		same(t, after, minHopAfter(n, before))
	}
	away := distanceTables(after.Net)
	for i := range n.Switches() {
		s := n.Switch(i)
		for h := range network.Node(n.Hosts()) {
			leaf, was := after.Net.Leaf(h).Node, before.Net.Leaf(h).Node
			lid := int(n.Info(h).LID)
			old, now := before.Port(s, lid), after.Port(s, lid)
			if leaf == network.NoNode || was == network.NoNode || leaf == s || old == lft.NoPort || now == lft.NoPort {
				continue
			}
			next := after.Net.At(s, int(old)).Node
			good := next != network.NoNode && !n.IsHost(next) && away[next][leaf] == away[s][leaf]-1
			expect.MustFalse(t, good && old != now, "%s LID %d: port %d, but %d is still good", n.Info(s).Name, lid, now, old)
			if next := after.Net.At(s, int(now)).Node; next == network.NoNode || away[next][leaf] != away[s][leaf]-1 {
				t.Fatalf("%s LID %d: port %d leads nowhere", n.Info(s).Name, lid, now)
			}
		}
	}
}

// distanceTables are hops between switches, relaxed until nothing changes.
func distanceTables(n *network.Network) map[network.Node]map[network.Node]int {
	d := map[network.Node]map[network.Node]int{}
	for i := range n.Switches() {
		d[n.Switch(i)] = map[network.Node]int{}
		for j := range n.Switches() {
			d[n.Switch(i)][n.Switch(j)] = 1000
		}
		d[n.Switch(i)][n.Switch(i)] = 0
	}
	for again := true; again; {
		again = false
		for _, c := range n.SwitchCables() {
			for t := range d {
				for _, e := range [][2]network.Node{{c.A.Node, c.B.Node}, {c.B.Node, c.A.Node}} {
					if x := d[e[1]][t] + 1; x < d[e[0]][t] {
						d[e[0]][t], again = x, true
					}
				}
			}
		}
	}
	return d
}

// TestCachedRoots loses a cable of each spine, after which no switch looks like a root.
// Saved ones serve until a switch is missing.
func TestCachedRoots(t *testing.T) {
	whole := build(t, references["ft2_4_8"], 0)
	tables := expect.Value(UpDown.Route(whole, nil))(t)
	saved := saveAndLoad(t, tables)
	lost := []network.End{{Node: whole.Switch(0), Port: 5}, {Node: whole.Switch(1), Port: 6}, {Node: whole.Switch(2), Port: 7}, {Node: whole.Switch(3), Port: 8}}
	n := without(t, whole, lost...)
	expect.Is(t, expect.Err(UpDown.Route(n, nil)), errNoRoots)
	got, is, err := UpDown.Restart(n, nil, saved)
	expect.MustTrue(t, err == nil && !is.Roots && len(got.Roots) == 4, "%+v, %v", is, err)
	want := expect.Value(UpDown.After(n, top(n, references["ft2_4_8"]), tables))(t)
	same(t, got, want)
	expect.Is(t, expect.Err2(UpDown.Restart(without(t, n, network.End{Node: n.Switch(7)}), nil, saveAndLoad(t, got))), errNoRoots)
}

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
	}{{"minhop", 0}, {"minhop", 0}, {"updn", 0}, {"minhop", 2}, {"updn", 1}, {"dnup", 0}}[:expect.Samples(6, 3)] {
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
				same(t, tables, expect.Value(live.Until(func(got *lft.Tables) bool { return !differ(tables, got) }))(t))
			}
		})
	}
}

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
