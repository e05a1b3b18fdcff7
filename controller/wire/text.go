package wire

import "strings"

// MaxText bounds the bytes of a text for people to read. Longer texts are cut on receipt: any
// stranger may have sent them, and they end up on a terminal and in files.
const MaxText = 4 << 10

type texted interface{ texts() []*string }

func cut(s string) string {
	const mark = "…"
	if len(s) <= MaxText {
		return s
	}
	return strings.ToValidUTF8(s[:MaxText-len(mark)], "") + mark
}

func (m *Hello) texts() []*string {
	h := &m.Host
	out := []*string{&h.Host, &h.Version, &h.Interface, &h.NIC, &h.Governor, &h.CPU, &h.CPUs, &h.Kernel}
	for i := range h.Addresses {
		out = append(out, &h.Addresses[i])
	}
	return out
}

func (m *Refused) texts() []*string  { return []*string{&m.Reason} }
func (m *Ready) texts() []*string    { return []*string{&m.IO} }
func (m *Samples) texts() []*string  { return []*string{&m.Sample.Case} }
func (m *Finished) texts() []*string { return []*string{&m.At.Stage} }
func (m *Error) texts() []*string    { return []*string{&m.At.Stage, &m.Text} }

func (m *Traced) texts() []*string {
	var out []*string
	for i := range m.Seen {
		s := &m.Seen[i]
		out = append(out, &s.Err)
		for k := range s.Hops {
			out = append(out, &s.Hops[k])
		}
	}
	return out
}

func (m *Probed) texts() []*string {
	var out []*string
	for i := range m.Reached {
		r := &m.Reached[i]
		out = append(out, &r.Addr, &r.Err, &r.Router)
	}
	return out
}
