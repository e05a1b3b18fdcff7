package topology

import (
	"fmt"
)

// A Wire is one direction of a cable, by dense ID: first the leaf-spine cables
// (2·LinkID upwards, leaf to spine; 2·LinkID+1 downwards), then the server
// cables by rank (up: server to leaf), then those of the top switches. Link loads
// are slices indexed by Wire.
type Wire int

// Wires returns the number of wires: 2·Leaves·Spines + 2·S, and two of each cable above.
func (t *Tree) Wires() int {
	n := 2*t.leaves*t.spines + 2*t.Servers()
	if t.pods != nil {
		n += 2 * len(t.pods.dead)
	}
	return n
}

// UpWire returns the upward wire of a link between switches; the downward one follows it.
func (t *Tree) UpWire(l Link) Wire {
	if l.Above {
		return t.pods.TopUp(l.Leaf, l.Spine, l.Top)
	}
	return t.Up(l.Leaf, l.Spine)
}

// Up returns the wire from a leaf to a spine.
func (t *Tree) Up(leaf, spine int) Wire { return Wire(2 * (leaf*t.spines + spine)) }

// Down returns the wire from a spine to a leaf.
func (t *Tree) Down(leaf, spine int) Wire { return Wire(2*(leaf*t.spines+spine) + 1) }

// FromServer returns the wire from the server of a rank to its leaf.
func (t *Tree) FromServer(rank int) Wire { return Wire(2 * (t.leaves*t.spines + rank)) }

// ToServer returns the wire from the leaf to its server of a rank.
func (t *Tree) ToServer(rank int) Wire { return Wire(2*(t.leaves*t.spines+rank) + 1) }

// Path appends the wires that a message from src to dst (ranks) crosses, in
// order, when it takes a path (PathOf); servers of one leaf need none.
func (t *Tree) Path(to []Wire, src, dst, path int) []Wire {
	spine, top := t.SpineTop(path)
	if t.pods != nil {
		return t.pods.Path(to, src, dst, spine, top)
	}
	to = append(to, t.FromServer(src))
	if a, b := t.Leaf(src), t.Leaf(dst); a != b {
		to = append(to, t.Up(a, spine), t.Down(b, spine))
	}
	return append(to, t.ToServer(dst))
}

// WireName returns the cable's name ("leaf0-spine3", "server17-leaf4") and the
// direction ("up" is away from the servers).
func (t *Tree) WireName(w Wire) (link, direction string) {
	direction = "up"
	if w%2 == 1 {
		direction = "down"
	}
	id := int(w) / 2
	if n := t.leaves * t.spines; id >= n+t.Servers() {
		return t.pods.topLink(id - n - t.Servers()).String(), direction
	} else if id >= n {
		return fmt.Sprintf("%s-leaf%d", t.ServerName(id-n), t.Leaf(id-n)), direction
	}
	return Link{Leaf: id / t.spines, Spine: id % t.spines}.String(), direction
}

// ServerName returns "server" and the position of the server of a rank.
func (t *Tree) ServerName(rank int) string { return fmt.Sprintf("server%d", t.Position(rank)) }

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
func (p *Pods) WireName(w Wire) (link, direction string) { return p.Tree().WireName(w) }
