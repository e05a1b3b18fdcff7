package sizes

// The two heaps of a lister: ends of fragments under way, and candidates.

func (e end) before(o end) bool { return e.at < o.at || e.at == o.at && e.i < o.i }

// push adds the end of a fragment.
func (l *lister) push(e end) {
	l.ends = append(l.ends, e)
	h, i := l.ends, len(l.ends)-1
	for i > 0 && e.before(h[(i-1)/2]) {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
}

// pop takes the fragment that ends first.
func (l *lister) pop() placed {
	h := l.ends
	x, last := l.placed[h[0].i], h[len(h)-1]
	h = h[:len(h)-1]
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].before(h[c]) {
			c++
		}
		if !h[c].before(last) {
			break
		}
		h[i] = h[c]
		i = c
	}
	if len(h) > 0 {
		h[i] = last
	}
	l.ends = h
	return x
}

func (c candidate) above(o candidate) bool {
	if c.exchange != o.exchange {
		return c.exchange < o.exchange
	}
	if c.score != o.score {
		return c.score > o.score
	}
	return c.d < o.d || c.d == o.d && c.i < o.i
}

// enqueue adds a candidate.
func (l *lister) enqueue(c candidate) {
	l.queue = append(l.queue, c)
	h, at := l.queue, len(l.queue)-1
	for at > 0 && h[at].above(h[(at-1)/2]) {
		h[at], h[(at-1)/2] = h[(at-1)/2], h[at]
		at = (at - 1) / 2
	}
}

// dequeue takes the best candidate.
func (l *lister) dequeue() candidate {
	h := l.queue
	top := h[0]
	h[0] = h[len(h)-1]
	h = h[:len(h)-1]
	for at := 0; ; {
		c := 2*at + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].above(h[c]) {
			c++
		}
		if !h[c].above(h[at]) {
			break
		}
		h[at], h[c] = h[c], h[at]
		at = c
	}
	l.queue = h
	return top
}
