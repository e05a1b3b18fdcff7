// Package layers_test answers: does each package import what it may? It is not in the root: there
// a file of C, of somebody who tries something, would be one of a Go package, and break it.
package layers_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"evbench/internal/expect"
)

// A layer says what a package of this module may import of this module, which stands above
// it in the table, and whether it is pure: no sockets, no files, no clock of its own.
type layer struct {
	name string
	may  string
	pure bool
}

// layers are the packages (docs/architecture.md), lowest first. A package that is not listed
// fails the test.
var layers = []layer{
	{"internal/unit", "", true},
	{"internal/coloring", "", true},
	{"internal/heap", "", true},
	{"internal/parallel", "", true},
	{"internal/show", "", true},
	{"internal/kept", "", true},
	{"internal/answer", "", true},
	{"internal/hostlist", "", true},
	{"internal/osmlog", "", true},
	{"internal/port", "", false},
	{"internal/trust", "", false},
	{"internal/atomicfile", "internal/trust", false},
	{"internal/proc", "", false},
	{"internal/yamldoc", "internal/show", true},
	{"internal/sweep", "internal/answer internal/atomicfile internal/parallel internal/proc internal/yamldoc", false},
	{"internal/rules", "", true},
	{"internal/cmdline", "internal/proc internal/rules internal/show internal/unit", false},
	{"internal/expect", "", false},
	{"internal/browsertest", "", false},

	{"topology", "internal/hostlist internal/show internal/unit", true},
	{"topology/topologytest", "topology", false},
	{"topology/network", "topology internal/hostlist internal/show", true},
	{"topology/netfile", "topology internal/atomicfile internal/hostlist internal/show internal/yamldoc topology/network", false},

	{"scheduler/schedules", "", true},
	{"scheduler", "scheduler/schedules internal/coloring internal/parallel internal/show topology", true},
	{"scheduler/sizes", "internal/heap scheduler scheduler/schedules topology", true},

	{"routing/lft", "topology/network internal/answer internal/parallel internal/show", true},
	{"routing/opensm", "topology/network routing/lft internal/parallel", true},
	{"routing/closed", "topology/network routing/lft internal/parallel", true},
	{"routing", "internal/show topology", true},
	{"site/engines", "internal/show routing routing/closed routing/lft routing/opensm topology topology/network", true},
	{"routing/ibtest", "internal/proc internal/trust topology/netfile topology/network routing/lft", false},

	{"plan/verify", "topology", true},
	{"plan", "internal/answer internal/show plan/verify topology scheduler scheduler/schedules routing", true},

	{"builder/modes", "", true},
	{"builder", "internal/heap", true},
	{"barrier", "", true},
	{"transport", "", true},
	{"transport/transporttest", "transport barrier", false},
	{"transport/tcp", "transport internal/port", false},
	{"transport/mpi", "transport", false},
	{"transport/rdma", "transport transport/tcp", false},

	{"results", "builder builder/modes internal/answer internal/kept internal/show", true},
	{"results/trace", "builder/modes internal/show plan results topology", true},
	{"results/store", "internal/atomicfile plan plan/verify results", false},
	{"results/hdf5", "builder results results/store", false},
	{"results/compare", "builder/modes results internal/answer internal/show internal/unit", true},

	{"failover", "topology", true},
	{"controller/wire", "barrier builder builder/modes internal/port internal/unit results", false},
	{"worker", "scheduler builder builder/modes barrier transport controller/wire results", false},
	{"controller", "builder builder/modes controller/wire failover internal/port results", false},
	{"failover/loop", "failover plan topology", false},

	{"scenario", "barrier builder builder/modes failover internal/atomicfile internal/rules internal/show internal/unit internal/yamldoc routing scheduler/schedules topology transport", false},

	{"fabric", "controller/wire failover/loop plan results topology", false},
	{"fabric/lab", "internal/answer internal/proc topology internal/unit", false},
	{"fabric/emulate", "topology internal/unit", false},
	{"fabric/host", "internal/answer internal/hostlist internal/parallel internal/proc internal/show internal/unit internal/yamldoc results topology topology/network", false},
	{"fabric/preflight", "controller/wire fabric internal/port internal/show results topology", false},

	{"sim/credit", "internal/parallel routing/lft topology/network", true},
	{"sim", "barrier builder builder/modes internal/heap internal/parallel internal/sweep internal/unit plan results routing scheduler scheduler/sizes sim/credit topology", true},

	{"companion", "failover internal/atomicfile internal/trust plan routing topology", false},
	{"companion/linux", "companion fabric/lab failover internal/atomicfile internal/parallel internal/proc plan routing topology", false},
	{"companion/opensm", "companion failover failover/loop internal/atomicfile internal/osmlog internal/proc internal/show internal/trust plan routing routing/lft topology topology/netfile topology/network", false},
	{"companion/inject", "companion/opensm internal/atomicfile internal/kept internal/proc internal/trust topology topology/netfile topology/network", false},
	{"companion/wrapped", "companion companion/linux companion/opensm internal/atomicfile internal/hostlist internal/proc internal/show plan results routing routing/lft scheduler scheduler/schedules topology topology/netfile topology/network transport/mpi site/engines", false},

	{"fabric/open", "builder/modes barrier companion companion/inject companion/linux companion/opensm controller/wire fabric fabric/emulate fabric/host fabric/lab fabric/preflight failover failover/loop internal/atomicfile internal/hostlist internal/proc internal/trust plan results results/hdf5 routing scenario topology topology/netfile topology/network transport transport/mpi transport/rdma transport/tcp worker", false},

	{"report", "builder/modes internal/show internal/unit results", false},
	// Figures of links and pairs need the phases and paths of plans.
	{"report/figure", "internal/show plan results scheduler topology", true},
	{"report/html", "internal/parallel internal/show report report/figure results results/compare topology", true},

	{"study/jobs", "companion companion/opensm internal/atomicfile internal/hostlist internal/proc internal/show report/figure routing/lft routing/opensm topology/netfile topology/network", false},
	{"study/failures", "internal/answer internal/atomicfile internal/osmlog internal/show topology topology/network", false},
	{"study/survey", "builder builder/modes internal/answer internal/coloring internal/show internal/sweep internal/unit plan report/figure results routing scheduler scheduler/schedules scheduler/sizes sim topology", true},
	{"study/policy", "builder/modes failover internal/heap internal/parallel internal/show plan results routing scheduler scheduler/schedules sim study/failures topology", true},
	{"study/judge/foreign", "internal/unit results", true},
	{"scenarios", "", true},
	{"study/papers", "builder/modes failover internal/parallel internal/show plan report/figure results routing routing/lft routing/opensm scenarios scheduler scheduler/schedules sim sim/credit study/failures study/jobs study/policy study/survey topology topology/network site/engines", true},

	{"bench", "barrier builder builder/modes controller controller/wire fabric failover failover/loop internal/answer internal/atomicfile internal/parallel internal/proc internal/unit plan plan/verify results routing scenario scheduler/schedules topology transport", false},
	{"model/ordered", "bench builder builder/modes controller controller/wire internal/answer internal/show plan plan/verify scenario scheduler scheduler/schedules scheduler/sizes sim topology", false},
	{"model/simulate", "barrier bench builder builder/modes failover internal/parallel internal/unit model/ordered plan results routing scenario sim topology", false},

	{"study/kit", "internal/answer internal/atomicfile internal/hostlist internal/proc internal/sweep plan results results/hdf5 results/store scenario study/judge/foreign topology/netfile topology/network", false},
	{"study/judge", "internal/answer internal/hostlist internal/parallel internal/show internal/unit plan report/figure report/html routing routing/lft scheduler scheduler/sizes study/judge/foreign topology topology/network site/engines", true},
	{"bench/live", "bench internal/answer internal/show plan report report/figure report/html results topology", false},
}

// touching are the standard packages that reach the world outside.
var touching = []string{"net", "os", "os/exec", "os/signal", "syscall", "golang.org/x/sys/unix"}

// clocks are the functions of package time that read a clock or wait.
var clocks = regexp.MustCompile(`\btime\.(Now|Since|Until|Sleep|After|AfterFunc|Tick|NewTicker|NewTimer)\b`)

type goPackage struct {
	ImportPath, Dir  string
	Imports, GoFiles []string
}

// rooms are the top folders, lowest first: a package imports none of a room above its own, but
// companion may import fabric/lab, whose kernels it puts routes into.
var rooms = strings.Fields("internal topology scheduler routing site plan builder barrier transport results report failover controller worker scenario sim companion fabric study bench model")

// TestRooms holds the table of layers against the order of rooms.
func TestRooms(t *testing.T) {
	room := func(name string) int { top, _, _ := strings.Cut(name, "/"); return slices.Index(rooms, top) }
	for _, l := range layers {
		if room(l.name) < 0 && l.name != "scenarios" {
			t.Errorf("%s is in no room", l.name)
		}
		for _, own := range strings.Fields(l.may) {
			if room(own) > room(l.name) && (own != "fabric/lab" || !strings.HasPrefix(l.name, "companion/")) {
				t.Errorf("%s may import %s, of a room above its own", l.name, own)
			}
		}
	}
}

// TestImportsPointDownward holds the code against the table above.
func TestImportsPointDownward(t *testing.T) {
	rules, below := map[string]layer{}, map[string]bool{}
	for _, l := range layers {
		for _, own := range strings.Fields(l.may) {
			if !below[own] {
				t.Errorf("%s may import %s, which does not stand below it", l.name, own)
			}
		}
		rules[l.name], below[l.name] = l, true
	}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "evbench/")
		if name == "evbench" {
			t.Error("the root is a package: a file of C beside go.mod would break its build")
		}
		if len(p.GoFiles) == 0 || strings.HasPrefix(name, "cmd/") {
			continue // tests alone; and the commands, which may import everything
		}
		rule, ok := rules[name]
		if !ok {
			t.Errorf("package %s has no row in the table of layers", name)
			continue
		}
		delete(rules, name)
		for _, imp := range p.Imports {
			own, ours := strings.CutPrefix(imp, "evbench/")
			if ours && !slices.Contains(strings.Fields(rule.may), own) {
				t.Errorf("%s imports %s; it may import %s", name, own, rule.may)
			}
			if rule.pure && slices.Contains(touching, imp) {
				t.Errorf("%s imports %s, but is a pure package", name, imp)
			}
		}
		if rule.pure {
			checkClock(t, p)
		}
	}
	for name := range rules {
		t.Errorf("the table has a row for %s, which does not exist", name)
	}
}

// checkClock holds a pure package to no clock: time comes in as an argument.
func checkClock(t *testing.T, p goPackage) {
	t.Helper()
	for _, name := range p.GoFiles {
		text := expect.Value(os.ReadFile(filepath.Join(p.Dir, name)))(t)
		if found := clocks.Find(text); found != nil {
			t.Errorf("%s/%s has %s, but is of a pure package", p.ImportPath, name, found)
		}
	}
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out := expect.Value(exec.Command("go", "list", "-tags=mpi,hdf5,rdma", "-json=ImportPath,Dir,Imports,GoFiles", "evbench/...").Output())(t)
	var all []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
