// Package plandiff answers: what does one plan change against another, in its figures and in its
// messages, and is it worse?
package plandiff

import (
	"cmp"
	"fmt"
	"slices"

	"evbench/internal/show"
	"evbench/plan"
	"evbench/scheduler"
	"evbench/topology"
)

// A Diff says what one plan changes against another.
type Diff struct {
	// SameServers says that both plans have the same servers, so that their messages can be
	// compared.
	SameServers bool `json:"same_servers"`
	// SameHash says that the plans are equal: tree, dead links, phases and paths.
	SameHash bool `json:"same_hash"`
	// Lines are the lines of their headers that differ.
	Lines []Line `json:"lines"`

	Old Figures `json:"old"`
	New Figures `json:"new"`

	// Messages is nil for different servers.
	Messages *Moves `json:"messages,omitempty"`
}

// A Line is a header line that differs between two plans.
type Line struct {
	Key string `json:"key"`
	Old string `json:"old"`
	New string `json:"new"`
}

// Figures are the costs of a plan. Durations are in message times.
type Figures struct {
	Phases                int     `json:"phases"`
	Bound                 int     `json:"bound"` // 0 where the file states none
	Proof                 string  `json:"proof"` // of the bound
	Gap                   int     `json:"gap"`
	Duration              float64 `json:"duration"` // 0 without routing
	PredictedEfficiency   float64 `json:"predicted_efficiency"`
	Unsynchronised        float64 `json:"unsynchronised_efficiency_at_most"`
	Paths                 int     `json:"paths"` // most spines from a leaf to a server; 0 where not known
	LMC                   int     `json:"lmc"`
	LIDs                  int     `json:"lids"`
	ForwardingTableLength int     `json:"lft_entries"`
	Hash                  string  `json:"hash"`
}

func figures(p *plan.Plan) Figures {
	c := p.Cost(plan.Equal, 0)
	f := Figures{
		Phases: p.Phases(), Gap: p.Gap(), Duration: c.Duration, PredictedEfficiency: c.Synchronised(), Unsynchronised: c.Unsynchronised(),
		Paths: p.Paths.Most, LMC: p.Paths.LMC, LIDs: p.Paths.LIDs, ForwardingTableLength: p.Paths.Entries, Hash: p.Hash(),
	}
	if p.Bound.Phases > 0 {
		f.Bound, f.Proof = p.Bound.Phases, p.Proof()
	}
	return f
}

// Moves count the ordered pairs of servers whose message differs. A message is
// moved when its phase or its path has changed, or when only one plan has it.
type Moves struct {
	Both  int    `json:"both"`     // messages that both plans have
	Moved int    `json:"moved"`    // pairs with any difference
	Phase int    `json:"phase"`    // another phase
	Path  int    `json:"path"`     // another spine or top switch; 0 where one plan does not know its paths
	Old   int    `json:"only_old"` // only the old plan has it
	New   int    `json:"only_new"`
	First []Move `json:"first"` // the first of Moved, by source and destination
}

// A Move is a message that differs.
type Move struct {
	Src string `json:"src"`
	Dst string `json:"dst"`
	Old *Place `json:"old,omitempty"` // nil: none
	New *Place `json:"new,omitempty"`
}

// A Place is the phase and path of a message: "-" for none or not known.
type Place struct {
	Phase int    `json:"phase"`
	Spine string `json:"spine"`
	Port  string `json:"port,omitempty"` // of a plan over probed paths
}

// FirstMoves is how many moved messages a Diff lists.
const FirstMoves = 10

// Compare says what newer changes against older. Both have a schedule; anything may differ. Between
// different servers Compare looks at figures only. O(S²).
func Compare(older, newer *plan.Plan) Diff {
	d := Diff{
		SameServers: older.Tree.Ports() == newer.Tree.Ports() && slices.Equal(older.Tree.Fill(), newer.Tree.Fill()),
		Lines:       []Line{}, Old: figures(older), New: figures(newer),
	}
	d.SameHash = d.Old.Hash == d.New.Hash
	a, b := says(older), says(newer)
	for i := range a {
		d.line(a[i].Key, a[i].Old, b[i].Old)
	}
	if d.SameServers {
		d.Messages = moves(older, newer)
	}
	return d
}

// line notes a header line, where it differs.
func (d *Diff) line(key, older, newer string) {
	if older != newer {
		d.Lines = append(d.Lines, Line{key, older, newer})
	}
}

// says are the header lines that Compare looks at, as Line.Old.
func says(p *plan.Plan) []Line {
	words := p.Tree.Words()
	return []Line{
		{Key: "topology", Old: p.Tree.Notation()},
		{Key: "fill", Old: words.Fill},
		{Key: "spines", Old: fmt.Sprint(p.Tree.Spines())},
		{Key: "down", Old: show.OrNone(p.Tree.DownNames())},
		{Key: "readers", Old: cmp.Or(words.Readers, "all")},
		{Key: "builders", Old: cmp.Or(words.Builders, "all")},
		{Key: "unreachable", Old: show.OrNone(plan.PairNames(p.Unreachable))},
		{Key: "schedule", Old: p.ScheduleName()},
		{Key: "routing", Old: p.Routing},
	}
}

func moves(older, newer *plan.Plan) *Moves {
	m := &Moves{First: []Move{}}
	a, b := places(older), places(newer)
	known := older.Static() && newer.Static()
	for src := range older.Tree.Servers() {
		for dst := range older.Tree.Servers() {
			if src != dst {
				m.compare(older, [2]int{src, dst}, a(src, dst), b(src, dst), known)
			}
		}
	}
	return m
}

// A place is where a message is in a plan; phase -1 for nowhere.
type place struct{ phase, spine, top int }

func places(p *plan.Plan) func(src, dst int) place {
	through := func(_, _ int) (spine, top int) { return scheduler.None, scheduler.None }
	if p.Static() {
		through = p.Through()
	}
	return func(src, dst int) place {
		if !p.Schedule.Meets(src, dst) {
			return place{-1, scheduler.None, scheduler.None}
		}
		phase, _ := p.Schedule.At(src, dst)
		spine, top := through(src, dst)
		return place{phase, spine, top}
	}
}

func (x place) written(t topology.Wires) *Place {
	if x.phase < 0 {
		return nil
	}
	return &Place{Phase: x.phase, Spine: plan.PathText(t, x.spine, x.top)}
}

// compare counts one pair of servers. Paths are compared where both are known.
func (m *Moves) compare(p *plan.Plan, pair [2]int, a, b place, known bool) {
	m.count(a.phase, b.phase, known && (a.spine != b.spine || a.top != b.top), func() Move {
		return Move{p.Tree.ServerName(pair[0]), p.Tree.ServerName(pair[1]), a.written(p.Tree.Wires), b.written(p.Tree.Wires)}
	})
}

// count counts the message of one pair, in phase a of the old plan and b of the new one; -1: it has none.
func (m *Moves) count(a, b int, otherPath bool, move func() Move) {
	before := m.Phase + m.Path + m.Old + m.New
	switch {
	case a < 0 && b < 0:
		return
	case b < 0:
		m.Old++
	case a < 0:
		m.New++
	default:
		m.Both++
		if a != b {
			m.Phase++
		}
		if otherPath {
			m.Path++
		}
	}
	if m.Phase+m.Path+m.Old+m.New == before {
		return
	}
	m.Moved++
	if len(m.First) < FirstMoves {
		m.First = append(m.First, move())
	}
}

// Regressible are the figures that Worse can compare.
var Regressible = []string{"phases", "duration", "paths"}

// A Regression is a figure that is greater in the new plan.
type Regression struct {
	Figure string  `json:"figure"`
	Old    float64 `json:"old"`
	New    float64 `json:"new"`
}

// Worse returns the named figures that the new plan makes worse, and those that one of the plans lacks. A name outside
// Regressible is an error.
func (d Diff) Worse(names []string) (out []Regression, lacking []string, err error) {
	out = []Regression{}
	for _, name := range names {
		older, known := d.Old.figure(name)
		newer, both := d.New.figure(name)
		switch {
		case !slices.Contains(Regressible, name):
			return nil, nil, fmt.Errorf("no figure %q; %s", name, show.Choices(name, Regressible))
		case !known || !both:
			lacking = append(lacking, name)
		case newer > older:
			out = append(out, Regression{name, older, newer})
		}
	}
	return out, lacking, nil
}

func (f Figures) figure(name string) (value float64, known bool) {
	switch name {
	case "phases":
		return float64(f.Phases), true
	case "duration":
		return f.Duration, f.Duration > 0
	case "paths":
		return float64(f.Paths), f.LIDs > 0
	}
	return 0, false
}
