package verify

import (
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

func (j *orderedJudge) claims() {
	f, r := j.file, j.report
	if f.Sizes == "" {
		r.note("the file states no hash of its sizes")
	} else if is := j.sizesHash(); f.Sizes != is {
		r.claim(WrongSizes, "the sizes are stated as %s, the pieces add up to %s", shorten([]byte(f.Sizes)), is)
	}
	if f.Time > 0 && f.Time != r.Time {
		r.claim(WrongTime, "the time is stated as %d byte times, the last piece ends at %d", f.Time, r.Time)
	}
	if f.Hash != "" {
		if is := j.hash(); f.Hash != is {
			r.claim(WrongHash, "the hash is stated as %s, it is %s", shorten([]byte(f.Hash)), is)
		}
	}
	if f.Bound.Time > 0 {
		j.bound()
	}
}

func (j *orderedJudge) bound() {
	stated, r := j.file.Bound, j.report
	r.Bound = &OrderedBound{Time: stated.Time, Witness: stated.Witness}
	if r.Time > 0 {
		r.Bound.Ratio = float64(stated.Time) / float64(r.Time)
	}
	if stated.Time > r.Time {
		r.claim(BelowBound, "the plan takes %d byte times, the stated bound is %d", r.Time, stated.Time)
	}
	if need := j.ports(); stated.Time < need {
		r.claim(WeakBound, "the bound is stated as %d byte times, one server needs %d", stated.Time, need)
	}
	if !j.opt.Bound {
		r.note("the bound was not recomputed (--bound)")
		return
	}
	is, err := j.proves(stated.Witness)
	switch {
	case err != nil:
		r.claim(WrongBound, "the witness of the bound: %v", err)
	case is.Cmp(big.NewInt(stated.Time)) != 0:
		r.claim(WrongBound, "the bound is stated as %d byte times, its witness proves %s", stated.Time, is)
	default:
		r.Bound.Proven = true
	}
}

// ports returns the most bytes that a server sends or receives.
func (j *orderedJudge) ports() int64 {
	most := int64(0)
	sum := map[[2]int32]int64{}
	for _, s := range j.sizes {
		for side, server := range [2]int32{s.Src, s.Dst} {
			key := [2]int32{int32(side), server}
			sum[key] += s.Bytes
			most = max(most, sum[key])
		}
	}
	return most
}

func (j *orderedJudge) proves(witness string) (*big.Int, error) {
	kind, what, _ := strings.Cut(witness, " ")
	switch kind {
	case "send", "receive":
		position, err := strconv.ParseUint(strings.TrimPrefix(what, "server"), 10, 24)
		if err != nil || !strings.HasPrefix(what, "server") {
			return nil, fmt.Errorf("%q is not a server (server3)", shorten([]byte(what)))
		}
		sum := new(big.Int)
		for _, s := range j.sizes {
			if end := [2]int32{s.Src, s.Dst}; kind == "send" && end[0] == int32(position) || kind == "receive" && end[1] == int32(position) {
				sum.Add(sum, big.NewInt(s.Bytes))
			}
		}
		return sum, nil
	case "up", "down":
		leaf, ok := leafOf(what)
		if !ok || leaf >= j.tree.Leaves() {
			return nil, fmt.Errorf("no leaf %q", shorten([]byte(what)))
		}
		return j.dual(j.cables(leaf, kind == "down"))
	case lp:
		weights, err := weightsOf(j.tree, names(what))
		if err != nil {
			return nil, err
		}
		return j.dual(weights)
	}
	return nil, fmt.Errorf("no witness %q; there are send server3, receive server3, up leaf1, down leaf1 and lp leaf0-spine1/up=3,…", shorten([]byte(witness)))
}

func (j *orderedJudge) cables(leaf int, down bool) (out []DualWeight) {
	for l := range j.tree.UpLinks(leaf) {
		w := j.tree.UpWire(l)
		if down {
			w++
		}
		if j.tree.LinkAlive(l) {
			out = append(out, DualWeight{w, 1})
		}
	}
	return out
}

// dual is the dual for plans of equal fragments, with the bytes between leaves in place of
// messages: ⌈ Σ bytes(a,b) · (least weight of a live path from a to b) / Σ y ⌉.
func (j *orderedJudge) dual(weights []DualWeight) (*big.Int, error) {
	y, sum, err := spread(j.tree, weights)
	if err != nil {
		return nil, err
	}
	t, p, load := j.tree, newPricer(j.tree, y), new(big.Int)
	between := make(map[[2]int]int64)
	for _, s := range j.sizes {
		if a, b := int(s.Src)/t.Ports(), int(s.Dst)/t.Ports(); a != b {
			between[[2]int{a, b}] += s.Bytes
		}
	}
	for pair, bytes := range between {
		least := p.cheapest(pair[0], pair[1])
		if least == unpriced {
			return nil, fmt.Errorf("leaf%d and leaf%d share no live spine", pair[0], pair[1])
		}
		load.Add(load, new(big.Int).Mul(new(big.Int).SetUint64(least), big.NewInt(bytes)))
	}
	load.Add(load, sum).Sub(load, big.NewInt(1)) // round up
	return load.Quo(load, sum), nil
}

func (r *OrderedReport) WriteText(w io.Writer) error {
	exchanges := ""
	if r.Exchanges > 1 {
		exchanges = fmt.Sprintf("%d exchanges, ", r.Exchanges)
	}
	_, err := fmt.Fprintf(w, "%d servers, %s%d fragments in %d pieces, %d bytes\n", r.Servers, exchanges, r.Fragments, r.Pieces, r.Bytes)
	if r.Valid {
		fmt.Fprintf(w, "time T %d byte times\n", r.Time)
		if b := r.Bound; b != nil && b.Proven {
			kind, _, _ := strings.Cut(b.Witness, " ")
			fmt.Fprintf(w, "bound T* %d proven by %s: T*/T %.4f\n", b.Time, kind, b.Ratio)
		}
	}
	r.write(w)
	return err
}
