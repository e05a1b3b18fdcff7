package foreign

import (
	"errors"
	"regexp"
)

// givenNumber is the way on for the output of any other program.
const givenNumber = "or give its number: --result 1400us --size 1MiB (of a call; from a rank to each other), or --result 10.9GB/s (what each host receives)"

const measuresPairs = ", which measures one pair of hosts at a time: write what each got into a table (the line \"src,dst,Gbit/s\", then \"node1,node2,96.1\" …), take mpiGraph or iperf3 -J, "

// named are programs whose output is not read, by what all of their outputs have, and what each is.
var named = []struct {
	is  func() *regexp.Regexp
	say string
}{
	{pattern(`\[ ?ID\](?:\[Role\])? Interval`), "this is the text of iperf: take iperf3, and run it with -J"},
	{pattern(`BW average\[|BW peak\[|t_typical\[|t_avg\[usec\].*99% percentile|"BW_average"`), "this is perftest (ib_write_bw)" + measuresPairs + givenNumber},
	{pattern(`requires at least two processes`), errAlone.Error()},
	{pattern(`MSCCL`), "this is mscclpp-test, which is not read: take alltoall_perf of nccl-tests, " + givenNumber},
	{pattern(`# iterations \|.*(?:percentile|%ile)|ucx_perftest`), "this is ucx_perftest" + measuresPairs + givenNumber},
	{pattern(`ucc_perftest|(?m)^Collective:\s+\w+`), "this is ucc_perftest: take osu_alltoall -f, " + givenNumber},
	{pattern(`Network Tests v\d|GPCNeT`), "this is GPCNeT, whose exchange has 32 bytes: take osu_alltoall -f, " + givenNumber},
	{pattern(`(?i)linktest`), "this is LinkTest" + measuresPairs + givenNumber},
	{pattern(`(?i)cluster ?kit`), "this is ClusterKit: give bandwidth.txt of its output folder, or write what each pair got into a table (the line \"src,dst,Gbit/s\", then \"node1,node2,96.1\" …)"},
	{pattern(`(?i)#@?repro-?mpi|#@sync=MPI_Barrier`), "this is ReproMPI: take osu_alltoall -f, " + givenNumber},
	{pattern(`HPC Challenge|HPCC|MPIRandomAccess_`), "this is HPCC, whose PTRANS and FFT are not exchanges alone: take osu_alltoall -f, " + givenNumber},
}

// other is the reason why an output is not read, by the program that wrote it; nil: it is none of them.
func other(data []byte) error {
	for _, x := range named {
		if x.is().Match(data) {
			return errors.New(x.say)
		}
	}
	return nil
}
