package failures_test

import (
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"evbench/scenario"
	"evbench/study/failures"
	"evbench/testing/expect"
	"evbench/topology"
)

// slowTogether counts second by second how many links are down.
func slowTogether(want []truth, in func(sec int) bool) map[int]float64 {
	out := map[int]float64{}
	for sec := range int(testSpan / time.Second) {
		if !in(sec) {
			continue
		}
		at, down := time.Duration(sec)*time.Second, 0
		for _, f := range want {
			if f.down <= at && at < f.up {
				down++
			}
		}
		out[down]++
	}
	return out
}

// TestTogether compares the distribution of links down at once, and what follows
// from it, with a count of every second, with and without a test period.
func TestTogether(t *testing.T) {
	cables := tree(t, 4, 8)
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 6))
		want := happen(rng, 4, 8, 60, testSpan)
		lines := frame(testSpan)
		for _, f := range want {
			lines = append(lines, tell(f, 4, func(i int) bool { return i == 1 || i == 3 })...)
		}
		s := failures.Settings{}
		from, to := 0, 0
		if seed%2 == 1 {
			from, to = 10_000, 20_000
			s.Exclude = []failures.Period{{From: start.Add(10_000 * time.Second), To: start.Add(20_000 * time.Second)}}
		}
		g := failures.Summarise(history(t, cables, 2024, text(lines)), s).Groups[0]
		kept := want[:0:0]
		for _, f := range want {
			if at := int(f.down / time.Second); at < from || at >= to {
				kept = append(kept, f)
			}
		}
		slow := slowTogether(kept, func(sec int) bool { return sec < from || sec >= to })
		most, downS := 0, 0.0
		for k, sec := range slow {
			most, downS = max(most, k), downS+float64(k)*sec
		}
		for _, x := range g.Raw.Together {
			expect.MustTrue(t, math.Abs(x.Seconds-slow[x.Links]) <= 1e-6,
				"seed %d: %d links down for %gs, want %g", seed, x.Links, x.Seconds, slow[x.Links])
		}
		observed := testSpan.Seconds() - float64(to-from)
		mtbf := (observed*32 - downS) / float64(len(kept))
		expect.MustFalse(t, g.Raw.MostDown != most || math.Abs(g.Raw.DownS-downS) > 1e-6 || math.Abs(g.Raw.MTBFS-mtbf) > 1e-6 || g.Raw.Failures != len(kept),
			"seed %d: most %d, down %g, MTBF %g; want %d, %g, %g", seed, g.Raw.MostDown, g.Raw.DownS, g.Raw.MTBFS, most, downS, mtbf)
	}
}

func TestCDF(t *testing.T) {
	c := failures.CDF{{X: 1, Share: 0.25}, {X: 10, Share: 0.75}, {X: 20, Share: 1}}
	for x, want := range map[float64]float64{0: 0, 1: 0, 1.5: 0.25, 10: 0.25, 10.1: 0.75, 20: 0.75, 21: 1} {
		expect.Equal(t, c.Below(x), want, "share below %g", x)
	}
}

// TestThesisCounts makes a log with as many failures as thesis §4.1.4 counts, in
// as many flapping periods, on tests and of servers: 2605 failures of links, 549
// in tests, 2056 real, 1778 of them in 287 flapping periods, 278 isolated, and
// 332 of servers. The statistics must find these numbers again.
func TestThesisCounts(t *testing.T) {
	const m0, leaves, span = 20, 18, 61 * 24 * time.Hour
	lines := frame(span)
	add := func(link int, at time.Duration, long time.Duration) {
		lines = append(lines, tell(truth{link / m0, link % m0, at, at + long}, m0, nothing)...)
	}
	testDay := 7 * 24 * time.Hour
	for i := range 549 {
		add(i%300, testDay+time.Duration(i/300)*time.Hour, time.Minute)
	}
	slot := func(i int) time.Duration { return 10*24*time.Hour + time.Duration(i)*2*time.Hour }
	for i := range 278 { // isolated: each on a link of its own hour
		add(i%75, slot(i), 20*time.Minute)
	}
	left := 1778
	for p := range 287 {
		flaps := left / (287 - p)
		left -= flaps
		for k := range flaps {
			add(75+p%75, slot(p)+time.Duration(k)*5*time.Minute, 20*time.Second)
		}
	}
	for i := range 332 {
		guid := 0x0002c90401000000 + uint64(i%leaves)
		at := slot(i)
		lines = append(lines, stateLine(at, guid, "x", 1+i%m0, "ACTIVE", "DOWN"), stateLine(at+time.Hour, guid, "x", 1+i%m0, "DOWN", "INIT"))
	}
	exclude := expect.Value(failures.ParsePeriod("2024-03-08"))(t)
	r := failures.Summarise(history(t, tree(t, m0, leaves), 2024, text(lines)),
		failures.Settings{Merge: 10 * time.Minute, Exclude: []failures.Period{exclude}})
	g := r.Groups[0]
	got := []int{r.Excluded, g.Raw.Failures, g.Flaps, g.Periods, g.Isolated, g.Merged.Failures, g.Links, r.Groups[1].Raw.Failures}
	if want := []int{549, 2056, 1778, 287, 278, 565, 150, 332}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	in := g.Intervals.Below(600)
	expect.True(t, in >= 0.7 && g.AllDays == 60, "%g of intervals below 10 min, %d days", in, g.AllDays)
	below := g.Raw.Durations.Below(60)
	expect.True(t, math.Abs(below-1778.0/2056) <= 1e-9, "%g of failures below a minute", below)
}

// TestDays: failures by link and day, links numbered by switch and port, and
// days without any.
func TestDays(t *testing.T) {
	lines := frame(9*24*time.Hour + time.Hour)
	for _, at := range []int{30, 31, 32, 150, 151} { // hours: days 1 and 6
		lines = append(lines, tell(truth{at % 2, 1, time.Duration(at) * time.Hour, time.Duration(at)*time.Hour + time.Minute}, 4, nothing)...)
	}
	g := failures.Summarise(history(t, tree(t, 4, 8), 2024, text(lines)), failures.Settings{}).Groups[0]
	var got []string
	for _, d := range g.Days {
		got = append(got, fmt.Sprintf("%s %d %s %d", d.Day, d.Link, d.Name, d.Failures))
	}
	want := []string{"2024-03-02 0 leaf0-spine1 2", "2024-03-02 1 leaf1-spine1 1", "2024-03-07 0 leaf0-spine1 1", "2024-03-07 1 leaf1-spine1 1"}
	expect.True(t, strings.Join(got, "; ") == strings.Join(want, "; "), "got %q, want %q", got, want)
	expect.True(t, g.AllDays == 10 && g.QuietDays == 8 && g.LongestQuiet == 4,
		"%d of %d days quiet, %d in a row; want 8 of 10, 4", g.QuietDays, g.AllDays, g.LongestQuiet)
}

// TestReplay: whatever the log, the scenario is one that package scenario takes,
// with every failure that was not left out.
func TestReplay(t *testing.T) {
	o := expect.Value(topology.Parse("FT(2;3,4)"))(t)
	full, err := topology.New(o)
	expect.Must(t, err)
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		lines := frame(testSpan)
		for _, f := range happen(rng, 3, 4, 50, testSpan) {
			lines = append(lines, tell(f, 3, func(int) bool { return rng.IntN(6) == 0 })...)
		}
		h := history(t, tree(t, 3, 4), 2024, text(lines))
		fs, _ := failures.Pair(h)
		view := full
		if seed%3 == 0 {
			links, _ := full.Links("leaf1-spine2")
			if view, err = full.Without(links...); err != nil {
				t.Fatal(err)
			}
		}
		script := expect.Value(failures.Replay(h, fs, view, failures.ReplayOptions{
			Duration: []time.Duration{0, time.Second, time.Hour}[rng.IntN(3)], Speed: []float64{0, 100, 1e5}[rng.IntN(3)],
		}))(t)
		k := script.Skipped
		n := len(script.Steps) + k.NoLink + k.NoDuration + k.Short + k.Late + k.Parting
		expect.MustTrue(t, n == len(fs), "seed %d: %d steps and left out, of %d failures", seed, n, len(fs))
		var b strings.Builder
		expect.Must(t, script.WriteScenario(&b))
		s, err := scenario.Read("replay.yaml", strings.NewReader(b.String()))
		expect.MustTrue(t, err == nil, "seed %d: %v\n%s", seed, err, b.String())
		expect.MustTrue(t, len(s.Cases) == 1 && len(s.Cases[0].Timed) == len(script.Steps),
			"seed %d: %d timed failures, want %d", seed, len(s.Cases[0].Timed), len(script.Steps))
	}
}

func TestReplayRefuses(t *testing.T) {
	h := &failures.History{From: start, To: start.Add(1000 * time.Hour)}
	for want, o := range map[string]failures.ReplayOptions{
		"longer than":       {Speed: 1},
		"more than 0":       {Speed: math.NaN()},
		"must be 100ms to":  {Duration: time.Millisecond},
		"must be 100ms to ": {Duration: 25 * time.Hour},
	} {
		expect.Error(t, expect.Err(failures.Replay(h, nil, nil, o)), want)
	}
}

const log = "Mar 08 10:00:00 000001 [1] -> x\n"

func file(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	f, err := os.Create(name)
	expect.Must(t, err)
	if z := gzip.NewWriter(f); strings.HasSuffix(name, ".gz") && text != "" {
		_, err = z.Write([]byte(text))
		text = ""
		if err == nil {
			err = z.Close()
		}
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	expect.Must(t, err)
	return name
}

func TestRead(t *testing.T) {
	plain, packed := file(t, "opensm.log", log), file(t, "opensm.log.gz", log)
	for _, tt := range []struct {
		name  string
		words failures.Words
		want  string // of the error
	}{
		{"a log", failures.Words{Logs: []string{plain}, Year: 2024}, ""},
		{"a rotated log", failures.Words{Logs: []string{packed}, Year: 2024}, ""},
		{"no year", failures.Words{Logs: []string{plain}}, plain + ": its times have no year"},
		{"no year, by a flag", failures.Words{Logs: []string{plain}, Flag: "--log"}, "--log " + plain + ": its times have no year"},
		{"no file", failures.Words{Logs: []string{"/missing"}}, "open /missing: no such file"},
		{"no file, by a flag", failures.Words{Logs: []string{"/missing"}, Flag: "--log"}, "--log: open /missing"},
		{"not packed", failures.Words{Logs: []string{file(t, "a.gz", "")}}, "a.gz: "},
		{"no cables", failures.Words{Logs: []string{plain}, Year: 2024, Cables: "/missing"}, "--cables: /missing: no such file"},
		{"no cable", failures.Words{Logs: []string{plain}, Year: 2024, Cables: plain}, "--cables: " + plain + ": line 1"},
	} {
		h, err := tt.words.Read(nil)
		switch {
		case tt.want == "" && (err != nil || h.From.Year() != 2024):
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestPeriods(t *testing.T) {
	p, err := (failures.Words{Exclude: []string{"2024-03-08..2024-03-09"}}).Periods()
	expect.True(t, err == nil && len(p) == 1, "%v, %v", p, err)
	if _, err := (failures.Words{Exclude: []string{"yesterday"}}).Periods(); err == nil || !strings.HasPrefix(err.Error(), `--exclude "yesterday": `) {
		t.Error(err)
	}
}
