package verify

// claims judges what the header states, once the messages are counted.
func (j *judge) claims() {
	f, r := j.file, j.report
	for _, p := range f.Unreachable {
		if j.fabric.reachable(p[0], p[1]) {
			j.claim(ReachablePair, "the file leaves out leaf%d-leaf%d, but a live path leads from one to the other", p[0], p[1])
		}
	}
	if f.Phases != 0 && f.Phases != r.Phases {
		j.claim(WrongPhaseCount, "the file states %d phases; %d hold a message", f.Phases, r.Phases)
	}
	if f.Hash != "" && f.Hash != j.digest {
		j.claim(WrongHash, "the file states hash %s; its canonical text has %s", f.Hash, j.digest)
	}
	if f.Bound.Phases != 0 {
		j.bound()
	} else if j.opt.Bound {
		j.note("bound not checked: the file states none")
	}
}
