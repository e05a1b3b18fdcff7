package bench_test

import (
	"math"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// Readers apart from builders, and some that are both: every mode builds each event once, samples are those of
// builders, and both sides have their throughput.
func TestRunRoles(t *testing.T) {
	for _, roles := range []string{"readers: leaf0-1\nbuilders: leaf2", "readers: leaf0\nbuilders: leaf1-2", "readers: server0-3\nbuilders: server3-5"} {
		sink := &memory{}
		sum := expect.Value(run(t, roles+`
topology: FT(2;2,3)
fabric: {kind: hosts}
event: {fragment: 4KiB}
duration: 100ms
interval: 50ms
rounds: 1
cases:
  - {schedule: fors, failures: [leaf0-spine1]}
  - {schedule: fors, sizes: {spread: 0.5}}
  - {mode: unsynchronised}
  - {name: two at a time, mode: unsynchronised, sources: 2, assign: balanced, sizes: exponential}
  - {name: fan-out, mode: unsynchronised, sizes: {fanout: 1}}
  - {schedule: fors, mode: free-running}
  - {mode: ordered, sizes: exponential}
  - {name: around a dead link, mode: ordered, sizes: {spread: 0.5}, failures: [leaf0-spine1]}
`, &inProcess{}, sink))(t)
		s, _ := read(t, roles+"\ntopology: FT(2;2,3)\ncases: [{}]\n")
		expect.Equal(t, len(sum.Cases), 9, "cases")
		for _, c := range sum.Cases {
			expect.True(t, c.Valid && c.Complete && c.EventsBuilt != 0 && c.EventsLost+c.EventsDuplicate+c.FragmentsLate == 0, "%s: %s: %+v", roles, c.Name, c)
			expect.MustTrue(t, c.Roles != nil && c.Roles.Readers == s.Tree.Readers() && c.Roles.Builders == s.Tree.Builders(), "%s: %s: roles %+v", roles, c.Name, c.Roles)
			got, sent := c.GoodputBitPerSec.Mean*float64(c.Roles.Builders), c.Roles.SentBitPerSec.Mean*float64(c.Roles.Readers)
			expect.True(t, c.EventsPerSec.Min > 0 && math.Abs(got-sent) <= 1e-6*sent, "%s: %s: %v bit/s received, %v sent", roles, c.Name, got, sent)
		}
		for _, x := range sink.samples {
			rank, _ := s.Tree.Rank(x.Server)
			expect.True(t, s.Tree.Builds(rank), "%s: a sample of server%d", roles, x.Server)
		}
	}
}

// Each policy goes on with roles, and loses nothing.
//
//gate:race
func TestPoliciesOfRoles(t *testing.T) {
	for _, policy := range []string{"minhop", "unsync", "fors"} {
		text := strings.Replace(failing, "topology: FT(2;2,4)", "topology: FT(2;2,4)\nreaders: leaf0-2\nbuilders: leaf2-3", 1)
		c := expect.Value(run(t, text+policy+"\n", &breakable{}, &memory{}))(t).Cases[0]
		expect.True(t, c.Complete && c.EventsBuilt != 0 && c.EventsLost == 0 && c.EventsDuplicate == 0 && len(c.LinkEvents) == 2, "%s: %+v", policy, c)
	}
}
