package ordered

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"evbench/model/sizes"
	"evbench/plan"
	"evbench/plan/verify"
	"evbench/scenario"
	"evbench/topology"
)

// ReadMatrix reads the sizes of one exchange. The file names servers by position, with or without
// "server", or as hosts are named.
func ReadMatrix(r io.Reader, t *topology.Shape, hosts []plan.Host) ([]*sizes.Matrix, error) {
	stated, err := sizes.ReadMatrix(r)
	if err != nil {
		return nil, err
	}
	m, err := stated.For(t.Servers(), func(name string) (int, bool) {
		if rank := slices.IndexFunc(hosts, func(h plan.Host) bool { return h.Name == name }); rank >= 0 {
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
func StatedSizes(t *topology.Shape, window []*sizes.Matrix) []verify.Size {
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

// Matrix returns the sizes of the fragments of one exchange of a case, by source and builder
// (ranks): the same in runs, simulations and predictions. In exchange e, from 0 and warm-up
// included, rank r builds event e·S + r; if not all build, see builder.Roles.
func Matrix(s *scenario.Scenario, c scenario.Case, exchange uint64) (*sizes.Matrix, error) {
	of := s.FragmentSizes(c)
	if of.All() {
		return sizes.Exchange(s.Tree, of.Of, exchange)
	}
	n := uint64(of.Servers)
	return sizes.Exchange(s.Tree, func(event uint64, source int) int {
		if dst := int(event % n); !s.Tree.Meets(source, dst) {
			return 0
		} else {
			return of.Of(of.Event(event/n, dst), source)
		}
	}, exchange)
}
