package dmod

import (
	"evbench/routing/dmod/updown"
	"evbench/routing/lft"
)

// tables returns the routes to all LIDs (§3.4). The x-th further LID of a host is
// routed as number d+x would be, so that a host's LIDs take different ports.
// Switches' own LIDs get some shortest up*/down* path where there is one.
func (r *router) tables() *lft.Tables {
	t := lft.New("dmodc", r.net)
	scratch := updown.Scratch(r.opt.Workers, r.net.Hosts())
	rows := make([]rowOf, len(scratch))
	updown.Each(r.opt.Workers, r.net.Switches(), func(worker, s int) {
		row := &rows[worker]
		row.router = r
		row.compare(s)
		r.hosts.Row(t.Row(s), scratch[worker], row.fill)
	})
	r.graph.ToSwitches(t, r.opt.Workers)
	return t
}

// rowOf computes the routes of one switch at a time.
type rowOf struct {
	router *router
	s      int
	bits   [][]uint64 // by group: the leaves to which it is closer
	memory []uint64
	up     []uint64       // costs for groups up, of DownCost
	chosen []updown.Group // C
}

// compare finds which groups are closer to which leaves (equation 1).
func (o *rowOf) compare(s int) {
	r := o.router
	o.s, o.up = s, o.up[:0]
	groups := r.graph.Groups[s]
	words := (len(r.hosts.Leaves) + 63) / 64
	if need := words * len(groups); cap(o.memory) < need {
		o.memory = make([]uint64, need)
	}
	o.memory = o.memory[:words*len(groups)]
	clear(o.memory)
	o.bits = o.bits[:0]
	for i, g := range groups {
		bits := o.memory[i*words : (i+1)*words]
		o.bits = append(o.bits, bits)
		if near := r.near(g); near != nil {
			closer(bits, near, o.own(g))
		}
	}
}

// own returns the costs that a group must be below: those of the switch but, with
// DownCost, none on the way up where there is a way down.
func (o *rowOf) own(g updown.Group) []uint64 {
	r := o.router
	cost := r.cost.row(o.s)
	if !r.opt.DownCost || g.Dir != updown.Up {
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
func (r *router) near(g updown.Group) []uint64 {
	switch {
	case !r.opt.DownCost || g.Dir == updown.Up:
		return r.cost.row(int(g.Peer))
	case g.Dir == updown.Down:
		return r.down.row(int(g.Peer))
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

// fill writes the ports by destination, once for each set of groups.
func (o *rowOf) fill(dst []uint8, x int) {
	r := o.router
	updown.Segments(o.bits, len(r.hosts.Leaves), func(lo, hi int, groups []int32) {
		if len(groups) == 0 {
			return
		}
		o.chosen = o.chosen[:0]
		for _, g := range groups {
			o.chosen = append(o.chosen, r.graph.Groups[o.s][g])
		}
		period := period(o.chosen)
		r.hosts.Spans(lo, hi, func(d0, d1 int) {
			updown.Fill(dst[d0:d1], d0+x, r.divider[o.s], period, o.port)
		})
	})
	r.hosts.Local(dst, o.s)
}

// port is equations 3 and 4, k being ⌊d/Π⌋.
func (o *rowOf) port(k int) uint8 {
	ports := o.chosen[k%len(o.chosen)].Ports
	if len(ports) == 1 {
		return ports[0]
	}
	return ports[k/len(o.chosen)%len(ports)]
}

// period returns after how many steps the ports come again, 0 if too many.
func period(groups []updown.Group) int {
	const most = 1 << 16
	lcm := 1
	for _, g := range groups {
		if lcm%len(g.Ports) != 0 {
			lcm *= len(g.Ports) / gcd(lcm, len(g.Ports))
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
