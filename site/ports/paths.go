// Package ports answers: which switches does a connection pass on its way, by the source port that it leaves from?
//
// Switches of an Ethernet network with ECMP choose each next hop by a hash of the header: whoever knows which source
// port leads over which link chooses the path by choosing the port, without touching a switch. Each host asks for
// itself, without privilege: a SYN from the port with a small TTL dies at a switch, which answers by ICMP, and
// the kernel keeps the answer for the socket (IP_RECVERR). A connection from the same port with the usual TTL has the
// same header, and so the same path.
//
// Survey decides what is asked, how fast, and what answers mean; preflight.Trace owns the sockets. Paths is the result, a file.
// Nothing is guessed: a switch without an answer is unknown, and a port whose answers disagree is sprayed.
package ports

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"evbench/internal/atomicfile"
	"evbench/internal/lists"
)

// Paths is what is known of the paths between hosts, by source port.
type Paths struct {
	Time     time.Time // of the last answer
	Protocol string    // TCP or RoCE
	Port     int       // destination
	Hosts    []Host
	// Names are those of hops, where the network is known: "leaf0-spine1", from leaf0 into spine1.
	Names map[netip.Addr]string
	Slow  []Slow // cables that are slower than most; nobody asks for them
	Rows  []Row  // by Src, Dst, Port
}

// The protocols of probes, and of what is sent on the paths. A queue pair of RoCE v2 sends to RoCEPort from one of the ports
// that rocePorts begin; Linux makes it of the flow label of its address vector (rdma_flow_label_to_udp_sport).
const (
	TCP  = "tcp"
	RoCE = "rocev2"

	RoCEPort  = 4791
	rocePorts = 0xc000
)

// A Host is a name and the address of its connections.
type Host struct {
	Name string
	Addr netip.Addr
}

func (h Host) String() string { return h.Name + " " + h.Addr.String() }

// A Row is the path from one host to another, both by number, from a source port.
type Row struct {
	Src, Dst int
	// Port is that of Src. None: the two are behind one switch, and all ports lead the same way. Below 0: the way back of a
	// connection of Dst from that port, so Src's is the destination port of Paths.
	Port int
	// Hops are the switches after that of the source.
	Hops []Hop
}

// None is no port.
const None = 0

// A Hop is the address by which a switch answered: none where it did not, several where answers disagreed.
type Hop []netip.Addr

// String is the form of the file.
func (h Hop) String() string {
	if len(h) == 0 {
		return silentHop
	}
	return strings.Join(lists.Map(h, netip.Addr.String), "|")
}

const (
	silentHop  = "*"
	noPort     = "-"
	magic      = "# evbench paths 1"
	magicSlow  = "# evbench paths 2" // with slow cables, which a reader of form 1 would miss
	maxHosts   = 4096
	maxRowHops = 30
)

// Known reports whether each switch on the way has answered, always by the same address.
func (r Row) Known() bool {
	return !slices.ContainsFunc(r.Hops, func(h Hop) bool { return len(h) != 1 })
}

// Sprayed reports whether two probes of the port took two ways.
func (r Row) Sprayed() bool {
	return slices.ContainsFunc(r.Hops, func(h Hop) bool { return len(h) > 1 })
}

func compareRows(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst), cmp.Compare(a.Port, b.Port))
}

// Write writes the file: a header, and a row "src dst port hop hop …" for each port. A hop is *, where no answer came,
// and a|b, where answers disagreed.
func (p *Paths) Write(w io.Writer) error {
	out, first := bufio.NewWriter(w), magic
	if len(p.Slow) > 0 {
		first = magicSlow
	}
	fmt.Fprintf(out, "%s\n# time %s\n# protocol %s\n# port %d\n", first, p.Time.UTC().Format(time.RFC3339), p.Protocol, p.Port)
	for _, h := range p.Hosts {
		fmt.Fprintf(out, "# host %s\n", h)
	}
	for _, a := range slices.SortedFunc(maps.Keys(p.Names), netip.Addr.Compare) {
		fmt.Fprintf(out, "# hop %s %s\n", a, p.Names[a])
	}
	for _, s := range p.Slow {
		fmt.Fprintf(out, "# slow %s\n", s)
	}
	for _, r := range p.Rows {
		fmt.Fprintf(out, "%s %s %s", p.Hosts[r.Src].Name, p.Hosts[r.Dst].Name, p.portText(r.Port))
		for _, h := range r.Hops {
			fmt.Fprintf(out, " %s", h)
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// WriteFile writes the file, packed where its name ends with .gz.
func (p *Paths) WriteFile(name string) error {
	return atomicfile.Write(name, func(w io.Writer) error {
		if !strings.HasSuffix(name, ".gz") {
			return p.Write(w)
		}
		z := gzip.NewWriter(w)
		return errors.Join(p.Write(z), z.Close())
	})
}

// ReadFiles reads a file, or several of one network as one, of which some may have slow cables alone. A port that has moved between
// two of them is an error: one is out of date.
func ReadFiles(names ...string) (*Paths, error) {
	p := newParser()
	for _, name := range names {
		p.name = name + ": "
		text, err := atomicfile.Read(name, atomicfile.MaxTables)
		if err != nil {
			return nil, err
		}
		if err := p.read(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return p.paths, p.settle()
}

type parser struct {
	paths *Paths
	head  Paths  // what the header of this file says
	name  string // of this file, for errors
	form  string // its first line
	slow  []slowLine
	file  int
	hosts map[string]int
	seen  map[[3]int]seen
}

// A seen row is one of a file, by number.
type seen struct {
	Row
	file int
}

func newParser() *parser {
	return &parser{paths: &Paths{Names: map[netip.Addr]string{}}, hosts: map[string]int{}, seen: map[[3]int]seen{}}
}

func (p *parser) read(r io.Reader) error {
	p.file++
	p.head = Paths{}
	lines, n, slow := bufio.NewScanner(r), 0, len(p.slow)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		n++
		if err := p.line(n, lines.Text()); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch h := p.head; {
	case lines.Err() != nil:
		return lines.Err()
	case n == 0:
		return fmt.Errorf("is empty; a file of evbench paths begins with %q", magic)
	case len(p.slow) > slow && h.Protocol == "" && h.Hosts == nil: // and nothing else
		p.file--
		return nil
	case h.Protocol == "" || h.Port == 0 || !h.Time.After(time.Time{}) || len(h.Hosts) < 2:
		return errors.New("its header is not whole: time, protocol, port and two hosts or more are needed")
	}
	if p.head.Time.After(p.paths.Time) {
		p.paths.Time = p.head.Time
	}
	slices.SortFunc(p.paths.Rows, compareRows)
	return p.agree()
}

// agree holds the header of a file against that of the one before.
func (p *parser) agree() error {
	was, is := p.paths, p.head
	if p.file == 1 {
		was.Protocol, was.Port = is.Protocol, is.Port
	}
	if was.Protocol != is.Protocol || was.Port != is.Port {
		return fmt.Errorf("is of %s to port %d, the one before of %s to port %d", is.Protocol, is.Port, was.Protocol, was.Port)
	}
	return nil
}

func (p *parser) line(n int, text string) error {
	words := strings.Fields(text)
	switch {
	case n == 1:
		if p.form = strings.TrimSpace(text); p.form != magic && p.form != magicSlow {
			return fmt.Errorf("%.40q: a file of evbench paths begins with %q", text, magic)
		}
		return nil
	case len(words) == 0:
		return nil
	case words[0] == "#" && len(words) > 1 && words[1] == "slow":
		return p.slowLine(n, words[2:])
	case words[0] == "#":
		return p.header(words[1:])
	}
	return p.row(words)
}

// header reads a line of the header; other comments are nobody's business.
func (p *parser) header(words []string) (err error) {
	to := &p.head
	switch {
	case len(words) == 2 && words[0] == "time":
		to.Time, err = time.Parse(time.RFC3339, words[1])
	case len(words) == 2 && words[0] == "protocol":
		if to.Protocol = words[1]; to.Protocol != TCP && to.Protocol != RoCE {
			err = fmt.Errorf("protocol %q: there are %s and %s", words[1], TCP, RoCE)
		}
	case len(words) == 2 && words[0] == "port":
		to.Port, err = readPort(words[1])
	case len(words) == 3 && words[0] == "hop":
		var a netip.Addr
		a, err = netip.ParseAddr(words[1])
		p.paths.Names[a] = words[2]
	case len(words) == 3 && words[0] == "host":
		h := Host{Name: words[1]}
		if h.Addr, err = netip.ParseAddr(words[2]); err == nil {
			err = p.host(h)
		}
	}
	return err
}

func (p *parser) host(h Host) error {
	to := p.paths
	at := slices.IndexFunc(to.Hosts, func(o Host) bool { return o.Name == h.Name || o.Addr == h.Addr })
	switch {
	case slices.ContainsFunc(p.head.Hosts, func(o Host) bool { return o.Name == h.Name }) || len(to.Hosts) == maxHosts:
		return fmt.Errorf("host %s: is there twice, or there are more than %d", h.Name, maxHosts)
	case at < 0:
		p.hosts[h.Name] = len(to.Hosts)
		to.Hosts = append(to.Hosts, h)
	case to.Hosts[at].Name != h.Name:
		return fmt.Errorf("host %s: another host has its address %s", h.Name, h.Addr)
	case to.Hosts[at].Addr != h.Addr:
		return fmt.Errorf("host %s: has the address %s, in the file before %s", h.Name, h.Addr, to.Hosts[at].Addr)
	}
	p.head.Hosts = append(p.head.Hosts, h)
	return nil
}

func (p *parser) row(words []string) error {
	if len(words) < 3 || len(words) > 3+maxRowHops {
		return fmt.Errorf("%d words; a row is: src dst port hop hop …, with %d hops at most", len(words), maxRowHops)
	}
	var r Row
	for i, at := range []*int{&r.Src, &r.Dst} {
		h, ok := p.hosts[words[i]]
		if !ok {
			return fmt.Errorf("host %s: is not in the header", words[i])
		}
		*at = h
	}
	if r.Src == r.Dst {
		return fmt.Errorf("host %s: a path to itself", words[0])
	}
	err := p.agree()
	if err == nil {
		r.Port, err = p.paths.readFrom(words[2])
	}
	for i := 3; i < len(words) && err == nil; i++ {
		var hop Hop
		hop, err = readHop(words[i])
		r.Hops = append(r.Hops, hop)
	}
	if err != nil {
		return err
	}
	key := [3]int{r.Src, r.Dst, r.Port}
	was, there := p.seen[key]
	switch {
	case r.Port == None && len(r.Hops) > 0:
		return errors.New("a row without a port has no hops: the two hosts are behind one switch")
	case r.Port != None && len(r.Hops) == 0:
		return errors.New("a row with a port has hops: without one the two hosts are behind one switch, and the port is -")
	case there && was.file == p.file:
		return fmt.Errorf("%s: is there twice", strings.Join(words[:3], " "))
	case there && was.Known() && r.Known() && fmt.Sprint(was.Hops) != fmt.Sprint(r.Hops):
		return fmt.Errorf("%s takes another path than in the one before: ask again with evbench paths", p.paths.name(r))
	case !there:
		p.seen[key] = seen{r, p.file}
		p.paths.Rows = append(p.paths.Rows, r)
	}
	return nil
}

// portText is the form of Row.Port in files: of the way back "7000:20001", from the destination port to the other.
func (p *Paths) portText(port int) string {
	switch {
	case port == None:
		return noPort
	case port < 0:
		return fmt.Sprintf("%d:%d", p.Port, -port)
	}
	return strconv.Itoa(port)
}

// readFrom reads that form.
func (p *Paths) readFrom(text string) (int, error) {
	if text == noPort {
		return None, nil
	}
	from, to, back := strings.Cut(text, ":")
	if !back {
		return readPort(text)
	}
	port, err := readPort(to)
	if err == nil && from != strconv.Itoa(p.Port) {
		err = fmt.Errorf("port %q: the way back of a connection leaves from its destination port, which the header has as %d", text, p.Port)
	}
	return -port, err
}

func readPort(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 65535 {
		return 0, fmt.Errorf("port %q: must be 1..65535", text)
	}
	return n, nil
}

func readHop(text string) (hop Hop, err error) {
	if text == silentHop {
		return nil, nil
	}
	for _, w := range strings.Split(text, "|") {
		a, err := netip.ParseAddr(w)
		if err != nil || slices.Contains(hop, a) {
			return nil, fmt.Errorf("hop %q: is no address, nor * (no answer), nor a|b (answers that disagree)", text)
		}
		hop = append(hop, a)
	}
	return hop, nil
}
