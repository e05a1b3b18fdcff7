package sizes_test

import (
	"fmt"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/scheduler/sizes"
	"evbench/topology"
	"evbench/topology/topologytest"
)

func TestRead(t *testing.T) {
	tr := topologytest.Tree(t, topology.Options{Ports: 2, Leaves: 2, Fill: []int{1, 2}}) // positions 0, 2, 3
	want := "sha256:"
	for i, file := range []string{
		"src,dst,bytes\n0,2,10\n3,0,5\n",
		"\ufeffsrc,dst,bytes\r\n0,2,10\r\n3,0,5\r\n",
		"# sizes\n\n src, dst, bytes\n server3 , server0 , 5\r\n0,2,10\n2,3,0",
	} {
		window, err := sizes.Read(strings.NewReader(file), tr)
		expect.MustTrue(t, err == nil && len(window) == 1, "%d exchanges, error %v", len(window), err)
		m := window[0]
		expect.True(t, m.Size(0, 1) == 10 && m.Size(2, 0) == 5 && m.Size(1, 2) == 0 && m.Sum() == 15, "%q: %+v", file, m)
		if h := sizes.Hash(tr, m); i == 0 {
			want = h
		} else if h != want {
			t.Errorf("%q: hash %s, want %s", file, h, want)
		}
	}
	window, err := sizes.Read(strings.NewReader("src,dst,bytes,exchange\n0,2,7,2\n0,2,10\n3,0,5,0\n"), tr)
	if err != nil || len(window) != 3 || window[0].Sum() != 15 || window[1].Sum() != 0 || window[2].Size(0, 1) != 7 {
		t.Errorf("%+v, error %v", window, err)
	} else if h := sizes.Hash(tr, window...); h == want || sizes.Hash(tr, window[0]) != want {
		t.Errorf("hash %s of three exchanges, %s of one", h, want)
	}
	for _, tt := range []struct{ name, file, want string }{
		{"empty", "", "no fragment has bytes"},
		{"header only", "src,dst,bytes\n", "no fragment has bytes"},
		{"header twice", "src,dst,bytes\nsrc,dst,bytes\n", `line 2: src "src" is not a server`},
		{"columns", "0,2\n", "line 1: fields: 2, a line has 3 or 4"},
		{"no server", "0,1,4\n", `line 1: dst "1": no server1 in FT(2;2,2) with this fill`},
		{"beyond", "99,0,4\n", `line 1: src "99": no server99`},
		{"sign", "-1,0,4\n", `src "-1" is not a server`},
		{"self", "0,0,4\n", "line 1: a server sends nothing to itself"},
		{"negative", "0,2,-4\n", `bytes "-4": must be a whole number`},
		{"fraction", "0,2,4.5\n", `bytes "4.5": must be`},
		{"large", "0,2,1099511627777\n", "must be a whole number, 0..1099511627776"},
		{"twice", "0,2,0\n2,0,1\nserver0,2,1\n", "line 3: server0 to server2 a second time"},
		{"exchange", "0,2,4,-1\n", `exchange "-1": must be a whole number, 0..15`},
		{"late exchange", "0,2,4,16\n", `exchange "16": must be`},
		{"twice in one", "0,2,1,1\n0,2,1\n0,2,1,1\n", "line 3: server0 to server2 a second time"},
		{"together", strings.Repeat("#\n", 3) + "0,2,0,3\n", "no fragment has bytes"},
		{"long", "0,2,1\n#" + strings.Repeat("x", 5000), "line 2: longer than 4096 bytes"},
	} {
		if _, err := sizes.Read(strings.NewReader(tt.file), tr); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	pods := expect.Value(topology.New(topology.Options{Ports: 2, Leaves: 4, Pods: 2}))(t)
	expect.Error(t, expect.Err(sizes.Read(strings.NewReader("0,1,1\n"), pods)), "two levels")
}

// FuzzRead: whatever is read is planned, with a time of at least the bound.
func FuzzRead(f *testing.F) {
	f.Add("src,dst,bytes\n0,1,7\n1,0,9\nserver3,0,1\n")
	f.Add("0,2,1099511627776\n\n#\n2,1,0")
	f.Add("0,1\n")
	f.Add("0,1,5,1\n0,1,4\n")
	tr := topologytest.Tree(f, topology.Options{Ports: 2, Leaves: 2})
	f.Fuzz(func(t *testing.T, file string) {
		window, err := sizes.Read(strings.NewReader(file), tr)
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
	if _, err := sizes.Exchange(tree, func(uint64, int) int { return -1 }, 0); err == nil {
		t.Error("a fragment of -1 bytes is accepted")
	}
}
