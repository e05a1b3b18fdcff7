package lab

import (
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"evbench/testing/expect"
)

// linkMessage is a link message as the kernel writes it.
func linkMessage(index int32, flags uint32, operState byte) []byte {
	msg := nl.NewIfInfomsg(unix.AF_UNSPEC)
	msg.Index, msg.Flags = index, flags
	return append(msg.Serialize(), nl.NewRtAttr(unix.IFLA_OPERSTATE, []byte{operState}).Serialize()...)
}

func TestParseState(t *testing.T) {
	const both = unix.IFF_UP | unix.IFF_LOWER_UP
	for _, test := range []struct {
		name  string
		flags uint32
		oper  byte
		want  bool
	}{
		{"carries", both | unix.IFF_RUNNING, operUp, true},
		{"set down", unix.IFF_LOWER_UP, operUp, false},
		{"carrier lost", unix.IFF_UP, operUp, false},
		{"queue not open yet", both | unix.IFF_RUNNING, 0, false},
	} {
		got, err := parseState(linkMessage(7, test.flags, test.oper))
		if want := (state{7, test.want}); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", test.name, got, err, want)
		}
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte{}, int32(3), uint32(unix.IFF_UP), byte(operUp))
	f.Add(linkMessage(1, unix.IFF_UP, 0), int32(7), uint32(unix.IFF_UP|unix.IFF_LOWER_UP), byte(operUp))
	f.Fuzz(func(t *testing.T, bytes []byte, index int32, flags uint32, oper byte) {
		st, err := parseState(bytes)
		expect.False(t, err != nil && st != (state{}), "%+v with error %v", st, err)
		const carries = unix.IFF_UP | unix.IFF_LOWER_UP
		want := state{int(index), flags&carries == carries && oper == operUp}
		got, err := parseState(append(linkMessage(index, flags, oper), bytes...))
		expect.True(t, got == want && err == nil, "got %+v, %v, want %+v", got, err, want)
	})
}

func TestTracker(t *testing.T) {
	k := tracker{map[int]bool{}, map[int]bool{}}
	for i, step := range []struct {
		lost         bool
		s            state
		news, reread bool
	}{
		{false, state{1, true}, true, false},
		{false, state{1, true}, false, false},
		{false, state{2, false}, true, false},
		{false, state{1, false}, true, false},
		{true, state{1, false}, true, true},
		{false, state{1, false}, false, false},
		{false, state{2, true}, true, true},
		{false, state{2, false}, true, false},
	} {
		if step.lost {
			k.lost()
		}
		if news, reread := k.note(step.s); news != step.news || reread != step.reread {
			t.Errorf("step %d, %+v: news %v, reread %v", i, step.s, news, reread)
		}
	}
}
