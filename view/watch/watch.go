// Package watch says when a server, cable or direction becomes slow and when it is well again, from the bursts of a watch
// (bench.Watch). It is pure: times are given.
package watch

import (
	"fmt"
	"slices"
	"time"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/internal/show"
	"evbench/results/attribution"
)

// The words of events.
const (
	Begin     = "WATCH"     // all servers have joined
	Slow      = "SLOW"      // somebody is slow, or slow in another way
	Well      = "WELL"      // and is no more
	Disturbed = "DISTURBED" // bursts do not count, as the servers were disturbed themselves
	Lost      = "LOST"      // servers do not answer
)

// An Event is a line of a watch.
type Event struct {
	At    time.Time          `json:"at"`
	Word  string             `json:"event"`
	Text  string             `json:"text"`
	Cause *attribution.Cause `json:"cause,omitempty"` // of Slow
}

func (e Event) String() string {
	return fmt.Sprintf("%s %s %s", e.At.UTC().Format(time.RFC3339), e.Word, e.Text)
}

// A State says who is slow now: at first, nobody.
type State struct {
	slow      []named
	disturbed bool
	bursts    int // that count
	// Of the pauses: whether the last burst shows somebody who was not told of, and what the next pause has to make up for.
	doubt bool
	owed  time.Duration
}

// named is a cause that was told of, and since when.
type named struct {
	attribution.Cause
	sec   float64 // how long its bursts were
	since time.Time
}

// least is in how many of the last bursts somebody must be found by these alone: one may be a hiccup.
const least = 2

// Take adds a burst that ended at a time, and returns what has changed.
func (s *State) Take(at time.Time, b bench.Burst) (out []Event) {
	if b.Rejected != "" {
		if !s.disturbed {
			out = append(out, Event{At: at, Word: Disturbed, Text: b.Rejected})
		}
		s.disturbed, s.doubt = true, false
		return out
	}
	s.disturbed = false
	s.bursts++
	now := lists.Filter(b.Causes, func(c attribution.Cause) bool { return c.Found >= least })
	s.slow = slices.DeleteFunc(s.slow, func(n named) bool {
		if slices.ContainsFunc(b.Causes, func(c attribution.Cause) bool { return same(c, n.Cause) }) {
			return false
		}
		out = append(out, Event{At: at, Word: Well, Text: fmt.Sprintf("%s, after %s", n.Name, at.Sub(n.since).Round(time.Second))})
		return true
	})
	for _, c := range now {
		if slices.ContainsFunc(s.slow, func(n named) bool { return same(c, n.Cause) }) {
			continue
		}
		if i := slices.IndexFunc(b.Alone, func(a attribution.Cause) bool { return same(a, c) }); i >= 0 && c.Stops == 0 {
			c = b.Alone[i] // as it is now: the bursts before had other figures
		}
		s.slow = append(s.slow, named{c, b.Sec, at})
		out = append(out, Event{At: at, Word: Slow, Text: c.Text(b.Sec), Cause: &c})
	}
	s.doubt = slices.ContainsFunc(b.Alone, func(c attribution.Cause) bool {
		return !slices.ContainsFunc(s.slow, func(n named) bool { return slices.Contains(n.Parts, c.Parts[0]) })
	})
	return out
}

// same reports whether two causes name the same thing.
func same(a, b attribution.Cause) bool {
	return a.Kind == b.Kind && slices.Equal(a.Parts, b.Parts)
}

// Answer says who is slow now, of so many servers.
func (s *State) Answer(servers int) answer.Answer {
	var e answer.Evidence
	switch {
	case s.bursts == 0 && s.disturbed:
		e.Doubts = []answer.Doubt{{Text: "servers were disturbed in every burst", Remedy: "watch again when they are idle"}}
	case len(s.slow) > 0:
		e.Findings = lists.Map(s.slow, func(n named) answer.Finding {
			return answer.Finding{Text: n.Text(n.sec), Place: answer.Below}
		})
	case s.bursts > 0:
		e.Findings = []answer.Finding{{Text: fmt.Sprintf("none of %d servers and no cable is slower than usual, in %s", servers, show.Plural(s.bursts, "burst", "bursts")), Place: answer.At}}
	}
	return answer.Decide(answer.Health, e)
}

// Pause is how long to wait after a burst that took so long and kept links busy for a part of that, for at most one each every and links
// that are busy for at most a share of the time. After one that shows somebody who was not told of the next comes in half of
// every, and the pause after that makes up for it.
func (s *State) Pause(every, took, busy time.Duration, share float64) time.Duration {
	due := max(every, time.Duration(float64(busy)/share)+s.owed)
	wait := due
	if s.doubt && s.owed == 0 {
		wait = every / 2
	}
	wait = max(wait, took)
	s.owed = max(0, due-wait)
	return wait - took
}
