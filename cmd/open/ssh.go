package open

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"evbench/controller/wire"
	"evbench/fabric"
	"evbench/internal/atomicfile"
	"evbench/internal/hostlist"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/scenario"
	"evbench/site/host"
)

// SSH is a run whose servers are started by ssh: it checks the hosts, and launches.
type SSH struct {
	Client *host.SSH

	launch  scenario.Launch
	over    string // transport
	servers []host.Server
	program Program
	// advertise replaces the host of the control address; "": no replacement.
	advertise string
	addresses map[string][]string // for data, by host
	facts     map[string]host.Facts
	abort     context.Context // its end stops the start
}

// NewSSH returns a run of a scenario with its servers on the given hosts, to which this program is
// copied. The end of abort stops the start.
func (p Program) NewSSH(abort context.Context, s *scenario.Scenario, servers []host.Server) (*SSH, error) {
	if err := p.missing(s.Transport); err != nil {
		return nil, proc.Usage(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("this binary: %w", err)
	}
	client, err := host.NewSSH(self, s.Launch.RemoteDir)
	if err != nil {
		return nil, proc.Usagef("launch.%w", err)
	}
	client.User, client.Port, client.Config = s.Launch.User, s.Launch.SSHPort, s.Launch.Config
	return &SSH{Client: client, launch: s.Launch, over: s.Transport, servers: servers, program: p, abort: abort}, nil
}

// A Cabled reads the file of a network, whose cables place its hosts; main hands it in.
type Cabled func(name string) (*host.Placement, error)

// PlaceServers assigns each server of a scenario to a host, without contacting any. Without cabled, launch.placement
// is a list of leaves and their hosts.
func PlaceServers(s *scenario.Scenario, cabled Cabled) ([]host.Server, error) {
	names, err := host.Expand(s.Launch.Hosts)
	if err != nil {
		return nil, fmt.Errorf("launch.hosts: %w", err)
	}
	if addr := s.Launch.Control; addr != "" {
		if kind, _, err := wire.SplitAddress(addr); err != nil || kind == "unix" {
			return nil, fmt.Errorf("launch.control: %q: write tcp:HOST:PORT or tls:HOST:PORT, where workers reach this machine", addr)
		}
	}
	placement, err := readPlacement(s.Launch.Placement, cabled)
	if err != nil {
		return nil, fmt.Errorf("launch.placement: %w", err)
	}
	servers, err := host.Place(s.Tree.Shape, names, placement)
	if err != nil {
		return nil, fmt.Errorf("launch.%w", err)
	}
	for _, at := range servers {
		if at.Address != "" && s.Launch.Interface+s.Launch.Network != "" {
			return nil, fmt.Errorf("launch.hosts: %s names the address of an adapter: leave interface and network out", at.Name())
		}
		if port := s.Launch.DataPort + at.Nth; port > 65_535 {
			return nil, fmt.Errorf("launch.data_port: %s has server %d at port %d", at.Host, at.Nth+1, port)
		}
	}
	return servers, nil
}

// readPlacement reads a file of leaves and their hosts, or of a network, whose cables determine
// them; nil without a file.
func readPlacement(name string, cabled Cabled) (*host.Placement, error) {
	if name == "" {
		return nil, nil
	}
	data, err := atomicfile.Read(name, atomicfile.MaxList)
	if err != nil {
		return nil, err
	}
	if host.IsPlacement(data) {
		p, err := host.ReadPlacement(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return p, nil
	}
	if cabled == nil {
		return nil, fmt.Errorf("%s: no list of leaves and their hosts, and this program reads no networks", name)
	}
	return cabled(name)
}

func WritePlaces(w io.Writer, s *scenario.Scenario, cabled Cabled) error {
	servers, err := PlaceServers(s, cabled)
	if err != nil {
		return proc.Usage(err)
	}
	for leaf := range s.Tree.Leaves() {
		if on := servers[s.Tree.First(leaf):][:s.Tree.ServersOn(leaf)]; len(on) > 0 {
			fmt.Fprintf(w, "  leaf%d: %s\n", leaf, hostlist.Compress(lists.Map(on, host.Server.Name)))
		}
	}
	return nil
}

// Check checks all hosts, and then knows their way to this machine: there the controller is to
// listen. One unusable host is an error: nothing is started.
func (r *SSH) Check(ctx context.Context) (listen string, err error) {
	reports, problems, err := r.Ask(ctx)
	if err != nil {
		return "", err
	}
	if len(problems) > 0 {
		return "", proc.Usage(&host.BadHosts{What: "cannot be used", Total: len(reports), Problems: problems})
	}
	r.addresses, r.facts = map[string][]string{}, map[string]host.Facts{}
	for _, a := range reports {
		r.addresses[a.Host], r.facts[a.Host] = a.Answer.Addresses, a.Answer.Facts
	}
	return r.listen(reports)
}

// Ask asks all hosts what Check asks, and more by arguments of evbench host.
func (r *SSH) Ask(ctx context.Context, more ...string) ([]host.Report, []host.Problem, error) {
	asks, want, err := r.questions()
	if err != nil {
		return nil, nil, err
	}
	for i := range asks {
		asks[i].Args = append(asks[i].Args, more...)
	}
	reports, err := r.Client.Check(ctx, asks, want)
	return reports, host.Judge(reports, want), err
}

func (r *SSH) questions() ([]host.Ask, host.Needs, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, host.Needs{}, fmt.Errorf("uname: %w", err)
	}
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil, host.Needs{}, err
	}
	l := r.launch
	want := host.Needs{System: text(u.Sysname[:]) + " " + text(u.Machine[:]), Version: r.program.Version, Bytes: info.Size(), Dir: l.RemoteDir}
	var asks []host.Ask
	for _, h := range host.Counted(r.servers) {
		args := []string{"--port", strconv.Itoa(l.DataPort), "--count", strconv.Itoa(h.Servers)}
		if l.Interface != "" {
			args = append(args, "--interface", l.Interface)
		}
		if l.Network != "" {
			args = append(args, "--network", l.Network)
		}
		if own := r.adapters(h.Host); own != nil {
			args = append(args, "--address", strings.Join(own, ","))
		}
		asks = append(asks, host.Ask{Host: h.Host, Args: args})
	}
	return asks, want, nil
}

// adapters are the adapter addresses of a host, nil if it is one server or the launch chooses.
func (r *SSH) adapters(name string) (out []string) {
	for _, at := range r.servers {
		if at.Host == name && at.Address != "" {
			out = append(out, at.Address)
		}
	}
	return out
}

// beside are the processors near the adapter of a server; "" if unknown.
func (r *SSH) beside(at host.Server) string {
	a, err := netip.ParseAddr(at.Address)
	if err != nil {
		return ""
	}
	return r.facts[at.Host].Of(a).CPUs
}

func text(c []byte) string {
	b, _, _ := bytes.Cut(c, []byte{0})
	return string(b)
}

// listen returns the address for the controller: that of the scenario, or a free port at the
// address that the hosts saw the questions come from. If that is not an address of this machine, as
// behind a jump host, the right one is unknown: listen returns a port at all addresses, and workers
// get the machine's name.
func (r *SSH) listen(reports []host.Report) (string, error) {
	if r.launch.Control != "" {
		return r.launch.Control, nil
	}
	here, err := host.Addresses()
	if err != nil {
		return "", err
	}
	if at := host.Reach(reports, here); at != "" {
		return "tcp:" + net.JoinHostPort(at, "0"), nil
	}
	if r.advertise, err = os.Hostname(); err != nil {
		return "", errors.Join(err, errors.New("write launch.control: tcp:HOST:PORT, where workers reach this machine"))
	}
	return "tcp::0", nil
}

// Open makes the fabric: plain hosts.
func (r *SSH) Open(_ context.Context, s *scenario.Scenario) (fabric.Fabric, error) {
	return plainHosts(s, r), nil
}

// MayOpen implements fabric.Launcher. Other machines have limits of their own.
func (r *SSH) MayOpen(_, _ int) error { return nil }

func (r *SSH) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	controller := j.Controller
	if r.advertise != "" {
		kind, hostport, err := wire.SplitAddress(controller)
		if err != nil {
			return nil, err
		}
		_, port, err := net.SplitHostPort(hostport)
		if err != nil {
			return nil, err
		}
		controller = kind + ":" + net.JoinHostPort(r.advertise, port)
	}
	var start []host.Worker
	for _, at := range r.servers {
		own, cpus := r.addresses[at.Host], r.launch.CPUs
		if at.Address != "" {
			own, cpus = []string{at.Address}, cmp.Or(cpus, r.beside(at))
		}
		data := Addresses(lists.Map(own, func(a string) string { return net.JoinHostPort(a, strconv.Itoa(r.launch.DataPort+at.Nth)) }))
		args := []string{
			"--controller", controller, "--token-file", "-", "--end-with-stdin", "--transport", r.over,
			"--id", strconv.Itoa(j.Tree.Position(at.Rank)), "--data", data.String(),
		}
		if cpus != "" {
			args = append(args, "--cpus", cpus)
		}
		start = append(start, host.Worker{Host: at.Host, Name: j.Tree.ServerName(at.Rank), Args: args})
	}
	return r.Client.Start(ctx, host.Start{Workers: start, Token: j.Token, Abort: r.abort, Failed: j.Failed})
}
