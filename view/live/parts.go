package live

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/bench"
	"evbench/internal/answer"
	"evbench/internal/lists"
	"evbench/plan"
	"evbench/report"
	"evbench/results"
	"evbench/topology"
	"evbench/view/parts"
)

type part struct {
	ID      string        `json:"id"`
	HTML    template.HTML `json:"html"`
	version int
}

// The parts of the page; each case has its tree in addition.
const (
	partWhere     = "where"
	partAnswer    = "answer"
	partCases     = "cases"
	partRounds    = "rounds"
	partServers   = "servers"
	partFailovers = "failovers"
)

func treePart(caseName string) string { return "tree " + caseName }

// stale returns the parts that an event changes. The slice before was of the case before.
func stale(p bench.Progress, before string) []string {
	switch p.Event.(type) {
	case bench.WarmingUp, bench.Measuring:
		return []string{partWhere}
	case bench.Installing:
		return []string{partWhere, treePart(before), treePart(p.Case)}
	case bench.LinksChanged, bench.Replanned:
		return []string{treePart(p.Case)}
	case bench.FailedOver:
		return []string{partFailovers, treePart(p.Case)}
	}
	return []string{partWhere, partAnswer, partCases, partRounds, partServers, partFailovers, treePart(before), treePart(p.Case)}
}

// draw returns all parts of the page, with the stale ones redrawn, and whether they are final. A
// concurrent caller waits and gets the result.
func (s *Server) draw() (parts []part, last bool, err error) {
	s.drawing.Lock()
	defer s.drawing.Unlock()
	s.mu.Lock()
	state, note, old := s.state, s.note, s.stale
	last = s.over
	s.stale = map[string]bool{}
	s.mu.Unlock()
	ids := []string{partWhere, partAnswer, partCases, partRounds, partServers, partFailovers}
	ids = append(ids, lists.Map(state.Cases, func(c bench.Planned) string { return treePart(c.Name) })...)
	for i, id := range ids {
		isNew := i >= len(s.parts)
		if isNew {
			s.parts = append(slices.Clip(s.parts), part{ID: id})
		}
		if !isNew && !old[id] {
			continue
		}
		text, err := drawPart(id, &state, note)
		if err != nil {
			return nil, false, err
		}
		if p := &s.parts[i]; isNew || p.HTML != text {
			s.parts = slices.Clone(s.parts)
			s.parts[i] = part{id, text, p.version + 1}
		}
	}
	return s.parts, last, nil
}

func drawPart(id string, s *State, note string) (template.HTML, error) {
	switch id {
	case partWhere:
		return executed(id, whereOf(s, note))
	case partAnswer:
		if s.Summary.Answer == nil && !s.Ended {
			return executed(id, &results.Answer{Answer: answer.Answer{Verdict: answer.Pending, Sentence: "No slice has been measured yet."}})
		}
		return executed(id, s.Summary.Answer)
	case partCases:
		if len(s.Summary.Cases) == 0 {
			return executed("none", "No slice has been measured yet.")
		}
		table, legend, err := parts.Verdict(runOf(s))
		if err != nil {
			return "", err
		}
		return executed(id, casesView{table, legend})
	case partRounds:
		return executed(id, roundsOf(s))
	case partServers:
		return executed(id, serversOf(s))
	case partFailovers:
		return executed(id, failoversOf(s))
	}
	c := s.Case(strings.TrimPrefix(id, treePart("")))
	return drawTree(s, c)
}

func runOf(s *State) *results.Run {
	run := &results.Run{Summary: s.Summary}
	if s.Manifest != nil {
		run.Manifest = *s.Manifest
	}
	return run
}

type casesView struct {
	Table  template.HTML
	Legend string
}

type whereView struct {
	Name, Kind, KindText, Lead string
	Text, Left                 string
	Share                      float64 // of the elapsed time
	Case                       string
	Spark                      *spark
	Ended                      bool
	Note                       string
}

func whereOf(s *State, note string) whereView {
	v := whereView{Text: Where(s), Left: LeftText(s), Case: s.Last.Case, Spark: sparkOf(s), Ended: s.Ended, Note: note}
	if s.Manifest != nil {
		run := runOf(s)
		kind := parts.KindOf(run)
		v.Name, v.Lead, v.Kind, v.KindText = s.Manifest.Name, parts.Lead(run), kind.Word, kind.Text
	}
	if left, _ := s.Left(); s.Took()+left > 0 {
		v.Share = float64(s.Took()) / float64(s.Took()+left)
	}
	return v
}

type spark struct {
	Points                 string // of a polyline, 1000 wide and 100 high
	Now, Least, Most, Upto string
}

// mostPoints is the largest number of points drawn; with more intervals, a point is the mean of
// several. The same holds if a server builds fewer than leastEvents in an interval, which counts
// only whole events.
const (
	mostPoints  = 400
	leastEvents = 4
)

// sparkOf returns nil if there are fewer than two points.
func sparkOf(s *State) *spark {
	if len(s.Rates) == 0 || s.Ended {
		return nil
	}
	last := s.Rates[len(s.Rates)-1].At
	sum := lists.Sum(s.Rates, func(r Rate) float64 { return r.EventsPerSec })
	each := 1 + (len(s.Rates)-1)/mostPoints
	if built := sum * last.Seconds() / float64(len(s.Rates)); built > 0 {
		each = max(each, int(math.Ceil(leastEvents*float64(len(s.Rates))/built)))
	}
	var points []Rate
	for some := range slices.Chunk(s.Rates, each) {
		if len(some) < each {
			break
		}
		p := Rate{At: some[each-1].At}
		for _, r := range some {
			p.EventsPerSec += r.EventsPerSec / float64(each)
		}
		points = append(points, p)
	}
	if len(points) < 2 {
		return nil
	}
	by := func(a, b Rate) int { return cmp.Compare(a.EventsPerSec, b.EventsPerSec) }
	least, most := slices.MinFunc(points, by).EventsPerSec, slices.MaxFunc(points, by).EventsPerSec
	end := max(s.Last.Duration, last)
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%.1f,%.1f ", 1000*p.At.Seconds()/end.Seconds(), 100-100*p.EventsPerSec/max(most, 1e-9))
	}
	return &spark{b.String(), report.Rate(points[len(points)-1].EventsPerSec), report.Rate(least), report.Rate(most), end.Round(100 * time.Millisecond).String()}
}

const mostRounds = 40

// A roundsView is the rate of each case in each round, the last round first.
type roundsView struct {
	Rounds []int // from 1
	Rows   []roundsRow
}

type roundsRow struct {
	Case  string
	Cells []roundsCell
}

type roundsCell struct {
	Text, Title string
	Rejected    bool
}

func roundsOf(s *State) roundsView {
	last := lists.MaxOf(s.Summary.Slices, func(x results.Slice) int { return x.Round + 1 })
	var v roundsView
	for n := last; n > max(0, last-mostRounds); n-- {
		v.Rounds = append(v.Rounds, n)
	}
	v.Rows = lists.Map(s.Cases, func(c bench.Planned) roundsRow {
		return roundsRow{c.Name, lists.Map(v.Rounds, func(n int) roundsCell { return cellOf(s.Summary.Slices, c.Name, n-1) })}
	})
	return v
}

// cellOf finds the valid slice of a case in a round, or else the last invalid one.
func cellOf(all []results.Slice, name string, round int) (cell roundsCell) {
	for _, x := range all {
		if x.Case != name || x.Round != round {
			continue
		}
		cell = roundsCell{report.Rate(x.EventsPerSec), fmt.Sprintf("%d exchanges in %.1f s", x.Exchanges, x.MeasuredSec), !x.Counts()}
		if x.Ratio > 0 {
			cell.Title += fmt.Sprintf("; %.3f of the control of its round", x.Ratio)
		}
		if cell.Rejected {
			cell.Title += "; rejected: " + x.Rejected
		}
		if x.Counts() {
			break
		}
	}
	return cell
}

type failoversView struct {
	Heads  []string
	Rows   [][]string
	Legend string
	More   int
}

const mostFailovers = 50

func failoversOf(s *State) (v failoversView) {
	v.More = max(0, len(s.Failovers)-mostFailovers)
	v.Heads, v.Rows, v.Legend = report.FailoverRows(s.Failovers[v.More:])
	slices.Reverse(v.Rows)
	return v
}

// drawTree draws the tree of a case with the links that are dead now, the loads by the plan in use,
// and the traffic of links.
func drawTree(s *State, c *bench.Planned) (template.HTML, error) {
	p, dead := s.Plan(c)
	v := struct {
		Case string
		Dead []string
		SVG  template.HTML
	}{Case: c.Name, Dead: p.Tree.LinkNames(dead)}
	if parts.Draws(p) {
		x, err := caseTree(s, c, p, dead)
		if err == nil {
			v.SVG, err = parts.Tree(fmt.Sprintf("links-%x", sha256.Sum256([]byte(c.Name)))[:14], c.Name, x)
		}
		if err != nil {
			return "", err
		}
	}
	return executed("tree", v)
}

func caseTree(s *State, c *bench.Planned, p *plan.Plan, dead []topology.Link) (*parts.CaseTree, error) {
	run := &results.Run{Links: s.Links[c.Name]}
	run.Summary.Cases = []results.Case{{Name: c.Name, Failures: c.FailureTexts(&p.Tree.Live)}}
	x := parts.Trees(run, map[string]*plan.Plan{c.Name: p})[0]
	tree, err := p.Tree.Healthy().Without(dead...)
	if err != nil {
		return nil, err
	}
	x.Tree = tree
	for _, l := range dead {
		delete(x.Timed, l)
	}
	if !x.Known() { // no traffic yet
		x.Carried = make([]float64, 2*tree.LowerLinks())
	}
	return x, nil
}

var (
	//go:embed page.html
	pageText string
	//go:embed page.js
	scriptText string
	//go:embed page.css
	styleText string

	pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageText)) })
)

// policy lets the page load only its own content, and events from its origin. Drawings have inline
// styles.
var policy = "default-src 'none'; connect-src 'self'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-" +
	hashed(scriptText) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func executed(name string, data any) (template.HTML, error) {
	var b strings.Builder
	err := pageTemplate().ExecuteTemplate(&b, name, data)
	return template.HTML(b.String()), err
}

type pageView struct {
	Style  template.CSS
	Script template.JS
	Fixed  map[string]part // all parts but the trees
	Trees  []part
}

func viewOf(all []part) pageView {
	v := pageView{Style: parts.Style() + template.CSS(styleText), Script: template.JS(scriptText), Fixed: map[string]part{}}
	for _, p := range all {
		if strings.HasPrefix(p.ID, treePart("")) {
			v.Trees = append(v.Trees, p)
		} else {
			v.Fixed[p.ID] = p
		}
	}
	return v
}
