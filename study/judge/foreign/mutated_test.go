package foreign

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
	"evbench/testing/need"
)

// mutations are what happens to outputs on their way to a file: they change no digit.
var mutations = map[string]func(rng *rand.Rand, lines []string) []string{
	"a line is lost": func(rng *rand.Rand, lines []string) []string {
		i := rng.IntN(len(lines))
		return slices.Delete(lines, i, i+1)
	},
	"a line is there twice": func(rng *rand.Rand, lines []string) []string {
		i := rng.IntN(len(lines))
		return slices.Insert(lines, i, lines[i])
	},
	"neighbours change places": func(rng *rand.Rand, lines []string) []string {
		i := rng.IntN(len(lines))
		j := max(0, i-1)
		lines[i], lines[j] = lines[j], lines[i]
		return lines
	},
	"cut": func(rng *rand.Rand, lines []string) []string {
		text := strings.Join(lines, "\n")
		return strings.Split(text[:rng.IntN(len(text)+1)], "\n")
	},
	"the begin is lost": func(rng *rand.Rand, lines []string) []string { return lines[rng.IntN(len(lines)):] },
	"a message between": func(rng *rand.Rand, lines []string) []string {
		return slices.Insert(lines, rng.IntN(len(lines)+1), messages[rng.IntN(len(messages))])
	},
	"a message in a row": func(rng *rand.Rand, lines []string) []string {
		i := rng.IntN(len(lines))
		at := rng.IntN(len(lines[i]) + 1)
		lines[i] = lines[i][:at] + messages[rng.IntN(len(messages))] + "\n" + lines[i][at:]
		return lines
	},
	"labels": func(rng *rand.Rand, lines []string) []string {
		label := []string{"[1,0]<stdout>:", "0: ", "node001 0: ", "2026-01-12T10:00:00.123456Z ", "    "}[rng.IntN(5)]
		for i := range lines {
			lines[i] = label + lines[i]
		}
		return lines
	},
	"ends of lines": func(_ *rand.Rand, lines []string) []string {
		for i := range lines {
			lines[i] += " \r"
		}
		return lines
	},
	"two runs": func(_ *rand.Rand, lines []string) []string { return append(lines, lines...) },
}

var messages = []string{
	"node1:10:11 [0] NCCL INFO Channel 00/1 : 1[0] -> 0[0]", "WARNING: Open MPI accepted a TCP connection", "srun: Job 42 step creation still disabled", "4242 node-seconds used", "",
	"slurmstepd: error: *** JOB 42 ON node001 CANCELLED AT 2026-01-12T10:00:00 ***", "# Size       Avg Latency(us)", "[node2:1] 3 more processes have sent help message",
}

// An output that something happened to is refused, or has the figures of the untouched one for the
// same size, or a note.
func TestMutated(t *testing.T) {
	need.Heavy(t)
	samples := map[string]string{
		"osu": osuPlain, "osu -f": osuFull, "imb": imb, "nccl": "# Collective test starting: alltoall_perf\n" + nccl, "nccl json": ncclJSON, "rccl": rcclLines,
		"iperf": iperfTwo, "iperf stream": iperfStream, "alltoallv": alltoallv,
	}
	for _, pattern := range []string{"testdata/*.json", "../testdata/*.txt"} {
		for _, name := range expect.Value(filepath.Glob(pattern))(t) {
			samples[filepath.Base(name)] = string(expect.Value(os.ReadFile(name))(t))
		}
	}
	names := make([]string, 0, len(samples))
	for name := range samples {
		names = append(names, name)
	}
	slices.Sort(names)
	rng := rand.New(rand.NewPCG(46, 46))
	kinds := make([]string, 0, len(mutations))
	for kind := range mutations {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	read, noted := 0, 0
	for i := range 2000 {
		name, kind := names[i%len(names)], kinds[i/len(names)%len(kinds)]
		text := strings.Join(mutations[kind](rng, strings.Split(samples[name], "\n")), "\n")
		got, err := Read([]byte(text), Options{})
		if err != nil {
			continue
		}
		read++
		whole, err := Read([]byte(samples[name]), Options{Size: size(got)})
		if err != nil {
			t.Errorf("%s, %s (%d): %v, but read was %s\nin\n%s", name, kind, i, err, figures(got), text)
			continue
		}
		if len(got.Notes) > len(whole.Notes) {
			noted++
			continue
		}
		if got.Format == whole.Format && got.Pairs != nil && !got.Pairs.Shifts {
			of := ratesOf(whole)
			for pair, rate := range ratesOf(got) { // each document is a client's, and a list may have any of them
				expect.Equal(t, rate, of[pair], "%s, %s (%d): %s", name, kind, i, pair)
			}
			continue
		}
		expect.True(t, figures(got) == figures(whole), "%s, %s (%d): %s\nnot\n%s\nin\n%s", name, kind, i, figures(got), figures(whole), text)
	}
	t.Logf("%d of 2000 were read, %d with a note", read, noted)
}

// size is the size to read the same row of the untouched output.
func size(r *Result) int64 {
	if r.Pairs != nil || r.Sized {
		return 0
	}
	return r.Bytes
}

func ratesOf(r *Result) map[string]float64 {
	out := map[string]float64{}
	for _, p := range r.Pairs.List {
		out[r.Pairs.Names[p.Src]+" "+r.Pairs.Names[p.Dst]] = p.Rate
	}
	return out
}

func figures(r *Result) string {
	pairs := ""
	if r.Pairs != nil {
		pairs = fmt.Sprintf("%v %v", r.Pairs.Names, r.Pairs.List)
	}
	return fmt.Sprintln(r.Format, r.Ranks, r.Seconds, r.Bytes, r.Sized, r.Busiest, r.HostRate, r.Efficiency, r.Down, r.Limit, r.Hosts, pairs)
}
