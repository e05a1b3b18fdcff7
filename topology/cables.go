package topology

import "slices"

// Damage counts dead cables, and all that the tree ever had. Links of one cable count once.
func (v *Live) Damage() (dead, all int) {
	dead, all = v.damage(false)
	above, more := v.damage(true)
	return dead + above, all + more
}

// damage is Damage of the cables to top switches, or of the others.
func (v *Live) damage(above bool) (dead, all int) {
	for id := range v.dead {
		l := v.LinkOf(id)
		if l.Above != above || v.Absent(l) || v.CableOf(l)[0] != l {
			continue
		}
		if all++; v.dead[id] {
			dead++
		}
	}
	return dead, all
}

// CableOf returns the links that are one cable with a link, itself among them, by LinkID: a cable
// that carries several messages at once, each at the rate of a host, is as many links (Names.Ports,
// Names.Links).
func (v *Live) CableOf(l Link) []Link {
	if v.names != nil && v.names.Cables != nil && len(v.names.Cables[v.LinkID(l)]) > 0 {
		return v.names.Cables[v.LinkID(l)]
	}
	for _, own := range v.beside(l) {
		if slices.Contains(own, l) {
			return own
		}
	}
	return []Link{l}
}

// beside returns the links between a parallel link's leaf and spine, by cable, without those that
// never were there; nil where no port is known.
func (v *Live) beside(l Link) (cables [][]Link) {
	if l.Cable == 0 || v.names == nil || v.names.Ports == nil {
		return nil
	}
	at := map[[2]uint8]int{}
	free := 0 // links of cables without known ports, so far
	for c := range v.cables {
		x := v.Cable(l.Leaf, l.Spine, c)
		id := v.LinkID(x)
		ports := v.names.Ports[id]
		if ports[0] == 0 && v.Absent(x) {
			continue
		}
		if ports[0] == 0 {
			ports[1] = uint8(free / max(1, v.names.Links))
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
