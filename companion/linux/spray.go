package linux

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"evbench/companion"
	"evbench/fabric/lab"
)

// Packets are sprayed in three steps. A rule of the packet filter marks each packet to a prefix
// with a random number from 1 to the number of its ports; a rule of the routing policy leads the
// mark i to routing table i; and there the prefix has port i. A packet without a route in its
// table, such as after its link has died, uses the main table, which has all ports and hashes
// flows.
//
// All three work in a user namespace without root. The kernel's own hash over several ports
// distinguishes only flows (fib_multipath_hash_policy 0 to 3), and a program at a queue (tc with
// eBPF) would need rights outside the namespace.

// maxSpray is the last table of a mark; higher ones belong to the kernel. A lab has at most 200
// paths.
const maxSpray = 250

const filterName = "evbench"

type sprays map[netip.Prefix]int

// spray changes the marks of a node, and their tables, according to an edit of its main table.
func (t *Target) spray(e companion.Edit) error {
	set := slices.DeleteFunc(slices.Clone(e.Set), func(r companion.Route) bool { return !r.Spray })
	if _, before := t.sprayed.Load(e.Node); !before && len(set) == 0 {
		return nil
	}
	t.sprayed.Store(e.Node, true)
	id := lab.Node(e.Node)
	have, err := t.marks(id)
	if err != nil {
		return err
	}
	want := maps.Clone(have)
	for _, r := range e.Set {
		delete(want, r.Prefix)
	}
	for _, p := range e.Delete {
		delete(want, p)
	}
	var messages []lab.Message
	for _, r := range set {
		want[r.Prefix] = len(r.Via)
		messages = append(messages, t.sprayTables(id, r)...)
	}
	if _, err := t.batch(id, messages, func(int) string { return "set a route of one mark" }); err != nil {
		return err
	}
	if maps.Equal(have, want) {
		return nil
	}
	return t.lab.Filter(id, want.transaction())
}

// sprayTables are the requests that give each port of a route a table of its own, and each mark its
// table. Tables follow the order of the marks: a table exists before packets are led to it.
func (t *Target) sprayTables(n lab.Node, r companion.Route) []lab.Message {
	var out []lab.Message
	ports := t.lab.Ports(n)
	for i, via := range r.Via {
		one := setMessage(companion.Route{Prefix: r.Prefix, Via: []companion.Port{via}}, ports)
		one[4] = byte(i + 1) // rtm_table
		out = append(out,
			lab.Message{Kind: unix.RTM_NEWROUTE, Flags: unix.NLM_F_CREATE | unix.NLM_F_REPLACE, Data: one},
			lab.Message{Kind: unix.RTM_NEWRULE, Flags: unix.NLM_F_CREATE | unix.NLM_F_EXCL, Data: markRule(i + 1)})
	}
	return out
}

// markRule is the body of the request that leads a mark to the table of the same number: struct
// fib_rule_hdr and attributes.
func markRule(mark int) []byte {
	m := []byte{unix.AF_INET, 0, 0, 0, byte(mark), 0, 0, unix.FR_ACT_TO_TBL, 0, 0, 0, 0}
	for _, kind := range []uint16{unix.FRA_PRIORITY, unix.FRA_FWMARK} {
		m = attribute(m, kind, binary.NativeEndian.AppendUint32(nil, uint32(mark)))
	}
	return m
}

// transaction replaces all rules of the packet filter at once.
func (s sprays) transaction() []lab.Message {
	message := func(kind, flags uint16, body ...[]byte) lab.Message {
		head := []byte{unix.NFPROTO_IPV4, 0, 0, 0}
		return lab.Message{Kind: unix.NFNL_SUBSYS_NFTABLES<<8 | kind, Flags: flags, Data: slices.Concat(append([][]byte{head}, body...)...)}
	}
	const chain = "spray"
	hook := nest(unix.NFTA_CHAIN_HOOK, big(unix.NFTA_HOOK_HOOKNUM, unix.NF_INET_PRE_ROUTING), big(unix.NFTA_HOOK_PRIORITY, manglePriority))
	out := []lab.Message{
		message(unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, text(unix.NFTA_TABLE_NAME, filterName)),
		message(unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, text(unix.NFTA_CHAIN_TABLE, filterName),
			text(unix.NFTA_CHAIN_NAME, chain), hook, text(unix.NFTA_CHAIN_TYPE, "filter")),
		message(unix.NFT_MSG_DELRULE, 0, text(unix.NFTA_RULE_TABLE, filterName), text(unix.NFTA_RULE_CHAIN, chain)),
	}
	for _, p := range slices.SortedFunc(maps.Keys(s), netip.Prefix.Compare) {
		out = append(out, message(unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_APPEND,
			text(unix.NFTA_RULE_TABLE, filterName), text(unix.NFTA_RULE_CHAIN, chain),
			markRandomly(p, s[p]), padded(unix.NFTA_RULE_USERDATA, comment(p, s[p]))))
	}
	return out
}

// manglePriority is -150: before the routing decision.
const manglePriority = 1<<32 - 150

// markRandomly is the expressions of a rule: load the destination, mask it, compare it with the
// prefix, draw a number from 1 to n, set it as the mark.
func markRandomly(p netip.Prefix, n int) []byte {
	const destination = 16 // in the header of IPv4
	mask := binary.BigEndian.AppendUint32(nil, ^uint32(0)<<(32-p.Bits()))
	value := func(kind uint16, v []byte) []byte { return nest(kind, attribute(nil, unix.NFTA_DATA_VALUE, v)) }
	return nest(unix.NFTA_RULE_EXPRESSIONS,
		step("payload", big(unix.NFTA_PAYLOAD_DREG, unix.NFT_REG_1), big(unix.NFTA_PAYLOAD_BASE, unix.NFT_PAYLOAD_NETWORK_HEADER),
			big(unix.NFTA_PAYLOAD_OFFSET, destination), big(unix.NFTA_PAYLOAD_LEN, 4)),
		step("bitwise", big(unix.NFTA_BITWISE_SREG, unix.NFT_REG_1), big(unix.NFTA_BITWISE_DREG, unix.NFT_REG_1),
			big(unix.NFTA_BITWISE_LEN, 4), value(unix.NFTA_BITWISE_MASK, mask), value(unix.NFTA_BITWISE_XOR, make([]byte, 4))),
		step("cmp", big(unix.NFTA_CMP_SREG, unix.NFT_REG_1), big(unix.NFTA_CMP_OP, unix.NFT_CMP_EQ),
			value(unix.NFTA_CMP_DATA, p.Masked().Addr().AsSlice())),
		step("numgen", big(unix.NFTA_NG_DREG, unix.NFT_REG_1), big(unix.NFTA_NG_MODULUS, uint32(n)),
			big(unix.NFTA_NG_TYPE, unix.NFT_NG_RANDOM), big(unix.NFTA_NG_OFFSET, 1)),
		step("meta", big(unix.NFTA_META_KEY, unix.NFT_META_MARK), big(unix.NFTA_META_SREG, unix.NFT_REG_1)))
}

func step(name string, attributes ...[]byte) []byte {
	return nest(unix.NFTA_LIST_ELEM, text(unix.NFTA_EXPR_NAME, name), nest(unix.NFTA_EXPR_DATA, attributes...))
}

func nest(kind uint16, inner ...[]byte) []byte {
	return attribute(nil, kind|unix.NLA_F_NESTED, slices.Concat(inner...))
}

func big(kind uint16, v uint32) []byte {
	return attribute(nil, kind, binary.BigEndian.AppendUint32(nil, v))
}

func text(kind uint16, s string) []byte { return padded(kind, append([]byte(s), 0)) }

func padded(kind uint16, value []byte) []byte {
	b := attribute(nil, kind, value)
	return append(b, make([]byte, -len(b)&3)...)
}

// comment identifies a rule, in the form in which programs show it: type, length and text, such as
// "10.200.1.0/24 over 4".
func comment(p netip.Prefix, n int) []byte {
	s := fmt.Sprintf("%s over %d", p, n)
	return append([]byte{0, byte(len(s) + 1)}, append([]byte(s), 0)...)
}

func (t *Target) marks(n lab.Node) (sprays, error) {
	out := sprays{}
	all := lab.Message{Kind: unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETRULE, Data: []byte{unix.NFPROTO_IPV4, 0, 0, 0}}
	all.Data = append(all.Data, text(unix.NFTA_RULE_TABLE, filterName)...)
	err := t.lab.ListFilter(n, all, func(entry []byte) error {
		if len(entry) < 4 {
			return fmt.Errorf("rule of %d bytes", len(entry))
		}
		return lab.Attributes(entry[4:], func(kind uint16, value []byte) error {
			if kind != unix.NFTA_RULE_USERDATA || len(value) < 3 {
				return nil
			}
			prefix, count, _ := strings.Cut(string(value[2:len(value)-1]), " over ")
			p, err := netip.ParsePrefix(prefix)
			if err != nil {
				return nil // a foreign rule
			}
			out[p], err = strconv.Atoi(count)
			return err
		})
	})
	return out, err
}

// A sprayTable is the entries for a prefix in the tables of marks: the port of each mark.
type sprayTable map[int]companion.Port

// markSprayed marks the routes by which the packets of a node are sprayed: their prefixes have a
// mark for each port, and each mark its table. tables are by prefix.
func (t *Target) markSprayed(n lab.Node, routes []held, tables map[netip.Prefix]sprayTable) error {
	if len(tables) == 0 {
		return nil
	}
	t.sprayed.Store(companion.Node(n), true)
	marks, err := t.marks(n)
	for i := range routes {
		r := &routes[i].route
		r.Spray = len(r.Via) > 1 && marks[r.Prefix] == len(r.Via)
		for k, via := range r.Via {
			port, ok := tables[r.Prefix][k+1]
			r.Spray = r.Spray && ok && port == via
		}
	}
	return err
}
