package worker

import (
	"time"

	"evbench/controller/wire"
	"evbench/results"
)

// A tracer keeps the last spans of the loop in fixed space: it allocates and sends nothing while
// the case runs. nil keeps nothing.
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

// A place locates a span; -1 means no phase or no peer.
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

// spans returns the spans that began in the counted part, oldest first, relative to its start.
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
