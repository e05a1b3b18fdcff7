package results

// What a server did during a Span.
const (
	SpanExchange = "exchange" // from its first send to when its event was complete
	SpanSend     = "send"     // of a phase: from when it could begin until the phase's transfers were over
	SpanReceive  = "receive"  // of a phase: from when the fragment of Peer was awaited until it was there
	SpanBarrier  = "barrier"  // of a phase: from the end of its transfers until all were there
	SpanEvent    = "event"    // without phases: from when it was opened until it was complete
	SpanRequest  = "request"  // without phases: from asking Peer for a fragment until it was there
	SpanTokens   = "tokens"   // ordered: from when the send before had left until the tokens for the fragment to Peer were there
)

// SpanKinds are the kinds of Span, in the order of their numbers on the wire.
func SpanKinds() []string {
	return []string{SpanExchange, SpanSend, SpanReceive, SpanBarrier, SpanEvent, SpanRequest, SpanTokens}
}

// A Span is one thing that a server did, in seconds of its own clock since it was told
// that the measured part has begun.
type Span struct {
	Case             string
	Repeat           int
	Server           int    // position
	What             string // one of the kinds of Span
	BeginSec, EndSec float64
	Exchange         uint64 // event, without phases
	Phase            int    // -1: of none
	Peer             int    // position; -1: of none
}
