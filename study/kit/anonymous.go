package kit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"evbench/internal/atomicfile"
	"evbench/plan"
	"evbench/results"
	"evbench/results/store"
	"evbench/scenario"
	"evbench/site/netfile"
	"evbench/site/network"
)

// anonymousDir is a kit without names, while an archive of it is made.
const anonymousDir = "anonymous"

// root is the name of the directory in an archive without names.
const root = "kit"

// A nameless is a kit of which an archive without names of hosts is made: known fields of known files
// are copied, with numbers for hosts, into a kit of its own, and the steps that read nothing else are
// repeated there. Nothing else goes in.
type nameless struct {
	Kit       // with numbers for hosts
	from, dir string
	hosts     numbers
	list      ledger
}

// PackAnonymous writes the archive of a kit without names of hosts.
func (k Kit) PackAnonymous(ctx context.Context, dir, archive string, done []Done) (err error) {
	k.Hosts = slices.Clone(k.Hosts)
	n := &nameless{Kit: k, from: dir, dir: filepath.Join(dir, anonymousDir), hosts: numbers{}}
	if err := errors.Join(os.RemoveAll(n.dir), os.Mkdir(n.dir, 0o777)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(n.dir)) }()
	if err := n.copy(); err != nil {
		return err
	}
	if done, err = n.again(ctx, done); err != nil {
		return err
	}
	all, err := n.collect(n.dir, &n.list)
	if err != nil {
		return err
	}
	if err := n.strangers(all); err != nil {
		return err
	}
	a := Answer(n.Steps(), done, ReadVerdict(n.dir), root+".tar.gz")
	if err := errors.Join(all.json(answerFile, a), all.json("steps.json", done), n.list.into(all)); err != nil {
		return err
	}
	return all.write(archive, root)
}

// copy makes the kit without names.
func (n *nameless) copy() error {
	down := n.down()
	for i, name := range n.Hosts {
		n.Hosts[i] = n.replaced(ScenarioFile, "launch.hosts", name)
	}
	if err := n.networks(); err != nil {
		return err
	}
	n.settings(down)
	if err := n.write(ScenarioFile, func(w io.Writer) error { _, err := io.WriteString(w, n.Scenario()); return err }); err != nil {
		return err
	}
	return errors.Join(n.documents(), n.run())
}

func (n *nameless) write(name string, write func(io.Writer) error) error {
	return atomicfile.Write(filepath.Join(n.dir, name), write)
}

// replaced returns the number of a host, and lists that.
func (n *nameless) replaced(file, field, name string) string {
	is := n.hosts.host(name)
	n.list.note(file, field, name, is)
	return is
}

// leave lists a file that stays out.
func (n *nameless) leave(file string) { n.list.at(file, "").LeftOut++ }

// settings replaces what the user has chosen. A scenario that takes a link down stays one.
func (n *nameless) settings(down string) {
	keep := func(field string, text *string, r rule) {
		was := *text
		*text = r(was)
		n.list.note(ScenarioFile, field, was, *text)
	}
	keep("fabric.rate", &n.Rate, rate)
	if n.Topology != TopologyFile {
		keep("topology", &n.Topology, tree)
	}
	keep("failures", &n.Down, always(down))
	if n.Inject != "" {
		keep("inject", &n.Inject, always("kind: command, down: left out, up: left out, probe: left out"))
	}
	var launch map[string]any
	if err := yaml.Unmarshal([]byte("{"+n.Launch+"}"), &launch); err != nil {
		launch = map[string]any{"": n.Launch}
	}
	var kept []string
	for _, key := range []string{"port", "data_port", "preflight"} {
		switch v := launch[key].(type) {
		case int, bool:
			kept = append(kept, fmt.Sprintf("%s: %v", key, v))
			delete(launch, key)
		}
	}
	n.Launch = strings.Join(kept, ", ")
	if len(launch) > 0 {
		n.list.at(ScenarioFile, "launch").LeftOut = len(launch)
	}
}

// down is the link that the kit takes down, by its place in the tree; "" where there is none.
func (n *nameless) down() string {
	text, err := os.ReadFile(filepath.Join(n.from, ScenarioFile))
	if err != nil || n.Down == "" {
		return ""
	}
	s, err := scenario.Read(filepath.Join(n.from, ScenarioFile), bytes.NewReader(text))
	if err != nil {
		return ""
	}
	var names []string
	for _, c := range s.Cases {
		for _, l := range c.Failures {
			names = append(names, s.Tree.Named(nil).LinkName(l))
		}
	}
	return strings.Join(names, ", ")
}

// networks copies the networks that are files, with numbers for nodes.
func (n *nameless) networks() error {
	for _, name := range []string{TopologyFile, NetworkFile} {
		if _, err := os.Stat(filepath.Join(n.from, name)); err != nil {
			continue
		}
		s, err := netfile.Read(filepath.Join(n.from, name), 0)
		if err != nil {
			n.leave(name)
			continue
		}
		if err := n.write(name, func(w io.Writer) error { return netfile.WriteYAML(w, n.network(name, s.Whole)) }); err != nil {
			return err
		}
	}
	return nil
}

// network returns a network with numbers for names, and for the GUIDs that makers give.
func (n *nameless) network(file string, whole *network.Network) *network.Network {
	guids := map[uint64]uint64{0: 0}
	number := func(guid uint64) uint64 {
		if _, known := guids[guid]; !known {
			guids[guid] = uint64(len(guids))
		}
		return guids[guid]
	}
	words := whole.HostWords()
	return whole.Renamed(func(v network.Node, i network.Info) network.Info {
		was := i.Name
		switch {
		case whole.IsHost(v) && words(v) == "": // of no known host: one for each adapter
			i.Name = n.hosts.host(fmt.Sprintf("0x%x", i.GUID))
		case whole.IsHost(v):
			i.Name = n.hosts.host(whole.HostName(v))
		case whole.IsOther(v):
			i.Name = fmt.Sprintf("other%d", int(v)-whole.Nodes())
		default:
			i.Name = fmt.Sprintf("switch%d", whole.Index(v))
		}
		n.list.note(file, "name", was, i.Name)
		i.GUID, i.Port = number(i.GUID), number(i.Port)
		n.list.at(file, "guid").Replaced++
		return i
	})
}

// Documents of single steps, with the fields that are known.
type (
	version struct {
		Schema     string   `json:"schema"`
		Version    string   `json:"version"`
		Go         string   `json:"go"`
		Platform   string   `json:"platform"`
		Transports []string `json:"transports"`
		Results    []string `json:"results"`
		Tags       []string `json:"build_tags"`
	}
	here struct {
		Schema     string `json:"schema"`
		Host       string `json:"host"`
		CPU        string `json:"cpu"`
		Cores      int    `json:"cores"`
		Kernel     string `json:"kernel"`
		Governor   string `json:"governor"`
		Platform   string `json:"platform"`
		Interfaces []struct {
			Up        bool   `json:"up"`
			MTU       int    `json:"mtu"`
			SpeedMbit int    `json:"speed_mbit"`
			NIC       string `json:"nic"`
		} `json:"interfaces"`
	}
)

func (n *nameless) documents() error {
	schema := the(`^evbench/(version|host)/1$`)
	return errors.Join(
		n.document(VersionFile, &version{}, rules{"schema": schema, "version": release, "go": release, "platform": word, "transports": word, "results": word, "build_tags": word}),
		n.document(HereFile, &here{}, rules{"schema": schema, "host": n.hosts.host, "cpu": cpu, "kernel": kernel, "governor": word, "platform": word, "interfaces.nic": nic}),
	)
}

// document copies the known fields of a document.
func (n *nameless) document(name string, v any, r rules) error {
	text, err := os.ReadFile(filepath.Join(n.from, name))
	if err != nil || json.Unmarshal(text, v) != nil {
		n.leave(name)
		return nil
	}
	n.list.scrub(name, v, r)
	return n.write(name, func(w io.Writer) error { return json.NewEncoder(w).Encode(v) })
}

// run copies the known fields of the results of the baseline.
func (n *nameless) run() error {
	run, _, err := store.ReadAny(filepath.Join(n.from, RunDir))
	if err != nil {
		n.leave(RunDir)
		return nil
	}
	run.Forms = nil
	run.Manifest, run.Summary = run.Manifest.Known(), run.Summary.Known()
	if run.Summary.Answer != nil {
		run.Summary.Answer = nil
		n.list.at(summaryFile, "answer").LeftOut++
	}
	n.list.scrub(summaryFile, &run.Summary, n.summary())
	n.list.scrub(RunDir+"/"+store.ManifestFile, &run.Manifest, n.manifest())
	rows := rules{"case": word, "link": link, "direction": word}
	n.list.scrub(RunDir+"/samples.csv", &run.Samples, rows)
	n.list.scrub(RunDir+"/links.csv", &run.Links, rows)
	n.list.scrub(RunDir+"/pairs.csv", &run.Pairs, rows)
	n.list.scrub(RunDir+"/exchanges.csv", &run.Exchanges, rows)
	n.plans(run)
	if run.Summary.Schema != "" {
		if err := n.write(BaselineFile, run.Summary.Write); err != nil {
			return err
		}
	}
	return store.Save(filepath.Join(n.dir, RunDir), run)
}

const summaryFile = RunDir + "/" + store.SummaryFile

func (n *nameless) manifest() rules {
	return rules{
		"schema": the(`^evbench/manifest/1$`), "name": always(root), "scenario": always(n.Scenario()), "versions.evbench": release, "versions.go": release,
		"build_tags": word, "host": n.hosts.host, "cpu": cpu, "kernel": kernel, "fabric.kind": word, "fabric.nic": nic, "transport": word, "io": word, "launch": word,
		"hosts.host": n.hosts.host, "hosts.version": release, "hosts.nic": nic, "hosts.cpu_governor": word, "hosts.cpu": cpu, "hosts.pinned_to": cpus, "hosts.kernel": kernel,
		"plans.healthy": digest, "plans.dead": digest,
		"predictions.case": word, "predictions.schedule": word, "predictions.routing": word, "predictions.plan_hash": digest, "predictions.model": word,
	}
}

func (n *nameless) summary() rules {
	return rules{
		"schema": the(`^evbench/summary/1$`), "name": always(root),
		"cases.name": word, "cases.mode": word, "cases.barrier": word, "cases.schedule": word, "cases.routing": word, "cases.failures": link, "cases.simulated": word,
		"cases.deliver": word, "cases.check": word, "cases.io": word, "cases.plan_hash": digest, "cases.estimate.of": word, "cases.estimate.over": word, "cases.verdict": word,
		"cases.equal": word, "slices.case": word, "slices.load.host": n.hosts.host,
	}
}

// plans takes the names out of the plans of a run.
func (n *nameless) plans(run *results.Run) {
	for name, text := range run.Plans {
		p, err := plan.Read(bytes.NewReader(text))
		var out bytes.Buffer
		if err == nil {
			p.Tree, p.Hosts = p.Tree.Named(nil), nil
			err = p.WriteText(&out)
		}
		if run.Plans[name] = out.Bytes(); err != nil || word(name) == "" {
			delete(run.Plans, name)
			n.list.at(RunDir+"/"+store.PlansDir, "").LeftOut++
		} else if len(text) != out.Len() {
			n.list.at(RunDir+"/"+store.PlansDir, "names").Replaced++
		}
	}
}

// again repeats the steps that read files of the kit alone. What others have said stays out.
func (n *nameless) again(ctx context.Context, done []Done) ([]Done, error) {
	done = slices.Clone(done)
	for i, s := range n.Steps() {
		if s.Again {
			var err error
			if done[i], err = s.run(ctx, n.dir); err != nil {
				return done, err
			}
		}
		n.list.note("steps.json", s.Name, done[i].Said, "")
		done[i].Said = ""
		n.leave(s.stderr())
		if err := os.Remove(filepath.Join(n.dir, s.stderr())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
	}
	return done, nil
}

// strangers adds results of other programs that lie beside the files of the kit.
func (n *nameless) strangers(all files) error {
	others, err := n.collect(n.from, &n.list)
	for name, text := range others {
		if strings.HasPrefix(name, "foreign") {
			all[name] = text
		}
	}
	return err
}
