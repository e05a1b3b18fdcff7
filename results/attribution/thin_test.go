package attribution

import (
	"math/rand/v2"
	"testing"
)

// thinned leaves one message of each of so many pairs of a server, others each time.
func thinned(r *rand.Rand, e Evidence, servers, left int) Evidence {
	for src := range servers {
		order := r.Perm(servers - 1)
		for i := range e.Pairs[src*(servers-1) : (src+1)*(servers-1)] {
			p := &e.Pairs[src*(servers-1)+i]
			if p.Sec /= messages; order[i] < left {
				p.Bytes, p.Messages, p.Longest = p.Bytes/messages, 1, p.Sec
			} else {
				*p = Pair{Src: p.Src, Dst: p.Dst, Messages: 1, Sec: 0.01, Longest: 0.01}
			}
		}
	}
	return e
}

// Bursts of two messages a server, too, name who became slow within a few, and nobody before.
func TestThin(t *testing.T) {
	f := fat{ports: 4, leaves: 4}
	for _, tt := range []struct {
		name          string
		usual, latest int // bursts to a name: of most seeds, of all
	}{{"server5", 3, 5}, {"leaf1-spine3", 4, 8}, {"", 0, 0}} {
		x, late := fault{name: tt.name, hits: over(tt.name), share: 0.5}, 0
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 80))
			var kept []Evidence
			at := 0
			for burst := -5; burst <= 10 && at == 0; burst++ {
				var faults []fault
				if burst > 0 {
					faults = append(faults, x)
				}
				kept = append(kept, thinned(r, draw(r, f, 0.2, faults...), f.servers(), 2)) // a time is a mean of eight: .07, and .1 of its place
				kept = kept[max(0, len(kept)-6):]
				for _, c := range Thin(kept) {
					switch {
					case c.Found < 2:
					case tt.name != "" && burst > 0 && c.names(x) && !c.AtTimes:
						at = burst
					default:
						t.Errorf("%q, seed %d, burst %d: %+v", tt.name, seed, burst, c)
					}
				}
			}
			if at > tt.usual {
				late++
			}
			if tt.name != "" && (at == 0 || at > tt.latest) {
				t.Errorf("%s, seed %d: named in burst %d", tt.name, seed, at)
			}
		}
		if late > 3 {
			t.Errorf("%s: %d of 10 later than %d bursts", tt.name, late, tt.usual)
		}
	}
}
