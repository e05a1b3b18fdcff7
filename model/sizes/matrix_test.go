package sizes_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"evbench/model/sizes"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
	"evbench/topology"
)

func TestWindowOfTable(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2, Fill: []int{1, 2}}) // positions 0, 2, 3
	one := []uint32{9, 0, 5, 10, 9, 0, 0, 0, 9}                                          // a line for each receiver; what a server keeps is not sent
	window, err := sizes.Window(tr, one)
	expect.MustTrue(t, err == nil && len(window) == 1, "%d exchanges, error %v", len(window), err)
	m := window[0]
	expect.True(t, m.Size(0, 1) == 10 && m.Size(2, 0) == 5 && m.Size(1, 2) == 0 && m.Sum() == 15, "%+v", m)
	expect.True(t, sizes.Hash(tr.Shape, m) == "sha256:"+digest("0,2,10\n3,0,5\n"), "hash %s", sizes.Hash(tr.Shape, m))
	window, err = sizes.Window(tr, append(append(one, make([]uint32, 9)...), 0, 0, 0, 7, 0, 0, 0, 0, 0))
	expect.True(t, err == nil && len(window) == 3 && window[0].Sum() == 15 && window[1].Sum() == 0 && window[2].Size(0, 1) == 7, "%+v, error %v", window, err)
	expect.True(t, sizes.Hash(tr.Shape, window...) == "sha256:"+digest("0,2,10\n3,0,5\n0,2,7,2\n"), "hash of three exchanges")
	for _, tt := range []struct {
		name  string
		table []uint32
		want  string
	}{
		{"two lines", one[:6], "2 lines: an exchange of 3 servers has 3"},
		{"17 exchanges", make([]uint32, 17*9), "51 lines: an exchange of 3 servers has 3, and a window is 1 to 16 exchanges"},
		{"own fragments", []uint32{9, 0, 0, 0, 9, 0, 0, 0, 9}, "no fragment between two servers has bytes"},
	} {
		_, err := sizes.Window(tr, tt.table)
		expect.True(t, err != nil && strings.Contains(err.Error(), tt.want), "%s: %v, want %q", tt.name, err, tt.want)
	}
}

// An exchange has a line for each builder; nobody sends who does not read, or receives who does not build.
func TestRoles(t *testing.T) {
	tr := expect.Value(topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2}).WithRoles("server0-2", "server2-3"))(t)
	window := expect.Value(sizes.Window(tr, []uint32{1, 2, 3, 0, 4, 5, 6, 0, 7, 0, 0, 0, 0, 0, 0, 0}))(t)
	m := window[0]
	expect.MustTrue(t, len(window) == 2 && m.Size(0, 2) == 1 && m.Size(1, 2) == 2 && m.Size(2, 3) == 6 && m.Sum() == 18 && window[1].Size(0, 2) == 7, "%+v", window)
	for _, order := range []string{"", sizes.OrderFORS} {
		p := expect.Value(sizes.MakeWindow(tr, window, sizes.Options{Order: order}))(t)
		expect.True(t, p.Len() == 6 && p.Time >= p.Bound.Time && p.Bound.Time == 15, "%+v", p)
	}
	expect.Error(t, expect.Err(sizes.Window(tr, make([]uint32, 12))), "3 lines: an exchange of 4 servers has 2")
	window = expect.Value(sizes.Window(tr, []uint32{1, 2, 3, 9, 4, 5, 6, 0}))(t)
	expect.Error(t, expect.Err(sizes.MakeWindow(tr, window, sizes.Options{})), "server3 to server2: 9 bytes, but server3 does not read")
	m = expect.Value(sizes.NewMatrix(tr.Shape))(t)
	expect.Must(t, m.Set(2, 1, 5))
	expect.Error(t, expect.Err(sizes.Make(tr, m, sizes.Options{})), "server2 to server1: 5 bytes, but server1 does not build")
}

func digest(lines string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(lines))) }

// Whatever the sizes, a window is planned with a time of at least the bound.
func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 9, 0, 0})
	f.Add([]byte{255, 255, 255, 255})
	tr := topologytest.Tree(f, topology.Options{Ports: 2, Leaves: 2})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		table := make([]uint32, 32)
		for i, b := range bytes {
			table[i%len(table)] += uint32(b) << (i % 22)
		}
		window, err := sizes.Window(tr, table)
		if err != nil {
			return
		}
		p, err := sizes.MakeWindow(tr, window, sizes.Options{Split: true})
		expect.MustTrue(t, err == nil && p.Time >= p.Bound.Time, "%+v, error %v", p, err)
	})
}

// Planning of sizes ±50 % on 16, 64, 324 and 1,296 servers, without and with nine dead
// links.
func BenchmarkMake(b *testing.B) {
	for _, ports := range []int{4, 8, 18, 36} {
		for _, dead := range []int{0, 9} {
			t := topologytest.Tree(b, topology.Options{Ports: ports, Leaves: ports})
			if ports == 4 && dead > 0 {
				continue
			}
			links, err := t.Random(dead, 5)
			expect.Must(b, err)
			if t, err = t.Without(links...); err != nil {
				b.Fatal(err)
			}
			m := draw(b, t, "uniform50", 7)
			b.Run(fmt.Sprintf("servers=%d/dead=%d", t.Servers(), dead), func(b *testing.B) {
				for b.Loop() {
					p := expect.Value(sizes.Make(t, m, sizes.Options{Seed: 1}))(b)
					b.ReportMetric(p.Efficiency(), "bound/time")
				}
			})
		}
	}
}

func TestExchange(t *testing.T) {
	tree := broken(t, topology.Options{Ports: 2, Leaves: 2}, 0, 1)
	m := expect.Value(sizes.Exchange(tree, func(event uint64, source int) int { return 10*int(event) + source }, 3))(t)
	for src := range 4 {
		for dst := range 4 {
			want := int64(10*(3*4+dst) + src)
			if src == dst {
				want = 0
			}
			expect.Equal(t, m.Size(src, dst), want, "%d to %d: bytes", src, dst)
		}
	}
	expect.True(t, expect.Err(sizes.Exchange(tree, func(uint64, int) int { return -1 }, 0)) != nil, "a fragment of -1 bytes is accepted")
}
