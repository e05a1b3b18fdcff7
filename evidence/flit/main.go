// Flit runs the cases of two simulators of lossless networks on our own, and prints differences and
// speed. make -C evidence flit runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"evbench/evidence/tool"
	"evbench/internal/proc"
	"evbench/internal/programs"
)

func main() { programs.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	files, quiet, err := parse(args, stderr)
	passed := false
	if err == nil {
		passed, err = referee(ctx, files, quiet, stdout)
	}
	return programs.Code(ctx, "flit", passed, err, stderr)
}

func parse(args []string, stderr io.Writer) (files []string, quiet bool, err error) {
	f := flag.NewFlagSet("flit [options] results.csv…", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.BoolVar(&quiet, "quiet", false, "print only what is out of tolerance, and the summary")
	err = tool.Parse(f, args)
	if err == nil && f.NArg() == 0 {
		err = proc.Usagef("which results.csv?")
	}
	return f.Args(), quiet, err
}

// referee runs and judges the cases. It reports whether all are within tolerance.
func referee(ctx context.Context, files []string, quiet bool, stdout io.Writer) (bool, error) {
	var cases []Case
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return false, proc.Usage(err)
		}
		more, err := read(name, f)
		f.Close()
		if err != nil {
			return false, proc.Usage(err)
		}
		cases = append(cases, more...)
	}
	given := len(cases)
	cases = slices.DeleteFunc(cases, func(c Case) bool { return !c.comparable() })
	switch left := given - len(cases); {
	case given == 0:
		return false, proc.Usagef("no case to run")
	case len(cases) == 0:
		return false, proc.Usagef("all cases have several lanes of BookSim, which are not comparable")
	case left > 0:
		fmt.Fprintf(stdout, "%d cases of several lanes are left out: BookSim's lanes share a link flit by flit, InfiniBand's packet by packet\n\n", left)
	}
	all, err := runAll(ctx, cases)
	if err != nil {
		return false, err
	}
	return report(stdout, judged(all), orders(all), all, quiet), nil
}
