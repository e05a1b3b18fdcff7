package attribution

import (
	"math"
	"slices"

	"evbench/internal/lists"
)

// mostParts bounds the parts of the time that are kept: of more, the shortest that follow one another become one.
const mostParts = 32

// follow adds the parts of a later part of the same exchanges.
func (e *Evidence) follow(o Evidence) {
	if e.Parts == nil || o.Parts == nil {
		e.Parts = nil
		return
	}
	courses := lists.Tabulate(len(e.Pairs), func(i int) []float64 { return slices.Concat(e.Pairs[i].Course, o.Pairs[i].Course) })
	e.Parts = slices.Concat(e.Parts, lists.Map(o.Parts, func(at float64) float64 { return e.Sec + at }))
	for len(e.Parts) > mostParts {
		k := e.shortest()
		for i, c := range courses {
			var both sum
			for _, part := range []int{k, k + 1} {
				if c[part] > 0 {
					both.n, both.x = both.n+e.long(part), both.x+e.long(part)*c[part]
				}
			}
			c[k+1] = both.x / max(both.n, math.SmallestNonzeroFloat64)
			courses[i] = slices.Delete(c, k, k+1)
		}
		e.Parts = slices.Delete(e.Parts, k, k+1)
	}
	for i := range e.Pairs {
		e.Pairs[i].Course = courses[i]
	}
}

// shortest is the part that is, with the next one, the shortest of all twos.
func (e Evidence) shortest() (k int) {
	for i := range len(e.Parts) - 1 {
		if e.long(i)+e.long(i+1) < e.long(k)+e.long(k+1) {
			k = i
		}
	}
	return k
}

// long is how long a part is.
func (e Evidence) long(part int) float64 {
	if part == 0 {
		return e.Parts[0]
	}
	return e.Parts[part] - e.Parts[part-1]
}

// A history holds the excess of pairs in each part of the time.
type history struct {
	*search               // before any cause has been found, but stops
	at        [][]float64 // [part][pair] the excess, at most mostSlower; NaN: nothing came
	deviation [][]float64 // [part][pair] the same in standard deviations, clipped
}

// mostSlower bounds what a pair counts in a part of the time: a single long wait is not all of it.
const mostSlower = 2

// history looks at each part of the time alone; it is empty where times are not known.
func (s *search) history() (h history) {
	if s.Parts == nil || !s.Timed {
		return h
	}
	w := *s
	w.open = slices.Clone(s.open)
	h.search = &w
	for k := range s.Parts {
		x := h.within(lists.Tabulate(len(s.Parts), func(i int) bool { return i == k }))
		h.at = append(h.at, lists.Map(x.excess, func(x float64) float64 { return min(mostSlower, x) })) // NaN stays
		h.deviation = append(h.deviation, x.y)
	}
	return h
}

// within returns a search as if all the time had been as some parts of it were. Only times tell there: what was lost when is not
// known.
func (h history) within(in []bool) *search {
	w := *h.search
	w.open, w.Pairs, w.aside = slices.Clone(h.open), slices.Clone(h.Pairs), nil
	w.lost, w.again = make([]float64, len(w.Pairs)), make([]float64, len(w.Pairs))
	for i := range w.Pairs {
		p := &w.Pairs[i]
		var course sum
		for k, x := range p.Course {
			if in[k] && x > 0 {
				course.add(x)
			}
		}
		p.Sec, p.Longest, p.LongestAt, p.Resent = course.mean()*float64(p.Bytes), 0, 0, 0
	}
	w.measure()
	return &w
}

const (
	// A spell that the whole time does not show must make messages so much longer, and cost so much of that time: of many times some
	// are bad by chance.
	leastSpell, leastCost = 0.14, 0.02
	// spellEvident is evident of what is looked for in some hundred times of some hundred candidates.
	spellEvident = 20.0
	// ofPairs is the least part of its pairs whose messages came in a spell.
	ofPairs = 0.8
)

// when says of causes at which times they were so, and finds one that is too short to show in all the time.
func (h history) when(causes []Cause) []Cause {
	for i := range causes {
		c := &causes[i]
		if in, full, clear := h.slow(c.Of); clear && c.Stops == 0 && !c.Loses() {
			h.spell(c, in, full)
		}
	}
	if len(causes) > 0 {
		return causes
	}
	if c, ok := h.short(); ok {
		return []Cause{c}
	}
	return nil
}

// spell writes down the times of a cause, and its rate in them, where most of its pairs were slow then.
func (h history) spell(c *Cause, in, full []bool) {
	w := h.within(full)
	mean, err := w.effect(c.Of)
	came := lists.Filter(c.Of, func(i int) bool { return w.open[i] && !math.IsNaN(w.excess[i]) })
	if slow := lists.Filter(came, func(i int) bool { return w.excess[i] >= mean/4 }); float64(len(slow)) < steady*float64(len(came)) {
		return
	}
	c.rate(mean, err)
	c.Slow, c.AtTimes = lists.CountIf(came, w.slow), false
	for k, slow := range in {
		if !slow {
			continue
		}
		c.During += h.long(k)
		if k == 0 || !in[k-1] {
			if c.Times++; c.Times == 1 {
				c.From = h.Parts[k] - h.long(k)
			}
		}
		if c.Times == 1 {
			c.To = h.Parts[k]
		}
	}
}

// slow are the parts of the time in which pairs were slow; clear reports whether they were not in the others, full the parts that they were
// slow all of.
func (h history) slow(pairs []int) (in, full []bool, clear bool) {
	each := lists.Map(h.at, func(excess []float64) (x sum) {
		for _, i := range pairs {
			if h.open[i] && !math.IsNaN(excess[i]) {
				x.add(excess[i])
			}
		}
		return x
	})
	high := level(each)
	above := func(part float64) []bool {
		return lists.Map(each, func(x sum) bool { return x.n > 0 && x.mean() > part*high })
	}
	in, full = above(0.5), above(0.75)
	for k := range in { // goes on over parts in which nothing came
		next := slices.IndexFunc(each[k:], func(x sum) bool { return x.n > 0 })
		in[k] = in[k] || k > 0 && in[k-1] && next > 0 && in[k+next]
	}
	h.significant(in, each)
	for k, sure := range slices.Clone(in) { // what began or ended within a part was slow for some of it
		full[k] = full[k] && sure
		for _, next := range []int{k - 1, k + 1} {
			if sure && next >= 0 && next < len(in) && each[next].n > 0 && each[next].mean() > high/4 {
				in[next] = true
			}
		}
	}
	var other, scatter sum
	rest := 0.0
	for k, x := range each {
		if !in[k] && x.n > 0 {
			other.add(x.mean())
			scatter.add(x.variance() / x.n)
			rest += h.long(k)
		}
	}
	const leastRest = 0.1 // of the time
	err := math.Sqrt(scatter.mean() / max(1, other.n))
	clear = slices.Contains(full, true) && rest >= leastRest*h.Sec && other.mean() <= high/4 && high-other.mean() >= hit*err
	return in, full, clear
}

// level is the excess of the parts with more than half of it.
func level(each []sum) float64 {
	high := lists.MaxOf(each, sum.mean)
	for range each {
		var above sum
		for _, x := range each {
			if x.n > 0 && x.mean() > high/2 {
				above.add(x.mean())
			}
		}
		if above.n == 0 || above.mean() >= high {
			break
		}
		high = above.mean()
	}
	return high
}

// significant leaves out parts that follow one another and are slow for few of their pairs.
func (h history) significant(in []bool, each []sum) {
	usual := median(lists.Map(each, sum.variance))
	for from := 0; from < len(in); from++ {
		to := from
		var mean, err float64
		for ; to < len(in) && in[to]; to++ {
			mean += each[to].mean()
			err += max(usual, each[to].variance()) / max(1, each[to].n)
		}
		if mean < hit*math.Sqrt(err) {
			clear(in[from:to])
		}
		from = to
	}
}

// short finds a cause whose spell is too short to show in all the time.
func (h history) short() (Cause, bool) {
	pairs, in := h.likeliest()
	if pairs == nil {
		return Cause{}, false
	}
	found := h.within(in).find(nil)
	if len(found) != 1 || found[0].AtTimes || found[0].Share == 0 || found[0].Share > 1-leastSpell {
		return Cause{}, false
	}
	c := found[0]
	came := lists.CountIf(c.Of, func(i int) bool {
		return slices.ContainsFunc(lists.Range[int](len(in)), func(k int) bool { return in[k] && h.Pairs[i].Course[k] > 0 })
	})
	in, full, clear := h.slow(c.Of)
	if !clear || float64(came) < ofPairs*float64(len(c.Of)) {
		return Cause{}, false
	}
	h.spell(&c, in, full)
	return c, c.Times > 0 && c.Weight(h.Sec) >= leastCost
}

// likeliest are the pairs of the candidate, and the parts of the time, in which they took far longer than at other times; nil where
// there are none.
func (h history) likeliest() (pairs []int, in []bool) {
	usual := make([]float64, len(h.Pairs))
	for i := range usual {
		var all []float64
		for k := range h.deviation {
			if x := h.deviation[k][i]; !math.IsNaN(x) {
				all = append(all, x)
			}
		}
		usual[i] = median(all)
	}
	best, from, to := spellEvident, 0, 0
	for _, c := range h.all {
		each := lists.Map(h.deviation, func(y []float64) (x sum) {
			for _, i := range c.pairs {
				if h.open[i] && !math.IsNaN(y[i]) {
					x.add(y[i] - usual[i])
				}
			}
			return x
		})
		for u := range each {
			var x sum
			for v := u; v < len(each); v++ {
				x.n, x.x = x.n+each[v].n, x.x+each[v].x
				if gain := x.x * x.x / 2 / max(1, x.n); x.x > 0 && gain > best {
					best, pairs, from, to = gain, c.pairs, u, v
				}
			}
		}
	}
	return pairs, lists.Tabulate(len(h.at), func(k int) bool { return k >= from && k <= to })
}
