package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/results"
	"evbench/results/store"
	"evbench/testing/expect"
	"evbench/testing/need"
)

// TestDocs has a shell run the commands of the README and of every document, in their
// order, in a copy of what they need of the checkout. evbench is there as bin/evbench, of
// which documented says what it runs; other programs are those of docTools and no more.
//
// Commands stand in blocks that are marked sh, or in the text as `bin/evbench …`,
// `scripts/… …` or `make …`. What stands there as `evbench …` is a name: its command and
// flags have to exist.
func TestDocs(t *testing.T) {
	made := docResults(t)
	ran, parsed := 0, 0
	for _, file := range documents(t) {
		t.Run(file, func(t *testing.T) {
			if file != "README.md" {
				need.Heavy(t)
			}
			text := expect.Value(os.ReadFile(filepath.Join("../..", file)))(t)
			parts := expect.Value(docParts(string(text)))(t)
			d := newDocDir(t, made, string(text))
			d.save(t, parts)
			for _, p := range parts {
				d.try(t, p)
			}
			r, p := d.calls(t)
			ran, parsed = ran+r, parsed+p
		})
	}
	expect.True(t, !need.TakesHeavy() || ran >= 40 && parsed >= 20, "evbench was run %d times, and %d times its arguments were parsed", ran, parsed)
}

// documents returns README, CONTRIBUTING and every page below docs, as paths in the checkout.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS("../.."), "docs", func(name string, _ fs.DirEntry, err error) error {
		if filepath.Ext(name) == ".md" {
			files = append(files, name)
		}
		return err
	})
	expect.Must(t, err)
	return files
}

// A docPart is a block of a document, or a command in its text.
type docPart struct {
	line int
	kind string // as the block is marked, or "name"
	text string
}

var (
	docFence   = regexp.MustCompile("^ *```(.*)$")
	docSpan    = regexp.MustCompile("`([^`]+)`")
	docCommand = regexp.MustCompile(`^([A-Z_]+=\S* )*(bin/[a-z]+|scripts/[a-z-]+|make) `)
	docTyped   = regexp.MustCompile(`^\s*(bin/|evbench |make )`)
)

// docParts returns what a document has of commands and files, in its order.
func docParts(text string) (parts []docPart, err error) {
	var prose strings.Builder // since the last block
	var block *docPart
	proseFrom := 1
	for i, line := range strings.Split(text, "\n") {
		fence := docFence.FindStringSubmatch(line)
		switch {
		case fence != nil && block == nil && fence[1] == "":
			return nil, fmt.Errorf("line %d: the block is not marked: sh for commands, text for what they print", i+1)
		case fence != nil && block == nil:
			parts = append(parts, docSpans(prose.String(), proseFrom)...)
			block = &docPart{line: i + 2, kind: fence[1]}
		case fence != nil:
			parts = append(parts, *block)
			block, proseFrom = nil, i+2
			prose.Reset()
		case block == nil && docTyped.MatchString(line) && strings.HasPrefix(line, "    "):
			return nil, fmt.Errorf("line %d: commands stand between fences: %s", i+1, line)
		case block == nil:
			prose.WriteString(line + "\n")
		case block.kind == "text" && docTyped.MatchString(line):
			return nil, fmt.Errorf("line %d: a command in a block of text: %s", i+1, line)
		default:
			block.text += line + "\n"
		}
	}
	if block != nil {
		return nil, fmt.Errorf("line %d: the block does not end", block.line)
	}
	return append(parts, docSpans(prose.String(), proseFrom)...), nil
}

// docSpans returns the commands and names of commands in text that begins at a line.
func docSpans(text string, from int) (parts []docPart) {
	for _, at := range docSpan.FindAllStringSubmatchIndex(text, -1) {
		p := docPart{line: from + strings.Count(text[:at[0]], "\n"), text: strings.Join(strings.Fields(text[at[2]:at[3]]), " ")}
		switch {
		case docCommand.MatchString(p.text):
			p.kind = "sh"
		case strings.HasPrefix(p.text, "evbench "):
			p.kind = "name"
		default:
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// docTools are the programs that documents and scripts may call as they are.
var docTools = []string{"awk", "base64", "bash", "basename", "cat", "date", "dirname", "head", "mkdir", "mktemp", "rm", "seq", "sh", "touch"}

// docStubs stand for programs that the test has not, or is not to run. A launcher runs
// here, once, what it would run on other machines.
func docStubs(make string) map[string]string {
	launcher := `while [ $# -gt 0 ]; do
	case $1 in
	"exec "*) eval "$1" ;;
	*/*) if [ -f "$1" ] && [ -x "$1" ]; then exec "$@"; fi ;;
	esac
	shift
done
echo "nothing to launch" >&2
exit 127`
	stubs := map[string]string{
		"make":          "exec " + make + ` -n "$@" >make.log`,
		"ibnetdiscover": "exec bin/evbench topo convert 'FT(2;20,18)' --format ibnetdiscover",
		"pidof":         "echo 4242",
		"squeue":        "echo '4711:h[0-31]\n4712:h[32-59,100-119]'",
		"h5dump":        "test $# -gt 1",
		"skopeo":        `test "$1" = copy && test $# = 3`,
		"kubectl":       `test "$1 $2" = "apply -f" && test -f "$3"`,
		"python3":       `test -f "$1" && test -d "$2"`,
		"ssh-keygen":    `while [ "$1" != -f ]; do shift; done; touch "$2" "$2.pub"`,
		"sshd":          `test "$1" = -f && test -f "$2"`,
	}
	for _, name := range []string{"mpirun", "nohup", "salloc", "sbatch", "srun", "ssh"} {
		stubs[name] = launcher
	}
	stubs["mpirun"] = `[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit; }` + "\n" + launcher
	return stubs
}

// A docDir is where the commands of a document run.
type docDir struct{ dir, tools, log string }

// newDocDir makes a clone with results, a log and a scenario, under the names that
// a document uses for what the reader has.
func newDocDir(t *testing.T, results, text string) *docDir {
	t.Helper()
	d := &docDir{dir: t.TempDir(), tools: t.TempDir(), log: filepath.Join(t.TempDir(), "log")}
	for _, name := range []string{"scenarios", "scripts"} {
		expect.Must(t, os.CopyFS(filepath.Join(d.dir, name), os.DirFS(filepath.Join("../..", name))))
	}
	for _, name := range []string{"runs/latest", "runs/before", "runs/after", "runs/healthy", "runs/broken", "BASE", "NEW", "RESULTS"} {
		if name == "runs/latest" || strings.Contains(text, name) { // the latest need not be named
			expect.Must(t, os.CopyFS(filepath.Join(d.dir, name), os.DirFS(results)))
		}
	}
	expect.Must(t, os.Mkdir(filepath.Join(d.dir, "evidence"), 0o755))
	for to, from := range map[string]string{"Makefile": "Makefile", "evidence/Makefile": "evidence/Makefile", "LOG": "scenarios/failures-lhcb.log", "SCENARIO": "scenarios/quickstart.yaml"} {
		text := expect.Value(os.ReadFile(filepath.Join("../..", from)))(t)
		write(t, d.dir, to, string(text))
	}
	d.install(t)
	return d
}

// install puts evbench, the tools and the stubs in place.
func (d *docDir) install(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	expect.Must(t, err)
	links := map[string]string{filepath.Join(d.dir, "bin", "evbench"): self, filepath.Join(d.dir, "evbench"): self} // ./evbench: at home on a node
	for _, name := range append(docTools, "make") {
		if links[filepath.Join(d.tools, name)], err = exec.LookPath(name); err != nil {
			t.Fatal(err)
		}
	}
	stubs := map[string]string{filepath.Join(d.dir, "bin", "soak"): ":", filepath.Join(d.dir, "bin", "peer"): ":"} // their own tests parse these
	for name, text := range docStubs(links[filepath.Join(d.tools, "make")]) {
		stubs[filepath.Join(d.tools, name)] = text
		delete(links, filepath.Join(d.tools, name))
	}
	expect.Must(t, os.Mkdir(filepath.Join(d.dir, "bin"), 0o755))
	for name, target := range links {
		expect.Must(t, os.Symlink(target, name))
	}
	for name, text := range stubs {
		expect.Must(t, os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
}

// docFile matches a block that is a file: its first line says how it is called.
var docFile = regexp.MustCompile(`^# ([a-z]+\.yaml)\n`)

// save writes the files that a document shows.
func (d *docDir) save(t *testing.T, parts []docPart) {
	t.Helper()
	for _, p := range parts {
		if m := docFile.FindStringSubmatch(p.text); m != nil && p.kind == "yaml" {
			write(t, d.dir, m[1], p.text)
		}
	}
}

// try does with a part of a document what its reader would.
func (d *docDir) try(t *testing.T, p docPart) {
	t.Helper()
	file := docFile.FindStringSubmatch(p.text)
	switch {
	case p.kind == "name":
		expect.OK(t, checkNames(strings.Fields(p.text)), "line %d: %s", p.line, p.text)
	case p.kind == "yaml" && file != nil && strings.Contains(p.text, "\ntopology:"):
		d.shell(t, p.line, "bin/evbench validate "+file[1])
	case p.kind == "sh" && strings.HasPrefix(p.text, "#!"):
		write(t, d.dir, "script", p.text)
		d.shell(t, p.line, "sh -n script")
	case p.kind == "sh":
		d.shell(t, p.line, p.text)
	}
}

// shell runs commands; the first that fails is the last.
func (d *docDir) shell(t *testing.T, line int, text string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-exc", text)
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + d.tools, "HOME=" + d.dir, "TMPDIR=" + d.tools, "GORACE=atexit_sleep_ms=0", documentedLog + "=" + d.log}
	out, err := cmd.CombinedOutput()
	expect.True(t, err == nil, "line %d: %v\n%s", line, err, out)
}

// calls counts how often evbench was called, and sees that none failed: not in the
// background, either.
func (d *docDir) calls(t *testing.T) (ran, parsed int) {
	t.Helper()
	log, err := os.ReadFile(d.log)
	expect.MustFalse(t, err != nil && !os.IsNotExist(err), "%v", err)
	for line := range strings.Lines(string(log)) {
		var how string
		var code int
		expect.True(t, expect.Err(fmt.Sscan(line, &how, &code)) == nil && code == exitDone, "evbench ended with %d: %s", code, line)
		if how == "ran" {
			ran++
		} else {
			parsed++
		}
	}
	return ran, parsed
}

// docResults makes results that every command of the documents finds something in.
func docResults(t *testing.T) string {
	t.Helper()
	sec := func(x float64) *float64 { return &x }
	start, stat := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC), func(x float64) results.Stat { return results.NewStat([]float64{x, 1.01 * x}) }
	run := &results.Run{
		Manifest: results.Manifest{
			Schema: results.ManifestSchema, Name: "made up", Seed: 1, Started: start, Ended: start.Add(time.Minute), Complete: true, Cores: 2,
			Fabric: results.Fabric{Kind: "lab", RateBitPerSec: 100e6, Factor: 0.95, MTU: 1500}, Transport: "tcp", Versions: map[string]string{"evbench": "test"},
		},
		Summary: results.Summary{Schema: results.SummarySchema, Name: "made up", Complete: true},
	}
	for repeat := range 6 {
		run.Summary.Cases = append(run.Summary.Cases, results.Case{
			Name: "FORS", Repeat: repeat, Mode: "synchronised", Schedule: "fors", Failures: []string{}, Deliver: "buffer", Rates: results.Rates{Phases: 15, Bound: 15,
				GoodputBitPerSec: stat(93e6), EventsPerSec: stat(1.2), PredictedEfficiency: 1, MeasuredEfficiency: 0.98, RatioToControl: 1},
			Counts: results.Counts{Exchanges: 20, MeasuredSec: 10, BarrierWaitSec: 0.2}, Failover: "fors", Complete: true, Valid: true, Reasons: []string{}, Warnings: []string{},
			Failovers: []results.Failover{{
				ID: 1, Down: []string{"leaf0-spine0"}, Dead: []string{"leaf0-spine0"}, FailoverTimes: results.FailoverTimes{SetSec: sec(1), SeenSec: sec(1.0003), AidedSec: sec(1.0014),
					PlannedSec: sec(1.0031), VerifiedSec: sec(1.0036), InstalledSec: sec(1.0082), UpdatedSec: sec(1.012), LastOldSec: sec(1.02), FirstNewSec: sec(1.04),
					CleanedSec: sec(1.046)}, Routes: 18, BeforeEventsPerSec: sec(53), AfterEventsPerSec: sec(31), Source: "computed", Phases: 16, Attempts: 1, From: 3,
			}},
		})
		for n := range 20 * 16 {
			run.Samples = append(run.Samples, results.Sample{
				Case: "FORS", Repeat: repeat, TSec: 0.5 * float64(1+n/16), IntervalSec: 0.5, Server: n % 16, Events: 1, EventBytes: 1 << 20,
				PayloadBytes: 5.8e6, GoodputBitPerSec: 93e6, BarrierWaitSec: 0.01,
			})
		}
	}
	dir := filepath.Join(t.TempDir(), "results")
	expect.Must(t, store.Save(dir, run))
	return dir
}

// A document that could hide a command from the test is an error.
func TestDocParts(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"commands", "Say `evbench run`, `make bench` or\n`bin/evbench run\nFILE`.\n\n```sh\nbin/evbench version\n```\n",
			"[{1 name evbench run} {1 sh make bench} {2 sh bin/evbench run FILE} {6 sh bin/evbench version\n}]"},
		{"output", "```text\nevbench: no\n```\n", "[{2 text evbench: no\n}]"},
		{"files", "```yaml\n# a.yaml\n```\n", "[{2 yaml # a.yaml\n}]"},
		{"not marked", "```\nls\n```\n", "line 1: the block is not marked: sh for commands, text for what they print"},
		{"indented", "\n    bin/evbench run\n", "line 2: commands stand between fences:     bin/evbench run"},
		{"as output", "```text\nbin/evbench run\n```\n", "line 2: a command in a block of text: bin/evbench run"},
		{"no end", "```sh\nls\n", "line 2: the block does not end"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parts, err := docParts(tt.text)
			got := fmt.Sprint(parts)
			if err != nil {
				got = err.Error()
			}
			expect.Equal(t, got, tt.want, "got")
		})
	}
}

// checkNames checks the command that the words after evbench name, and its flags.
func checkNames(words []string) error {
	app := newApp(nil, nil)
	cmd := app.Command(words[1])
	if cmd == nil {
		return fmt.Errorf("no command %q", words[1])
	}
	rest := words[2:]
	for len(rest) > 0 && cmd.Command(rest[0]) != nil {
		cmd, rest = cmd.Command(rest[0]), rest[1:]
	}
	for _, w := range rest {
		if cmd.SkipFlagParsing || !strings.HasPrefix(w, "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if !slices.ContainsFunc(cmd.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }) {
			return fmt.Errorf("%s has no flag %s", cmd.Name, w)
		}
	}
	return nil
}

// TestDocumentedLaunchers has the launchers of docs/do/cluster.md take the files of hosts that are made there: Open MPI's says
// where it would start ranks, MPICH's starts them, by a remote shell that stays here.
func TestDocumentedLaunchers(t *testing.T) {
	need.Heavy(t)
	need.Programs(t, "mpi", "mpirun", "mpiexec.hydra")
	page, dir := string(expect.Value(os.ReadFile("../../docs/do/cluster.md"))(t)), t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	expect.Must(t, os.WriteFile(ssh, []byte("#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nshift\nexec sh -c \"$*\"\n"), 0o700))
	shell := func(command string) string {
		t.Helper()
		command = strings.NewReplacer("bin/evbench run started.yaml", "sh -c 'echo rank, $MPI_LOCALNRANKS here'", "\n", " ").Replace(command)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HYDRA_LAUNCHER_EXEC="+ssh, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
		out, err := cmd.CombinedOutput()
		expect.True(t, err == nil, "%s: %v\n%s", command, err, out)
		return string(out)
	}
	one := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(page)
		expect.MustTrue(t, len(found) == 2, "the page has no %s", pattern)
		return found[1]
	}
	shell(one(`(?m)^(\{.*\} > hostfile)$`))
	for _, c := range []struct{ launcher, command, two, all string }{
		{"mpirun", "mpirun --do-not-launch --display-map --oversubscribe --hostfile hostfile -n 33 true", "Data for node: node001", "Process rank:"},
		{"mpiexec.hydra", one("`(sed [^`]*> hosts.hydra)`") + " && " + one("`(mpiexec.hydra [^`]*)`"), "rank, 2 here", "rank, "},
	} {
		said := shell(c.command)
		expect.True(t, strings.Contains(said, c.two) && strings.Count(said, c.all) == 33, "%s said\n%s", c.command, said)
	}
}
