package judge

import "evbench/topology"

// countPaths counts the paths between leaves, without messages that have no meaning.
func (j *judge) countPaths() *topology.Paths {
	p := j.tree.CountPaths(func(_, _ int, count func(leaf, dst, path int)) {
		for i := range j.messages {
			m := &j.messages[i]
			src, dst := j.at(m.Src), j.at(m.Dst)
			if src.rank < 0 || dst.rank < 0 || src.leaf == dst.leaf {
				continue
			}
			if path := j.pathOf(m); path >= 0 {
				count(int(src.leaf), int(dst.rank), path)
			}
		}
	})
	return &p
}

// pathOf is the path that a message between leaves names (topology.Wires.PathOf), -1 if the tree does not have it.
func (j *judge) pathOf(m *Message) int {
	t, top := j.tree, int(m.Top)
	if uint(m.Spine) >= uint(t.Spines()) || j.form == topForm && top >= t.Tops() {
		return -1
	}
	if j.form == cablesForm {
		up, down := m.Cables()
		if m.Top == NoTop || max(up, down) >= t.Cables() {
			return -1
		}
		top = t.Lane(up, down)
	}
	return t.PathOf(int(m.Spine), top)
}
