package closed

type costRow struct {
	*router
	s      int
	bits   [][]uint64 // by group: the leaves to which it is closer
	memory []uint64
	up     []uint64 // costs for groups up, of DownCost
	chosen []group  // C
}

// at finds which groups are closer to which leaves (equation 1).
func (o *costRow) at(s int) [][]uint64 {
	o.s, o.up = s, o.up[:0]
	groups := o.graph.groups[s]
	words := (len(o.hosts.leaves) + 63) / 64
	if need := words * len(groups); cap(o.memory) < need {
		o.memory = make([]uint64, need)
	}
	o.memory = o.memory[:words*len(groups)]
	clear(o.memory)
	o.bits = o.bits[:0]
	for i, g := range groups {
		bits := o.memory[i*words : (i+1)*words]
		o.bits = append(o.bits, bits)
		if near := o.near(g); near != nil {
			closer(bits, near, o.own(g))
		}
	}
	return o.bits
}

// own returns the costs that a group must undercut: the switch's costs, but with DownCost none on
// the way up where there is a way down.
func (o *costRow) own(g group) []uint64 {
	r := o.router
	cost := r.cost.row(o.s)
	if !r.opt.DownCost || g.dir != upward {
		return cost
	}
	if len(o.up) == 0 {
		for i, x := range r.down.row(o.s) {
			o.up = append(o.up, choose(less(x, infinite*eight), 0, cost[i]))
		}
	}
	return o.up
}

// near returns the costs that a group offers, nil where it must not be taken.
func (r *router) near(g group) []uint64 {
	switch {
	case !r.opt.DownCost || g.dir == upward:
		return r.cost.row(int(g.peer))
	case g.dir == downward:
		return r.down.row(int(g.peer))
	}
	return nil
}

// closer sets the bits of the leaves for which near is less than own.
func closer(bits, near, own []uint64) {
	near = near[:len(own)]
	for i, x := range own {
		byByte := less(near[i], x) >> 7
		bits[i/8] |= byByte * 0x0102040810204080 >> 56 << (i % 8 * 8)
	}
}

func (o *costRow) choose(groups []int32) (step, period int) {
	o.chosen = o.chosen[:0]
	for _, g := range groups {
		o.chosen = append(o.chosen, o.graph.groups[o.s][g])
	}
	return o.divider[o.s], periodOf(o.chosen)
}

// port is equations 3 and 4, k being ⌊d/Π⌋.
func (o *costRow) port(k int) uint8 {
	ports := o.chosen[k%len(o.chosen)].ports
	if len(ports) == 1 {
		return ports[0]
	}
	return ports[k/len(o.chosen)%len(ports)]
}

// periodOf returns the number of steps after which the ports repeat, 0 if too many.
func periodOf(groups []group) int {
	const most = 1 << 16
	lcm := 1
	for _, g := range groups {
		if lcm%len(g.ports) != 0 {
			lcm *= len(g.ports) / gcd(lcm, len(g.ports))
		}
		if lcm > most {
			return 0
		}
	}
	return lcm * len(groups)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
