package sizes

import "evbench/topology"

// Exchange returns the sizes of one exchange of event building, in which rank r builds
// event exchange·S + r: size states the bytes of the fragment that a source has for an
// event, as builder.Sizes.Of does. Exchanges count from 0, warm-up included.
func Exchange(t *topology.Tree, size func(event uint64, source int) int, exchange uint64) (*Matrix, error) {
	m, err := NewMatrix(t.Shape)
	if err != nil {
		return nil, err
	}
	s := m.servers
	for src := range s {
		for dst := range s {
			if src == dst {
				continue
			}
			if err := m.Set(src, dst, int64(size(exchange*uint64(s)+uint64(dst), src))); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}
