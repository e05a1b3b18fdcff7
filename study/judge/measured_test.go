package judge

import (
	"math"
	"os"
	"strings"
	"testing"

	"evbench/internal/expect"
	"evbench/study/judge/foreign"
)

// What the programs printed on 16 servers of the lab at 20 Mbit/s with a dead link, under tables that allow 62.5 %.
// An exchange ends with its slowest rank, whose time counts where it is printed. Where a mean or a burst hides it, the
// figure is an upper limit, nothing is refused, and no tables are said to have been others.
func TestMeasuredBySlowest(t *testing.T) {
	read := func(name string) string {
		text := expect.Value(os.ReadFile("testdata/" + name + ".txt"))(t)
		return string(text)
	}
	mean := strings.NewReplacer("   Min Latency(us)   Max Latency(us)  Iterations", "", "         860787.85        1982171.37           5", "")
	const fragments = 15 * 131072 * 8 / 20e6 // seconds on the link of a host
	for _, x := range []struct {
		name, text string
		efficiency float64
		limit      string
	}{
		{"osu_alltoall -f", read("osu-5.3-f"), fragments / 1.98217137, ""},
		{"that without -f", mean.Replace(read("osu-5.3-f")), fragments / 1.20955487, "mean of the ranks"},
		{"osu_alltoall", read("osu-5.3"), fragments / 1.35826771, "mean of the ranks"},
		{"osu_alltoallv -c -f", read("osu-7.4-alltoallv-f"), fragments / 1.6171102, ""},
		{"IMB-MPI1 Alltoall", read("imb-2021.11"), fragments / 1.42029593, ""},
		{"mpiGraph", read("mpigraph-1.5-64KiB"), 0.558, "bursts from buffers"},
	} {
		in := input(t, "FT(2;4,4)", "minhop", "leaf0-spine0")
		r, err := foreign.Read([]byte(x.text), foreign.Options{})
		expect.Must(t, err, "%s", x.name)
		in.Result, in.Rate = r, 20e6
		v := judged(t, in)
		m := v.Measured
		expect.True(t, math.Abs(m.Efficiency-x.efficiency) <= 5e-4 && (m.Limit == "") == (x.limit == "") && strings.Contains(m.Limit, x.limit),
			"%s: %+v, want %.4f and %q", x.name, m, x.efficiency, x.limit)
		text := v.Answer().Sentence
		for _, row := range v.Lines() {
			text += "\n" + strings.Join(row, " ")
		}
		expect.True(t, !strings.Contains(text, aboveTables) && strings.Contains(strings.ToLower(text), "no more than") == (x.limit != ""),
			"%s:\n%s", x.name, text)
	}
}

// A mean is refused only where no rank could have been so fast, with several ranks on a host, too.
func TestMeanRefused(t *testing.T) {
	in := input(t, "FT(2;2,2)", "")
	in.Rate = 8e9
	for _, x := range []struct {
		slots   int
		seconds float64 // of 3·slots² MB over the link of a host, a millisecond each
		refused bool
	}{{1, 2.95e-3, false}, {1, 2.9e-3, true}, {3, 18.1e-3, false}, {3, 17.5e-3, true}} {
		in.Hosts.Slots = x.slots
		for _, limit := range []string{"a mean", ""} {
			in.Result = &foreign.Result{What: "a call", Seconds: x.seconds, Bytes: 1e6, Ranks: 4 * x.slots, Limit: limit}
			want := x.refused || limit == "" && x.slots > 1
			v, err := Judge(in)
			expect.True(t, (err != nil) == want, "%+v, limit %q: %+v, %v", x, limit, v, err)
		}
	}
}
