package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/proc"
	"evbench/internal/show"
	"evbench/results"
	"evbench/results/store"
	"evbench/site/lft"
	"evbench/site/netfile"
	"evbench/study/judge"
	"evbench/study/judge/foreign"
)

func judgeAction(c *cli.Context) error {
	if c.IsSet("paths") {
		return judgePorts(c)
	}
	j := &judging{c: c, down: c.IsSet("down")}
	if cases := j.cases(); len(cases) > 1 {
		v, err := j.all(cases)
		if err != nil {
			return err
		}
		return sayVerdict(c, v)
	}
	in, err := j.input()
	if err != nil {
		return err
	}
	if in.Result != nil && in.Result.Collective != "" {
		return judgeCollective(c, in)
	}
	v, err := proc.Made(c.Context, func() (*judge.Verdict, error) { return judge.Judge(*in) })
	if err != nil {
		return usage(err)
	}
	return sayVerdict(c, v)
}

// sayJudged prints what was judged, and holds the gate on its share of the possible, which a result that does not tell cannot pass.
func sayJudged(c *cli.Context, v interface {
	Document() answer.Document
	Share() (of float64, known bool)
}) error {
	d := v.Document()
	if err := printed(c, d); err != nil || !c.IsSet("fail-below") {
		return err
	}
	share, known := v.Share()
	if !known {
		fmt.Fprintln(c.App.ErrWriter, "--fail-below: no exchange was measured, or nothing is known that bounds it (of rates of pairs: mpigraph with --rate)")
	}
	if !known || d.Answer.Verdict == answer.Unknown {
		return gate(answer.Across)
	}
	return gate(answer.Sure(100 * share).Beside(answer.Limit{Value: c.Float64("fail-below")}))
}

// sayVerdict does so, and writes its page.
func sayVerdict(c *cli.Context, v *judge.Verdict) error {
	if name := c.String("out"); name != "" {
		if err := atomicfile.Write(name, v.WritePage); err != nil {
			return err
		}
	}
	return sayJudged(c, v)
}

// judgeCollective judges an AllGather, a reduce-scatter or an allreduce beside the best ring.
func judgeCollective(c *cli.Context, in *judge.Input) error {
	for _, flag := range []string{"out", "readers", "builders", "sizes"} {
		if c.IsSet(flag) {
			return usagef("--%s: not with a result of %s", flag, in.Result.Collective)
		}
	}
	in.Flags = append(in.Flags, given(c, "tables", "engine")...)
	v, err := judge.JudgeCollective(*in)
	if err != nil {
		return usage(err)
	}
	return sayJudged(c, v)
}

// A judging reads a result, of a run case by case.
type judging struct {
	c    *cli.Context
	own  []byte // summary.json, once it has been read
	ours bool   // the network is that of the run
	down bool   // dead links were given
}

// summary is the file of a run's results, "" for another result.
func summary(result string) string {
	if info, err := os.Stat(result); err == nil && info.IsDir() {
		result = filepath.Join(result, store.SummaryFile)
	}
	if filepath.Base(result) != store.SummaryFile {
		return ""
	}
	return result
}

func (j *judging) read(name string) (data []byte, err error) {
	if own := name == summary(name); !own || j.own == nil {
		if data, err = atomicfile.Read(name, atomicfile.MaxList); !own || err != nil {
			return data, err
		}
		j.own = data
	}
	return j.own, nil
}

// cases are those of a run of which none was chosen, those without dead links first; nil: there is no such run, which others say.
func (j *judging) cases() []string {
	result, err := resultOf(j.c)
	if name := summary(result); err == nil && name != "" && !j.c.IsSet("case") {
		if data, err := j.read(name); err == nil {
			return foreign.Cases(data)
		}
	}
	return nil
}

// all judges cases of a run together. One that cannot be judged is none where others can.
func (j *judging) all(cases []string) (*judge.Verdict, error) {
	var of []judge.Case
	var errs []error
	for _, name := range cases {
		if err := j.c.Set("case", name); err != nil {
			return nil, err
		}
		in, err := j.input()
		x := judge.Case{Name: name}
		if err == nil {
			x.Verdict, err = proc.Made(j.c.Context, func() (*judge.Verdict, error) { return judge.Judge(*in) })
		}
		if err != nil {
			errs = append(errs, usage(err))
			x.Sentence = show.Line(err.Error())
		}
		of = append(of, x)
	}
	if len(errs) == len(of) {
		return nil, errs[0]
	}
	return judge.Together(of), nil
}

func (j *judging) input() (*judge.Input, error) {
	result, err := resultOf(j.c)
	if err == nil {
		err = j.network(result)
	}
	if err != nil {
		return nil, err
	}
	s, err := readSource(j.c, j.c.String("network"))
	if err != nil {
		return nil, err
	}
	return j.over(s)
}

// over is input for a network that has been read.
func (j *judging) over(s *netfile.Source) (*judge.Input, error) {
	c := j.c
	result, err := resultOf(c)
	if err != nil {
		return nil, err
	}
	piped, err := pipedResult(c, result)
	if err != nil {
		return nil, err
	}
	if len(piped) > 0 {
		result = standardInput
	}
	if c.IsSet("fail-below") && result == "" {
		return nil, usagef("--fail-below: only with a result")
	}
	in := &judge.Input{Name: c.String("network"), Whole: s.Whole, Net: s.Net, Roots: s.Roots, Readers: c.String("readers"), Builders: c.String("builders")}
	in.Flags = given(c, "topology", "down", "down-random", "seed", "hosts", "lids", "lmc", "roots", "readers", "builders", "sizes")
	switch {
	case result == standardInput: // nobody can type it again
		in.Again = given(c, "rate")
	case result != "":
		in.Again = append(given(c, "format", "rate", "size", "case", "partial"), "--result", result)
	default:
		in.Again = given(c, "rate")
	}
	in.Good = judge.Thresholds{Exchange: c.Float64("good") / 100, Pairs: c.Float64("good-pairs") / 100, Pair: c.Float64("slow-below") / 100}
	if !c.IsSet("good") {
		in.Good.Exchange = c.Float64("fail-below") / 100
	}
	words, err := judgeWords(c, result)
	if err != nil {
		return nil, err
	}
	words.Result = cmp.Or(summary(words.Result), words.Result)
	read := func(name string) ([]byte, error) {
		if name == standardInput && piped != nil {
			return piped, nil
		}
		return j.read(name)
	}
	if err := words.Read(in, read); err != nil {
		return nil, usage(err)
	}
	in.TablesFile = c.String("tables")
	in.Tables, err = judgeTables(c, s)
	return in, err
}

// resultOf is the result as it was typed, "" for none.
func resultOf(c *cli.Context) (string, error) {
	name, result := c.Args().First(), c.String("result")
	if name != "" && result != "" {
		return "", usagef("--result and %s: give the result once", name)
	}
	return cmp.Or(name, result), nil
}

// network takes network and dead links from the results of a run where no network is given.
func (j *judging) network(result string) error {
	c, file := j.c, summary(result)
	if c.IsSet("network") && !j.ours {
		return nil
	}
	manifest := filepath.Join(filepath.Dir(file), store.ManifestFile)
	text, err := atomicfile.Read(manifest, atomicfile.MaxList)
	if file == "" || err != nil {
		return usagef("--network or --paths is missing, for example --network 'FT(2;4,8)'")
	}
	m, err := results.ReadManifest(bytes.NewReader(text))
	if err != nil {
		return usagef("%s: %w", manifest, err)
	}
	s, err := known.Read(m.Name, strings.NewReader(m.Scenario))
	if err != nil {
		return usagef("--network is missing, and the scenario of %s has none: %w", result, err)
	}
	if text, err = j.read(file); err != nil {
		return usage(err)
	}
	own, err := foreign.Read(text, foreign.Options{Case: c.String("case")})
	if err != nil {
		return usagef("%s: %w", file, err)
	}
	j.ours = true
	err = errors.Join(c.Set("network", s.Topology()), c.Set("topology", s.Topology())) // next commands have its other name
	if len(own.Down) > 0 && !j.down {
		err = errors.Join(err, c.Set("down", strings.Join(own.Down, ",")))
	}
	return err
}

// judgeWords are the settings of the job and its result, as they were typed.
func judgeWords(c *cli.Context, result string) (judge.Words, error) {
	words := judge.Words{
		Result: result, Format: c.String("format"), Partial: c.Bool("partial"),
		Rate: c.String("rate"), Size: c.String("size"), Sizes: c.String("sizes"), Case: c.String("case"),
	}
	if c.IsSet("hosts") {
		text, from, err := netfile.HostsText(c.String("hosts"))
		if err != nil {
			return words, usagef("--hosts: %w", err)
		}
		words.Hosts, words.HostsFrom = string(text), from
	}
	return words, nil
}

// standardInput is the name of a result that is piped in.
const standardInput = "standard input"

// pipedResult reads standard input where the result is "-", or where there is none and a pipe or a file is: nil where
// that has nothing to say.
func pipedResult(c *cli.Context, result string) ([]byte, error) {
	info, err := os.Stdin.Stat()
	if tables := c.String("tables") == "-"; tables && result == "-" {
		return nil, usagef("--tables - and the result -: standard input is one of them")
	} else if tables {
		return nil, nil
	}
	if result != "-" && (result != "" || err != nil || info.Mode()&os.ModeNamedPipe == 0 && !info.Mode().IsRegular()) {
		return nil, nil
	}
	slow := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(c.App.ErrWriter, "evbench: the result is read from standard input, which goes on (</dev/null: none)")
	})
	defer slow.Stop()
	data, err := proc.Made(c.Context, func() ([]byte, error) {
		return io.ReadAll(atomicfile.Bound(atomicfile.Text(os.Stdin), atomicfile.MaxList))
	})
	switch {
	case err != nil:
		return nil, usagef("standard input: %w", err)
	case len(bytes.TrimSpace(data)) == 0 && result == "-":
		return nil, usagef("standard input: it is empty")
	case len(bytes.TrimSpace(data)) == 0:
		return nil, nil
	}
	return data, nil
}

// given returns the flags of these names that were given, to be given again.
func given(c *cli.Context, names ...string) (out []string) {
	for _, name := range names {
		flag := "--" + name
		if name == "topology" {
			flag = "-t"
		}
		switch v := c.Value(name).(type) {
		case bool:
			if v {
				out = append(out, flag)
			}
		default:
			if c.IsSet(name) {
				out = append(out, flag, fmt.Sprint(v))
			}
		}
	}
	return out
}

// judgeTables reads or computes tables; nil if none are requested.
func judgeTables(c *cli.Context, s *netfile.Source) (*lft.Tables, error) {
	if c.String("tables") == "" && c.String("engine") == "" {
		return nil, nil
	}
	if err := routable(s, c.String("network")); err != nil {
		return nil, err
	}
	return givenTables(c, s, nil)
}
