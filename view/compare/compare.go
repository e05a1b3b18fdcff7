// Package compare answers: has anything changed between two runs, by how much, and do the data show
// it? And how far were predictions from measurements? It takes results, returns statistics and
// writes them as text, CSV or JSON. It reads no file.
//
// The ratio to the control of the same round comes first: on a shared machine, two runs differ by
// more than most changes of a network. Absolute figures need an equally quiet machine in both runs.
//
// Samples are not independent observations: the servers of one interval share links and wait for
// each other, and neighbouring intervals share an exchange. Where both runs hold a case at least
// minObservations times, each repeat, or slice, is one observation. Otherwise each repeat is cut
// into blocks of intervals, so long that their autocorrelation vanishes in the noise. An event
// counts in a block by the share of its bytes. Blocks show the variation within a run, not between
// two equal runs: a change therefore also needs that no repeat of one run lies among those of the
// other. Simulated runs with the same figure in each repeat are exact: any difference is a change.
//
// The centre is the median with its interval (results.Interval); a change counts when
// the Mann-Whitney U test of golang.org/x/perf/benchmath gives p <= 0.05. Both assume no distribution.
package compare

import (
	"fmt"
	"slices"

	"evbench/internal/lists"
	"evbench/results"
)

// How observations are made and judged.
const (
	// alpha is the probability that two equal runs look different.
	alpha = 0.05
	// minObservations is the least number on each side with which the test can give less than
	// alpha.
	minObservations = 4
	// MostBlocks is the most blocks of one repeat. More blocks would be shorter and less
	// independent, and add little.
	MostBlocks = 12
)

// What an observation is.
const (
	Repeats = "repeats" // the whole of one repeat
	Blocks  = "blocks"  // some intervals of a repeat
	Exact   = "exact"   // a simulated figure, the same in every repeat
)

// A Report is the comparison of two runs.
type Report struct {
	Cases   []Case    `json:"cases"`   // that both hold, in the order of the base
	Missing []string  `json:"missing"` // cases of the base alone
	Added   []string  `json:"added"`   // cases of the new run alone
	Geomean []Geomean `json:"geomean"`
	// NoControl names the runs, "base" and "new", without a control that counts.
	NoControl []string `json:"no_control"`

	next results.Summary // of the new run
}

// A Case is a case that both runs hold.
type Case struct {
	Name    string   `json:"name"`
	Control bool     `json:"control"`
	Figures []Figure `json:"figures"`
	// LeftOut names the wrong repeats that do not count, each with its reason.
	LeftOut []string `json:"left_out"`
	// Rejected counts the slices of each run that do not count because the machine was disturbed.
	Rejected struct {
		Base int `json:"base"`
		New  int `json:"new"`
	} `json:"rejected"`
}

// A Figure is one quantity of a case in both runs.
type Figure struct {
	Name string `json:"figure"`
	// Observed is the kind of observation. BlockSec is the length of a block.
	Observed string           `json:"observed"`
	BlockSec float64          `json:"block_s,omitempty"`
	Base     results.Interval `json:"base"`
	New      results.Interval `json:"new"`
	// Change is new over base, less one, in per cent. It is absent if the base is 0.
	Change      *float64 `json:"change_percent"`
	P           float64  `json:"p"`
	Significant bool     `json:"significant"`
	// Overlap: p is small enough, but repeats of one run lie among those of the other.
	Overlap bool `json:"overlap,omitempty"`
	// Unsaid is why no change could be seen, however large; empty where one could.
	Unsaid string `json:"unsaid,omitempty"`

	against bool // one run was measured, the other simulated
}

// A Geomean is the geometric mean of the medians of one figure over the cases other than controls.
type Geomean struct {
	Figure string  `json:"figure"`
	Cases  int     `json:"cases"`
	Base   float64 `json:"base"`
	New    float64 `json:"new"`
	Change float64 `json:"change_percent"`
}

// Runs compares two runs case by case; invalid includes repeats that are marked so. Rejected slices never
// count. Differences says whether the runs are comparable.
func Runs(base, next *results.Run, invalid bool) Report {
	r := Report{Cases: []Case{}, Missing: []string{}, Added: []string{}, Geomean: []Geomean{}, NoControl: []string{}, next: next.Summary}
	a, b := split(base), split(next)
	for i, s := range []series{a, b} {
		if !s.controlled() {
			r.NoControl = append(r.NoControl, []string{"base", "new"}[i])
		}
	}
	for _, name := range a.names {
		if b.cases[name] == nil {
			r.Missing = append(r.Missing, name)
			continue
		}
		r.Cases = append(r.Cases, pair(name, a.cases[name], b.cases[name], invalid))
	}
	for _, name := range b.names {
		if a.cases[name] == nil {
			r.Added = append(r.Added, name)
		}
	}
	for _, f := range figures {
		if g, ok := geomean(f.name, r.Cases); ok {
			r.Geomean = append(r.Geomean, g)
		}
	}
	return r
}

// A repeat is one repeat of a case with its samples.
type repeat struct {
	results.Case
	samples  []results.Sample
	exact    bool // of a simulated run
	rejected bool
}

// A series is the cases of a run by name, each with its repeats in order.
type series struct {
	names []string
	cases map[string][]repeat
}

func split(run *results.Run) series {
	samples := lists.By(run.Samples, func(s results.Sample) results.SliceID { return results.SliceID{Case: s.Case, Repeat: s.Repeat} })
	rejected := map[results.SliceID]bool{}
	for _, s := range run.Summary.Slices {
		rejected[results.SliceID{Case: s.Case, Repeat: s.Repeat}] = s.Rejected != ""
	}
	out := series{cases: map[string][]repeat{}}
	for _, c := range run.Summary.Measured() {
		k := results.SliceID{Case: c.Name, Repeat: c.Repeat}
		out.cases[c.Name] = append(out.cases[c.Name], repeat{c, samples[k], isSimulated(run), rejected[k]})
	}
	for _, c := range run.Summary.Cases { // which has the order of the scenario
		if out.cases[c.Name] != nil && !slices.Contains(out.names, c.Name) {
			out.names = append(out.names, c.Name)
		}
	}
	return out
}

func (s series) controlled() bool {
	for _, all := range s.cases {
		if slices.ContainsFunc(all, func(r repeat) bool { return ratio(r) > 0 }) {
			return true
		}
	}
	return false
}

func pair(name string, base, next []repeat, invalid bool) Case {
	c := Case{Name: name, Control: base[0].Control, LeftOut: []string{}, Figures: []Figure{}}
	base, c.Rejected.Base = c.counted("base", base, invalid)
	next, c.Rejected.New = c.counted("new", next, invalid)
	for _, f := range figures {
		if x, ok := f.compare(base, next); ok {
			c.Figures = append(c.Figures, x)
		}
	}
	return c
}

// counted returns the repeats that count, notes the wrong repeats, and counts the rejected ones.
func (c *Case) counted(side string, all []repeat, invalid bool) (out []repeat, rejected int) {
	for _, r := range all {
		if r.rejected {
			rejected++
			continue
		}
		if r.Valid || invalid || r.Slow() {
			out = append(out, r)
			continue
		}
		reason := "invalid"
		if len(r.Reasons) > 0 {
			reason += ": " + r.Reasons[0]
		}
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("%s, repeat %d: %s", side, r.Repeat, reason))
	}
	return out, rejected
}

// Check checks that the parts of a run belong together: the samples of a case match the counts of
// its summary. A file cut between two lines fails here.
func Check(run *results.Run) error {
	seen := map[results.SliceID]bool{}
	for _, c := range run.Summary.Measured() {
		k := results.SliceID{Case: c.Name, Repeat: c.Repeat}
		if seen[k] {
			return fmt.Errorf("the summary holds repeat %d of case %q twice", c.Repeat, c.Name)
		}
		seen[k] = true
	}
	if isSimulated(run) {
		return nil
	}
	s := split(run)
	for _, name := range s.names {
		for _, r := range s.cases[name] {
			if err := r.whole(); r.Complete && err != nil {
				return err
			}
		}
	}
	return nil
}

// leastSampled is the share of the payload that samples must account for.
const leastSampled = 0.99

func (r repeat) whole() error {
	servers := map[int]bool{}
	got := 0.0
	for _, s := range r.samples {
		servers[s.Server] = true
		got += float64(s.PayloadBytes)
	}
	want := r.GoodputBitPerSec.Mean / 8 * r.MeasuredSec * float64(max(1, len(servers)))
	if got < leastSampled*want {
		return fmt.Errorf("the samples of case %q, repeat %d, hold %.0f %% of the payload that the summary counts: lines are missing",
			r.Name, r.Repeat, 100*got/want)
	}
	return nil
}
