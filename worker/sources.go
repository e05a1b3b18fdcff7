package worker

import (
	"time"

	"evbench/builder/modes"
	"evbench/controller/wire"
	"evbench/results"
	"evbench/transport"
)

// sources records, by rank, what arrived from each source in the counted part, and what was sent twice to it; nil
// if it is not requested. Only report allocates.
type sources []source

type source struct {
	bytes   uint64
	resent  uint64        // segments to it, before the counted part
	awaited int           // fragments awaited
	began   time.Duration // of the counted part
	since   time.Duration // when the first awaited one was expected
	took    time.Duration // time with at least one awaited, up to the last arrival

	messages  uint64
	longest   time.Duration // that one added to took
	longestAt time.Duration // when it came

	soonest time.Duration // the least wait for the head of a message; 0: not known

	course *course // nil: not kept
}

// mostBuckets make a part of a slice of 10 s half a second, and a course 512 bytes.
const mostBuckets = 32

// A course keeps what came when, in equal parts of the counted part.
type course struct {
	parts [mostBuckets]struct {
		took  time.Duration
		bytes uint64
	}
	width time.Duration // of a part; it doubles when all are in use
	bytes uint64        // in all
}

// firstBucket is short for the shortest of slices.
const firstBucket = time.Millisecond

// add notes a message that had come at a time since the counted part began, with the bytes of all until then.
func (c *course) add(at, took time.Duration, bytes uint64) {
	for at >= mostBuckets*c.width {
		c.halve()
	}
	p := &c.parts[max(0, at)/c.width]
	p.took, p.bytes = p.took+took, p.bytes+bytes-c.bytes
	c.bytes = bytes
}

func (c *course) halve() {
	parts := c.parts
	clear(c.parts[:])
	for i, p := range parts {
		c.parts[i/2].took += p.took
		c.parts[i/2].bytes += p.bytes
	}
	c.width *= 2
}

// report returns the time per byte in each part, beside that of the whole.
func (c *course) report(took time.Duration) results.Course {
	var each []float64
	for _, p := range c.parts {
		each = append(each, float64(p.took)/float64(took)*float64(c.bytes)/float64(p.bytes)) // NaN, Inf: nothing came
	}
	return results.NewCourse(each)
}

func newSources(c wire.Configure) sources {
	if !c.Pairs {
		return nil
	}
	s := make(sources, len(c.Peers))
	for i := range s {
		if c.Course && c.Mode == modes.Sync {
			s[i].course = &course{width: firstBucket}
		}
	}
	return s
}

func (s sources) start(now time.Duration, moved func(peer int) transport.Movement) {
	for i := range s {
		s[i] = source{awaited: s[i].awaited, since: now, resent: moved(i).Resent, began: now, course: s[i].course}
		if c := s[i].course; c != nil {
			*c = course{width: firstBucket}
		}
	}
}

// await notes that a fragment of a source is on its way, as far as its receiver can tell.
// Overlapping fragments of a source count their time once.
func (s sources) await(rank int, now time.Duration) {
	if s == nil {
		return
	}
	f := &s[rank]
	if f.awaited == 0 {
		f.since = now
	}
	f.awaited++
}

// came notes the end of an awaited fragment, whole or damaged.
func (s sources) came(rank int, now time.Duration) {
	if s == nil {
		return
	}
	f := &s[rank]
	took := now - f.since
	if f.took += took; took > f.longest {
		f.longest, f.longestAt = took, now
	}
	if f.course != nil {
		f.course.add(now-f.began, took, f.bytes)
	}
	f.messages++
	f.since = now
	f.awaited--
}

// began notes after how long a wait the head of a message had come.
func (s sources) began(rank int, waited time.Duration) {
	if s == nil {
		return
	}
	if f := &s[rank]; f.soonest == 0 || waited < f.soonest {
		f.soonest = max(1, waited)
	}
}

func (s sources) got(rank, bytes int) {
	if s != nil {
		s[rank].bytes += uint64(bytes)
	}
}

// report counts times from when the counted part began.
func (s sources) report(began time.Duration, moved func(peer int) transport.Movement) []wire.Source {
	if s == nil {
		return nil
	}
	out := make([]wire.Source, len(s))
	for i, f := range s {
		out[i] = wire.Source{
			Bytes: f.bytes, Took: f.took, Resent: max(moved(i).Resent, f.resent) - f.resent,
			Messages: f.messages, Longest: f.longest, LongestAt: max(0, f.longestAt-began), Soonest: f.soonest,
		}
		if f.course != nil && f.messages > 0 {
			out[i].Bucket, out[i].Course = f.course.width, f.course.report(f.took)
		}
	}
	return out
}
