package attribution

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// during draws a slice of 10 s in 20 parts, in each of whose exchanges every pair sends once. A fault holds only between its times.
func during(r *rand.Rand, f fat, exchanges int, noise float64, x fault, times ...[2]float64) Evidence {
	const sec, parts = 10.0, 20
	e := draw(r, f, 0)
	e.Sec = sec
	for k := range parts {
		e.Parts = append(e.Parts, sec/parts*float64(k+1))
	}
	n := f.servers()
	hiccup := make([]float64, exchanges*n) // of a phase of all servers
	for i := range e.Pairs {
		p := &e.Pairs[i]
		*p = Pair{Src: p.Src, Dst: p.Dst, Course: make([]float64, parts)}
		own, came, hit := 1+0.5*noise*r.NormFloat64(), make([]int, parts), x.share > 0 && x.hits(f, p.Src, p.Dst)
		for k := range exchanges {
			phase := k*n + (p.Dst-p.Src+n)%n
			at := sec * float64(phase) / float64(exchanges*n)
			if hiccup[phase] == 0 {
				hiccup[phase] = 1
				if r.Float64() < 0.02 {
					hiccup[phase] = 2
				}
			}
			took := max(0.3, own+noise*r.NormFloat64()) * hiccup[phase]
			if r.Float64() < 0.003 { // a busy machine
				took += 5 * r.Float64()
			}
			if hit && slices.ContainsFunc(times, func(t [2]float64) bool { return at >= t[0] && at < t[1] }) {
				took += 1/x.share - 1
			}
			part := int(at / sec * parts)
			p.Course[part] += took / 1000
			came[part]++
			p.Sec, p.Bytes, p.Messages = p.Sec+took, p.Bytes+1000, p.Messages+1
			if took > p.Longest {
				p.Longest, p.LongestAt = took, at
			}
		}
		for k, m := range came {
			p.Course[k] /= max(1, float64(m))
		}
	}
	return e
}

// What is slow for a while within a slice is named with that time, by the parts of the time.
func TestSpell(t *testing.T) {
	f, right, seeds := fat{4, 4, false}, 0, uint64(150)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 71))
		x := planted(r, f)
		for x.share == 0 || x.share > 0.8 {
			x = planted(r, f)
		}
		long, exchanges := 2.5+2*r.Float64(), []int{8, 60, 400}[r.IntN(3)]
		from := 0.6 + (9-long)*r.Float64()
		got := Find(during(r, f, exchanges, 0.02+0.04*r.Float64(), x, [2]float64{from, from + long}))
		within := 0.5 + 10/float64(exchanges) // a part, and an exchange: who waits for it says nothing meanwhile
		switch {
		case len(got) == 0:
		case len(got) > 1 || !got[0].names(x):
			t.Errorf("seed %d: %s at %.2f from %.2f to %.2f was taken for %+v", seed, x.name, x.share, from, from+long, got)
		case got[0].Times == 0:
			t.Logf("seed %d: no time: %+v", seed, got)
		default:
			c := got[0]
			right++
			expect.True(t, c.Times == 1 && math.Abs(c.From-from) <= within && math.Abs(c.To-from-long) <= within && math.Abs(c.Share-x.share) < 0.1,
				"seed %d: %s at %.2f from %.2f to %.2f: %+v", seed, x.name, x.share, from, from+long, c)
		}
	}
	expect.True(t, right >= int(seeds)*9/10, "%d of %d have their time", right, seeds)
}

// Neither noise nor what is slow all the time has a time, and noise has no name.
func TestNoSpell(t *testing.T) {
	need.Heavy(t)
	f := fat{4, 4, false}
	for seed := range uint64(expect.Samples(300, 100)) {
		r := rand.New(rand.NewPCG(seed, 72))
		exchanges, noise := []int{4, 8, 60, 400}[r.IntN(4)], 0.1*r.Float64()
		if got := Find(during(r, f, exchanges, noise, fault{})); len(got) > 0 {
			t.Errorf("seed %d: %+v", seed, got)
		}
		x := fault{name: "server5", hits: over("server5"), share: []float64{0.5, 0.75}[seed%2]}
		if got := Find(during(r, f, exchanges, noise/2, x, [2]float64{0, 10})); len(got) > 1 || len(got) == 1 && (got[0].Times > 0 || !got[0].names(x)) {
			t.Errorf("seed %d: all the time: %+v", seed, got)
		}
	}
}

// On and off is one answer, too.
func TestOnAndOff(t *testing.T) {
	x := fault{name: "server5", hits: over("server5"), share: 0.5}
	got := Find(during(rand.New(rand.NewPCG(1, 73)), fat{4, 4, false}, 200, 0.03, x, [2]float64{1, 2.2}, [2]float64{4, 5}, [2]float64{7, 8.1}))
	expect.MustTrue(t, len(got) == 1 && got[0].Times == 3, "%+v", got)
	expect.Equal(t, got[0].Text(10), "server5 or its cable to leaf1 carries half its usual rate at times, first at 1.0 s", "says")
}

// Slices that follow one another make one answer, with the time of all; what one does not know, all do not.
func TestSpellOfSlices(t *testing.T) {
	x := fault{name: "server5", hits: over("server5"), share: 0.5}
	for _, bare := range []bool{false, true} {
		var all Evidence
		var each [][]Cause
		for k, times := range [][2]float64{{}, {}, {6, 10}, {0, 10}, {}, {}} {
			e := during(rand.New(rand.NewPCG(uint64(k), 74)), fat{4, 4, false}, 60, 0.03, x, times)
			if bare && k == 1 {
				e.Parts = nil
			}
			all.Add(e)
			each = append(each, Find(e))
		}
		got := Over(all, each)
		expect.MustTrue(t, len(got) == 1 && got[0].names(x), "%+v", got)
		c := got[0]
		if bare {
			expect.True(t, c.Times == 0 && c.Found == 2, "%+v", c)
			continue
		}
		expect.True(t, len(all.Parts) == mostParts && all.Parts[mostParts-1] == 60, "%v", all.Parts)
		expect.True(t, c.Times == 1 && math.Abs(c.From-26) <= 3 && math.Abs(c.To-40) <= 3 && c.Found == 2 && c.Slices == 6, "%+v", c)
		expect.True(t, strings.Contains(c.Text(60), fmt.Sprintf("half its usual rate from %.1f s to %.1f s", c.From, c.To)), "%s", c.Text(60))
	}
}

func TestWhen(t *testing.T) {
	for _, tt := range []struct {
		c    Cause
		want string
	}{
		{Cause{}, ""},
		{Cause{Times: 1, To: 2}, " until 2.0 s"},
		{Cause{Times: 1, From: 3.25, To: 10}, " from 3.2 s on"},
		{Cause{Times: 1, From: 3.25, To: 9}, " from 3.2 s to 9.0 s"},
		{Cause{Times: 2, From: 3, To: 4}, " at times, first at 3.0 s"},
	} {
		expect.Equal(t, tt.c.when(10), tt.want, "%+v", tt.c)
	}
	c := Cause{Share: 0.5, Times: 1, During: 2}
	expect.Equal(t, c.Weight(10), 0.1, "of half the rate for a fifth of the time")
}
