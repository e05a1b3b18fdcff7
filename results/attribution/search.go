package attribution

import (
	"cmp"
	"math"
	"slices"

	"evbench/internal/lists"
)

// A search holds the pairs that no cause explains yet.
type search struct {
	Evidence
	all    []candidate
	known  []bool    // [pair] its way
	open   []bool    // [pair] not explained
	excess []float64 // [pair] of the usual time; NaN: not known
	y      []float64 // the same in standard deviations, clipped
	lost   []float64 // [pair] segments resent, more than usual
	again  []float64 // [pair] the same, clipped
	sigma  float64
	aside  []candidate // whose pairs are not open any more
}

func newSearch(e Evidence) *search {
	s := &search{Evidence: e, open: lists.Map(e.Pairs, Pair.told)}
	s.all, s.known = candidates(e)
	s.lost = lists.Map(e.Pairs, func(p Pair) float64 { return float64(p.Resent) })
	usual := median(s.lost) // of many that send to one at once all may lose the first
	for i := range s.lost {
		s.lost[i] = max(0, s.lost[i]-usual)
		s.again = append(s.again, min(s.lost[i], mostResent))
	}
	s.measure()
	return s
}

// mostResent is how many segments of a pair count: one time-out sends many again.
const mostResent = 3

// measure finds the usual time of the open pairs, and what is more than that.
func (s *search) measure() {
	early := s.early()
	ratio := lists.Map(s.Pairs, func(p Pair) float64 {
		sec := p.Sec
		if early > 0 && p.Soonest > 0 {
			sec -= float64(p.Messages) * (p.Soonest - early)
		}
		switch {
		case !s.Timed || sec <= 0 || p.Bytes == 0:
			return math.NaN()
		case p.Expected > 0:
			return sec / p.Expected
		}
		return sec / float64(p.Bytes)
	})
	s.level(ratio)
	var open []float64
	for i, r := range ratio {
		if s.open[i] && !math.IsNaN(r) {
			open = append(open, r)
		}
	}
	usual := median(open)
	off := lists.Map(open, func(r float64) float64 { return math.Abs(r/usual - 1) })
	const ofNormal = 1.4826 // standard deviations in a median of absolute differences
	s.sigma = max(leastSigma, ofNormal*median(off))
	s.excess = lists.Map(ratio, func(r float64) float64 { return r/usual - 1 })
	s.y = lists.Map(s.excess, func(x float64) float64 { return max(-clipped/2, min(clipped, x/s.sigma)) })
}

// early is how long messages are usually awaited before they begin, 0 where that is not known or no small part of
// them: servers leave a barrier one after the other, and the first wait longer for all of their messages.
func (s *search) early() float64 {
	var soonest, sec []float64
	for _, p := range s.Pairs {
		if p.Soonest > 0 && p.Messages > 0 {
			soonest, sec = append(soonest, p.Soonest), append(sec, p.Sec/float64(p.Messages))
		}
	}
	if early := median(soonest); early <= mostEarly*median(sec) {
		return early
	}
	return 0
}

// mostEarly is which part of a message the wait for its beginning may be: where a whole message comes at once, it says
// how fast the link is.
const mostEarly = 0.4

// leastSigmas is how far above the scatter of single pairs a cause must be: on a busy machine some dozen pairs are a
// little late together by chance.
const leastSigmas = 2

// mostBias bounds how much longer n messages on one link may take than n times one that has it alone: a rate
// limit lets the first burst pass, and a busy machine serves two slower than one.
const mostBias = 1.3

// level takes out what all pairs whose links are shared alike take longer: often they are just the pairs over one
// cable, and that they share it is no fault of it. What is beyond the bias of sharing stays.
func (s *search) level(ratio []float64) {
	alike := map[int][]float64{}
	for i, r := range ratio {
		if s.open[i] && !math.IsNaN(r) {
			alike[s.Pairs[i].Shared] = append(alike[s.Pairs[i].Shared], r)
		}
	}
	usual, most := map[int]float64{}, 0.0
	base := math.NaN()
	for shared, of := range alike {
		usual[shared] = median(of)
		if n := float64(len(of)); n > most || n == most && usual[shared] < base {
			most, base = n, usual[shared]
		}
	}
	for i, p := range s.Pairs {
		if bias := usual[p.Shared] / base; bias > 1/mostBias && bias < mostBias {
			ratio[i] /= bias
		}
	}
}

func median(of []float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	of = slices.Sorted(slices.Values(of))
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

// A sum is the number of values, their sum and that of their squares.
type sum struct{ n, x, xx float64 }

func (s *sum) add(x float64)    { s.n, s.x, s.xx = s.n+1, s.x+x, s.xx+x*x }
func (s sum) less(o sum) sum    { return sum{s.n - o.n, s.x - o.x, s.xx - o.xx} }
func (s sum) mean() float64     { return s.x / max(1, s.n) }
func (s sum) variance() float64 { return max(0, s.xx/max(1, s.n)-s.mean()*s.mean()) }

// totals add up what all open pairs show.
type totals struct{ y, again sum }

func (s *search) totals(pairs []int) (t totals) {
	for _, i := range pairs {
		if !s.open[i] {
			continue
		}
		if !math.IsNaN(s.y[i]) {
			t.y.add(s.y[i])
		}
		t.again.add(s.again[i])
	}
	return t
}

// gain is by how much a candidate makes the evidence likelier: for times that their mean is another one for its
// pairs, for segments their rate.
func (s *search) gain(c candidate, all totals) (gain float64) {
	in := s.totals(c.pairs)
	if out := all.y.less(in.y); in.y.n >= leastPairs && out.n >= leastPairs && in.y.mean() > out.mean() {
		within := (in.y.n*in.y.variance() + out.n*out.variance()) / all.y.n
		gain = all.y.n / 2 * math.Log1p((all.y.variance()-within)/max(leastVariance, within))
	}
	if c.kind == OfSwitch { // of whose cables one may lose more than all others
		return gain
	}
	return gain + resends(in.again, all.again)
}

const (
	leastPairs    = 3   // of a candidate
	leastSlow     = 4   // of its pairs, where not most are
	leastVariance = 0.5 // of pairs in units of their own deviation
)

// resends is the gain of the numbers of segments. A part of it counts, since losses come in bursts.
func resends(in, all sum) float64 {
	const leastResent, times, independent = 6, 4, 0.7
	out := all.less(in)
	if in.x < leastResent || in.n < leastPairs || out.n < leastPairs || in.mean() < times*out.mean() {
		return 0
	}
	gain := in.x * math.Log(in.mean()/all.mean())
	if out.x > 0 {
		gain += out.x * math.Log(out.mean()/all.mean())
	}
	return independent * gain
}

// effect is the mean excess of the open pairs of a candidate, with its standard error, beside that of all others.
func (s *search) effect(pairs []int) (mean, err float64) {
	const most = 20 // times the usual: a single long wait is no rate
	var in sum
	for _, i := range pairs {
		if s.open[i] && !math.IsNaN(s.excess[i]) {
			in.add(min(most, s.excess[i]))
		}
	}
	return in.mean(), math.Sqrt(in.variance() / max(1, in.n))
}

// material reports whether a candidate slows so much that it is worth a name.
func material(c candidate, mean float64, control bool) bool {
	switch {
	case control:
		return mean >= leastControl
	case c.one != "":
		return mean >= leastOne
	case c.kind == OfDirection:
		return mean >= leastDirection
	}
	return mean >= leastBoth
}

// control reports whether control messages slow a server, too.
func (s *search) control(c candidate) bool {
	at := slices.Index(s.Names, c.part)
	return c.kind == OfServer && at >= 0 && at < len(s.Servers) && s.Servers[at].Control
}

// next puts the pairs of the likeliest candidate aside, and returns it as a cause with all that is about as likely,
// or false where it slows too little, or does not look like a cause. The last result says whether there was any.
func (s *search) next(had []Cause) (c Cause, named, any bool) {
	all := s.totals(lists.Range[int](len(s.Pairs)))
	gains := lists.Map(s.all, func(c candidate) float64 { return s.gain(c, all) })
	best := -1
	for i, g := range gains {
		if g >= evident && (best < 0 || g > gains[best] || g == gains[best] && len(s.all[i].pairs) < len(s.all[best].pairs)) {
			best = i
		}
	}
	if best < 0 {
		return Cause{}, false, false
	}
	of := lists.Filter(lists.Range[int](len(s.all)), func(i int) bool {
		return i == best || gains[i] >= close*gains[best] && s.overlaps(s.all[i], s.all[best])
	})
	for _, tells := range []func(i int) bool{
		func(i int) bool {
			return !slices.ContainsFunc(of, func(o int) bool { return s.against(s.all[i], s.all[o]) })
		},
		func(i int) bool { return s.counts(s.all[i]) },
	} {
		if told := lists.Filter(of, tells); len(told) > 0 {
			of = told
		}
	}
	best = slices.MaxFunc(of, func(a, b int) int { return cmp.Or(cmp.Compare(gains[a], gains[b]), b-a) })
	top, alike := s.all[best], lists.Map(of, func(i int) candidate { return s.all[i] })
	sign := s.sign(top)
	if c, named = name(alike, sign); named && s.fits(top, gains[best]) {
		s.describe(&c, top, slices.ContainsFunc(alike, s.control))
		c.score, c.counted = gains[best], sign != "" && c.Kind != OfServer
		// What waits at times beside a link that is out of use may wait for the messages that went around it.
		mean, _ := s.effect(top.pairs)
		named = (!c.Loses() || c.counted || s.alone(top)) && (c.Resent > 0 && len(had) == 0 || mean >= leastSigmas*s.sigma && c.Share > 0 && s.beside(c, had) && !(c.AtTimes && slices.ContainsFunc(s.aside, top.beside)))
	} else {
		named = false
	}
	s.aside = append(s.aside, top)
	for _, i := range top.pairs {
		s.open[i] = false
	}
	s.measure()
	return c, named, true
}

// against reports whether the pairs that only one of two candidates has, one within the other, tell that it is the other:
// they are as slow as the rest, which the smaller one does not explain, or not slow, which the larger one does not.
func (s *search) against(c, o candidate) bool {
	small, large := c.pairs, o.pairs
	if len(small) > len(large) {
		small, large = large, small
	}
	only := lists.Filter(large, func(i int) bool { _, ok := slices.BinarySearch(small, i); return !ok })
	within := len(only) == len(large)-len(small)
	only = lists.Filter(only, func(i int) bool { return s.open[i] && !math.IsNaN(s.excess[i]) })
	middle := func(of []int) float64 { return median(lists.Map(of, func(i int) float64 { return s.excess[i] })) }
	mean, _ := s.effect(small)
	if !within || len(only) < leastPairs || mean < hit*s.sigma || s.stalls(small) {
		return false
	}
	const asSlow, notSlow = 0.6, 0.25 // of the others' excess
	rest := middle(only) / mean
	return rest >= asSlow && len(c.pairs) == len(small) || rest <= notSlow && len(c.pairs) == len(large)
}

// overlaps reports whether a candidate would explain mostly what another one explains, too.
func (s *search) overlaps(c, o candidate) bool {
	slow := lists.Filter(c.pairs, func(i int) bool { return s.open[i] && (s.slow(i) || s.y[i] > 1) })
	shared := lists.CountIf(slow, func(i int) bool { _, ok := slices.BinarySearch(o.pairs, i); return ok })
	return 2*shared > len(slow)
}

// beside reports whether a cause is bad enough to be one of its own beside worse ones. Who is let out of a barrier by one that
// stands still sends late; messages that go around a cable that loses some wait.
func (s *search) beside(c Cause, had []Cause) bool {
	if slices.ContainsFunc(had, func(o Cause) bool {
		return o.Stops > 0 && (c.One == "sends" || c.Kind == OfSwitch) || c.AtTimes && o.Loses() && o.Kind != OfServer
	}) {
		return false
	}
	least := besides
	if c.AtTimes {
		least = besidesAtTimes
	}
	worst := lists.MaxOf(had, func(c Cause) float64 { return c.Weight(s.Sec) })
	return 1-c.Share >= least*worst
}

// alone reports whether what is between switches lost most of all segments, and no other cable a good part of that on pairs of its own:
// while a cable is out of use messages go around it, and are lost, or come in another order, elsewhere.
func (s *search) alone(c candidate) bool {
	const most, part = 0.6, 4
	lost := func(pairs, without []int) (sum float64) {
		for _, i := range pairs {
			if _, too := slices.BinarySearch(without, i); !too {
				sum += s.lost[i]
			}
		}
		return sum
	}
	own := lost(c.pairs, nil)
	return own >= most*lost(lists.Range[int](len(s.Pairs)), nil) && (c.kind == OfServer || !slices.ContainsFunc(s.all, func(o candidate) bool {
		return o.kind == OfCable && o.cable != c.cable && part*lost(o.pairs, c.pairs) > own
	}))
}

// counts reports whether the ports that count errors are those of a cable.
func (s *search) counts(c candidate) bool {
	return c.kind != OfSwitch && len(s.Counted) > 0 && !slices.ContainsFunc(s.Counted, func(x [3]string) bool { return !c.at(x) })
}

// sign says which part of a server is slow, or that a cable is, where its ports or its adapter alone count what tells: errors are those of a
// cable; who has others wait with their messages for it is slow itself.
func (s *search) sign(c candidate) string {
	at := slices.Index(s.Names, c.part)
	if c.kind == OfSwitch {
		return ""
	}
	const count = " (its ports count errors)"
	if s.counts(c) {
		if c.kind == OfServer {
			return "'s cable" + count
		}
		return count
	}
	if c.kind != OfServer || at < 0 || at >= len(s.Servers) {
		return ""
	}
	alone := func(of func(Server) uint64) bool {
		return of(s.Servers[at]) > 0 && lists.CountIf(s.Servers, func(x Server) bool { return of(x) > 0 }) == 1
	}
	switch {
	case alone(func(x Server) uint64 { return x.Errors }):
		return "'s cable (its adapter counts errors)"
	case c.one != "sends" && alone(func(x Server) uint64 { return x.Pauses }):
		return " (its adapter sends pauses)"
	}
	return ""
}

// slow reports whether a pair took much longer, or lost segments.
func (s *search) slow(i int) bool {
	return s.again[i] > 0 || !math.IsNaN(s.y[i]) && s.y[i] >= hit && s.excess[i] >= hitExcess
}

// atTimes reports whether the excess of a pair is that of single messages. Files of older versions do not tell.
func (s *search) atTimes(i int) (single, known bool) {
	p, n := s.Pairs[i], float64(s.Pairs[i].Messages)
	if p.Longest == 0 || n < 2 {
		return false, false
	}
	usual := p.Sec / (1 + s.excess[i]) / n
	return p.Longest-usual >= max(0.5, 1.5/n)*(p.Sec-usual*n), true // of few messages each has a large part
}

// stalls reports whether most of the slow ones of some pairs are slow at times.
func (s *search) stalls(pairs []int) bool {
	slow := lists.Filter(pairs, s.slow)
	return 2*lists.CountIf(slow, func(i int) bool { one, _ := s.atTimes(i); return one }) > len(slow)
}

// fits reports whether the pairs of a candidate look as if it were the cause: most of them are slower, within the
// leaf and beyond it where the way beyond is not known; or single messages of some are.
func (s *search) fits(c candidate, gain float64) bool {
	in := lists.Filter(c.pairs, func(i int) bool { return s.open[i] })
	slow := lists.Filter(in, s.slow)
	mean, _ := s.effect(c.pairs)
	level := max(mean/4, s.sigma/2)
	longer := lists.CountIf(in, func(i int) bool { return s.excess[i] >= level || s.again[i] > 0 })
	middle := median(lists.Map(in, func(i int) float64 { return max(s.excess[i], mean*s.again[i]) }))
	if float64(longer) >= steady*float64(len(in)) && middle >= mean/2 {
		return s.inside(c, in, level)
	}
	if slices.ContainsFunc(s.aside, c.beside) { // messages that went around that one
		return false
	}
	if gain < evidentAtTimes || len(slow) < leastSlow || c.kind == OfServer && s.hidden(in) {
		return false
	}
	single := lists.CountIf(slow, func(i int) bool { one, known := s.atTimes(i); return known && one || s.again[i] > 0 })
	return float64(single) >= steady*float64(len(slow))
}

// hidden reports whether parts of the ways of pairs are not known.
func (s *search) hidden(pairs []int) bool {
	return slices.ContainsFunc(pairs, func(i int) bool { return !s.known[i] })
}

// inside reports whether the pairs with known ways of a server are slow as the others are: what is slow beyond its
// leaf alone may be another's fault.
func (s *search) inside(c candidate, pairs []int, level float64) bool {
	known := lists.Filter(pairs, func(i int) bool { return s.known[i] })
	if c.kind != OfServer || len(known) == len(pairs) || len(known) == 0 {
		return true
	}
	return float64(lists.CountIf(known, func(i int) bool { return s.excess[i] >= level || s.again[i] > 0 })) >= steady*float64(len(known))
}

// describe fills in the figures of a cause.
func (s *search) describe(c *Cause, of candidate, control bool) {
	c.Of = lists.Filter(of.pairs, func(i int) bool { return s.open[i] })
	c.Pairs, c.pairs = len(c.Of), of.pairs
	for _, i := range c.Of {
		c.Resent += uint64(s.lost[i])
		if s.slow(i) {
			c.Slow++
		}
	}
	if resends(s.totals(of.pairs).again, s.totals(lists.Range[int](len(s.Pairs))).again) == 0 {
		c.Resent = 0 // no more than others
	}
	c.AtTimes = s.stalls(c.Of)
	if mean, err := s.effect(of.pairs); material(of, mean, control) {
		c.rate(mean, err)
	}
}

// rate is by a mean excess and its standard error.
func (c *Cause) rate(mean, err float64) {
	const wide = 1.96 // standard errors of an interval of 95 %
	c.Share, c.Lo, c.Hi = 1/(1+mean), 1/(1+mean+wide*err), 1/(1+max(0, mean-wide*err))
}

// enough returns the causes that are far likelier than anything that is left: a pattern that they do not explain
// has another cause, such as ways that are not those of the tables. Where one is always slow, most of the slow pairs
// must be explained, or most of their excess: those of its partners are a little late.
func (s *search) enough(causes []Cause) []Cause {
	all := s.totals(lists.Range[int](len(s.Pairs)))
	left := max(0, lists.MaxOf(s.all, func(c candidate) float64 { return s.gain(c, all) }))
	const mostExcess = 2 // a single long wait is one pair's
	var slow, rest, excess, open float64
	single := func(i int) bool { one, _ := s.atTimes(i); return one && s.slow(i) }
	const few = 0.05 // pairs in which single messages waited by chance: of many servers these are more than those of one
	chance := float64(lists.CountIf(lists.Range[int](len(s.Pairs)), func(i int) bool { return s.open[i] && single(i) })) <= few*float64(len(s.Pairs))
	for i := range s.Pairs {
		if s.slow(i) && s.again[i] == 0 && !(chance && single(i)) {
			x := min(s.excess[i], mostExcess)
			slow, excess = slow+1, excess+x
			if s.open[i] {
				rest, open = rest+1, open+x
			}
		}
	}
	around := s.around(causes)
	return lists.Filter(causes, func(c Cause) bool {
		if c.Stops > 0 || c.score < clearly*left {
			return c.Stops > 0
		}
		if c.AtTimes || c.Share == 0 {
			return c.Kind == OfServer && len(c.Parts) == 1 || c.Loses() && !s.Timed || c.counted || !around
		}
		return rest <= (1-explained)*slow || open <= (1-explained)*excess
	})
}

// around reports whether messages that causes do not explain waited at the same moments as those that they do: while a
// link is out of use, messages take new ways, and wait for one another there.
func (s *search) around(causes []Cause) bool {
	said := map[int]bool{}
	for _, c := range causes {
		for _, i := range c.Of {
			said[i] = true
		}
	}
	var theirs, others, usual []float64 // moments
	for i, p := range s.Pairs {
		if p.Messages > 0 && p.LongestAt > 0 {
			usual = append(usual, p.Sec/float64(p.Messages))
		}
		one, _ := s.atTimes(i)
		switch {
		case p.LongestAt == 0 || s.again[i] == 0 && !(one && s.y[i] >= hit/2 && s.excess[i] >= hitExcess):
		case said[i]:
			theirs = append(theirs, p.LongestAt)
		default:
			others = append(others, p.LongestAt)
		}
	}
	const messages = 1.5
	moment := messages * median(usual)
	near := lists.CountIf(others, func(at float64) bool {
		return slices.ContainsFunc(theirs, func(t float64) bool { return math.Abs(t-at) <= moment })
	})
	return 2*near > len(others) && 3*near > len(theirs)
}

const (
	leastStood = 0.01 // of the time
	leastStop  = 0.1  // seconds in all
	timesOther = 5    // times the usual of all servers
)

// stops are the servers that stood still by their own clocks, unlike the others. What their pairs took longer is
// explained by that.
func (s *search) stops() (out []Cause) {
	if len(s.Servers) < 3 {
		return nil
	}
	usual := median(lists.Map(s.Servers, func(x Server) float64 { return x.Stood }))
	for rank, x := range s.Servers {
		if x.Stood < max(leastStop, leastStood*s.Sec) || x.Stood-usual < timesOther*max(usual, leastStood*s.Sec/timesOther) {
			continue
		}
		c := Cause{Kind: OfServer, Name: s.Names[rank], Parts: []string{s.Names[rank]}, Stops: x.Stops, Stood: x.Stood, Longest: x.Longest, First: x.First}
		for i, p := range s.Pairs {
			if p.Src == rank || p.Dst == rank {
				c.Of = append(c.Of, i)
			}
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Stood, a.Stood) })
	if len(out) > most {
		return nil // a machine that is too small
	}
	for _, c := range out {
		for _, i := range c.Of {
			s.open[i] = false
		}
	}
	s.measure()
	return out
}
