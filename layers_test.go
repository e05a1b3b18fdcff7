package evbench_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A layer says what a package of this module may import of this module, and
// whether it is pure: no sockets, no files, no clock of its own.
type layer struct {
	may  []string
	pure bool
}

// layers is the house (docs/architecture.md), lowest floor first. A package that is not
// listed fails the test: give it a room.
var layers = map[string]layer{
	"internal/unit":       {pure: true},
	"internal/port":       {},
	"internal/trust":      {},
	"internal/atomicfile": {may: []string{"internal/trust"}},
	"internal/coloring":   {pure: true},
	"internal/printable":  {pure: true},
	"topology":            {may: []string{"internal/unit"}, pure: true},

	"topology/topologytest": {may: []string{"topology"}},

	"scheduler":           {may: []string{"topology", "internal/coloring"}, pure: true},
	"scheduler/schedtest": {may: []string{"scheduler", "topology"}, pure: true},
	"routing/twolevel":    {may: []string{"topology", "scheduler"}, pure: true},
	"builder":             {pure: true},
	"barrier":             {pure: true},

	"topology/network":       {pure: true},
	"topology/ibnet":         {may: []string{"topology/network"}, pure: true},
	"topology/netyaml":       {may: []string{"topology/network"}, pure: true},
	"topology/dot":           {may: []string{"topology/network"}, pure: true},
	"routing/lft":            {may: []string{"topology/network"}, pure: true},
	"routing/dmod":           {may: []string{"topology/network", "routing/dmod/updown", "routing/lft"}, pure: true},
	"routing/dmod/updown":    {may: []string{"topology/network", "routing/lft"}, pure: true},
	"routing/dmod/routetest": {may: []string{"topology/network", "routing/lft"}, pure: true},
	"routing": {
		may: []string{
			"topology/network", "routing/twolevel", "routing/dmod", "routing/lft", "routing/opensm", "routing/qft", "routing/sssp", "topology",
		},
		pure: true,
	},
	"routing/qft":  {may: []string{"topology/network", "routing/dmod/updown", "routing/lft"}, pure: true},
	"routing/sssp": {may: []string{"topology/network", "routing/lft"}, pure: true},

	"internal/hostlist": {pure: true},

	"failover/planner": {may: []string{"failover", "failover/loop", "plan", "plan/store", "topology", "verify"}, pure: true},
	"failover/loop":    {may: []string{"failover", "plan", "topology"}, pure: true},

	"jobs": {may: []string{"internal/hostlist"}, pure: true},

	"plan":   {may: []string{"scheduler", "routing/twolevel", "routing", "topology"}, pure: true},
	"verify": {may: []string{"topology"}, pure: true},
	"survey": {
		may: []string{
			"topology/network", "plan", "routing/twolevel", "routing/dmod", "routing/lft", "routing/opensm", "routing/qft", "routing/sssp", "scheduler",
			"topology", "verify",
		},
		pure: true,
	},

	"reproduce": {
		may: []string{
			"topology/network", "failover", "failures", "plan", "routing/twolevel", "routing", "routing/lft", "scheduler", "sim", "survey",
			"topology", "worth",
		},
		pure: true,
	},

	"reproduce/draw": {may: []string{"report/figure", "reproduce"}, pure: true},

	"plan/store": {may: []string{"plan", "topology", "internal/atomicfile"}},

	"transport":               {pure: true},
	"transport/transporttest": {may: []string{"transport", "barrier"}},
	"transport/memnet":        {may: []string{"transport"}},
	"transport/tcp":           {may: []string{"internal/port", "transport"}},
	"transport/mpi":           {may: []string{"transport"}},
	"emulate":                 {may: []string{"topology", "internal/unit"}},

	"results":       {may: []string{"internal/printable"}},
	"results/csv":   {may: []string{"results", "internal/atomicfile"}},
	"results/hdf5":  {may: []string{"results"}},
	"scenario":      {may: []string{"internal/unit", "topology"}},
	"internal/wire": {may: []string{"internal/port", "internal/unit", "results"}},

	"worker":     {may: []string{"scheduler", "builder", "barrier", "transport", "internal/wire", "results"}},
	"controller": {may: []string{"internal/port", "internal/wire", "results"}},

	"lab":           {may: []string{"topology", "internal/unit"}},
	"companion":     {may: []string{"failover", "plan", "routing/twolevel", "topology"}},
	"companion/lab": {may: []string{"companion", "failover", "lab", "topology"}},

	"companion/iproute": {may: []string{"companion", "internal/atomicfile", "lab", "plan", "topology"}},
	"companion/opensm": {may: []string{
		"topology/network", "topology/ibnet", "failover", "failures", "internal/atomicfile", "internal/trust", "plan", "routing/twolevel", "routing/lft", "topology",
	}},
	"companion/inject": {may: []string{"companion/opensm", "topology/network", "topology/ibnet", "internal/atomicfile", "internal/trust", "topology"}},

	"bench": {may: []string{
		"builder", "controller", "failover", "failover/loop", "failover/planner", "internal/unit", "plan", "plan/store", "preflight", "results", "routing/twolevel", "scenario", "scheduler", "topology", "verify", "internal/wire",
	}},
	"bench/tool":        {},
	"bench/noise":       {may: []string{"bench/noise/tally", "bench/tool", "results"}},
	"bench/noise/tally": {may: []string{"results"}, pure: true},
	"bench/peer": {may: []string{
		"barrier", "bench/peer/alltoall", "bench/peer/ratio", "bench/tool", "results", "transport", "transport/mpi", "transport/tcp",
	}},
	"bench/peer/alltoall": {may: []string{"transport"}},
	"bench/peer/ratio":    {may: []string{"results"}, pure: true},
	"bench/soak":          {may: []string{"bench/soak/chaos", "bench/tool", "results", "results/csv", "topology"}},
	"bench/soak/chaos":    {may: []string{"results", "topology"}, pure: true},
	"routing/opensm":      {may: []string{"topology/network", "routing/lft"}, pure: true},

	"host":          {may: []string{"results"}},
	"internal/echo": {may: []string{"internal/port", "internal/wire"}},
	"preflight":     {may: []string{"results"}, pure: true},

	"failover": {may: []string{"topology"}, pure: true},
	"failures": {may: []string{"topology/network", "topology"}, pure: true},

	"internal/ibtest":  {may: []string{"topology/network", "routing/lft"}},
	"internal/sshtest": {},
	"launch":           {may: []string{"host", "internal/hostlist", "topology/network", "topology"}},

	"sim": {may: []string{"barrier", "internal/unit", "plan", "results", "routing/twolevel", "scheduler", "topology"}, pure: true},

	"worth": {may: []string{"failover", "failures", "plan", "routing/twolevel", "scheduler", "sim", "topology"}, pure: true},

	"compare": {may: []string{"results", "internal/unit"}, pure: true},
	"report":  {may: []string{"results", "internal/printable", "internal/unit"}},
	// Figures of links and pairs need the phases and paths of plans.
	"report/figure":     {may: []string{"plan", "results", "scheduler", "topology"}, pure: true},
	"report/html":       {may: []string{"report/figure", "results", "topology"}, pure: true},
	"report/reporttest": {may: []string{"plan", "report/figure", "results", "topology"}},
}

// touching are the standard packages that reach the world outside.
var touching = []string{"net", "os", "os/exec", "os/signal", "syscall", "golang.org/x/sys/unix"}

type goPackage struct {
	ImportPath string
	Imports    []string
}

// TestImportsPointDownward holds the code against the table above.
func TestImportsPointDownward(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "evbench/")
		if name == "evbench" || strings.HasPrefix(name, "cmd/") {
			continue // this file; and the commands, which may import everything
		}
		seen[name] = true
		rule, ok := layers[name]
		if !ok {
			t.Errorf("package %s has no row in the table of layers", name)
			continue
		}
		for _, imp := range p.Imports {
			own, ours := strings.CutPrefix(imp, "evbench/")
			if ours && !slices.Contains(rule.may, own) {
				t.Errorf("%s imports %s; it may import %v", name, own, rule.may)
			}
			if rule.pure && slices.Contains(touching, imp) {
				t.Errorf("%s imports %s, but is a pure package", name, imp)
			}
		}
	}
	for name := range layers {
		if !seen[name] {
			t.Errorf("the table has a row for %s, which does not exist", name)
		}
	}
}

func list(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
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
