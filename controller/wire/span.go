package wire

import (
	"time"

	"evbench/results"
)

// A Span is one action of a worker, on its own clock since Measure; see results.Span.
type Span struct {
	Kind     results.SpanKind `json:"k"`
	Begin    time.Duration    `json:"b"`
	End      time.Duration    `json:"e"`
	Exchange uint64           `json:"x"`
	Phase    int32            `json:"p"` // -1: no phase
	Peer     int32            `json:"r"` // rank; -1: no peer
	Spine    int32            `json:"s"` // of a fragment in ordered mode; -1: no spine
}

// MaxTrace bounds the spans that a worker may be asked to keep: they fit into a frame.
const MaxTrace = 1 << 16
