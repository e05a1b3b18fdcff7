package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"evbench/internal/programs"
	"evbench/results"
	"evbench/site/mpi"
	"evbench/testing/expect"
)

// TestMain lets the test binary be a rank, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == rankCommand || os.Args[1] == onCommand) {
		mpi.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func testTools(t *testing.T) *tools {
	t.Helper()
	self := expect.Value(os.Executable())(t)
	return &tools{dir: t.TempDir(), self: self}
}

func TestTCPRanksDeliverEveryByte(t *testing.T) {
	tools := testTools(t)
	for _, w := range []Work{
		{Mode: Unsync, Size: 100_000, Exchanges: 4, Warmup: 2},
		{Mode: Unsync, Size: 70, Exchanges: 4, Warmup: 2, Batch: 2, Shared: true},
		{Mode: Phases, Size: 100_000, Exchanges: 4, Warmup: 1},
	} {
		w.Check = true
		reports, err := tools.runTCP(t.Context(), 3, false, w)
		if err != nil {
			t.Errorf("%+v: %v", w, err)
			continue
		}
		for r, p := range reports {
			expect.True(t, p.Seconds > 0, "%+v: rank %d took %v s", w, r, p.Seconds)
		}
	}
}

func TestTCPBarrierSlot(t *testing.T) {
	r := row{Ranks: 3, Ours: side{kind: bare, net: netTCP, mode: barriers}}
	got, err := testTools(t).slot(t.Context(), r, r.Ours, 20)
	expect.True(t, err == nil && got.value > 0 && got.seconds > 0, "slot: %+v, %v", got, err)
}

func TestARankThatFailsIsNamed(t *testing.T) {
	_, err := testTools(t).runTCP(t.Context(), 3, false, Work{Mode: "fast", Exchanges: 1})
	expect.Error(t, err, `mode "fast"`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	expect.True(t, expect.Err(testTools(t).runTCP(ctx, 2, false, Work{Mode: Unsync, Exchanges: 1})) != nil, "a run that was interrupted gave no error")
}

func TestBarrierTimes(t *testing.T) {
	us := func(v ...int) (out []time.Duration) {
		for _, x := range v {
			out = append(out, time.Duration(x)*time.Microsecond)
		}
		return out
	}
	// Last exits: 12, 25, 31, 60. Their steps: 13, 6, 29.
	reports := []report{{Exits: us(10, 25, 30, 60)}, {Exits: us(12, 20, 31, 40)}}
	got, err := barrierTimes(reports)
	expect.True(t, err == nil && results.NewStat(got).Median == 13 && len(got) == 3, "barrierTimes() = %v, %v; want 13, 6, 29", got, err)
	reports[1].Exits = us(1)
	expect.True(t, expect.Err(barrierTimes(reports)) != nil, "ranks with different numbers of exits gave no error")
	expect.True(t, expect.Err(barrierTimes([]report{{}})) != nil, "no exits gave no error")
}

func TestTheSlowestRankCounts(t *testing.T) {
	r := row{Ranks: 3, Size: 1_000_000}
	got, err := judge(r, side{kind: bare, mode: Unsync}, 10, []report{{Seconds: 1}, {Seconds: 3}, {Seconds: 2}})
	if want := (reading{3, 20}); err != nil || got != want { // 6 pairs · 10 MB / 3 s
		t.Errorf("judge() = %+v, %v, want %+v", got, err, want)
	}
	expect.True(t, expect.Err(judge(r, side{}, 10, []report{{Seconds: 1}})) != nil, "two ranks without a report gave no error")
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		amount     int
		want, took float64
		step, to   int
	}{
		{100, 1, 0.5, 1, 200},
		{100, 1, 2, 1, 50},
		{100, 1, 0.7, 8, 144},
		{100, 1, 0.001, 1, 2000}, // no faster than that
		{100, 1, 0, 1, 2000},
		{1, 1, 0.99, 1, 2}, // rises, so that trying ends
		{1, 1, 50, 8, 8},
	} {
		expect.Equal(t, scale(c.amount, c.want, c.took, c.step), c.to, "scale(%d, %v, %v, %d)", c.amount, c.want, c.took, c.step)
	}
}

func TestWarmUpFindsTheAmount(t *testing.T) {
	var tried []int
	amount, err := warmUp(isend, row{Ranks: 4, Size: 1 << 20}, 1, func(k int) (reading, error) {
		tried = append(tried, k)
		return reading{seconds: float64(k) / 1000}, nil
	})
	if err != nil || amount < 990 || amount > 1010 || len(tried) != 3 { // 6, 120, 1000
		t.Errorf("warmUp() = %d, %v after trying %v", amount, err, tried)
	}
}

func TestReadC(t *testing.T) {
	r, s := row{Ranks: 4, Size: 500_000}, side{kind: cProgram, mode: "isend"}
	const line = "mode=isend n=4 size=500000 rounds=10 seconds=2.000000000\n"
	got, err := readC(line, r, s, 10)
	expect.True(t, err == nil && got == (reading{2, 30}), "readC() = %+v, %v", got, err)
	s.mode = barriers
	expect.Equal(t, expect.Value(readC("mode=barrier n=4 rounds=9 seconds=0.5 median_us=61.5", r, s, 9))(t), (reading{0.5, 61.5}), "readC()")
	for _, bad := range []string{"", line, "mode=barrier n=4 rounds=9 seconds=0 median_us=1", "mode=barrier n=4 rounds=9 seconds=1"} {
		expect.True(t, expect.Err(readC(bad, r, s, 9)) != nil, "readC(%q) gave no error", bad)
	}
}

func TestReadSummary(t *testing.T) {
	const good = `{"complete":true,"cases":[{"valid":true,"exchanges":10,"measured_s":2,"reasons":[]}]}`
	r := row{Ranks: 4, Size: 500_000}
	got, err := readSummary(good, r)
	expect.True(t, err == nil && got == (reading{2, 30}), "readSummary() = %+v, %v", got, err)
	for _, bad := range []string{
		"", `{"complete":true,"cases":[]}`, strings.Replace(good, `{"complete":true`, `{"complete":false`, 1),
		strings.Replace(good, `"valid":true`, `"valid":false,"reasons":["why"]`, 1), strings.Replace(good, `s":2`, `s":0`, 1),
	} {
		expect.True(t, expect.Err(readSummary(bad, r)) != nil, "readSummary(%s) gave no error", bad)
	}
}

func TestLaunch(t *testing.T) {
	for net, want := range map[string]string{netTCP: "self,tcp", netShared: "self,vader"} {
		cmd := (&tools{}).launch(t.Context(), 5, net, false, "program")
		got, env := strings.Join(cmd.Args, " "), strings.Join(cmd.Env, " ")
		expect.True(t, strings.Contains(got, "--oversubscribe --bind-to none") && strings.Contains(got, "--mca btl_tcp_if_include lo -n 5 program"), "%s: %s", net, got)
		expect.True(t, strings.Contains(env, "OMPI_MCA_pml=ob1 OMPI_MCA_btl="+want), "%s: %s", net, env)
	}
}

// TestRowsByProcessors: each machine has rows with a processor for each rank, and a row says whether it is one.
func TestRowsByProcessors(t *testing.T) {
	for processors, want := range map[int][]int{1: nil, 2: {2}, 3: {2}, 4: {4}, 8: {4, 8}, 16: {4, 8, 16}, 40: {4, 8, 16, 32}} {
		own := map[int]bool{}
		for _, r := range rows(processors) {
			expect.Equal(t, r.Own, r.Ranks <= processors, "%s on %d processors", r, processors)
			expect.True(t, !r.bound() || r.Own && r.Ours.kind != whole, "%s is bound", r)
			if r.Own && r.Ours.net == netTCP {
				own[r.Ranks] = true
			}
		}
		if mpi.Family != mpi.MPICH {
			expect.Equal(t, slices.Sorted(maps.Keys(own)), want, "ranks on %d processors", processors)
		}
	}
}

// TestABoundRankHasOneProcessor of those that this process may use, and all ranks of a row have others.
func TestABoundRankHasOneProcessor(t *testing.T) {
	var all unix.CPUSet
	expect.Must(t, unix.SchedGetaffinity(0, &all))
	for rank := range min(all.Count(), 4) {
		args := testTools(t).on(strconv.Itoa(rank), []string{"/bin/sh", "-c", "grep Cpus_allowed_list /proc/self/status"})
		said := string(expect.Value(exec.CommandContext(t.Context(), args[0], args[1:]...).Output())(t))
		cpu := expect.Value(nth(&all, rank))(t)
		expect.Equal(t, said, fmt.Sprintf("Cpus_allowed_list:\t%d\n", cpu), "rank %d", rank)
	}
	_, err := testTools(t).runTCP(t.Context(), min(all.Count(), 2), true, Work{Mode: barriers, Exchanges: 5})
	expect.OK(t, err, "bound ranks")
}

// TestRowsDiffer: --rows can choose every row by itself, and each has two sides
// that differ.
func TestRowsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows(2) {
		s := r.String()
		expect.True(t, !seen[s], "twice: %s", s)
		seen[s] = true
		expect.True(t, r.Ours != r.Theirs && r.Ours.kind != cProgram && !strings.Contains(s, "  "), "odd row: %s", s)
		expect.True(t, (r.Size == 0) == (r.Ours.mode == barriers) && r.Ranks >= 2, "odd work: %s", s)
	}
}

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"--list --rows barrier.*n=32", programs.ExitDone, "barrier over TCP, n=32, shared processors: ours tournament over TCP / C MPI_Barrier over TCP\n", ""},
		{"--rows nothing", programs.ExitUsage, "", "no row matches"},
		{"--rows (", programs.ExitUsage, "", "--rows"},
		{"--slots 0", programs.ExitUsage, "", "--slots 0"},
		{"--seconds 0", programs.ExitUsage, "", "--seconds 0"},
		{"--seconds NaN", programs.ExitUsage, "", "--seconds NaN"},
		{"more", programs.ExitUsage, "", `"more"`},
		{"--fast", programs.ExitUsage, "", "fast"},
		{"--rows whole --evbench /nowhere/evbench", programs.ExitUsage, "", "make build"},
		{"--help", programs.ExitDone, "", "-rows"},
		{"rank {", programs.ExitFailed, "", "order"},
		{"on 999 program", programs.ExitFailed, "", "rank 999: this process may use"},
		{"on first program", programs.ExitFailed, "", "no launcher"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), strings.NewReader(""), &stdout, &stderr)
		expect.True(t, code == c.code && stdout.String() == c.stdout && strings.Contains(stderr.String(), c.stderr),
			"peer %s: exit %d\n%s\n%s", c.args, code, &stdout, &stderr)
	}
}

func TestTable(t *testing.T) {
	out := []outcome{
		{
			row:  row{Work: "barrier", Ranks: 8, Ours: side{kind: bare, mode: barriers}, Theirs: side{mode: barriers, net: netTCP}, Goal: Goal{Want: 0.4, AtMost: true}},
			Unit: "µs", OurSlots: []float64{30, 31, 29}, Slots: []float64{100, 99, 101},
			Ratio: Ratio{Median: 0.3, Low: 0.28, High: 0.32}, Verdict: "reached",
		},
		{row: row{Work: "MPI", Ranks: 4, Size: 64 << 10, Theirs: isend, Own: true, Goal: Goal{Want: 0.9}}, Unit: "MB/s", Verdict: "left out: why", LeftOut: "why"},
	}
	var b bytes.Buffer
	expect.Must(t, printTable(&b, out))
	const want = `work     n  size    processors  ours  theirs        ratio  95 % interval  reach  verdict        beside
barrier  8  –       shared      30    100     µs    0.300  0.280–0.320    ≤ 0.4  reached        C MPI_Barrier over TCP
MPI      4  64 KiB  own         –     –       MB/s  –      –              ≥ 0.9  left out: why  C isend/waitall over TCP
`
	expect.True(t, b.String() == want, "table:\n%s\nwant\n%s", &b, want)
	text, err := json.Marshal(document{Schema: schema, Rows: out})
	if err != nil || !strings.Contains(string(text), `"theirs":"C MPI_Barrier over TCP","own_processors":false,"reach":0.4,"reach_at_most":true,"unit":"µs","our_slots":[30,31,29],"their_slots":[100,99,101]`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestBusy(t *testing.T) {
	got := busy(results.Load{Cores: 4, WallSec: 2, OthersSec: new(3.0), StealSec: new(1.0)})
	expect.True(t, got == 0.5, "3 s of others and 1 s of steal in 2 s of 4 processors are %v", got)
	expect.Equal(t, busy(results.Load{Cores: 4, WallSec: 2}), 0, "what is not known")
}

// The commands of docs/evidence/results.md are understood, and the options in PEERS, too.
func TestDocumentedCommands(t *testing.T) {
	doc := expect.Value(os.ReadFile("../../docs/evidence/results.md"))(t)
	options := regexp.MustCompile(`(?m)^make .*PEERS=(?:'(.*?)'|(\S+))|^bin/peer (.*?)(?:#|$)`).FindAllStringSubmatch(string(doc), -1)
	for _, o := range options {
		if _, err := parse(strings.Fields(o[1]+o[2]+o[3]), t.Output()); err != nil {
			t.Errorf("%s: %v", o[0], err)
		}
	}
	expect.True(t, len(options) != 0, "no commands")
}

func TestOfPairsSlots(t *testing.T) {
	// The machine slows down fourfold; every pair still says 1.5, but for two.
	theirs := []float64{400, 380, 360, 300, 280, 260, 200, 180, 160, 120, 100}
	ours := make([]float64, len(theirs))
	for i, v := range theirs {
		ours[i] = 1.5 * v
	}
	ours[3], ours[7] = 30, 1800
	want := Ratio{Median: 1.5, Low: 1.5, High: 1.5, Sure: true}
	expect.Equal(t, Of(ours, theirs), want, "Of()")
}

func TestOfOrderStatistics(t *testing.T) {
	ours := []float64{1.10, 1.01, 1.09, 1.02, 1.08, 1.03, 1.07, 1.04, 1.06, 1.05, 1.00}
	theirs := slices.Repeat([]float64{1}, len(ours))
	want := Ratio{Median: 1.05, Low: 1.01, High: 1.08, Sure: true} // second and ninth of eleven
	expect.Equal(t, Of(ours, theirs), want, "Of()")
	want = Ratio{Median: 1.09, Low: 1.01, High: 1.10}
	expect.Equal(t, Of(ours[:3], theirs[:3]), want, "Of() three slots")
}

// TestIntervalsCover draws noise that is far from normal and counts how often
// the interval holds the true median.
func TestIntervalsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const tries = 4000
	held := 0
	for range tries {
		ours, theirs := make([]float64, 11), make([]float64, 11)
		for i := range ours {
			ours[i] = 1.2 * math.Exp(rng.NormFloat64()*rng.NormFloat64())
			theirs[i] = 1
		}
		if r := Of(ours, theirs); r.Low <= 1.2 && 1.2 <= r.High {
			held++
		}
	}
	share := float64(held) / tries
	expect.True(t, share >= results.Confidence, "the interval holds the true median in %.3f of %d tries, want %.2f", share, tries, results.Confidence)
}

func TestJudge(t *testing.T) {
	narrow := func(m float64) Ratio {
		return Ratio{Median: m, Low: 0.95 * m, High: 1.05 * m, Sure: true}
	}
	for _, c := range []struct {
		name string
		goal Goal
		r    Ratio
		want string
	}{
		{"more is asked for", Goal{Want: 1.2}, narrow(1.25), "reached"},
		{"exactly", Goal{Want: 1.2}, narrow(1.2), "reached"},
		{"less than asked for", Goal{Want: 1.2}, narrow(1.19), "not reached"},
		{"at most", Goal{Want: 0.4, AtMost: true}, narrow(0.3), "reached"},
		{"above at most", Goal{Want: 0.4, AtMost: true}, narrow(0.41), "not reached"},
		{"interval touches", Goal{Want: 0.95, Touch: 1}, narrow(0.96), "reached"},
		{"interval stays below", Goal{Want: 0.95, Touch: 1}, narrow(0.951), "not reached"},
		{"wide above", Goal{Want: 1}, Ratio{Median: 1, Low: 0.99, High: 1.16, Sure: true}, "reached, noisy"},
		{"wide below", Goal{Want: 2}, Ratio{Median: 1, Low: 0.84, High: 1.01, Sure: true}, "not reached, noisy"},
		{"few slots", Goal{Want: 1}, Ratio{Median: 1, Low: 1, High: 1}, "reached, too few slots"},
	} {
		expect.Equal(t, c.goal.Judge(c.r), c.want, "%s", c.name)
	}
}
