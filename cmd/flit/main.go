// Flit runs the cases of two simulators of lossless networks on our own, and prints how
// near and how fast it is. make referee-flit runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"evbench/internal/atomicfile"
	"evbench/internal/proc"
)

func main() { proc.Main(run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	passed := false
	if err == nil {
		passed, err = referee(ctx, o, stdout)
	}
	return proc.Code(ctx, "flit", passed, err, stderr)
}

type options struct {
	seeds int
	out   string
	quiet bool
	only  []string
	files []string

	booksim string
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("flit", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.seeds, "seeds", 0, "average `N` seeds of each case (default: 3 of BookSim's, 8 of OMNeT's, whose windows are short)")
	f.StringVar(&o.out, "o", "", "write our results as CSV to `FILE`, in the columns of the cases")
	f.BoolVar(&o.quiet, "quiet", false, "print only what is out of tolerance, and the summary")
	f.StringVar(&o.booksim, "referee", "", "run the cases that a BookSim without additions can run with `BINARY` too, in turn with ours, and nothing else")
	f.Func("case", "run only the case `NAME`; may be repeated", func(s string) error {
		o.only = append(o.only, s)
		return nil
	})
	f.Usage = func() {
		fmt.Fprintln(stderr, "flit [options] FILE…\nRun the cases of these results.csv and compare.")
		f.PrintDefaults()
	}
	if err := proc.Parse(f, args); err != nil {
		return nil, err
	}
	o.files = f.Args()
	switch {
	case len(o.files) == 0:
		return nil, proc.Usagef("which results.csv?")
	case o.seeds < 0:
		return nil, proc.Usagef("--seeds %d: must be at least 1", o.seeds)
	}
	return o, nil
}

// referee runs and judges the cases. It reports whether all are within tolerance.
func referee(ctx context.Context, o *options, stdout io.Writer) (bool, error) {
	columns, cases, err := read(o)
	given := len(cases)
	cases = slices.DeleteFunc(cases, func(c Case) bool { return !Comparable(c) })
	if err == nil && len(cases) == 0 {
		err = proc.Usagef("all cases have several lanes of BookSim, which are not comparable")
	}
	if err != nil {
		return false, err
	}
	if o.booksim != "" {
		return true, beside(ctx, o, cases, stdout)
	}
	all, err := RunAll(ctx, cases, o.seeds, processor)
	if err != nil {
		return false, err
	}
	if o.out != "" {
		err := atomicfile.Write(o.out, func(w io.Writer) error { return Write(w, columns, all) })
		if err != nil {
			return false, err
		}
	}
	if n := given - len(cases); n > 0 {
		fmt.Fprintf(stdout, "%d cases of several lanes are left out: BookSim's lanes share a link flit by flit, InfiniBand's packet by packet\n\n", n)
	}
	return Print(stdout, Judge(all), Orders(all), all, o.quiet), nil
}

// read reads all files; columns are those of the first, then what others have besides.
func read(o *options) (columns []string, cases []Case, err error) {
	for _, name := range o.files {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, proc.Usage(err)
		}
		header, more, err := Read(name, f)
		f.Close()
		if err != nil {
			return nil, nil, proc.Usage(err)
		}
		for _, c := range header {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
		for _, c := range more {
			if len(o.only) == 0 || slices.Contains(o.only, c["case"]) {
				cases = append(cases, c)
			}
		}
	}
	if len(cases) == 0 {
		return nil, nil, proc.Usagef("no case to run")
	}
	return columns, cases, nil
}
