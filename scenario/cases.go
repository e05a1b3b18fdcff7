package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"evbench/barrier"
	"evbench/builder"
	"evbench/builder/modes"
	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/internal/yamldoc"
	"evbench/routing"
	"evbench/scheduler/schedules"
	"evbench/transport"
)

// noSchedule is the explicit form of a case without a schedule.
const noSchedule = "none"

var modeAlias = map[string]string{"sync": string(modes.Sync), "unsync": string(modes.Unsync)}

// An entry is one case as written, with one choice of the matrix.
type entry struct {
	self   field
	f      fields
	varied []string // fields of the matrix that differ between cases
}

// at returns the field of that name, or the case where it is missing.
func (e entry) at(name string) field {
	if e.f.Given(name) {
		return e.f.Get(name)
	}
	return e.self
}

func (d *document) cases(root field, f fields, s *Scenario, length lasting) {
	written := d.written(root, f)
	matrix := d.Mapping(f.Get("matrix"), matrixFields(&Case{}, nil, maxServers, nil).names())
	d.disjoint(written, matrix)
	if !d.fewEnough(f, matrix, len(written)) {
		return
	}
	choices, varied := d.product(matrix)
	var names []naming
	for _, w := range written {
		for _, choice := range choices {
			e := entry{self: w.self, f: w.f.With(choice), varied: varied}
			c := d.oneCase(e, s, length)
			s.Cases = append(s.Cases, c)
			names = append(names, naming{e.f.Get("name"), c.labels(varied)})
		}
	}
	d.nameAll(s.Cases, names)
}

// written returns the cases of the document before the matrix. Without cases, and with a matrix, it
// returns one empty case.
func (d *document) written(root field, f fields) []entry {
	switch {
	case f.Given("cases"):
		list := d.List(f.Get("cases"))
		out := lists.Map(list, func(at field) entry {
			return entry{self: at, f: d.Mapping(at, caseFields(&Case{}, nil, maxServers, nil).names())}
		})
		if list != nil && len(list) == 0 {
			d.Fail(f.Get("cases"), "has no case; write at least one, such as - {schedule: linear-shift}")
		}
		return out
	case f.Given("matrix"):
		return []entry{{self: f.Get("matrix")}}
	}
	d.Fail(root.At("cases"), "is missing; write a list of cases, or a matrix")
	return nil
}

// disjoint checks that no field is both in a case and in the matrix.
func (d *document) disjoint(written []entry, matrix fields) {
	for _, e := range written {
		for _, name := range e.f.Order {
			if matrix.Given(name) {
				d.Fail(e.f.Get(name), "is in the matrix too (line %d); give it in one place", matrix.Get(name).Line)
			}
		}
	}
}

// fewEnough reports whether the written cases and the lists of the matrix make at most the allowed
// number of cases, before any is made.
func (d *document) fewEnough(f, matrix fields, written int) bool {
	n, at := float64(written), f.Get("cases") // the product may be beyond whole numbers
	var factors []string
	if at.Given() {
		factors = append(factors, fmt.Sprintf("%d in cases", written))
	}
	for _, name := range matrix.Order {
		x := matrix.Get(name)
		if many := len(x.Elements()); many > 1 {
			n *= float64(many)
			factors, at = append(factors, fmt.Sprintf("%d in matrix.%s", many, name)), x
		}
	}
	if n <= maxCases {
		return true
	}
	d.Fail(at, "makes more than %d cases: %s", maxCases, strings.Join(factors, " × "))
	return false
}

// product multiplies the lists of the matrix: every choice of one element each,
// the last list running fastest, and the names of the lists with more than one.
func (d *document) product(matrix fields) (choices []fields, varied []string) {
	choices = []fields{{}}
	for _, name := range matrix.Order {
		list := d.List(matrix.Get(name))
		if len(list) == 0 {
			if list != nil {
				d.Fail(matrix.Get(name), "has no element; write a list of values")
			}
			continue
		}
		if len(list) > 1 {
			varied = append(varied, name)
		}
		var next []fields
		for _, c := range choices {
			for _, value := range list {
				next = append(next, c.With(yamldoc.One(name, value)))
			}
		}
		choices = next
	}
	return choices, varied
}

func (d *document) oneCase(e entry, s *Scenario, length lasting) Case {
	c, servers, draws := Case{Setting: builder.Setting{Mode: modes.Sync}}, maxServers, s.Seed
	if s.Tree != nil {
		servers = s.Tree.Servers()
	}
	rows := caseFields(&c, &draws, servers, s.routings())
	c.Failover = d.failoverAt(e.f.Get("failover"), d.failover)
	d.set(e.f, rows)
	good := d.schedule(e.f.Get("schedule"), s, &c) && d.set(e.f, rows, "mode", "barrier", "routing", "objective") && !c.Failover.wrong()
	if good {
		d.combine(e, s, &c)
	}
	c.Duration = cmp.Or(c.Duration, length(c.Mode, changes(e.f.Get("failures"))))
	if good {
		d.numbers(e.f, &c)
	}
	d.caseSizes(e.f.Get("sizes"), s, &c)
	d.load(e.f.Get("load"), s, &c)
	if good && c.Assign == builder.AssignFree && !c.Load.On() {
		d.Fail(e.at("assign"), "%s follows the buffers that the events of a clock fill; write load: 80%%, or assign: %s", builder.AssignFree, builder.AssignNext)
	}
	if s.Network != nil && e.f.Given("failures") {
		d.cut(e.f.Get("failures"), draws, s, &c)
	} else {
		d.failures(e.f.Get("failures"), draws, s, &c)
	}
	if name, err := c.suitsNetwork(s); good && err != nil {
		d.Fail(e.at(name), "%v", err)
		return c
	}
	if err := c.suits(transport.Of(s.Transport)); good && err != nil {
		d.Fail(e.self, "%v", err)
	}
	if err := c.maySpray(&s.Fabric); good && err != nil {
		d.Fail(e.at("routing"), "%v", err)
	}
	if err := c.mayFailOver(s); good && err != nil {
		d.Fail(d.failoverField(e), "%v", err)
	}
	return c
}

// schedule reads the schedule of a case: a name, or the file of the user's own.
func (d *document) schedule(at field, s *Scenario, c *Case) bool {
	if !at.Given() {
		return true
	}
	if !at.Group() {
		return d.scalar(at, choice(&c.Schedule, "schedule", append(allSchedules(), noSchedule)...))
	}
	file := ""
	rows := ownFields(&file)
	f := d.Mapping(at, rows.names())
	switch {
	case !d.set(f, rows):
		return false
	case file == "":
		d.Fail(at, "names no file; write schedule: {file: my-plan.txt}")
		return false
	case s.Network != nil:
		d.Fail(at, "a network that is no tree takes no schedule from a file")
		return false
	}
	c.Schedule = schedules.FilePrefix + file
	if d.files == nil {
		return true // results hold the plan
	}
	opened, err := atomicfile.Open(file)
	if err != nil {
		d.Fail(f.Get("file"), "%v", err)
		return false
	}
	return opened.Close() == nil
}

func (d *document) combine(e entry, s *Scenario, c *Case) {
	if s.Network != nil {
		s.settleNetwork(c)
	}
	if name, err := c.settle(s); err != nil {
		d.Fail(e.at(name), "%v", err)
		return
	}
	if s.Tree == nil {
		return
	}
	if n := s.Tree.Servers(); c.Schedule == schedules.XOR && bits.OnesCount(uint(n)) != 1 {
		d.Fail(e.at("schedule"), "xor needs a power of two of servers, there are %d; take %s, %s or %s",
			n, schedules.LinearShift, schedules.BandwidthOptimal, schedules.FORS)
	}
}

// settle fills in barrier, schedule and routing, and returns the first field that does not fit the
// others.
func (c *Case) settle(s *Scenario) (name string, err error) {
	none := c.Schedule == noSchedule
	if none {
		c.Schedule = ""
	}
	if name, err := c.adopt(none); err != nil {
		return name, err
	}
	if c.Mode == modes.Sync && c.Barrier == "" {
		c.Barrier = barrier.Tournament
	}
	if c.Mode == modes.Ordered {
		return c.settleOrdered()
	}
	if c.Objective != "" && (!c.fors() || s.Network != nil) {
		return "objective", fmt.Errorf("only the schedule %s has an objective; write schedule: %s, or leave objective out", schedules.FORS, schedules.FORS)
	}
	if c.Routing == "" && c.Schedule == schedules.Best && s.Fabric.Routes.Kind == Ports {
		c.Routing = Ports // which alone the switches let choose
	}
	if c.Routing == Ports && c.Schedule == "" && !none {
		c.Schedule = schedules.PathColoring
	}
	if c.Schedule == "" && c.Mode != modes.Unsync && !none {
		c.Schedule = schedules.LinearShift
	}
	if c.Routing == "" && (s.Network == nil || c.Schedule != schedules.Best) {
		c.Routing = routing.Ftree
		if c.choosesPaths() {
			c.Routing = routing.Pinned
		}
	}
	switch {
	case c.Barrier != "" && c.Mode != modes.Sync:
		return "barrier", fmt.Errorf("only synchronised cases have a barrier, and the mode is %s; leave it out", c.Mode)
	case c.Schedule == "" && c.Mode != modes.Unsync:
		return "schedule", fmt.Errorf("%s cases need a schedule; there are %s", c.Mode, strings.Join(allSchedules(), ", "))
	case c.Mode == modes.Unsync && c.Schedule != "" && !c.choosesPaths() && c.Routing != Ports:
		return "schedule", errors.New("unsynchronised cases have no phases; leave schedule out, or write fors to use its paths")
	case c.Schedule == schedules.Best && s.Network == nil && c.Routing != routing.Pinned && c.Routing != Ports:
		return "routing", fmt.Errorf("the best plan brings its paths, which routing %s does not take; leave routing out, or write schedule: %s", c.Routing, schedules.FORS)
	case c.Routing == routing.Pinned && c.Schedule == "":
		return "routing", fmt.Errorf("pinned takes the paths of a schedule, but there is no schedule; write schedule: fors, or one of %s",
			strings.Join(s.Engines.Names(), ", "))
	case c.Mode == modes.Unsync && c.Schedule != "" && c.Routing != routing.Pinned && c.Routing != Ports:
		return "schedule", fmt.Errorf("unsynchronised cases use only the paths of a schedule, which routing %s does not take; write routing: pinned, or leave schedule out", c.Routing)
	}
	return "", nil
}

// settleOrdered is settle for a case without phases, whose plan has the paths. If the transport
// cannot choose paths, tables may hold others.
func (c *Case) settleOrdered() (name string, err error) {
	switch {
	case c.Barrier != "":
		return "barrier", errors.New("only synchronised cases have a barrier, and the mode is ordered; leave it out")
	case c.Schedule != "" && c.Schedule != schedules.FORS:
		return "schedule", fmt.Errorf("ordered cases have no phases: each window is planned for the sizes of its fragments; leave schedule out, or write %s for the order of its phases", schedules.FORS)
	case c.Objective != "" && c.Objective != schedules.FewestPaths:
		return "objective", fmt.Errorf("ordered cases have no phases for %s to minimise; write %s for one path from each leaf to each server, or leave it out", c.Objective, schedules.FewestPaths)
	}
	c.Routing = cmp.Or(c.Routing, routing.Pinned)
	return "", nil
}

// maySpray reports why a path cannot be chosen for each packet. A simulated lossless network can
// spray; runs also need mayMeasure.
func (c *Case) maySpray(f *Fabric) error {
	switch {
	case c.Routing == routing.Adaptive && !f.Lossless.On:
		return errors.New("routing adaptive needs credits, which this fabric does not have; write fabric.lossless and run evbench sim, or take spray or ecmp")
	case f.Lossless.On:
		return nil
	}
	return c.mayMeasure(f.Kind)
}

// mayMeasure reports why a fabric cannot choose a path for each packet in a run.
func (c *Case) mayMeasure(kind string) error {
	switch {
	case c.Routing == routing.Adaptive:
		return errors.New("routing adaptive needs switches that route by credits, which no fabric of evbench run has; run evbench sim")
	case c.Routing != routing.Spray:
		return nil
	case kind == Emulate:
		return errors.New("an emulated fabric delivers each connection in order, so it cannot show what spraying costs; take fabric lab, or routing ecmp")
	case kind == Hosts:
		return errors.New("evbench does not set the routes of plain hosts; where their switches spray, write the routing that their tables have, or take fabric lab")
	}
	return nil
}

// Measurable reports why a scenario can only be simulated.
func (s *Scenario) Measurable() error {
	return s.each(func(c *Case) error { return c.mayMeasure(s.Fabric.Kind) })
}

// each returns the first error of a case, with its name.
func (s *Scenario) each(check func(*Case) error) error {
	for i := range s.Cases {
		if err := check(&s.Cases[i]); err != nil {
			return fmt.Errorf("case %q: %w", s.Cases[i].Name, err)
		}
	}
	return nil
}

// choosesPaths reports whether the schedule has its own paths. With pinned routing, paths for other
// schedules are searched, and may not exist.
func (c *Case) choosesPaths() bool {
	return c.Schedule == schedules.Best || strings.HasPrefix(c.Schedule, schedules.FilePrefix) || strings.HasPrefix(c.Schedule, schedules.FORS) || strings.HasPrefix(c.Schedule, schedules.RepairPrefix)
}

// numbers sets sources, assign, window and credits, which some modes have.
func (d *document) numbers(f fields, c *Case) {
	credits := "a synchronised case builds one event per server at a time; leave it out"
	if c.Mode == modes.Ordered {
		credits = "an ordered case has as many events in flight as its window has exchanges; write window"
	}
	mode := string(c.Mode)
	for _, x := range []struct {
		name   string
		has    bool
		reason string
	}{
		{"sources", c.Mode == modes.Unsync, "only unsynchronised cases ask sources, and the mode is " + mode + "; leave it out"},
		{"assign", c.Mode == modes.Unsync, "only unsynchronised cases assign events, and the mode is " + mode + "; leave it out"},
		{"window", c.Mode == modes.Ordered, "only ordered cases are planned in windows, and the mode is " + mode + "; leave it out"},
		{"credits", asynchronous(c.Mode), credits},
	} {
		if f.Given(x.name) && !x.has {
			d.Fail(f.Get(x.name), "%s", x.reason)
		}
	}
	switch c.Mode {
	case modes.Unsync:
		c.Assign = cmp.Or(c.Assign, builder.AssignNext)
	case modes.Ordered:
		c.Window = cmp.Or(c.Window, defaultWindow)
	}
	c.Credits = cmp.Or(c.Credits, 1)
	if asynchronous(c.Mode) && !f.Given("credits") {
		c.Credits = defaultCredits
	}
}

// A trait is the value of a field of a case: for names that a matrix makes and, unless it is usual,
// for the name of a case without one.
type trait struct {
	field, text string
	usual       bool
}

func (c Case) traits() []trait {
	return []trait{
		{"mode", string(c.Mode), c.Mode == modes.Sync},
		{"schedule", cmp.Or(c.Schedule, "no schedule"), c.Schedule == ""},
		{"routing", c.Routing, c.Routing == ""},
		{"objective", "objective " + string(c.Objective), c.Objective == ""},
		{"barrier", c.Barrier, c.Mode != modes.Sync || c.Barrier == barrier.Tournament},
		{"sources", fmt.Sprintf("sources %d", c.Sources), c.Sources == 0},
		{"assign", c.Assign, c.Assign == "" || c.Assign == builder.AssignNext},
		{"credits", fmt.Sprintf("credits %d", c.Credits), !asynchronous(c.Mode) || c.Credits == defaultCredits},
		{"sizes", c.sizes(), c.Sizes == nil},
		{"window", fmt.Sprintf("window %d", c.Window), c.Mode != modes.Ordered || c.Window == defaultWindow},
		{"load", c.Load.String(), !c.Load.On()},
		{"failures", c.dead(), c.dead() == ""},
		{"failure_seed", c.dead(), true},
		{"failover", c.policy(), true},
	}
}
