package worker

import (
	"context"
	"testing"
)

// A part that is over before the sampler gets a processor is sampled all the same, from
// the moment at which it began.
func TestSamplerComesLate(t *testing.T) {
	over, stop := context.WithCancel(t.Context())
	stop()
	j := &job{loop: &loop{counting: make(chan reading, 1)}}
	if r, ok := j.begun(over); ok {
		t.Errorf("nothing was counted, and sampling begins with %+v", r)
	}
	j.loop.counting <- reading{at: 3, payload: 7}
	if r, ok := j.begun(over); !ok || r.at != 3 || r.payload != 7 {
		t.Errorf("began with %+v, %t", r, ok)
	}
}
