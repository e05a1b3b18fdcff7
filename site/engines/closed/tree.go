package closed

import "evbench/site/network"

// A tree knows the digits of nodes, the ports for them, and the rule for a destination. Index l-1
// is level l.
type tree struct {
	network.PGFT
	quasi bool
	first []int // index of the first switch of a level, and the end
	width []int // R_l = w1·…·wl
	cross int   // the level with p > 1 of a quasi fat tree, else a level too high
}

func newTree(q network.PGFT, quasi bool) *tree {
	h := len(q.M)
	t := &tree{PGFT: q, quasi: quasi, first: make([]int, h+1), width: make([]int, h), cross: h + 9}
	width := 1
	for i := range h {
		width = min(width*q.W[i], 1<<24)
		t.width[i] = width
		t.first[i+1] = t.first[i] + q.Count(i+1)
		if quasi && q.P[i] > 1 {
			t.cross = i + 1
		}
	}
	return t
}

func (t *tree) level(s int) int {
	l := 1
	for s >= t.first[l] {
		l++
	}
	return l
}

// digits writes s1..sh of a switch, s1 at index 0.
func (t *tree) digits(s, level int, to []int) {
	i := s - t.first[level-1]
	for k := range to {
		radix := t.M[k]
		if k < level {
			radix = t.W[k]
		}
		to[k] = i % radix
		i /= radix
	}
}

func (t *tree) second() int {
	if t.cross == len(t.M) {
		return t.cross - 2
	}
	return t.cross
}

// upLabel returns g of a cable up to a switch of the given level (equation 8), 0, 1, …: parent,
// then which of the p. The port distinguishes parallel cables of a PGFT.
func (t *tree) upLabel(high []int, level int, port uint8) int {
	which := 0
	switch {
	case level == t.cross:
		which = high[t.second()] % t.P[level-1]
	case !t.quasi:
		which = (int(port) - 1 - t.M[level-2]*t.P[level-2]) % t.P[level-1]
	}
	return high[level-1] + t.W[level-1]*which
}

// downLabel distinguishes cables down from a switch of a level to the same destination: u where
// crossed paths merge, the cable where they are parallel.
func (t *tree) downLabel(low []int, level int, port uint8) int {
	switch {
	case level == t.cross && t.cross == len(t.M):
		return low[t.second()] % t.P[level-1]
	case level == t.cross+1:
		return low[t.second()] % t.P[level-2]
	case !t.quasi:
		return (int(port) - 1) % t.P[level-1]
	}
	return 0
}

// A rule gives a destination d its label: with k = ⌊d/step⌋,
// (⌊k/a⌋·b + k mod b) mod c.
type rule struct{ step, a, b, c int }

func (r rule) label(k int) int { return (k/r.a*r.b + k%r.b) % r.c }

// period returns the number of k after which the labels repeat.
func (r rule) period() int { return r.a * r.c / gcd(r.b, r.c) }

// up implements equations 13 and 15 for a switch of a level below the top: steps are R'_l, but
// R_{l-1} on the level above the crossed one, where paths merge.
func (t *tree) up(level int) rule {
	ports, width := t.W[level]*t.P[level], t.width[level-1]
	switch level {
	case t.cross:
		return rule{width * t.P[level-1], 1, 1, ports}
	case t.cross + 1:
		p := t.P[level-2]
		return rule{t.width[level-2], t.W[level-1] * p, p, ports}
	}
	return rule{width, 1, 1, ports}
}

// down is equations 16 to 18.
func (t *tree) down(level int) rule {
	switch {
	case level == t.cross && t.cross == len(t.M):
		return rule{t.width[level-3], 1, 1, t.P[level-1]}
	case level == t.cross:
		return rule{1 << 24, 1, 1, 1}
	case level == t.cross+1:
		return rule{t.width[level-2], 1, 1, t.P[level-2]}
	}
	return rule{t.width[level-1], 1, 1, t.P[level-1]}
}
