package main

import (
	"errors"
	"fmt"
	"io"

	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/companion/linux"
	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/site/engines"
	"evbench/site/engines/opensm"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/site/network"
	"evbench/study/jobs"
)

func routesNetwork(c *cli.Context) (*netfile.Source, error) {
	s, err := readSource(c, c.String("topology"))
	if err != nil {
		return nil, err
	}
	return s, routable(s, c.String("topology"))
}

// routable refuses the network of that name if no node has a LID.
func routable(s *netfile.Source, name string) error {
	if s.Whole.MaxLID() == 0 {
		return usagef("%s: no node has a LID, so there is nothing to route to; give --lids FILE or --lmc N", name)
	}
	return nil
}

func readRoutes(name string, n *network.Network) (*lft.Tables, error) {
	return openedTables(name, func(in io.Reader) (*lft.Tables, error) {
		t, err := lft.Read(in, n)
		return t, wrongIn(name, err)
	})
}

// openedTables is opened for a text of tables, unpacked if it is a gzip file.
func openedTables[T any](name string, read func(io.Reader) (T, error)) (T, error) {
	return opened(name, func(in io.Reader) (x T, err error) {
		return read(atomicfile.Bound(atomicfile.Text(in), atomicfile.MaxTables))
	})
}

func computeRoutes(c *cli.Context, s *netfile.Source) (*lft.Tables, error) {
	name := c.String("engine")
	if name == "" {
		return nil, usagef("--engine is missing; there are %s", strings.Join(engines.Names(), ", "))
	}
	o := engines.Options{Roots: s.Roots, Seed: c.Uint64("seed"), Lanes: c.Int("lanes"), Partial: c.Bool("partial")}
	var err error
	if o.Bits, err = pathBits(c, s.Net); err != nil {
		return nil, err
	}
	if o.Previous, err = previousRoutes(c, s); err != nil {
		return nil, err
	}
	if o.Weights, err = routesWeights(c, s.Net); err != nil {
		return nil, err
	}
	if c.Bool("restart") {
		o.Restart = new(opensm.Validity)
	}
	if name == "file" {
		if c.String("file") == "" {
			return nil, usagef("engine file: --file is missing")
		}
		return readRoutes(c.String("file"), s.Net)
	}
	start := time.Now()
	t, err := proc.Made(c.Context, func() (*lft.Tables, error) { return engines.Compute(name, s.Net, o) })
	if err != nil {
		return nil, usage(err)
	}
	if c.Bool("time") {
		fmt.Fprintf(c.App.ErrWriter, "computed in %.1f ms\n", time.Since(start).Seconds()*1e3)
	}
	if o.Restart != nil && !c.Bool("quiet") {
		if err := o.Restart.WriteText(c.App.ErrWriter); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// writeIP writes the tables of a tree as input for "ip -batch", node after node, or for FRR, switch after switch; routes
// install --target iproute writes a file for each node.
func writeIP(l *lft.Tables, whole *network.Network, form string, w io.Writer) error {
	t, err := engines.OfNetwork(l, whole)
	if err != nil {
		return usagef("--format %s: %w", form, err)
	}
	b, err := linux.OfTables(t, l.Engine)
	if err != nil {
		return usagef("--format %s: %w", form, err)
	}
	if form == "frr" {
		return b.WriteFRR(w)
	}
	return b.WriteNodes(w)
}

func routesComputeAction(c *cli.Context) error {
	s, err := routesNetwork(c)
	if err != nil {
		return err
	}
	t, err := computeRoutes(c, s)
	if err != nil {
		return err
	}
	return writeRoutes(c, t, s)
}

// writeRoutes writes tables by --format; none writes nothing.
func writeRoutes(c *cli.Context, t *lft.Tables, s *netfile.Source) error {
	form := c.String("format")
	ip := func(w io.Writer) error { return writeIP(t, s.Whole, form, w) }
	write := map[string]func(io.Writer) error{"lft": t.WriteSaved, "json": t.WriteJSON, "ip": ip, "frr": ip}[form]
	if write != nil {
		if err := writeLong(c, write); err != nil {
			return err
		}
	}
	if c.Bool("quiet") {
		return nil
	}
	r := lft.Examine(t, lft.Extent{Roots: s.Roots, ReachOnly: true, Disconnected: s.Whole.Disconnected(), LanesLost: form == "lft"})
	if form == "ip" || form == "frr" { // Ethernet drops what blocks
		r.Deadlocks = &lft.Deadlocks{}
	}
	a := r.Answer()
	if !r.Deadlocks.Free() {
		a.Why = append(a.Why, "dfsssp and updn have tables without that; evbench routes check says where")
	}
	a.Why = append(a.Why, fmt.Sprintf("engine %s: %s on %s", t.Engine, show.Plural(int(t.LIDs-1), "LID", "LIDs"), show.Plural(t.Net.Switches(), "switch", "switches")))
	if t.Note != "" {
		a.Why = append(a.Why, t.Note)
	}
	return a.WriteText(answerTo(c))
}

func routesExportAction(c *cli.Context) error {
	t, s, err := routesOf(c)
	if err != nil {
		return err
	}
	return writeRoutes(c, t, s)
}

// routesOf reads the tables in the argument, or computes them if --engine is given.
func routesOf(c *cli.Context) (*lft.Tables, *netfile.Source, error) {
	if c.Args().Present() == (c.String("engine") != "") {
		return nil, nil, usagef("%s: either FILE, - for standard input, or --engine", c.Command.Name)
	}
	s, err := routesNetwork(c)
	if err != nil {
		return nil, nil, err
	}
	var t *lft.Tables
	if c.Args().Present() {
		t, err = readRoutes(c.Args().First(), s.Net)
	} else {
		t, err = computeRoutes(c, s)
	}
	return t, s, err
}

func routesDiffAction(c *cli.Context) error {
	if c.Args().Get(0) == "-" && c.Args().Get(1) == "-" {
		return usage(errors.New("diff: only one of the two can be standard input"))
	}
	s, err := routesNetwork(c)
	if err != nil {
		return err
	}
	var t [2]*lft.Tables
	for i := range t {
		if t[i], err = readRoutes(c.Args().Get(i), s.Net); err != nil {
			return err
		}
	}
	d, err := lft.Diff(t[0], t[1])
	if err != nil {
		return usage(err)
	}
	return printed(c, answer.Document{Answer: d.Answer(), Text: d.WriteText, Schema: "evbench/routes-diff/1", Fields: d})
}

func routesCheckAction(c *cli.Context) error {
	t, s, err := routesOf(c)
	if err != nil {
		return err
	}
	w, err := routesWeights(c, s.Net)
	if err != nil {
		return err
	}
	if name := c.String("sl"); name != "" {
		if _, err := openedTables(name, func(in io.Reader) (_ struct{}, err error) { return struct{}{}, wrongIn("--sl "+name, t.ReadLevels(in)) }); err != nil {
			return err
		}
	}
	r := lft.Examine(t, lft.Extent{
		Weights: w, Roots: s.Roots, First: c.Int("first"), Permutations: 64, Bisections: 64,
		ReachOnly: c.Bool("reach"), Disconnected: s.Whole.Disconnected(), Seed: c.Uint64("seed"),
	})
	r.Network = c.String("topology")
	return judged(c, r.Valid, answer.Document{Answer: r.Answer(), Text: r.WriteText, Fields: r})
}

// previousRoutes reads the tables of --previous for their own network: as the file says, else as
// the flags say, else the network without failures if it fits. nil without such tables.
func previousRoutes(c *cli.Context, s *netfile.Source) (*lft.Tables, error) {
	file, told := c.String("previous"), ""
	for _, flag := range []string{"previous-down", "previous-topology"} {
		if c.IsSet(flag) {
			told = flag
		}
	}
	if file == "" {
		return nil, nil
	}
	n, err := previousNetwork(c, s)
	if err != nil {
		return nil, err
	}
	said := false
	t, err := openedTables(file, func(in io.Reader) (t *lft.Tables, err error) {
		t, said, err = lft.ReadSaved(in, n)
		return t, wrongIn(file, err)
	})
	switch {
	case err != nil:
		return nil, err
	case said && told != "":
		return nil, usagef("--%s: %s already states the network of its tables", told, file)
	case said:
		return t, nil
	}
	if err := opensm.Fits(t, told == ""); err != nil && told == "" {
		return nil, usagef("%s does not state the network of its tables, and that was not %s without failures: %w; give --previous-down", file, c.String("topology"), err)
	} else if err != nil {
		return nil, usagef("%s was not made for the network of --%s: %w", file, told, err)
	}
	if told == "" && !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "note: %s does not state what was dead when its tables were made: evbench assumes nothing, as --previous-down is missing\n", file)
	}
	return t, nil
}

func previousNetwork(c *cli.Context, s *netfile.Source) (*network.Network, error) {
	n := s.Whole
	if src := c.String("previous-topology"); src != "" {
		old, err := readWhole(c, src)
		if err != nil {
			return nil, err
		}
		n = old.Whole
	}
	n, err := n.Degrade(networkNames(c, "previous-down", n))
	return n, wrongIn("--previous-down", err)
}

// routesWeights reads the bytes that each host receives: --weights, or --jobs. nil if neither is
// given.
func routesWeights(c *cli.Context, n *network.Network) (*lft.Weights, error) {
	file, list := c.String("weights"), c.String("jobs")
	weighted := slices.ContainsFunc(strings.Split(c.String("engine"), ","), func(e string) bool { return strings.TrimSpace(e) == engines.FtreeWeighted })
	switch {
	case file == "" && list == "" && weighted:
		return nil, usagef("engine %s: --weights or --jobs is missing", engines.FtreeWeighted)
	case file == "" && list == "":
		return nil, nil
	case list == "-":
		return nil, usagef("--jobs -: give a file")
	case !weighted && c.Command.Name != "check":
		return nil, usagef("weights are for the engine %s, and for routes check", engines.FtreeWeighted)
	case list != "":
		return jobWeights(list, n)
	}
	f, err := atomicfile.Open(file)
	if err != nil {
		return nil, usage(err)
	}
	defer f.Close()
	w, err := lft.ReadWeights(atomicfile.Bound(atomicfile.Text(f), atomicfile.MaxList), n)
	return w, wrongIn("--weights "+file, err)
}

func jobWeights(file string, n *network.Network) (*lft.Weights, error) {
	list, err := jobs.ReadList(file)
	if err != nil {
		return nil, err
	}
	w, err := jobs.Weights(n, list)
	return w, wrongIn("--jobs "+file, err)
}
