package failures_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"evbench/study/failures"
	"evbench/testing/expect"
)

const testSpan = 20 * time.Hour

// near reports whether failures are the truth, but for the milliseconds between
// the reports of both ends.
func near(h *failures.History, fs []failures.Failure, want []truth) error {
	if len(fs) != len(want) {
		return fmt.Errorf("%d failures, want %d", len(fs), len(want))
	}
	want = slices.Clone(want)
	for _, f := range fs {
		i := slices.IndexFunc(want, func(w truth) bool {
			return h.Links[f.Link].Name == fmt.Sprintf("leaf%d-spine%d", w.leaf, w.spine) &&
				f.Down.Sub(start.Add(w.down)).Abs() < 10*time.Millisecond && f.Up.Sub(start.Add(w.up)).Abs() < 10*time.Millisecond
		})
		if i < 0 || !f.Known() {
			return fmt.Errorf("%s from %s to %s never happened, or is not known", h.Links[f.Link].Name, f.Down, f.Up)
		}
		want = slices.Delete(want, i, i+1)
	}
	return nil
}

// TestTruth: with a cable map the truth comes back, even when of every change
// one of the two reports is lost.
func TestTruth(t *testing.T) {
	cables := tree(t, 4, 8)
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		want := happen(rng, 4, 8, 40, testSpan)
		lines := frame(testSpan)
		for _, f := range want {
			lost := [2]int{rng.IntN(3), rng.IntN(3)} // of down and up: leaf's, spine's, none
			lines = append(lines, tell(f, 4, func(i int) bool { return lost[i/2] == i%2 })...)
		}
		h := history(t, cables, 2024, text(lines))
		fs, losses := failures.Pair(h)
		expect.Must(t, near(h, fs, want), "seed %d", seed)
		expect.MustTrue(t, losses.LostUps+losses.LostDowns+losses.OpenAtEnd == 0, "seed %d: losses %+v, though one end always told", seed, losses)
	}
}

// TestDownTimeIsConserved: without a map each port counts on its own, and what it
// is down in all is the sum of its ups less the sum of its downs.
func TestDownTimeIsConserved(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		lines, sum := frame(testSpan), time.Duration(0)
		for _, f := range happen(rng, 4, 8, 40, testSpan) {
			lines = append(lines, tell(f, 4, nothing)...)
			sum += 2 * (f.up - f.down)
		}
		fs, _ := failures.Pair(history(t, nil, 2024, text(lines)))
		for _, f := range fs {
			sum -= f.Duration()
		}
		expect.MustTrue(t, sum == 0, "seed %d: down times differ by %s", seed, sum)
	}
}

// TestOrderOfLogs: lines may be spread over several logs that are given in any
// order, and be in two of them.
func TestOrderOfLogs(t *testing.T) {
	cables := tree(t, 4, 8)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		lines := frame(testSpan)
		for _, f := range happen(rng, 4, 8, 30, testSpan) {
			lines = append(lines, tell(f, 4, func(int) bool { return rng.IntN(5) == 0 })...)
		}
		whole := history(t, cables, 2024, text(lines))
		parts, twice := make([][]line, 4), 0
		for _, l := range lines {
			n := rng.IntN(4)
			parts[n] = append(parts[n], l)
			if strings.Contains(l.text, "Switch") && rng.IntN(4) == 0 {
				parts[(n+1)%4] = append(parts[(n+1)%4], l)
				twice++
			}
		}
		var logs []string
		for _, n := range rng.Perm(4) {
			logs = append(logs, text(parts[n]))
		}
		got := history(t, cables, 2024, logs...)
		expect.MustTrue(t, got.Losses.Duplicate == twice, "seed %d: %d duplicates, want %d", seed, got.Losses.Duplicate, twice)
		got.Losses.Duplicate = 0
		expect.MustTrue(t, reflect.DeepEqual(got, whole), "seed %d: several logs say something else than one", seed)
	}
}

// TestMergeTwice: merging twice is merging once, no flap is lost, nothing is
// shorter than before, and failures of a link are at least the gap apart.
func TestMergeTwice(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 4))
		lines := frame(testSpan)
		for _, f := range happen(rng, 2, 3, 60, testSpan) {
			lines = append(lines, tell(f, 2, func(int) bool { return rng.IntN(4) == 0 })...)
		}
		raw, _ := failures.Pair(history(t, tree(t, 2, 3), 2024, text(lines)))
		gap := time.Duration(rng.IntN(3600)) * time.Second
		once := failures.Merge(raw, gap)
		expect.MustTrue(t, reflect.DeepEqual(failures.Merge(once, gap), once), "seed %d: merging twice is not merging once", seed)
		flaps, last := 0, map[int]failures.Failure{}
		for _, f := range once {
			flaps += f.Flaps
			if p, ok := last[f.Link]; ok && f.Down.Sub(p.Up) < gap {
				t.Fatalf("seed %d: failures of link %d are only %s apart", seed, f.Link, f.Down.Sub(p.Up))
			}
			last[f.Link] = f
		}
		expect.MustTrue(t, flaps == len(raw) && slices.Equal(once, slowMerge(raw, gap)), "seed %d: %d flaps of %d failures", seed, flaps, len(raw))
		rng.Shuffle(len(raw), func(i, j int) { raw[i], raw[j] = raw[j], raw[i] })
		expect.MustTrue(t, slices.Equal(failures.Merge(raw, gap), once), "seed %d: the order of failures matters", seed)
	}
}

// slowMerge joins any two neighbours until there are none left to join.
func slowMerge(fs []failures.Failure, gap time.Duration) []failures.Failure {
	out := slices.Clone(fs)
	for again := true; again; {
		again = false
		for i := 0; i < len(out) && !again; i++ {
			for j := i + 1; j < len(out); j++ {
				if out[i].Link != out[j].Link {
					continue
				}
				if out[j].Down.Sub(out[i].Up) < gap {
					out[i].Up, out[i].EndUnknown, out[i].Open = out[j].Up, out[j].EndUnknown, out[j].Open
					out[i].Flaps += out[j].Flaps
					out = slices.Delete(out, j, j+1)
					again = true
				}
				break
			}
		}
	}
	return out
}

// TestUpstream: the log of OpenSM 3.3.23 while links of a simulated FT(2;4,8)
// were unlinked and linked again: one link for 10 s, another three times for
// about a second, a server, and a whole spine for 5 s.
func TestUpstream(t *testing.T) {
	b := expect.Value(os.ReadFile("testdata/upstream.log"))(t)
	h := history(t, tree(t, 4, 8), 2024, string(b))
	fs, losses := failures.Pair(h)
	var got []string
	for _, f := range fs {
		how := f.Duration().Round(100 * time.Millisecond).String()
		if !f.Known() {
			how = "open"
		}
		got = append(got, h.Links[f.Link].Name+" "+how)
	}
	want := []string{"leaf0-spine0 10.2s", "leaf5-spine1 1.2s", "leaf5-spine1 1.2s", "leaf5-spine1 1.2s", "leaf2-h9 open"}
	for leaf := range 8 {
		want = append(want, fmt.Sprintf("leaf%d-spine2 5.1s", leaf))
	}
	expect.Equal(t, got, want, "got")
	expect.True(t, losses.Inferred == 12 && losses.Unresolved == 0 && losses.OpenAtEnd == 1, "losses %+v", losses)
	h = history(t, nil, 2024, string(b))
	if _, losses = failures.Pair(h); losses.Inferred != 4 || losses.Unresolved == 0 {
		t.Errorf("without a map: losses %+v; only the first four ups can be known", losses)
	}
}

// TestTroubles counts all that is wrong with a log in NVIDIA's dialect.
func TestTroubles(t *testing.T) {
	b := expect.Value(os.ReadFile("testdata/nvidia.log"))(t)
	fs, got := failures.Pair(history(t, tree(t, 4, 8), 2024, string(b)))
	want := failures.Losses{Cut: 2, ClockSteps: 1, Vague: 1, Rollovers: 1, LostUps: 1, LostDowns: 1, OneEnd: 7,
		DownAtStart: 1, OpenAtEnd: 1, UnknownPorts: 1}
	expect.True(t, got == want && len(fs) == 12, "%d failures, losses\n%+v, want\n%+v", len(fs), got, want)
	if last := fs[len(fs)-1]; last.Down.Year() != 2025 {
		t.Errorf("the last failure is of %d; the year turned inside the log", last.Down.Year())
	}
}

func TestExclude(t *testing.T) {
	at := func(h int) time.Time { return start.Add(time.Duration(h) * time.Hour) }
	fs := []failures.Failure{{Down: at(1), Up: at(5)}, {Down: at(2), Up: at(3)}, {Down: at(3), Up: at(4)}}
	got := failures.Exclude(fs, []failures.Period{{From: at(2), To: at(3)}})
	if want := []failures.Failure{fs[0], fs[2]}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v: a failure counts by its begin, and the end of a period is outside", got, want)
	}
}

func TestParsePeriod(t *testing.T) {
	for in, want := range map[string]string{
		"2024-03-08..2024-03-10":                "2024-03-08 00:00:00 to 2024-03-10 00:00:00",
		"2024-03-08":                            "2024-03-08 00:00:00 to 2024-03-09 00:00:00",
		"2024-03-08T14:00..2024-03-08 15:30:00": "2024-03-08 14:00:00 to 2024-03-08 15:30:00",
		"2024-03-08T14:00:00+02:00..2024-03-09": "2024-03-08 12:00:00 to 2024-03-09 00:00:00",
		"2024-03-08..2024-03-08":                "not after it begins",
		"2024-03-08T14:00:00":                   "write a day or a time",
		"..2024-03-08":                          "write a day or a time",
		"2024-02-30":                            "write a day or a time",
		"2024-03-08..2024-03-09..2024-03-10":    "write a day or a time",
	} {
		p, err := failures.ParsePeriod(in)
		got := p.From.Format(time.DateTime) + " to " + p.To.Format(time.DateTime)
		if err != nil {
			got = err.Error()
		}
		expect.True(t, strings.Contains(got, want), "%q: %s, want %s", in, got, want)
	}
}
