package opensm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/site/lft"
	"evbench/site/network"
	"evbench/testing/expect"
	"evbench/testing/ibtest"
)

// big is a tree of 2,592 hosts with switches of 24 ports.
var big = network.PGFT{M: []int{12, 12, 18}, W: []int{1, 12, 12}, P: []int{1, 1, 1}}

func BenchmarkEngines(b *testing.B) {
	n := build(b, big, 0)
	roots := top(n, big)
	for _, engine := range []string{"minhop", "updn", "dnup", "ftree"} {
		b.Run(engine, func(b *testing.B) {
			for b.Loop() {
				compute(b, engine, n, roots)
			}
		})
	}
}

// BenchmarkOpenSM lets OpenSM route the same tree, and does so itself in the same
// run. OpenSM's time is that of routing alone, which its log gives; ours is the
// median of five.
func BenchmarkOpenSM(b *testing.B) {
	ibtest.Need(b)
	n := build(b, big, 0)
	for _, engine := range []string{"minhop", "ftree"} {
		b.Run(engine, func(b *testing.B) {
			for b.Loop() {
				theirs, ours := timeOpenSM(b, n, engine), timeOurs(b, n, engine)
				b.ReportMetric(theirs.Seconds()*1e3, "OpenSM-ms")
				b.ReportMetric(ours.Seconds()*1e3, "ours-ms")
				b.ReportMetric(float64(theirs)/float64(ours), "OpenSM/ours")
			}
		})
	}
}

func timeOpenSM(b *testing.B, n *network.Network, engine string) time.Duration {
	b.Helper()
	r := expect.Value(ibtest.Route(b.Context(), n, engine, top(n, big), ibtest.Timed...))(b)
	took := expect.Value(r.Routing())(b)
	return took
}

func timeOurs(b *testing.B, n *network.Network, engine string) time.Duration {
	b.Helper()
	var times []time.Duration
	for range 5 {
		start := time.Now()
		compute(b, engine, n, top(n, big))
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func BenchmarkNewTables(b *testing.B) {
	n := build(b, big, 0)
	for b.Loop() {
		lft.New("", n)
	}
}

// TestRecordedSequences replays what was lost (-) and came back (+) while OpenSM 3.3.23
// ran with minhop, and compares with the tables that it had then. Each time the tables
// before are those of OpenSM, as when they are read from a dump.
func TestRecordedSequences(t *testing.T) {
	lists, _ := filepath.Glob("testdata/live/*/events.txt")
	expect.Equal(t, len(lists), 2, "sequences")
	entries := 0
	for _, list := range lists {
		dir := filepath.Dir(list)
		whole := build(t, references[filepath.Base(dir)], 0)
		text := expect.Value(os.ReadFile(list))(t)
		var lost []network.End
		tables := minHop(whole)
		for k, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var sign, name string
			var end network.End
			expect.Must(t, expect.Err(fmt.Sscan(line, &sign, &name, &end.Port)), "%s: %q", list, line)
			end = endOf(whole, name, end.Port)
			if sign == "-" {
				lost = append(lost, end)
			} else {
				lost = slices.DeleteFunc(lost, func(e network.End) bool { return e == end })
			}
			n := without(t, whole, lost...)
			want := reference(t, n, fmt.Sprintf("%s/%02d.live.txt.gz", dir, k+1))
			t.Run(filepath.Base(dir)+" "+line, func(t *testing.T) {
				entries += same(t, minHopAfter(n, tables), want)
				// The same from a file in which what is lost is not there, as ibnetdiscover writes it.
				bare := lose(t, n, isolated(n)...)
				sameByGUID(t, minHopAfter(bare, saveAndLoad(t, tables)), want)
			})
			tables = want
		}
	}
	t.Logf("%d entries compared", entries)
}

// endOf returns the port of a switch that a name means: a host's is that at its leaf.
func endOf(n *network.Network, name string, port uint8) network.End {
	v := named(n)[name]
	if n.IsHost(v) {
		return n.Leaf(v)
	}
	return network.End{Node: v, Port: port}
}

func isolated(n *network.Network) []string {
	var names []string
	for v := range network.Node(n.Nodes()) {
		if n.Isolated(v) {
			names = append(names, n.Info(v).Name)
		}
	}
	return names
}

// sameByGUID compares tables of networks in which nodes have other numbers.
func sameByGUID(t testing.TB, got, want *lft.Tables) {
	t.Helper()
	for s, was := range newMatch(want.Net, got.Net).was {
		if s := network.Node(s); !got.Net.IsHost(s) {
			for lid := 1; lid < got.LIDs; lid++ {
				g, w := got.Port(s, lid), want.Port(was, lid)
				expect.True(t, g == w, "%s LID %d: port %d, OpenSM has %d", got.Net.Info(s).Name, lid, g, w)
			}
		}
	}
}
