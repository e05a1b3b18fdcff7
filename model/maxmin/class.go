package maxmin

import "math"

// A class are the streams with the same bottleneck wire. All have the same rate, so one number
// holds their progress: done grows with the rate, and a stream is through when done reaches its
// target. A change of the rate needs no work for single streams.
type class struct {
	stream []int32
	other  []int32 // the wires of each but this one, stride-1 in a row
	target []float64
	done   float64 // bytes, as of since
	since  float64
	next   float64 // the least target
	stale  bool    // next has to be looked for
}

// join puts a stream without a class into one, with that many bytes to go. The class must be
// settled.
func (s *Shares) join(stream, w int32, bytes float64) {
	c := &s.classes[w]
	s.of[stream], s.slot[stream] = w, int32(len(c.stream))
	c.stream = append(c.stream, stream)
	if w != s.None {
		n := len(c.other)
		for _, v := range s.Wires(stream) {
			if v != w {
				c.other = append(c.other, v)
			}
		}
		for len(c.other) < n+s.stride-1 {
			c.other = append(c.other, s.None)
		}
	}
	x := c.done + bytes
	if len(c.target) == 0 || x < c.next {
		c.next = x
	}
	c.target = append(c.target, x)
}

func (s *Shares) quit(stream int32) {
	w, i := s.of[stream], int(s.slot[stream])
	c := &s.classes[w]
	n := len(c.stream) - 1
	c.stale = c.stale || c.target[i] == c.next
	c.stream[i], c.target[i] = c.stream[n], c.target[n]
	s.slot[c.stream[i]] = int32(i)
	c.stream, c.target = c.stream[:n], c.target[:n]
	if k := s.stride - 1; w != s.None {
		copy(c.other[i*k:(i+1)*k], c.other[n*k:])
		c.other = c.other[:n*k]
	}
}

// move makes a stream change class. Both classes are settled.
func (s *Shares) move(stream, to int32) {
	c := &s.classes[s.of[stream]]
	bytes := c.target[s.slot[stream]] - c.done
	s.quit(stream)
	s.settle(to)
	s.join(stream, to, bytes)
}

func (s *Shares) settle(w int32) {
	c := &s.classes[w]
	c.done += s.level[w] * (s.Now - c.since)
	c.since = s.Now
}

// Left returns the bytes that a stream has to go at Now.
func (s *Shares) Left(stream int32) float64 {
	w := s.of[stream]
	c := &s.classes[w]
	return max(0, c.target[s.slot[stream]]-c.done-s.level[w]*(s.Now-c.since))
}

// Again gives a stream that is through so many bytes more.
func (s *Shares) Again(stream int32, bytes float64) {
	w := s.of[stream]
	c := &s.classes[w]
	x := c.done + s.level[w]*(s.Now-c.since) + bytes
	c.stale = c.stale || c.target[s.slot[stream]] == c.next
	c.target[s.slot[stream]] = x
	c.next = min(c.next, x)
}

// ends computes when the first of a class is through.
func (s *Shares) ends(w int32) {
	c := &s.classes[w]
	if c.stale {
		c.stale, c.next = false, math.Inf(1)
		for _, x := range c.target {
			if x < c.next {
				c.next = x
			}
		}
	}
	s.end[w] = math.Inf(1)
	if len(c.stream) > 0 && s.level[w] > 0 {
		s.end[w] = c.since + max(0, c.next-c.done)/s.level[w]
	}
}

// Soonest returns when the next stream is through.
func (s *Shares) Soonest() float64 {
	for _, w := range s.touched {
		s.ends(w)
	}
	s.touched = s.touched[:0]
	next := math.Inf(1)
	for _, w := range s.order {
		if x := s.end[w]; x < next {
			next = x
		}
	}
	return next
}

// Ending returns the streams that are through until then. Each must be removed or given more before
// the next call of Soonest.
func (s *Shares) Ending(until float64) []int32 {
	s.over = s.over[:0]
	for _, w := range s.order {
		if s.end[w] > until {
			continue
		}
		c := &s.classes[w]
		limit := max(c.next, c.done+s.level[w]*(until-c.since))
		next := math.Inf(1)
		for i, x := range c.target {
			if x <= limit {
				s.over = append(s.over, c.stream[i])
			} else if x < next {
				next = x
			}
		}
		c.next, c.stale = next, false
		s.touched = append(s.touched, w)
	}
	return s.over
}
