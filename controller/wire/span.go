package wire

import (
	"time"

	"evbench/results"
)

// A Span is one thing that a worker did, on its own clock since Measure; see results.Span.
type Span struct {
	Kind     results.SpanKind `json:"k"`
	Begin    time.Duration    `json:"b"`
	End      time.Duration    `json:"e"`
	Exchange uint64           `json:"x"`
	Phase    int32            `json:"p"` // -1: of none
	Peer     int32            `json:"r"` // rank; -1: of none
	Spine    int32            `json:"s"` // of a fragment by windows; -1: of none
}

// MaxTrace bounds the spans that a worker is asked to keep: a frame has room for them.
const MaxTrace = 1 << 16
