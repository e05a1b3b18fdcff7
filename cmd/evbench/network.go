package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/atomicfile"
	"evbench/topology/ibnet"
	"evbench/topology/network"
	"evbench/topology/netyaml"
)

// maxNetworkFile bounds what is read of a file, unpacked.
const maxNetworkFile = 512 << 20

// maxList bounds what is read of a list with a name or two on a line: LIDs, roots,
// jobs, cables, hosts.
const maxList = 64 << 20

// networkFlags describe a network of any shape, but for where it comes from;
// network reads them.
func networkFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "down", Usage: "what is dead, `NAME[,NAME…]`: the cable at a port (s1_0/5), between two nodes (s1_0-s2_3, leaf0-spine3), a whole node (s2_3)"},
		&cli.StringFlag{Name: "down-random", Usage: "`N` random dead cables between switches more, or N% of them"},
		&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of everything random, `N`"},
		&cli.IntFlag{Name: "lmc", Usage: "number the LIDs anew, 2^`N` to a host (a notation: default 0)"},
		&cli.StringFlag{Name: "lids", Usage: "take LIDs from `FILE`, OpenSM's guid2lid"},
		&cli.StringFlag{Name: "roots", Usage: "`FILE` with the top switches, a name or GUID on a line (default: they are found)"},
	}
}

// A source is a network as the command line describes it.
type source struct {
	form  string // notation, ibnetdiscover or yaml
	whole *network.Network
	net   *network.Network // without what is down
	roots []network.Node   // nil where not given
}

// readSource reads a notation or a file, and what the flags say of it.
func readSource(c *cli.Context, src string) (*source, error) {
	if c.IsSet("lmc") && c.IsSet("lids") {
		return nil, usagef("--lids gives LIDs and LMC: --lmc says something else")
	}
	s, err := readNetwork(src, c.Int("lmc"))
	if err != nil {
		return nil, usage(err)
	}
	if s.form != formNotation && c.IsSet("lmc") {
		if s.whole, err = s.whole.Numbered(c.Int("lmc")); err != nil {
			return nil, usagef("--lmc: %w", err)
		}
	}
	if name := c.String("lids"); name != "" {
		if s.whole, err = withLIDs(s.whole, name); err != nil {
			return nil, usagef("--lids: %w", err)
		}
	}
	if s.net, err = degrade(c, s.whole); err != nil {
		return nil, err
	}
	if name := c.String("roots"); name != "" {
		if s.roots, err = readRoots(name, s.whole); err != nil {
			return nil, usagef("--roots: %w", err)
		}
	}
	return s, nil
}

const (
	formNotation = "notation"
	formIB       = "ibnetdiscover"
	formYAML     = "yaml"
)

// readNetwork reads the file of that name, if there is one, else a notation.
func readNetwork(src string, lmc int) (*source, error) {
	file, err := os.Open(src)
	if err != nil {
		if strings.Contains(src, "(") || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrInvalid) {
			n, err := network.Parse(src, lmc)
			return &source{form: formNotation, whole: n}, err
		}
		return nil, fmt.Errorf("%s: neither a file nor a notation such as FT(2;4,8)", src)
	}
	defer file.Close()
	data, err := unpacked(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src, err)
	}
	form, read := formIB, ibnet.Read
	if isYAML(data) {
		form, read = formYAML, netyaml.Read
	}
	n, err := read(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", src, err)
	}
	return &source{form: form, whole: n}, nil
}

// unpacked reads all of a file, unpacked if it is a gzip file.
func unpacked(file io.Reader) ([]byte, error) {
	var r io.Reader = bufio.NewReader(file)
	if magic, err := r.(*bufio.Reader).Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, err
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxNetworkFile+1))
	if len(data) > maxNetworkFile {
		return nil, fmt.Errorf("more than %d bytes", maxNetworkFile)
	}
	return data, err
}

var yamlLine = regexp.MustCompile(`^\s*("?[a-z_]+"?\s*:|[-{])`)

// isYAML reports whether the first line that says something begins a YAML
// document, and not a node of ibnetdiscover.
func isYAML(data []byte) bool {
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return yamlLine.Match(line)
		}
	}
	return false
}

func withLIDs(n *network.Network, name string) (*network.Network, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if n, err = ibnet.ReadGUID2LID(atomicfile.Bound(file, maxList), n); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}

// readRoots reads a file of switches.
func readRoots(name string, n *network.Network) ([]network.Node, error) {
	data, err := atomicfile.Read(name, maxList)
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

// degrade takes away what --down and --down-random say.
func degrade(c *cli.Context, n *network.Network) (*network.Network, error) {
	names, err := listed(c, "down")
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if n, err = n.Degrade(names); err != nil {
			return nil, usagef("--down: %w", err)
		}
	}
	s := c.String("down-random")
	if s == "" {
		return n, nil
	}
	num, percent := strings.CutSuffix(s, "%")
	count, err := strconv.Atoi(num)
	if err != nil || count < 0 || percent && count > 100 {
		return nil, usagef("--down-random %q: write a number of cables, or a share such as 5%%", s)
	}
	if percent {
		count = count * len(n.SwitchCables()) / 100
	}
	dead, err := n.Random(count, c.Uint64("seed"))
	if err != nil {
		return nil, usagef("--down-random: %w", err)
	}
	return n.Without(dead, nil), nil
}
