// Package netfile answers: which network does a notation or a file of any supported form describe,
// and what do lists beside it say about its nodes? It changes no file.
package netfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"evbench/internal/atomicfile"
	"evbench/internal/hostlist"
	"evbench/site/network"
	"evbench/topology"
)

// maxFile bounds the bytes read from a file, unpacked.
const maxFile = 512 << 20

// A Source is a network, with its dead parts.
type Source struct {
	Form  string // Notation, IB, YAML, Slurm, Ibdiagnet, LinkInfo, LST, NetDump or Edges
	Whole *network.Network
	Net   *network.Network // without what is dead
	Roots []network.Node   // nil where not given
}

// The forms of a source.
const (
	Notation  = "notation"
	IB        = "ibnetdiscover"
	YAML      = "yaml"
	Slurm     = "topology.conf"
	Ibdiagnet = "ibdiagnet"
	LinkInfo  = "iblinkinfo"
	LST       = "opensm-subnet.lst"
	NetDump   = "net_dump"
	Edges     = "cables"
)

// Read reads the file of that name, if there is one, or several with a comma between, or else a notation.
func Read(src string, lmc int) (*Source, error) {
	file, err := atomicfile.Open(src)
	if names := Rails(src); errors.Is(err, os.ErrNotExist) && names != nil {
		return readRails(names)
	}
	if errors.Is(err, atomicfile.ErrDevice) {
		return nil, err
	}
	if err != nil {
		if strings.Contains(src, "(") || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrInvalid) {
			n, err := network.Parse(src, lmc)
			return &Source{Form: Notation, Whole: n, Net: n}, err
		}
		return nil, fmt.Errorf("%s: neither a file nor a notation such as FT(2;4,8)", src)
	}
	defer file.Close()
	data, err := io.ReadAll(atomicfile.Bound(atomicfile.Text(file), maxFile))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src, err)
	}
	form, read := IB, ReadIB
	first := firstLine(data)
	switch {
	case lstLine.Match(first):
		form, read = LST, ReadLST
	case dumpHead.Match(first):
		form, read = NetDump, ReadNetDump
	case slurmLine.Match(first):
		form, read = Slurm, ReadSlurm
	case yamlLine.Match(first) && slurmYAML.Match(data):
		form, read = Slurm, ReadSlurmYAML
	case yamlLine.Match(first):
		form, read = YAML, ReadYAML
	case linkHead.Match(first):
		form, read = LinkInfo, ReadLinkInfo
	case bytes.Contains(data, []byte("START_NODES")) && tables.Match(data):
		form, read = Ibdiagnet, ReadIbdiagnet
	case edgeLine().Match(first) && !ibLine().Match(data) && named(data) == "":
		form, read = Edges, ReadEdges
	}
	n, err := read(bytes.NewReader(data))
	if err != nil {
		if what := named(data); what != "" {
			err = errors.New(what)
		} else if _, other := errors.AsType[*unreadError](err); other || form == YAML && !ownYAML().Match(data) {
			err = fmt.Errorf("%s: no form of a network that is read; give the output of ibnetdiscover, or %s", brief(string(first)), asCables)
		}
	}
	if err == nil && (form == Slurm || form == Edges) { // which know no LIDs
		n, err = n.Numbered(lmc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src, err)
	}
	if note := n.HostsNote(); note != "" {
		n.Notes = append(n.Notes, note)
	}
	return &Source{Form: form, Whole: n, Net: n}, nil
}

// Tree returns the tree that the network of a file is. A tree with names of its own is given to
// commands as this file. even says that each cable carries one message at a time, at one rate, and is a link of the tree.
func Tree(name string) (t *topology.Tree, even bool, err error) {
	s, err := Read(name, 0)
	if err != nil {
		return nil, false, err
	}
	p, err := network.TreeOf(s.Whole)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", name, err)
	}
	if n := p.Tree.Names(); n != nil {
		n.Flags = []string{"-t", name}
	}
	r := p.Rates()
	return p.Tree, !r.Faster && len(r.Slow)+len(r.Hosts) == 0 && p.Exact(&p.Tree.Live), nil
}

// ownYAML is a field of a network in YAML.
var ownYAML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)\b(?:notation|hosts|switches|cables)"?\s*:`) })

var yamlLine = regexp.MustCompile(`^\s*("?[a-z_]+"?\s*:|[-{])`)

// firstLine returns the first line with content.
func firstLine(data []byte) []byte {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !warning.Match(line) {
			return line
		}
	}
	return nil
}

// WithLIDs returns the network with LIDs from a file, OpenSM's guid2lid.
func WithLIDs(n *network.Network, name string) (*network.Network, error) {
	file, err := atomicfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if n, err = ReadGUID2LID(atomicfile.Bound(atomicfile.Text(file), atomicfile.MaxList), n); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// ReadRoots reads a file of switches.
func ReadRoots(name string, n *network.Network) ([]network.Node, error) {
	data, err := atomicfile.Read(name, atomicfile.MaxList)
	if err != nil {
		return nil, err
	}
	x := network.Names(n)
	var out []network.Node
	for i, line := range strings.Split(string(data), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		v, err := x.Node(line)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, i+1, err)
		}
		if n.IsHost(v) {
			return nil, fmt.Errorf("%s: line %d: %s is a host, not a switch", name, i+1, line)
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: names no switch", name)
	}
	return out, nil
}

// HostsText returns the content of a file of hosts or, if there is no such file, the list itself,
// with its name for errors.
func HostsText(list string) (text []byte, name string, err error) {
	text, err = atomicfile.Read(list, atomicfile.MaxList)
	if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG)) && !strings.Contains(list, "/") {
		return []byte(list), "no file " + hostlist.Short(list) + ", and as a list", nil
	}
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s: names no host", list)
	}
	return text, list, err
}

// ReadHosts reads hosts of a network from a file, or the list itself.
func ReadHosts(list string, n *network.Network) (network.Job, error) {
	return readHosts(list, n, network.ReadJob)
}

var spanRE = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(server|h)(\d+)-(\d+)\b`) })

// ReadRole is ReadHosts for the hosts that read, or build, which may be one: also server0-8 or h0-8.
func ReadRole(list string, n *network.Network) (network.Job, error) {
	return readHosts(spanRE().ReplaceAllString(list, "$1[$2-$3]"), n, network.ReadSome)
}

func readHosts(list string, n *network.Network, read func(io.Reader, *network.Network) (network.Job, error)) (network.Job, error) {
	text, name, err := HostsText(list)
	if err != nil {
		return network.Job{}, err
	}
	plain, _, err := network.Addresses(string(text), n)
	var job network.Job
	if err == nil {
		job, err = read(strings.NewReader(plain), n)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return job, err
}
