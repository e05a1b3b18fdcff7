package load

import (
	"cmp"
	"slices"
	"time"
)

// A Trigger accepts the events of a clock while all sources have room for them, as the busy logic of an experiment
// does. Events are accepted in groups: an exchange takes one event of each builder, so the Trigger ends with a whole
// group. It is pure: the caller tells the time, and how many of the accepted events are built.
type Trigger struct {
	clock *Clock
	room  uint64 // accepted events that are not built, at most
	group uint64
	done  uint64        // accepted events before Resume that need not be built any more
	ends  time.Duration // after that the group begun is filled, and no more; below 0: after most events
	most  uint64

	next  time.Duration // event of the clock
	at    time.Duration // up to which the clock has run
	full  bool          // and events were refused
	since time.Duration // that the first was

	looked [4]bool         // in each quarter of the time
	stamps []time.Duration // of accepted events that Take has not returned
	Gaps   []Gap           // of a trace
	Counts
}

// A Gap says that before the accepted event, counted from 0, so many events were refused. Between two Gaps none was.
type Gap struct{ Event, Refused uint64 }

// Row is the number of an accepted event among all that were offered.
func Row(gaps []Gap, event uint64) uint64 {
	i, found := slices.BinarySearchFunc(gaps, event, func(g Gap, event uint64) int { return cmp.Compare(g.Event, event) })
	if found {
		i++
	}
	if i == 0 {
		return event
	}
	return event + gaps[i-1].Refused
}

// Counts are what became of the events of a clock. Offered is Accepted and Refused together.
type Counts struct {
	Accepted uint64
	Refused  uint64
	Times    uint64        // that events were refused one after the other
	Longest  time.Duration // from the first of them until there was room again
	// Fewest is the fewest accepted events that were not built, in each quarter of the clock's time; 0 of one that
	// counts events.
	Fewest [4]uint64
	Left   uint64 // accepted events that were not built when its time was over
}

// Growth is the share of the offered events by which more wait in the last quarter than in the second: what the network
// does not carry, and the buffers still hold.
func (c Counts) Growth() float64 {
	if c.Fewest[3] <= c.Fewest[1] {
		return 0
	}
	return float64(c.Fewest[3]-c.Fewest[1]) / (float64(c.Accepted+c.Refused) / 2)
}

// Carried is the share of the offered events that were built while the clock ran.
func (c Counts) Carried() float64 {
	return float64(c.Accepted-min(c.Left, c.Accepted)) / max(1, float64(c.Accepted+c.Refused))
}

// Add adds what became of other events, after these.
func (c *Counts) Add(o Counts) {
	c.Accepted, c.Refused, c.Times, c.Longest = c.Accepted+o.Accepted, c.Refused+o.Refused, c.Times+o.Times, max(c.Longest, o.Longest)
	c.Left += o.Left
	for i, n := range o.Fewest {
		c.Fewest[i] += n
	}
}

// Options of a Trigger.
type Options struct {
	Clock *Clock
	Room  uint64        // accepted events that are not built, at most; at least Group
	Group uint64        // events that are accepted together, at least 1
	For   time.Duration // how long the clock runs, until the group begun then is full
	Most  uint64        // events to accept instead, a multiple of Group; 0: by time
}

// NewTrigger returns a Trigger whose clock begins at 0.
func NewTrigger(o Options) *Trigger {
	t := &Trigger{clock: o.Clock, group: max(1, o.Group), ends: o.For, most: o.Most}
	t.room = max(o.Room, t.group)
	t.next = o.Clock.Next()
	return t
}

// Run lets the clock run to now. built of the accepted events are built; it is called with the old number before that
// rises, so that an event finds the buffers as they were when it happened.
func (t *Trigger) Run(now time.Duration, built uint64) {
	t.at, built = max(t.at, now), built+t.done
	t.look(built)
	for t.next <= t.at && !t.Over() {
		if t.Accepted-min(built, t.Accepted) >= t.room {
			t.refuse()
		} else {
			t.free(t.next)
			if t.clock.load.Arrival == Traced && Row(t.Gaps, t.Accepted) < t.Accepted+t.Refused {
				t.Gaps = append(t.Gaps, Gap{t.Accepted, t.Refused})
			}
			t.Accepted++
			t.stamps = append(t.stamps, t.next)
		}
		t.next = t.clock.Next()
	}
	if t.Accepted-min(built, t.Accepted) < t.room {
		t.free(t.at)
	}
}

// look notes how many events wait, while the clock runs.
func (t *Trigger) look(built uint64) {
	if t.most == 0 && t.at <= t.ends && t.ends > 0 {
		at := min(3, int(4*float64(t.at)/float64(t.ends)))
		t.Left = t.Accepted - min(built, t.Accepted)
		if !t.looked[at] || t.Left < t.Fewest[at] {
			t.looked[at], t.Fewest[at] = true, t.Left
		}
	}
}

func (t *Trigger) refuse() {
	t.Refused++
	if !t.full {
		t.full, t.since = true, t.next
		t.Times++
	}
}

// free notes that there is room again.
func (t *Trigger) free(at time.Duration) {
	if t.full {
		t.full = false
		t.Longest = max(t.Longest, at-t.since)
	}
}

// Over reports whether no more events are accepted.
func (t *Trigger) Over() bool {
	if t.most > 0 {
		return t.Accepted >= t.most && t.Due()%t.group == 0
	}
	return t.next > t.ends && t.Due()%t.group == 0 && t.Accepted > 0
}

// Due is how many accepted events are to be built since Resume, or since the clock began.
func (t *Trigger) Due() uint64 { return t.Accepted - t.done }

// Resume has Take return the times of some events again, before those that it has not returned, or without these. All
// other accepted events need not be built any more; Run counts from here. It returns how many of them were left out.
func (t *Trigger) Resume(again []time.Duration, without bool) (left uint64) {
	if without {
		left, t.stamps = uint64(len(t.stamps)), nil
	}
	t.stamps = slices.Concat(again, t.stamps)
	t.done = t.Accepted - uint64(len(t.stamps))
	return left
}

// Regroup changes how many events are accepted together, after Resume.
func (t *Trigger) Regroup(group uint64) { t.group = max(1, group) }

// Next is when the clock has its next event, if it is not over.
func (t *Trigger) Next() (at time.Duration, ok bool) { return t.next, !t.Over() }

// Take returns when the next n accepted events happened, each once.
func (t *Trigger) Take(n uint64) []time.Duration {
	n = min(n, uint64(len(t.stamps)))
	out := t.stamps[:n:n]
	t.stamps = t.stamps[n:]
	return out
}

// Waiting is how many accepted events Take has not returned.
func (t *Trigger) Waiting() uint64 { return uint64(len(t.stamps)) }
