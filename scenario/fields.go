package scenario

import (
	"maps"
	"math"
	"net/netip"
	"os"
	"slices"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/atomicfile"
	"evbench/internal/unit"
	"evbench/scheduler/schedules"
	"evbench/topology"
	"evbench/transport"
)

// Limits on input. Those of text, nodes, cases and servers bound memory and time; those of
// durations and sizes catch typing errors.
const (
	maxText    = 1 << 20
	maxNodes   = 200_000 // aliases followed
	maxCases   = 1000
	maxServers = 4096
	maxFlaps   = 1000 // failures of one entry; each is planned for

	minDuration, maxDuration = 100 * time.Millisecond, 24 * time.Hour
	minTimeout, maxTimeout   = 100 * time.Millisecond, time.Hour
	minInterval              = 10 * time.Millisecond
	maxSimTime               = time.Second

	minFragment, maxFragment unit.Bytes = 1, builder.MaxFragment
	minPacket, maxPacket     unit.Bytes = 64, 1 << 20
)

const (
	namePattern = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`
	cpusPattern = `^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$`
)

func isNetwork(s string) bool {
	_, err := netip.ParsePrefix(s)
	return err == nil
}

type top struct {
	*Scenario
	tree   topology.Options
	found  *topology.Tree // in a file
	noTree error          // why the topology is no tree
	files  *Files         // nil: the scenario is no file, and names none
	preset string
}

// topology reads a notation or, where the scenario may name files, a tree from a file.
// A network that is no tree has no options.
func (t *top) topology(text string) (o topology.Options, err error) {
	_, err = os.Stat(text)
	file := err == nil && t.files != nil && t.files.Tree != nil
	if file {
		if err := atomicfile.Regular(text); err != nil {
			return o, err
		}
	}
	if o, err = t.treeOf(text, file); err != nil && t.networks.Open != nil {
		t.noTree, err = err, nil
	}
	return o, err
}

func (t *top) treeOf(text string, file bool) (topology.Options, error) {
	if !file {
		return topology.Parse(text)
	}
	tree, even, err := t.files.Tree(text)
	if err != nil {
		return topology.Options{}, err
	}
	t.found, t.Differ = tree, !even
	return tree.Options(), nil
}

// topFields are the fields of a scenario. docs/reference/scenario.md has defaults and more.
func topFields(t *top) group {
	return group{
		{"name", matching(&t.Name, namePattern, "up to 64 letters, digits, dots, dashes and underscores; folders are named by it"), "of the run (default: the file's)"},
		{"topology", to(&t.tree, anyWord, t.topology), "FT(2;M0,M1), with parallel cables PGFT(2;m;w;p); three levels: FT(3;M0,M1,M2) or PGFT(3;m;w;p); or a file that evbench topo takes; of another shape than a fat tree also a notation such as Dragonfly(2;4;1;9), and cases on its tables"},
		{"tables", word(&t.Tables), "file of the tables that the network has, as dump_lfts prints them: cases over them, whatever its shape"},
		{"fill", nested(list(integer(0, topology.MaxPorts))), "servers on each leaf (default: M0 on each)"},
		{"spines", whole(&t.tree.Spines, 1, topology.MaxPorts), "number of spines (default: M0)"},
		{"cables", whole(&t.tree.Cables, 1, topology.MaxCables), "parallel cables from each leaf to each spine of two levels (default: 1)"},
		{"readers", roleList(&t.Readers).flag("servers that send fragments, `LIST` such as server0-11,leaf3"), "servers that send fragments, such as server0-11,leaf3 (default: all)"},
		{"builders", roleList(&t.Builders).flag("servers that receive fragments and build events, `LIST` as of --readers"), "servers that receive fragments and build events, such as server12-15 (default: all)"},
		{"rounds", to(&t.Rounds.Count, either(enum(Auto), integer(1, maxRounds)), parseRounds).flag("measure a slice of each case in each of `N` rounds; auto: until the answer is resolved"), "how often the cases are measured; auto: until every compared case is resolved"},
		{"limit", lasts(&t.Rounds.Limit, time.Second, 7*24*time.Hour).flag("with rounds auto, begin no round that would end after `D`"), "with rounds: auto, no round begins that would end after this"},
		{"duration", lasts(&t.Duration, minDuration, maxDuration).flag("measure each slice for `D`"), "of the measured part of each slice"},
		{"interval", lasts(&t.Interval, minInterval, maxDuration).flag("sample every `D`"), "between samples"},
		{"fabric", nested(either(enum(Kinds()...), object(fabricFields(&Fabric{})))), "what events are built on"},
		{"event", nested(object(eventFields(&Event{}))), "size of the fragments"},
		{"warmup", whole(&t.Warmup, 0, 1000), "exchanges thrown away at the start of each case"},
		{"trace", onOff(&t.Trace), "keep what each server did, for evbench trace and evbench why"},
		{"control", onOff(&t.Control), "a healthy linear shift in every round, which the others are compared with"},
		{"seed", seed(&t.Seed), "of everything random"},
		{"timeout", lasts(&t.Timeout, minTimeout, maxTimeout), "a worker that moves no byte for so long counts as lost"},
		{"deliver", choice(&t.Deliver, "way to deliver", builder.DeliverBuffer, builder.DeliverDiscard).flag("`HOW` fragments are received: buffer, discard"), "buffer: each fragment is stored in its event; discard: it is read and thrown away"},
		{"check", choice(&t.Check, "check", builder.CheckHeader, builder.CheckPayload), "header, or CRC-32C of every byte"},
		{"preset", choice(&t.preset, "preset", thesis), "60 s synchronised, 300 s unsynchronised, 5 s interval"},
		{"cases", nested(atLeastOne(object(caseFields(&Case{}, nil, maxServers, t.routings())))), "what is measured"},
		{"matrix", nested(object(matrixFields(&Case{}, nil, maxServers, t.routings()).lists())), "field: list of values; every case is measured with every combination"},
		{"transport", choice(&t.Transport, "transport", transport.Names()...), "of data"},
		{"io", choice(&t.IO, "way of input and output", IOAuto, IOCopy, IOSendfile).flag("`HOW` tcp moves payload: auto, copy, sendfile"), "how TCP moves payload"},
		{"launch", nested(object(launchFields(&Launch{}), "kind")), "how the servers of fabric hosts are started"},
		{"inject", nested(object(injectFields(&Inject{}), "kind")), "how links of fabric hosts are taken down"},
		{"counters", nested(object(countersFields(&Counters{}), "command")), "what ports of switches have counted"},
		{"sim", nested(object(simFields(&Sim{}))), "times that evbench sim adds to those of the bytes on the links"},
		{"failover", nested(failoverShape), "what is done about links that die or come back"},
		{"answer", nested(object(answerFields, "cases")), "what the answer compares"},
	}
}

func fabricFields(f *Fabric) group {
	return group{
		{"kind", choice(&f.Kind, "fabric", Kinds()...), "lab: network namespaces; emulate: clocks in one process; hosts: a real network"},
		{"rate", to(f, either(enum(Auto), withUnit("Tbit/s", "Gbit/s", "Mbit/s", "kbit/s", "bit/s")), f.withRate).flag("link `RATE`, such as 100Mbit/s, or auto: lab and emulate find out what this machine can carry"), "of each direction of each link, such as 100Mbit/s; auto: what the machine can carry"},
		{"mtu", whole(&f.MTU, 576, 65_535), "bytes"},
		{"workers", choice(&f.Workers, "way to run workers", Threads, Processes), "all servers in one process, or one process each"},
		{"hash", choice(&f.Hash, "hash", HashHeaders, HashAddresses, HashAlike), "what the lab's switches hash under routing ecmp; alike: headers, and all switches with one seed"},
		{"lossless", nested(either(onOff(nil).shape, object(losslessFields(&f.Lossless)))), "the network has credits, as InfiniBand has"},
		{"routes", nested(either(enum(routesKinds()...), object(routesFields(&Routes{}), "kind"))), "who puts the routes of cases into a network of hosts, or that switches choose by a hash"},
	}
}

func routesFields(x *Routes) group {
	return group{
		{"kind", choice(&x.Kind, "way to install routes", routesKinds()...), "opensm; kernel: Linux switches by a shell; loaded: somebody has put them there, they are checked; ports: switches choose by a hash, and evbench asks which source port leads where; none"},
		{"network", word(&x.Network), "file with the network, as ibnetdiscover prints it"},
		{"dir", word(&x.Dir), "opensm: directory of its lfts_file; what was there before is kept in it"},
		{"process", word(&x.Process), "opensm: its process; auto: the one that runs here"},
		{"shell", command(&x.Shell), "Linux switches: command that runs one on a switch, such as ssh"},
		{"dump", command(&x.Dump), "command that prints the tables of all switches"},
		{"sminfo", command(&x.SMInfo), "command that prints which subnet manager is master"},
		{"discover", command(&x.Discover), "command that prints the network as it is"},
		{"timeout", lasts(&x.Timeout, minTimeout, maxTimeout), "of a change of tables, and of each command"},
		{"paths", word(&x.Paths), "ports: FILE[,FILE…] of evbench paths (default: the run asks)"},
		{"probes", whole(&x.Probes, 1, 64), "ports: source ports that are asked for between each two hosts"},
	}
}

func losslessFields(x *Lossless) group {
	return group{
		{"packet", size(&x.Packet, minPacket, maxPacket), "such as 4096B"},
		{"buffer", size(&x.Buffer, minPacket, 1<<30), "of an input port and lane"},
		{"lanes", whole(&x.Lanes, 1, 15), "virtual lanes of a port"},
		{"queues", choice(&x.Queues, "way to queue", QueuesFIFO, QueuesPerOutput), "of an input port"},
		{"reads", whole(&x.Reads, 0, 255), "with per-output, packets that leave an input port at a time; 0: any number"},
		{"delay", lasts(&x.Delay, 0, maxSimTime), "from a packet's head at a switch to the earliest it may leave"},
		{"cable", lasts(&x.Cable, 0, maxSimTime), "how long bits are under way on a cable"},
		{"order", choice(&x.Order, "order", OrderTurns, OrderFirst), "in which a server sends fragments"},
	}
}

func eventFields(e *Event) group {
	return group{
		{"fragment", size(&e.Fragment, minFragment, maxFragment), "payload of one fragment, mean, such as 600KiB"},
		{"phase", to(e, either(enum(Auto), lasts(&e.Phase, time.Microsecond, MaxPhase).shape), e.withPhase), "instead of fragment: how long one fragment takes at the link rate; auto: so long that barriers take a twentieth"},
		{"sizes", nested(sizesShape), "how fragments differ in size"},
	}
}

var sizesShape = either(enum(builder.Distributions()...), object(sizesFields(&sizesOf{by: append(builder.Bys(), builder.ByExchange), servers: maxServers})))

// A sizesOf holds the values of the fields of sizes.
type sizesOf struct {
	builder.Distribution
	file    string
	by      []string // that by may be
	servers int
}

func sizesFields(x *sizesOf) group {
	return group{
		{"distribution", choice(&x.Kind, "distribution", builder.Distributions()...), "what sizes are drawn from"},
		{"by", choice(&x.By, "by", x.by...), "what fragments of one size have in common; of a file: what a row is"},
		{"fanout", whole(&x.Fanout, 1, x.servers-1), "each source has fragments for so many servers of an exchange"},
		{"spread", upTo(&x.Spread, builder.MaxSpread), "uniform in mean·(1±spread)"},
		{"sigma", upTo(&x.Sigma, builder.MaxSigma), "log-normal: standard deviation of the logarithm"},
		{"file", word(&x.file), "CSV or HDF5: a row of bytes by source for each event or exchange"},
	}
}

// matrixFields are the fields that cases and a matrix share; draws is the seed of random failures, routings are the names that the scenario may have.
func matrixFields(c *Case, draws *uint64, servers int, routings []string) group {
	return group{
		{"mode", to((*string)(&c.Mode), enum(append(modes.Names(), slices.Sorted(maps.Keys(modeAlias))...)...), oneOf("mode", modes.Names(), modeAlias)), "in phases, in any order, with each server at its own pace, or in the order of a plan with tokens"},
		{"barrier", choice(&c.Barrier, "barrier", barriers()...), "between the phases of synchronised cases"},
		{"schedule", nested(either(enum(append(allSchedules(), noSchedule)...), object(ownFields(new(string)), "file"))), "order of the messages"},
		{"routing", choice(&c.Routing, "routing", routings...), "paths of the messages"},
		{"objective", choice(&c.Objective, "objective", schedules.Objectives()...), "what the schedule fors makes least; paths: one from a leaf to a server, which tables can hold"},
		{"failures", nested(list(failureShape)), "links that are dead, and that die"},
		{"failure_seed", seed(draws), "of random failures"},
		{"sources", whole(&c.Sources, 0, servers-1), "unsynchronised: most outstanding requests per event, 0 for all"},
		{"credits", whole(&c.Credits, 1, builder.MaxCredits), "events in flight per server"},
		{"sizes", nested(sizesShape), "how fragments differ in size, in place of event.sizes"},
		{"window", whole(&c.Window, 1, schedules.MaxWindow), "ordered: exchanges that are planned together"},
		{"assign", choice(&c.Assign, "assign", builder.Assigners()...), "unsynchronised: next: a server that has room gets the next event; balanced: by size, longest first to the least loaded"},
		{"load", nested(loadShape), "events that a clock offers (default: as many as the network carries)"},
		{"failover", nested(failoverShape), "what is done about links that die or come back"},
	}
}

// ownFields are the fields of a schedule of the user's own.
func ownFields(file *string) group {
	return group{{"file", word(file), "a plan file: its phases and, with routing pinned, its paths"}}
}

func caseFields(c *Case, draws *uint64, servers int, routings []string) group {
	return append(group{
		{"name", to(&c.Name, anyWord, parseCaseName), "unique"},
		{"duration", lasts(&c.Duration, minDuration, maxDuration), "of this case"},
	}, matrixFields(c, draws, servers, routings)...)
}

// failureShape is the name of a link or spine, random links, or a link or server that dies at a time.
var failureShape = either(anyWord, object(randomFailure, "random"), object(timedFields(&Timed{}), "link", "at"), object(lossFields(new(string), &Lost{}), "server", "at"))

var randomFailure = group{{"random", nested(object(randomFields(nil, nil, math.MaxInt), "count")), "links drawn at random"}}

func randomFields(count *int, draws *uint64, links int) group {
	return group{
		{"count", value{shape: shape{"type": "integer", "minimum": 1}, set: whole(count, 1, links).set}, "how many links"},
		{"seed", seed(draws), "equal seeds draw the same links"},
	}
}

func timedFields(t *Timed) group {
	return group{
		{"link", word(&t.Name), "such as leaf0-spine3"},
		{"at", lasts(&t.At, 0, maxDuration), "after the measurement starts"},
		{"for", lasts(&t.For, time.Millisecond, maxDuration), "until it comes back"},
		{"every", lasts(&t.flap.every, time.Millisecond, maxDuration), "from one failure of a flapping link to the next"},
		{"times", whole(&t.flap.times, 2, maxFlaps), "how often a flapping link dies"},
	}
}

var failoverShape = either(enum(policies()...), object(failoverFields(&Failover{}), "policy"))

func failoverFields(f *Failover) group {
	return group{
		{"policy", choice(&f.Policy, "policy", policies()...), "what is done"},
		{"hold", lasts(&f.Hold, time.Millisecond, maxDuration), "fors+hold: how long a link that has come back must stay up before it is used"},
		{"debounce", lasts(&f.Debounce, 0, 10*time.Second), "how long planning waits after the first event of a failure"},
		{"on_disconnect", choice(&f.OnDisconnect, "way to go on", End, Wait), "when servers have no path to each other"},
	}
}

func launchFields(l *Launch) group {
	return group{
		{"kind", choice(&l.Kind, "way to launch", launches()...), "processes on this machine, by ssh, or started by mpirun or srun"},
		{"hosts", plain(&l.Hosts), `ssh: host list, such as "node[001-326]"`},
		{"user", plain(&l.User), "ssh -l"},
		{"config", plain(&l.Config), "ssh -F"},
		{"remote_dir", plain(&l.RemoteDir), "ssh: directory of the binary on each host"},
		{"placement", plain(&l.Placement), "file that says which host is on which leaf"},
		{"control", plain(&l.Control), "where workers reach the controller: tcp:HOST:PORT or tls:HOST:PORT"},
		{"interface", plain(&l.Interface), "whose address of a host the others use, such as ib0"},
		{"cpus", matching(&l.CPUs, cpusPattern, "a list of processors, such as 0-15,32"), "processors that workers stay on, such as 0-15,32"},
		{"network", tested(&l.Network, anyWord, isNetwork, "a network, such as 10.1.0.0/16"), "which address of a host the others use, such as 10.1.0.0/16"},
		{"port", whole(&l.SSHPort, 1, 65_535), "ssh -p"},
		{"data_port", whole(&l.DataPort, 1, 65_535), "of the first server on a host"},
		{"preflight", onOff(&l.Preflight), "check reach and leaf of every pair before the first case"},
	}
}

func injectFields(i *Inject) group {
	return group{
		{"kind", choice(&i.Kind, "way to take links down", injects()...), "what takes links down"},
		{"down", word(&i.Down), "command that takes {link} down"},
		{"up", word(&i.Up), "command that brings {link} up"},
		{"probe", word(&i.Probe), "command that exits 0 when {link} is up, 1 when it is down"},
		{"host", word(&i.Host), "ssh: where the commands run"},
		{"fabric", word(&i.Fabric), "ibportstate: ibnetdiscover text that says where the cables are"},
		{"lab", word(&i.Lab), "lab: its directory"},
		{"journal", word(&i.Journal), "file of what is down"},
		{"timeout", lasts(&i.Timeout, minTimeout, maxTimeout), "of each command"},
	}
}

func countersFields(c *Counters) group {
	return group{
		{"command", word(&c.Command), "prints lines SWITCH PORT COUNTER VALUE, or what perfquery does; it runs before and after each slice"},
		{"network", word(&c.Network), "file with the network, as ibnetdiscover prints it, by which LIDs of perfquery have names (default: that of topology or fabric.routes)"},
		{"timeout", lasts(&c.Timeout, minTimeout, maxTimeout), "of the command"},
	}
}

func simFields(x *Sim) group {
	return group{
		{"round", lasts(&x.Round, 0, maxSimTime), "one round of the barrier"},
		{"overhead", lasts(&x.Overhead, 0, maxSimTime), "of each phase, or of each fragment where there are no phases"},
		{"jitter", lasts(&x.Jitter, 0, maxSimTime), "each server starts a phase up to this much late"},
	}
}

var answerFields = group{{"cases", nested(list(anyWord)), "names of the cases that the answer compares"}}
