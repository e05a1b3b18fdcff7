package bench

import (
	"evbench/controller/wire"
	"evbench/results"
)

// A traced slice has about so many spans, and at least two exchanges of each server: a line of
// trace.csv is some 60 bytes.
const (
	spansASlice   = 1 << 15
	spansAPhase   = 3 // send, receive, barrier
	leastExchange = 2
)

func (r *runner) spans(m *measured) int {
	if !r.s.Trace || !r.sink.Keeps().Spans {
		return 0
	}
	servers := r.s.Tree.Servers()
	phases := max(servers-1, m.Prediction.Phases)
	return min(max(spansASlice/servers, leastExchange*(spansAPhase*phases+1)), wire.MaxTrace)
}

func (r *runner) keepSpans(m *measured) {
	for _, s := range m.outcome.Servers {
		for _, x := range s.Trace {
			if !x.Kind.Known() {
				continue // from a worker of a later version
			}
			span := results.Span{
				Case: m.Name, Repeat: m.repeat, Server: s.Server, What: x.Kind, BeginSec: x.Begin.Seconds(), EndSec: x.End.Seconds(),
				Exchange: x.Exchange, Phase: int(x.Phase), Peer: -1, Spine: int(x.Spine),
			}
			if x.Peer >= 0 && int(x.Peer) < len(m.outcome.Servers) {
				span.Peer = m.outcome.Servers[x.Peer].Server
			}
			r.keep(r.sink.Write(span))
		}
	}
}
