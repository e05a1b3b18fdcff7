package worker

import (
	"context"

	"evbench/internal/wire"
)

// A ProbeFunc tells how another worker is reached at each address of what it
// gave as Data, and through which routers where that is asked for. It returns
// soon after ctx has ended.
type ProbeFunc func(ctx context.Context, data string, routers bool) []wire.Reach

// probe answers a Probe beside the control connection, which has pings to
// answer meanwhile.
func (s *session) probe(ctx context.Context, m wire.Probe) {
	s.probes.Go(func() {
		var reached []wire.Reach
		if s.o.Probe != nil {
			reached = s.o.Probe(ctx, m.Data, m.Routers)
		}
		// A broken connection ends the session by its reader.
		_ = s.o.Conn.Send(wire.Probed{Run: m.Run, Peer: m.Peer, Reached: reached})
	})
}
