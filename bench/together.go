package bench

import (
	"slices"

	"evbench/controller"
	"evbench/results"
)

// together adds up the slices of a case; nil if it has none. It counts errors in all slices, and
// results in those that count, or in all if none counts.
func together(done []*measured, p Planned) *measured {
	total := &measured{Planned: p}
	n, counts := 0, slices.ContainsFunc(done, func(m *measured) bool { return m.Name == p.Name && m.rejected == "" })
	for _, m := range done {
		if m.Name != p.Name {
			continue
		}
		total.add(m, m.rejected == "" || !counts, n == 0)
		n++
	}
	if n == 0 {
		return nil
	}
	return total
}

// add adds a slice, and its results if measured is set.
func (m *measured) add(x *measured, measured, first bool) {
	a, b := &m.outcome, x.outcome
	a.Complete = b.Complete && (first || a.Complete)
	a.Assigned, a.Built, a.Lost = a.Assigned+b.Assigned, a.Built+b.Built, a.Lost+b.Lost
	a.Duplicate, a.Unknown, a.Unfinished = a.Duplicate+b.Duplicate, a.Unknown+b.Unknown, a.Unfinished+b.Unfinished
	a.LateFragments, a.DuplicateFragments = a.LateFragments+b.LateFragments, a.DuplicateFragments+b.DuplicateFragments
	a.CorruptFragments, a.StrayFragments = a.CorruptFragments+b.CorruptFragments, a.StrayFragments+b.StrayFragments
	a.Retransmits, a.Samples, a.IO = a.Retransmits+b.Retransmits, a.Samples+b.Samples, b.IO
	m.drops += x.drops
	m.links = addLinks(m.links, x.links)
	m.events, m.failovers = append(m.events, x.events...), append(m.failovers, x.failovers...)
	m.warnings, m.wrong = union(m.warnings, x.warnings), union(m.wrong, x.wrong)
	if measured {
		addMeasured(a, b)
	}
}

func addMeasured(a *controller.Outcome, b controller.Outcome) {
	a.Exchanges += b.Exchanges
	a.Events += b.Events
	a.Span += b.Span
	a.Offered, a.Away = addOffered(a.Offered, b.Offered), slices.Concat(a.Away, b.Away)
	a.BarrierWait += b.BarrierWait
	a.Tokens += b.Tokens
	a.Loads = append(a.Loads, b.Loads...)
	if a.Servers == nil {
		a.Servers = slices.Clone(b.Servers)
		return
	}
	for i := range a.Servers {
		s := &a.Servers[i]
		s.Events += b.Servers[i].Events
		s.SentBytes += b.Servers[i].SentBytes
		s.ReceivedBytes += b.Servers[i].ReceivedBytes
	}
}

func union(texts, more []string) []string {
	for _, text := range more {
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// addLinks adds up the traffic of two slices on the links, which are in the same order.
func addLinks(a, b []results.LinkCount) []results.LinkCount {
	if len(a) != len(b) {
		return slices.Clone(b)
	}
	for i := range a {
		a[i].Add(b[i])
	}
	return a
}
