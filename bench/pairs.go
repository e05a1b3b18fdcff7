package bench

import (
	"fmt"
	"iter"

	"evbench/controller"
	"evbench/results"
)

// For how many servers pairs are counted: a line for each of the 262,000 pairs of 512 servers makes
// a file of about 10 MB for each slice. A run of rounds has many slices.
const (
	maxPairs       = 512
	maxPairsRounds = 128
)

// countsPairs reports whether pairs are counted. They are not if the sink does not take them or if
// they are too many; then the manifest says so.
func (r *runner) countsPairs() bool {
	most := maxPairsRounds
	if r.plan.Count == 1 {
		most = maxPairs
	}
	switch n := r.s.Tree.Servers(); {
	case !r.sink.Keeps().Pairs:
		return false
	case n > most:
		r.manifest.Warnings = append(r.manifest.Warnings, fmt.Sprintf(
			"pairs of servers are not counted one by one: %d servers make %d lines for each slice; pairs.csv is for up to %d servers, %d with rounds: 1",
			n, r.s.Tree.Messages(), most, maxPairs))
		return false
	}
	return true
}

func (r *runner) keepExchanges(m *measured) {
	for _, x := range m.outcome.Took.Times() {
		x.Case, x.Repeat = m.Name, m.repeat
		r.keep(r.sink.Write(x))
	}
}

func (r *runner) keepPairs(m *measured) {
	if !r.pairs {
		return
	}
	m.pairs = pairCounts(m.outcome, m.Plan.Tree.Pairs)
	for _, p := range m.pairs {
		p.Case, p.Repeat = m.Name, m.repeat
		r.keep(r.sink.Write(p))
	}
}

// pairCounts lists the traffic by pair to servers that have reported. A pair without times of its
// own shares the whole measured part with all others. pairs are those that have fragments, by rank.
func pairCounts(o controller.Outcome, pairs iter.Seq2[int, int]) []results.PairCount {
	if len(o.Servers) == 0 { // a server had left before the case began
		return nil
	}
	var out []results.PairCount
	for src, dst := range pairs {
		from, to := o.Servers[src], o.Servers[dst]
		if src >= len(to.Sources) {
			continue
		}
		got := to.Sources[src]
		took := got.Took
		if took == 0 && got.Bytes > 0 {
			took = o.Span
		}
		p := results.PairCount{Src: from.Server, Dst: to.Server, Bytes: got.Bytes, Sec: took.Seconds(),
			Messages: got.Messages, LongestSec: got.Longest.Seconds(), LongestAtSec: got.LongestAt.Seconds(), SoonestSec: got.Soonest.Seconds(),
			BucketSec: got.Bucket.Seconds(), Course: got.Course}
		if dst < len(from.Sources) {
			p.Resent = from.Sources[dst].Resent
		}
		out = append(out, p)
	}
	return out
}
