package ports

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"evbench/routing"
	"evbench/scheduler/judge"
	"evbench/testing/expect"
)

// surveyed is the paths of a fake network.
func surveyed(t testing.TB, hosts, onLeaf, spines int) *Paths {
	t.Helper()
	f := fake{hosts: hosts, onLeaf: onLeaf, spines: spines}
	s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 2, Seed: 1}, f.ask)
	expect.Must(t, err)
	return &s.Paths
}

// TestPlan: a second version reads both files and counts what each link carries in each phase, and the judge agrees.
func TestPlan(t *testing.T) {
	for _, size := range [][3]int{{6, 2, 2}, {16, 4, 4}, {24, 6, 4}, {5, 5, 1}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			paths := surveyed(t, size[0], size[1], size[2])
			p := expect.Value(NewExchange(paths, Roles{}))(t).Plan(0)
			var plan, file bytes.Buffer
			expect.Must(t, p.Write(&plan))
			expect.Must(t, paths.Write(&file))
			phases, most := secondVersion(t, plan.String(), file.String(), size[0])
			expect.True(t, most <= 1 && phases == p.Phases, "a link carries %d messages in a phase, %d phases for %d", most, phases, p.Phases)
			r := expect.Value(check(t, plan.String(), paths))(t)
			expect.True(t, r.Valid && len(r.Notes) == 0 && r.Phases == p.Phases && r.Duration == p.Steps, "%+v", r)
			any, on := 0, map[int]int{} // whatever the ports, a leaf's messages share its cables
			for _, g := range paths.groupOf() {
				on[g]++
			}
			for _, n := range on {
				any = max(any, (n*(size[0]-n)+size[2]-1)/size[2])
			}
			expect.True(t, p.Any >= float64(max(size[0]-1, any)) && p.Any <= p.Least, "any ports: %g, %d by leaves; %g over these", p.Any, any, p.Least)
			expect.True(t, p.Steps >= p.Least && p.Steps <= max(p.Least+1, 1.08*p.Least), "%+v", p.Figures)
		})
	}
}

// TestAnyPorts: with a dead cable the links of its leaf decide, 48 messages over three, whatever the ports.
func TestAnyPorts(t *testing.T) {
	f := fake{hosts: 16, onLeaf: 4, spines: 4, dead: [][2]int{{0, 1}}}
	s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 2, Seed: 1}, f.ask)
	expect.Must(t, err)
	p := expect.Value(NewExchange(&s.Paths, Roles{}))(t).Plan(0)
	expect.True(t, p.Any == 16 && p.Least >= 16 && p.Steps >= p.Least, "%+v", p.Figures)
}

// check has the judge read a plan.
func check(t testing.TB, plan string, paths *Paths) (*judge.Report, error) {
	t.Helper()
	f, err := judge.Read(strings.NewReader(plan))
	if err != nil {
		return nil, err
	}
	p := expect.Value(paths.ForJudge())(t)
	return judge.Check(f, judge.Options{Ports: p, First: 100}), p.Suits(f)
}

// secondVersion returns the phases of a plan and the most messages of a link or host in one of them.
func secondVersion(t *testing.T, plan, file string, hosts int) (phases, most int) {
	t.Helper()
	way := map[string][]string{}
	for line := range strings.Lines(file) {
		if w := strings.Fields(line); w[0] != "#" {
			way[strings.Join(w[:3], " ")] = w[3:]
		}
	}
	load, messages := map[string]int{}, 0
	for line := range strings.Lines(plan) {
		w := strings.Fields(line)
		if w[0] == "#" {
			continue
		}
		hops, ok := way[fmt.Sprintf("node%s node%s %s", w[1], w[2], w[3])]
		expect.True(t, ok, "%s: no such path", line)
		messages++
		for _, x := range append(hops, "from "+w[1], "to "+w[2]) {
			load[w[0]+" "+x]++
			most = max(most, load[w[0]+" "+x])
		}
		phases = max(phases, number(t, w[0])+1)
	}
	expect.Equal(t, messages, hosts*(hosts-1), "messages")
	return phases, most
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	expect.Must(t, expect.Err(fmt.Sscan(s, &n)))
	return n
}

// Where all packets through a switch are answered from one address, links are what stands between two switches; an
// address that is that of a switch on a part of a way alone is refused.
func TestNamesSwitches(t *testing.T) {
	paths := surveyed(t, 8, 2, 2)
	links := len(expect.Value(NewExchange(paths, Roles{}))(t).names)
	renamed := func(at int) *Paths {
		out := *paths
		out.Rows = nil
		for _, r := range paths.Rows {
			r.Hops = append([]Hop(nil), r.Hops...)
			for i := range r.Hops {
				a := r.Hops[i][0].As4()
				if i >= at {
					a[2+i] = 0 // of a spine's address the leaf, of a leaf's the spine
				}
				r.Hops[i] = Hop{netip.AddrFrom4(a)}
			}
			out.Rows = append(out.Rows, r)
		}
		return &out
	}
	expect.Equal(t, len(expect.Value(NewExchange(renamed(0), Roles{}))(t).names), links, "links between switches")
	_, err := NewExchange(renamed(1), Roles{})
	expect.True(t, err != nil && strings.Contains(err.Error(), "switches answer from the interface of the way back"), "%v", err)
}

// offences are the sentences of a judgement, its notes among them, or the error.
func offences(r *judge.Report, err error) string {
	if err != nil {
		return err.Error()
	}
	said := slices.Clone(r.Notes)
	for _, o := range r.Offences {
		said = append(said, o.Text)
	}
	return strings.Join(said, "\n")
}

// TestBoth: where a connection serves both directions, both messages of two hosts have one port, and a second version and
// the judge agree that no link carries two messages in a phase.
func TestBoth(t *testing.T) {
	for _, size := range [][3]int{{6, 2, 2}, {16, 4, 4}, {24, 6, 4}}[:expect.Samples(3, 2)] {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			f := fake{hosts: size[0], onLeaf: size[1], spines: size[2]}
			s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 4, Seed: 1, Both: true}, f.ask)
			expect.Must(t, err)
			s.Paths.Time = time.Unix(1, 0)
			p := expect.Value(NewBoth(&s.Paths))(t).Plan(0)
			var plan, file bytes.Buffer
			expect.Must(t, p.Write(&plan))
			expect.Must(t, s.Paths.Write(&file))
			port := map[string]string{}
			for line := range strings.Lines(plan.String()) {
				if w := strings.Fields(line); w[0] != "#" && number(t, w[1]) < number(t, w[2]) {
					port[w[1]+" "+w[2]] = w[3]
				}
			}
			back := ""
			for line := range strings.Lines(plan.String()) {
				w := strings.Fields(line)
				if w[0] != "#" && number(t, w[1]) > number(t, w[2]) {
					expect.Equal(t, w[3], port[w[2]+" "+w[1]], "both ways of %s", line)
					line = fmt.Sprintf("%s %s %s %s\n", w[0], w[1], w[2], strings.Replace("7000:"+w[3], "7000:-", "-", 1))
				}
				back += line
			}
			phases, most := secondVersion(t, back, file.String(), size[0])
			expect.True(t, most <= 1 && phases == p.Phases && p.Steps <= max(p.Least+2, 1.15*p.Least), "a link carries %d messages in a phase, %d phases, %+v", most, phases, p.Figures)
			r := expect.Value(check(t, plan.String(), expect.Value(Read(&file))(t)))(t)
			expect.True(t, r.Valid && len(r.Notes) == 0 && r.Phases == p.Phases, "%+v", r)
		})
	}
}

// TestOf: hosts in another order, some alone, and which are not there or twice.
func TestOf(t *testing.T) {
	p := expect.Value(Read(strings.NewReader(small + "c a 7000:20002 172.16.0.9\n")))(t)
	of := expect.Value(p.Of([]string{"c.net", "10.0.0.1"}))(t)
	expect.True(t, strings.HasSuffix(written(t, of), "\nc a 7000:20002 172.16.0.9\na c 20001 172.16.0.1 *\na c 20002 172.16.0.1|172.16.0.3 172.16.0.8\n"), "%s", written(t, of))
	for _, test := range [][]string{
		{"a x", "host x: is not among the 3 of the paths, such as a"},
		{"a A", "host A: is there twice; paths lead to one port of a host, so it has one rank"},
		{"a", "an exchange needs two hosts or more"},
	} {
		_, err := p.Of(strings.Fields(test[0]))
		expect.True(t, err != nil && err.Error() == test[1], "%v, want %s", err, test[1])
	}
}

// TestCheck: what is wrong with a plan is named.
func TestCheck(t *testing.T) {
	paths := surveyed(t, 6, 2, 2)
	var text bytes.Buffer
	expect.Must(t, expect.Value(NewExchange(paths, Roles{}))(t).Plan(0).Write(&text))
	lines := strings.Split(strings.TrimSpace(text.String()), "\n")
	row := len(lines) - 1
	for !strings.Contains(lines[row], " 2") || strings.HasSuffix(lines[row], "-") {
		row--
	}
	w := strings.Fields(lines[row])
	for _, test := range []struct{ name, old, new, want string }{
		{"missing", lines[row], "", "never sends to server"},
		{"twice", lines[row], lines[row] + "\n" + lines[row], " again, after phase "},
		{"foreign port", lines[row], strings.Join(append(w[:3:3], "1"), " "), " from port 1, which nobody has asked about"},
		{"no port", lines[row], strings.Join(append(w[:3:3], "-"), " "), " from no port, and both are not behind one switch"},
		{"another file", "sha256:", "sha256:0", "the plan was made for another paths file: older or newer than this one"},
		{"other hosts", "# hosts 6", "# hosts 7", "the plan is for 7 hosts, the paths are for 6"},
		{"another host", "node3 10.0.3.1", "node3 10.0.9.1", "the plan has host 3 node3 10.0.9.1, which is another host in the paths"},
		{"no number", lines[row], "x", `"x": no src; a row is "phase src dst port"`},
		{"another file form", "plan 4", "plan 1", `unknown header "hosts"`},
		{"whole", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			said := offences(check(t, strings.Replace(text.String(), test.old, test.new, 1), paths))
			expect.True(t, strings.Contains(said, test.want) && (said == "" || test.want != ""), "%q, want %q", said, test.want)
		})
	}
	first := strings.NewReplacer(" 1 ", " 0 ").Replace(text.String())
	expect.True(t, first != text.String(), "a plan in which two messages meet")
	crowded := text.String()
	for k := 1; k < 40; k++ { // all in one phase
		crowded = strings.ReplaceAll(crowded, fmt.Sprintf("\n%d ", k), "\n0 ")
	}
	said := offences(check(t, crowded, paths))
	expect.True(t, strings.Contains(said, "172.16.0.1 carries server") && strings.Contains(said, " receives from server") && strings.Contains(said, " and to server"), "%s", said)
}

// Some paths are no exchange: unknown ones and sprayed ones are named.
func TestNoExchange(t *testing.T) {
	for _, test := range []struct{ rows, want string }{
		{"a b -\nb a -\na c 1 172.16.0.1\nc a 1 172.16.0.2\nb c 1 172.16.0.1\nc b 1 *\n", "of 1 of 6 ordered pairs no path is known, the first is c to b: ask for them with evbench paths"},
		{"a b 1 172.16.0.1|172.16.0.2\n", "a to b from port 1: packets of the port took several ways, so no port chooses a path here"},
	} {
		head, _, _ := strings.Cut(small, "a b -\n")
		_, err := NewExchange(expect.Value(Read(strings.NewReader(head+test.rows)))(t), Roles{})
		expect.True(t, err != nil && err.Error() == test.want, "%v, want %s", err, test.want)
	}
}

// BenchmarkPlan plans the exchange of 64 hosts, and of as many as LHCb's event builder has, whole and with three dead cables,
// with two ports a pair.
func BenchmarkPlan(b *testing.B) {
	for name, f := range map[string]fake{
		"64": {hosts: 64, onLeaf: 8, spines: 8}, "326": {hosts: 326, onLeaf: 19, spines: 18},
		"326 3 dead": {hosts: 326, onLeaf: 19, spines: 18, dead: [][2]int{{0, 1}, {5, 17}, {11, 3}}},
	} {
		s, err := Run(b.Context(), f.list(), 7000, Options{Ports: 2, Seed: 1}, f.ask)
		expect.Must(b, err)
		x := expect.Value(NewExchange(&s.Paths, Roles{}))(b)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				began := processor()
				p := x.Plan(0)
				b.ReportMetric((processor() - began).Seconds(), "processor-s")
				b.ReportMetric(p.Steps/p.Least, "of-least")
				b.ReportMetric(p.Steps/p.Any, "of-any-ports")
				b.ReportMetric(p.Linear/p.Steps, "faster")
			}
		})
	}
}

// processor is the time that this process has computed, whatever else the machine does.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // of itself it may
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestFuller: where one port a pair leaves a link fuller than any ports need, more are asked for, and then the fullest link decides no more.
func TestFuller(t *testing.T) {
	for seed := range uint64(5) {
		f := fake{hosts: 12, onLeaf: 6, spines: 3, seed: seed}
		s, err := Run(t.Context(), f.list(), 7000, Options{Ports: 1, Seed: 1}, f.ask)
		expect.Must(t, err)
		p := expect.Value(NewExchange(&s.Paths, Roles{}))(t).Plan(0)
		expect.True(t, p.Any == 12 && p.FullestPlan == 12 && p.Fullest > 12, "%+v", p.Figures)
		known := s.Fields("").Known
		expect.True(t, known > 72 && known < 2*72, "%d ports of 72 pairs", known)
	}
}

// TestParallelCables: two cables to each spine are two links; answers from the way back, which is any spine, are refused all the same, and so is
// what too few ways tell.
func TestParallelCables(t *testing.T) {
	for _, x := range []struct {
		name          string
		hosts, onLeaf int
		hop           func(spine, cable, way int) int // which cable of the last leaf answers
		want          string
	}{
		{"parallel", 16, 4, func(spine, cable, way int) int { return 2*spine + cable ^ way&1 }, ""},
		{"way back", 16, 4, func(_, _, way int) int { return way % 4 }, "switches answer from the interface of the way back"},
		{"few", 4, 2, func(spine, cable, way int) int { return 2*spine + cable ^ way&1 }, "or cables are parallel: ask for more ports"},
	} {
		paths, way := *surveyed(t, x.hosts, x.onLeaf, 2), uint64(7)
		paths.Rows = slices.Clone(paths.Rows)
		for i, r := range paths.Rows {
			if r.Port == None {
				continue
			}
			way = routing.Mix(way, uint64(i))
			up, down := r.Hops[0][0].As4(), r.Hops[1][0].As4()
			spine, cable := int(up[3]), int(way>>8&1)
			up[3], down[3] = byte(2*spine+cable), byte(x.hop(spine, cable, int(way&0xff)))
			paths.Rows[i].Hops = []Hop{{netip.AddrFrom4(up)}, {netip.AddrFrom4(down)}}
		}
		e, err := NewExchange(&paths, Roles{})
		switch {
		case x.want == "":
			expect.True(t, err == nil && len(e.names) == 32, "%s: %v", x.name, err)
		default:
			expect.True(t, err != nil && strings.Contains(err.Error(), x.want), "%s: %v", x.name, err)
		}
	}
}
