package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"evbench/barrier"
	"evbench/builder/modes"
	"evbench/transport"
)

// How tcp sends and receives payload.
const (
	IOAuto     = "auto"     // what is fastest for mode and size of the case
	IOCopy     = "copy"     // write from and read into buffers
	IOSendfile = "sendfile" // payload leaves from a memfd without being copied
)

// Ways to start the servers of plain hosts.
const (
	LaunchLocal   = "local"   // processes on this machine
	LaunchSSH     = "ssh"     // by ssh, from here
	LaunchStarted = "started" // mpirun or srun has started all ranks already
)

func launches() []string { return []string{LaunchLocal, LaunchSSH, LaunchStarted} }

// Launch says how the servers of plain hosts are started, where each is, and at which address the
// others reach it.
type Launch struct {
	Kind      string
	Hosts     string // host list, as "node[001-326]"; one server each, in order of position unless Placement says otherwise
	User      string // ssh; "": as ssh decides
	SSHPort   int    // 0: as ssh decides
	Config    string // file for ssh -F; "": ssh's own
	RemoteDir string // where the binary goes on a host
	Control   string // "tcp:HOST:PORT" where workers reach the controller; "": ssh: this host's name and a free port; started: MPI
	Interface string // network interface whose address is taken; "": Network decides
	Network   string // CIDR that the address is in; "": the address that leads to the controller
	DataPort  int    // where servers listen for data; several on one host count up from it; 0: started: a free one
	Placement string // file of hosts and their leaves; "": in order of Hosts
	CPUs      string // list as for taskset, "0-15,32"; "": not pinned
	Preflight bool   // measure reach and leaf of every pair before the first case
}

// Ways to take down a link of a real network.
const (
	InjectCommand     = "command"     // a command on this machine
	InjectSSH         = "ssh"         // a command on a host
	InjectIBPortState = "ibportstate" // InfiniBand, by management datagrams
	InjectLab         = "lab"         // a lab that lab up has built
)

func injects() []string {
	return []string{InjectCommand, InjectSSH, InjectIBPortState, InjectLab}
}

// Inject says how links are taken down, brought up and checked. In Down, Up and Probe, {link},
// {leaf} and {spine} stand for names of the topology. sh -c runs each. Probe exits 0 when the link
// is up, 1 when it is down, and with another code when it cannot tell.
type Inject struct {
	Kind            string // "": links cannot be taken down
	Down, Up, Probe string // command, ssh
	Host            string // ssh: where they run; {leaf} and {spine} are allowed in it
	Fabric          string // ibportstate: ibnetdiscover text that says where the cables are
	Lab             string // lab: its directory
	Timeout         time.Duration
	Journal         string // file that lists the links taken down
}

// Defaults that commands without a scenario use, too.
const (
	DefaultDataPort = 7000                       // where servers listen for data
	DefaultJournal  = "evbench-injected.journal" // of links that were taken down
)

// Counters say what ports of switches have counted: sh -c runs Command before and after each slice.
type Counters struct {
	Command string // "": nothing is asked
	Network string // file with the network, by which LIDs have names; "": that of the topology or the routes
	Timeout time.Duration
}

// What installs a case's routes in a network of hosts.
const (
	RoutesOpenSM = "opensm"
	RoutesKernel = "kernel" // Linux switches that a shell reaches
	RoutesLoaded = "loaded" // somebody has put them there
	RoutesNone   = "none"
	// Ports: switches choose by a hash, as they do, and evbench asks which source port leads where. Likewise the routing of
	// a case whose plan chooses the ports.
	Ports = "ports"
)

func routesKinds() []string {
	return []string{RoutesOpenSM, RoutesKernel, RoutesLoaded, Ports, RoutesNone}
}

// Routes says how the routes of a case are installed in a network of hosts and read back.
type Routes struct {
	Kind                   string // "": as RoutesNone
	Network                string // OpenSM's: file that ibnetdiscover has printed, with all cables
	Dir                    string // of OpenSM's lfts_file; of kernel, where what was there before is kept
	Process                string // OpenSM's: a number, or auto
	Shell                  string // Linux switches: command that runs one on a switch
	Dump, SMInfo, Discover string // commands, OpenSM's
	Timeout                time.Duration
	Paths                  string // Ports: files of evbench paths, with commas; "": the run asks
	Probes                 int    // Ports: source ports asked for between each two hosts
}

const (
	defaultProbes    = 2
	defaultDump      = "dump_lfts"
	defaultSMInfo    = "sminfo"
	defaultDiscover  = "ibnetdiscover"
	defaultRemoteDir = ".evbench"
	defaultInject    = 10 * time.Second
)

var localLaunch = Launch{Kind: LaunchLocal, RemoteDir: defaultRemoteDir, DataPort: DefaultDataPort, Preflight: true}

// Commands returns the fields with which a scenario names commands, each with its value. A run
// starts them with the rights of its user; in ssh's configuration these are ProxyCommand and others.
func (s *Scenario) Commands() (all []string) {
	x, i := s.Fabric.Routes, s.Inject
	for _, f := range []struct{ name, value, preset string }{
		{"inject.down", i.Down, ""}, {"inject.up", i.Up, ""}, {"inject.probe", i.Probe, ""}, {"fabric.routes.shell", x.Shell, ""},
		{"fabric.routes.dump", x.Dump, defaultDump}, {"fabric.routes.sminfo", x.SMInfo, defaultSMInfo},
		{"fabric.routes.discover", x.Discover, defaultDiscover}, {"launch.config", s.Launch.Config, ""}, {"counters.command", s.Counters.Command, ""},
	} {
		if f.value != "" && f.value != f.preset {
			all = append(all, f.name+": "+f.value)
		}
	}
	return all
}

func (d *document) cluster(f fields, s *Scenario) {
	d.launch(f.Get("launch"), s)
	d.inject(f.Get("inject"), s)
	if at := f.Get("counters"); at.Given() {
		s.Counters.Timeout = defaultInject
		d.section(at, countersFields(&s.Counters), "command: needed")
	}
	if err := s.checkCluster(); err != nil {
		for _, name := range []string{"transport", "launch", "inject"} {
			if f.Given(name) {
				d.Fail(f.Get(name), "%v", err)
				return
			}
		}
	}
}

func (s *Scenario) checkCluster() error {
	over := transport.Of(s.Transport)
	switch {
	case s.Fabric.Kind == Lab && !over.Labs:
		return fmt.Errorf("transport %s is for fabric hosts: nothing in a lab has it", over.Name)
	case s.Fabric.Kind == Emulate && !over.Emulated:
		return fmt.Errorf("transport %s is not for fabric %s, whose links are clocks of TCP connections", over.Name, s.Fabric.Kind)
	case s.Fabric.Kind != Hosts && s.Launch.Kind != LaunchLocal:
		return fmt.Errorf("launch is for fabric hosts; the fabric is %s", s.Fabric.Kind)
	case s.Fabric.Kind != Hosts && s.Inject.Kind != "":
		return fmt.Errorf("inject is for fabric hosts; links of a %s are taken down without it", s.Fabric.Kind)
	case over.Launched && s.Fabric.Kind == Hosts && s.Launch.Kind != LaunchStarted:
		return fmt.Errorf("transport %s needs launch: {kind: started}, and the run to be started by mpirun or srun", over.Name)
	}
	return nil
}

func (d *document) launch(at field, s *Scenario) {
	s.Launch = localLaunch
	f, _ := d.section(at, launchFields(&s.Launch), "kind: needed; there are "+strings.Join(launches(), ", "),
		`hosts: needed with kind=ssh: where servers are started, such as "node[001-326]"`,
		"network: not with interface: each chooses the address of a host",
		"user port config remote_dir: only with kind=ssh")
	if s.Launch.Kind == LaunchStarted && !f.Given("data_port") {
		s.Launch.DataPort = 0
	}
}

func (d *document) inject(at field, s *Scenario) {
	if !at.Given() {
		return
	}
	s.Inject.Timeout, s.Inject.Journal = defaultInject, DefaultJournal
	d.section(at, injectFields(&s.Inject), "kind: needed; there are "+strings.Join(injects(), ", "),
		"down up probe: needed with kind=command|ssh", "host: needed with kind=ssh", "fabric: needed with kind=ibportstate", "lab: needed with kind=lab")
}

func (d *document) routes(at field, f *Fabric) {
	if !at.Given() {
		return
	}
	x := &f.Routes
	*x = Routes{Process: "auto", Probes: defaultProbes, Dump: defaultDump, SMInfo: defaultSMInfo, Discover: defaultDiscover, Timeout: 2 * time.Minute}
	given, good := d.section(at.InFull("kind"), routesFields(x), "kind: needed; there are "+strings.Join(routesKinds(), ", "),
		"network dir: needed with kind=opensm", "shell: needed with kind=kernel", "network: not with shell: tables are OpenSM's, or those of Linux switches",
		"process sminfo discover: only with kind=opensm", "paths probes: only with kind=ports")
	switch {
	case f.Kind != Hosts && (f.Kind != Lab || x.Kind != Ports):
		d.Fail(at, "is for fabric hosts; a %s has its own", f.Kind)
	case good && x.Kind == RoutesLoaded && !given.Given("network") && !given.Given("shell"):
		d.Fail(at, "network is missing, or shell: where are the tables?")
	}
	x.Dir = cmp.Or(x.Dir, "evbench-routes")
}

func (s *Scenario) overrideTransport(o Overrides) error {
	if transport.Of(o["transport"]).Launched && s.Fabric.Kind == Hosts && s.Launch.Kind == LaunchLocal {
		s.Launch.Kind = LaunchStarted
	}
	if err := s.checkCluster(); err != nil {
		return fmt.Errorf("--transport %s: %w", s.Transport, err)
	}
	return s.each(func(c *Case) error { return c.suits(transport.Of(s.Transport)) })
}

// suits reports why a case cannot run over a transport.
func (c *Case) suits(over transport.Facts) error {
	switch {
	case over.Paths && c.Mode == modes.Ordered && c.tables() && c.Routing != "": // "": that is wrong already
		return fmt.Errorf("the plan of an ordered case brings its paths, which routing %s does not take; leave routing out", c.Routing)
	case !over.Barrier && c.Barrier == barrier.MPI:
		return errors.New("barrier mpi needs transport mpi")
	}
	return nil
}
