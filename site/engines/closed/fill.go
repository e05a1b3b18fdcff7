package closed

// fill writes the ports towards the destinations d0, d0+1, …, which depend on k = ⌊d/step⌋ alone
// and repeat after period steps (0: never). After one period it copies the rest, so the cost is
// that of the memory.
func fill(dst []uint8, d0, step, period int, port func(k int) uint8) {
	n := len(dst)
	if period > 0 && period <= n/step {
		n = step * period
	}
	k, left := d0/step, step-d0%step
	for i := 0; i < n; k++ {
		p, end := port(k), min(i+left, n)
		for ; i < end; i++ {
			dst[i] = p
		}
		left = step
	}
	for done := n; done < len(dst); {
		done += copy(dst[done:], dst[:done])
	}
}

// segments cuts 0..n-1 where the set of groups changes: bits[g] has a bit for each number that
// group g is chosen for. It calls visit for each piece with its groups, ascending; the slice is
// reused.
func segments(bits [][]uint64, n int, visit func(lo, hi int, groups []int32)) {
	var groups []int32
	lo := -1
	cut := func(at int) {
		if lo >= 0 {
			visit(lo, at, groups)
		}
		if lo, groups = at, groups[:0]; at == n {
			return
		}
		for g := range bits {
			if bits[g][at/64]>>(at%64)&1 != 0 {
				groups = append(groups, int32(g))
			}
		}
	}
	cut(0)
	for w := range (n + 63) / 64 {
		changes := uint64(0)
		for _, b := range bits {
			before := b[w] << 1
			if w > 0 {
				before |= b[w-1] >> 63
			}
			changes |= b[w] ^ before
		}
		eachBit(changes, func(i int) {
			if at := 64*w + i; at > 0 && at < n {
				cut(at)
			}
		})
	}
	if n > 0 {
		cut(n)
	}
}
