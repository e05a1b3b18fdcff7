package verify

import "math"

// claims judges what the header states, once the messages are counted.
func (j *judge) claims() {
	f, r := j.file, j.report
	for _, p := range f.unreachable {
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
	j.predictions()
	if f.Bound.Phases != 0 {
		j.bound()
	} else if j.opt.Bound {
		j.note("bound not checked: the file states none")
	}
}

// predictions judges the figures that only the JSON form carries.
func (j *judge) predictions() {
	p, r := j.file.predictions, j.report
	if b := j.file.Bound.Phases; p.gap != nil && b != 0 && *p.gap != r.Phases-b {
		j.claim(WrongPrediction, "the file states gap %d; %d phases and bound %d leave %d", *p.gap, r.Phases, b, r.Phases-b)
	}
	if n := p.moved; n != nil && (*n < 0 || *n > r.Messages) {
		j.claim(WrongPrediction, "the file states %d messages moved; it has %d", *n, r.Messages)
	}
	j.paths()
	if j.spines == open {
		return
	}
	j.figure("duration", p.duration, float64(r.Duration))
	j.figure("predicted_efficiency", p.efficiency, r.PredictedEfficiency)
	j.figure("unsynchronised_efficiency_at_most", p.unsynchronised, j.unsynchronised())
}

func (j *judge) figure(name string, stated *float64, counted float64) {
	// Not exact: the writer may have added or divided in another order.
	if stated != nil && !(math.Abs(*stated-counted) <= 1e-9*math.Abs(counted)) {
		j.claim(WrongPrediction, "the file states %s %v; the link loads give %v", name, *stated, counted)
	}
}

// paths judges the stated addresses.
func (j *judge) paths() {
	stated, counted := j.file.predictions.paths, j.report.Paths
	switch {
	case stated == nil:
	case counted == nil:
		j.note("paths not checked: with routing %s the file does not say which spine a message takes", j.file.Routing)
	case *stated != *counted:
		j.claim(WrongPrediction, "the file states paths %s; the spines give %s", stated, counted)
	}
}

// unsynchronised returns the most messages of a server (S-1) / the most messages of the exchange on one wire
// (an upper bound on the efficiency without phases).
func (j *judge) unsynchronised() float64 {
	var most int32
	for _, l := range j.wires {
		most = max(most, l.total)
	}
	if most == 0 {
		return 0
	}
	return float64(j.ideal) / float64(most)
}
