package verify

import "fmt"

// What is wrong with a message, and the sentence on it. Sentences are only
// written for offences that are kept.

// meaningless accuses a message of which an end is absent, or that has one only.
func (j *judge) meaningless(i int32, src, dst seat) {
	m := &j.messages[i]
	if src.rank >= 0 && dst.rank >= 0 {
		j.message(SelfMessage, i, func() string { return fmt.Sprintf("server%d sends to itself", m.Src) })
		return
	}
	if src.rank < 0 {
		j.message(UnknownServer, i, func() string { return j.absent(m.Src) })
	}
	if dst.rank < 0 {
		j.message(UnknownServer, i, func() string { return j.absent(m.Dst) })
	}
}

func (j *judge) absent(position int32) string {
	if position < 0 || int(position) >= len(j.seats) {
		return fmt.Sprintf("no server%d: %s has server0..server%d", position, j.tree.Notation(), len(j.seats)-1)
	}
	leaf, slot := int(position)/j.tree.Ports(), int(position)%j.tree.Ports()
	return fmt.Sprintf("no server%d: it would sit in slot %d of leaf%d, where the fill puts %d servers", position, slot, leaf, j.tree.On(leaf))
}

// repeated looks for the first time the pair met, when that is told. O(messages).
func (j *judge) repeated(i int32) {
	j.message(RepeatedMessage, i, func() string {
		m := &j.messages[i]
		for _, first := range j.messages[:i] {
			if first.Src == m.Src && first.Dst == m.Dst {
				return fmt.Sprintf("server%d sends to server%d again, after phase %d", m.Src, m.Dst, first.Phase)
			}
		}
		return fmt.Sprintf("server%d sends to server%d again", m.Src, m.Dst)
	})
}

func (j *judge) unreachable(i int32, src, dst seat) {
	j.message(UnreachableMessage, i, func() string {
		m := &j.messages[i]
		return fmt.Sprintf("server%d on leaf%d sends to server%d on leaf%d, but the file lists the leaves as unreachable", m.Src, src.leaf, m.Dst, dst.leaf)
	})
}

func (j *judge) sendsTwice(i int32, w int) {
	j.message(SendsTwice, i, func() string {
		m, first := &j.messages[i], &j.messages[j.wires[w].first]
		return fmt.Sprintf("server%d sends to server%d and to server%d", m.Src, first.Dst, m.Dst)
	})
}

func (j *judge) receivesTwice(i int32, w int) {
	j.message(ReceivesTwice, i, func() string {
		m, first := &j.messages[i], &j.messages[j.wires[w].first]
		return fmt.Sprintf("server%d receives from server%d and from server%d", m.Dst, first.Src, m.Src)
	})
}

// contention accuses message i of being on a wire that another one is on.
func (j *judge) contention(i int32, w int) {
	if j.opt.AllowContention {
		return
	}
	j.message(Contention, i, func() string {
		m, first := &j.messages[i], &j.messages[j.wires[w].first]
		return fmt.Sprintf("%s carries server%d to server%d and server%d to server%d", j.fabric.wireText(w), first.Src, first.Dst, m.Src, m.Dst)
	})
}

// needless accuses a path inside a leaf, or where the routing leaves it open.
func (j *judge) needless(i int32, src, dst seat) {
	j.message(NeedlessSpine, i, func() string {
		m := &j.messages[i]
		why := fmt.Sprintf("routing %s leaves the spine open", j.file.Routing)
		if src.leaf == dst.leaf {
			why = fmt.Sprintf("both sit on leaf%d", src.leaf)
		}
		if m.Spine == NoSpine {
			return fmt.Sprintf("server%d to server%d names top%d, but %s", m.Src, m.Dst, m.Top, why)
		}
		return fmt.Sprintf("server%d to server%d names spine%d, but %s", m.Src, m.Dst, m.Spine, why)
	})
}

func (j *judge) needlessTop(i int32, pod int) {
	j.message(NeedlessTop, i, func() string {
		m := &j.messages[i]
		return fmt.Sprintf("server%d to server%d names top%d, but both sit in pod%d", m.Src, m.Dst, m.Top, pod)
	})
}

func (j *judge) noSpine(i int32, src, dst seat) {
	m := &j.messages[i]
	if m.Spine == NoSpine {
		j.message(MissingSpine, i, func() string {
			return fmt.Sprintf("server%d on leaf%d sends to server%d on leaf%d through no spine", m.Src, src.leaf, m.Dst, dst.leaf)
		})
		return
	}
	j.message(NoSuchSpine, i, func() string {
		return fmt.Sprintf("server%d sends to server%d through spine%d; there are spine0..spine%d", m.Src, m.Dst, m.Spine, j.tree.Spines()-1)
	})
}

func (j *judge) noTop(i int32, a, b int) {
	m := &j.messages[i]
	if m.Top == NoTop {
		j.message(MissingTop, i, func() string {
			return fmt.Sprintf("server%d in pod%d sends to server%d in pod%d through spine%d and no top switch", m.Src, a, m.Dst, b, m.Spine)
		})
		return
	}
	j.message(NoSuchTop, i, func() string {
		return fmt.Sprintf("server%d sends to server%d through top%d of spine%d; there are top0..top%d", m.Src, m.Dst, m.Top, m.Spine, j.tree.Tops()-1)
	})
}

func (j *judge) deadLeaf(i int32, a, b int) {
	j.message(DeadLink, i, func() string {
		m, leaf := &j.messages[i], a
		if j.tree.Alive(a, int(m.Spine)) {
			leaf = b
		}
		return fmt.Sprintf("server%d sends to server%d over leaf%d-spine%d, which is dead", m.Src, m.Dst, leaf, m.Spine)
	})
}

func (j *judge) deadTop(i int32, a, b int) {
	j.message(DeadLink, i, func() string {
		m, pod := &j.messages[i], a
		if j.tree.TopAlive(a, int(m.Spine), int(m.Top)) {
			pod = b
		}
		return fmt.Sprintf("server%d sends to server%d over pod%d-spine%d-top%d, which is dead", m.Src, m.Dst, pod, m.Spine, m.Top)
	})
}

// inconsistent accuses a leaf of a second spine to one destination.
func (j *judge) inconsistent(i int32, leaf, dst int) {
	j.message(Inconsistent, i, func() string {
		m, first := &j.messages[i], int(j.table[leaf*j.report.Servers+dst])-1
		return fmt.Sprintf("leaf%d sends to server%d through spine%d, elsewhere through spine%d; routing %s has one path", leaf, m.Dst, m.Spine, first, j.file.Routing)
	})
}

func (j *judge) inconsistentTop(i int32, pod, dst int) {
	j.message(Inconsistent, i, func() string {
		m := &j.messages[i]
		first := int(j.tops[(pod*j.tree.Spines()+int(m.Spine))*j.report.Servers+dst]) - 1
		return fmt.Sprintf("pod%d sends to server%d through top%d of spine%d, elsewhere through top%d; routing %s has one path", pod, m.Dst, m.Top, m.Spine, first, j.file.Routing)
	})
}

// missing accuses the ordered pairs that never met. Only as many as are kept
// are looked for.
func (j *judge) missing() {
	s := j.report.Servers
	never := j.expected - j.pairs
	for bit, found := 0, 0; found < never && j.room(); bit++ {
		src, dst := bit/s, bit%s
		if src == dst || j.met[bit>>6]&(1<<(bit&63)) != 0 || j.cut != nil && j.left(j.tree.Leaf(src), j.tree.Leaf(dst)) {
			continue
		}
		found++
		a, b := j.tree.Position(src), j.tree.Position(dst)
		j.report.Offences = append(j.report.Offences, Offence{MissingMessage, -1, a, b, -1, -1, fmt.Sprintf("server%d never sends to server%d", a, b)})
	}
	if never > 0 {
		j.accuse(MissingMessage, never)
	}
}
