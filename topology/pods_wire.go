package topology

// Wires returns the number of wires: those of Lower come first, then those of
// the top switches.
func (p *Pods) Wires() int { return p.lower.Wires() + 2*len(p.dead) }

// TopUp returns the wire from a pod's switch in a plane to a top switch.
func (p *Pods) TopUp(pod, spine, top int) Wire {
	return Wire(p.lower.Wires() + 2*p.topID(TopLink{pod, spine, top}))
}

// TopDown returns the wire from a top switch to a pod's switch in its plane.
func (p *Pods) TopDown(pod, spine, top int) Wire { return p.TopUp(pod, spine, top) + 1 }

// Path appends the wires that a message from src to dst (ranks) crosses, in
// order: through a plane between leaves, and through a top switch of it between
// pods. Within a pod top is not used, nor plane within a leaf.
func (p *Pods) Path(to []Wire, src, dst, plane, top int) []Wire {
	t := p.lower
	to = append(to, t.FromServer(src))
	if a, b := t.Leaf(src), t.Leaf(dst); a != b {
		to = append(to, t.Up(a, plane))
		if q, r := p.Pod(a), p.Pod(b); q != r {
			to = append(to, p.TopUp(q, plane, top), p.TopDown(r, plane, top))
		}
		to = append(to, t.Down(b, plane))
	}
	return append(to, t.ToServer(dst))
}

// WireName returns the cable's name ("leaf0-spine3", "pod1-spine2-top3",
// "server17-leaf4") and the direction ("up" is away from the servers).
func (p *Pods) WireName(w Wire) (link, direction string) {
	low := p.lower.Wires()
	if int(w) < low {
		return p.lower.WireName(w)
	}
	direction = "up"
	if (int(w)-low)%2 == 1 {
		direction = "down"
	}
	return p.topLink((int(w) - low) / 2).String(), direction
}
