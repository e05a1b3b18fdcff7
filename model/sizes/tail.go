package sizes

import "slices"

// tail makes the end of the saved schedule again and returns the time.
func (l *lister) tail(p priority, saved *state) int64 {
	l.assign(saved)
	return l.run(l.cut, p)
}

// split cuts each fragment that has not started in a saved state into that many parts of about the
// same size, each of at least that many bytes and on a layer of its own.
func (l *lister) split(s *state, parts int, least int64) {
	w := len(l.window)
	layers := slices.Clone(l.window)
	for n := range parts * w {
		m := newMatrix(l.servers)
		if n < w {
			copy(m.bytes, l.window[n].bytes)
			layers[n] = m
			continue
		}
		layers, s.wait = append(layers, m), append(s.wait, 0)
	}
	for d := range s.side {
		s.side[d].left = append(s.side[d].left, make([]uint64, (parts-1)*len(s.side[d].left))...)
	}
	for e := range w {
		for i := range l.servers {
			for j := range l.servers {
				if s.side[0].left[(e*l.servers+i)*l.words+j/64]>>(j%64)&1 == 0 {
					continue
				}
				at := i*l.servers + j
				n := layers[e].bytes[at]
				k := min(parts, int(n/least))
				for y := e + w; y < e+k*w; y += w {
					layers[y].bytes[at] = n / int64(k)
					layers[e].bytes[at] -= n / int64(k)
					s.side[0].left[(y*l.servers+i)*l.words+j/64] |= 1 << (j % 64)
					s.side[1].left[(y*l.servers+j)*l.words+i/64] |= 1 << (i % 64)
					s.wait[y]++
				}
			}
		}
	}
	l.layers = layers
}
