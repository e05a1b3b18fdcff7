package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"evbench/results"
	"evbench/results/csv"
	"evbench/results/hdf5"
)

func resultsCommand() *cli.Command {
	c := command(&cli.Command{
		Name:        "results",
		Usage:       "put what was measured into another form",
		Subcommands: []*cli.Command{resultsExportCommand()},
	}, "  evbench results export results/quickstart quickstart.h5")
	c.Action = func(c *cli.Context) error {
		if c.Args().Present() {
			return usagef("results has no command %q; there is export", c.Args().First())
		}
		return cli.ShowSubcommandHelp(c)
	}
	return c
}

func resultsExportCommand() *cli.Command {
	return command(&cli.Command{
		Name:      "export",
		Usage:     "make an HDF5 file of a directory of results, or such a directory of an HDF5 file",
		ArgsUsage: "SRC DST",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "quiet", Usage: "do not say what was written"}},
		Action:    exportAction,
	}, "  evbench results export results/quickstart quickstart.h5\n  evbench results export quickstart.h5 quickstart-csv")
}

func exportAction(c *cli.Context) error {
	if err := needArgs(c, 2, 2, "SRC DST"); err != nil {
		return err
	}
	if !hdf5.Built {
		return usage(hdf5.ErrNotBuilt)
	}
	src, dst := c.Args().Get(0), c.Args().Get(1)
	info, err := os.Stat(src)
	if err != nil {
		return usage(err)
	}
	if isH5 := strings.HasSuffix(dst, ".h5"); isH5 != info.IsDir() {
		return usagef("results export: from a directory to a file that ends in .h5, or from such a file to a directory, not from %s to %s", src, dst)
	}
	if _, err := os.Lstat(dst); err == nil {
		return usagef("%s is there already; results are never overwritten", dst)
	}
	from, to := fromH5, toCSV
	if info.IsDir() {
		from, to = fromCSV, hdf5.Save
	}
	run, plans, err := from(src)
	if err != nil {
		return usage(err)
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	if err := to(dst, run, plans); err != nil {
		return err
	}
	if c.Bool("quiet") {
		return nil
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d cases, %d samples, %d link counts, %d plans\n",
		dst, len(run.Summary.Cases), len(run.Samples), len(run.Links), len(plans))
	return err
}

func fromH5(file string) (*results.Run, map[string][]byte, error) {
	run, err := hdf5.Read(file)
	if err != nil {
		return nil, nil, err
	}
	plans, err := hdf5.Plans(file)
	return run, plans, err
}

// fromCSV reads a directory of results, and plans if it has any.
func fromCSV(dir string) (*results.Run, map[string][]byte, error) {
	run, err := csv.Read(dir)
	if err != nil {
		return nil, nil, err
	}
	plans, err := csv.Plans(dir)
	return run, plans, err
}

// toCSV makes a directory of results, with the plans in a directory of their
// own. On error there is none.
func toCSV(dir string, run *results.Run, plans map[string][]byte) error {
	files, err := csv.Create(dir)
	if err != nil {
		return err
	}
	err = fill(files, run)
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		err = errors.Join(err, files.Plan(name, plans[name]))
	}
	if err = errors.Join(err, files.Close()); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return nil
}

// fill writes a run to its files. One that was killed has no summary.
func fill(files resultFiles, run *results.Run) error {
	for _, s := range run.Samples {
		if err := files.Sample(s); err != nil {
			return err
		}
	}
	for _, l := range run.Links {
		if err := files.Link(l); err != nil {
			return err
		}
	}
	for _, p := range run.Pairs {
		if err := files.Pair(p); err != nil {
			return err
		}
	}
	for _, e := range run.Exchanges {
		if err := files.Exchange(e); err != nil {
			return err
		}
	}
	if run.Summary.Schema != "" {
		if err := files.Summary(run.Summary); err != nil {
			return err
		}
	}
	return files.Manifest(run.Manifest)
}
