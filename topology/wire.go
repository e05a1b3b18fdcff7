package topology

import "fmt"

// A Wire is one direction of a cable, by dense ID: first the leaf-spine cables (2·LinkID upwards,
// leaf to spine; 2·LinkID+1 downwards), then the server cables by rank (up: server to leaf), then
// the cables of the top switches, in the order of LinkID. Link loads are slices indexed by Wire.
type Wire int

// Wires returns the number of wires: two for each cable between switches, and 2·S.
func (t *Tree) Wires() int { return 2 * (len(t.dead) + t.Servers()) }

// UpWire returns the upward wire of a link between switches; the downward one follows it.
func (t *Tree) UpWire(l Link) Wire {
	if l.Above {
		return Wire(2 * (t.LinkID(l) + t.Servers()))
	}
	return Wire(2 * t.LinkID(l))
}

// Up returns the wire from a leaf to a spine; where cables are parallel, of the first.
func (t *Tree) Up(leaf, spine int) Wire { return Wire(2 * (leaf*t.spines + spine) * t.cables) }

// Down returns the wire from a spine to a leaf, as Up.
func (t *Tree) Down(leaf, spine int) Wire { return t.Up(leaf, spine) + 1 }

// Across returns the wires of a message from leaf a up to a spine and down to leaf b, over the
// cables of a lane, which is negative for single cables.
func (t *Tree) Across(a, b, spine, lane int) (up, down Wire) {
	i, j := t.LaneCables(lane)
	return t.Up(a, spine) + Wire(2*i), t.Down(b, spine) + Wire(2*j)
}

// FromServer returns the wire from the server of a rank to its leaf.
func (t *Tree) FromServer(rank int) Wire { return Wire(2 * (t.LowerLinks() + rank)) }

// ToServer returns the wire from the leaf to its server of a rank.
func (t *Tree) ToServer(rank int) Wire { return Wire(2*(t.LowerLinks()+rank) + 1) }

// TopUp returns the wire from a pod's switch in a plane to a top switch of it.
func (t *Tree) TopUp(pod, spine, top int) Wire {
	return t.UpWire(Link{Leaf: pod, Spine: spine, Above: true, Top: top})
}

// TopDown returns the wire from a top switch to a pod's switch in its plane.
func (t *Tree) TopDown(pod, spine, top int) Wire { return t.TopUp(pod, spine, top) + 1 }

// Path appends the wires that a message from src to dst (ranks) crosses, in order, on a path
// (PathOf). Servers of one leaf need no path.
func (t *Tree) Path(to []Wire, src, dst, path int) []Wire {
	to = append(to, t.FromServer(src))
	if a, b := t.Leaf(src), t.Leaf(dst); a != b {
		to = t.Between(to, a, b, path)
	}
	return append(to, t.ToServer(dst))
}

// Between appends the wires of a path between two different leaves, in order.
func (t *Tree) Between(to []Wire, a, b, path int) []Wire {
	if t.tops == 0 && t.cables == 1 {
		return append(to, t.Up(a, path), t.Down(b, path))
	}
	spine, top := t.SpineTop(path)
	up, down := t.Across(a, b, spine, top)
	to = append(to, up)
	if t.Apart(a, b) {
		to = append(to, t.TopUp(t.Pod(a), spine, top), t.TopDown(t.Pod(b), spine, top))
	}
	return append(to, down)
}

// WireName returns the cable's name ("leaf0-spine3", "pod1-spine2-top3", "server17-leaf4") and
// the direction ("up" is away from the servers).
func (t *Tree) WireName(w Wire) (link, direction string) {
	direction = "up"
	if w%2 == 1 {
		direction = "down"
	}
	id, n := int(w)/2, t.LowerLinks()
	switch {
	case id >= n+t.Servers():
		return t.LinkName(t.LinkOf(id - t.Servers())), direction
	case id >= n:
		return t.ServerName(id-n) + "-" + t.SwitchName(t.Leaf(id-n)), direction
	}
	return t.LinkName(t.LinkOf(id)), direction
}

// ServerName returns "server" and the position of the server of a rank.
func (t *Tree) ServerName(rank int) string { return fmt.Sprintf("server%d", t.Position(rank)) }
