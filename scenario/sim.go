package scenario

import "time"

// Sim is the time that a simulation counts beside the bytes on the links.
type Sim struct {
	Round    time.Duration // one round of a barrier: one message and its handling
	Overhead time.Duration // of each phase, or of each fragment without phases
	Jitter   time.Duration // each server starts a phase up to this much late, by the seed
}

// The time of a message over TCP in namespaces of one machine of two cores.
const (
	// labRound is a barrier of 8 to 32 servers on loopback, measured (docs/evidence/results.md),
	// divided by its rounds.
	labRound = 25 * time.Microsecond
	// labOverhead is the remaining loss of the healthy controls of 16, 32 and 64 servers there,
	// without the barrier.
	labOverhead = 50 * time.Microsecond
)

// The time of a message over InfiniBand. The thesis states no latency, of the barrier or otherwise.
const (
	// infinibandRound is the latency of a small message between two MPI processes:
	// 1.4 to 1.9 µs on ConnectX (Open MPI developers' list, 2007), 1.76 µs on QLogic
	// (manual of the IB6054601, A.4).
	infinibandRound = 2 * time.Microsecond
	// infinibandOverhead is the request and the answer before the data of a large message.
	infinibandOverhead = 2 * infinibandRound
)

// defaultSim returns the defaults for a fabric: TCP on one machine, or InfiniBand on hosts.
func defaultSim(kind string) Sim {
	if kind == Hosts {
		return Sim{Round: infinibandRound, Overhead: infinibandOverhead}
	}
	return Sim{Round: labRound, Overhead: labOverhead}
}
