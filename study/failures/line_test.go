package failures

import "testing"

func TestLine(t *testing.T) {
	const stamp = "Nov 21 18:33:47 095608 [8AD286C0] 0x04 -> "
	for _, c := range []struct {
		line string
		want Said
		ok   bool
	}{
		{stamp + "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 5", Said{PortDown, 0x2c90401000000, 5}, true},
		{stamp + "osm_spst_rcv_process: Switch 0x2c90401000000 leaf0 port 5 (x) changed state from ACTIVE to DOWN\r\n", Said{PortDown, 0x2c90401000000, 5}, true},
		{stamp + "osm_spst_rcv_process: Switch 0x2c90401000000 leaf0 port 5 (x) changed state from DOWN to INIT", Said{PortUp, 0x2c90401000000, 5}, true},
		{stamp + "osm_spst_rcv_process: Switch 0x2c90401000000 leaf0 port 5 (x) changed state from INIT to ACTIVE", Said{}, false},
		{stamp + `log_notice: Reporting Urgent Notice "Link state change" from switch LID 132, GUID 0x0002c90401000000`,
			Said{SwitchChanged, 0x2c90401000000, 0}, true},
		{stamp + "drop_mgr_remove_port: Removed port with GUID:0x0002c90300000091 LID range [10, 10] of node:h9", Said{NodeGone, 0x2c90300000091, 0}, true},
		{stamp + `log_notice: Reporting Informational Notice "GID in service", GID:fe80::2:c903:0:91`, Said{NodeBack, 0x2c90300000091, 0}, true},
		{stamp + "SUBNET UP", Said{Swept, 0, 0}, true},
		{stamp + "osm_ucast_mgr_process: file tables configured on all switches", Said{}, false},
		{stamp + "pi_rcv_process_switch_ext_port: Unlinking local node 0x2c9040", Said{}, false},
		{"pi_rcv_process_switch_ext_port: Unlinking local node 0x2c90401000000, port 5", Said{}, false},
		{"", Said{}, false},
	} {
		if got, ok := Line([]byte(c.line)); got != c.want || ok != c.ok {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.line, got, ok, c.want, c.ok)
		}
	}
}
