package emulate_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// Four chunks, headers included.
const fourChunks = 4 * (chunk + 66)

// A flow to a server that nobody else sends to waits behind another to a server that three send to: they share the
// buffers of a leaf and a spine. Without an end of buffers it does not.
func TestHeadOfLine(t *testing.T) {
	flows := []flow{
		{0, 6, 0}, // to the server that is busy
		{1, 7, 0}, // beside it to another of its leaf
		{3, 6, 1}, {4, 6, 2},
	}
	for _, c := range []struct {
		buffer   int
		low, top float64 // message times of the second flow
	}{{0, 1.4, 2.1}, {fourChunks, 2.7, 3.1}} {
		_, f := lossless(t, c.buffer, "FT(2;3,3)")
		got := play(f, epoch, flows, message)[1].Seconds() / ideal(f)
		expect.True(t, got >= c.low && got <= c.top,
			"buffers of %d bytes: the flow beside takes %.2f message times, want %v to %v", c.buffer, got, c.low, c.top)
	}
}

// Whatever is sent arrives, no two chunks at a server in less than the time that each
// takes on its cable, those of a flow in order.
func TestLosslessDelivers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 15))
	for range 20 {
		_, f := lossless(t, 1+rng.IntN(3*chunk), "FT(2;3,3)")
		type sent struct{ src, dst, path, flight int }
		var under []sent
		now := epoch
		for range 400 {
			s := sent{src: rng.IntN(9), dst: rng.IntN(9), path: rng.IntN(3)}
			if s.src == s.dst {
				continue
			}
			now = now.Add(time.Duration(rng.IntN(int(time.Millisecond))))
			var ok bool
			if _, s.flight, ok = f.Reserve(s.src, s.dst, s.path, chunk, now); !ok {
				t.Fatal("a healthy fabric has no way")
			}
			under = append(under, s)
		}
		end := now.Add(time.Minute)
		arrived := map[int][]time.Time{}
		flows := map[[3]int]time.Time{}
		for _, s := range under {
			at, ok := f.Landed(s.flight, end)
			expect.MustTrue(t, ok, "from %d to %d: not arrived after a minute", s.src, s.dst)
			key := [3]int{s.src, s.dst, s.path}
			expect.True(t, at.After(flows[key]), "from %d to %d: out of order", s.src, s.dst)
			flows[key] = at
			arrived[s.dst] = append(arrived[s.dst], at)
		}
		each := time.Duration((chunk + 66) * 8 * int(time.Second) / rate)
		for dst, times := range arrived {
			for i, a := range times {
				for _, b := range times[:i] {
					d := a.Sub(b).Abs()
					expect.MustTrue(t, d >= each, "server %d: two chunks within %v", dst, d)
				}
			}
		}
	}
}

// Phases without a shared link run at full rate in any order of their messages.
func TestLosslessPhases(t *testing.T) {
	tree, f := lossless(t, fourChunks, "FT(2;4,4)")
	n, took := tree.Servers(), time.Duration(0)
	for p := 1; p < n; p++ {
		var flows []flow
		for src := range n {
			dst := (src + p) % n
			flows = append(flows, flow{src, dst, dst % 4})
		}
		took += slices.Max(play(f, epoch.Add(took), flows, message))
	}
	got := float64(n-1) * ideal(f) / took.Seconds()
	expect.True(t, near(got, 1, 0.01), "linear shift over d-mod-k: efficiency %.3f", got)
}

// A server that has been offered two messages sends a chunk of each in turn.
func TestChunksInTurn(t *testing.T) {
	_, f := lossless(t, fourChunks, "FT(2;2,3)")
	var flights [2][8]int
	for i, dst := range []int{2, 4} {
		for k := range flights[i] {
			_, flights[i][k], _ = f.Reserve(0, dst, 0, chunk, epoch)
		}
	}
	var last time.Time
	for k := range flights[0] {
		for i := range flights {
			at, ok := f.Landed(flights[i][k], epoch.Add(time.Second))
			if !ok || k > 0 && !at.After(last) {
				t.Fatalf("chunk %d of message %d: %v, %v after the one before", k, i, ok, at.Sub(last))
			}
			last = at
		}
	}
}

// All send to all without phases, each to the others in an order of its own, two at a time, over d-mod-k.
func TestBlockingWithoutPhases(t *testing.T) {
	need.Heavy(t)
	efficiency := func(buffer int) float64 {
		tree, f := lossless(t, buffer, "FT(2;4,4)")
		n := tree.Servers()
		rng := rand.New(rand.NewPCG(1, 15))
		var flows []flow
		for src := range n {
			for _, dst := range rng.Perm(n) {
				if dst != src {
					flows = append(flows, flow{src, dst, dst % 4})
				}
			}
		}
		last := time.Duration(0)
		for _, d := range play(f, epoch, flows, message) {
			last = max(last, d)
		}
		return float64(n-1) * ideal(f) / last.Seconds()
	}
	for _, c := range []struct {
		buffer    int
		low, high float64
	}{{0, 0.97, 1}, {1, 0.55, 0.61}, {fourChunks / 2, 0.66, 0.72}, {fourChunks, 0.7, 0.76}} {
		got := efficiency(c.buffer)
		expect.True(t, got >= c.low && got <= c.high, "buffers of %d bytes: efficiency %.3f, want %v to %v", c.buffer, got, c.low, c.high)
	}
}
