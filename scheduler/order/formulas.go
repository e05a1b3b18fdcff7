package order

import (
	"iter"

	"evbench/scheduler"
)

// LinearShift is the order that programs use, MPI's pairwise exchange among them: in phase k host i
// sends to host i+k+1, modulo their number.
func (p *Exchange) LinearShift() *scheduler.Plan {
	n := p.Hosts
	return p.formula("linear-shift", n-1, func(i, k int) int { return (i + k + 1) % n })
}

// Formulas are the closed forms that apply: linear shift by rank and by switch, shift by
// host, by port, xor.
func (p *Exchange) Formulas() iter.Seq[*scheduler.Plan] {
	n := p.Hosts
	by, at := make([]int, 0, n), make([]int, n) // hosts by switch, and their places
	leaf := p.from
	equal := len(leaf) > 1
	for _, hosts := range leaf {
		equal = equal && len(hosts) == len(leaf[0])
		for _, h := range hosts {
			at[h] = len(by)
			by = append(by, int(h))
		}
	}
	return func(yield func(*scheduler.Plan) bool) {
		if n < 2 || !yield(p.LinearShift()) ||
			!yield(p.formula("linear-shift-by-switch", n-1, func(i, k int) int { return by[(at[i]+k+1)%n] })) {
			return
		}
		// In phase k, with a = k div adapters and b = k mod adapters, adapter x of host s sends to adapter x+b of
		// host s+a.
		if each := p.adapters(); each > 1 && !yield(p.formula("shift-by-host", n, func(i, k int) int {
			return (i/each+k/each)%(n/each)*each + (i%each+k%each)%each
		})) {
			return
		}
		// In phase k, with a = k div ports and b = k mod ports, port x of switch s sends to port x+b of
		// switch s+a: the messages of a switch go to one other and arrive at different ports.
		ports, switches := 0, len(leaf)
		if equal {
			ports = len(leaf[0])
		}
		if equal && !yield(p.formula("shift-by-port", n, func(i, k int) int {
			s, x := at[i]/ports, at[i]%ports
			return by[(s+k/ports)%switches*ports+(x+k%ports)%ports]
		})) {
			return
		}
		// Here they go to as many switches as there are ports.
		if equal && !yield(p.formula("spread-by-port", n, func(i, k int) int {
			s, x := at[i]/ports, at[i]%ports
			return by[(s+k/ports+x)%switches*ports+(x+k%ports)%ports]
		})) {
			return
		}
		if n&(n-1) == 0 {
			yield(p.formula("xor", n-1, func(i, k int) int { return by[at[i]^(k+1)] }))
		}
	}
}

// adapters is how many each host has, 0 where they have unequally many.
func (p *Exchange) adapters() int {
	each := 0
	for _, own := range p.Machines() {
		if n := own[1] - own[0] + 1; each == 0 || n == each {
			each = n
		} else {
			return 0
		}
	}
	return each
}

// Machines are the first and the last host of each machine where some machines have several.
func (p *Exchange) Machines() (out [][2]int) {
	for i, h := range p.host {
		if i == 0 || h != p.host[i-1] {
			out = append(out, [2]int{i, i})
		}
		out[len(out)-1][1] = i
	}
	return out
}

func (p *Exchange) formula(name string, phases int, to func(host, phase int) int) *scheduler.Plan {
	s := scheduler.NewPlan(p.Hosts, name)
	for k := range phases {
		used := false
		for i := range p.Hosts {
			if dst := to(i, k); dst != i && p.Meets(i, dst) {
				s.Phase[i*p.Hosts+dst], used = int32(s.Phases), true
			}
		}
		if used {
			s.Phases++
		}
	}
	return s
}
