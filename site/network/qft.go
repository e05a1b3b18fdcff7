package network

import "fmt"

// A QFT is a quasi fat tree QFT(h; m1..mh; w1..wh; p1..ph) (Zahavi, Keslassy and Kolodny, HOTI 2014
// §III). It has the nodes of the PGFT of the same numbers. Where p_l > 1, the p_l cables that join
// a parent and a child in the PGFT lead to p_l parents in p_l neighbouring subtrees; at the top,
// which has no subtrees, in p_h neighbouring planes. So more hosts are near each other, with the
// same switches and as many cables.
//
// The paper's routing is for one level of p_l > 1 with w_{l+2} a multiple of p_l; the network is
// built for any number of such levels. The neighbours must come in full groups, as in all networks
// of the paper: otherwise ports would be left over.
type QFT struct{ M, W, P []int }

func (q QFT) check() error {
	if err := PGFT(q).check(); err != nil {
		return err
	}
	top := len(q.M) - 1
	for i, p := range q.P {
		if i < top && q.M[i+1]%p != 0 {
			return fmt.Errorf("m%d = %d is not a multiple of p%d = %d: the subtrees must form groups of p%d", i+2, q.M[i+1], i+1, p, i+1)
		}
		if i == top && p > 1 && q.W[i-1]%p != 0 {
			return fmt.Errorf("w%d = %d is not a multiple of p%d = %d: the planes must form groups of p%d", i, q.W[i-1], i+1, p, i+1)
		}
	}
	return nil
}

// Build returns the network. Nodes, names, GUIDs and LIDs equal those of the PGFT of the same
// numbers. With f and g counted from 0 as in equations 7 and 8, down port f is port 1+f, and up
// port g of a switch with d down ports is 1+d+g.
func (q QFT) Build(lmc int) (*Network, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	return PGFT(q).build(q.String(), lmc, q.cable)
}

// cable joins level l with the one above by the connection rule, equations 6 to 8.
func (q QFT) cable(b *Builder, l int, levels []Node) error {
	g := PGFT(q)
	p, m, w := q.P[l], q.M[l], q.W[l]
	// A node of level l is number place + places·(child + m·above). The digit in
	// which its parents differ is the lowest of above or, below the top, the
	// highest of place: (number / unit) mod radix. Only its last part, mod p, changes.
	places := g.parents(l)
	unit, radix := 1, 1
	switch {
	case p == 1:
	case l+1 < len(q.M):
		unit, radix = places*m, q.M[l+1]
	default:
		unit, radix = places/q.W[l-1], q.W[l-1]
	}
	for i := range g.Count(l) {
		twin := i / unit % radix % p
		child := i / places % m
		for k := range p {
			j := i + (k-twin)*unit // the node of that group under parent k alone, in a tree
			place, above := j%places, j/places/m
			for parent := range w {
				up := levels[l+1] + Node(place+places*parent+places*w*above)
				low := End{levels[l] + Node(i), uint8(1 + g.downPorts(l) + parent + w*k)}
				high := End{up, uint8(1 + child + m*twin)}
				if err := b.Cable(low, high); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// String returns the notation QFT(h;m;w;p).
func (q QFT) String() string {
	return fmt.Sprintf("QFT(%d;%s;%s;%s)", len(q.M), list(q.M), list(q.W), list(q.P))
}
