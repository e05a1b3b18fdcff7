package sizes

import (
	"slices"

	"evbench/topology"
)

// wires returns what a piece occupies: its receive port, up-link and down-link. The send
// port is not among them.
func (p *Plan) wires(x placed) []topology.Wire {
	i, j := int(x.src), int(x.dst)
	wires := []topology.Wire{p.tree.ToServer(j)}
	if x.spine >= 0 {
		wires = append(wires, p.tree.Up(p.tree.Leaf(i), int(x.spine)), p.tree.Down(p.tree.Leaf(j), int(x.spine)))
	}
	return wires
}

// Tokens returns, for each piece in the order of Pieces, the pieces of whose reception
// its sender must be told before it may start: those before it on its receive port,
// up-link and down-link. None is named twice, and none that the sender itself sent: it
// sends in the order of Pieces. One that the sender itself received needs no message.
//
// Index k ≥ 0 is piece k of this plan; ^k, which is negative, is piece k of the window
// before, the last there on the port or link. Before may be nil: the network is quiet.
func (p *Plan) Tokens(before *Plan) [][]int32 {
	last := make([]int32, p.tree.Wires()) // 1 + k, or ^k, of the last piece on a wire; 0: none
	senders := func(k int32) uint16 {
		if k < 0 {
			return before.placed[^k].src
		}
		return p.placed[k].src
	}
	if before != nil {
		for k, x := range before.placed {
			for _, w := range before.wires(x) {
				last[w] = ^int32(k)
			}
		}
	}
	out := make([][]int32, len(p.placed))
	for k, x := range p.placed {
		for _, w := range p.wires(x) {
			of := last[w]
			last[w] = int32(k) + 1
			if of > 0 {
				of--
			} else if of == 0 {
				continue
			}
			if senders(of) != x.src && !slices.Contains(out[k], of) {
				out[k] = append(out[k], of)
			}
		}
	}
	return out
}
