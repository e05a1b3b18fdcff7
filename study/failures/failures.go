// Package failures answers: how often do links fail, for how long, and how many
// at once? It reads what a subnet manager logs when ports change state, pairs
// downs with ups, brings both ends of a cable and the flaps of a link together,
// and counts (E. Stein, "Smart scheduling and routing for data acquisition
// networks", 2024, §4.1). It also turns a log into timed failures of a scenario.
//
// The way of the data: Read (one log) → Join (all logs in order of time, on
// cables) → Pair (failures) → Exclude (test periods) → Merge (flapping links) →
// Summarise. Every step is a pure function; what a log lacks (lost traps, cut
// lines, a clock set back) is counted in Losses and never guessed in silence.
//
// The package reads no clock. Times are those of the log, taken as UTC.
package failures

import (
	"fmt"
	"strings"
	"time"

	"evbench/internal/osmlog"
)

// A Class tells links between switches from links to servers.
type Class uint8

// Classes of links. Without a cable map all links are Unclassified.
const (
	Fabric       Class = iota // both ends are switches
	Server                    // one end is a host
	Unclassified              // not in the cable map, or there is none
)

var classNames = [...]string{"leaf-spine", "server", "unclassified"}

func (c Class) String() string { return classNames[c] }

// MarshalText returns the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// A port is a port of a switch, which is known by GUID, by name, or by both.
type port struct {
	guid     uint64
	isSwitch string
	port     int
}

// String returns switch/port, the switch by name if it has one.
func (p port) String() string {
	if p.isSwitch != "" {
		return fmt.Sprintf("%s/%d", p.isSwitch, p.port)
	}
	return fmt.Sprintf("0x%016x/%d", p.guid, p.port)
}

// A Link is a cable; or, when it is not in the cable map, one port alone, and
// then the second end is zero.
type Link struct {
	Name  string
	class Class
	ends  [2]port
}

// An event is a change of one end of a link: WentDown, CameUp or Progressed (from INIT to
// ARMED to ACTIVE), which means up, unless CameUp was seen before.
type event struct {
	time  time.Time
	link  int // index in History.Links
	end   uint8
	kind  osmlog.Kind
	vague bool // the clock had been set back: the order is right, the time is not known
}

// A Failure is a time during which a link was down. Where an end is not known,
// Down or Up is the nearest time that is.
type Failure struct {
	Link         int
	Down, Up     time.Time
	Flaps        int  // failures of the log that it stands for; 1 unless merged
	startUnknown bool // the message of the down was lost
	EndUnknown   bool // the message of the up was lost
	Open         bool // still down where the log ends, which is Up
}

// Known reports whether the failure has a duration.
func (f Failure) Known() bool { return !f.startUnknown && !f.EndUnknown && !f.Open }

// Duration returns how long the link was down; it means something if Known.
func (f Failure) Duration() time.Duration { return f.Up.Sub(f.Down) }

// Losses counts what was wrong with the logs, and what was made of it.
type Losses struct {
	Cut          int `json:"cut_lines"`           // lines that should tell of a port, but are incomplete
	Duplicate    int `json:"duplicate_events"`    // the same event in two logs
	ClockSteps   int `json:"clock_steps"`         // times the clock was set back
	Vague        int `json:"vague_events"`        // events in a stretch of time that came twice
	Rollovers    int `json:"year_rollovers"`      // turns of the year inside a log
	LostUps      int `json:"lost_ups"`            // two downs in a row
	LostDowns    int `json:"lost_downs"`          // an up without a down
	OneEnd       int `json:"one_end_only"`        // failures that one end of a cable told, and the other did not
	DownAtStart  int `json:"down_at_start"`       // first heard of when they came up
	OpenAtEnd    int `json:"open_at_end"`         // down where the log ends
	Inferred     int `json:"inferred_events"`     // upstream OpenSM: ups, and downs of lost nodes, that no line names
	Unresolved   int `json:"unresolved_notices"`  // upstream OpenSM: a switch said that something changed; what is not known
	UnknownPorts int `json:"ports_not_in_cables"` // ports that the cable map does not have
}

// A History is what all logs together tell.
type History struct {
	Links    []Link  // in order of the first end: GUID, name, port
	events   []event // in order of time
	From, To time.Time
	mapped   bool // there was a cable map
	cables   int  // links between switches in the cable map
	Losses   Losses
}

// ParsePeriod reads FROM..TO, each a day or a time of a day. TO is not included,
// and may be left out if FROM is a day: then that day is meant.
func ParsePeriod(s string) (Period, error) {
	from, to, ok := strings.Cut(s, "..")
	a, wholeDay, err := parseMoment(from)
	if err != nil {
		return Period{}, err
	}
	if !ok && wholeDay {
		return Period{a, a.AddDate(0, 0, 1)}, nil
	}
	b, _, err := parseMoment(to)
	if err != nil {
		return Period{}, err
	}
	if !b.After(a) {
		return Period{}, fmt.Errorf("ends at %s, not after it begins; write FROM..TO, TO not included", b.Format(time.DateTime))
	}
	return Period{a, b}, nil
}

func parseMoment(s string) (t time.Time, wholeDay bool, err error) {
	if t, err = time.Parse(time.DateOnly, s); err == nil {
		return t, true, nil
	}
	for _, l := range []string{time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.RFC3339} {
		if t, err = time.Parse(l, s); err == nil {
			return t.UTC(), false, nil
		}
	}
	return t, false, fmt.Errorf("%.60q: write a day or a time, 2024-03-08 or 2024-03-08T14:00:00", s)
}
