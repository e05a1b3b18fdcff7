package scheduler

import "evbench/internal/coloring"

// fitting is how often, on average, fit places a message before it gives up on the rest. Up to M0 =
// M1 = 24 fit needs fewer than 6.
const fitting = 20

// fit adds the messages within a leaf to a pattern. Each takes the first phase in which both ends
// are idle or, if there is none, the phase from which it moves the fewest others; messages moved
// often count more. The rest follows in as few phases as possible (König).
func (p *pattern) fit() {
	s := p.idle()
	var queue, left []int
	for d := 1; d < p.m0; d++ {
		for a := range p.m0 {
			queue = append(queue, a*p.m0+(a+d)%p.m0)
		}
	}
	moved := make([]int, p.m0*p.m0)
	for moves := fitting * len(queue); len(queue) > 0; moves-- {
		m := queue[0]
		queue = queue[1:]
		phase := s.cheapest(m/p.m0, m%p.m0, moved)
		if phase < 0 || moves < 0 {
			left = append(left, m)
			continue
		}
		for _, x := range s.vacate(phase, m/p.m0, m%p.m0) {
			moved[x]++
			queue = append(queue, x)
		}
		s.put(phase, m/p.m0, m%p.m0)
		moved[m]++
	}
	p.collect(s)
	p.extra(left)
}

// cheapest returns the phase in which slot a may send to slot b at the least
// price, or -1 if one of them is always busy with messages between leaves.
func (s *occupied) cheapest(a, b int, moved []int) int {
	best, least := -1, 0
	for i := 0; i < len(s.send); i += s.m0 {
		x, y := s.send[i+a], s.recv[i+b]
		if x == busy || y == busy {
			continue
		}
		price := 0
		for _, m := range [2]int32{x, y} {
			if m > 0 {
				price += 1 + moved[m-1]
			}
		}
		if best < 0 || price < least {
			best, least = i/s.m0, price
		}
		if price == 0 {
			break
		}
	}
	return best
}

// vacate removes the messages that keep slot a from sending to slot b in a phase.
func (s *occupied) vacate(phase, a, b int) []int {
	var out []int
	i := phase * s.m0
	for _, m := range [2]int32{s.send[i+a], s.recv[i+b]} {
		if m > 0 {
			s.send[i+int(m-1)/s.m0], s.recv[i+int(m-1)%s.m0] = 0, 0
			out = append(out, int(m-1))
		}
	}
	return out
}

func (p *pattern) collect(s *occupied) {
	for i, m := range s.send {
		if m > 0 {
			p.transfers = append(p.transfers, transfer{phase: i / p.m0, src: int(m-1) / p.m0, dst: int(m-1) % p.m0})
		}
	}
}

func (p *pattern) extra(left []int) {
	g := &coloring.Graph{Left: p.m0, Right: p.m0}
	for i, m := range left {
		g.Edges = append(g.Edges, coloring.Edge{U: int32(m / p.m0), V: int32(m % p.m0), N: 1, First: int32(i)})
	}
	n := g.Degree()
	if n == 0 {
		return
	}
	g.Color(n, coloring.Options{}, func(unit, color int32) {
		m := left[unit]
		p.transfers = append(p.transfers, transfer{phase: p.phases + int(color), src: m / p.m0, dst: m % p.m0})
	})
	p.phases += n
}
