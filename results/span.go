package results

// A SpanKind says what a server did. Its number is on the wire: append only.
type SpanKind uint8

// The kinds of Span.
const (
	SpanExchange SpanKind = iota // from its first send to when its event was complete
	SpanSend                     // of a phase: from when it could begin until the phase's transfers were over
	SpanReceive                  // of a phase: from when the fragment of Peer was awaited until it was there
	SpanBarrier                  // of a phase: from the end of its transfers until all were there
	SpanEvent                    // without phases: from when it was opened until it was complete
	SpanRequest                  // without phases: from asking Peer for a fragment until it was there
	SpanTokens                   // ordered: from when the send before had left until the tokens for the fragment to Peer were there
)

// SpanKinds are the names of the kinds, each at its number.
func SpanKinds() []string {
	return []string{"exchange", "send", "receive", "barrier", "event", "request", "tokens"}
}

// Known reports whether there is such a kind: a worker of a later version may send others.
func (k SpanKind) Known() bool { return int(k) < len(SpanKinds()) }

func (k SpanKind) String() string { return SpanKinds()[k] }

// A Span is one thing that a server did, in seconds of its own clock since it was told
// that the measured part has begun.
type Span struct {
	Case     string   `col:"case" unit:""`
	Repeat   int      `col:"repeat" unit:""`
	Server   int      `col:"server" unit:""` // position
	What     SpanKind `col:"what" unit:""`
	BeginSec float64  `col:"begin_s" unit:"s" digits:"9"`
	EndSec   float64  `col:"end_s" unit:"s" digits:"9"`
	Exchange uint64   `col:"exchange" unit:""`        // event, without phases
	Phase    int      `col:"phase" unit:"" none:"-1"` // -1: of none
	Peer     int      `col:"peer" unit:"" none:"-1"`  // position; -1: of none
	Spine    int      `col:"spine" unit:"" none:"-1"` // ordered: that the fragment to Peer goes over; -1: of none
}
