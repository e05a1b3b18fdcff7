package foreign

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// Whatever a launcher writes before the lines of a program, the figures are those of the output without it, and a note
// says so.
func TestLabels(t *testing.T) {
	for name, text := range map[string]string{"osu": osuPlain, "osu -f": osuFull, "imb": imb, "nccl": "# Collective test starting: alltoall_perf\n" + nccl, "own": own + "\n"} {
		o := Options{}
		if name == "own" {
			o.Case = "cut"
		}
		want := expect.Value(Read([]byte(text), o))(t)
		labels := []string{
			"[1,0]<stdout>:", "[1,0]<stdout>: ", "[prterun-node1-4242@1,0]<stdout>: ", "        [1,0]<stdout>: ", "Mon Jan 12 10:00:00 2026[1,0]<stdout>:", "Mon Jan 12 10:00:00 2026<stdout>:", "[Mon Jan 12 10:00:00 2026][1,0]<stdout>: ", "[Mon Jan 12 10:00:00 2026]<stdout>: ", "[1,0][node1:173]<stdout>: ", "[0]<stdout>: ",
			"2026-01-12T10:00:00.123456Z ", "[10:00:00] ", "0: ", "  0: ", "00: ", "[0] ", "node001 0: ", "n1.cluster.example 12: ", "[pod/osu-launcher-x7k2p/osu] ",
		}
		if name != "own" { // no line of which says where an unknown label ends
			labels = append(labels,
				"[pod/osu-launcher-x7k2p/osu] 2026-10-01T10:00:00.123456789Z ", "node003: ", "[node001:0] ", "0@10.0.0.1: ", "Oct 05 10:00:00 node001 osu[123]: ", "[n\xf6:1] ", "(?P<x: ", "osu-1  | ", "1: 0: ", "12.345s: flux-shell[0]: ", "node001\t", "launcher-x7 osu ", "x1000c0s0b0n0: 3: ", "00:00:05 ", "\u00a0[0]\u00a0", "[0@node001] ", "[10:00:00.123] [1,0]<stdout>: ")
		}
		for _, label := range labels {
			lines := strings.SplitAfter(strings.TrimPrefix(text, "\n"), "\n")
			labelled := label + strings.Join(lines[:len(lines)-1], label)
			got, err := Read([]byte(labelled), o)
			expect.MustTrue(t, err == nil && len(got.Notes) == len(want.Notes)+1, "%s with %q: %v", name, label, err)
			got.Notes = want.Notes
			expect.True(t, reflect.DeepEqual(got, want), "%s with %q: %+v, want %+v", name, label, got, want)
		}
	}
}

// mpirun --xml has labels behind the lines, too.
func TestXML(t *testing.T) {
	text := "<mpirun>\n"
	for l := range strings.Lines(osuFull) {
		text += `<stdout rank="0">` + strings.TrimSuffix(l, "\n") + "&#010;\x00</stdout>\n"
	}
	r := expect.Value(Read([]byte(text+"</mpirun>\n"), Options{}))(t)
	expect.True(t, r.Bytes == 8192 && r.Seconds == 41e-6 && len(r.Notes) == 1, "%+v", r)
}

func TestEndsOfTables(t *testing.T) {
	for _, text := range []string{osuPlain, osuFull, imb, "# Collective test starting: alltoall_perf\n" + nccl} { // sizes that somebody has written with commas
		commas := regexp.MustCompile(`(?m)^( *\d+)(\d{3}) `).ReplaceAllString(text, "$1,$2 ")
		expect.True(t, commas != text, "no size of four digits in %s", text)
		expect.Error(t, expect.Err(Read([]byte(commas), Options{})), "is within a row")
	}
	r := expect.Value(Read([]byte(osuPlain+"\n==== accounting ====\n4242 node-seconds used\n"), Options{}))(t)
	expect.Equal(t, r.Bytes, 1<<20, "bytes before what a scheduler writes")
	failed := strings.Replace(imb, "  131072  320  190.0  210.0  200.0\n", "       131072 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over\n", 1)
	r = expect.Value(Read([]byte(failed), Options{}))(t)
	expect.Equal(t, fmt.Sprint(r.Bytes, r.Notes), "65536 [131072 bytes: time-out]", "after a time-out")
	r = expect.Value(Read([]byte(osuPlain+"=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"), Options{Partial: true}))(t)
	expect.True(t, r.Bytes == 1<<20 && len(r.Notes) == 1, "%+v", r)
}

// A line of NCCL's log spoils the row that it is in, and the ranks have the hosts that the output names.
func TestLogInRow(t *testing.T) {
	text := "# Collective test starting: alltoall_perf\n" + strings.Replace(nccl, "none      -1    10.00", "none      -1node1:10:11 [0] NCCL INFO Channel 00/1 : 1[0] -> 0[0]\n   10.00", 1)
	r := expect.Value(Read([]byte(text), Options{}))(t)
	expect.True(t, r.Bytes == 1024 && r.Seconds == 12e-6 && len(r.Notes) == 1 && strings.Contains(r.Notes[0], "within the row of 1024 bytes"), "%+v", r)
	expect.Equal(t, r.Hosts, []string{"node1", "node2"}, "hosts")
}

// hydra's -prepend-pattern labels what a program writes at once: a head without one, rows with two.
func TestLabelsInside(t *testing.T) {
	head := "# OSU MPI All-to-All Personalized Exchange Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n"
	rows := "65536                  52341.22\n131072              104233.15\n"
	want, had := unlabelled([]byte(head + rows))
	expect.True(t, !had, "labels are found in %q", want)
	for _, text := range []string{
		"[0] " + head + "[0] 65536                 [0]  52341.22\n[0] 131072             [0]  104233.15\n",
		head + "65536                  52341.22\n[0] 131072           [0]   104233.15\n",
		"[0] \n" + head + "[0] 65536                  52341.22\n131072              104233.15\n",
	} {
		got, had := unlabelled([]byte(text))
		expect.True(t, had && strings.Join(strings.Fields(string(got)), " ") == strings.Join(strings.Fields(head+rows), " "), "%q: %v, %q", text, had, got)
	}
}
