package scenario

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Transports.
const (
	TCP = "tcp"
	MPI = "mpi"
)

// transports lists the valid names.
func transports() []string { return []string{TCP, MPI} }

// How tcp sends and receives payload.
const (
	IOAuto     = "auto"     // what is fastest for mode and size of the case
	IOCopy     = "copy"     // write from and read into buffers
	IOSendfile = "sendfile" // payload leaves from a memfd without being copied
)

// ios lists the valid names.
func ios() []string { return []string{IOAuto, IOCopy, IOSendfile} }

// Ways to start the servers of plain hosts.
const (
	LaunchLocal   = "local"   // processes on this machine
	LaunchSSH     = "ssh"     // by ssh, from here
	LaunchStarted = "started" // mpirun or srun has started all ranks already
)

// launches lists the valid names.
func launches() []string { return []string{LaunchLocal, LaunchSSH, LaunchStarted} }

// Launch says how the servers of plain hosts are started, where each is, and by
// which address the others reach it.
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

// injects lists the valid names.
func injects() []string {
	return []string{InjectCommand, InjectSSH, InjectIBPortState, InjectLab}
}

// Inject says how links are taken down, brought up and looked at. In Down, Up
// and Probe, {link}, {leaf} and {spine} stand for names of the topology. Each is
// run by sh -c. Probe exits 0 when the link is up, 1 when it is down, and with
// anything else when it cannot say.
type Inject struct {
	Kind            string // "": links cannot be taken down
	Down, Up, Probe string // command, ssh
	Host            string // ssh: where they run; {leaf} and {spine} are allowed in it
	Fabric          string // ibportstate: ibnetdiscover text that says where the cables are
	Lab             string // lab: its directory
	Timeout         time.Duration
	Journal         string // file of what is down
}

// Defaults that commands without a scenario have, too.
const (
	DefaultDataPort = 7000                       // where servers listen for data
	DefaultJournal  = "evbench-injected.journal" // of links that were taken down
)

const (
	defaultRemoteDir = ".evbench"
	defaultInject    = 10 * time.Second
)

var localLaunch = Launch{Kind: LaunchLocal, RemoteDir: defaultRemoteDir, DataPort: DefaultDataPort, Preflight: true}

// cluster reads how servers of plain hosts are started and links taken down.
func (d *document) cluster(f fields, s *Scenario) {
	s.Transport, s.IO = TCP, IOAuto
	scalar(d, f.get("transport"), &s.Transport, oneOf("transport", transports(), nil))
	scalar(d, f.get("io"), &s.IO, oneOf("way of input and output", ios(), nil))
	d.launch(f.get("launch"), s)
	d.inject(f.get("inject"), s)
	if err := s.checkCluster(); err != nil {
		for _, name := range []string{"transport", "launch", "inject"} {
			if f.given(name) {
				d.fail(f.get(name), "%v", err)
				return
			}
		}
	}
}

// checkCluster reports what does not go together.
func (s *Scenario) checkCluster() error {
	switch {
	case s.Fabric.Kind != Hosts && s.Transport == MPI:
		return fmt.Errorf("transport mpi is for fabric hosts: a %s is made of TCP connections", s.Fabric.Kind)
	case s.Fabric.Kind != Hosts && s.Launch.Kind != LaunchLocal:
		return fmt.Errorf("launch is for fabric hosts; the fabric is %s", s.Fabric.Kind)
	case s.Fabric.Kind != Hosts && s.Inject.Kind != "":
		return fmt.Errorf("inject is for fabric hosts; links of a %s are taken down without it", s.Fabric.Kind)
	case s.Transport == MPI && s.Launch.Kind != LaunchStarted:
		return errors.New("transport mpi needs launch: {kind: started}, and the run to be started by mpirun or srun")
	}
	return nil
}

// A text is a field and where it goes.
type text struct {
	name string
	to   *string
}

func (d *document) launch(at field, s *Scenario) {
	l := &s.Launch
	*l = localLaunch
	if !at.given() {
		return
	}
	f := d.mapping(at, launchFields)
	if !f.given("kind") {
		d.fail(at, "kind is missing; there are %s", strings.Join(launches(), ", "))
		return
	}
	good := scalar(d, f.get("kind"), &l.Kind, oneOf("way to launch", launches(), nil))
	for _, x := range []text{
		{"hosts", &l.Hosts}, {"user", &l.User}, {"config", &l.Config}, {"remote_dir", &l.RemoteDir}, {"placement", &l.Placement},
		{"control", &l.Control}, {"interface", &l.Interface},
	} {
		scalar(d, f.get(x.name), x.to, parsePlain)
	}
	scalar(d, f.get("cpus"), &l.CPUs, parseCPUs)
	scalar(d, f.get("network"), &l.Network, parseNetwork)
	scalar(d, f.get("port"), &l.SSHPort, between(1, 65_535))
	scalar(d, f.get("data_port"), &l.DataPort, between(1, 65_535))
	scalar(d, f.get("preflight"), &l.Preflight, parseOnOff)
	if l.Kind == LaunchStarted && !f.given("data_port") {
		l.DataPort = 0
	}
	if good && l.Kind == LaunchSSH && !f.given("hosts") {
		d.fail(at, `hosts is missing: where servers are started, such as "node[001-326]"`)
	}
	if f.given("interface") && f.given("network") {
		d.fail(f.get("network"), "give interface or network, not both: each says which address a host is reached by")
	}
	if good && l.Kind != LaunchSSH {
		for _, name := range []string{"user", "port", "config", "remote_dir"} {
			if f.given(name) {
				d.fail(f.get(name), "is for launch by ssh; the kind is %s", l.Kind)
			}
		}
	}
}

func (d *document) inject(at field, s *Scenario) {
	if !at.given() {
		return
	}
	i := &s.Inject
	i.Timeout, i.Journal = defaultInject, DefaultJournal
	f := d.mapping(at, injectFields)
	if !f.given("kind") {
		d.fail(at, "kind is missing; there are %s", strings.Join(injects(), ", "))
		return
	}
	good := scalar(d, f.get("kind"), &i.Kind, oneOf("way to take links down", injects(), nil))
	for _, x := range []text{
		{"down", &i.Down}, {"up", &i.Up}, {"probe", &i.Probe}, {"host", &i.Host}, {"fabric", &i.Fabric}, {"lab", &i.Lab},
		{"journal", &i.Journal},
	} {
		scalar(d, f.get(x.name), x.to, parseText)
	}
	scalar(d, f.get("timeout"), &i.Timeout, span(minTimeout, maxTimeout))
	if !good {
		return
	}
	needs := map[string][]string{
		InjectCommand: {"down", "up", "probe"}, InjectSSH: {"host", "down", "up", "probe"}, InjectIBPortState: {"fabric"}, InjectLab: {"lab"},
	}[i.Kind]
	for _, name := range needs {
		if !f.given(name) {
			d.fail(at, "%s is missing, which kind %s needs", name, i.Kind)
		}
	}
}

// parsePlain refuses what a remote shell would take for more than one word.
func parsePlain(s string) (string, error) {
	if s == "" || strings.HasPrefix(s, "-") || strings.ContainsAny(s, " \t\n'\"`$;&|<>()\\!*?{}") {
		return "", fmt.Errorf("%q: write one word, without quotes, blanks or signs that a shell knows", s)
	}
	return s, nil
}

var cpusRE = regexp.MustCompile(`^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$`)

func parseCPUs(s string) (string, error) {
	if !cpusRE.MatchString(s) {
		return "", fmt.Errorf("%q: write a list of processors, such as 0-15,32", s)
	}
	return s, nil
}

func parseNetwork(s string) (string, error) {
	if _, err := netip.ParsePrefix(s); err != nil {
		return "", fmt.Errorf("%q: write a network, such as 10.1.0.0/16", s)
	}
	return s, nil
}

func (s *Scenario) overrideTransport(o Overrides) error {
	if o.Transport != "" {
		v, err := oneOf("transport", transports(), nil)(o.Transport)
		if err != nil {
			return fmt.Errorf("--transport: %w", err)
		}
		s.Transport = v
		if v == MPI && s.Launch.Kind == LaunchLocal {
			s.Launch.Kind = LaunchStarted
		}
	}
	if o.IO != "" {
		v, err := oneOf("way of input and output", ios(), nil)(o.IO)
		if err != nil {
			return fmt.Errorf("--io: %w", err)
		}
		s.IO = v
	}
	if err := s.checkCluster(); err != nil {
		return fmt.Errorf("--transport %s: %w", s.Transport, err)
	}
	return s.checkTransport()
}

// checkTransport reports the first case that the transport cannot do.
func (s *Scenario) checkTransport() error {
	for _, c := range s.Cases {
		if err := c.suits(s.Transport); err != nil {
			return fmt.Errorf("case %q: %w", c.Name, err)
		}
	}
	return nil
}

// suits reports why a case cannot run over a transport.
func (c *Case) suits(transport string) error {
	switch {
	case transport == MPI && c.Routing == pinned:
		return errors.New("transport mpi cannot choose paths, so a pinned plan would be ignored; " +
			"write transport: tcp, or a routing whose tables choose, and have the network follow it")
	case transport != MPI && c.Mode == Ordered && c.tables() && c.Routing != "": // "": that is wrong already
		return fmt.Errorf("the plan of an ordered case brings its paths, which routing %s does not take; leave routing out", c.Routing)
	case transport != MPI && c.Barrier == MPIBarrier:
		return errors.New("barrier mpi needs transport mpi")
	}
	return nil
}
