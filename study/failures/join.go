package failures

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/internal/osmlog"
)

// Options of Join.
type Options struct {
	// Year is when the earliest line was written. It is needed when the logs
	// have no year in their stamps; the turn of the year is then found.
	Year int
	// Cables joins the two ends of a cable. nil: every port is a link of its own,
	// and its failures are counted once for each end that reports them.
	Cables *Cables
}

type timed struct {
	record
	t   time.Time
	log int
}

// understood refuses logs that hold nothing with a time: there is no time that they
// are about. One that was rotated a moment ago may be empty beside others.
func understood(logs []*Log) error {
	var names []string
	for _, l := range logs {
		if l.stamped {
			return nil
		}
		names = append(names, l.name)
	}
	return fmt.Errorf("%s: empty: no failures, and no time in which there were none; there should be lines of OpenSM's log, "+
		"which begin with a time (Nov 21 01:28:17 867263), or of CSV: timestamp, switch, port, state", strings.Join(names, ", "))
}

// Join brings logs into one order of time and their ports onto cables. The
// order in which logs are given does not matter; an event that two logs hold
// counts once. O(n log n) for n records.
func Join(logs []*Log, o Options) (*History, error) {
	if err := understood(logs); err != nil {
		return nil, err
	}
	h := &History{mapped: o.Cables != nil}
	if o.Cables != nil {
		h.cables = o.Cables.fabric()
	}
	records, err := h.timed(logs, o.Year)
	if err != nil {
		return nil, err
	}
	j := newJoiner(h, o.Cables, logs)
	for _, r := range records {
		switch {
		case r.Kind <= osmlog.Progressed:
			j.event(r.t, j.end(r.record), r.Kind, r.held)
		case !logs[r.log].stated:
			j.sweep.take(r)
			if r.Kind == osmlog.Swept {
				j.flush()
			}
		}
	}
	j.flush()
	j.finish()
	return h, nil
}

func (h *History) timed(logs []*Log, year int) ([]timed, error) {
	var all []timed
	years := startYears(logs, year)
	order := make([]int, len(logs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareLogs(logs[a], logs[b], years[a], years[b]) })
	for _, i := range order {
		l := logs[i]
		h.Losses.add(l.losses)
		if !l.stamped {
			continue
		}
		if !l.Dated() && year == 0 {
			return nil, fmt.Errorf("%s: its times have no year; say when its first line was written", l.name)
		}
		if err := h.widen(l, years[i]); err != nil {
			return nil, err
		}
		for _, r := range l.records {
			t, err := r.at.time(years[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.name, err)
			}
			all = append(all, timed{r, t, i})
		}
	}
	slices.SortStableFunc(all, func(a, b timed) int { return a.t.Compare(b.t) })
	return h.once(all), nil
}

func (h *History) widen(l *Log, year int) error {
	for _, s := range l.span {
		t, err := s.time(year)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		if h.From.IsZero() || t.Before(h.From) {
			h.From = t
		}
		if t.After(h.To) {
			h.To = t
		}
	}
	return nil
}

func (l *Losses) add(m Losses) {
	l.Cut += m.Cut
	l.ClockSteps += m.ClockSteps
	l.Rollovers += m.Rollovers
}

// startYears returns the year to add to the stamps of each log.
func startYears(logs []*Log, year int) []int {
	out := make([]int, len(logs))
	var at []int
	var spans [][2]stamp
	for i, l := range logs {
		if !l.Dated() {
			at, spans = append(at, i), append(spans, l.span)
		}
	}
	for k, y := range firstYears(spans) {
		out[at[k]] = year + y
	}
	return out
}

func compareLogs(a, b *Log, ya, yb int) int {
	if c := slices.CompareFunc(a.records, b.records, func(x, y record) int {
		return cmp.Or(cmp.Compare(x.at.micros()+int64(ya)*yearLen, y.at.micros()+int64(yb)*yearLen), cmp.Compare(x.Kind, y.Kind),
			cmp.Compare(x.GUID, y.GUID), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Port, y.Port))
	}); c != 0 {
		return c
	}
	return cmp.Compare(a.name, b.name)
}

func (h *History) once(all []timed) []timed {
	out := all[:0]
	for _, r := range all {
		twin := false
		for i := len(out) - 1; i >= 0 && out[i].t.Equal(r.t) && !twin; i-- {
			o := out[i]
			twin = o.log != r.log && !o.held && !r.held && o.Message == r.Message
		}
		if twin {
			if r.Kind <= osmlog.Unlinked {
				h.Losses.Duplicate++
			}
			continue
		}
		out = append(out, r)
	}
	return out
}

type joiner struct {
	h      *History
	cables *Cables
	names  map[string]uint64
	ends   map[portKey]endRef
	links  map[int]int // of the cable map to those of the history
	sweep  sweep
	down   map[int]bool // upstream: links that are down
}

func newJoiner(h *History, c *Cables, logs []*Log) *joiner {
	j := &joiner{h: h, cables: c, names: map[string]uint64{}, ends: map[portKey]endRef{}, links: map[int]int{}, down: map[int]bool{}}
	for _, l := range logs {
		for name, guid := range l.switches {
			if old, ok := j.names[name]; !ok || guid < old {
				j.names[name] = guid
			}
		}
	}
	if c != nil {
		maps.Copy(j.names, c.names)
	}
	return j
}

// end finds the end of a link that a record tells of. A switch that is known by
// name here and by GUID there is one switch.
func (j *joiner) end(r record) endRef {
	p := port{r.GUID, r.Name, r.Port}
	if p.guid == 0 {
		p.guid = j.names[p.isSwitch]
	}
	key := keyOf(p)
	if at, ok := j.ends[key]; ok {
		return at
	}
	at, ok := endRef{}, false
	if j.cables != nil {
		if at, ok = j.cables.ends[key]; !ok && p.isSwitch != "" {
			at, ok = j.cables.ends[portKey{name: p.isSwitch, port: p.port}]
		}
		if ok {
			at.link = j.cable(at.link)
		} else {
			j.h.Losses.UnknownPorts++
		}
	}
	if !ok {
		j.h.Links = append(j.h.Links, Link{Name: p.String(), class: Unclassified, ends: [2]port{p}})
		at = endRef{len(j.h.Links) - 1, 0}
	}
	j.ends[key] = at
	return at
}

func (j *joiner) cable(i int) int {
	if at, ok := j.links[i]; ok {
		return at
	}
	j.h.Links = append(j.h.Links, j.cables.links[i])
	j.links[i] = len(j.h.Links) - 1
	return j.links[i]
}

func (j *joiner) event(t time.Time, at endRef, kind osmlog.Kind, vague bool) {
	if vague {
		j.h.Losses.Vague++
	}
	j.h.events = append(j.h.events, event{time: t, link: at.link, end: at.end, kind: kind, vague: vague})
}

func (j *joiner) finish() {
	h := j.h
	order := make([]int, len(h.Links))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return comparePorts(h.Links[a].ends[0], h.Links[b].ends[0]) })
	links, number := make([]Link, len(order)), make([]int, len(order))
	for at, old := range order {
		links[at], number[old] = h.Links[old], at
	}
	h.Links = links
	for i := range h.events {
		h.events[i].link = number[h.events[i].link]
	}
	slices.SortStableFunc(h.events, func(a, b event) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.link, b.link)) })
}
