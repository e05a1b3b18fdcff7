package html_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"image/png"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"evbench/builder/load"
	"evbench/results"
	"evbench/testing/expect"
	"evbench/view/figure"
	"evbench/view/parts"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// small has a run with everything that figures show, measured pairs and fail-overs
// included.
func small(t *testing.T) figure.Source {
	s := InRounds(Small(t), 6, Rounds{
		Count:    8,
		Noise:    func(n, round int) float64 { return 0.005 * float64((5*n+3*round*round)%7-3) },
		Rejected: func(n, round int) bool { return n == 1 && round == 2 || n == 0 && round == 7 },
	})
	c := &s.Run.Summary.Cases[2]
	c.Failover, c.Failovers = "fors", []results.Failover{Replanned(1, false, 0.7, 250), Replanned(2, true, 1.4, 250)}
	c.Failovers[1].SeenSec, c.Failovers[1].FirstNewSec = nil, nil
	for i, src := range []int{0, 1, 2, 3, 4, 5} {
		for _, dst := range []int{0, 1, 2, 3, 4, 5} {
			if src != dst {
				s.Run.Pairs = append(s.Run.Pairs, results.PairCount{Case: "unsync", Src: src, Dst: dst, Bytes: uint64(1e6 * (i + 1)), Sec: 2})
			}
		}
	}
	for i := range s.Run.Summary.Cases {
		x := float64(i + 1)
		s.Run.Summary.Cases[i].Offered = &results.Offered{
			Load: "80 %, poisson", RatePerSec: 1000 * x, Share: .4 * x, Offered: 1000, Complete: 1000 - 50*uint64(i), Refused: 50 * uint64(i),
			Latency: load.Quantiles{P50: .01 * x, P99: .02 * x, P999: .03 * x, Max: .04 * x},
		}
	}
	return s
}

func build(t *testing.T, name string, s figure.Source) *figure.Figure {
	t.Helper()
	f := expect.Value(figure.Build(name, s))(t)
	return f
}

// The data of figures are a contract with people's scripts.
func TestData(t *testing.T) {
	s := small(t)
	for _, name := range figure.Names() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			expect.Must(t, build(t, name, s).Data.WriteCSV(&got))
			file := filepath.Join("testdata", name+".csv")
			if *update {
				expect.Must(t, os.WriteFile(file, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			expect.False(t, err != nil || got.String() != string(want), "%v: %s differs:\n%s", err, file, got.String())
		})
	}
}

// Every figure is drawn, as SVG that an XML parser takes and as PNG that has
// something on it.
func TestDrawn(t *testing.T) {
	s := small(t)
	panels := map[string]int{"efficiency": 1, "rounds": 2, "throughput": 1, "timeline": 3, "failover": 3, "servers": 3, "pairs": 3, "tree": 3, "waits": 1, "load": 2}
	for _, name := range figure.Names() {
		f := build(t, name, s)
		expect.True(t, len(f.Panels) == panels[name] && f.Title != "" && f.Caption != "" && f.Missing == "",
			"%s: %d panels, title %q, missing %q", name, len(f.Panels), f.Title, f.Missing)
		var svg, picture bytes.Buffer
		expect.Must(t, errors.Join(f.WriteSVG(&svg), f.WritePNG(&picture)))
		wellFormed(t, name, svg.String())
		expect.True(t, strings.Contains(svg.String(), ">"+f.Title+"</text>"), "%s: the title is not drawn", name)
		img := expect.Value(png.Decode(&picture))(t)
		colours := map[any]bool{}
		for y := 0; y < img.Bounds().Dy(); y += 5 { // enough to meet every colour of some size
			for x := 0; x < img.Bounds().Dx(); x += 3 {
				colours[img.At(x, y)] = true
			}
		}
		expect.True(t, len(colours) >= 4, "%s: the PNG has %d colours", name, len(colours))
	}
}

func wellFormed(t *testing.T, name, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
	}
}

func TestNoFigure(t *testing.T) {
	for _, name := range figure.Names() {
		f := build(t, name, figure.Source{Run: &results.Run{}})
		expect.True(t, f.Missing != "" && len(f.Panels) == 0, "%s: %d panels of nothing, missing %q", name, len(f.Panels), f.Missing)
		if err := f.WriteSVG(io.Discard); !errors.Is(err, figure.ErrNothing) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := f.WritePNG(io.Discard); !errors.Is(err, figure.ErrNothing) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	expect.Error(t, expect.Err(figure.Build("pie", figure.Source{})), `no figure "pie"; there are efficiency, rounds, throughput`)
}

func TestOnly(t *testing.T) {
	s := Small(t)
	one, err := s.Only("one dead")
	expect.True(t, err == nil && len(one.Run.Summary.Cases) == 1 && len(s.Run.Summary.Cases) == 3,
		"%d cases of %d, %v", len(one.Run.Summary.Cases), len(s.Run.Summary.Cases), err)
	expect.Error(t, expect.Err(s.Only("x")), `no case "x"; there are healthy, one dead, unsync`)
}

// The loads of the phases add up to those that the plan itself counts.
func TestLoadsAddUp(t *testing.T) {
	plans := maps.Clone(Ten(t).Plans)
	maps.Copy(plans, Parallel(t).Plans)
	for name, p := range plans {
		want, _ := p.Loads(func(_, _ int) float64 { return 1 })
		most := 0
		l := parts.LoadsOf(p)
		for w, got := range l.Totals() {
			expect.MustTrue(t, got == want[w], "%s: wire %d has %v messages, the plan counts %v", name, w, got, want[w])
		}
		for phase := range l.Phases {
			for _, n := range l.Phase(phase) {
				most = max(most, int(n))
			}
		}
		expect.False(t, most != l.Most || (p.Pinned() && most > 1), "%s: most %d, as stated %d", name, most, l.Most)
	}
}

// A case without a plan has the tree of the others, with its own dead links.
func TestTreeWithoutPlan(t *testing.T) {
	s := Small(t)
	s.Run.Summary.Cases[2].Failures = []string{"leaf2-spine1", "leaf1-spine0 at 700ms for 1s", "no such link"}
	x := parts.Trees(s.Run, s.Plans)[2]
	dead := x.Tree.DownNames()
	expect.True(t, len(dead) == 1 && dead[0] == "leaf2-spine1" && len(x.Timed) == 1 && x.Known() && x.Loads == nil,
		"dead %v, timed %v, loads %v", dead, x.Timed, x.Loads)
}

// The last interval of a case is shorter, and not noise in a box.
func TestShortIntervals(t *testing.T) {
	s := Small(t)
	short := s.Run.Samples[0]
	short.TSec, short.IntervalSec, short.GoodputBitPerSec = 2.01, 0.01, 9e9
	s.Run.Samples = append(s.Run.Samples, short)
	got, want := build(t, "throughput", s).Data.Rows[0], build(t, "throughput", Small(t)).Data.Rows[0]
	expect.True(t, strings.Join(got, ",") == strings.Join(want, ","), "box %v, want %v", got, want)
}

// One panel for each case with a fail-over, each with its policy, between one with what each lost and one for all. Of
// many fail-overs of one case only two bars are drawn.
func TestFailoverFigure(t *testing.T) {
	s := FailedOver(t)
	f := build(t, "failover", s)
	if len(f.Panels) != len(s.Run.Summary.Cases)+2 || f.Panels[len(f.Panels)-1].Case != -1 || f.Panels[7].Title != "flapping, fors" || f.Panels[5].Title != "link dies fors" {
		t.Errorf("%d panels, the last but one %q", len(f.Panels), f.Panels[len(f.Panels)-2].Title)
	}
	var svg bytes.Buffer
	expect.Must(t, f.WriteSVG(&svg))
	for _, want := range []string{
		"link dies none · down at 5.00 s", "nothing done", "routes restored after 1.70 ms", "1.10 ms", "overtaken by the next change",
		"flapping, fors · median of 14", "flapping, fors · greatest of 14", "first on the new one", "ms after the change was seen",
	} {
		expect.True(t, strings.Contains(svg.String(), ">"+want+"</text>"), "%q is not drawn", want)
	}
	n := len(regexp.MustCompile(`>flapping, fors ·[^<]*</text>`).FindAllString(svg.String(), -1))
	expect.True(t, n == 2, "%d bars of the flapping link, want 2", n)
	expect.True(t, !Ten(t).HasFailovers() && s.HasFailovers(), "which runs have fail-overs?")
	for i := range s.Run.Summary.Cases {
		for k := range s.Run.Summary.Cases[i].Failovers {
			x := &s.Run.Summary.Cases[i].Failovers[k]
			x.Down, x.Up, x.Held = nil, nil, nil
		}
	}
	svg.Reset()
	expect.Must(t, build(t, "failover", s).WriteSVG(&svg))
	expect.Contains(t, svg.String(), ">link dies none · tables changed at 5.00 s</text>")
}

// A case with nothing but changes that were seen is drawn, too.
func TestFailoverWithoutStages(t *testing.T) {
	s := expect.Value(FailedOver(t).Only("link dies none"))(t)
	s.Run.Summary.Cases[0].LinkEvents = nil
	var svg bytes.Buffer
	f := build(t, "failover", s)
	expect.True(t, len(f.Panels) == 2 && f.WriteSVG(&svg) == nil && strings.Contains(svg.String(), "nothing done"),
		"%d panels:\n%.300s", len(f.Panels), svg.String())
}

// What does not count is drawn hollow and says why; a run without rounds, or without
// controls, says so; and one case alone still has its interval.
func TestRoundsFigure(t *testing.T) {
	s := small(t)
	f := build(t, "rounds", Ten(t))
	expect.True(t, strings.Contains(f.Missing, "There are no rounds") && len(f.Data.Rows) == 0,
		"without rounds: missing %q, %d rows", f.Missing, len(f.Data.Rows))
	one := expect.Value(s.Only("one dead"))(t)
	all, alone := build(t, "efficiency", s).Data.Rows[1], build(t, "efficiency", one).Data.Rows[0]
	expect.True(t, strings.Join(all, ",") == strings.Join(alone, ","), "alone %v, among others %v", alone, all)
	if f := build(t, "rounds", one); len(f.Panels) != 1 || f.Panels[0].Title != "one dead" {
		t.Errorf("%d panels of one case", len(f.Panels))
	}
	control, err := s.Only("healthy")
	expect.True(t, err == nil && build(t, "rounds", control).Missing != "", "the control is compared with itself (%v)", err)
	for i := range s.Run.Summary.Slices {
		s.Run.Summary.Slices[i].Control = false
	}
	if f := build(t, "rounds", s); !strings.Contains(f.Missing, "no round has a control") {
		t.Errorf("without controls: missing %q", f.Missing)
	}
}

// An interval is the same for all servers: one whose own was a little shorter than half the
// usual one does not shift those after it.
func TestMomentsStayTogether(t *testing.T) {
	s := Small(t)
	for i := range s.Run.Samples {
		if x := &s.Run.Samples[i]; x.Case == "healthy" && x.Server == 0 && x.TSec == 1 {
			x.IntervalSec = 0.2
		}
	}
	for _, row := range build(t, "timeline", s).Data.Rows {
		if row[0] == "healthy" && row[3] != "6" {
			t.Errorf("%s servers at %s s", row[3], row[2])
		}
	}
}

// A drawing says in words what it shows, and each of its parts does under the pointer.
func TestSaid(t *testing.T) {
	s := small(t)
	for _, name := range figure.Names() {
		var svg bytes.Buffer
		f := build(t, name, s)
		expect.Must(t, f.WriteSVG(&svg))
		for _, p := range f.Panels {
			expect.True(t, p.Says != "", "%s, %q: nothing is said", name, p.Title)
		}
		expect.True(t, strings.Contains(svg.String(), "<desc>") && strings.Contains(svg.String(), `"><title>`),
			"%s: no description, or no text under the pointer", name)
		expect.True(t, !strings.Contains(svg.String(), "NaN") && !strings.Contains(svg.String(), "Inf"), "%s: a figure of nothing is said", name)
	}
}

// Trees of a run have one scale for loads by plan, and switches their names.
func TestTreeScale(t *testing.T) {
	var svg bytes.Buffer
	expect.Must(t, build(t, "tree", small(t)).WriteSVG(&svg))
	said := regexp.MustCompile(`>the darkest is [^<]*<`).FindAllString(svg.String(), -1)
	expect.True(t, len(said) == 3 && said[0] == said[1] && strings.HasSuffix(said[0], " messages on a cable<") && strings.HasSuffix(said[2], "bit/s on a cable<"), "scales %q", said)
	for _, name := range []string{"leaf0", "leaf2", "spine0", "spine1"} {
		expect.Equal(t, strings.Count(svg.String(), ">"+name+"</text>"), 3, "drawings with %s", name)
	}
}

// All maps of a page have one scale, and what is above a link's rate is explained.
func TestOneScale(t *testing.T) {
	s := small(t)
	limit := float64(s.Run.Manifest.Fabric.RateBitPerSec) * s.Run.Manifest.Fabric.Factor
	got := s.MostOfPairs()
	expect.True(t, got == limit, "the maps reach to %v, want %v: some are planned", got, limit)
	const why = "is read faster than a link carries"
	f := build(t, "pairs", s)
	expect.True(t, strings.Contains(f.Caption, "All maps have one scale.") && !strings.Contains(f.Caption, why), "caption %q", f.Caption)
	s.Run.Pairs[0].Bytes = uint64(limit)
	if f := build(t, "pairs", s); s.MostOfPairs() != 4*limit || !strings.Contains(f.Caption, why) {
		t.Errorf("to %v, caption %q", s.MostOfPairs(), f.Caption)
	}
	for i := range s.Run.Samples {
		s.Run.Samples[i].GoodputBitPerSec *= 0.9
	}
	for _, name := range []string{"throughput", "timeline", "servers"} {
		if f := build(t, name, s); strings.Contains(f.Caption, "Some are above") {
			t.Errorf("%s: caption %q", name, f.Caption)
		}
	}
	for i := range s.Run.Samples {
		s.Run.Samples[i].GoodputBitPerSec *= 1.5
	}
	for _, name := range []string{"throughput", "timeline", "servers"} {
		if f := build(t, name, s); !strings.Contains(f.Caption, "Some are above") {
			t.Errorf("%s: nothing says why: %q", name, f.Caption)
		}
	}
}
