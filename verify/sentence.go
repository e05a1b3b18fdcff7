package verify

import "fmt"

// Sentences that take more than one look at the fabric or the file. They are
// only asked for offences that are kept.

func (j *judge) absent(m Message, src, dst int32) {
	accuse := func(position int32) {
		j.message(UnknownServer, m, func() string { return fmt.Sprintf("no server%d: %s", position, j.whyAbsent(position)) })
	}
	if src < 0 {
		accuse(m.Src)
	}
	if dst < 0 {
		accuse(m.Dst)
	}
}

func (j *judge) whyAbsent(position int32) string {
	if position < 0 || int(position) >= len(j.rank) {
		return fmt.Sprintf("%s has server0..server%d", j.tree.Notation(), len(j.rank)-1)
	}
	leaf, slot := int(position)/j.tree.Ports(), int(position)%j.tree.Ports()
	return fmt.Sprintf("it would sit in slot %d of leaf%d, where the fill puts %d servers", slot, leaf, j.tree.On(leaf))
}

// repeated looks for the first time the pair met. O(messages).
func (j *judge) repeated(i int32, m Message) string {
	for _, first := range j.messages[:i] {
		if first.Src == m.Src && first.Dst == m.Dst {
			return fmt.Sprintf("server%d sends to server%d again, after phase %d", m.Src, m.Dst, first.Phase)
		}
	}
	return fmt.Sprintf("server%d sends to server%d again", m.Src, m.Dst)
}

func (j *judge) needless(m Message, a, b int) string {
	if a == b {
		return fmt.Sprintf("server%d to server%d names spine%d, but both sit on leaf%d", m.Src, m.Dst, m.Spine, a)
	}
	return fmt.Sprintf("server%d to server%d names spine%d, but routing %s leaves the spine open", m.Src, m.Dst, m.Spine, j.file.Routing)
}

func (j *judge) dead(m Message, a, b int) string {
	leaf := a
	if j.tree.Alive(a, int(m.Spine)) {
		leaf = b
	}
	return fmt.Sprintf("server%d sends to server%d over leaf%d-spine%d, which is dead", m.Src, m.Dst, leaf, m.Spine)
}

// missing accuses the ordered pairs that never met. Only as many as are kept
// are looked for.
func (j *judge) missing() {
	s := j.report.Servers
	never := s*(s-1) - j.pairs
	for bit, found := 0, 0; found < never && j.room(); bit++ {
		src, dst := bit/s, bit%s
		if src == dst || j.met[bit>>6]&(1<<(bit&63)) != 0 {
			continue
		}
		found++
		a, b := j.tree.Position(src), j.tree.Position(dst)
		j.report.Offences = append(j.report.Offences, Offence{MissingMessage, -1, a, b, -1, fmt.Sprintf("server%d never sends to server%d", a, b)})
	}
	if never > 0 {
		j.accuse(MissingMessage, never)
	}
}
