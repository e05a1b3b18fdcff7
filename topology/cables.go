package topology

import "slices"

// Damage counts dead cables, and all that the tree ever had. Links of one cable count once.
func (t *Tree) Damage() (dead, all int) {
	dead, all = t.damage(false)
	above, more := t.damage(true)
	return dead + above, all + more
}

// damage is Damage of the cables to top switches, or of the others.
func (t *Tree) damage(above bool) (dead, all int) {
	for id := range t.dead {
		l := t.LinkOf(id)
		if l.Above != above || t.Absent(l) || t.CableOf(l)[0] != l {
			continue
		}
		if all++; t.dead[id] {
			dead++
		}
	}
	return dead, all
}

// CableOf returns the links that are one cable with a link, itself among them, by LinkID: a cable
// that carries several messages at once, each at the rate of a host, is as many links (Names.Ports,
// Names.Links).
func (t *Tree) CableOf(l Link) []Link {
	if t.names != nil && t.names.Cables != nil && len(t.names.Cables[t.LinkID(l)]) > 0 {
		return t.names.Cables[t.LinkID(l)]
	}
	for _, own := range t.beside(l) {
		if slices.Contains(own, l) {
			return own
		}
	}
	return []Link{l}
}

// beside returns the links between a parallel link's leaf and spine, by cable, without those that
// never were there; nil where no port is known.
func (t *Tree) beside(l Link) (cables [][]Link) {
	if l.Cable == 0 || t.names == nil || t.names.Ports == nil {
		return nil
	}
	at := map[[2]uint8]int{}
	free := 0 // links of cables without known ports, so far
	for c := range t.cables {
		x := t.Cable(l.Leaf, l.Spine, c)
		id := t.LinkID(x)
		ports := t.names.Ports[id]
		if ports[0] == 0 && t.Absent(x) {
			continue
		}
		if ports[0] == 0 {
			ports[1] = uint8(free / max(1, t.names.Links))
			free++
		}
		i, ok := at[ports]
		if !ok {
			i = len(cables)
			at[ports], cables = i, append(cables, nil)
		}
		cables[i] = append(cables[i], x)
	}
	return cables
}
