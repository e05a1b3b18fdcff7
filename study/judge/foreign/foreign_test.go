package foreign

import (
	"math"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// Samples are written after the published documentation of each program.
const (
	osuPlain = "\n# OSU MPI All-to-All Personalized Exchange Latency Test v5.9\n# Size       Avg Latency(us)\n1   2.50\n1048576   1000.00\n"
	osuFull  = "node1: a warning\n# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Datatype: MPI_CHAR.\n" +
		"# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n4096   20.00   18.00   22.00   1000\n8192   35.00   30.00   41.00   1000\n"
	osuChecked = "# OSU MPI All-to-Allv Personalized Exchange Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n64  5.00  Pass\n"
	imbHead    = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
	imb        = "# Benchmarking PingPong \n# #processes = 2 \n       #bytes #repetitions      t[usec]   Mbytes/sec\n  1  1000  0.5  1.0\n" +
		"#------\n# Benchmarking Alltoall \n# #processes = 2 \n# ( 14 additional processes waiting in MPI_Barrier)\n#------\n" + imbHead +
		"  0  1000  0.03  0.03  0.03\n  65536  640  10.0  12.0  11.0\n\n" +
		"# Benchmarking Alltoall \n# #processes = 16 \n" + imbHead + "  0  1000  0.1  0.1  0.1\n  65536  640  90.0  110.0  100.0\n  131072  320  190.0  210.0  200.0\n\n# All processes entering MPI_Finalize\n"
	nccl = "# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048\n# Using devices\n" +
		"#  Rank  0 Group  0 Pid  10 on  node1 device  0 [0x07] GPU\n#  Rank  1 Group  0 Pid  11 on  node2 device  0 [0x07] GPU\n#\n" +
		"#                                                              out-of-place                       in-place\n" +
		"#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n" +
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n" +
		"        1024           128     float    none      -1    10.00    0.10    0.05      0    11.00    0.09    0.05    N/A\n" +
		"        2048           256     float    none      -1    12.00    0.17    0.09      0    13.00    0.16    0.08    N/A\n# Out of bounds values : 0 OK\n"
	own = `{"schema":"evbench/summary/1","name":"lab","complete":true,"cases":[` +
		`{"name":"control","control":true,"complete":true,"valid":true,"measured_efficiency":0.99},` +
		`{"name":"cut","mode":"synchronised","failures":["leaf0-spine0"],"complete":true,"valid":true,"measured_efficiency":0.9,"goodput_bit_per_s":{"mean":9e7}},` +
		`{"name":"slow","complete":true,"valid":false,"reasons":["noise"]}]}`
)

func TestRead(t *testing.T) {
	for _, x := range []struct {
		name, text string
		o          Options
		want       Result
	}{
		{"osu", osuPlain, Options{}, Result{Format: OSU, Seconds: 1e-3, Bytes: 1 << 20, Limit: "osu_alltoall -f"}},
		{"osu in colours", strings.ReplaceAll(osuPlain, "\n", "\x1b[0m\n\x1b[32m"), Options{}, Result{Format: OSU, Seconds: 1e-3, Bytes: 1 << 20, Limit: "osu_alltoall -f"}},
		{"osu, of devices, with percentiles", strings.ReplaceAll(strings.Replace(osuFull, "Iterations\n", "Iterations  P50 Tail Lat(us)  P99 Tail Lat(us)\n", 1), "   1000\n", "   1000   20.50   21.90\n"), Options{}, Result{Format: OSU, Seconds: 41e-6, Bytes: 8192}},
		{"osu, and what LSF writes", "Sender: LSF System <lsfadmin@node001>\nThe output (if any) follows:\n" + osuPlain + "\n------\nSuccessfully completed.\n\n    CPU time :   120.50 sec.\n", Options{}, Result{Format: OSU, Seconds: 1e-3, Bytes: 1 << 20, Limit: "mean of the ranks"}},
		{"osu, a size", osuPlain, Options{Size: 1}, Result{Format: OSU, Seconds: 2.5e-6, Bytes: 1, Limit: "mean of the ranks"}},
		{"osu -f", osuFull, Options{Format: Auto}, Result{Format: OSU, Seconds: 41e-6, Bytes: 8192}},
		{"osu with validation", osuChecked, Options{Format: OSU}, Result{Format: OSU, Seconds: 5e-6, Bytes: 64, Limit: "mean of the ranks"}},
		{"imb", imb, Options{}, Result{Format: "imb", Ranks: 16, Seconds: 210e-6, Bytes: 131072}},
		{"imb, a size", imb, Options{Size: 65536}, Result{Format: "imb", Ranks: 16, Seconds: 110e-6, Bytes: 65536}},
		{"imb, both", imb + "# Benchmarking Alltoallv \n# #processes = 16 \n" + imbHead + "  131072  320  1.0  1.0  1.0\n", Options{}, Result{Format: "imb", Ranks: 16, Seconds: 210e-6, Bytes: 131072}},
		{"imb alltoallv", "# Benchmarking Alltoallv \n# #processes = 4 \n" + imbHead + "  64  320  1.0  3.0  2.0\n# All processes entering MPI_Finalize\n", Options{}, Result{Format: "imb", Ranks: 4, Seconds: 3e-6, Bytes: 64}},
		{"nccl", nccl, Options{Format: NCCL}, Result{Format: NCCL, Ranks: 2, Seconds: 12e-6, Bytes: 1024, Limit: "-a 3"}},
		{"osu of Windows", strings.ReplaceAll(osuPlain, "\n", "\r\n"), Options{}, Result{Format: OSU, Seconds: 1e-3, Bytes: 1 << 20, Limit: "mean of the ranks"}},
		{"nccl with time stamps", strings.ReplaceAll(nccl, "N/A\n", "N/A  2026-07-01 10:00:00\n"), Options{Format: NCCL}, Result{Format: NCCL, Ranks: 2, Seconds: 12e-6, Bytes: 1024, Limit: "mean of the ranks"}},
		{"nccl 2.18", "# Collective test starting: alltoall_perf_mpi\n" + nccl, Options{Size: 512}, Result{Format: NCCL, Ranks: 2, Seconds: 10e-6, Bytes: 512, Limit: "mean of the ranks"}},
		{"own", own, Options{Case: "cut"}, Result{Format: Own, Efficiency: 0.9, DownKnown: true}},
	} {
		r, err := Read([]byte(x.text), x.o)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		r.What, r.Down = "", nil
		if r.Format != x.want.Format || r.Ranks != x.want.Ranks || r.Bytes != x.want.Bytes || r.Efficiency != x.want.Efficiency ||
			r.DownKnown != x.want.DownKnown || (r.Limit == "") != (x.want.Limit == "") || !strings.Contains(r.Limit, x.want.Limit) || math.Abs(r.Seconds-x.want.Seconds) > 1e-12 {
			t.Errorf("%s: %+v, want %+v", x.name, *r, x.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, x := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"nothing", " \r\n", Options{}, "it is empty"},
		{"of no program", "x\n", Options{}, "none of the outputs that are read"},
		{"other text", "hello 1 2\n", Options{Format: OSU}, "no line"},
		{"no rows", "# OSU MPI All-to-All Personalized Exchange Latency Test v4.2\n# Size       Avg Latency(us)\n", Options{}, "the run ended before"},
		{"a size that is not there", osuPlain, Options{Size: 7}, "no result for 7 bytes; there are 1, 1048576"},
		{"two runs", osuPlain + osuPlain, Options{}, "a second run"},
		{"another benchmark", "# OSU MPI Bandwidth Test v5.9\n# Size      Bandwidth (MB/s)\n1 2\n", Options{Format: OSU}, "this is \"OSU MPI Bandwidth Test v5.9\": run osu_alltoall -f, or give its number"},
		{"a cut row", osuPlain + "2097152\n", Options{}, "line 6"},
		{"wrong data", "# OSU MPI All-to-All Personalized Exchange Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n64  5.00  Fail\n", Options{}, "wrong data"},
		{"non-blocking", "# OSU MPI Non-blocking All-to-All Personalized Exchange Latency Test v7.5\n# Size  Overall(us)\n64  5.00\n", Options{}, "osu_ialltoall"},
		{"imb, another", "# Benchmarking Alltoall_pure \n# #processes = 2 \n", Options{}, "IMB's Alltoall_pure, which is not read"},
		{"imb without processes", "# Benchmarking Alltoall \n" + imbHead, Options{}, "without #processes"},
		{"osu -f, a cut row", osuFull + "16384 60.00 50.00\n", Options{}, "line 7: \"16384 60.00 50.00\" is not a row of 5 columns"},
		{"osu -f, columns of another run", osuFull + "16384 60.00 50.00 55.00 1000\n", Options{}, "line 7: the slowest rank's time \"55.00\" is below the mean"},
		{"imb, a mean above all", "# Benchmarking Alltoall \n# #processes = 2 \n" + imbHead + "64 1000 1.0 1.1 1.2\n", Options{}, "line 4: the slowest rank's time"},
		{"imb, a cut row", "# Benchmarking Alltoall \n# #processes = 2 \n" + imbHead + "64 1000 1.0\n", Options{}, "not a row of five"},
		{"nccl of no name", nccl, Options{}, "give the format nccl"},
		{"nccl, broadcast", "# Collective test starting: broadcast_perf\n" + nccl, Options{Format: NCCL}, "is not an all-to-all"},
		{"nccl without ranks", nccl[strings.Index(nccl, "#\n"):], Options{Format: NCCL}, "how many ranks"},
		{"nccl, all_reduce", strings.ReplaceAll(nccl, "none      -1", " sum      -1"), Options{Format: NCCL}, "not those of an all-to-all"},
		{"nccl, wrong", strings.ReplaceAll(nccl, "0.09      0", "0.09      3"), Options{Format: NCCL}, "3 wrong elements"},
		{"cut in a number", strings.TrimSuffix(osuPlain, "0.00\n"), Options{}, "line 5: the text ends within"},
		{"imb, cut in a number", "# Benchmarking Alltoall \n# #processes = 2 \n" + imbHead + "64 1000 1.0 100 1.0", Options{}, "line 4: the text ends within"},
		{"a large size", osuPlain + "99999999999999999999 1\n", Options{}, `line 6: size "99999999999999999999" is not a number of bytes`},
		{"a long time", osuPlain + "2097152 1e300\n", Options{}, "more than evbench can measure"},
		{"another way to write numbers", osuPlain + "2097152 0x1p9\n", Options{}, "line 6: time"},
		{"zeros", osuPlain + "\x00\x00", Options{}, "line 6"},
		{"killed", osuFull + "===\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n", Options{}, "the program was ended: \"=   BAD TERMINATION"},
		{"cancelled", osuFull + "slurmstepd: error: *** STEP 1.0 ON node1 CANCELLED AT 2026-01-12T10:00:00 DUE TO TIME LIMIT ***\n", Options{}, "--partial takes"},
		{"imb, not ended", strings.Replace(imb, "# All processes entering MPI_Finalize", "", 1), Options{}, "the run ended before that; --partial"},
		{"imb, wrong data", "# Benchmarking Alltoall \n# #processes = 2 \n" + strings.TrimSpace(imbHead) + " defects\n64 1000 1.0 1.2 1.1 1.00\n", Options{}, "line 4: defects 1.00: the data was wrong"},
		{"nccl, two runs", nccl + nccl, Options{Format: NCCL}, "rank 0, after 2 ranks"},
		{"nccl, a list with gaps", strings.ReplaceAll(nccl, "Rank  1 ", "Rank  5 "), Options{Format: NCCL}, "rank 5, after 1 ranks"},
		{"nccl, a cut row", strings.ReplaceAll(nccl, "0.17    0.09      0    13.00    0.16    0.08    N/A", "0.1"), Options{Format: NCCL}, "7 columns of 13"},
		{"nccl, in place alone", strings.ReplaceAll(nccl, "   12.00    0.17    0.09      0", ""), Options{Format: NCCL}, "9 columns of 13"},
		{"nccl, groups", strings.ReplaceAll(nccl, "Rank  1 Group  0", "Rank  1 Group  1"), Options{Format: NCCL}, "groups 0 and 1"},
		{"nccl, failed", strings.ReplaceAll(nccl, ": 0 OK", ": 2 FAILED"), Options{Format: NCCL}, "wrong elements"},
		{"nccl, not ended", strings.Replace(nccl, "# Out of bounds values : 0 OK\n", "", 1), Options{Format: NCCL}, "the run ended before that; --partial"},
		{"nccl, sendrecv", "# Collective test starting: sendrecv_perf\n" + nccl, Options{Format: NCCL}, "is not an all-to-all"},
		{"iperf3, as text", "Connecting to host node002, port 5201\n[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n", Options{}, "run it with -J"},
		{"iperf 2", "[ ID] Interval       Transfer     Bandwidth\n[  3]  0.0-10.0 sec  11.0 GBytes  9.41 Gbits/sec\n", Options{}, "take iperf3"},
		{"perftest", " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n", Options{}, "ib_write_bw"},
		{"imb, non-blocking", "# Benchmarking Ialltoall \n# #processes = 16 \n", Options{}, "take IMB-MPI1 Alltoall"},
		{"own, none", `{"schema":"evbench/summary/1"}`, Options{}, "has no case"},
		{"own, several", own, Options{}, "choose one with --case: cut, slow"},
		{"own, not valid", own, Options{Case: "slow"}, "not valid: noise"},
		{"own, no such", own, Options{Case: "x"}, `no case "x"; there are control, cut, slow`},
		{"own, other schema", `{"schema":"x"}`, Options{}, `schema "x"`},
		{"own, cut", `{"schema"`, Options{}, "no summary.json"},
	} {
		r, err := Read([]byte(x.text), x.o)
		expect.True(t, err != nil && strings.Contains(err.Error(), x.want), "%s: %+v, error %v, want %q", x.name, r, err, x.want)
	}
}

func TestParseNumber(t *testing.T) {
	for s, want := range map[string]Result{
		"61.6%":     {Efficiency: 0.616},
		"9.1Gbit/s": {HostRate: 9.1e9},
		"12.5ms":    {Seconds: 0.0125, Bytes: 1000},
	} {
		r, err := ParseNumber(s, Options{Size: 1000})
		expect.False(t, err != nil || math.Abs(r.Efficiency-want.Efficiency) > 1e-12 || r.HostRate != want.HostRate || r.Seconds != want.Seconds || r.Bytes != want.Bytes,
			"%s: %+v, %v", s, r, err)
	}
	for _, s := range []string{"", "0%", "101%", "NaN%", "-1ms", "0s", "0Gbit/s", "9.1", "file.txt"} {
		if r, err := ParseNumber(s, Options{Size: 1000}); err == nil {
			t.Errorf("%q: %+v", s, r)
		}
	}
	expect.True(t, expect.Err(ParseNumber("12ms", Options{})) != nil && expect.Value(ParseNumber("12ms", Options{Sized: true}))(t).Sized, "a time without a size")
}

// What is read says how long an exchange took, in one way.
func FuzzRead(f *testing.F) {
	for _, s := range []string{osuPlain, osuFull, osuChecked, imb, nccl, alltoallv, own, mpiGraph3, ncclJSON, rcclJSON, rcclLines, iperfTwo, iperfStream, perftestOf("Send BW Test", "10:0:0:1", "10:0:0:2", "MiB/sec", " 65536 5000 1 100.00 2")} {
		f.Add([]byte(s), int64(0))
	}
	f.Add([]byte("# size time busbw\n0 0"), int64(68))
	f.Fuzz(func(t *testing.T, data []byte, size int64) {
		for _, format := range Formats() {
			r, err := Read(data, Options{Format: format, Size: size})
			if err != nil {
				continue
			}
			ways := 0
			if r.Pairs != nil {
				ways++
				expect.Must(t, r.Pairs.check(), "%s", format)
			}
			if r.Seconds > 0 && (r.Bytes > 0 || r.Sized && r.Busiest > 0) {
				ways++
			}
			if r.HostRate > 0 {
				ways++
			}
			if r.Efficiency > 0 {
				ways++
			}
			expect.MustTrue(t, ways == 1 && r.Ranks >= 0, "%s: %+v", format, r)
		}
	})
}

func FuzzParseNumber(f *testing.F) {
	f.Add("61.6%")
	f.Add("9.1Gbit/s")
	f.Add("12ms")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseNumber(s, Options{Size: 1})
		expect.MustFalse(t, err == nil && !(r.Seconds > 0 || r.HostRate > 0 || r.Efficiency > 0), "%q: %+v", s, r)
	})
}

// alltoallv is what alltoallv_perf of nccl-tests 2.19.6 prints by its source, with the summary of ranks within the row.
const alltoallv = `# nccl-tests version 2.19.6 nccl-headers=22902 nccl-library=22902
# Collective test starting: alltoallv_perf
# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 1048576(bytes) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid    100 on      node1 device  0 [0000:07:00] NVIDIA A100
#  Rank  1 Group  0 Pid    101 on      node2 device  0 [0000:07:00] NVIDIA A100
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
     1048576             0     float    none      -1# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: mode=matrix nranks=2 matrix_dim=2 scale=1.000 time_usec=100.00
#   rank=0 send_bytes=1048576 recv_bytes=1000000 alg_bw=10.49 bus_bw=5.24
#   rank=1 send_bytes=1000000 recv_bytes=1048576 alg_bw=10.49 bus_bw=5.24
   100.00   10.49    5.24       0# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: mode=matrix nranks=2 matrix_dim=2 scale=1.000 time_usec=99.00
#   rank=0 send_bytes=1048576 recv_bytes=1000000 alg_bw=10.59 bus_bw=5.30
   99.00   10.59    5.30     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 5.27 
#
# Collective test concluded: alltoallv_perf
`

// alltoallv_perf has sizes that its output does not state: the time, and what the busiest rank has.
func TestReadAlltoallv(t *testing.T) {
	for _, text := range []string{alltoallv, alltoallvSummary().ReplaceAllString(alltoallv, " ")} {
		r := expect.Value(Read([]byte(text), Options{}))(t)
		expect.True(t, r.Format == "nccl-alltoallv" && r.Sized && r.Ranks == 2 && r.Busiest == 1<<20 && r.Bytes == 0 && math.Abs(r.Seconds-100e-6) < 1e-12, "%+v", r)
		expect.Contains(t, r.Limit, "alltoallv_perf -a 3")
	}
	report := strings.Replace(ncclJSON, "alltoall_perf", "alltoallv_perf", 1)
	r := expect.Value(Read([]byte(report), Options{}))(t)
	equal := expect.Value(Read([]byte(ncclJSON), Options{}))(t)
	expect.True(t, r.Sized && r.Busiest == equal.Bytes*int64(equal.Ranks) && r.Seconds == equal.Seconds && r.Limit != "", "%+v, of equal messages %+v", r, equal)
	for want, text := range map[string]string{
		"wrong elements": strings.Replace(alltoallv, "5.24       0#", "5.24       3#", 1),
		"0 lines":        strings.ReplaceAll(alltoallv, "#  Rank", "#  Tank"),
		"columns are":    strings.Replace(alltoallv, "redop", "rodep", 1),
	} {
		expect.Error(t, expect.Err(Read([]byte(text), Options{})), want)
	}
	expect.Error(t, expect.Err(Read([]byte(alltoallv), Options{Format: NCCL})), "alltoallv_perf wrote it")
	expect.Error(t, expect.Err(Read([]byte("# alltoall_perf\n"+nccl), Options{Format: "nccl-alltoallv"})), "alltoall_perf wrote it")
}
