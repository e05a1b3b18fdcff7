// Package culprit asks results/attribution who is slow in a run: from its counts of pairs and servers, and the ways of its
// plan. It is apart from results, which know no plan.
package culprit

import (
	"bytes"
	"math"
	"slices"

	"evbench/builder/modes"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/results"
	"evbench/results/attribution"
	"evbench/routing"
)

// Evidence is what a slice shows of who is slow, with nothing but its pairs and servers. control is the position of
// the server whose cable control messages take, too, -1 for none.
func Evidence(p *plan.Plan, mode modes.Mode, sec float64, pairs []results.PairCount, servers []results.ServerCount, control int) attribution.Evidence {
	t := p.Tree
	e := attribution.Evidence{Timed: mode == modes.Sync, Sec: sec, Ways: Planned{Plan: p}}
	ranks := map[int]int{}
	for r := range t.Servers() {
		ranks[t.Position(r)], e.Names = r, append(e.Names, t.HostName(r))
	}
	loads := Planned{Plan: p}.Loads()
	var counted []results.PairCount
	for _, x := range pairs {
		src, known := ranks[x.Src]
		dst, also := ranks[x.Dst]
		if !known || !also {
			continue
		}
		y := attribution.Pair{Src: src, Dst: dst, Bytes: x.Bytes, Sec: x.Sec, Longest: x.LongestSec, Messages: int(x.Messages), Resent: x.Resent, LongestAt: x.LongestAtSec, Soonest: x.SoonestSec}
		if loads != nil {
			shared := max(1, loads[src*t.Servers()+dst])
			y.Shared, y.Expected = int(shared), shared*float64(x.Bytes)
		}
		e.Pairs, counted = append(e.Pairs, y), append(counted, x)
	}
	split(&e, counted)
	if len(servers) != t.Servers() {
		return e
	}
	e.Servers = make([]attribution.Server, t.Servers())
	for _, x := range servers {
		r, ok := ranks[x.Server]
		if !ok {
			continue
		}
		e.Servers[r] = attribution.Server{
			Stops: int(x.Stops), Stood: max(0, x.StoodSec-x.RunDelaySec), Longest: x.LongestStopSec, First: x.FirstStopSec,
			Control: x.Server == control, Errors: x.Errors, Pauses: x.PausesSent,
		}
	}
	return e
}

// split puts the courses of pairs into parts of the time, as long as the longest of them.
func split(e *attribution.Evidence, counted []results.PairCount) {
	width, n := lists.MaxOf(counted, func(x results.PairCount) float64 { return x.BucketSec }), 0
	for i, x := range counted {
		shares := x.Course.Parts()
		for j := 0; x.BucketSec > 0 && j < len(shares); { // as many as make one of the longest
			each := min(len(shares)-j, max(1, int(math.Round(width/x.BucketSec))))
			came := lists.Filter(shares[j:j+each], func(x float64) bool { return x > 0 })
			share := lists.Sum(came, func(x float64) float64 { return x / float64(len(came)) })
			e.Pairs[i].Course = append(e.Pairs[i].Course, share*x.Sec/max(1, float64(x.Bytes)))
			j += each
		}
		n = max(n, len(e.Pairs[i].Course))
	}
	for i := range n {
		e.Parts = append(e.Parts, float64(i+1)*width)
	}
	for i := range e.Pairs {
		e.Pairs[i].Course = append(e.Pairs[i].Course, make([]float64, n-len(e.Pairs[i].Course))...)
	}
	if n > 0 && e.Sec > e.Parts[n-1]-width {
		e.Parts[n-1] = e.Sec
	}
}

// Unreached says what no message of a plan passes, by probes between its servers; see attribution.Unreached.
func Unreached(p *plan.Plan, probe func(src, dst int) (answered, known bool)) (attribution.Broken, bool) {
	e := attribution.Evidence{Ways: Planned{Plan: p}}
	for r := range p.Tree.Servers() {
		e.Names = append(e.Names, p.Tree.HostName(r))
	}
	for src, dst := range p.Tree.Pairs {
		e.Pairs = append(e.Pairs, attribution.Pair{Src: src, Dst: dst})
	}
	return attribution.Unreached(e, probe)
}

// Against returns who is slower in a case of a run than it was in another run, beside all others; nobody where one of
// them has not counted its pairs in phases. Plans are read from the texts of the run; x has their engines.
func Against(base, run *results.Run, name string, x routing.Engines) []attribution.Cause {
	p, err := plan.Read(bytes.NewReader(run.Plans[name]), x)
	if err != nil {
		return nil
	}
	of := func(c results.Case) bool { return c.Name == name && c.Mode == modes.Sync }
	if !slices.ContainsFunc(base.Summary.Cases, of) || !slices.ContainsFunc(run.Summary.Cases, of) {
		return nil
	}
	pairs := lists.Filter(run.Merge().Pairs, func(x results.PairCount) bool { return x.Case == name })
	e := Evidence(p, modes.Sync, 0, pairs, nil, -1)
	if !Expect(&e, p, base, name) {
		return nil
	}
	return attribution.Find(e)
}

// Expect has evidence expect of each pair the time that it took in a case of a run, for the same bytes. It reports
// whether that run counted just these pairs.
func Expect(e *attribution.Evidence, p *plan.Plan, base *results.Run, name string) bool {
	was := map[[2]int]results.PairCount{}
	for _, x := range base.Merge().Pairs {
		if x.Case == name {
			was[[2]int{x.Src, x.Dst}] = x
		}
	}
	if len(e.Pairs) != len(was) {
		return false
	}
	for i := range e.Pairs {
		y := &e.Pairs[i]
		x := was[[2]int{p.Tree.Position(y.Src), p.Tree.Position(y.Dst)}]
		if x.Bytes == 0 || x.Sec == 0 {
			return false
		}
		y.Expected = x.Sec / float64(x.Bytes) * float64(y.Bytes)
	}
	return true
}
