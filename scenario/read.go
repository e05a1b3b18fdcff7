package scenario

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/atomicfile"
	"evbench/internal/unit"
	"evbench/internal/yamldoc"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/topology"
	"evbench/transport"
)

// Defaults.
const (
	defaultDuration = 10 * time.Second
	defaultInterval = time.Second
	defaultTimeout  = 10 * time.Second
	defaultPhase    = 50 * time.Millisecond
	// MaxPhase is the longest phase.
	MaxPhase        = time.Minute
	defaultFragment = unit.Bytes(1 << 20) // where no rate is known
	defaultMTU      = 9000
	defaultCredits  = 2
	defaultWindow   = 3
)

// thesis is the preset of that name: 60 s of each synchronised case, 300 s of each other case, a
// sample every 5 s (thesis 5.5, 6.5).
const thesis = "thesis"

// Files read what a scenario names, in formats that are not its own. The zero value reads sizes as
// CSV, and no topology.
type Files struct {
	// Tree reads the tree of a file of a network. even says that it shows all cables as they are.
	Tree func(name string) (t *topology.Tree, even bool, err error)
	// HDF5 reads a file of sizes, .h5, as rows of bytes by source of so many servers.
	HDF5 func(name string, servers int) ([]uint32, error)
	// HDF5Trace reads a trace, .h5, as text for builder.ReadTrace.
	HDF5Trace func(name string) (io.Reader, error)
	// Networks open networks that are no trees.
	Networks Networks
	// Engines route trees, beside routing's own.
	Engines routing.Engines
}

// ReadFile reads a scenario that is a file itself, and may name others.
func ReadFile(path string, files Files) (*Scenario, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(path, atomicfile.Text(f), &files, files)
}

// Read reads one YAML document. name is its name in errors and, without folders and extension, the
// default name of the scenario. The error joins all errors, each an *Error, up to twenty. Read
// opens no file: only ReadFile takes sizes from one.
func Read(name string, r io.Reader) (*Scenario, error) { return Files{}.Read(name, r) }

// Read is Read for scenarios whose topology may be a notation of Networks, and whose routing one of
// Engines; files are not opened.
func (x Files) Read(name string, r io.Reader) (*Scenario, error) {
	return read(name, r, nil, x)
}

func read(name string, r io.Reader, files *Files, x Files) (*Scenario, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("%s: longer than %s; a scenario is a page of text", name, unit.Bytes(maxText))
	}
	doc, root := yamldoc.Parse(name, text, maxNodes)
	d := &document{Document: doc, files: files}
	s := &Scenario{Text: text, networks: x.Networks, Engines: x.Engines}
	if root.Given() {
		d.scenario(root, s)
	} else if doc.First() == nil {
		d.Fail(root, "empty; a scenario has at least topology and cases")
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// scenario reads the document into s: first all fields with a single value, then fields that depend
// on others. It skips checks that an earlier error makes impossible.
func (d *document) scenario(root field, s *Scenario) {
	t := &top{Scenario: s, files: d.files}
	rows := topFields(t)
	f := d.Mapping(root, rows.names())
	if !root.Group() {
		return
	}
	*s = Scenario{
		Text: s.Text, networks: s.networks, Engines: s.Engines, Name: nameOf(d.File), Rounds: Rounds{Limit: defaultLimit}, Control: true, Transport: transport.TCP,
		Common: builder.Common{Seed: 1, Warmup: 1, Interval: defaultInterval, Timeout: defaultTimeout, Deliver: builder.DeliverBuffer, Check: builder.CheckHeader, IO: IOAuto},
	}
	d.set(f, rows)
	d.tree(root, f, t)
	fabricKnown := d.fabric(f.Get("fabric"), s)
	d.event(root, f.Get("event"), s, fabricKnown)
	if f.Given("limit") && s.Rounds.Count > 0 {
		d.Fail(f.Get("limit"), "is for rounds: auto; there are %d", s.Rounds.Count)
	}
	d.cluster(f, s)
	s.Sim = defaultSim(s.Fabric.Kind)
	d.section(f.Get("sim"), simFields(&s.Sim))
	length := d.times(f, t)
	d.from = f.Get("failover")
	d.failover = d.failoverAt(d.from, nil)
	d.cases(root, f, s, length)
	d.once(f, s)
	d.answer(f.Get("answer"), s)
	d.interval(f, s)
}

func nameOf(file string) string {
	base := filepath.Base(file)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	base = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(base, "-"), "-._")
	if base == "" {
		return "scenario"
	}
	return base[:min(len(base), 64)]
}

func (d *document) tree(root field, f fields, t *top) {
	at, o := f.Get("topology"), &t.tree
	switch {
	case !at.Given():
		d.Fail(root.At("topology"), "is missing; write for example topology: FT(2;4,4)")
		return
	case t.found != nil && (f.Given("fill") || f.Given("spines") || f.Given("cables")):
		d.Fail(at, "is a file, which already states fill, spines and cables; leave them out")
		return
	case t.noTree != nil || f.Given("tables") || t.Differ && t.networks.Open != nil && d.asksBest(f):
		if f.Given("fill") || f.Given("spines") || f.Given("cables") {
			d.Fail(at, "is no tree of this notation; leave fill, spines and cables out")
			return
		}
		if t.Differ && !f.Given("tables") {
			t.because = fmt.Sprintf(" (the file is no whole tree of equal cables, where schedule %s is an order over tables; without it cases are those of a tree)", schedules.Best)
		}
		t.Differ = false // a network of any shape has their rates
		var err error
		if t.found, err = d.network(f, t); err != nil {
			d.Fail(at, "%v", err)
			return
		}
	case o.Ports == 0, f.Given("spines") && o.Spines == 0, !d.fill(f.Get("fill"), o):
		return // and that is said
	}
	tree, err := t.found, error(nil)
	if tree == nil {
		tree, err = topology.New(*o)
	}
	if err == nil && tree.Servers() > maxServers {
		err = fmt.Errorf("%d servers; a run has at most %d", tree.Servers(), maxServers)
	}
	if err != nil {
		d.Fail(at, "%v", err)
		return
	}
	if name, err := t.withRoles(tree); err != nil {
		d.Fail(f.Get(name), "%v", err)
	}
}

func (d *document) fill(f field, o *topology.Options) bool {
	if !f.Given() {
		return true
	}
	list := d.List(f)
	if len(list) != o.Leaves {
		d.Fail(f, "has %d entries; the tree has %d leaves, so write %d numbers 0..%d", len(list), o.Leaves, o.Leaves, o.Ports)
		return false
	}
	good := true
	o.Fill = make([]int, len(list))
	for i, e := range list {
		good = d.scalar(e, whole(&o.Fill[i], 0, o.Ports)) && good
	}
	return good
}

// fabric reports whether the link rate is settled: known, or known not to be.
func (d *document) fabric(at field, s *Scenario) bool {
	s.Fabric = Fabric{Kind: Lab, MTU: defaultMTU, Workers: Threads, Hash: HashHeaders}
	f, good := d.section(at.InFull("kind"), fabricFields(&s.Fabric))
	s.Fabric.Lossless = d.lossless(f.Get("lossless"))
	d.routes(f.Get("routes"), &s.Fabric)
	if err := s.Fabric.suitsWorkers(); err != nil {
		d.Fail(f.Get("workers"), "%v", err)
	}
	if err := s.Fabric.suitsLossless(); err != nil {
		d.Fail(f.Get("lossless"), "%v", err)
	}
	if err := s.Fabric.suitsAny(); s.Network != nil && err != nil {
		d.Fail(at, "%v%s", err, s.because)
	}
	return d.rate(f.Get("rate"), s) && good
}

// suitsWorkers says whether the fabric supports the requested workers.
func (f Fabric) suitsWorkers() error {
	if f.Kind == Emulate && f.Workers == Processes {
		return errors.New("links of the fabric emulate are clocks in one process: workers: threads only")
	}
	return nil
}

func (d *document) event(root, at field, s *Scenario, fabricKnown bool) {
	f, good := d.section(at, eventFields(&s.Event), "phase: not with fragment: one follows from the other")
	d.trace(root, f.Get("sizes"), s)
	if !d.sizes(f.Get("sizes"), s, &s.Event.Sizes) {
		return
	}
	if !good {
		return
	}
	if s.Event.Sizes.Table != nil {
		s.Event.roles = builder.RolesOf(s.Tree)
	}
	where := at
	if !at.Given() {
		where = root.At("event")
	}
	switch {
	case f.Given("fragment"), f.Given("phase"):
		if where = f.Get("fragment"); !where.Given() {
			where = f.Get("phase")
		}
	case s.Event.Sizes.Table != nil:
		s.Event.stated = true
	case s.Fabric.Rate > 0:
		s.Event.Phase = defaultPhase
	default:
		s.Event.Fragment = defaultFragment
	}
	if s.Event.AutoPhase && s.Fabric.Kind == Hosts {
		d.Fail(where, "%v", errAutoPhase)
		return
	}
	if !fabricKnown {
		return
	}
	if err := s.Event.settle(s.Fabric); err != nil {
		d.Fail(where, "%v", err)
	}
}

// settle computes the fragment from the phase if the phase was given, and checks it.
func (e *Event) settle(f Fabric) error {
	if e.Phase > 0 {
		if f.Rate == 0 {
			return errors.New("the link rate is not known, so a phase does not give a size: write fragment, or fabric.rate")
		}
		if e.Fragment = FragmentOf(f.Rate, e.Phase, f.MTU); e.Fragment < minFragment {
			return fmt.Errorf("phases of %s at %s leave no room for a fragment", short(e.Phase), f.Rate)
		}
	}
	e.scale()
	sizes := builder.Sizes{Mean: int(e.Fragment), Distribution: e.Sizes}
	if most := unit.Bytes(sizes.Max()); most > maxFragment {
		return fmt.Errorf("fragments of %s on average reach %s; the most is %s", e.Fragment, most, maxFragment)
	}
	return nil
}

// lasting returns the default duration of a case. Links that change while it runs need time, unless
// the scenario sets a duration.
type lasting func(mode modes.Mode, changing bool) time.Duration

func (d *document) times(f fields, t *top) lasting {
	s := t.Scenario
	given, other := s.Duration > 0, s.Duration
	switch {
	case given:
	case t.preset == thesis:
		s.Duration, other = 60*time.Second, 300*time.Second
	default:
		s.Duration = defaultDuration
		if s.Rounds.Count == 0 {
			s.Duration = min(max(defaultSlice, s.Interval), defaultDuration)
		}
		other = s.Duration
	}
	if t.preset == thesis && !f.Given("interval") {
		s.Interval = 5 * time.Second
	}
	return func(mode modes.Mode, changing bool) time.Duration {
		lasts := s.Duration
		if asynchronous(mode) {
			lasts = other
		}
		if changing && !given {
			return max(lasts, defaultDuration)
		}
		return lasts
	}
}

// interval checks the interval against the cases, which are known by now. A default adapts to a
// shorter case.
func (d *document) interval(f fields, s *Scenario) {
	name, least := s.shortest()
	switch {
	case s.Interval <= least:
	case f.Given("interval"):
		d.Fail(f.Get("interval"), "%s is longer than %s, which lasts %s", short(s.Interval), name, short(least))
	default:
		s.Interval = least
	}
}

// shortest returns the case with the shortest measurement.
func (s *Scenario) shortest() (name string, least time.Duration) {
	name, least = "the control", s.Duration
	if !s.Control && len(s.Cases) > 0 {
		name, least = "", maxDuration
	}
	for _, c := range s.Cases {
		if c.Duration < least || name == "" {
			name, least = fmt.Sprintf("case %q", c.Name), c.Duration
		}
	}
	return name, least
}
