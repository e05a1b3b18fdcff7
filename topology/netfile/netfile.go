// Package netfile answers: which network is meant by a notation or by the name of a file, of
// any of the forms that there are, and what do lists beside it say of its nodes? It changes
// no file.
package netfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"evbench/internal/atomicfile"
	"evbench/topology/network"
)

// maxFile bounds what is read of a file, unpacked.
const maxFile = 512 << 20

// A Source is a network, and what is dead in it.
type Source struct {
	Form  string // Notation, IB, YAML, Slurm or Ibdiagnet
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
)

// Read reads the file of that name, if there is one, else a notation.
func Read(src string, lmc int) (*Source, error) {
	file, err := os.Open(src)
	if err != nil {
		if strings.Contains(src, "(") || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrInvalid) {
			n, err := network.Parse(src, lmc)
			return &Source{Form: Notation, Whole: n, Net: n}, err
		}
		return nil, fmt.Errorf("%s: neither a file nor a notation such as FT(2;4,8)", src)
	}
	defer file.Close()
	data, err := unpacked(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src, err)
	}
	form, read := IB, ReadIB
	switch first := firstLine(data); {
	case slurmLine.Match(first):
		form, read = Slurm, ReadSlurm
	case yamlLine.Match(first):
		form, read = YAML, ReadYAML
	case tables.Match(data):
		form, read = Ibdiagnet, ReadIbdiagnet
	}
	n, err := read(bytes.NewReader(data))
	if err == nil && form == Slurm { // which knows no LIDs
		n, err = n.Numbered(lmc)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src, err)
	}
	return &Source{Form: form, Whole: n, Net: n}, nil
}

// unpacked reads all of a file, unpacked if it is a gzip file.
func unpacked(file io.Reader) ([]byte, error) {
	var r io.Reader = bufio.NewReader(file)
	if magic, err := r.(*bufio.Reader).Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(atomicfile.Text(atomicfile.Bound(r, maxFile)))
}

var yamlLine = regexp.MustCompile(`^\s*("?[a-z_]+"?\s*:|[-{])`)

// firstLine returns the first line that says something.
func firstLine(data []byte) []byte {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// WithLIDs returns the network with LIDs from a file, OpenSM's guid2lid.
func WithLIDs(n *network.Network, name string) (*network.Network, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if n, err = ReadGUID2LID(atomicfile.Bound(file, atomicfile.MaxList), n); err != nil {
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
