package controller

import (
	"math"
	"time"
)

// How far ahead of the fastest worker exchanges are granted: when less than low is left, up to high
// is granted. With fewer than two exchanges workers could stand still at the end of a grant; far
// more would run long past the end of the measurement. In an exchange workers wait for each other,
// so the fastest counts as less than high ahead of the slowest, whatever it claims.
const (
	low      = 250 * time.Millisecond
	high     = 500 * time.Millisecond
	fewest   = 2
	farthest = 4096 // exchanges; bounds the effect of a stopped clock on high
)

// A pacer decides up to which exchange the workers may run, so that all run the same number and the
// last ends when the duration is over.
type pacer struct {
	warmup, exactly uint64 // exactly: counted exchanges to run; 0: by duration
	duration        time.Duration

	began time.Duration // of the part under way
	until uint64        // granted so far
	each  time.Duration // estimate of one exchange; 0: not known

	last   uint64 // the slowest worker's progress at lastAt
	lastAt time.Duration
}

func newPacer(now time.Duration, c Case) pacer {
	p := pacer{warmup: c.Warmup, exactly: c.Exchanges, duration: c.Duration, began: now, until: c.Warmup}
	if c.Expected > high { // with shorter exchanges a few too many cost little time
		p.each = c.Expected
	}
	return p
}

// measure starts the counted part; the warm-up has ended at warm.
func (p *pacer) measure(warm, now time.Duration) {
	if p.warmup > 0 {
		p.each = (warm - p.began) / time.Duration(p.warmup)
	}
	p.began, p.last, p.lastAt = now, p.warmup, now
}

// extend returns the new limit of exchanges, given the progress of the workers, and whether that is
// the end.
func (p *pacer) extend(now time.Duration, slowest, fastest uint64) (until uint64, last bool) {
	fastest = p.learn(now, slowest, fastest)
	left := p.duration - (now - p.began)
	if p.exactly == 0 && left <= 0 {
		// At least one exchange is counted.
		return max(p.until, p.warmup+1), true
	}
	until = p.until
	if fastest+p.count(low) >= until {
		until = max(until, fastest+p.count(high))
	}
	if p.exactly > 0 {
		end := p.warmup + p.exactly
		return min(until, end), until >= end
	}
	if p.each > 0 {
		// The work under way ends with the duration, or a quarter of an exchange after: no more is
		// needed, unless the estimate is wrong.
		need := math.Ceil(float64(left)/float64(p.each) + 0.25)
		until = max(p.until, min(until, fastest+uint64(min(need, farthest))))
	}
	return until, false
}

// end is extend for exchanges that are granted in windows: the limit of all of them as far as it is known, and whether it
// is. fastest becomes the progress of the fastest worker as far as it counts.
func (p *pacer) end(now time.Duration, slowest uint64, fastest *uint64) (end uint64, last bool) {
	*fastest = p.learn(now, slowest, *fastest)
	left := p.duration - (now - p.began)
	switch {
	case p.exactly > 0:
		return p.warmup + p.exactly, true
	case left <= 0:
		return max(p.until, p.warmup+1), true // at least one exchange is counted
	case p.each > 0: // as in extend
		return *fastest + uint64(min(math.Ceil(float64(left)/float64(p.each)+0.25), farthest)), false
	}
	return math.MaxUint64, false
}

// window is the length of the next window, of at most most exchanges and not beyond end; 0: it is too early for one.
func (p *pacer) window(fastest, most, end uint64) uint64 {
	if p.until >= min(end, fastest+max(ahead*most, p.count(low))) {
		return 0
	}
	return min(most, end-p.until)
}

// resume restarts at an exchange: grants beyond it are void.
func (p *pacer) resume(now time.Duration, from uint64) {
	p.until = from
	p.skip(now, from)
}

// skip excludes the recent past from the estimate: an exchange over a dead link says nothing about
// the next one.
func (p *pacer) skip(now time.Duration, slowest uint64) {
	p.last, p.lastAt = max(p.last, slowest), now
}

// learn estimates the time of an exchange, and returns the progress of the fastest worker as far as
// it counts. The newest span counts half; short ones, in which reports of several workers may
// arrive together, do not.
func (p *pacer) learn(now time.Duration, slowest, fastest uint64) uint64 {
	least := max(100*time.Millisecond, p.each/2)
	if p.each == 0 {
		least = 20 * time.Millisecond
	}
	if slowest > p.last && now-p.lastAt >= least {
		span := (now - p.lastAt) / time.Duration(slowest-p.last)
		if p.each == 0 {
			p.each = span
		} else {
			p.each = (p.each + span) / 2
		}
		p.last, p.lastAt = slowest, now
	}
	return min(fastest, slowest+p.count(high)-1)
}

func (p *pacer) count(d time.Duration) uint64 {
	if p.each <= 0 {
		return fewest
	}
	return uint64(min(max((d+p.each-1)/p.each, fewest), farthest))
}
