package wrapped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"evbench/internal/hostlist"
	"evbench/internal/proc"
	"evbench/site/mpi"
)

// A Launcher is a command line of the mpirun of Open MPI or MPICH, or of a script that ends in one
// and accepts its options.
type Launcher struct {
	hydra   bool // it is MPICH's; set by Check
	Command []string
	Stdout  io.Writer // of the program
	Stderr  io.Writer
	placed  string // what Map has returned
}

// An Order says how a program runs.
type Order struct {
	Library string
	Plan    string // its file; "": calls are only timed
	Times   string // file to which times are appended
	Min     int64  // least bytes to a rank for which a call follows the plan
	Eager   int64  // bytes of a fragment that MPI sends eagerly, over TCP
	Devices string // HOST/ADAPTER/ADAPTER,HOST/…: adapters for UCX, by rank on the host; "": none
	Bits    string // HOST/N/N,HOST/…: path bits for UCX, likewise
	Port    int    // on which ranks listen; their connections leave from the ports of the plan; 0: from any
}

// environment is the variables of the ranks: names and values.
func (o *Order) environment() []string {
	load := o.Library
	if also := os.Getenv("LD_PRELOAD"); also != "" {
		load += ":" + also
	}
	out := []string{"LD_PRELOAD", load, "EVBENCH_TIMES", o.Times}
	if o.Devices != "" {
		out = append(out, "EVBENCH_DEVICES", o.Devices)
	}
	if o.Plan == "" {
		return out
	}
	if o.Bits != "" {
		out = append(out, "EVBENCH_PATH_BITS", o.Bits)
	}
	if o.Port != 0 {
		out = append(out, "EVBENCH_PORTS", o.Plan)
	}
	return append(out, "EVBENCH_PLAN", o.Plan, "EVBENCH_MIN", strconv.FormatInt(o.Min, 10))
}

// told are the launcher's arguments for an order. Open MPI's takes the environment for each of
// several programs, MPICH's once.
func (l *Launcher) told(o *Order) []string {
	var env []string
	for pair := range slices.Chunk(o.environment(), 2) {
		if l.hydra {
			env = append(env, "-genv", pair[0], pair[1])
		} else {
			env = append(env, "-x", pair[0]+"="+pair[1])
		}
	}
	if l.hydra {
		return l.arguments(env, nil)
	}
	if o.Plan == "" {
		return l.arguments(nil, env)
	}
	options := mpi.Eager(o.Eager)
	if o.Port != 0 { // on which MPICH's layers listen by the library
		for _, ip := range []string{"v4", "v6"} {
			options = append(options, "--mca", "btl_tcp_port_min_"+ip, strconv.Itoa(o.Port), "--mca", "btl_tcp_port_range_"+ip, "1")
		}
	}
	return l.arguments(options, env)
}

// arguments are the launcher's arguments with further options. Those in each apply to every one of
// several programs, separated by ":".
func (l *Launcher) arguments(options, each []string) []string {
	out := slices.Concat(options, each)
	for _, a := range l.Command[1:] {
		if out = append(out, a); a == ":" {
			out = append(out, each...)
		}
	}
	return out
}

const grace = 15 * time.Second

func (l *Launcher) start(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, l.Command[0], args...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if info, err := os.Stdin.Stat(); err == nil && info.Mode()&os.ModeCharDevice == 0 {
		cmd.Stdin = os.Stdin
	}
	// Scripts and mpirun together: a signal to a script alone leaves mpirun running. One signal: a
	// second makes mpirun end before its ranks.
	cmd.SysProcAttr = proc.Group(0)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	err := proc.RunGuarded(cmd)
	if ctx.Err() != nil {
		if cmd.Process != nil {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		return context.Cause(ctx)
	}
	return err
}

// Check reports why the launcher is unusable: it is missing, or of an unknown MPI.
func (l *Launcher) Check(ctx context.Context) error {
	if len(l.Command) == 0 {
		return errors.New("give the program to run, for example: -- mpirun -n 16 ./program")
	}
	answer, err := proc.Call{Limit: asking, Most: 1 << 20}.Answer(ctx, l.Command[0], "--version")
	out := string(answer)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("no %s here: the mpirun of Open MPI or MPICH is needed (Debian: openmpi-bin, mpich)", l.Command[0])
	case strings.Contains(out, "Open MPI") || strings.Contains(out, "OpenRTE"):
		return nil
	case strings.Contains(out, "HYDRA"): // of MPICH; Intel MPI's and MVAPICH's have the same options
		l.hydra = true
		return nil
	case err != nil:
		return fmt.Errorf("--version of %w", err)
	}
	first, _, _ := strings.Cut(out, "\n")
	return fmt.Errorf("%s is not the mpirun of Open MPI or MPICH (--version: %.60q); other launchers can have ranks load the library: "+
		"EVBENCH_PLAN=FILE of -o, LD_PRELOAD=%s compiled by the mpicc of their MPI", l.Command[0], first, libraryName)
}

// asking is how long a question to mpirun may take.
const asking = 2 * time.Minute

const maxMap = 64 << 20

// Map asks mpirun on which hosts it would start how many ranks: its output is for network.ReadJob.
// Nothing is started, and mpirun is asked once.
func (l *Launcher) Map(ctx context.Context) (string, error) {
	if l.placed != "" {
		return l.placed, nil
	}
	if l.hydra {
		return "", fmt.Errorf("%s is MPICH's and does not say which hosts it would take: --hosts FILE, and a library that is there", l.Command[0])
	}
	ctx, over := context.WithTimeoutCause(ctx, asking, fmt.Errorf("%s --display-map: not within %s", l.Command[0], asking))
	defer over()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	out := proc.Buffer{Most: maxMap, Over: func(err error) { end(fmt.Errorf("%s %w", l.Command[0], err)) }}
	var said proc.Tail
	// Open MPI 4.1 reports an error because it starts nothing.
	err := l.start(ctx, l.arguments([]string{"--do-not-launch", "--display-map"}, nil), &out, &said)
	if ctx.Err() != nil {
		return "", err
	}
	if !strings.Contains(out.String(), hostlist.MapLine) {
		return "", errors.Join(errors.New("mpirun printed no map of its ranks"), err, errors.New(said.String()))
	}
	l.placed = out.String()
	return l.placed, nil
}

// listed returns the hosts of Map.
func (l *Launcher) listed(ctx context.Context) ([]hostlist.Entry, error) {
	text, err := l.Map(ctx)
	if err != nil {
		return nil, err
	}
	hosts, err := hostlist.Read(strings.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("mpirun's map: %w", err)
	}
	return hosts, nil
}

// Run runs the program, and returns the times of its calls. A missing library is an error: ld.so
// only warns, and the program runs without it.
func (l *Launcher) Run(ctx context.Context, o *Order) (*Times, error) {
	if err := os.Remove(o.Times); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := l.start(ctx, l.told(o), l.Stdout, l.Stderr); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("%s ended with %v", l.Command[0], exit)
		}
		return nil, err
	}
	f, err := os.Open(o.Times)
	if errors.Is(err, os.ErrNotExist) {
		return nil, o.notLoaded()
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := readTimes(f)
	if err == nil && t.Loaded == 0 {
		err = o.notLoaded()
	}
	if err == nil {
		err = t.followed()
	}
	return t, err
}

func (o *Order) notLoaded() error {
	return fmt.Errorf("%s was not loaded: rank 0 did not report it in MPI_Init, and the program ran without it. It is not a program of this MPI, "+
		"or linked statically; or its host has no such file, or no directory %s", o.Library, filepath.Dir(o.Times))
}

// elsewhere returns a host of the job other than this one, or "".
func (l *Launcher) elsewhere(ctx context.Context) (string, error) {
	listed, err := l.listed(ctx)
	if err != nil {
		return "", err
	}
	self, err := os.Hostname()
	if err != nil {
		return "", err
	}
	for _, x := range listed {
		for _, name := range x.Names {
			if name != "localhost" && hostlist.Plain(name) != hostlist.Plain(self) {
				return name, nil
			}
		}
	}
	return "", nil
}

// mpi names the MPI of the launcher, as in the library's file names.
func (l *Launcher) mpi() string {
	if l.hydra {
		return "mpich"
	}
	return "openmpi"
}

// Library returns the file of the library: beside this program from make build, at the place of
// make install, or built by mpicc in a directory. Other hosts lack such a build, and ranks without
// it would block the others: a job with other hosts is refused.
func (l *Launcher) Library(ctx context.Context, dir string) (string, error) {
	if self, err := os.Executable(); err == nil {
		for _, at := range []string{".", "../lib/evbench"} {
			file := filepath.Join(filepath.Dir(self), at, libraryOf(l.mpi()))
			if _, err := os.Stat(file); err == nil {
				return file, nil
			}
		}
	}
	host, err := l.elsewhere(ctx)
	if err != nil {
		return "", err
	}
	if host != "" {
		return "", fmt.Errorf("no %s beside evbench or in ../lib/evbench, and one that is built here is not on %s, whose ranks others would wait for: "+
			"make install where all hosts see it, or compile site/wrapped/c/*.c there by mpicc, for --library FILE", libraryOf(l.mpi()), host)
	}
	return Build(ctx, "mpicc", dir)
}

// loadable returns a name of the library for LD_PRELOAD: at a space or a colon the name would end,
// and ld.so would continue without the library. Then it is a link in a directory, which other hosts
// lack.
func (l *Launcher) loadable(ctx context.Context, library, dir string) (string, error) {
	const ends = " :"
	if !strings.ContainsAny(library, ends) {
		return library, nil
	}
	host, err := l.elsewhere(ctx)
	if err != nil {
		return "", err
	}
	link := filepath.Join(dir, "loaded-"+libraryName)
	if host != "" || strings.ContainsAny(link, ends) {
		return "", fmt.Errorf("library %q: LD_PRELOAD ends a name at a space or a colon: put the file where no directory has one in its name, for --library FILE", library)
	}
	return link, os.Symlink(library, link)
}
