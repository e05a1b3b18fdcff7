package attribution

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// A fat is FT(2;M,N) with tables by destination: the spine of a message is its destination modulo the spines.
type fat struct {
	ports, leaves int
	hidden        bool // nothing is known between leaves
}

var ways = map[[3]int][]Wire{}

func (f fat) servers() int { return f.ports * f.leaves }

func (f fat) Way(src, dst int) ([]Wire, bool) {
	a, b := src/f.ports, dst/f.ports
	key := [3]int{f.ports, src, dst}
	if ways[key] == nil {
		ways[key] = f.way(src, dst)
	}
	way := ways[key]
	if f.hidden && a != b {
		return []Wire{way[0], way[3]}, false
	}
	return way, true
}

func (f fat) way(src, dst int) []Wire {
	up := func(a, b string) Wire { return Wire{From: a, To: b, Cable: a + "-" + b} }
	down := func(a, b string) Wire { return Wire{From: a, To: b, Cable: b + "-" + a} }
	a, b := fmt.Sprint("leaf", src/f.ports), fmt.Sprint("leaf", dst/f.ports)
	spine := fmt.Sprint("spine", dst%f.ports)
	way := []Wire{up(fmt.Sprint("server", src), a)}
	if a != b {
		way = append(way, up(a, spine), down(spine, b))
	}
	return append(way, down(b, fmt.Sprint("server", dst)))
}

// A fault is planted: it slows messages over a wire, or those of a server.
type fault struct {
	name  string
	hits  func(f fat, src, dst int) bool
	share float64 // of the usual rate; 0: none
	rare  float64 // chance of a message to wait
	wait  float64 // in message times
	loss  float64 // segments resent a message
}

const messages = 8 // of a pair

// draw is what a run of a tree with faults would note. noise is the standard deviation of a message's time.
func draw(r *rand.Rand, f fat, noise float64, faults ...fault) Evidence {
	e := Evidence{Timed: true, Ways: f, Sec: messages * float64(f.servers())}
	for s := range f.servers() {
		e.Names = append(e.Names, fmt.Sprint("server", s))
		e.Servers = append(e.Servers, Server{Stood: 0.05 * r.Float64(), Stops: 3})
	}
	for src := range f.servers() {
		for dst := range f.servers() {
			if src == dst {
				continue
			}
			p := Pair{Src: src, Dst: dst, Bytes: messages * 1000, Messages: messages}
			own := 1 + 0.5*noise*r.NormFloat64() // what a place in the schedule costs
			for m := range messages {
				sec := max(0.3, own+noise*r.NormFloat64())
				if r.Float64() < 0.003 { // a busy machine
					sec += 5 * r.Float64()
				}
				for _, x := range faults {
					if !x.hits(f, src, dst) {
						continue
					}
					if x.share > 0 {
						sec += 1/x.share - 1
					}
					if r.Float64() < x.rare {
						sec += x.wait
					}
					if r.Float64() < x.loss {
						p.Resent++
						sec += 0.2
					}
				}
				p.Sec += sec
				if sec > p.Longest {
					p.Longest, p.LongestAt = sec, float64(1+m*f.servers()+(dst-src+f.servers())%f.servers())
				}
			}
			e.Pairs = append(e.Pairs, p)
		}
	}
	return e
}

// kind is a row of the table of faults.
func (x fault) kind() string {
	where := "cable between switches"
	if strings.HasPrefix(x.name, "server") {
		where = "server"
	}
	switch {
	case x.share > 0:
		return fmt.Sprintf("%s, rate %.0f %%", where, 100*x.share)
	case x.loss > 0:
		return where + ", losses"
	}
	return where + ", waits"
}

func over(name string) func(f fat, src, dst int) bool {
	return func(f fat, src, dst int) bool {
		way, _ := fat{f.ports, f.leaves, false}.Way(src, dst)
		return slices.ContainsFunc(way, func(w Wire) bool {
			return w.Cable == name || w.From+" to "+w.To == name || w.From == name || w.To == name
		})
	}
}

// planted draws a fault of any kind at any place.
func planted(r *rand.Rand, f fat) fault {
	leaf, spine, server := fmt.Sprint("leaf", r.IntN(f.leaves)), fmt.Sprint("spine", r.IntN(f.ports)), fmt.Sprint("server", r.IntN(f.servers()))
	x := fault{name: []string{server, server, leaf + "-" + spine, leaf + " to " + spine, spine + " to " + leaf}[r.IntN(5)]}
	x.hits = over(x.name)
	switch r.IntN(4) {
	case 0, 1:
		x.share = []float64{0.9, 0.75, 0.5, 0.3}[r.IntN(4)]
	case 2:
		x.rare, x.wait = 0.06, 5+20*r.Float64()
	case 3:
		x.loss = 0.1
	}
	return x
}

// names reports whether a planted fault is a cause: by its name or that of its cable, alone or with one more that
// almost the same messages pass.
func (c Cause) names(x fault) bool {
	return slices.ContainsFunc(c.Parts, func(part string) bool { return cable(part) == cable(x.name) })
}

func cable(name string) string {
	a, b, ok := strings.Cut(name, " to ")
	if ok && a > b {
		a, b = b, a
	}
	if ok {
		return a + "-" + b
	}
	return name
}

func TestOnePlantedFault(t *testing.T) {
	f, right := fat{ports: 4, leaves: 4}, 0
	const seeds = 200
	count := map[string][3]int{} // by kind: right, nobody, another
	for seed := range uint64(seeds) {
		r := rand.New(rand.NewPCG(seed, 59))
		x := planted(r, f)
		got := Find(draw(r, f, 0.02+0.06*r.Float64(), x))
		n := count[x.kind()]
		switch {
		case len(got) == 1 && got[0].names(x):
			n[0]++
			right++
		case len(got) > 0:
			n[2]++
			t.Errorf("seed %d: %s (rate %.2f, waits %.2f, losses %.2f) was taken for %+v", seed, x.name, x.share, x.rare, x.loss, got)
		default:
			n[1]++
		}
		count[x.kind()] = n
	}
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		t.Logf("%-33s | right %3d | nobody %3d | another %d", kind, count[kind][0], count[kind][1], count[kind][2])
	}
	if t.Logf("%d of %d right", right, seeds); right < 9*seeds/10 {
		t.Errorf("%d of %d right", right, seeds)
	}
}

func TestHealthyAccusesNobody(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 60))
		f := fat{4, 2 + r.IntN(4), seed%2 == 0}
		if got := Find(draw(r, f, 0.2*r.Float64())); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

func TestThreeFaults(t *testing.T) {
	f, found, all := fat{4, 4, false}, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 61))
		faults := []fault{
			{name: "server5", hits: over("server5"), share: 0.5},
			{name: "leaf2-spine1", hits: over("leaf2-spine1"), share: 0.4},
			{name: "server12", hits: over("server12"), share: 0.6},
		}
		got := Find(draw(r, f, 0.04, faults...))
		all += len(faults)
		for _, c := range got {
			at := slices.IndexFunc(faults, c.names)
			if at < 0 {
				t.Errorf("seed %d: %+v", seed, c)
				continue
			}
			found++
		}
	}
	if found < 2*all/3 {
		t.Errorf("%d of %d named", found, all)
	}
}

// Where nobody knows the way between leaves, a slow cable there has no name, and no server takes its blame.
func TestHiddenWays(t *testing.T) {
	f, right := fat{4, 4, true}, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 62))
		x := planted(r, f)
		got := Find(draw(r, f, 0.05, x))
		server := strings.HasPrefix(x.name, "server")
		switch {
		case len(got) == 0:
		case server && got[0].names(x) && len(got) == 1:
			right++
		default:
			t.Errorf("seed %d: %s was taken for %+v", seed, x.name, got)
		}
	}
	if right < 20 {
		t.Errorf("%d servers named", right)
	}
}

func TestStops(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 63))
	e := draw(r, fat{4, 4, false}, 0.05)
	e.Servers[9] = Server{Stops: 3, Stood: 6, Longest: 2, First: 12.4}
	for i := range e.Pairs {
		if p := &e.Pairs[i]; (p.Src == 9 || p.Dst == 9) && i%5 == 0 {
			p.Sec, p.Longest = p.Sec+2, 2
		}
	}
	got := Find(e)
	if len(got) != 1 || got[0].Name != "server9" || got[0].Stops != 3 {
		t.Errorf("%+v", got)
	}
	for i := range e.Servers {
		e.Servers[i].Stood = 5
	}
	if got := Find(e); len(got) > 0 && got[0].Stops > 0 {
		t.Errorf("all stood still, and one is blamed: %+v", got)
	}
}

// Who leaves barriers late, as the one that lets it out stands still, sends late and is not named.
func TestLateBesideStops(t *testing.T) {
	e := draw(rand.New(rand.NewPCG(1, 70)), fat{4, 4, false}, 0.05, fault{name: "server11", hits: func(_ fat, src, _ int) bool { return src == 11 }, share: 0.7})
	if got := Find(e); len(got) != 1 || got[0].Parts[0] != "server11" {
		t.Errorf("alone: %+v", got)
	}
	e.Servers[10] = Server{Stops: 40, Stood: 30, Longest: 0.06, First: 1}
	if got := Find(e); len(got) != 1 || got[0].Name != "server10" {
		t.Errorf("%+v", got)
	}
}

func TestControlServerHasAnAllowance(t *testing.T) {
	f := fat{4, 4, false}
	x := fault{name: "server0", hits: func(_ fat, _, dst int) bool { return dst == 0 }, share: 0.89}
	for seed := range uint64(50) {
		e := draw(rand.New(rand.NewPCG(seed, 64)), f, 0.04, x)
		e.Servers[0].Control = true
		if got := Find(e); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

func TestShare(t *testing.T) {
	f := fat{4, 4, false}
	got := Find(draw(rand.New(rand.NewPCG(1, 65)), f, 0.03, fault{name: "server5", hits: over("server5"), share: 0.5}))
	if len(got) != 1 || math.Abs(got[0].Share-0.5) > 0.05 || got[0].Lo > got[0].Share || got[0].Hi < got[0].Share || got[0].AtTimes {
		t.Errorf("%+v", got)
	}
}

// One of many servers has few of the pairs, and is named all the same; and alone, where the cable to its leaf carries what
// its leaf's cables do not.
func TestOneOfMany(t *testing.T) {
	f, r := fat{12, 12, false}, rand.New(rand.NewPCG(1, 69))
	if got := Find(draw(r, f, 0.02)); len(got) > 0 {
		t.Errorf("healthy: %+v", got)
	}
	for _, name := range []string{"server77", "spine3 to leaf2"} {
		got := Find(draw(r, f, 0.02, fault{name: name, hits: over(name), share: 0.75}))
		if len(got) != 1 || len(got[0].Parts) != 1 || got[0].Parts[0] != name {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// early is what a run notes in which a server leaves each barrier before all others, and so awaits each message longer.
func early(e Evidence, server int, by float64) Evidence {
	for i := range e.Pairs {
		p := &e.Pairs[i]
		p.Soonest = 0.01
		if p.Dst == server {
			p.Soonest += by
			p.Sec, p.Longest = p.Sec+by*float64(p.Messages), p.Longest+by
		}
	}
	return e
}

// Who leaves barriers early is not slow, and neither hides who is.
func TestEarlyReceiver(t *testing.T) {
	f := fat{4, 4, false}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 67))
		if got := Find(early(draw(r, f, 0.05), 0, 0.1+0.3*r.Float64())); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		x := fault{name: "server5", hits: over("server5"), share: 0.75}
		got := Find(early(draw(r, f, 0.05, x), 0, 0.2))
		if len(got) != 1 || !got[0].names(x) {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

// While a cable is out of use, messages take new ways and wait for one another there: the cable on which they do has no name.
func TestMessagesThatGoAround(t *testing.T) {
	f := fat{4, 4, false}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 68))
		e := draw(r, f, 0.03)
		for i := range e.Pairs {
			p := &e.Pairs[i]
			via3, via0 := over("leaf0-spine3")(f, p.Src, p.Dst), over("leaf0-spine0")(f, p.Src, p.Dst)
			if (via3 || via0) && (p.Src+p.Dst/4+int(seed))%2 == 0 {
				p.Sec, p.Longest, p.LongestAt = p.Sec+1.5, 2.5, 40+3*r.Float64()
				if via3 && r.Float64() < 0.5 {
					p.Resent = 3
				}
			}
		}
		if got := Find(e); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
}

// A cable that is down at times loses segments without phases, too, where all pairs lose one when they begin; where others that meet it lose
// about as many, nobody is, unless its ports alone count errors.
func TestCableDownAtTimes(t *testing.T) {
	f, right := fat{4, 4, false}, 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 69))
		for _, others := range []float64{0.05, 0.7, 0.4} {
			e := draw(r, f, 0.1)
			e.Timed = false
			if others == 0.4 { // its ports tell
				e.Counted = [][3]string{{"spine1", "leaf2", "leaf2-spine1"}}
			}
			for i := range e.Pairs {
				p := &e.Pairs[i]
				for _, x := range []struct {
					name   string
					chance float64
				}{{"server0", 0.05}, {"leaf2-spine1", 0.7}, {"leaf2-spine0", others}, {"leaf2-spine3", others}} {
					if over(x.name)(f, p.Src, p.Dst) && r.Float64() < x.chance {
						p.Resent += uint64(1 + r.IntN(4))
					}
				}
				p.Resent++
			}
			got := Find(e)
			if others < 0.7 && len(got) == 1 && got[0].names(fault{name: "leaf2-spine1"}) {
				expect.Equal(t, strings.HasSuffix(got[0].Name, "leaf2-spine1 (its ports count errors)"), e.Counted != nil, "seed %d: %s", seed, got[0].Name)
				right++
			} else if len(got) > 0 {
				t.Errorf("seed %d, others %.2f: %+v", seed, others, got)
			}
		}
	}
	if right < 130 {
		t.Errorf("%d of 200 right", right)
	}
}

// shared is what a run notes in which the messages between leaf0 and others pass spine1 two at a time, and take so
// many times as long as one that has its links alone.
func shared(e Evidence, f fat, times float64) Evidence {
	for i := range e.Pairs {
		p := &e.Pairs[i]
		p.Shared, p.Expected = 1, float64(p.Bytes)
		if over("leaf0-spine1")(f, p.Src, p.Dst) {
			p.Shared, p.Expected = 2, 2*float64(p.Bytes)
			p.Sec, p.Longest = times*p.Sec, times*p.Longest
		}
	}
	return e
}

// A cable that messages share is not slow because two of them take a little more than twice as long as one; it is at half
// its rate.
func TestSharedLinks(t *testing.T) {
	f, named := fat{4, 4, false}, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 66))
		times := 1.8 + 0.7*r.Float64()
		if got := Find(shared(draw(r, f, 0.1*r.Float64()), f, times)); len(got) > 0 {
			t.Errorf("seed %d: two take %.2f times as long as one: %+v", seed, times, got)
		}
		x := fault{name: "leaf0-spine1", hits: over("leaf0-spine1"), share: 0.5}
		got := Find(shared(draw(r, f, 0.05, x), f, 2))
		if len(got) == 1 && got[0].names(x) {
			named++
		} else if len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
	}
	if named < 190 {
		t.Errorf("%d of 200 named", named)
	}
}

// What the adapter of a slow server counts says which part of it is slow, where no other counts it; it accuses nobody.
func TestSigns(t *testing.T) {
	slow := fault{share: .5, hits: func(_ fat, src, dst int) bool { return src == 5 || dst == 5 }}
	for _, tt := range []struct {
		name   string
		faults []fault
		count  func(servers []Server)
		want   string
	}{
		{"errors", []fault{slow}, func(s []Server) { s[5].Errors = 3 }, "server5's cable (its adapter counts errors)"},
		{"pauses", []fault{slow}, func(s []Server) { s[5].Pauses = 3 }, "server5 (its adapter sends pauses)"},
		{"of others, too", []fault{slow}, func(s []Server) { s[5].Pauses, s[7].Pauses = 3, 1 }, "server5 or its cable to leaf1"},
		{"of another", []fault{slow}, func(s []Server) { s[7].Errors, s[8].Pauses = 1, 1 }, "server5 or its cable to leaf1"},
		{"its port counts", []fault{slow}, func(s []Server) { s[0].Errors = 0 }, "server5's cable (its ports count errors)"},
		{"nobody is slow", nil, func(s []Server) { s[5].Errors, s[6].Pauses = 1000, 1000 }, ""},
	} {
		e := draw(rand.New(rand.NewPCG(1, 2)), fat{ports: 4, leaves: 4}, 0.02, tt.faults...)
		tt.count(e.Servers)
		if strings.HasPrefix(tt.name, "its port") {
			e.Counted = [][3]string{{"leaf1", "server5"}}
		}
		got := ""
		for _, c := range Find(e) {
			got += c.Name
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A cable that was down for a moment lost segments of two pairs; then messages went around it, over another cable of its
// leaf, where more pairs were late and sent some again: that is not named.
func TestCrowded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first uint64 // lost by each of two pairs over leaf0-spine1
		want  string
	}{{"nothing before", 0, "leaf0-spine3"}, {"down before", 12, ""}} {
		e := draw(rand.New(rand.NewPCG(3, 4)), fat{ports: 4, leaves: 4}, 0.02)
		for i := range e.Pairs {
			p := &e.Pairs[i]
			over := func(leaf, spine int) bool {
				return p.Src/4 != p.Dst/4 && p.Dst%4 == spine && (p.Src/4 == leaf || p.Dst/4 == leaf)
			}
			switch {
			case over(0, 3):
				p.Sec += 3
				p.Longest, p.LongestAt = 4, float64(20+p.Src+p.Dst)
				p.Resent = 2
			case p.Src == 3 && p.Dst == 5, p.Src == 15 && p.Dst == 1:
				p.Resent = tt.first
			}
		}
		got := ""
		for _, c := range Find(e) {
			got += c.Name
		}
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
