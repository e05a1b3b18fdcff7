package open

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"evbench/fabric"
	"evbench/internal/atomicfile"
	"evbench/internal/lists"
	"evbench/transport/tcp"
)

// A Member is one of several servers in one process.
type Member struct {
	Server int    `json:"server"` // position
	Data   string `json:"data"`   // in the form of Addresses
	Inside string `json:"inside"` // path of its network namespace
}

// A Group is several servers in one process, each in a network namespace of its own. A server has
// two connections with each other one, so one process cannot hold the servers of a large tree: the
// limit of open files is per process.
type Group struct {
	Controller string // address
	Token      string
	Members    []Member
	Sockets    Sockets
	// Inside returns a function that runs others inside a namespace, until leave.
	Inside func(path string) (in func(func() error) error, leave func() error, err error)
}

const maxGroup = 16 << 20

// ReadMembers reads the file of a launcher.
func ReadMembers(name string) ([]Member, error) {
	text, err := atomicfile.Read(name, maxGroup)
	if err != nil {
		return nil, err
	}
	var members []Member
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, m := range members {
		if _, err := ParseAddresses(m.Data); err != nil || m.Server < 0 || m.Inside == "" {
			return nil, errors.Join(fmt.Errorf("%s: member %d: server %d at %q inside %q", name, i, m.Server, m.Data, m.Inside), err)
		}
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s: no member", name)
	}
	return members, nil
}

// Run makes the servers join the controller and follow it.
func (g Group) Run(ctx context.Context) (err error) {
	if err := tcp.CheckFiles(0); err != nil { // raises the limit
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var all []thread
	for _, m := range g.Members {
		in, leave, openErr := g.Inside(m.Inside)
		if openErr != nil {
			return fmt.Errorf("server%d: %w", m.Server, openErr)
		}
		defer func() { err = errors.Join(err, leave()) }()
		data, _ := ParseAddresses(m.Data) // valid after ReadMembers
		all = append(all, thread{m.Server, data, tcp.Options{Addr: data.Listen(), In: in}})
	}
	failed := func() { stop(errors.New("another server of this process has failed")) }
	wait, err := beside(ctx, fabric.Job{Controller: g.Controller, Token: g.Token, Failed: failed}, all, g.Sockets)
	if err != nil {
		return err
	}
	return wait()
}

// Fit returns how many of n servers fit into one process, 0 if none does.
func Fit(n int) int {
	for k := n; k > 0; k-- {
		if tcp.CheckFiles(openFiles(k, n)) == nil {
			return k
		}
	}
	return 0
}

// split puts n ranks into the fewest groups of at most most, about evenly.
func split(n, most int) [][]int {
	out := make([][]int, (n+most-1)/most)
	for rank := range n {
		i := rank * len(out) / n
		out[i] = append(out[i], rank)
	}
	return out
}

func (p Processes) writeMembers(j fabric.Job, dir string, i int, ranks []int) (string, error) {
	text, err := json.Marshal(lists.Map(ranks, func(rank int) Member {
		return Member{j.Tree.Position(rank), p.Data(rank).String(), p.Inside(rank)}
	}))
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, fmt.Sprintf("group%d", i))
	return name, os.WriteFile(name, text, 0o600)
}
