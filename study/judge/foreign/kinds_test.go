package foreign

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"evbench/testing/expect"
)

// osuWhole is a run to the last size, osuPart one that may have ended before it, begun by a command or not.
var (
	osuHead  = "\n# OSU MPI All-to-All Personalized Exchange Latency Test v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
	osuPart  = osuHead + "65536                   80.10             78.20             82.78         100\n"
	osuWhole = osuPart + "131072   165.20   160.11   174.76  100\n262144   330.40   321.10   349.53  100\n524288   662.00   650.20   699.05  100\n1048576  1320.00  1290.00  1400.00  100\n"
)

// What launchers, schedulers and shells write when they end a task, in their own words.
var ended = []string{
	"=>> PBS: job killed: walltime 3605 exceeded limit 3600",
	"x1000c0s0b0n0.site.example: rank 3 died from signal 9",
	"x1000c0s0b0n1: rank 12 exited with code 143",
	"12.345s: job.exception type=timeout severity=0 resource allocation expired",
	"flux-job: task(s) Terminated",
	"ERROR:  One or more process (first noticed rank 3) terminated with signal 9",
	"command terminated with exit code 137",
	"[node001:04711] *** Process received signal ***\n[node001:04711] Signal: Segmentation fault (11)",
	"[node001:4711:0:4711] Caught signal 11 (Segmentation fault: address not mapped to object at address (nil))",
	"/var/spool/job4711.sh: line 12:  4711 Killed                  mpirun -n 16 ./osu_alltoall -f",
	"Terminated", "Segmentation fault (core dumped)", "^C[mpiexec@node001] Sending Ctrl-C to processes as requested",
	"srun: error: node003: task 2: Out Of Memory", "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
	"slurmstepd: error: *** JOB 42 ON node1 CANCELLED AT 2026-01-12T10:00:00 DUE TO NODE FAILURE ***", "slurmstepd: error: Detected 1 oom_kill event in StepId=42.0.",
	"TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.", "cobalt: maximum runtime exceeded, 60 min is the limit",
	"mpirun noticed that process rank 3 with PID 0 on node node003 exited on signal 9 (Killed).", "APPLICATION TERMINATED WITH THE EXIT STRING: Hangup (signal 1)",
	"ORTE has lost communication with a remote daemon.", "client_loop: send disconnect: Broken pipe", "Connection to node001 closed by remote host.",
	"MPI_ABORT was invoked on rank 0 in communicator MPI_COMM_WORLD", "Fatal error in PMPI_Alltoall: Other MPI error", "timeout: sending signal TERM to command 'mpirun'",
	"(5) Job was evicted.", "Command exited with non-zero status 1", "Reason: OOMKilled", "salloc: Job allocation 42 has been revoked.",
}

func TestEnded(t *testing.T) {
	for _, line := range ended {
		expect.Error(t, expect.Err(Read([]byte(osuPart+line+"\n"), Options{})), "the program was ended")
		r := expect.Value(Read([]byte(osuPart+line+"\n"), Options{Partial: true}))(t)
		expect.Equal(t, r.Bytes, 65536, "%s: with --partial", line)
		r = expect.Value(Read([]byte(osuWhole+line+"\n"), Options{}))(t)
		expect.True(t, r.Bytes == 1<<20 && len(r.Notes) == 1 && strings.HasPrefix(r.Notes[0], "a task was ended after the last size"), "%s: behind a whole run: %+v", line, r)
		expect.Error(t, expect.Err(Read([]byte(strings.Replace(imb, "# All processes entering MPI_Finalize\n", line+"\n", 1)), Options{})), "the run ended before that (")
	}
	r := expect.Value(Read([]byte(strings.Join(ended, "\n")+"\n"+osuPart), Options{}))(t)
	expect.Equal(t, len(r.Notes), 0, "notes of an earlier task's end")
	text := "+ srun -n 16 ./osu_alltoall -f -m 65536:4194304\n" + osuWhole
	expect.Error(t, expect.Err(Read([]byte(text), Options{})), "its last size is 1048576, and the command has -m to 4194304: the run was ended")
	text = "+ srun -n 16 ./osu_alltoall -f -m 65536:65536\n" + osuPart + ended[0] + "\n"
	r = expect.Value(Read([]byte(text), Options{}))(t)
	expect.Equal(t, r.Bytes, 65536, "bytes of a run to the size of its command")
}

// What stands around a run and ends nothing.
var around = []string{
	"12.34user 3.21system 0:04.71elapsed 330%CPU (0avgtext+0avgdata 48212maxresident)k\n0inputs+8outputs (3major+51234minor)pagefaults 0swaps\n",
	"8inputs+2097152outputs (3major+51234minor)pagefaults 0swaps\n",
	"\tCommand being timed: \"mpirun osu_alltoall\"\n\tExit status: 0\n\tSignals delivered: 0\n\nreal\t0m4.711s\n",
	"slurmstepd: error: couldn't chdir to `/home/ab12/run': No such file or directory: going to /tmp instead\n",
	"[node001:04711] PMIX ERROR: PMIX_ERR_NOT_FOUND in file client/pmix_client.c at line 1237\n",
	"[node001:04711] PMIX ERROR: PMIX_ERR_LOST_CONNECTION in file ptl.c at line 12\n",
	"JobID           JobName  Partition      State ExitCode\n------- ------- ------- ------- -------\n4711             osu      batch  COMPLETED      0:0\n4711.0   osu_allto+                       COMPLETED      0:0\n",
	"srun: error: Unable to create step for job 4711: Job/step already completing or completed\n",
	"Job 4711 completed successfully, exit code 0\nResources Used: cput=00:01:00,walltime=00:00:04\n",
	"[node001:4711] 15 more processes have sent help message help-mpi-btl-base.txt / btl:no-nics\n",
	"libibverbs: Warning: couldn't load driver\n", "16 tasks on 16 nodes\n", "All processes terminated normally\n",
}

func TestAround(t *testing.T) {
	for _, line := range around {
		for what, text := range map[string]string{"behind": osuWhole + line, "before": line + osuWhole, "behind a part": osuPart + line} {
			want := map[bool]int64{true: 65536, false: 1 << 20}[what == "behind a part"]
			r, err := Read([]byte(text), Options{})
			expect.True(t, err == nil && r.Bytes == want && len(r.Notes) == 0, "%s %q: %+v, %v", what, line, r, err)
		}
	}
	pasted := strings.NewReplacer("  ", "\u00a0 ", "# ", "#\u202f").Replace(osuWhole)
	r := expect.Value(Read([]byte(pasted), Options{}))(t)
	expect.Equal(t, r.Bytes, 1<<20, "bytes of a text with blanks that do not break")
}

// A message within a row costs the row, and where the rest of it could be taken for a row, the whole.
func TestMessageInRow(t *testing.T) {
	for _, x := range []string{
		strings.Replace(osuWhole, "1048576  1320", "1048576node001: a message\n  1320", 1),
		strings.Replace(osuWhole, "1048576  1320", "10node001: a message\n48576  1320", 1),
		strings.Replace(osuWhole, "1048576  1320", "1048576  \nnode001: a message\n1320", 1),
		strings.Replace(osuWhole, "524288   662", "5[node001:1] a message\n24288   662", 1),
	} {
		expect.True(t, expect.Err(Read([]byte(x), Options{})) != nil, "%s was read", x)
	}
}

// Other programs have their names, and a way on that --result takes.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"# OSU MPI Non-blocking All-to-All Latency Test v7.4\n# Overall = Coll. Init + Compute\n# Size  Overall(us)  Compute(us)  Pure Comm.(us)  Overlap(%)\n1048576 2801.30 1401.10 1400.00 0.00\n": "osu_ialltoall",
		"# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 8 ] [ window size: 64 ]\n# Size  MB/s  Messages/s\n1048576 90000.00 1\n":                                                   "osu_mbw_mr",
		"# OSU MPI Persistent All-to-All Personalized Exchange Latency Test v7.4\n# Size Avg Latency(us)\n1048576 1400.00\n":                                                                          "Persistent",
		"[1] requires at least two processes\nThis test requires at least two processes\n":                                                                                                            "each process ran alone",
		"# Benchmarking Alltoall \n# #processes = 1 \n" + imbHead + "64 1 1.0 1.0 1.0\n\n# Benchmarking Alltoall \n# #processes = 1 \n":                                                               "each process ran alone",
		"# Benchmarking Multi-Alltoall \n# ( 2 groups of 8 processes each running simultaneous ) \n" + imbHead + "64 1 1.0 1.0 1.0\n# All processes entering MPI_Finalize\n":                          "IMB's Multi-Alltoall",
		"# Benchmarking Bcast \n# #processes = 2 \n# All processes entering MPI_Finalize\n":                                                                                                           "IMB's Bcast",
		"# Benchmarking Alltoall \n# #processes = 2 \n" + imbHead + "0 1 1.0 1.0 1.0\n 65536 time-out.; Time limit (secs_per_sample) is over\n# All processes entering MPI_Finalize\n":                "65536 bytes: time-out: give IMB more time",
		strings.Repeat("# Collective test starting: alltoall_perf\n#  Rank  0 Group  0 Pid  10 on node1 device  0 [0x07] GPU\n# size count type redop root time algbw busbw\n", 2):                    "each process ran alone",
		`{"test_info": {"test": "RDMA_Write_BW_Test"}, "results": {"MsgSize": 65536, "BW_average": 96.02}}`:                                                                                           "perftest",
		"|              |              |       overhead (usec)        |   bandwidth (MB/s)  |\n|    Stage     | # iterations | 50.0%ile | average |\n":                                                "ucx_perftest",
		"Network Tests v1.3\n  Test with 64 MPI ranks (16 nodes)\n":                                                                                                                                   "GPCNeT",
		"------------------- Linktest Args ------------------------\n":                                                                                                                                "LinkTest",
		"ClusterKit 1.11\nBandwidth node001 node002 48 GB/s\n":                                                                                                                                        "ClusterKit",
		"Collective:             Alltoall\nMemory type:            host\n       Count        Size                Time, us\n":                                                                          "ucc_perftest",
		"#@reproMPIcommitSHA1=0000000\n#@operation=MPI_BOR\n":                                                                                                                                         "ReproMPI",
		"This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\n":                                                                                                                  "HPCC",
		"# Initializing MSCCL++\n# size count time algbw busbw #wrong time algbw busbw #wrong\n":                                                                                                      "mscclpp",
		"n1:  [ ID] Interval           Transfer     Bitrate         Retr\n":                                                                                                                           "run it with -J",
		"2026-Jan-12 10:00:00,000 LOG [builder] bu-03 incoming rate 10.91 GB/s, 91.2 kHz\n":                                                                                                           "--result 10.9GB/s",
		`{"schema":"evbench/summary/1","name":"a","name":"b"}`:                                                                                                                                        `key "name" is there twice`,
	} {
		expect.Error(t, expect.Err(Read([]byte(text), Options{})), want)
	}
}

// One log of a sweep: what is not the exchange is left out, and said.
func TestSweep(t *testing.T) {
	allreduce := "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n1048576 1.00 1.00 1.00 100\n\n"
	for _, text := range []string{allreduce + osuWhole, osuWhole + allreduce} {
		r := expect.Value(Read([]byte(text), Options{}))(t)
		expect.True(t, r.Seconds == 1400e-6 && len(r.Notes) == 1, "%+v", r)
	}
	expect.Error(t, expect.Err(Read([]byte(osuWhole+allreduce+osuWhole), Options{})), "a second run")
	w := strings.Replace(osuWhole, "All-to-All ", "All-to-Allw ", 1)
	expect.Contains(t, expect.Value(Read([]byte(w), Options{}))(t).What, "osu_alltoallw v7.4")
	part := "# Collective test starting: alltoall_perf\n" + nccl + "# Collective test concluded: alltoall_perf\n"
	before := strings.NewReplacer("alltoall", "all_reduce", "none      -1", "sum      -1").Replace(part)
	for _, text := range []string{before + part, part + before, "+ srun ./all_reduce_perf\n" + before + "+ srun ./alltoall_perf\n" + part} {
		r := expect.Value(Read([]byte(text), Options{}))(t)
		expect.True(t, r.Ranks == 2 && r.Seconds == 12e-6 && len(r.Notes) == 1, "%+v", r)
	}
	rows := part[strings.Index(part, "        1024"):strings.Index(part, "# Out of")]
	types := strings.Replace(part, rows, rows+strings.NewReplacer("float", " half", "12.00", "14.00").Replace(rows), 1)
	r := expect.Value(Read([]byte(types), Options{}))(t)
	expect.True(t, r.Seconds == 14e-6 && len(r.Notes) == 1 && strings.Contains(r.Notes[0], "the slowest counts"), "%+v", r)
}

// Where the output does not say how many ranks took part, or on which hosts, its log may.
func TestSaid(t *testing.T) {
	two := []string{"node001", "node001", "node002", "node002"}
	for before, want := range map[string]string{
		"+ mpirun -np 64 --map-by ppr:4:node --hostfile hosts ./osu_alltoall -f\n": "64 4 []",
		"$ mpiexec.hydra -n 64 -ppn 4 -f hosts /opt/osu/osu_alltoall\n":            "64 4 []",
		"srun -N 16 --ntasks-per-node=4 --ntasks=64 ./osu_alltoall\n":              "64 4 []",
		"srun -n 64 -N 16 ./osu_alltoall\n":                                        "64 4 []",
		"aprun -n 64 -N 4 ./osu_alltoall\n":                                        "64 4 []",
		"mpirun --npernode 4 ./osu_alltoall\n":                                     "0 4 []",
		"mpirun -np 16 ./osu_alltoall\n":                                           "16 0 []",
		"mpirun -np 2 ./osu_bw\n$ mpirun -np 16 ./osu_alltoall\n":                  "16 0 []",
		"mpirun -np 2 ./osu_bw\n":                                                  "0 0 []",
		"mpirun -np 1 ./a : -np 3 ./osu_alltoall\n":                                "0 0 []",
		"mpirun -np 8 ./osu_alltoall\nmpirun -np 16 ./osu_alltoall\n":              "0 0 []",
		"srun -N16 -n64 ./osu_alltoall\n":                                          "64 4 []",
		"0: done\n1: done\n2: done\n":                                              "0 0 []",
		"0: step1\n1: step2\n":                                                     "0 0 []",
		"rank 0 runs on gpu0\nrank 1 runs on gpu1\n":                               "0 0 []",
		"mpirun noticed nothing\n":                                                 "0 0 []",
		" Data for node: node001\tNum slots: 2\tMax slots: 0\tNum procs: 2\n Data for node: node002\tNum slots: 2\tMax slots: 0\tNum procs: 2\n": fmt.Sprint("4 0 ", two),
		"0: node001\n1: node001\n2: node002\n3: node002\n": fmt.Sprint("4 0 ", two),
		"Hello from rank 3, thread 0, on node002. (core affinity = 3)\nHello from rank 1, thread 0, on node001.\nHello from rank 0, thread 0, on node001.\nHello from rank 2, thread 0, on node002.\n":                                                                             fmt.Sprint("4 0 ", two),
		"[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n[0] MPI startup(): 0       4711     node001    {0}\n[0] MPI startup(): 1       4712     node001    {1}\n[0] MPI startup(): 2       4713     node002    {0}\n[0] MPI startup(): 3       4714     node002    {1}\n": fmt.Sprint("4 0 ", two),
		"srun: launching StepId=4711.0 on host node001, 2 tasks: [0-1]\nsrun: launching StepId=4711.0 on host node002, 2 tasks: [2-3]\n":                                                                                                                                           fmt.Sprint("4 0 ", two),
		"Hello world from processor node001, rank 0 out of 4 processors\nHello world from processor node001, rank 1 out of 4 processors\nHello world from processor node002, rank 3 out of 4 processors\nHello world from processor node002, rank 2 out of 4 processors\n":         fmt.Sprint("4 0 ", two),
		"I am process 0 of 2 on node001.\nI am process 1 of 2 on node002.\n":                       "2 0 [node001 node002]",
		"(node001:0,1) (node002:2-3)\n":                                                            fmt.Sprint("4 0 ", two),
		"Process 0 on node001\nProcess 2 on node002\n":                                             "0 0 []",
		"SLURM_DISTRIBUTION=block\nSLURM_JOB_NODELIST=node[001-002]\nSLURM_TASKS_PER_NODE=2(x2)\n": fmt.Sprint("4 0 ", two),
	} {
		r, err := Read([]byte(before+osuWhole), Options{})
		expect.True(t, err == nil && fmt.Sprint(r.Ranks, " ", r.OnHost, " ", r.Hosts) == want, "%q: %+v, %v, want %s", before, r, err, want)
	}
	r := expect.Value(Read([]byte("0: node001\n1: node002\n"+strings.TrimPrefix(imb, "\n")), Options{}))(t)
	expect.True(t, r.Ranks == 16 && r.Hosts == nil && slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "has hosts of 2 ranks") }), "%+v", r)
}

// Several iperf3 at once on one pair are one pair; jq -s makes a list of documents; 3.7 writes both directions under one name.
func TestIperf3Together(t *testing.T) {
	port := func(text string, n int) string {
		return strings.Replace(text, `"connected":[]`, fmt.Sprintf(`"connected":[{"local_port":%d,"remote_port":%d}]`, 40000+n, 5200+n), 1)
	}
	four := ""
	for n := range 4 {
		four += port(iperf("a", "b", 1, 23e9, ""), n) + "\n"
	}
	r := expect.Value(Read([]byte(four), Options{}))(t)
	expect.Equal(t, fmt.Sprint(r.Pairs.List, len(r.Notes)), "[{0 1 9.2e+10 0}] 1", "pairs and notes")
	later := port(iperf("a", "b", 1, 23e9, ""), 1) + port(iperf("a", "b", 50, 23e9, ""), 2)
	expect.Error(t, expect.Err(Read([]byte(later), Options{})), "not of processes at the same time")
	list := "[" + iperf("a", "b", 1, 1, "") + ",\n" + iperf("b", "c", 20, 2, "") + "]"
	expect.Equal(t, fmt.Sprint(pairsOf(t, list).List), "[{0 1 1 0} {1 2 2 1}]", "pairs of a list")
	both := strings.Replace(iperf("a", "b", 1, 5, ""), `"sum_sent"`, `"sum_received":{"seconds":10,"bits_per_second":6},"sum_sent"`, 1)
	expect.Equal(t, fmt.Sprint(pairsOf(t, both).List), "[{0 1 6 0} {1 0 5 0}]", "pairs of both directions")
	thrice := strings.Replace(both, `"sum_sent"`, `"sum_received":{"seconds":10,"bits_per_second":7},"sum_sent"`, 1)
	expect.Error(t, expect.Err(Read([]byte(thrice), Options{})), "more than two sums")
}
