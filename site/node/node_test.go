package node

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"evbench/site/host"
	"evbench/testing/expect"
)

// recorded are the files of a machine, changed by pairs of names and texts.
func recorded(t *testing.T, changes ...string) fstest.MapFS {
	t.Helper()
	a := expect.Value(txtar.ParseFile(filepath.Join("testdata", "dual.txtar")))(t)
	root := fstest.MapFS{}
	for _, f := range a.Files {
		root[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	for i := 0; i < len(changes); i += 2 {
		root[changes[i]] = &fstest.MapFile{Data: []byte(changes[i+1])}
	}
	return root
}

var facts = host.Facts{CPU: "EPYC 7313", Cores: 4, Kernel: "Linux 6.1.0", Governor: "performance", Interfaces: []host.Interface{
	{Name: "lo", Up: true, MTU: 65536},
	{Name: "eno1", MTU: 1500, NIC: "igb, pci 0000:01:00.0"},
	{Name: "ib0", Up: true, MTU: 2044, SpeedMbit: 200_000, CPUs: "2-3", NIC: "mlx5_core, pci 0000:c1:00.0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.0.7/16")}},
}}

func TestRead(t *testing.T) {
	want := Node{
		CPU: "EPYC 7313", Cores: 4, Kernel: "Linux 6.1.0", Governor: "performance", MemoryMiB: 515601, HugePages: "madvise", HugeCount: 1024,
		Backlog: 250000, Received: 2_000_000, Full: 1, Pinned: "0-1",
		Adapters: []Adapter{{
			Role: "data", Name: "ib0", Rate: "200 Gbit/s", RateMbit: 200_000, MTU: 2044, Driver: "mlx5_core", Firmware: "20.35.1012", Near: "2-3",
			Speed: 16, Width: 16, Most: 16, Interrupts: 4, Served: []int{2, 3},
		}},
	}
	expect.Equal(t, Read(facts, recorded(t), nil, "0-1", []string{"10.1.0.7"}), want, "chosen by address")
	want.Adapters[0].Role, want.Adapters[0].Firmware = "ib0", "20.35.1012"
	driver := func(string) string { return "of the driver" }
	expect.Equal(t, Read(facts, recorded(t), driver, "0-1", nil), want, "all that are up")
	empty := Read(host.Facts{Interfaces: facts.Interfaces[2:]}, fstest.MapFS{}, nil, "", nil)
	expect.Equal(t, empty, Node{Adapters: []Adapter{{Role: "ib0", Name: "ib0", Rate: "200 Gbit/s", RateMbit: 200_000, MTU: 2044, Driver: "mlx5_core", Near: "2-3"}}}, "a kernel that says nothing")
	odd := Read(facts, recorded(t, "sys/class/net/ib0/device/current_link_width", "255", "proc/net/softnet_stat", "x y\n\n", "proc/sys/net/core/netdev_max_backlog", "-1"), nil, "", nil)
	expect.True(t, odd.Adapters[0].Width == 0 && odd.Received == 0 && odd.Backlog == 0, "what is no number is not known: %+v", odd)
}

// hosts are n of the recorded machine.
func hosts(t *testing.T, n int, change func(i int, n *Node)) []Host {
	var out []Host
	for i := range n {
		x := Read(facts, recorded(t), nil, "", []string{"10.1.0.7"})
		x.CopyGB = 20
		if change != nil {
			change(i, &x)
		}
		out = append(out, Host{Name: fmt.Sprintf("node%d", i), Node: &x})
	}
	return out
}

func TestCompare(t *testing.T) {
	at := func(which int, change func(n *Node, a *Adapter)) func(int, *Node) {
		return func(i int, n *Node) {
			if i == which || which < 0 {
				change(n, &n.Adapters[0])
			}
		}
	}
	for _, tt := range []struct {
		name   string
		n      int
		change func(i int, n *Node)
		want   string // the first line and its reasons
	}{
		{"alike", 16, nil, "GOOD: 16 hosts are alike, and nothing is seen that slows them."},
		{"one", 1, nil, "GOOD: Nothing is seen that slows this machine; --hosts compares it with others."},
		{"MTU", 16, at(7, func(_ *Node, a *Adapter) { a.MTU = 1500 }), "BAD: node7: ib0 MTU 1500, the other 15 have 2044."},
		{"of two nobody is odd", 2, at(1, func(_ *Node, a *Adapter) { a.MTU = 1500 }), "BAD: node[0-1]: MTU differs: node0 2044; node1 1500."},
		{"half", 4, func(i int, n *Node) { n.Governor = []string{"powersave", "performance"}[i%2] }, "BAD: node[0-3]: governor differs: node[0,2] powersave; node[1,3] performance."},
		{"several others", 9, func(i int, n *Node) {
			n.Adapters[0].Firmware = []string{"1", "2", "3", "3", "3", "3", "3", "3", "3"}[i]
		},
			"BAD: node0: ib0 firmware 1, the others have 3. | node1: ib0 firmware 2, the others have 3"},
		{"two alike", 5, func(i int, n *Node) { n.Backlog = []int{1000, 1000, 9, 9, 9}[i] }, "BAD: node[0-1]: netdev_max_backlog 1000, the other 3 have 9."},
		{"link", 3, at(2, func(_ *Node, a *Adapter) { a.Rate, a.RateMbit = "100 Gbit/s", 100_000 }), "BAD: node2: ib0 link 100 Gbit/s, the other 2 have 200 Gbit/s."},
		{"slot", 3, at(0, func(_ *Node, a *Adapter) { a.Width = 8 }), "BAD: node0: the slot gives ib0 8 of its 16 lanes. | node0: ib0 slot 16 GT/s x8, the other 2 have 16 GT/s x16"},
		{"interrupts", 3, at(-1, func(_ *Node, a *Adapter) { a.Served = []int{0} }), "BAD: node[0-2]: processor 0 takes all 4 interrupts of ib0."},
		{"far", 2, at(-1, func(n *Node, _ *Adapter) { n.Pinned = "0-1" }), "BAD: node[0-1]: servers run on processors 0-1, and ib0 is near 2-3."},
		{"partly near", 2, at(-1, func(n *Node, _ *Adapter) { n.Pinned = "0-2" }), "GOOD: 2 hosts are alike, and nothing is seen that slows them."},
		{"queue", 3, at(1, func(n *Node, _ *Adapter) { n.Full = 4000 }), "BAD: node1: 0.2 % of the packets since its start found the queue full (netdev_max_backlog 250000)."},
		{"memory", 5, at(4, func(n *Node, _ *Adapter) { n.CopyGB, n.MemoryMiB = 9, n.MemoryMiB*7/8 }),
			"BAD: node4: memory copied 9 GB/s, 45 % of the middle of all. | node4: memory 451150 MiB, 87 % of the middle of all"},
		{"a little less memory", 5, at(4, func(n *Node, _ *Adapter) { n.CopyGB, n.MemoryMiB = 17, n.MemoryMiB-900 }), "GOOD: 5 hosts are alike, and nothing is seen that slows them."},
		{"huge pages", 3, at(0, func(n *Node, _ *Adapter) { n.HugeCount = 0 }), "BAD: node0: huge pages kept 0, the other 2 have 1024."},
		{"not known", 3, at(0, func(n *Node, a *Adapter) { a.Firmware, n.Governor, n.CopyGB = "", "", 0 }), "GOOD: 3 hosts are alike, and nothing is seen that slows them."},
		{"missing", 3, at(0, func(n *Node, _ *Adapter) { n.Adapters = nil }), "BAD: node0: adapter data is missing, the other 2 have it."},
	} {
		r := Compare(hosts(t, tt.n, tt.change))
		a := r.Answer()
		got := strings.Join(slices.Insert(slices.Clone(a.Why), 0, a.String()), " | ")
		expect.Equal(t, got, tt.want, "%s", tt.name)
		for i, h := range r.Hosts[1:] {
			expect.True(t, len(r.Hosts[i].Odd) > 0 || len(h.Odd) == 0, "%s: %s stands behind one that is not odd", tt.name, h.Name)
		}
	}
}

// A host that does not answer is the first finding, and its row says why.
func TestCompareSilent(t *testing.T) {
	r := Compare(append(hosts(t, 2, nil), Host{Name: "node9", Err: "no answer in time"}))
	expect.Equal(t, r.Answer().String(), "BAD: node9: no answer in time.", "answer")
	var b strings.Builder
	expect.Must(t, r.WriteText(&b))
	lines := strings.Split(b.String(), "\n")
	expect.True(t, strings.HasPrefix(lines[1], "node9  no answer in time"), "%s", b.String())
	expect.Equal(t, strings.Fields(lines[2]), strings.Fields("node0 ib0 200 Gbit/s 2044 16 GT/s x16 4 on 2 2-3 20.35.1012 20 GB/s performance madvise 250000"), "row")
	expect.Equal(t, Compare(nil).Answer().String(), "NOT KNOWN: Nothing was looked at.", "no host")
}

// In which order hosts come changes nothing, and k changed hosts of more than twice as many are named, no others.
func TestCompareRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(59, 1))
	for range 200 {
		n := 3 + r.IntN(14)
		odd := r.Perm(n)[:1+r.IntN((n-1)/2)]
		slices.Sort(odd)
		all := hosts(t, n, func(i int, x *Node) {
			if slices.Contains(odd, i) {
				x.Adapters[0].MTU = 1500
			}
		})
		f := Compare(all).Findings
		expect.MustTrue(t, len(f) == 1, "%v", f)
		var want []string
		for _, i := range odd {
			want = append(want, fmt.Sprintf("node%d", i))
		}
		expect.Equal(t, f[0].Hosts, want, "hosts")
		r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		again := Compare(all).Findings[0]
		slices.Sort(again.Hosts)
		slices.Sort(want)
		expect.Equal(t, again.Hosts, want, "hosts in another order")
	}
}

// What is copied takes no more memory than is usable, and not the time of others.
func TestCopy(t *testing.T) {
	expect.Equal(t, copyRate(1, leastAll, 0), 0, "with too little memory")
	expect.Equal(t, copyRate(1, 0, 0), 0, "with memory that is not known")
	expect.True(t, copyRate(1, 64*leastAll, time.Millisecond) > 0, "nothing was copied")
}
