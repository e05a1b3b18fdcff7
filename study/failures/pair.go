package failures

import (
	"cmp"
	"slices"
	"time"

	"evbench/site/osmlog"
)

// echo is the longest delay between reports of the same change by the two ends of a cable. The
// subnet manager reads the ports of both within one sweep, which takes seconds.
const echo = 30 * time.Second

type track struct {
	seen, down bool
	told       [2]bool   // ends that reported the failure that lasts
	isDown     [2]bool   // what each end last said
	open       Failure   // while down
	upAt       time.Time // when the link last came up
	upBy       uint8
}

// Pair makes failures of events: a link is down from the first report of either end until the first
// report that it is up again. Two downs in a row of one end mean a lost up: the first failure has
// no known end. An up alone means a lost down: a failure of no length, with unknown start. If it is
// the link's first event, the link was down before the log began, and it is no failure. O(n);
// failures of one link never overlap.
func Pair(h *History) ([]Failure, Losses) {
	p := pairing{links: h.Links, tracks: make([]track, len(h.Links)), losses: h.Losses}
	for _, e := range h.events {
		p.take(e)
	}
	for i := range p.tracks {
		if t := &p.tracks[i]; t.down {
			p.losses.OpenAtEnd++
			t.open.Up, t.open.Open = h.To, true
			p.close(t)
		}
	}
	slices.SortFunc(p.out, compareFailures)
	return p.out, p.losses
}

func compareFailures(a, b Failure) int {
	return cmp.Or(a.Down.Compare(b.Down), cmp.Compare(a.Link, b.Link), a.Up.Compare(b.Up))
}

type pairing struct {
	links  []Link
	tracks []track
	losses Losses
	out    []Failure
}

func (p *pairing) take(e event) {
	t := &p.tracks[e.link]
	switch {
	case e.kind == osmlog.WentDown:
		p.goDown(t, e)
	case t.down:
		t.open.Up, t.open.EndUnknown = e.time, e.vague
		p.close(t)
		t.upAt, t.upBy = e.time, e.end
	case e.kind == osmlog.CameUp:
		p.upAlone(t, e)
	}
	t.seen, t.isDown[e.end] = true, e.kind == osmlog.WentDown
}

func (p *pairing) goDown(t *track, e event) {
	if t.down && !t.told[e.end] && e.time.Sub(t.open.Down) <= echo {
		t.told[e.end] = true
		return
	}
	if t.down {
		p.losses.LostUps++
		t.open.Up, t.open.EndUnknown = t.open.Down, true
		p.close(t)
	}
	t.down, t.told = true, [2]bool{}
	t.told[e.end] = true
	t.open = Failure{Link: e.link, Down: e.time, Flaps: 1, startUnknown: e.vague}
}

func (p *pairing) upAlone(t *track, e event) {
	switch {
	case t.isDown[e.end], t.seen && t.upBy != e.end && e.time.Sub(t.upAt) <= echo:
		return // the other end said so before
	case !t.seen:
		p.losses.DownAtStart++
	default:
		p.losses.LostDowns++
		p.out = append(p.out, Failure{Link: e.link, Down: e.time, Up: e.time, Flaps: 1, startUnknown: true})
	}
	t.upAt, t.upBy = e.time, e.end
}

func (p *pairing) close(t *track) {
	t.down = false
	if p.links[t.open.Link].class == Fabric && t.told[0] != t.told[1] {
		p.losses.OneEnd++
	}
	p.out = append(p.out, t.open)
}

// A Period is a stretch of time, its end not included.
type Period struct{ From, To time.Time }

func (p Period) has(t time.Time) bool { return !t.Before(p.From) && t.Before(p.To) }

// Exclude drops failures that begin in one of the periods.
func Exclude(fs []Failure, periods []Period) []Failure {
	return slices.DeleteFunc(slices.Clone(fs), func(f Failure) bool {
		return slices.ContainsFunc(periods, func(p Period) bool { return p.has(f.Down) })
	})
}

// Merge counts failures of a link that follow each other in less than gap as
// one, from the first down to the last up (thesis §4.1.2: gap 10 minutes). A gap
// of 0 merges nothing. Merging twice is merging once. O(n log n).
func Merge(fs []Failure, gap time.Duration) []Failure {
	out := slices.Clone(fs)
	slices.SortFunc(out, compareFailures)
	last := map[int]int{} // link to its latest failure in out
	n := 0
	for _, f := range out {
		if i, ok := last[f.Link]; ok && f.Down.Sub(out[i].Up) < gap {
			out[i] = joined(out[i], f)
			continue
		}
		out[n] = f
		last[f.Link] = n
		n++
	}
	return out[:n]
}

func joined(a, b Failure) Failure {
	a.Up, a.EndUnknown, a.Open = b.Up, b.EndUnknown, b.Open
	a.Flaps += b.Flaps
	return a
}
