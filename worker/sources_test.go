package worker

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"evbench/testing/expect"
)

// A course holds what a list of all messages says, in parts of its width.
func TestCourse(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		c, bytes, took, at := &course{width: firstBucket}, uint64(0), time.Duration(0), time.Duration(0)
		type message struct {
			at, took time.Duration
			bytes    uint64
		}
		var all []message
		for range 1 + r.IntN(400) {
			m := message{took: time.Duration(1 + r.IntN(int(40*time.Millisecond))), bytes: 1 + r.Uint64N(1000)}
			at += m.took + time.Duration(r.IntN(int(time.Second)))*time.Duration(r.IntN(20)/19)
			m.at = at
			bytes, took, all = bytes+m.bytes, took+m.took, append(all, m)
			c.add(m.at, m.took, bytes)
		}
		got := c.report(took).Parts()
		expect.MustTrue(t, len(got) == int(at/c.width)+1 && len(got) <= mostBuckets && (c.width == firstBucket || 2*len(got) > mostBuckets),
			"seed %d: %d parts of %v in %v", seed, len(got), c.width, at)
		for k, x := range got {
			var sec, n float64
			for _, m := range all {
				if int(m.at/c.width) == k {
					sec, n = sec+float64(m.took), n+float64(m.bytes)
				}
			}
			want := 0.0
			if n > 0 {
				want = sec / n / (float64(took) / float64(bytes))
			}
			expect.True(t, math.Abs(x-want) <= 0.0051 || want < 0.01 && x == 0.01 || want > 999, "seed %d: part %d is %v, want %v", seed, k, x, want)
		}
	}
}
