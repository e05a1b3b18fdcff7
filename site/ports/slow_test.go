package ports

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"evbench/bench"
	"evbench/plan"
	"evbench/routing"
	"evbench/scenario"
	"evbench/scheduler/schedules"
	"evbench/testing/expect"
	"evbench/testing/need"
)

const slowHead = "# evbench paths 2\n"

// four hosts on two leaves, two spines: port 20001 leads over the first, 20002 over the second.
func four(t testing.TB) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# evbench paths 1\n# time 2026-11-29T15:00:00Z\n# protocol tcp\n# port 7000\n# host a 10.0.0.1\n# host b 10.0.0.2\n# host c 10.0.0.3\n# host d 10.0.0.4\n# hop 172.16.0.1 up\n")
	for m := range 16 {
		src, dst := m/4, m%4
		switch {
		case src == dst:
		case src/2 == dst/2:
			fmt.Fprintf(&b, "%c %c -\n", 'a'+src, 'a'+dst)
		default:
			for spine := range 2 {
				fmt.Fprintf(&b, "%c %c %d 172.16.%d.%d 172.17.%d.%d\n", 'a'+src, 'a'+dst, 20001+spine, src/2, spine, dst/2, spine)
			}
		}
	}
	return b.String()
}

// files are paths in several files.
func files(t testing.TB, texts ...string) (*Paths, error) {
	t.Helper()
	var names []string
	for i, text := range texts {
		names = append(names, filepath.Join(t.TempDir(), fmt.Sprintf("%c.txt", 'a'+i)))
		expect.Must(t, os.WriteFile(names[i], []byte(text), 0o600))
	}
	return ReadFiles(names...)
}

func TestReadSlow(t *testing.T) {
	for _, test := range []struct{ lines, want string }{
		{"# slow", "slow: write a host, or both ends of a cable between switches, and the share of the usual rate: 0.5"},
		{"# slow a b c 0.5", "slow: write a host"},
		{"# slow a 50%", `slow a 50%: share "50%": must be above 0 and below 1`},
		{"# slow a 1", `slow a 1: share "1": must be above 0 and below 1`},
		{"# slow a NaN", `slow a NaN: share "NaN": must be above 0 and below 1`},
		{"# slow e 0.5", "slow e 0.5: host e: is not in the header; a cable between switches has two ends"},
		{"# slow 172.16.0.1 0.5", "slow 172.16.0.1 0.5: host 172.16.0.1: is not in the header; a cable between switches has two ends"},
		{"# slow a 172.16.0.1 0.5", "slow a 172.16.0.1 0.5: a: is no hop, by address or name; of a host's cable write the host alone"},
		{"# slow 172.16.0.1 172.17.1.1 0.5", "a to c from port 20002 passes both, so they are no two ends of a cable: a hop is the end at which packets come in"},
		{"# slow 172.16.7.1 172.17.7.1 0.5", "slow 172.16.7.1 172.17.7.1 0.5: no path passes a cable with these ends"},
		{"# slow 172.16.0.1 172.16.0.1 0.5", "no path passes a cable with these ends"},
		{"# slow a 0.5\n# slow a 0.4", "line 3: slow a 0.4: its share is 0.5 in another line"},
	} {
		_, err := files(t, four(t), slowHead+test.lines+"\n")
		expect.True(t, err != nil && strings.Contains(err.Error(), "b.txt: line ") && strings.Contains(err.Error(), test.want), "%q: %v, want %s", test.lines, err, test.want)
	}
	_, err := files(t, four(t)+"# slow a 0.5\n")
	expect.Error(t, err, `slow: a file that has slow cables begins with "# evbench paths 2"`)
	_, err = files(t, slowHead+"# slow a 0.5\n")
	expect.Error(t, err, "a.txt: line 2: slow a 0.5: host a: is not in the header")

	p := expect.Value(files(t, slowHead+"# slow up 172.17.0.1 0.5\n", four(t), slowHead+"# slow 172.17.0.1 172.16.0.1 0.5\n# slow d 0.4\n"))(t)
	want := strings.Replace(strings.Replace(four(t), "paths 1", "paths 2", 1), " up\n", " up\n# slow 172.16.0.1 172.17.0.1 0.5\n# slow d 0.4\n", 1)
	expect.Equal(t, written(t, p), want, "written")
	expect.Equal(t, written(t, expect.Value(Read(strings.NewReader(want)))(t)), want, "written again")
	x := expect.Value(NewExchange(p, Roles{}))(t)
	expect.Equal(t, strings.Join(x.slow, ","), "172.16.0.1 172.17.0.1 0.5,d 0.4", "cables")
	expect.Equal(t, fmt.Sprint(p.shares()), "map[172.17.0.1:0.5 d 10.0.0.4:0.4 up:0.5] [172.16.0.1 172.17.0.1 0.5 d 0.4]", "links")
	part := expect.Value(p.Of([]string{"c", "d"}))(t)
	expect.Equal(t, strings.Join(expect.Value(NewExchange(part, Roles{}))(t).slow, ","), "d 0.4", "cables of some hosts")
}

// TestSlowSwitches: where addresses stand for switches, a cable has those of both, its leaf's among them.
func TestSlowSwitches(t *testing.T) {
	text := strings.Replace(four(t), "# hop 172.16.0.1 up\n", "", 1)
	for leaf := range 2 {
		for spine := range 2 {
			text = strings.ReplaceAll(text, fmt.Sprintf("172.16.%d.%d", leaf, spine), fmt.Sprintf("172.16.9.%d", spine))
			text = strings.ReplaceAll(text, fmt.Sprintf("172.17.%d.%d", leaf, spine), fmt.Sprintf("172.17.%d.9", leaf))
		}
	}
	p := expect.Value(files(t, text, slowHead+"# slow 172.17.1.9 172.16.9.0 0.25\n"))(t)
	expect.Equal(t, fmt.Sprint(p.shares()), "map[172.16.9.0 to 172.17.1.9:0.25 switch 1 to 172.16.9.0:0.25] [172.16.9.0 172.17.1.9 0.25]", "links")
	_, err := files(t, text, slowHead+"# slow 172.17.1.9 172.17.0.9 0.25\n")
	expect.Error(t, err, "no path passes a cable with these ends")
}

// drawnSlow are paths between three hosts on switches of their own over one to three trunks for all, of which some are slow.
func drawnSlow(rng *rand.Rand) *Paths {
	paths, spines := &Paths{Protocol: TCP, Port: 7000, Time: time.Unix(1, 0)}, 1+rng.IntN(3)
	up := func(h, s int) netip.Addr { return netip.AddrFrom4([4]byte{172, 16, byte(h), byte(s)}) }
	down := func(h, s int) netip.Addr { return netip.AddrFrom4([4]byte{172, 17, byte(h), byte(s)}) }
	for h := range 3 {
		paths.Hosts = append(paths.Hosts, Host{fmt.Sprint("h", h), netip.AddrFrom4([4]byte{10, 0, 0, byte(h)})})
	}
	share := func() float64 { return []float64{.25, .4, .5, .8}[rng.IntN(4)] }
	for m := range 9 {
		if src, dst := m/3, m%3; src != dst {
			for i := range 2 {
				s := rng.IntN(spines)
				paths.Rows = append(paths.Rows, Row{src, dst, 20000 + i, []Hop{{up(src, s)}, {down(dst, s)}}})
			}
		}
	}
	for h := range 3 {
		if rng.IntN(4) == 0 {
			paths.Slow = append(paths.Slow, Slow{Host: fmt.Sprint("h", h), Share: share()})
		}
		for s := range spines {
			if rng.IntN(3) == 0 {
				paths.Slow = append(paths.Slow, Slow{Ends: [2]netip.Addr{up(h, s), down(h, s)}, Share: share()})
			}
		}
	}
	return paths
}

// wayOf is a second version of what a message passes, with the time that each link needs for it.
func wayOf(p *Paths, r Row) map[string]float64 {
	out := map[string]float64{"from " + p.Hosts[r.Src].Name: 1, "to " + p.Hosts[r.Dst].Name: 1}
	for _, h := range r.Hops {
		out[h.String()] = 1
	}
	for _, s := range p.Slow {
		for _, name := range []string{"from " + s.Host, "to " + s.Host, s.Ends[0].String(), s.Ends[1].String()} {
			if _, on := out[name]; on {
				out[name] = 1 / s.Share
			}
		}
	}
	return out
}

// lasts is how long a phase takes; infinite where a host sends or receives twice.
func lasts(phase []map[string]float64) (most float64) {
	need, times := map[string]float64{}, map[string]int{}
	for _, way := range phase {
		for link, x := range way {
			need[link] += x
			most = max(most, need[link])
			if times[link]++; times[link] > 1 && !strings.HasPrefix(link, "172") {
				return math.Inf(1)
			}
		}
	}
	return most
}

// shortestSlow is the least time of all choices of ports and all divisions of the messages into phases.
func shortestSlow(p *Paths) float64 {
	best := math.Inf(1)
	for choice := range 1 << (len(p.Rows) / 2) {
		var ways []map[string]float64
		for m := range len(p.Rows) / 2 {
			ways = append(ways, wayOf(p, p.Rows[2*m+choice>>m&1]))
		}
		var put func(k int, phases [][]map[string]float64)
		put = func(k int, phases [][]map[string]float64) {
			sum := 0.0
			for _, phase := range phases {
				sum += lasts(phase)
			}
			if sum >= best-1e-9 {
				return
			}
			if k == len(ways) {
				best = sum
				return
			}
			for i := range phases {
				more := slices.Clone(phases)
				more[i] = append(slices.Clone(phases[i]), ways[k])
				put(k+1, more)
			}
			put(k+1, append(slices.Clone(phases), []map[string]float64{ways[k]}))
		}
		put(0, nil)
	}
	return best
}

// TestSlowPlan: against all plans of small networks the plan is never shorter, nor much longer, and its bound never above the best of them;
// a second version and the judge find its time and its bound in the file.
func TestSlowPlan(t *testing.T) {
	slow, exact, far := 0, 0, 1.0
	for seed := range uint64(60) {
		paths := drawnSlow(rand.New(rand.NewPCG(seed, 5)))
		p := expect.Value(NewExchange(paths, Roles{}))(t).Plan(0)
		best := shortestSlow(paths)
		expect.True(t, p.Steps >= best-1e-9 && p.Least <= best+1e-9 && p.Any <= best+1e-9, "seed %d: plan %g, best %g, bounds %g and %g", seed, p.Steps, best, p.Least, p.Any)
		var text bytes.Buffer
		expect.Must(t, p.Write(&text))
		if far = max(far, p.Steps/best); p.Steps <= best+1e-9 {
			exact++
		}
		if p.x.slow == nil {
			expect.False(t, strings.Contains(text.String(), "# time"), "seed %d: %s", seed, &text)
			continue
		}
		slow++
		var phases [][]map[string]float64
		for line := range strings.Lines(text.String()) {
			if w := strings.Fields(line); w[0] != "#" {
				k := number(t, w[0])
				phases = append(phases, make([][]map[string]float64, max(0, k+1-len(phases)))...)
				at := slices.IndexFunc(paths.Rows, func(r Row) bool { return fmt.Sprint(r.Src, r.Dst, r.Port) == strings.Join(w[1:], " ") })
				phases[k] = append(phases[k], wayOf(paths, paths.Rows[at]))
			}
		}
		time := 0.0
		for _, phase := range phases {
			time += lasts(phase)
		}
		r := expect.Value(check(t, text.String(), paths))(t)
		expect.True(t, r.Valid && r.Bound.Proven && r.Bound.Value <= p.Least*(1+1e-5) && math.Abs(r.Duration-p.Steps)+math.Abs(time-p.Steps) < 1e-9 && r.Slow > 0,
			"seed %d: %g, a second version %g, the judge %g: %+v\n%s", seed, p.Steps, time, r.Duration, r.Offences, &text)
	}
	t.Logf("%d have slow links, %d plans are the shortest, the farthest takes %.3f of it", slow, exact, far)
}

// TestSlowLarger: of 16 hosts, with a host and a cable at half the rate, a plan is near its bound, that of connections of both ways, too.
func TestSlowLarger(t *testing.T) {
	need.Heavy(t)
	f := fake{hosts: 16, onLeaf: 4, spines: 4}
	s := expect.Value(Run(t.Context(), f.list(), 7000, Options{Ports: 4, Seed: 1, Both: true}, f.ask))(t)
	s.Paths.Slow = []Slow{{Host: "node3", Share: .5}, {Ends: [2]netip.Addr{netip.MustParseAddr("172.16.1.2"), netip.MustParseAddr("172.17.1.2")}, Share: .5}}
	for _, make := range []func(*Paths) (*Exchange, error){func(p *Paths) (*Exchange, error) { return NewExchange(p, Roles{}) }, NewBoth} {
		p := expect.Value(make(&s.Paths))(t).Plan(0)
		expect.True(t, p.Least == 30 && p.Steps <= 1.1*p.Least && p.Steps < .8*p.Linear, "%+v", p.Figures)
		f := expect.Value(p.Judged())(t)
		whole := *p.x.of
		whole.Slow = whole.Slow[1:] // the cable alone: most messages go around it
		around := expect.Value(make(&whole))(t).Plan(0)
		expect.True(t, around.Least == 15 && around.Steps <= 18, "%+v", around.Figures)
		expect.True(t, f.Time == p.Steps && f.Bound.Value == 30 && f.Bound.Kind == "node3", "%g, %+v", f.Time, f.Bound)
		expect.Contains(t, strings.Join(p.Answer().Why, "\n"), "slow, as the paths say: node3 0.5, 172.16.1.2 172.17.1.2 0.5")
	}
}

// TestSlowDamage: what is wrong with a plan, or with its paths, is named.
func TestSlowDamage(t *testing.T) {
	ends := slowHead + "# slow 172.16.0.0 172.17.0.0 0.25\n# slow 172.16.0.1 172.17.0.1 0.5\n"
	paths := expect.Value(files(t, four(t), ends))(t)
	var text bytes.Buffer
	expect.Must(t, expect.Value(NewExchange(paths, Roles{}))(t).Plan(0).Write(&text))
	said := offences(check(t, text.String(), paths))
	expect.Equal(t, said, "where cables are slow, messages may share links in long phases; the duration counts that", "the plan itself")
	line := func(key string) string {
		_, rest, _ := strings.Cut(text.String(), "\n# "+key+" ")
		value, _, _ := strings.Cut(rest, "\n")
		return "# " + key + " " + value
	}
	for _, test := range []struct{ name, old, new, want string }{
		{"share", "172.17.0.0 0.25", "172.17.0.0 0.2", "the plan was made for the slow cables"},
		{"no shares", line("slow") + "\n", "", `the plan was made for the slow cables "", the paths have "172.16.0.0 172.17.0.0 0.25,`},
		{"hash", line("slow") + "\n", "", "its canonical text has"},
		{"time", line("time"), "# time 4", "message times, and the file states 4 message times"},
		{"bound", line("bound"), "# bound 1 x-weight", "needs 5.33333 message times, and the file states a bound of 1 message times"},
		{"weights", line("x-weight") + "\n", "", "the file states a bound of 5.33333 message times"},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect.True(t, strings.Contains(text.String(), test.old), "%s\n%s", test.old, &text)
			expect.Contains(t, offences(check(t, strings.Replace(text.String(), test.old, test.new, 1), paths)), test.want)
		})
	}
	other := *paths
	other.Slow = nil
	expect.Contains(t, offences(check(t, text.String(), &other)), `the plan was made for the slow cables "172.16.0.0 172.17.0.0 0.25,172.16.0.1 172.17.0.1 0.5", the paths have ""`)
}

// TestSlowRun: a run over paths with slow cables predicts with them, also over a plan whose hosts have another order, and no plan of other
// rates is taken.
func TestSlowRun(t *testing.T) {
	f := fake{hosts: 8, onLeaf: 2, spines: 2}
	s := expect.Value(Run(t.Context(), f.list(), 7000, Options{Ports: 2, Seed: 1}, f.ask))(t)
	s.Paths.Slow = []Slow{{Host: "node1", Share: .4}, {Ends: [2]netip.Addr{netip.MustParseAddr("172.16.2.1"), netip.MustParseAddr("172.17.2.1")}, Share: .5}}
	w := &Ways{Own: &s.Paths}
	chosen := expect.Value(planned(t, w, &f, ported(schedules.PathColoring)))(t)
	shift := expect.Value(planned(t, w, &f, scenario.Case{Schedule: schedules.LinearShift, Routing: routing.ECMP}))(t)
	figures := w.found[0].x.Plan(0).Figures
	cost := chosen.Cost(plan.Equal, 1)
	expect.True(t, math.Abs(cost.Duration-figures.Steps) < 1e-9 && cost.Duration >= 17.5, "%g steps of chosen ports, %+v", cost.Duration, figures)
	expect.True(t, math.Abs(shift.Cost(plan.Equal, 1).Duration-figures.Linear) < 1e-9, "linear shift")
	expect.Equal(t, shift.Bound.Phases, chosen.Bound.Phases, "bound of linear shift")
	expect.True(t, chosen.Bound.Phases == int(math.Ceil(figures.Least-1e-6)) && chosen.Bound.Phases >= 18, "%d, %+v", chosen.Bound.Phases, figures)
	expect.Contains(t, string(w.Files()[0].Text), "# evbench paths 2\n")

	var text bytes.Buffer
	expect.Must(t, shift.WriteText(&text)) // states its time as any plan over slow links
	expect.True(t, expect.Value(check(t, text.String(), &s.Paths))(t).Valid, "%s", &text)
	text.Reset()
	back := slices.Clone(f.list())
	slices.Reverse(back)
	names := []string{}
	for _, h := range back {
		names = append(names, h.Name)
	}
	turned := expect.Value(s.Paths.Of(names))(t)
	expect.Must(t, expect.Value(NewExchange(turned, Roles{}))(t).Plan(0).Write(&text))
	name := filepath.Join(t.TempDir(), "plan.txt")
	expect.Must(t, os.WriteFile(name, text.Bytes(), 0o600))
	given := expect.Value(planned(t, w, &f, ported(schedules.FilePrefix+name)))(t)
	stated := strconv.FormatFloat(given.Cost(plan.Equal, 1).Duration, 'g', 6, 64)
	expect.Contains(t, text.String(), "\n# time "+stated+"\n")
	again := expect.Value(w.of(t.Context(), bench.Asked{Trace: f.ask}, chosen.Tree, make([][]int, 8)))(t) // while a case runs
	expect.True(t, len(again.x.slow) == 2, "%v", again.x.slow)
	s.Paths.Slow = s.Paths.Slow[:1]
	_, err := planned(t, &Ways{Own: &s.Paths}, &f, ported(schedules.FilePrefix+name))
	expect.Error(t, err, `it was made for the slow cables "node1 0.4,172.16.2.1 172.17.2.1 0.5", the paths have "node1 0.4": write fabric.routes`)
}
