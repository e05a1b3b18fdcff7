package network

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// A Dragonfly is Dragonfly(p;a;h;g) (Kim, Dally, Scott and Abts, ISCA 2008 §III): g groups of a
// switches, with p hosts and h global cables each. All switches of a group are joined. Each pair of
// groups has ⌊a·h / (g-1)⌋ cables, and ports that are left have none.
//
// Global cable k of a group, counted over its switches, leads to the group 1 + k mod (g-1) further on.
type Dragonfly struct{ Hosts, Switches, Global, Groups int }

// A HyperX is HyperX(s1,s2,…;p) (Ahn et al., SC 2009 §3): switches are the points of a grid of these
// sizes, with p hosts each, and those that differ in one coordinate are joined.
type HyperX struct {
	Sizes []int
	Hosts int
}

// A Jellyfish is Jellyfish(n;r;p;seed) (Singla, Hong, Popa and Godfrey, NSDI 2012 §3): n switches in a
// random graph in which each has r cables to others, as far as possible, with p hosts each.
type Jellyfish struct {
	Switches, Degree, Hosts int
	Seed                    uint64
}

// direct are switches of equal numbers of hosts, and cables between them: the hosts have the first ports.
type direct struct {
	notation              string
	switches, hosts, more int // of a switch: hosts, and ports to other switches
	join                  func(cable func(a, b, portA, portB int) error) error
}

func (d direct) check() error {
	switch {
	case d.hosts < 1 || d.switches < 1:
		return fmt.Errorf("%s: numbers must be at least 1", d.notation)
	case d.hosts+d.more > maxPorts:
		return fmt.Errorf("%s: a switch would have %d ports, more than %d", d.notation, d.hosts+d.more, maxPorts)
	case d.switches > maxNodes || d.switches*d.hosts > maxNodes:
		return fmt.Errorf("%s: more than %d nodes", d.notation, maxNodes)
	}
	return nil
}

// build returns the network: host i is on switch i div p, on port 1 + i mod p. Switches are s1_0, s1_1, …
func (d direct) build(lmc int) (*Network, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	all := d.switches * d.hosts
	b, err := begin(d.notation, all, d.switches, lmc)
	if err != nil {
		return nil, err
	}
	lid := (all + 1) << lmc
	for i := range d.switches {
		guid := switchGUID(1, i)
		b.Switch(Info{Name: "s1_" + strconv.Itoa(i), GUID: guid, Port: guid, LID: uint16(lid + i)}, d.hosts+d.more)
	}
	for h := range all {
		if err := b.Cable(End{Node(h), 1}, End{Node(all + h/d.hosts), uint8(1 + h%d.hosts)}); err != nil {
			return nil, err
		}
	}
	err = d.join(func(x, y, portX, portY int) error {
		return b.Cable(End{Node(all + x), uint8(1 + d.hosts + portX)}, End{Node(all + y), uint8(1 + d.hosts + portY)})
	})
	return b.Build(), err
}

func (d Dragonfly) direct() direct {
	out := direct{notation: d.String(), switches: d.Switches * d.Groups, hosts: d.Hosts, more: d.Switches - 1 + d.Global}
	if d.Switches > maxNodes || d.Groups > maxNodes {
		out.switches = maxNodes + 1
	}
	out.join = func(cable func(a, b, portA, portB int) error) error {
		a, g := d.Switches, d.Groups
		for at := range g {
			for i := range a {
				for j := i + 1; j < a; j++ {
					if err := cable(at*a+i, at*a+j, j-1, i); err != nil {
						return err
					}
				}
			}
		}
		for k := 0; g > 1 && k+g-1 <= a*d.Global; k += g - 1 {
			for at := range g {
				for to := at + 1; to < g; to++ {
					x, y := k+to-at-1, k+g-(to-at)-1
					if err := cable(at*a+x/d.Global, to*a+y/d.Global, a-1+x%d.Global, a-1+y%d.Global); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	return out
}

func (d Dragonfly) check() error {
	if d.Groups > 1 && d.Switches*d.Global < d.Groups-1 {
		return fmt.Errorf("%v: a group has %d global cables, and %d other groups", d, d.Switches*d.Global, d.Groups-1)
	}
	return d.direct().check()
}

// Build returns the network; group i has the switches s1_⟨i·a⟩ to s1_⟨i·a+a-1⟩.
func (d Dragonfly) Build(lmc int) (*Network, error) { return d.direct().build(lmc) }

func (d Dragonfly) String() string {
	return fmt.Sprintf("Dragonfly(%d;%d;%d;%d)", d.Hosts, d.Switches, d.Global, d.Groups)
}

func (x HyperX) direct() direct {
	out := direct{notation: x.String(), switches: 1, hosts: x.Hosts}
	for _, s := range x.Sizes {
		out.switches, out.more = min(out.switches*s, maxNodes+1), out.more+s-1
	}
	out.join = func(cable func(a, b, portA, portB int) error) error {
		for i := range out.switches {
			step, port := 1, 0
			for _, s := range x.Sizes {
				at := i / step % s
				for to := at + 1; to < s; to++ {
					if err := cable(i, i+(to-at)*step, port+to-1, port+at); err != nil {
						return err
					}
				}
				step, port = step*s, port+s-1
			}
		}
		return nil
	}
	return out
}

func (x HyperX) check() error { return x.direct().check() }

// Build returns the network; switch s1_⟨i⟩ has the coordinates i mod s1, i div s1 mod s2, …
func (x HyperX) Build(lmc int) (*Network, error) { return x.direct().build(lmc) }

func (x HyperX) String() string { return fmt.Sprintf("HyperX(%s;%d)", list(x.Sizes), x.Hosts) }

func (j Jellyfish) direct() direct {
	return direct{j.String(), j.Switches, j.Hosts, j.Degree, func(cable func(a, b, portA, portB int) error) error {
		used := make([]int, j.Switches)
		for _, e := range j.graph() {
			if err := cable(e[0], e[1], used[e[0]], used[e[1]]); err != nil {
				return err
			}
			used[e[0]]++
			used[e[1]]++
		}
		return nil
	}}
}

func (j Jellyfish) check() error {
	if j.Degree >= j.Switches || j.Degree < 1 {
		return fmt.Errorf("%v: a switch has cables to 1..%d others", j, j.Switches-1)
	}
	return j.direct().check()
}

// graph joins random switches that have free ports and no cable yet. Where none are left and a switch
// has two free ports, a random cable x-y is replaced by x-switch and y-switch, as in the paper. One port
// is left where r·n is odd.
func (j Jellyfish) graph() (edges [][2]int) {
	rng := rand.New(rand.NewPCG(j.Seed, 0))
	joined, free := map[[2]int]bool{}, make([]int, j.Switches)
	for i := range free {
		free[i] = j.Degree
	}
	key := func(x, y int) [2]int { return [2]int{min(x, y), max(x, y)} }
	add := func(x, y int) {
		edges, joined[key(x, y)] = append(edges, key(x, y)), true
		free[x]--
		free[y]--
	}
	for {
		var open [][2]int
		for x := range free {
			for y := x + 1; y < len(free) && free[x] > 0; y++ {
				if free[y] > 0 && !joined[key(x, y)] {
					open = append(open, [2]int{x, y})
				}
			}
		}
		if len(open) == 0 {
			break
		}
		for _, at := range rng.Perm(len(open)) {
			if e := open[at]; free[e[0]] > 0 && free[e[1]] > 0 {
				add(e[0], e[1])
			}
		}
	}
	for v := range free {
		for _, at := range rng.Perm(len(edges)) {
			if e := edges[at]; free[v] >= 2 && e[0] != v && e[1] != v && !joined[key(v, e[0])] && !joined[key(v, e[1])] {
				delete(joined, e)
				edges[at], joined[key(v, e[0])] = key(v, e[0]), true
				edges, joined[key(v, e[1])] = append(edges, key(v, e[1])), true
				free[v] -= 2
			}
		}
	}
	return edges
}

// Build returns the network.
func (j Jellyfish) Build(lmc int) (*Network, error) { return j.direct().build(lmc) }

func (j Jellyfish) String() string {
	return fmt.Sprintf("Jellyfish(%d;%d;%d;%d)", j.Switches, j.Degree, j.Hosts, j.Seed)
}
