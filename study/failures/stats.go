package failures

import (
	"cmp"
	"slices"
	"time"

	"evbench/internal/lists"
)

type Settings struct {
	// Merge is the gap below which failures of a link count as one; 0 merges none.
	Merge time.Duration
	// Exclude are test periods: failures that begin in them, and their time, do not count.
	Exclude []Period
}

// A Report is the statistics of a history.
type Report struct {
	From      time.Time `json:"from"`
	To        time.Time `json:"to"`
	ObservedS float64   `json:"observed_s"` // without the excluded periods
	MergeS    float64   `json:"merge_s"`
	Mapped    bool      `json:"both_ends_joined"` // failures are of cables; else of ports
	Excluded  int       `json:"failures_excluded"`
	Losses    Losses    `json:"losses"`
	Groups    []Group   `json:"groups"` // classes of links that failed
}

// A Group is the statistics of one class of links.
type Group struct {
	Class        Class        `json:"class"`
	Links        int          `json:"links_failed"`
	Observed     int          `json:"links_observed"`     // all of the class in the cable map; without one, those that failed
	Raw          Series       `json:"raw"`                // each failure as logged
	Merged       Series       `json:"merged"`             // with the correction for flapping
	Flaps        int          `json:"flaps"`              // raw failures that were merged with others
	Periods      int          `json:"flapping_periods"`   // what they were merged to
	Isolated     int          `json:"isolated"`           // raw failures that were not
	FlapShare    float64      `json:"flap_share"`         // Flaps of all raw failures
	Intervals    CDF          `json:"flap_intervals_cdf"` // seconds from an up to the next down of the same link, of less than Horizon
	Days         []DayCount   `json:"link_days"`
	QuietDays    int          `json:"days_without_failure"`
	LongestQuiet int          `json:"most_consecutive_days_without_failure"`
	AllDays      int          `json:"days"`
	Failed       []FailedLink `json:"links"`
}

// A FailedLink is a link with its number, which follows the order of switches and ports.
type FailedLink struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Failures int    `json:"failures"` // raw
	Merged   int    `json:"merged"`
}

// A DayCount is how many raw failures of a link began on a day (thesis figure 4.4).
type DayCount struct {
	Day      string `json:"day"`
	Link     int    `json:"link"` // FailedLink.ID
	Name     string `json:"name"`
	Failures int    `json:"failures"`
}

// horizon is the longest interval between failures of a link that counts as an interval between
// flaps. The thesis picked flapping periods by hand (§4.1.2).
const horizon = 24 * time.Hour

// A Series is the statistics of a list of failures.
type Series struct {
	Failures  int     `json:"failures"`
	Known     int     `json:"with_duration"` // the rest lacks one end
	Durations CDF     `json:"duration_cdf"`
	MedianS   float64 `json:"median_s"`
	LongestS  float64 `json:"longest_s"`
	DownS     float64 `json:"down_s"`         // link seconds, in the observed time
	MTTRS     float64 `json:"mttr_s"`         // mean duration
	MTBFS     float64 `json:"mtbf_link_s"`    // time that links were up, per failure
	EveryS    float64 `json:"mtbf_network_s"` // observed time per failure anywhere
	Together  []Share `json:"simultaneous"`
	MostDown  int     `json:"most_down"`
	MostAt    string  `json:"most_down_at,omitempty"`
}

// A Share is how long exactly that many links were down at once.
type Share struct {
	Links   int     `json:"links"`
	Seconds float64 `json:"s"`
	Share   float64 `json:"share"` // of the observed time
}

// A Point of a cumulative distribution: the share of values that are at most X.
type Point struct {
	X     float64 `json:"s"`
	Share float64 `json:"share"`
}

// A CDF is a cumulative distribution, one point for each value that occurs.
type CDF []Point

// Below returns the share of values less than x.
func (c CDF) Below(x float64) float64 {
	i, _ := slices.BinarySearchFunc(c, x, func(p Point, x float64) int { return cmp.Compare(p.X, x) })
	if i == 0 {
		return 0
	}
	return c[i-1].Share
}

func newCDF(values []float64) CDF {
	slices.Sort(values)
	c := CDF{}
	for i, v := range values {
		if i+1 == len(values) || values[i+1] != v {
			c = append(c, Point{v, float64(i+1) / float64(len(values))})
		}
	}
	return c
}

// Summarise computes the statistics. It drops test periods before it merges flaps, so that a test
// never lengthens a real failure. O(n log n).
func Summarise(h *History, s Settings) Report {
	all, losses := Pair(h)
	kept := Exclude(all, s.Exclude)
	window := without(Period{h.From, h.To}, s.Exclude)
	r := Report{From: h.From, To: h.To, MergeS: s.Merge.Seconds(), Mapped: h.mapped, Excluded: len(all) - len(kept), Losses: losses, Groups: []Group{}}
	r.ObservedS = length(window)
	for _, class := range []Class{Fabric, Server, Unclassified} {
		mine := slices.DeleteFunc(slices.Clone(kept), func(f Failure) bool { return h.Links[f.Link].class != class })
		if len(mine) > 0 || class == Fabric && h.mapped {
			r.Groups = append(r.Groups, group(h, class, mine, Merge(mine, s.Merge), window))
		}
	}
	return r
}

func group(h *History, class Class, raw, merged []Failure, window []Period) Group {
	g := Group{Class: class, Intervals: intervals(raw)}
	g.links(h, raw, merged)
	g.Observed = g.Links
	if class == Fabric {
		g.Observed = max(h.cables, g.Links)
	}
	g.Raw, g.Merged = series(raw, window, g.Observed), series(merged, window, g.Observed)
	for _, f := range merged {
		if f.Flaps > 1 {
			g.Periods++
			g.Flaps += f.Flaps
		}
	}
	g.Isolated = len(raw) - g.Flaps
	if len(raw) > 0 {
		g.FlapShare = float64(g.Flaps) / float64(len(raw))
	}
	g.days(h, raw, window)
	return g
}

func (g *Group) links(h *History, raw, merged []Failure) {
	n, m := map[int]int{}, map[int]int{}
	for _, f := range raw {
		n[f.Link]++
	}
	for _, f := range merged {
		m[f.Link]++
	}
	for i, l := range h.Links {
		if n[i] > 0 {
			g.Failed = append(g.Failed, FailedLink{len(g.Failed), l.Name, n[i], m[i]})
		}
	}
	g.Links = len(g.Failed)
}

// intervals are the times from the end of a failure to the next of the same link, where both are
// known.
func intervals(fs []Failure) CDF {
	last := map[int]Failure{}
	var out []float64
	for _, f := range fs {
		if p, ok := last[f.Link]; ok && !p.EndUnknown && !f.startUnknown {
			if gap := f.Down.Sub(p.Up); gap < horizon {
				out = append(out, gap.Seconds())
			}
		}
		last[f.Link] = f
	}
	return newCDF(out)
}

func series(fs []Failure, window []Period, links int) Series {
	s := Series{Failures: len(fs)}
	var durations []float64
	sum := 0.0
	for _, f := range fs {
		if f.Known() {
			durations = append(durations, f.Duration().Seconds())
			sum += f.Duration().Seconds()
		}
	}
	s.Durations = newCDF(durations)
	if s.Known = len(durations); s.Known > 0 {
		s.MTTRS, s.LongestS = sum/float64(s.Known), durations[s.Known-1]
		s.MedianS = (durations[(s.Known-1)/2] + durations[s.Known/2]) / 2
	}
	s.together(fs, window)
	if len(fs) > 0 {
		s.EveryS = length(window) / float64(len(fs))
		s.MTBFS = max(0, length(window)*float64(links)-s.DownS) / float64(len(fs))
	}
	return s
}

// An edge is a moment at which the number of dead links, or the observed time, changes.
type edge struct {
	t            time.Time
	down, inside int
}

// together sweeps over the edges of failures and of the observed time, and adds up how long k links
// were down. O(n log n).
func (s *Series) together(fs []Failure, window []Period) {
	var edges []edge
	for _, f := range fs {
		edges = append(edges, edge{f.Down, 1, 0}, edge{f.Up, -1, 0})
	}
	for _, p := range window {
		edges = append(edges, edge{p.From, 0, 1}, edge{p.To, 0, -1})
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return a.t.Compare(b.t) })
	spent := map[int]time.Duration{}
	down, inside := 0, 0
	for i, e := range edges {
		down, inside = down+e.down, inside+e.inside
		if i+1 == len(edges) || inside == 0 {
			continue
		}
		span := edges[i+1].t.Sub(e.t)
		if spent[down] += span; span > 0 && down > s.MostDown {
			s.MostDown, s.MostAt = down, e.t.Format(time.RFC3339Nano)
		}
	}
	for k := range s.MostDown + 1 {
		if sec := spent[k].Seconds(); sec > 0 {
			s.Together = append(s.Together, Share{k, sec, sec / length(window)})
			s.DownS += float64(k) * sec
		}
	}
}

func (g *Group) days(h *History, raw []Failure, window []Period) {
	id := map[string]int{}
	for _, f := range g.Failed {
		id[f.Name] = f.ID
	}
	count, busy := map[DayCount]int{}, map[string]bool{}
	for _, f := range raw {
		d, name := f.Down.Format(time.DateOnly), h.Links[f.Link].Name
		count[DayCount{Day: d, Link: id[name], Name: name}]++
		busy[d] = true
	}
	for d, n := range count {
		d.Failures = n
		g.Days = append(g.Days, d)
	}
	slices.SortFunc(g.Days, func(a, b DayCount) int { return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Link, b.Link)) })
	run := 0
	for _, d := range observedDays(window) {
		g.AllDays++
		if run++; busy[d] {
			run = 0
			continue
		}
		g.QuietDays++
		g.LongestQuiet = max(g.LongestQuiet, run)
	}
}

const maxDays = 100_000

func observedDays(window []Period) []string {
	var out []string
	for _, p := range window {
		for t := p.From.Truncate(24 * time.Hour); t.Before(p.To) && len(out) < maxDays; t = t.Add(24 * time.Hour) {
			if d := t.Format(time.DateOnly); len(out) == 0 || out[len(out)-1] != d {
				out = append(out, d)
			}
		}
	}
	return out
}

// without returns the parts of p outside the periods, in order.
func without(p Period, periods []Period) []Period {
	cuts := slices.Clone(periods)
	slices.SortFunc(cuts, func(a, b Period) int { return a.From.Compare(b.From) })
	var out []Period
	at := p.From
	for _, c := range cuts {
		if !c.From.Before(p.To) {
			break
		}
		if c.From.After(at) {
			out = append(out, Period{at, c.From})
		}
		if c.To.After(at) {
			at = c.To
		}
	}
	if p.To.After(at) {
		out = append(out, Period{at, p.To})
	}
	return out
}

func length(window []Period) float64 {
	sum := lists.Sum(window, func(p Period) time.Duration { return p.To.Sub(p.From) })
	return sum.Seconds()
}
