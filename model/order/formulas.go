package order

import "slices"

// LinearShift is the order that programs use, MPI's pairwise exchange among them: in phase k host i
// sends to host i+k+1, modulo their number.
func (p *Problem) LinearShift() *Schedule {
	n := p.Hosts
	return p.formula("linear-shift", n-1, func(i, k int) int { return (i + k + 1) % n })
}

// Formulas are the closed forms that apply: linear shift by rank and by switch, shift by port, xor.
func (p *Problem) Formulas() (out []*Schedule) {
	if p.Hosts < 2 {
		return nil
	}
	out = append(out, p.LinearShift())
	by, at := make([]int, 0, p.Hosts), make([]int, p.Hosts) // hosts by switch, and their places
	leaf := slices.Clone(p.from)
	equal := len(leaf) > 1
	for _, hosts := range leaf {
		equal = equal && len(hosts) == len(leaf[0])
		for _, h := range hosts {
			at[h] = len(by)
			by = append(by, int(h))
		}
	}
	n := p.Hosts
	out = append(out, p.formula("linear-shift-by-switch", n-1, func(i, k int) int { return by[(at[i]+k+1)%n] }))
	if equal {
		// In phase k, with a = k div ports and b = k mod ports, port x of switch s sends to port x+b of
		// switch s+a: the messages of a switch go to one other and arrive at different ports.
		ports, switches := len(leaf[0]), len(leaf)
		out = append(out, p.formula("shift-by-port", n, func(i, k int) int {
			s, x := at[i]/ports, at[i]%ports
			return by[(s+k/ports)%switches*ports+(x+k%ports)%ports]
		}))
		// Here they go to as many switches as there are ports.
		out = append(out, p.formula("spread-by-port", n, func(i, k int) int {
			s, x := at[i]/ports, at[i]%ports
			return by[(s+k/ports+x)%switches*ports+(x+k%ports)%ports]
		}))
	}
	if n&(n-1) == 0 {
		out = append(out, p.formula("xor", n-1, func(i, k int) int { return by[at[i]^(k+1)] }))
	}
	return out
}

func (p *Problem) formula(name string, phases int, to func(host, phase int) int) *Schedule {
	s := newSchedule(p.Hosts, name)
	for k := range phases {
		used := false
		for i := range p.Hosts {
			if dst := to(i, k); dst != i && p.Meets(i, dst) {
				s.phase[i*p.Hosts+dst], used = int32(s.Phases), true
			}
		}
		if used {
			s.Phases++
		}
	}
	return s
}
