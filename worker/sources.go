package worker

import (
	"time"

	"evbench/controller/wire"
	"evbench/transport"
)

// sources records, by rank, what arrived from each source in the counted part, and what was sent twice to it; nil
// if it is not requested. Only report allocates.
type sources []source

type source struct {
	bytes   uint64
	resent  uint64        // segments to it, before the counted part
	awaited int           // fragments awaited
	since   time.Duration // when the first awaited one was expected
	took    time.Duration // time with at least one awaited, up to the last arrival

	messages  uint64
	longest   time.Duration // that one added to took
	longestAt time.Duration // when it came

	soonest time.Duration // the least wait for the head of a message; 0: not known
}

func newSources(c wire.Configure) sources {
	if !c.Pairs {
		return nil
	}
	return make(sources, len(c.Peers))
}

func (s sources) start(now time.Duration, moved func(peer int) transport.Movement) {
	for i := range s {
		s[i] = source{awaited: s[i].awaited, since: now, resent: moved(i).Resent}
	}
}

// await notes that a fragment of a source is on its way, as far as its receiver can tell.
// Overlapping fragments of a source count their time once.
func (s sources) await(rank int, now time.Duration) {
	if s == nil {
		return
	}
	f := &s[rank]
	if f.awaited == 0 {
		f.since = now
	}
	f.awaited++
}

// came notes the end of an awaited fragment, whole or damaged.
func (s sources) came(rank int, now time.Duration) {
	if s == nil {
		return
	}
	f := &s[rank]
	took := now - f.since
	if f.took += took; took > f.longest {
		f.longest, f.longestAt = took, now
	}
	f.messages++
	f.since = now
	f.awaited--
}

// began notes after how long a wait the head of a message had come.
func (s sources) began(rank int, waited time.Duration) {
	if s == nil {
		return
	}
	if f := &s[rank]; f.soonest == 0 || waited < f.soonest {
		f.soonest = max(1, waited)
	}
}

func (s sources) got(rank, bytes int) {
	if s != nil {
		s[rank].bytes += uint64(bytes)
	}
}

// report counts times from when the counted part began.
func (s sources) report(began time.Duration, moved func(peer int) transport.Movement) []wire.Source {
	if s == nil {
		return nil
	}
	out := make([]wire.Source, len(s))
	for i, f := range s {
		out[i] = wire.Source{
			Bytes: f.bytes, Took: f.took, Resent: max(moved(i).Resent, f.resent) - f.resent,
			Messages: f.messages, Longest: f.longest, LongestAt: max(0, f.longestAt-began), Soonest: f.soonest,
		}
	}
	return out
}
