package order

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/site/ports"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// TestSizedPorts: for three or four hosts, each on a switch of its own with one to three trunks for all, the plan is never shorter than the best of all choices of
// ports and all orders, its bound never longer, and the judge finds both in the file, half of the time with a slow host and slow cables. Each order
// of fragments in which each begins as soon as its links are free is tried, among which is a shortest one.
func TestSizedPorts(t *testing.T) {
	need.Heavy(t)
	for seed := range uint64(60) {
		if int(seed)%30 >= expect.Samples(30, 12) {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		hosts, spines := 3+int(seed%2), 1+rng.IntN(3)
		paths := &ports.Paths{Protocol: ports.TCP, Port: 7000}
		for h := range hosts {
			paths.Hosts = append(paths.Hosts, ports.Host{Name: fmt.Sprint("h", h), Addr: netip.AddrFrom4([4]byte{10, 0, 0, byte(h)})})
		}
		way, size, fragments := map[[3]int][]string{}, make([]int64, hosts*hosts), []int(nil)
		for m := range hosts * hosts {
			src, dst := m/hosts, m%hosts
			if src == dst {
				continue
			}
			for i := range 2 {
				spine := rng.IntN(spines)
				up, trunk := netip.AddrFrom4([4]byte{172, 16, byte(src), byte(spine)}), netip.AddrFrom4([4]byte{172, 17, 0, byte(spine)})
				paths.Rows = append(paths.Rows, ports.Row{Src: src, Dst: dst, Port: 20000 + i, Hops: []ports.Hop{{up}, {trunk}}})
				way[[3]int{src, dst, 20000 + i}] = []string{fmt.Sprint("from", src), fmt.Sprint("to", dst), trunk.String()}
			}
			if rng.IntN(3) > 0 && len(fragments) < 5 {
				size[m], fragments = 1+rng.Int64N(9), append(fragments, m)
			}
		}
		share := map[string]float64{}
		if seed >= 30 {
			share["from0"], share["to0"] = .4, .4
			paths.Slow = append(paths.Slow, ports.Slow{Host: "h0", Share: .4})
			for s := range spines {
				end := paths.Rows[rng.IntN(len(paths.Rows))].Hops[1][0]
				paths.Slow, share[end.String()] = append(paths.Slow, ports.Slow{Ends: [2]netip.Addr{netip.AddrFrom4([4]byte{9, 9, 9, byte(s)}), end}, Share: .5}), .5
			}
		}
		x := expect.Value(ports.NewExchange(paths, ports.Roles{}))(t)
		s := MakeSizedPorts(x, size, 0)
		best := shortest(fragments, size, hosts, way, share)
		expect.True(t, s.Least <= best && s.Time >= best && float64(s.Time) <= 1.5*float64(best), "seed %d: plan %d, best %d, bound %d", seed, s.Time, best, s.Least)
		var text bytes.Buffer
		expect.Must(t, s.WriteText(&text))
		f := expect.Value(judge.Read(strings.NewReader(text.String())))(t)
		p := expect.Value(paths.ForJudge())(t)
		expect.Must(t, p.Suits(f))
		r := judge.Check(f, judge.Options{Ports: p})
		expect.True(t, r.Valid && r.Bound.Proven && r.Bound.Value == float64(s.Least) && r.Duration == float64(s.Time), "seed %d: %+v\n%s", seed, r.Offences, &text)
	}
}

// shortest is the least time of fragments over all choices of two ports, of which some links have a share of the usual rate.
func shortest(fragments []int, size []int64, hosts int, way map[[3]int][]string, share map[string]float64) (best int64) {
	best = 1 << 40
	for choice := range 1 << len(fragments) {
		links := make([][]string, len(fragments))
		for i, m := range fragments {
			links[i] = way[[3]int{m / hosts, m % hosts, 20000 + choice>>i&1}]
		}
		var add func(left []int, free map[string]int64, end int64)
		add = func(left []int, free map[string]int64, end int64) {
			if end >= best {
				return
			}
			if len(left) == 0 {
				best = end
				return
			}
			for at, i := range left {
				over, start, slowest := map[string]int64{}, int64(0), 1.0
				for link, time := range free {
					over[link] = time
				}
				for _, link := range links[i] {
					if start = max(start, free[link]); share[link] > 0 {
						slowest = min(slowest, share[link])
					}
				}
				stop := start + int64(math.Ceil(float64(size[fragments[i]])/slowest-1e-9))
				for _, link := range links[i] {
					over[link] = stop
				}
				add(slices.Delete(slices.Clone(left), at, at+1), over, max(end, stop))
			}
		}
		left := make([]int, len(fragments))
		for i := range left {
			left[i] = i
		}
		add(left, map[string]int64{}, 0)
	}
	return best
}
