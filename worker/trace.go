package worker

import (
	"time"

	"evbench/controller/wire"
	"evbench/results"
)

// A tracer keeps the last spans of the loop in a space of one size: nothing is allocated or
// sent while the case runs. nil keeps nothing.
type tracer struct {
	ring []wire.Span
	n    uint64 // added
}

func newTracer(size int) *tracer {
	if size == 0 {
		return nil
	}
	return &tracer{ring: make([]wire.Span, size)}
}

// A place is what a span is of; -1 is no phase, and no peer.
type place struct {
	exchange    uint64
	phase, peer int
}

// add keeps a span that has no spine.
func (t *tracer) add(kind results.SpanKind, begin, end time.Duration, of place) {
	t.keep(wire.Span{Kind: kind, Begin: begin, End: end, Exchange: of.exchange, Phase: int32(of.phase), Peer: int32(of.peer), Spine: -1})
}

func (t *tracer) keep(s wire.Span) {
	if t != nil {
		t.ring[t.n%uint64(len(t.ring))] = s
		t.n++
	}
}

// spans returns those that began in the counted part, oldest first, on its clock.
func (t *tracer) spans(began time.Duration) []wire.Span {
	if t == nil {
		return nil
	}
	var out []wire.Span
	for i := t.n - min(t.n, uint64(len(t.ring))); i < t.n; i++ {
		if s := t.ring[i%uint64(len(t.ring))]; s.Begin >= began {
			s.Begin, s.End = s.Begin-began, s.End-began
			out = append(out, s)
		}
	}
	return out
}
