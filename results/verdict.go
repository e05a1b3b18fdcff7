package results

import (
	"slices"
	"strings"

	"evbench/builder/modes"
	"evbench/internal/lists"
)

// Verdicts from the interval of a case.
const (
	Resolved   = "resolved"   // its half-width is at most Tolerance of the value, and the control kept to its prediction
	Ranked     = "ranked"     // not resolved, but apart from the control and from each case that it is compared with and not equal to
	Unresolved = "unresolved" // neither: the order of the cases may be noise
	Pending    = "pending"    // not resolved yet, of a run that goes on
	Reference  = "control"    // what the others are compared with
)

// A Comparison is the cases that an answer compares: those with the same dead links and the same
// sizes of fragments.
type Comparison struct {
	Dead  []string // as in Case.Failures
	Sizes string   // as in Case
	Cases []int    // places in the list of cases; the controls are not among them
}

// Compare returns the comparisons of a run. names are the cases that the scenario names for it.
// Without names, cases with the same dead links form a group, in the order of the run. A group that
// has synchronised cases with a schedule planned around dead links and with one that is not, and no
// ordered case, keeps only those. Cases whose links change on the way are compared only where
// named.
func Compare(cases []Case, names []string) []Comparison {
	var out []Comparison
	for i, c := range cases {
		named := slices.Contains(names, c.Name)
		if c.Control || c.Simulated != "" || !named && (len(names) > 0 || c.changes()) || c.Offered != nil {
			continue
		}
		at := slices.IndexFunc(out, func(x Comparison) bool { return slices.Equal(x.Dead, c.Failures) && x.Sizes == c.Sizes })
		if at < 0 {
			at = len(out)
			out = append(out, Comparison{Dead: c.Failures, Sizes: c.Sizes})
		}
		out[at].Cases = append(out[at].Cases, i)
	}
	if len(names) == 0 {
		for i := range out {
			out[i].Cases = synchronised(cases, out[i].Cases)
		}
		out = impaired(out)
	}
	return out
}

func (c Case) changes() bool {
	return slices.ContainsFunc(c.Failures, func(f string) bool { return strings.Contains(f, " at ") })
}

// impaired keeps the groups with dead links, if there are any.
func impaired(groups []Comparison) []Comparison {
	healthy := func(x Comparison) bool { return len(x.Dead) == 0 }
	if rest := slices.DeleteFunc(slices.Clone(groups), healthy); len(rest) > 0 {
		return rest
	}
	return groups
}

func (c Case) planned() bool { return c.Routing == "pinned" || c.Routing == "ports" }

// synchronised keeps the cases of a group that best show the value of a plan.
func synchronised(cases []Case, group []int) []int {
	var around, through, both []int
	for _, i := range group {
		switch c := cases[i]; {
		case c.Mode == modes.Ordered:
			return group
		case c.Mode != modes.Sync:
		case c.planned():
			around, both = append(around, i), append(both, i)
		default:
			through, both = append(through, i), append(both, i)
		}
	}
	if len(around) > 0 && len(through) > 0 {
		return both
	}
	return group
}

// Assess gives every case its estimate and verdict from the slices of the run, which it
// pairs, and notes which cases are compared.
func Assess(cases []Case, slices []Slice, compared []Comparison) {
	Pair(slices)
	for i := range cases {
		c := &cases[i]
		c.Rounds, c.Rejected = counted(c.Name, slices)
		c.Estimate = NewEstimate(c.Name, slices)
		c.Compared = false
		if c.RatioToControl = 0; c.Estimate != nil && c.Estimate.Of == OfRatio {
			c.RatioToControl = c.Estimate.Median
		}
	}
	groups, slow := groupsOf(len(cases), compared), slowControl(cases, slices)
	for i := range cases {
		c := &cases[i]
		c.Compared = groups[i] != nil
		c.Equal = equalTo(i, cases, groups[i], slices)
	}
	for i := range cases {
		cases[i].Verdict = verdictOf(cases[i], cases, groups[i], slow)
	}
}

// equalTo lists the cases of a group that surely differ from one case by less than the tolerance.
// Overlapping intervals do not show that.
func equalTo(at int, cases []Case, group []int, slices []Slice) []string {
	var out []string
	for _, j := range group {
		if j != at && ratioOf(cases[at].Name, cases[j].Name, slices).within() {
			out = append(out, cases[j].Name)
		}
	}
	return out
}

func counted(name string, slices []Slice) (count, rejected int) {
	for _, s := range slices {
		switch {
		case s.Case != name:
		case s.Counts():
			count++
		case s.Rejected != "":
			rejected++
		}
	}
	return count, rejected
}

// groupsOf returns, for each case, the places of the cases compared with it; nil where it is not
// compared.
func groupsOf(n int, compared []Comparison) [][]int {
	out := make([][]int, n)
	for _, x := range compared {
		for _, i := range x.Cases {
			out[i] = x.Cases
		}
	}
	return out
}

// slowControl reports whether a control reached less than minControl of its prediction, and the machine may be the
// cause. A delay of each phase costs a case with longer phases less than the control, so its ratio is too high.
func slowControl(cases []Case, all []Slice) bool {
	return slices.ContainsFunc(cases, func(c Case) bool {
		_, control := slicesOf(c.Name, all)
		if !c.Control || c.PredictedEfficiency == 0 || len(control) == 0 {
			return false
		}
		reached := NewInterval(lists.Map(control, Slice.efficiency)).Median / c.PredictedEfficiency
		return reached < minControl && processorsOf(cases, all).explains(1-reached)
	})
}

func verdictOf(c Case, cases []Case, group []int, slow bool) string {
	switch {
	case c.Control:
		return Reference
	case c.Estimate.Resolved() && !slow:
		return Resolved
	case c.Estimate == nil || !c.Estimate.Known() || group == nil && c.Estimate.Of != OfRatio:
		return Unresolved
	case c.Estimate.Of == OfRatio && c.Estimate.Holds(1): // as fast as the control, perhaps
		return Unresolved
	}
	for _, j := range group {
		if other := cases[j]; other.Name != c.Name && !c.equals(other) && (other.Estimate == nil || !c.Estimate.apart(other.Estimate.Interval)) {
			return Unresolved
		}
	}
	return Ranked
}

func (c Case) equals(other Case) bool { return slices.Contains(c.Equal, other.Name) }
