package judge

import (
	"evbench/internal/parallel"
	"evbench/routing/lft"
	"evbench/topology/network"
)

// phased returns the mean time of the phases of a pattern, each as long as its fullest link
// needs by what that carries. It is for links of different rates; of equal ones it is the
// slowdown of lft.Congest. Tables reach all hosts. O(phases · hosts · hops).
func (f *fabric) phased(t *lft.Tables, p lft.Pattern) float64 {
	first := make([]int, t.Net.Nodes()+1) // of the ports of a node
	for v := range network.Node(t.Net.Nodes()) {
		first[v+1] = first[v] + len(t.Net.Ends(v))
	}
	carries := make([]float64, first[t.Net.Nodes()])
	for v := range network.Node(t.Net.Nodes()) {
		for i := range t.Net.Ends(v) {
			carries[first[v]+i] = f.capacity(network.End{Node: v, Port: uint8(i + 1)})
		}
	}
	type state struct {
		dst  []int32
		on   []float64
		used []int
	}
	states, times := make([]*state, parallel.Workers(0)), make([]float64, p.Phases)
	parallel.Each(len(states), p.Phases, func(w, k int) {
		s := states[w]
		if s == nil {
			s = &state{dst: make([]int32, t.Net.Hosts()), on: make([]float64, len(carries))}
			states[w] = s
		}
		p.Fill(k, s.dst)
		pass := func(at int) {
			s.on[at]++
			s.used = append(s.used, at)
		}
		for src, dst := range s.dst {
			if dst < 0 || int(dst) == src {
				continue
			}
			pass(first[src])
			lid, at := int(t.Net.Info(network.Node(dst)).LID), t.Net.Leaf(network.Node(src)).Node
			for range t.Net.Switches() {
				port := int(t.Port(at, lid))
				pass(first[at] + port - 1)
				if at = t.Net.At(at, port).Node; t.Net.IsHost(at) {
					break
				}
			}
		}
		for _, at := range s.used {
			times[k] = max(times[k], s.on[at]/carries[at])
			s.on[at] = 0
		}
		s.used = s.used[:0]
	})
	sum := 0.0
	for _, x := range times {
		sum += x
	}
	return sum / float64(p.Phases)
}
