package judge_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"evbench/scheduler/judge"
	"evbench/testing/expect"
	"evbench/testing/topologytest"
)

// FuzzRead: whatever the bytes, Read does not panic, and Check judges all that
// Read accepts, the same way twice.
func FuzzRead(f *testing.F) {
	for _, d := range drafts(f, 2, 3) {
		f.Add([]byte(d.text()))
		d.routing = "spread"
		f.Add([]byte(d.text()))
	}
	f.Add([]byte(head + "# spines 9\n# down spine0\n# bound 4 lp\n## x\n16777216 16777216 0 16777216\n0 1 1 -\n"))
	f.Add(zip(f, head+"0 0 1 -\n"))
	f.Add([]byte(lp(topologytest.Without(f, optionsOf(2, 2)), 3, []weight{{"leaf0-spine0", "up", 1<<63 - 1}})))
	for _, d := range podDrafts(f, 2, 1, 2) {
		f.Add([]byte(d.text()))
	}
	f.Add([]byte(head + "# down spine0,leaf0-spine1\n# unreachable leaf0-leaf1\n# bound 6 hall0 leaf1\n0 0 2 1\n"))
	f.Add([]byte((&draft{tree: topologytest.Tree(f, podOptions(1, 2, 2))}).lp(3, []weight{{"pod0-spine0-top1", "down", 7}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := judge.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		o := judge.Options{Bound: true, AllowContention: len(data)%2 == 0}
		r, again := judge.Check(file, o), judge.Check(file, o)
		expect.MustTrue(t, r.Total == again.Total && r.Valid == (r.Total == 0) && len(r.Offences) <= 10 && r.Total >= len(r.Offences),
			"%+v\nthen %+v", r, again)
		kinds := 0
		for _, n := range r.Counts {
			kinds += n
		}
		expect.MustTrue(t, kinds == r.Total, "counts %v, total %d", r.Counts, r.Total)
	})
}

// FuzzJudge: whatever happens to a valid plan, the judge counts what the second
// judge counts.
func FuzzJudge(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, byte(seed), byte(seed>>1))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kind, routing byte) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var plans []*draft
		switch kind % 3 {
		case 0:
			plans = drafts(t, 1+rng.IntN(3), 2+rng.IntN(3))
		case 1:
			plans = podDrafts(t, 1+rng.IntN(3), 1+rng.IntN(2), 2+rng.IntN(2))
		case 2:
			plans = []*draft{greedy("cut", randomTree(t, rng))}
		}
		d := plans[rng.IntN(len(plans))].clone()
		if len(d.messages) == 0 {
			return
		}
		d.hash, d.phases, d.bound = "none", 0, ""
		d.routing = []string{"pinned", "minhop", "ecmp", "none"}[routing%4]
		scramble(d, rng)
		o := judge.Options{AllowContention: seed%2 == 0}
		counts, _ := second(d, o)
		r := judged(t, d.text(), o)
		expect.MustTrue(t, maps.Equal(counts, r.Counts), "counts %v, second judge %v\n%s", r.Counts, counts, d.text())
	})
}

func BenchmarkCheck(b *testing.B) {
	for _, tt := range []struct {
		name   string
		m0, m1 int
		hash   bool
	}{
		{"360 servers", 20, 18, true},
		{"360 servers without hash", 20, 18, false},
		{"1296 servers", 36, 36, true},
		{"4096 servers", 64, 64, true},
	} {
		b.Run(tt.name, func(b *testing.B) {
			f := shiftFile(b, tt.m0, tt.m1)
			if tt.hash {
				f.Hash = "?"
				_, f.Hash, _ = strings.Cut(judge.Check(f, judge.Options{}).Offences[0].Text, "canonical text has ")
			}
			b.ReportAllocs()
			for b.Loop() {
				r := judge.Check(f, judge.Options{})
				expect.MustTrue(b, r.Valid, "%v", r.Offences)
			}
		})
	}
}

// shiftFile is shift without the way through a file, for plans that are large.
func shiftFile(b *testing.B, m0, m1 int) *judge.File {
	s := m0 * m1
	f := &judge.File{Tree: topologytest.Without(b, optionsOf(m0, m1)), Routing: "pinned", Phases: s - 1, Messages: make([]judge.Message, 0, s*(s-1))}
	for p := 1; p < s; p++ {
		for src := range s {
			m := judge.Message{Phase: int32(p - 1), Src: int32(src), Dst: int32((src + p) % s), Spine: int16((src + p) % m0), Top: judge.NoTop}
			if src/m0 == int(m.Dst)/m0 {
				m.Spine = judge.NoSpine
			}
			f.Messages = append(f.Messages, m)
		}
	}
	return f
}
