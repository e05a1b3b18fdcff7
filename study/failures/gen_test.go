package failures_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/site/network"
	"evbench/study/failures"
	"evbench/testing/expect"
)

var start = time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)

// A truth is what really happened to a link.
type truth struct {
	leaf, spine int
	down, up    time.Duration // since start
}

func tree(t testing.TB, m0, leaves int) *failures.Cables {
	t.Helper()
	n := expect.Value(network.PGFT{M: []int{m0, leaves}, W: []int{1, m0}, P: []int{1, 1}}.Build(0))(t)
	return failures.FromNetwork(n)
}

// happen draws failures of links of FT(2;m0,leaves): those of a link are a
// minute apart at least. Whole seconds, so that a slow second version can count.
func happen(rng *rand.Rand, m0, leaves, n int, span time.Duration) []truth {
	var out []truth
	free := map[[2]int]time.Duration{}
	for range n {
		l := [2]int{rng.IntN(leaves), rng.IntN(m0)}
		down := free[l] + time.Minute + time.Duration(rng.Int64N(int64(span/8/time.Second)))*time.Second
		up := down + time.Duration(1+rng.IntN(2000))*time.Second
		if up >= span {
			continue
		}
		free[l] = up
		out = append(out, truth{l[0], l[1], down, up})
	}
	return out
}

// A line of a log, before it is written.
type line struct {
	at   time.Duration
	text string
}

func stateLine(at time.Duration, guid uint64, name string, port int, from, to string) line {
	stamp := start.Add(at).Format("Jan _2 15:04:05.000000")
	return line{at, strings.Replace(stamp, ".", " ", 1) + fmt.Sprintf(
		" [85BA8640] 0x02 -> osm_spst_rcv_process: Switch 0x%016x %s port %d changed state from %s to %s\n", guid, name, port, from, to)}
}

// tell writes both ends of a failure in NVIDIA's dialect, the second end some
// milliseconds later. lose drops a line by its number 0..3: leaf down, spine
// down, leaf up, spine up.
func tell(f truth, m0 int, lose func(i int) bool) []line {
	leaf, spine := 0x0002c90401000000+uint64(f.leaf), 0x0002c90402000000+uint64(f.spine)
	all := []line{
		stateLine(f.down, leaf, fmt.Sprintf("s1_%d", f.leaf), m0+1+f.spine, "ACTIVE", "DOWN"),
		stateLine(f.down+4*time.Millisecond, spine, fmt.Sprintf("s2_%d", f.spine), 1+f.leaf, "ACTIVE", "DOWN"),
		stateLine(f.up, leaf, fmt.Sprintf("s1_%d", f.leaf), m0+1+f.spine, "DOWN", "INIT"),
		stateLine(f.up+4*time.Millisecond, spine, fmt.Sprintf("s2_%d", f.spine), 1+f.leaf, "DOWN", "INIT"),
	}
	var out []line
	for i, l := range all {
		if !lose(i) {
			out = append(out, l)
		}
	}
	return out
}

func nothing(int) bool { return false }

func text(lines []line) string {
	slices.SortStableFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
	}
	return b.String()
}

// frame are two lines that say nothing, so that a log begins and ends somewhere.
func frame(span time.Duration) []line {
	var out []line
	for _, at := range []time.Duration{0, span} {
		stamp := start.Add(at).Format("Jan _2 15:04:05.000000")
		out = append(out, line{at, strings.Replace(stamp, ".", " ", 1) + " [85BA8640] 0x02 -> osm_vendor_init: hello\n"})
	}
	return out
}

func history(t testing.TB, c *failures.Cables, year int, logs ...string) *failures.History {
	t.Helper()
	var read []*failures.Log
	for i, s := range logs {
		l := expect.Value(failures.Read(strings.NewReader(s), fmt.Sprintf("log%d", i)))(t)
		read = append(read, l)
	}
	h := expect.Value(failures.Join(read, failures.Options{Year: year, Cables: c}))(t)
	return h
}
