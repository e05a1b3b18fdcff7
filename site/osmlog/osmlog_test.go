package osmlog

import (
	"testing"
	"time"

	"evbench/testing/expect"
)

func TestParseMessage(t *testing.T) {
	const leaf0 = 0x0002c90401000000
	for _, c := range []struct {
		line string
		want Message
		v    Verdict
	}{
		{`0x02 -> osm_spst_rcv_process: Switch 0xb0cf0e0300e31440 MF0;gb-nvl-087-switch03:N5110_LD/U1 port 61 (sw7p1s1) changed state from ACTIVE to DOWN`,
			Message{Kind: WentDown, GUID: 0xb0cf0e0300e31440, Name: "MF0;gb-nvl-087-switch03:N5110_LD/U1", Port: 61}, Good},
		{`0x02 -> osm_pi_rcv_process: Switch 0x200000 Switch1 port 3 changed state from DOWN to INIT`,
			Message{Kind: CameUp, GUID: 0x200000, Name: "Switch1", Port: 3}, Good},
		{`0x02 -> osm_spst_rcv_process: Switch 0x1 a port 4 b port 7 (x y) changed state from INIT to ARMED`,
			Message{Kind: Progressed, GUID: 1, Name: "a port 4 b", Port: 7}, Good},
		{`0x02 -> osm_spst_rcv_process: Switch 0x1 port 7 changed state from INIT to DOWN`,
			Message{Kind: WentDown, GUID: 1, Port: 7}, Good},
		{`0x02 -> osm_spst_rcv_process: Switch 0x1 a port 7 changed state from ACTIVE to DO`, Message{}, Cut},
		{`0x02 -> osm_spst_rcv_process: Switch 0x1 a port 7 (sw changed state from ACTIVE to DOWN`, Message{}, Cut},
		{`0x02 -> osm_spst_rcv_process: Switch 0x1 a port 0 changed state from ACTIVE to DOWN`, Message{}, Cut},
		{`0x02 -> osm_spst_rcv_process: Switch 0x1 a po`, Message{}, Cut},
		{`0x04 -> pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 5`,
			Message{Kind: Unlinked, GUID: leaf0, Port: 5}, Good},
		{`0x04 -> pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, por`, Message{}, Cut},
		{`0x02 -> log_notice: Reporting Urgent Notice "Link state change" from switch LID 33, GUID 0x0002c90401000000`,
			Message{Kind: Noticed, GUID: leaf0}, Good},
		{`0x02 -> log_notice: Reporting Urgent Notice "Link state change" from switch LID 33, GUID 0x0002c9040100`, Message{}, Cut},
		{`0x02 -> drop_mgr_remove_port: Removed port with GUID:0x0002c90300000091 LID range [10, 10] of node:h9`,
			Message{Kind: NodeGone, GUID: 0x0002c90300000091}, Good},
		{`0x02 -> log_notice: Reporting Informational Notice "GID in service", GID:fe80::2:c904:200:2`,
			Message{Kind: NodeBack, GUID: 0x0002c90402000002}, Good},
		{`0x02 -> log_notice: Reporting Informational Notice "GID in service", GID:fe80:0:0:0:2:c904:200:2`,
			Message{Kind: NodeBack, GUID: 0x0002c90402000002}, Good},
		{`0x02 -> log_notice: Reporting Informational Notice "GID in service", GID:fe80::`, Message{}, Cut},
		{`0x02 -> SUBNET UP`, Message{Kind: Swept}, Good},
		{`0x02 -> osm_ucast_mgr_process: minhop tables configured on all switches`, Message{}, Other},
		{``, Message{}, Other},
	} {
		got, v := parseMessage([]byte(c.line))
		expect.False(t, v != c.v || v == Good && got != c.want, "%s:\n%+v %d, want %+v %d", c.line, got, v, c.want, c.v)
	}
}

// TestParse reads lines with and without a time.
func TestParse(t *testing.T) {
	const stamp = "Nov 21 18:33:47 095608 [8AD286C0] 0x04 -> "
	const message = "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 5"
	for _, c := range []struct {
		line    string
		stamped bool
		want    Message
		v       Verdict
	}{
		{stamp + message, true, Message{Kind: Unlinked, GUID: 0x2c90401000000, Port: 5}, Good},
		{stamp + message + "\r\n", true, Message{Kind: Unlinked, GUID: 0x2c90401000000, Port: 5}, Good},
		{stamp + message[:len(message)-8], true, Message{}, Cut},
		{message, false, Message{}, Cut},
		{"osm_spst_rcv_process: Switch 0x1 a port 7 changed state from", false, Message{}, Other},
		{stamp + "osm_ucast_mgr_process: file tables configured on all switches", true, Message{}, Other},
		{"SUBNET UP", false, Message{}, Other},
		{"", false, Message{}, Other},
	} {
		got, v := Parse([]byte(c.line))
		expect.False(t, got.Stamped != c.stamped || v != c.v || v == Good && got.Message != c.want,
			"%s: %+v, %d; want %+v, %d", c.line, got, v, c.want, c.v)
	}
}

func TestStamp(t *testing.T) {
	for in, want := range map[string]string{
		"Nov 21 01:28:17 867263 x": "2024-11-21 01:28:17.867263",
		"Feb 29 23:59:60 000001 x": "2024-02-29 23:59:59.000001",
		"Mar  1 00:00:00 000000 x": "2024-03-01 00:00:00",
		"Feb 30 00:00:00 000000 x": "", "Nov 21 24:00:00 000000 x": "", "Nov 21 01:28:17 86726 xx": "", "Nov 21": "",
	} {
		at, rest, ok := readStamp([]byte(in))
		got := ""
		if ok {
			got = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).Add(at).Format("2006-01-02 15:04:05.999999")
		}
		expect.False(t, got != want || ok && string(rest) != "x", "%q is %q, rest %q; want %q", in, got, rest, want)
	}
}
