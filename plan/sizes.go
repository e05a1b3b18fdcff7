package plan

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/plan/verify"
	"evbench/scheduler/sizes"
	"evbench/topology"
)

// ReadMatrix reads the sizes of one exchange. The file names servers by position, with or without
// "server", or as hosts are named.
func ReadMatrix(r io.Reader, t *topology.Tree, hosts []Host) ([]*sizes.Matrix, error) {
	stated, err := sizes.ReadMatrix(r)
	if err != nil {
		return nil, err
	}
	m, err := stated.For(t.Servers(), func(name string) (int, bool) {
		if rank := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name }); rank >= 0 {
			return rank, true
		}
		position, err := strconv.Atoi(strings.TrimPrefix(name, "server"))
		if err != nil {
			return 0, false
		}
		return t.Rank(position)
	})
	return []*sizes.Matrix{m}, err
}

// StatedSizes lists the fragments of exchanges for the judge, which names servers by position.
func StatedSizes(t *topology.Tree, window []*sizes.Matrix) []verify.Size {
	s := t.Servers()
	list := make([]verify.Size, 0, len(window)*s*(s-1))
	for e, m := range window {
		for at := range s * s {
			if i, j := at/s, at%s; m.Size(i, j) > 0 {
				list = append(list, verify.Size{Src: int32(t.Position(i)), Dst: int32(t.Position(j)), Bytes: m.Size(i, j), Exchange: int32(e)})
			}
		}
	}
	return list
}
