package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/internal/answer"
	"evbench/internal/atomicfile"
	"evbench/model/sweep"
	"evbench/results/store"
	"evbench/site/host"
	"evbench/site/netfile"
	"evbench/study/kit"
)

func kitAction(c *cli.Context) error {
	k, err := readKit(c)
	if err != nil {
		return err
	}
	archive := c.String("out")
	dir, ok := strings.CutSuffix(archive, ".tar.gz")
	if !ok || dir == "" {
		return usagef("--out %s: the name of an archive ends in .tar.gz", archive)
	}
	steps := k.Steps()
	if c.Bool("dry-run") {
		fmt.Fprintf(c.App.Writer, "in %s:\n  cat > %s <<END\n%sEND\n", dir, kit.ScenarioFile, k.Scenario())
		if k.Topology == kit.TopologyFile {
			fmt.Fprintf(c.App.Writer, "  %s\n", answer.Typed("cp", c.String("topology"), k.Topology))
		}
		for _, s := range steps {
			fmt.Fprintf(c.App.Writer, "  %s\n", s)
		}
		_, err := fmt.Fprintf(c.App.Writer, "archive %s\n", archive)
		return err
	}
	if store.Present(archive) {
		return usagef("--out %s: exists already; archives are never overwritten", archive)
	}
	done, err := runKit(c, k, dir)
	if err != nil {
		return err
	}
	a := kit.Answer(steps, done, kit.ReadVerdict(dir), archive)
	if c.Bool("anonymous") {
		err = k.PackAnonymous(c.Context, dir, archive, done)
	} else {
		err = k.Pack(dir, archive, a)
	}
	return errors.Join(err, showKit(c, a, archive, steps, done))
}

// readKit reads the kit to make.
func readKit(c *cli.Context) (k kit.Kit, err error) {
	text, _, err := netfile.HostsText(c.Args().First())
	if err == nil {
		var words []string
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			words = append(words, strings.Fields(line)...)
		}
		k.Hosts, err = host.Expand(strings.Join(words, ","))
	}
	if err == nil && len(k.Hosts) < 2 {
		err = errors.New("an exchange needs two hosts at least")
	}
	if err != nil {
		return k, usagef("kit: HOSTS: %w", err)
	}
	k.Topology, k.Launch, k.Duration = c.String("topology"), c.String("launch"), c.Duration("duration")
	k.Inject, k.Down, k.Rate = c.String("inject"), c.String("down"), c.String("rate")
	if k.Topology == "" || !store.Present(k.Topology) {
		return k, nil
	}
	_, err = readWhole(c, k.Topology)
	k.Topology = kit.TopologyFile
	return k, err
}

// runKit runs the unfinished steps.
func runKit(c *cli.Context, k kit.Kit, dir string) ([]kit.Done, error) {
	head, err := sweepHead(c, sweep.Shard{})
	if err != nil {
		return nil, err
	}
	j := sweep.NewJournal(filepath.Join(dir, kit.JournalFile), head)
	if store.Present(dir) && !store.Present(j.Name()) {
		return nil, usagef("%s: exists already, and is not a directory of a kit", dir)
	}
	var network []byte
	if k.Topology == kit.TopologyFile {
		if network, err = atomicfile.Read(c.String("topology"), atomicfile.MaxList); err != nil {
			return nil, err
		}
	}
	progress := c.App.ErrWriter
	if c.Bool("quiet") {
		progress = io.Discard
	}
	done, err := k.Run(c.Context, dir, network, j, progress)
	return done, errors.Join(err, j.Close())
}

func showKit(c *cli.Context, a answer.Answer, archive string, steps []kit.Step, done []kit.Done) error {
	body := func(w io.Writer) error { _, err := fmt.Fprintf(w, "archive %s\n", archive); return err }
	d := answer.Document{Answer: a, Text: body, Schema: "evbench/kit/1", Fields: struct {
		Archive string     `json:"archive"`
		Steps   []kit.Done `json:"steps"`
	}{archive, done}}
	if err := printed(c, d); err != nil {
		return err
	}
	for i, d := range done {
		if d.Failed() && !steps[i].Optional {
			return &exitError{code: exitFailed}
		}
	}
	return nil
}
