package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/internal/cmdline"
	"evbench/plan"
	"evbench/scheduler/judge"
	"evbench/site/host"
	"evbench/view/plandiff"
)

func diffAction(c *cli.Context) error {
	d, err := differences(c.Args().Get(0), c.Args().Get(1))
	if err != nil {
		return err
	}
	worse, lacking, err := d.Worse(cmdline.Names(c, "fail-on"))
	if err != nil {
		return usagef("--fail-on: %w", err)
	}
	a := d.Answer(c.Args().Get(0), c.Args().Get(1), worse, lacking)
	err = judged(c, true, answer.Document{Answer: a, Text: d.WriteText, Schema: "evbench/diff/1", Fields: struct {
		plandiff.Diff
		Worse []plandiff.Regression `json:"worse"`
	}{d, worse}})
	switch {
	case err != nil || !c.IsSet("fail-on"):
		return err
	case a.Verdict == answer.Unknown:
		return gate(answer.Across)
	case len(worse) > 0:
		return gate(answer.Below)
	}
	return nil
}

// differences compares two plans of trees, or two over given tables or probed paths.
func differences(older, newer string) (d plandiff.Diff, err error) {
	var trees [2]*plan.Plan
	var files [2]*judge.File
	for i, name := range []string{older, newer} {
		trees[i], files[i], err = anyPlan(name)
		if err != nil {
			return d, usagef("%s: %w", name, err)
		}
	}
	switch {
	case trees[0] != nil && trees[1] != nil:
		return plandiff.Compare(trees[0], trees[1]), nil
	case files[0] != nil && files[1] != nil:
		return plandiff.CompareOver(files[0], files[1]), nil
	}
	return d, usagef("%s and %s: one is a plan of a tree, the other one over given tables or paths", older, newer)
}

// anyPlan reads a plan, which chooses paths in a tree or is over given ones.
func anyPlan(name string) (p *plan.Plan, f *judge.File, err error) {
	_, err = opened(name, func(r io.Reader) (any, error) {
		in := bufio.NewReaderSize(r, judge.Head)
		packed, _ := in.Peek(judge.Head)
		head, _ := io.ReadAll(atomicfile.Text(bytes.NewReader(packed))) // of a packed file, what its beginning holds
		if !judge.IsOver(head) {
			p, err = plan.ReadAtMost(in, host.Room(100), known.Engines)
			return nil, err
		}
		if f, err = judge.ReadWithin(in, host.Room(1), known.Engines.Names()...); err == nil && f.Sized() {
			err = errors.New("its fragments differ in size, so it has no phases; evbench verify says how long it takes")
		}
		if err == nil && !judge.Check(f, judge.Options{}).Valid {
			err = errors.New("not a complete plan; evbench verify lists all its errors")
		}
		return nil, err
	})
	return p, f, err
}

// loadPlan reads a complete and valid plan, from a file or, "-", standard input.
func loadPlan(name string) (*plan.Plan, error) {
	return opened(name, func(r io.Reader) (*plan.Plan, error) { return plan.ReadAtMost(r, host.Room(100), known.Engines) })
}
