package verify

import (
	"fmt"
	"math"
	"math/big"
)

// claims judges what the header states, once the messages are counted.
func (j *judge) claims() {
	f, r := j.file, j.report
	if f.Phases != 0 && f.Phases != r.Phases {
		j.claim(WrongPhaseCount, "the file states %d phases; %d hold a message", f.Phases, r.Phases)
	}
	if f.Hash != "" {
		if h := hash(f.Tree, j.messages); h != f.Hash {
			j.claim(WrongHash, "the file states hash %s; its canonical text has %s", f.Hash, h)
		}
	}
	j.predictions()
	if f.Bound.Phases == 0 {
		if j.opt.Bound {
			j.note("bound not checked: the file states none")
		}
		return
	}
	j.bound()
	if j.opt.Bound {
		j.witness()
	}
}

// predictions judges the figures that only the JSON form carries.
func (j *judge) predictions() {
	p, r := j.file.Predictions, j.report
	if b := j.file.Bound.Phases; p.Gap != nil && b != 0 && *p.Gap != r.Phases-b {
		j.claim(WrongPrediction, "the file states gap %d; %d phases and bound %d leave %d", *p.Gap, r.Phases, b, r.Phases-b)
	}
	if j.spines == open {
		return
	}
	j.figure("duration", p.Duration, float64(r.Duration))
	j.figure("predicted_efficiency", p.Efficiency, r.PredictedEfficiency)
	j.figure("unsynchronised_efficiency_at_most", p.Unsynchronised, j.unsynchronised())
}

func (j *judge) figure(name string, stated *float64, counted float64) {
	// Not exact: the writer may have added or divided in another order.
	if stated != nil && !(math.Abs(*stated-counted) <= 1e-9*math.Abs(counted)) {
		j.claim(WrongPrediction, "the file states %s %v; the link loads give %v", name, *stated, counted)
	}
}

// unsynchronised returns (S-1) / the most messages of the exchange on one wire
// (an upper bound on the efficiency without phases).
func (j *judge) unsynchronised() float64 {
	var most int32
	for _, l := range j.wires {
		most = max(most, l.total)
	}
	if most == 0 {
		return 0
	}
	return float64(j.report.Servers-1) / float64(most)
}

// bound judges the stated lower bound without its witness.
func (j *judge) bound() {
	b := j.file.Bound
	if j.report.ContentionChecked && j.report.Phases < b.Phases {
		j.claim(BelowBound, "the plan has %d phases, fewer than its stated lower bound of %d", j.report.Phases, b.Phases)
	}
	for _, kind := range j.simpleBounds() {
		if n, ok := j.simple(kind); ok && b.Phases < n {
			j.claim(WeakBound, "the file states a lower bound of %d phases; %s alone needs %d", b.Phases, kind, n)
			return
		}
	}
}

// simpleBounds returns the labels of the server and of the strongest leaf bound.
func (j *judge) simpleBounds() []string {
	best, most := -1, 0
	for l := range j.tree.Leaves() {
		if n, ok := j.leafBound(l); ok && n > most {
			best, most = l, n
		}
	}
	if best < 0 {
		return []string{"server"}
	}
	return []string{"server", fmt.Sprintf("leaf%d", best)}
}

// simple recomputes the bound of a label "server" or "leafN"; false when there
// is none.
func (j *judge) simple(kind string) (phases int, ok bool) {
	if kind == "server" {
		return j.report.Servers - 1, true
	}
	leaf, ok := leafOf(kind)
	if !ok || leaf >= j.tree.Leaves() {
		return 0, false
	}
	return j.leafBound(leaf)
}

// leafBound returns ⌈n(S-n) / live spines⌉ of a leaf: what leaves it has to fit
// on its live links. It has none when servers of the leaf are cut off.
func (j *judge) leafBound(leaf int) (phases int, ok bool) {
	n := j.tree.On(leaf)
	outside, live := n*(j.report.Servers-n), len(j.tree.AliveSpines(leaf))
	if outside == 0 {
		return 0, true
	}
	if live == 0 {
		return 0, false
	}
	return (outside + live - 1) / live, true
}

// witness recomputes the stated bound from what the file says proves it.
func (j *judge) witness() {
	b := j.file.Bound
	if b.Kind == LP {
		j.weights()
		return
	}
	n, ok := j.simple(b.Kind)
	switch {
	case !ok:
		j.claim(WrongBound, "bound %d %s: there is no such leaf with a live link", b.Phases, b.Kind)
	case n != b.Phases:
		j.claim(WrongBound, "the file states bound %d by %s; %s proves %d", b.Phases, b.Kind, b.Kind, n)
	}
}

func (j *judge) weights() {
	b := j.file.Bound
	if b.Weights == nil {
		j.note("bound not checked: the text form carries no weights, use the JSON form")
		return
	}
	n, err := dual(j.tree, b.Weights)
	switch {
	case err != nil:
		j.claim(WrongBound, "bound %d lp: %v", b.Phases, err)
	case n.Cmp(big.NewInt(int64(b.Phases))) != 0:
		j.claim(WrongBound, "the file states bound %d by lp; its weights prove %v", b.Phases, n)
	}
}
