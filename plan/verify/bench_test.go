package verify_test

import (
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/plan/verify"
	"evbench/topology/topologytest"
)

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
				_, f.Hash, _ = strings.Cut(verify.Check(f, verify.Options{}).Offences[0].Text, "canonical text has ")
			}
			b.ReportAllocs()
			for b.Loop() {
				r := verify.Check(f, verify.Options{})
				expect.MustTrue(b, r.Valid, "%v", r.Offences)
			}
		})
	}
}

// shiftFile is shift without the way through a file, for plans that are large.
func shiftFile(b *testing.B, m0, m1 int) *verify.File {
	s := m0 * m1
	f := &verify.File{Tree: topologytest.Without(b, optionsOf(m0, m1)), Routing: "pinned", Phases: s - 1, Messages: make([]verify.Message, 0, s*(s-1))}
	for p := 1; p < s; p++ {
		for src := range s {
			m := verify.Message{Phase: int32(p - 1), Src: int32(src), Dst: int32((src + p) % s), Spine: int16((src + p) % m0), Top: verify.NoTop}
			if src/m0 == int(m.Dst)/m0 {
				m.Spine = verify.NoSpine
			}
			f.Messages = append(f.Messages, m)
		}
	}
	return f
}
