// Package attribution answers: who is slow? From what the servers of an exchange noted of each other
// and of themselves, and the way of each message, it names the servers, cables, directions and
// switches that explain what went worse than usual. A wrong name is worse than none: what the
// evidence cannot tell apart is named together, and where nothing explains most of the excess, nobody
// is named. It is pure: no clock, no file.
//
// Two signs of a pair count: how much longer than usual its messages took, and how many segments had
// to be sent again. Candidates are sets of pairs: those of a server, of a cable, of one direction of
// it, of a switch. The likeliest is taken, its pairs put aside, and the next looked for. A third sign
// needs no pairs: a process that found its own clock ahead stood still.
//
// Times are seconds; a share of 0.5 is half the usual rate.
package attribution

import (
	"cmp"
	"slices"

	"evbench/internal/lists"
)

// Evidence is what is known of an exchange.
type Evidence struct {
	Names []string // of servers, by rank
	Pairs []Pair
	// Timed: the time of a pair is its own. Without phases messages share links with those of other
	// pairs at that time, and only segments sent again tell.
	Timed   bool
	Servers []Server // by rank, or none
	Sec     float64  // how long was measured
	Ways    Ways     // nil: only servers are candidates
	// Parts are the ends of parts of that time, rising, for Pair.Course; nil: what came when is not known.
	Parts []float64
	// Counted are the ports that counted errors: a switch or server, what stands at the other end of its cable, and the cable where
	// there are several, else "". They accuse nobody.
	Counted [][3]string
}

// Add adds what a later part of the same exchanges shows. The pairs are the same, in the same order, or there are none.
func (e *Evidence) Add(o Evidence) {
	if len(e.Pairs) != len(o.Pairs) || len(e.Servers) != len(o.Servers) {
		if len(e.Pairs) < len(o.Pairs) || e.Names == nil {
			*e = o
			e.Pairs, e.Servers = slices.Clone(o.Pairs), slices.Clone(o.Servers)
		}
		return
	}
	e.follow(o)
	for i := range e.Pairs {
		a, b := &e.Pairs[i], o.Pairs[i]
		a.Bytes, a.Sec, a.Expected = a.Bytes+b.Bytes, a.Sec+b.Sec, a.Expected+b.Expected
		if b.Longest > a.Longest {
			a.Longest, a.LongestAt = b.Longest, e.Sec+b.LongestAt
		}
		a.Messages, a.Resent = a.Messages+b.Messages, a.Resent+b.Resent
		if a.Soonest == 0 || b.Soonest > 0 && b.Soonest < a.Soonest {
			a.Soonest = b.Soonest
		}
	}
	for i := range e.Servers {
		a, b := &e.Servers[i], o.Servers[i]
		if a.Stops == 0 && b.Stops > 0 {
			a.First = e.Sec + b.First
		}
		a.Stops, a.Stood, a.Longest, a.Errors = a.Stops+b.Stops, a.Stood+b.Stood, max(a.Longest, b.Longest), a.Errors+b.Errors
		a.Pauses += b.Pauses
	}
	e.Sec += o.Sec
	e.Counted = o.Counted // those of all slices so far
}

// Over returns the causes of the slices of a case together, with in how many of them each was found.
func Over(all Evidence, each [][]Cause) []Cause {
	out := Find(all)
	for i := range out {
		c := &out[i]
		c.Slices = len(each)
		c.Found = lists.CountIf(each, func(of []Cause) bool {
			return c.Among(of)
		})
	}
	return out
}

// A Pair is what one server got from another.
type Pair struct {
	Src, Dst int     // ranks
	Bytes    uint64  // payload
	Sec      float64 // in which it came
	Expected float64 // of Sec, in any unit that is the same for all pairs; 0: by Bytes
	Longest  float64 // the longest single message; 0: not known
	// LongestAt is when that had come, Soonest the least wait for the beginning of a message; 0: not known.
	LongestAt, Soonest float64
	Shared             int       // by how many messages the fullest link of its way is shared in its phase; 0: not known
	Messages           int       // 0: not known
	Resent             uint64    // segments
	Way                []Wire    // nil: by Ways
	Course             []float64 // [part] how long a byte took; 0: nothing came
}

// told reports whether a pair had a message.
func (p Pair) told() bool { return p.Bytes > 0 || p.Resent > 0 }

// A Server is what a process noted of itself.
type Server struct {
	Stops   int     // times it stood still
	Stood   float64 // in all
	Longest float64
	First   float64 // when the first stop began
	// Control: it shares its cable with the connections of the controller.
	Control bool
	// Errors are those of its adapter, such as symbol errors, Pauses the frames by which it has others wait. They accuse
	// nobody: of a server that is slow, they tell which part.
	Errors, Pauses uint64
}

// A Wire is a direction of a cable.
type Wire struct {
	From, To string // its ends
	Cable    string // both directions
	Name     string // "": From to To
}

// Ways are the ways of messages.
type Ways interface {
	// Way returns the wires of the message of a pair in order, those of the servers included, and those of the way back where a
	// time is that of both. known says whether those between switches are all there.
	Way(src, dst int) (wires []Wire, known bool)
}

// A Kind is what a Cause names.
type Kind string

// The kinds of causes.
const (
	OfServer    Kind = "server"    // or its cable: all pairs of the one are those of the other
	OfCable     Kind = "cable"     // between switches, both ways
	OfDirection Kind = "direction" // of a cable between switches
	OfSwitch    Kind = "switch"
)

// A Cause explains an excess.
type Cause struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"` // with what cannot be told apart from it: "server5 or its cable to leaf1"
	// Parts are the servers, cables and switches of Name.
	Parts []string `json:"parts"`
	// One is "sends" or "receives" where only one direction of a server is slow.
	One string `json:"one_direction,omitempty"`
	// Share is its rate beside the usual one, with its interval over pairs; 0: its rate is the usual one.
	Share   float64 `json:"share,omitempty"`
	Lo      float64 `json:"share_lo,omitempty"`
	Hi      float64 `json:"share_hi,omitempty"`
	Pairs   int     `json:"pairs,omitempty"`
	Slow    int     `json:"slow_pairs,omitempty"` // that took much longer, or lost segments
	Resent  uint64  `json:"resent,omitempty"`
	AtTimes bool    `json:"at_times,omitempty"` // single messages took much longer, the others did not
	// Times is how many spells it was slow for. The first lasted From to To, seconds by the ends of parts, all of them During;
	// Share is its rate in them. 0: it was slow all the time, or when is not known.
	Times  int     `json:"times,omitempty"`
	From   float64 `json:"from_s,omitempty"`
	To     float64 `json:"to_s,omitempty"`
	During float64 `json:"slow_s,omitempty"`
	// Found is in how many of so many slices it shows.
	Found  int `json:"found_in,omitempty"`
	Slices int `json:"of_slices,omitempty"`
	// Of a server that stood still.
	Stops   int     `json:"stops,omitempty"`
	Stood   float64 `json:"stood_s,omitempty"`
	Longest float64 `json:"longest_stop_s,omitempty"`
	First   float64 `json:"first_stop_s,omitempty"`

	Of      []int `json:"-"` // its pairs, as in Evidence
	pairs   []int // the same, with those that others explain or that had no message
	score   float64
	counted bool // its ports count errors, and no others
}

const (
	most       = 3 // causes: more are no answer
	mostLooked = 8 // candidates, with those that are not worth a name

	// clipped is by how many standard deviations a pair counts at most: single outliers of a busy machine are
	// far beyond.
	clipped = 6.0
	// leastSigma is the least standard deviation of a pair's time, of the usual time.
	leastSigma = 0.03
	// evident is the least gain in log likelihood: e^11 against about 100 candidates and 100 runs; what is named must
	// look like a cause, too (fits).
	evident = 11.0
	// evidentAtTimes is that of a cause which makes only some of its pairs slow: a few outliers come together by chance.
	evidentAtTimes = 14.0
	// close is by which part of its gain another candidate is as good.
	close = 0.65
	// By how much longer messages take at least over a thing, over a direction of a cable, and over one direction of a
	// server, which a busy machine makes slower more easily, and over the cable of control messages.
	leastBoth, leastDirection, leastOne, leastControl = 0.07, 0.09, 0.15, 0.25
	// besides is the least excess of a further cause, as a part of the first: the slow ones' partners are a little
	// late for their next messages. What stalls at times has to be as bad as besidesAtTimes: messages may have gone
	// around the first.
	besides, besidesAtTimes = 0.25, 0.75
	// explained is the least part of the slow pairs that the causes explain together. clearly is how many times the
	// gain of what is left that of a cause must be.
	explained = 0.6
	clearly   = 1.5
	// hit is from how many standard deviations, and from which excess, a pair is slow.
	hit, hitExcess = 4.0, 0.05
	// steady is the part of its pairs that a cause which is always slow makes slow.
	steady = 0.7
)

// Find returns the causes, the worst first; none where nobody is to blame.
func Find(e Evidence) []Cause {
	s := newSearch(e)
	out := s.stops()
	h := s.history()
	if out = s.find(out); len(h.at) > 1 {
		out = h.when(out)
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Weight(e.Sec), a.Weight(e.Sec)) })
	return out[:min(most, len(out))]
}

// find adds to stops the causes that pairs show.
func (s *search) find(out []Cause) []Cause {
	for range mostLooked {
		c, named, any := s.next(out)
		if named {
			out = append(out, c)
		}
		if !any || len(out) > most {
			break
		}
	}
	if out = s.enough(out); len(out) > most {
		out = lists.Filter(out, func(c Cause) bool { return c.Stops > 0 })
	}
	return out
}

// Shows reports whether a part of the evidence that a cause was found in shows it by itself: by its pairs, on average, at least half as
// much as they all do, or by segments sent again.
func (c Cause) Shows(part Evidence) bool {
	s := search{Evidence: part, open: lists.Map(part.Pairs, Pair.told)}
	s.measure()
	told := lists.Filter(c.pairs, func(i int) bool { return s.open[i] })
	if c.Loses() {
		return slices.ContainsFunc(told, func(i int) bool { return part.Pairs[i].Resent > 0 })
	}
	mean, _ := s.effect(told)
	const few, half = 2, 0.5
	return c.Share > 0 && len(told) >= few && mean >= max(leastSigmas*s.sigma, half*(1/c.Share-1))
}

// Among reports whether one of some causes names the same thing, alone or with others.
func (c Cause) Among(of []Cause) bool {
	return slices.ContainsFunc(of, func(o Cause) bool { return slices.Contains(o.Parts, c.Parts[0]) })
}

// Weight is how much a cause slows, as a share of the time.
func (c Cause) Weight(sec float64) float64 {
	w := 0.0
	if c.Share > 0 {
		w = 1 - c.Share
	}
	if sec > 0 {
		if c.Times > 0 {
			w *= min(1, c.During/sec)
		}
		w = max(w, min(1, c.Stood/sec))
	}
	return w
}
