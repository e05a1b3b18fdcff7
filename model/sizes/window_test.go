package sizes_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"evbench/model/sizes"
	"evbench/scheduler/list"
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
	expect.True(t, list.Hash(tr.Shape, m) == "sha256:"+digest("0,2,10\n3,0,5\n"), "hash %s", list.Hash(tr.Shape, m))
	window, err = sizes.Window(tr, append(append(one, make([]uint32, 9)...), 0, 0, 0, 7, 0, 0, 0, 0, 0))
	expect.True(t, err == nil && len(window) == 3 && window[0].Sum() == 15 && window[1].Sum() == 0 && window[2].Size(0, 1) == 7, "%+v, error %v", window, err)
	expect.True(t, list.Hash(tr.Shape, window...) == "sha256:"+digest("0,2,10\n3,0,5\n0,2,7,2\n"), "hash of three exchanges")
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
	for _, order := range []string{"", list.OrderFORS} {
		p := expect.Value(list.MakeWindow(tr, window, list.Options{Order: order}))(t)
		expect.True(t, p.Len() == 6 && p.Time >= int64(p.Bound.Phases) && p.Bound.Phases == 15, "%+v", p)
	}
	expect.Error(t, expect.Err(sizes.Window(tr, make([]uint32, 12))), "3 lines: an exchange of 4 servers has 2")
	window = expect.Value(sizes.Window(tr, []uint32{1, 2, 3, 9, 4, 5, 6, 0}))(t)
	expect.Error(t, expect.Err(list.MakeWindow(tr, window, list.Options{})), "server3 to server2: 9 bytes, but server3 does not read")
	m = expect.Value(list.NewMatrix(tr.Servers()))(t)
	expect.Must(t, m.Set(2, 1, 5))
	expect.Error(t, expect.Err(list.Make(tr, m, list.Options{})), "server2 to server1: 5 bytes, but server1 does not build")
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
		p, err := list.MakeWindow(tr, window, list.Options{Split: true})
		expect.MustTrue(t, err == nil && p.Time >= int64(p.Bound.Phases), "%+v, error %v", p, err)
	})
}
