package scenario

import (
	"maps"
	"math"
	"slices"

	"evbench/builder"
	"evbench/scheduler/assign"
	"evbench/topology"
)

// The fields of a scenario. docs/reference/scenario.md has defaults and more.
var topFields = group{
	{"name", matching(nameRE.String()), "of the run (default: the file's)"},
	{"topology", word(), "FT(2;M0,M1); three levels: FT(3;M0,M1,M2) or PGFT(3;m;w;p)"},
	{"fill", list(whole(0, topology.MaxPorts)), "servers on each leaf (default: M0 on each)"},
	{"spines", whole(1, topology.MaxPorts), "number of spines (default: M0)"},
	{"fabric", either(choice(Kinds()...), object(fabricFields)), "what events are built on"},
	{"event", object(eventFields), "size of the fragments"},
	{"duration", lasts(minDuration), "of the measured part of each slice"},
	{"interval", lasts(minInterval), "between samples"},
	{"warmup", whole(0, maxWarmup), "exchanges thrown away at the start of each case"},
	{"repeat", whole(1, maxRounds), "the older name of rounds with a number"},
	{"rounds", either(choice(Auto), whole(1, maxRounds)), "how often the cases are measured; auto: until every compared case is resolved"},
	{"limit", lasts(minLimit), "with rounds: auto, no round begins that would end after this"},
	{"trace", onOff(), "keep what each server did, for evbench trace and evbench why"},
	{"control", onOff(), "a healthy linear shift in every round, which the others are compared with"},
	{"seed", whole(0, math.MaxUint64), "of everything random"},
	{"timeout", lasts(minTimeout), "a worker without progress for so long counts as lost"},
	{"deliver", choice(Buffer, Discard), "buffer: each fragment is stored in its event; discard: it is read and thrown away"},
	{"check", choice(CheckHeader, CheckPayload), "header, or CRC-32C of every byte"},
	{"preset", choice(thesis), "60 s synchronised, 300 s unsynchronised, 5 s interval"},
	{"cases", atLeastOne(object(caseFields)), "what is measured"},
	{"matrix", object(matrixFields.lists()), "field: list of values; every case is measured with every combination"},
	{"transport", choice(transports()...), "of data"},
	{"io", choice(ios()...), "how TCP moves payload"},
	{"launch", object(launchFields, "kind"), "how the servers of fabric hosts are started"},
	{"inject", object(injectFields, "kind"), "how links of fabric hosts are taken down"},
	{"sim", object(simFields), "times that evbench sim adds to those of the bytes on the links"},
	{"failover", failoverShape, "what is done about links that die or come back"},
	{"answer", object(answerFields, "cases"), "what the answer compares"},
}

var fabricFields = group{
	{"kind", choice(Kinds()...), "lab: network namespaces; emulate: clocks in one process; hosts: a real network"},
	{"rate", linkRate(), "of each direction of each link, such as 100Mbit/s; auto: what the machine can carry"},
	{"mtu", whole(minMTU, maxMTU), "bytes"},
	{"workers", choice(Threads, Processes), "all servers in one process, or one process each"},
	{"lossless", either(onOff(), object(losslessFields)), "the network has credits, as InfiniBand has"},
}

var losslessFields = group{
	{"packet", size(), "such as 4096B"},
	{"buffer", size(), "of an input port and lane"},
	{"lanes", whole(1, maxLanes), "virtual lanes of a port"},
	{"queues", choice(QueuesFIFO, QueuesPerOutput), "of an input port"},
	{"reads", whole(0, maxReads), "with per-output, packets that leave an input port at a time; 0: any number"},
	{"delay", lasts(0), "from a packet's head at a switch to the earliest it may leave"},
	{"cable", lasts(0), "how long bits are under way on a cable"},
	{"order", choice(OrderTurns, OrderFirst), "in which a server sends fragments"},
}

var eventFields = group{
	{"fragment", size(), "payload of one fragment, mean, such as 600KiB"},
	{"phase", lasts(minPhase), "instead of fragment: how long one fragment takes at the link rate"},
	{"spread", upTo(builder.MaxSpread), "the older form of sizes: {spread: …}"},
	{"sizes", sizesShape, "how fragments differ in size"},
}

var sizesShape = either(choice(builder.Distributions()...), object(sizesFields))

var sizesFields = group{
	{"distribution", choice(builder.Distributions()...), "what sizes are drawn from"},
	{"spread", upTo(builder.MaxSpread), "uniform in mean·(1±spread)"},
	{"sigma", upTo(builder.MaxSigma), "log-normal: standard deviation of the logarithm"},
	{"by", choice(append(builder.Bys(), builder.ByExchange)...), "what fragments of one size have in common; of a file: what a row is"},
	{"fanout", whole(1, maxServers-1), "each source has fragments for so many servers of an exchange"},
	{"file", word(), "CSV or HDF5: a row of bytes by source for each event or exchange"},
}

// matrixFields are those of a case that a matrix takes, too.
var matrixFields = group{
	{"mode", choice(append(modes(), slices.Sorted(maps.Keys(modeAlias))...)...), "in phases, in any order, with each server at its own pace, or in the order of a plan with tokens"},
	{"barrier", choice(barriers()...), "between the phases of synchronised cases"},
	{"schedule", choice(append(schedules(), noSchedule)...), "order of the messages"},
	{"routing", choice(Routings()...), "paths of the messages"},
	{"failures", list(failureShape), "links that are dead, and that die"},
	{"failure_seed", whole(0, math.MaxUint64), "of random failures"},
	{"sources", whole(0, maxServers-1), "unsynchronised: most outstanding requests per event, 0 for all"},
	{"credits", whole(1, maxCredits), "events in flight per server"},
	{"sizes", sizesShape, "how fragments differ in size, in place of event.sizes"},
	{"window", whole(1, maxWindow), "ordered: exchanges that are planned together"},
	{"assign", choice(assign.Names()...), "unsynchronised: next: a server that has room gets the next event; balanced: by size, longest first to the least loaded"},
	{"failover", failoverShape, "what is done about links that die or come back"},
}

var caseFields = append(group{
	{"name", word(), "unique"},
	{"duration", lasts(minDuration), "of this case"},
}, matrixFields...)

// A failure is the name of a link or spine, random links, or a link that dies at a time.
var failureShape = either(word(), object(randomFailure, "random"), object(timedFailure, "link", "at"))

var (
	randomFailure = group{{"random", object(randomFields, "count"), "links drawn at random"}}
	randomFields  = group{
		{"count", shape{"type": "integer", "minimum": 1}, "how many links"},
		{"seed", whole(0, math.MaxUint64), "equal seeds draw the same links"},
	}
	timedFailure = group{
		{"link", word(), "such as leaf0-spine3"},
		{"at", lasts(0), "after the measurement starts"},
		{"for", lasts(1), "until it comes back"},
		{"every", lasts(1), "from one failure of a flapping link to the next"},
		{"times", whole(2, maxFlaps), "how often a flapping link dies"},
	}
)

var failoverFields = group{
	{"policy", choice(policies()...), "what is done"},
	{"hold", lasts(1), "fors+hold: how long a link that has come back must stay up before it is used"},
	{"debounce", lasts(0), "how long planning waits after the first event of a failure"},
	{"on_disconnect", choice(End, Wait), "when servers have no path to each other"},
}

var failoverShape = either(choice(policies()...), object(failoverFields, "policy"))

var launchFields = group{
	{"kind", choice(launches()...), "processes on this machine, by ssh, or started by mpirun or srun"},
	{"hosts", word(), `ssh: host list, such as "node[001-326]"`},
	{"user", word(), "ssh -l"},
	{"port", whole(1, 65_535), "ssh -p"},
	{"config", word(), "ssh -F"},
	{"remote_dir", word(), "ssh: directory of the binary on each host"},
	{"control", word(), "where workers reach the controller: tcp:HOST:PORT or tls:HOST:PORT"},
	{"interface", word(), "whose address of a host the others use, such as ib0"},
	{"network", word(), "which address of a host the others use, such as 10.1.0.0/16"},
	{"data_port", whole(1, 65_535), "of the first server on a host"},
	{"placement", word(), "file that says which host is on which leaf"},
	{"cpus", matching(cpusRE.String()), "processors that workers stay on, such as 0-15,32"},
	{"preflight", onOff(), "check reach and leaf of every pair before the first case"},
}

var injectFields = group{
	{"kind", choice(injects()...), "what takes links down"},
	{"down", word(), "command that takes {link} down"},
	{"up", word(), "command that brings {link} up"},
	{"probe", word(), "command that exits 0 when {link} is up, 1 when it is down"},
	{"host", word(), "ssh: where the commands run"},
	{"fabric", word(), "ibportstate: ibnetdiscover text that says where the cables are"},
	{"lab", word(), "lab: its directory"},
	{"timeout", lasts(minTimeout), "of each command"},
	{"journal", word(), "file of what is down"},
}

var simFields = group{
	{"round", lasts(0), "one round of the barrier"},
	{"overhead", lasts(0), "of each phase, or of each fragment where there are no phases"},
	{"jitter", lasts(0), "each server starts a phase up to this much late"},
}

var answerFields = group{{"cases", list(word()), "names of the cases that the answer compares"}}
