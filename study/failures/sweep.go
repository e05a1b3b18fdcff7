package failures

import (
	"maps"
	"slices"

	"evbench/internal/osmlog"
)

// A sweep is what upstream OpenSM says from one configuration of the subnet to
// the next. Its lines name ports that go down ("Unlinking", at -D 0x47), but
// never ports that come up: then a switch only says that something changed.
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

// flush makes events of a sweep. Downs are named, except those of nodes that
// are lost, which the cable map gives. An up is inferred where only one thing
// can have happened:
//   - a node came back: its links that are down came up;
//   - with a cable map, a switch without a down in this sweep says that something
//     changed, and of its links that are down one leads to a switch that says so
//     too, or it has one only;
//   - without, nothing went down in this sweep and one port in all was down.
//
// Whatever else switches said is counted as unresolved.
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
	for guid := range s.noticed {
		if !explained[guid] {
			j.h.Losses.Unresolved++
		}
	}
}

// when returns the notice of a switch if it came before r: that is nearer to
// when it happened.
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

// mappedUps infers ups from notices, the surest first.
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
