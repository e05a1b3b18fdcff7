package open

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric"
	"evbench/fabric/lab"
	"evbench/internal/lists"
	"evbench/internal/proc"
	"evbench/internal/trust"
	"evbench/plan"
	"evbench/routing"
	"evbench/site/host"
	"evbench/site/mpi"
	"evbench/topology"
	"evbench/worker"
)

// ranks is the launcher that lets mpirun start a process for each server of a lab, inside it.
type ranks struct {
	f    *LabFabric
	over string // a Launched transport
}

// MayOpen implements fabric.Launcher: each server has its own process, and no connections per path.
func (ranks) MayOpen(_, _ int) error { return nil }

// tools are the programs for Launch. They come from several packages.
var tools = []string{"mpirun", "nsenter", "unshare", "mount", "hostname"}

func missingTool() error {
	for _, name := range tools {
		if _, err := exec.LookPath(name); err != nil {
			return proc.Usagef("transport mpi in the lab needs %s (packages openmpi-bin, util-linux, hostname): %w", name, err)
		}
	}
	return nil
}

// Launch implements fabric.Launcher. mpirun and its processes are in a namespace of processes: they
// all end with mpirun, in any case.
func (r ranks) Launch(ctx context.Context, j fabric.Job) (wait func() error, err error) {
	healthy, err := plan.Build(j.Tree.Healthy(), plan.Options{Routing: routing.Spread})
	if err == nil { // ranks find each other before the routes of a case are installed
		_, err = companion.Install(ctx, r.f.Target, healthy, r.f.Lab.Addresses())
	}
	if err != nil {
		return nil, err
	}
	dir, err := trust.TempDir("")
	if err != nil {
		return nil, err
	}
	var cmd *exec.Cmd
	launcher, err := mpi.FindLauncher(ctx, "mpirun")
	if err == nil {
		cmd, err = r.command(ctx, launcher, j, dir)
	}
	if err == nil {
		err = r.f.Lab.StartCommand(r.f.Lab.Server(0), cmd)
	}
	if err != nil {
		return nil, errors.Join(err, trust.RemoveTemp(dir))
	}
	said := awaitAll(ctx, j, []process{{name: "mpirun", cmd: cmd}})
	return func() error { return errors.Join(said(), trust.RemoveTemp(dir)) }, nil
}

func (r ranks) command(ctx context.Context, launcher mpi.Launcher, j fabric.Job, dir string) (*exec.Cmd, error) {
	token, agent, start, program := filepath.Join(dir, "token"), filepath.Join(dir, "agent"), filepath.Join(dir, "start"), filepath.Join(dir, "evbench")
	self, err := os.Executable()
	err = errors.Join(err, os.Symlink(self, program), os.WriteFile(token, []byte(j.Token+"\n"), 0o600), os.WriteFile(start, []byte(starter(j.Tree.Shape)), 0o700),
		os.WriteFile(filepath.Join(dir, "hosts"), []byte(r.hosts()), 0o600), os.WriteFile(agent, []byte(r.agent(dir)), 0o700))
	if err != nil {
		return nil, err
	}
	servers := lists.Tabulate(j.Tree.Servers(), func(rank int) string { return j.Tree.ServerName(rank) + ":1" })
	args := slices.Concat([]string{j.Tree.ServerName(0), "exec", "mpirun"},
		launcher.Options(mpi.Needs{Network: r.f.Lab.Addresses().Path(companion.Single).String(), Agent: agent, Scratch: dir}),
		[]string{"--mca", "btl", "self,tcp"})
	if os.Getenv("OMPI_MCA_btl_tcp_eager_limit") == "" {
		args = append(args, mpi.Eager(mpi.EagerLimit)...)
	}
	args = append(args, "-n", strconv.Itoa(len(servers)), "--host", strings.Join(servers, ","),
		start, program, "worker", "--controller", j.Controller, "--token-file", token, "--transport", r.over)
	cmd := exec.CommandContext(ctx, agent, args...)
	// Open MPI takes each node for a machine of its own, on which all processes are root.
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "PMIX_MCA_gds=hash")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 4 * killAfter
	cmd.Stdout = &proc.Tail{}
	cmd.Stderr = &proc.Tail{}
	cmd.SysProcAttr = proc.Group(syscall.SIGKILL)
	cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWPID
	return cmd, nil
}

// starter is a script that runs a worker's command with the server's position, which it knows from
// its rank: Open MPI 5 does not put several programs on the hosts that each of them names.
func starter(t *topology.Shape) string {
	var positions strings.Builder
	for rank := range t.Servers() {
		fmt.Fprintf(&positions, " %d", t.Position(rank))
	}
	return "#!/bin/sh\nleft=$OMPI_COMM_WORLD_RANK\nfor id in" + positions.String() + `; do
	[ "$left" -gt 0 ] || exec "$@" --id "$id"
	left=$((left - 1))
done
`
}

// hosts is the /etc/hosts of all nodes: names need no server.
func (r ranks) hosts() string {
	b := strings.Builder{}
	b.WriteString("127.0.0.1 localhost\n")
	for rank := range r.f.tree.Servers() {
		fmt.Fprintf(&b, "%s %s\n", r.f.Lab.Addr(rank, companion.Single), r.f.tree.ServerName(rank))
	}
	return b.String()
}

// agent is a script that mpirun uses as ssh: NODE COMMAND… runs a command on a node, with a host
// name of its own.
func (r ranks) agent(dir string) string {
	b := strings.Builder{}
	b.WriteString("#!/bin/sh\nnode=$1\nshift\ncase $node in\n")
	for rank := range r.f.tree.Servers() {
		fmt.Fprintf(&b, "%s) net=/proc/%d/fd/%d ;;\n", r.f.tree.ServerName(rank), os.Getpid(), r.f.Lab.Descriptor(r.f.Lab.Server(rank)))
	}
	fmt.Fprintf(&b, `*) echo "no node $node" >&2; exit 1 ;;
esac
exec nsenter --net="$net" -- unshare --uts --mount sh -c \
	'hostname "$0" && mount --bind %q/hosts /etc/hosts && mount --bind /dev/null /etc/resolv.conf && set -- sh -c "$*" && %s' "$node" "$@"
`, dir, lab.OwnSys)
	return b.String()
}

// CheckStarted says why this process cannot be a worker over a Launched transport.
func CheckStarted(transport string) error {
	if err := own[transport].Missing; err != nil {
		return fmt.Errorf("--transport %s: %w", transport, err)
	}
	if at, err := ReadPlace(os.Getenv); err != nil || at.By == "" {
		return errors.Join(err, fmt.Errorf("--transport %s: workers started by hand do not have it; mpirun must start the ranks", transport))
	}
	return nil
}

// joinAsRank is the work of a server started by mpirun, for a controller outside its world. An
// error ends the process without MPI_Finalize, so that mpirun ends all ranks.
func (p Process) joinAsRank(ctx context.Context) error {
	at, err := ReadPlace(os.Getenv)
	if err != nil {
		return proc.Usage(err)
	}
	w, err := own[p.Transport].start(at, p.Wait)
	if err != nil {
		return err
	}
	err = Join(ctx, p.Wait, p.Controller, worker.Options{
		Token: p.Token, Server: p.Server, Data: fmt.Sprintf("%s:%d", p.Transport, w.Rank()), Open: w.open, Log: p.Log,
		Host: Describe(p.Machine, nil, p.Program.Version, p.CPUs), Load: host.Watch, Memory: host.Available(),
	})
	if err != nil {
		return err
	}
	return w.Close()
}
