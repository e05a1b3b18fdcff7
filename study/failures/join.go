package failures

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"evbench/internal/lists"
	"evbench/site/osmlog"
)

type Options struct {
	// Year is the year of the earliest line. It is needed when the stamps of the logs have no year;
	// Join then finds the turn of the year.
	Year int
	// Cables joins the two ends of a cable. nil: every port is its own link, and a failure counts
	// once for each end that reports it.
	Cables *Cables
}

type timed struct {
	record
	t   time.Time
	log int
}

// understood returns an error for logs without any time. One freshly rotated log may be empty
// beside others.
func understood(logs []*Log) error {
	var names []string
	for _, l := range logs {
		if l.stamped {
			return nil
		}
		names = append(names, l.name)
	}
	return fmt.Errorf("%s: empty: neither failures nor a period without them; write lines of OpenSM's log, "+
		"which begin with a time (Nov 21 01:28:17 867263), or of CSV: timestamp, switch, port, state", strings.Join(names, ", "))
}

// Join brings logs into one order of time and their ports onto cables. The order of the given logs
// does not matter; an event in two logs counts once. O(n log n) for n records.
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
	if len(h.Links) > 0 && h.mapped && !slices.ContainsFunc(h.Links, func(l Link) bool { return l.class != Unclassified }) {
		return nil, fmt.Errorf("%s: no port in it is one of the network or map of cables: the first is %s", logs[0].name, h.Links[0].Name)
	}
	return h, nil
}

func (h *History) timed(logs []*Log, year int) ([]timed, error) {
	var all []timed
	years := startYears(logs, year)
	order := lists.Range[int](len(logs))
	slices.SortStableFunc(order, func(a, b int) int { return compareLogs(logs[a], logs[b], years[a], years[b]) })
	for _, i := range order {
		l := logs[i]
		h.Losses.add(l.losses)
		if !l.stamped {
			continue
		}
		if !l.Dated() && year == 0 {
			return nil, fmt.Errorf("%s: its times have no year; give the year of its first line", l.name)
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
	ends   map[port]endRef
	links  map[int]int // of the cable map to those of the history
	sweep  sweep
	down   map[int]bool // upstream: links that are down
}

func newJoiner(h *History, c *Cables, logs []*Log) *joiner {
	j := &joiner{h: h, cables: c, names: map[string]uint64{}, ends: map[port]endRef{}, links: map[int]int{}, down: map[int]bool{}}
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

// end finds the end of a link for a record. A switch known by name in one record and by GUID in
// another is one switch.
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
			at, ok = j.cables.ends[port{isSwitch: p.isSwitch, port: p.port}]
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
	order := lists.Range[int](len(h.Links))
	slices.SortFunc(order, func(a, b int) int {
		x, y := h.Links[a].ends[0], h.Links[b].ends[0]
		return cmp.Or(cmp.Compare(x.guid, y.guid), cmp.Compare(x.isSwitch, y.isSwitch), cmp.Compare(x.port, y.port))
	})
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

// A sweep is the output of upstream OpenSM from one configuration of the subnet to the next. Its
// lines name ports that go down ("Unlinking", at -D 0x47), but never ports that come up: then a
// switch only says that something changed.
type sweep struct {
	noticed    map[uint64]timed // switches, by their first notice
	unlinked   []timed
	gone, back []timed
}

func (s *sweep) take(r timed) {
	switch r.Kind {
	case osmlog.Noticed:
		if s.noticed == nil {
			s.noticed = map[uint64]timed{}
		}
		if _, ok := s.noticed[r.GUID]; !ok {
			s.noticed[r.GUID] = r
		}
	case osmlog.Unlinked:
		s.unlinked = append(s.unlinked, r)
	case osmlog.NodeGone:
		s.gone = append(s.gone, r)
	case osmlog.NodeBack:
		s.back = append(s.back, r)
	}
}

// flush makes events of a sweep. Its lines name downs, except those of lost nodes, which the cable map
// gives. An up is inferred where only one thing can have happened:
//   - a node came back: its dead links came up;
//   - with a cable map, a switch without a down in this sweep reports a change, and one of its dead
//     links leads to a switch that also reports one, or it has one dead link only;
//   - without, nothing went down in this sweep and one port in all was down.
//
// Other reports of switches count as unresolved.
func (j *joiner) flush() {
	s := j.sweep
	j.sweep = sweep{}
	before := maps.Clone(j.down)
	explained := map[uint64]bool{}
	for _, r := range s.unlinked {
		at := j.end(r.record)
		j.goDown(s.when(r.GUID, r), at)
		j.explain(explained, at.link)
	}
	for _, r := range s.gone {
		for _, at := range j.around(r.GUID) {
			if !j.down[at.link] {
				j.h.Losses.Inferred++
				j.goDown(r, at)
			}
			j.explain(explained, at.link)
		}
	}
	for _, r := range s.back {
		for _, at := range j.around(r.GUID) {
			if before[at.link] && j.down[at.link] {
				j.comeUp(s.when(j.h.Links[at.link].ends[at.end].guid, r), at, explained)
			}
		}
	}
	if j.cables != nil {
		j.mappedUps(s, before, explained)
	} else if len(s.unlinked) == 0 && len(before) == 1 {
		j.onlyUp(s, before, explained)
	}
	open := 0
	for guid := range s.noticed {
		if !explained[guid] {
			open++
		}
	}
	j.h.Losses.Unresolved += open
	j.h.Losses.Changes += (open + 1) / 2
}

// when returns the notice of a switch if it came before r: it is closer to the event.
func (s *sweep) when(guid uint64, r timed) timed {
	if n, ok := s.noticed[guid]; ok && n.t.Before(r.t) {
		return n
	}
	return r
}

func (j *joiner) goDown(r timed, at endRef) {
	j.event(r.t, at, osmlog.WentDown, r.held)
	j.down[at.link] = true
}

func (j *joiner) comeUp(r timed, at endRef, explained map[uint64]bool) {
	j.h.Losses.Inferred++
	j.event(r.t, at, osmlog.CameUp, r.held)
	delete(j.down, at.link)
	j.explain(explained, at.link)
}

func (j *joiner) explain(explained map[uint64]bool, link int) {
	for _, p := range j.h.Links[link].ends {
		explained[p.guid] = true
	}
}

func (j *joiner) around(guid uint64) []endRef {
	if j.cables == nil {
		return nil
	}
	var out []endRef
	for _, i := range j.cables.nodes[guid] {
		l := j.cables.links[i]
		end := uint8(0)
		if l.class == Fabric && l.ends[0].guid == guid {
			end = 1
		}
		out = append(out, endRef{j.cable(i), end})
	}
	return out
}

// mappedUps infers ups from notices, the most certain first.
func (j *joiner) mappedUps(s sweep, before map[int]bool, explained map[uint64]bool) {
	for _, bothEnds := range []bool{true, false} {
		for _, guid := range slices.Sorted(maps.Keys(s.noticed)) {
			if explained[guid] {
				continue
			}
			var found []endRef
			for _, link := range slices.Sorted(maps.Keys(before)) {
				end, ok := j.endAt(link, guid)
				far := j.h.Links[link].ends[1-end].guid
				_, told := s.noticed[far]
				if ok && j.down[link] && (!bothEnds || told && !explained[far]) {
					found = append(found, endRef{link, end})
				}
			}
			if len(found) == 1 {
				j.comeUp(s.noticed[guid], found[0], explained)
			}
		}
	}
}

func (j *joiner) endAt(link int, guid uint64) (uint8, bool) {
	for e, p := range j.h.Links[link].ends {
		if p.guid == guid {
			return uint8(e), true
		}
	}
	return 0, false
}

// onlyUp infers the up of the only port that is down.
func (j *joiner) onlyUp(s sweep, before map[int]bool, explained map[uint64]bool) {
	for link := range before {
		if n, ok := s.noticed[j.h.Links[link].ends[0].guid]; ok {
			j.comeUp(n, endRef{link, 0}, explained)
			for guid := range s.noticed {
				explained[guid] = true // the other end, which no map names
			}
		}
	}
}
