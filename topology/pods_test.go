package topology_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evbench/topology"
)

func pods(t testing.TB, notation string, down ...string) *topology.Pods {
	t.Helper()
	o, err := topology.Parse(notation)
	if err != nil {
		t.Fatal(err)
	}
	return podsOf(t, o, down...)
}

func podsOf(t testing.TB, o topology.Options, down ...string) *topology.Pods {
	t.Helper()
	p, err := topology.NewPods(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range down {
		links, tops, err := p.Links(name)
		if err != nil {
			t.Fatal(err)
		}
		if p, err = p.Without(links, tops); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestNewPods(t *testing.T) {
	p := pods(t, "PGFT(3;4,3,2;1,5,6;1,1,1)")
	if p.Lower().Servers() != 24 || p.Lower().Leaves() != 6 || p.Lower().Spines() != 5 || p.Pods() != 2 || p.PodLeaves() != 3 || p.Tops() != 6 || p.Pod(3) != 1 {
		t.Errorf("%+v", p)
	}
	for _, tt := range []struct {
		name string
		o    topology.Options
		want string
	}{
		{"two levels", topology.Options{Ports: 4, Leaves: 4}, "0 pods"},
		{"pods do not divide", topology.Options{Ports: 4, Leaves: 5, Pods: 2}, "2 pods for 5 leaves"},
		{"negative tops", topology.Options{Ports: 4, Leaves: 4, Pods: 2, Tops: -1}, "-1 top switches"},
		{"many tops", topology.Options{Ports: 4, Leaves: 4, Pods: 2, Tops: 300}, "300 top switches"},
		{"many cables", topology.Options{Ports: 200, Leaves: 4000, Pods: 1000, Tops: 200}, "at most 4096, 254, and 1048576 cables"},
		{"huge", topology.Options{Ports: 65536, Leaves: 1 << 32, Pods: 65536}, "top switches in a plane"},
		{"huge planes", topology.Options{Ports: 65536, Leaves: 1 << 32, Pods: 65536, Tops: 1}, "at most 4096"},
		{"no ports", topology.Options{Ports: -1, Leaves: 2, Pods: 1}, "M0 = -1"},
		{"fill", topology.Options{Ports: 4, Leaves: 2, Pods: 1, Fill: []int{1}}, "fill names 1 leaves"},
	} {
		if _, err := topology.NewPods(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := topology.New(topology.Options{Ports: 4, Leaves: 4, Pods: 2}); err == nil {
		t.Error("New took a three-level tree")
	}
}

func TestPodsNotation(t *testing.T) {
	for _, notation := range []string{"FT(3;4,3,2)", "FT(3;2,1,1)", "PGFT(3;4,3,2;1,2,3;1,1,1)", "PGFT(3;4,3,2;1,4,9;1,1,1)"} {
		if got := pods(t, notation).Notation(); got != notation {
			t.Errorf("Notation of %s is %s", notation, got)
		}
	}
}

func TestPodsLinks(t *testing.T) {
	p := pods(t, "PGFT(3;4,3,2;1,5,7;1,1,1)")
	for _, tt := range []struct {
		name      string
		low, tops int
		err       string
	}{
		{name: "leaf5-spine4", low: 1},
		{name: "pod1-spine4-top6", tops: 1},
		{name: "pod1-spine4", low: 3, tops: 7},
		{name: "spine4-top6", tops: 2},
		{name: "spine4", low: 6, tops: 14},
		{name: "leaf6-spine0", err: `no link "leaf6-spine0"; PGFT(3;4,3,2;1,5,7;1,1,1) has leaf0..leaf5, pod0..pod1, spine0..spine4 and top0..top6 of each spine`},
		{name: "pod2-spine0-top0", err: `no link "pod2-spine0-top0"`},
		{name: "pod0-spine5", err: `no middle switch "pod0-spine5"`},
		{name: "spine0-top7", err: `no top switch "spine0-top7"`},
		{name: "spine5", err: `no plane "spine5"`},
		{name: "pod1", err: `"pod1" is none of a link`},
		{name: "spine99999999999999999999", err: "no plane"},
	} {
		low, tops, err := p.Links(tt.name)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Links(%q) error = %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if err != nil || len(low) != tt.low || len(tops) != tt.tops {
			t.Errorf("Links(%q) = %v, %v, %v; want %d and %d", tt.name, low, tops, err, tt.low, tt.tops)
		}
		v, err := p.Without(low, tops)
		if err != nil {
			t.Fatal(err)
		}
		names := v.DownNames()
		if len(names) != tt.low+tt.tops || len(p.DownNames()) != 0 {
			t.Errorf("without %s: %v are dead", tt.name, names)
		}
		if w := podsOf(t, topology.Options{Ports: 4, Leaves: 6, Pods: 2, Spines: 5, Tops: 7}, names...); !reflect.DeepEqual(v, w) {
			t.Errorf("%v do not give the tree back", names)
		}
	}
	if _, err := p.Without(nil, []topology.TopLink{{Pod: 0, Spine: 0, Top: 7}}); err == nil {
		t.Error("a link that does not exist was taken down")
	}
}

// walk reports whether some path leads from leaf a to leaf b, switch by switch.
func walk(p *topology.Pods, a, b int) bool {
	t := p.Lower()
	for k := range t.Spines() {
		if !t.Alive(a, k) || !t.Alive(b, k) {
			continue
		}
		if p.Pod(a) == p.Pod(b) {
			return true
		}
		for top := range p.Tops() {
			if p.TopAlive(p.Pod(a), k, top) && p.TopAlive(p.Pod(b), k, top) {
				return true
			}
		}
	}
	return false
}

func TestPodsConnected(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	apart := 0
	for range 500 {
		o := topology.Options{Ports: 2, Pods: 1 + rng.IntN(3), Spines: 1 + rng.IntN(3), Tops: 1 + rng.IntN(3)}
		o.Leaves = o.Pods * (1 + rng.IntN(3))
		o.Fill = []int{1}
		for len(o.Fill) < o.Leaves {
			o.Fill = append(o.Fill, rng.IntN(3))
		}
		o.Fill[0] = 2
		p := podsOf(t, o)
		low, tops := draw(rng, p, 0.3)
		p, err := p.Without(low, tops)
		if err != nil {
			t.Fatal(err)
		}
		var want [][2]int
		for a := range o.Leaves {
			for b := a + 1; b < o.Leaves; b++ {
				if o.Fill[a] > 0 && o.Fill[b] > 0 && !walk(p, a, b) {
					want = append(want, [2]int{a, b})
				}
			}
		}
		if got := p.Unreachable(); !slices.Equal(got, want) {
			t.Fatalf("%s down %v: unreachable %v, want %v", p.Notation(), p.DownNames(), got, want)
		}
		err = p.Connected()
		var u *topology.UnreachableError
		if len(want) == 0 && err != nil || len(want) > 0 && (!errors.As(err, &u) || [2]int{u.A, u.B} != want[0]) {
			t.Fatalf("%s down %v: %v, want %v", p.Notation(), p.DownNames(), err, want)
		}
		if len(want) > 0 {
			apart++
			if !strings.Contains(err.Error(), fmt.Sprintf("leaf%d and leaf%d have no live path", u.A, u.B)) {
				t.Errorf("error %v", err)
			}
		}
	}
	if apart < 50 || apart > 450 {
		t.Errorf("%d of 500 trees are apart", apart)
	}
}

// draw returns each link with that probability.
func draw(rng *rand.Rand, p *topology.Pods, share float64) (low []topology.Link, tops []topology.TopLink) {
	for k := range p.Lower().Spines() {
		for l := range p.Lower().Leaves() {
			if rng.Float64() < share {
				low = append(low, topology.Link{Leaf: l, Spine: k})
			}
		}
		for q := range p.Pods() {
			for top := range p.Tops() {
				if rng.Float64() < share {
					tops = append(tops, topology.TopLink{Pod: q, Spine: k, Top: top})
				}
			}
		}
	}
	return low, tops
}

func TestPodsRandom(t *testing.T) {
	p := pods(t, "FT(3;3,3,3)", "leaf0-spine0", "pod2-spine1-top1")
	low, tops, err := p.Random(6, 7)
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Without(low, tops)
	if err != nil || len(v.DownNames()) != 8 || v.Connected() != nil {
		t.Errorf("6 more links: %v, %v", v.DownNames(), err)
	}
	if low2, tops2, _ := p.Random(6, 7); !slices.Equal(low, low2) || !slices.Equal(tops, tops2) {
		t.Error("one seed, two draws")
	}
	for _, n := range []int{-1, 53, 52} {
		if _, _, err := p.Random(n, 1); err == nil {
			t.Errorf("%d of 52 links were drawn", n)
		}
	}
	lower, upper := 0, 0
	for seed := range uint64(50) {
		low, tops, err := p.Random(3, seed)
		if err != nil {
			t.Fatal(err)
		}
		lower, upper = lower+len(low), upper+len(tops)
	}
	if lower < 40 || upper < 40 {
		t.Errorf("%d lower and %d upper links drawn: both levels are of equal size", lower, upper)
	}
}

func TestPodsWires(t *testing.T) {
	p := podsOf(t, topology.Options{Ports: 2, Leaves: 4, Pods: 2, Spines: 3, Tops: 2, Fill: []int{2, 1, 0, 2}})
	seen := map[string]bool{}
	for w := range p.Wires() {
		link, direction := p.WireName(topology.Wire(w))
		seen[link+" "+direction] = true
	}
	if len(seen) != p.Wires() || len(seen) != 2*(12+5+12) {
		t.Errorf("%d names for %d wires", len(seen), p.Wires())
	}
	for _, tt := range []struct {
		src, dst, plane, top int
		want                 string
	}{
		{0, 1, -1, -1, "server0-leaf0 up, server1-leaf0 down"},
		{0, 2, 1, -1, "server0-leaf0 up, leaf0-spine1 up, leaf1-spine1 down, server2-leaf1 down"},
		{4, 2, 2, 1, "server7-leaf3 up, leaf3-spine2 up, pod1-spine2-top1 up, pod0-spine2-top1 down, leaf1-spine2 down, server2-leaf1 down"},
	} {
		var names []string
		for _, w := range p.Path(nil, tt.src, tt.dst, tt.plane, tt.top) {
			link, direction := p.WireName(w)
			names = append(names, link+" "+direction)
		}
		if got := strings.Join(names, ", "); got != tt.want {
			t.Errorf("path %s, want %s", got, tt.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"FT(2;4,8)", "FT(3;2,2,2)", "PGFT(2;4,8;1,3;1,1)", "PGFT(2;4,8;1,3;1,2)", "PGFT(3;4,5,6;1,4,7;1,1,1)", "FT(3;65536,65536,65536)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := topology.Parse(s)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Parse(%q): %v", s, err)
			}
			return
		}
		if o.Pods == 0 {
			return
		}
		p, err := topology.NewPods(o)
		if err != nil {
			return
		}
		again, err := topology.Parse(p.Notation())
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Errorf("Parse(%q) = %+v; its notation %s gives %+v, %v", s, o, p.Notation(), again, err)
		}
	})
}

func FuzzPodsLinks(f *testing.F) {
	p := pods(f, "PGFT(3;4,3,2;1,5,7;1,1,1)")
	for _, s := range []string{"leaf5-spine2", "pod1-spine2-top3", "spine2", "pod1-spine2", "spine2-top3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if low, tops, err := p.Links(s); err == nil {
			if v, err := p.Without(low, tops); err != nil || len(v.DownNames()) != len(low)+len(tops) {
				t.Errorf("Links(%q) = %v, %v: %v", s, low, tops, err)
			}
		}
	})
}
