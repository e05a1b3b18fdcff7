package plandiff

import (
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/scheduler/judge"
)

// CompareOver is Compare for plans over given tables or probed paths, as their files state them. Both have phases.
func CompareOver(older, newer *judge.File) Diff {
	hosts := func(f *judge.File) []string { return lists.Tabulate(f.Servers(), f.HostName) }
	names := hosts(older)
	d := Diff{
		SameServers: slices.Equal(names, hosts(newer)), SameHash: older.Hash != "" && older.Hash == newer.Hash,
		Lines: []Line{}, Old: stated(older), New: stated(newer),
	}
	for _, key := range judge.Covered {
		d.line(key, older.Stated(key), newer.Stated(key))
	}
	d.line("schedule", older.Schedule, newer.Schedule)
	if !d.SameServers {
		return d
	}
	d.Messages = &Moves{First: []Move{}}
	a, b := rowsOf(older), rowsOf(newer)
	for at := range a {
		x, y := a[at], b[at]
		d.Messages.count(x.phase(), y.phase(), x != nil && y != nil && x.Port != y.Port, func() Move {
			return Move{names[at/len(names)], names[at%len(names)], x, y}
		})
	}
	return d
}

// stated are the figures that a file states: a phase takes as long as a message, unless links are slow.
func stated(f *judge.File) Figures {
	x := Figures{Phases: f.Phases, Duration: f.Time, Bound: int(f.Bound.Value), Proof: f.Bound.Kind, Hash: f.Hash}
	if x.Duration == 0 {
		x.Duration = float64(x.Phases)
	}
	if x.Bound > 0 {
		x.Gap = x.Phases - x.Bound
	}
	return x
}

// rowsOf are the places of messages, by src·hosts + dst; nil for none.
func rowsOf(f *judge.File) []*Place {
	out := make([]*Place, f.Servers()*f.Servers())
	for i := range f.Messages {
		m := &f.Messages[i]
		p := &Place{Phase: int(m.Phase), Spine: "-"}
		if f.ByPorts() && m.Port() > 0 {
			p.Port = fmt.Sprint(m.Port())
		}
		out[int(m.Src)*f.Servers()+int(m.Dst)] = p
	}
	return out
}

func (p *Place) phase() int {
	if p == nil {
		return -1
	}
	return p.Phase
}
