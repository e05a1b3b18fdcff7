package sizes

// An entry is a candidate, or the end of a fragment: the smallest rank comes first.
type entry struct {
	rank           int64
	id             int32
	partner, layer int32 // of a candidate
}

func (e entry) before(o entry) bool { return e.rank < o.rank || e.rank == o.rank && e.id < o.id }

// A heap gives the first entry first.
type heap []entry

func (h *heap) push(e entry) {
	*h = append(*h, e)
	x, i := *h, len(*h)-1
	for i > 0 && e.before(x[(i-1)/2]) {
		x[i] = x[(i-1)/2]
		i = (i - 1) / 2
	}
	x[i] = e
}

func (h *heap) pop() entry {
	x := *h
	top, last := x[0], x[len(x)-1]
	x = x[:len(x)-1]
	i := 0
	for c := 1; c < len(x); c = 2*i + 1 {
		if c+1 < len(x) && x[c+1].before(x[c]) {
			c++
		}
		if !x[c].before(last) {
			break
		}
		x[i] = x[c]
		i = c
	}
	if len(x) > 0 {
		x[i] = last
	}
	*h = x
	return top
}
