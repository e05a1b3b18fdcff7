package netfile

import (
	"bytes"
	"regexp"
)

// unread are texts about networks that are not read, and what to give in their place.
var unread = []struct {
	begins     *regexp.Regexp
	what, give string
}{
	{regexp.MustCompile(`(?m)^0x[0-9a-f]{16} ".*" +\d+ .*==\(`), "the output of iblinkinfo -l", "that of iblinkinfo without -l"},
	{regexp.MustCompile(`(?m)^Unicast lids `), "forwarding tables", "the network: the output of ibnetdiscover"},
	{regexp.MustCompile(`(?m)^(?:osm_ucast_mgr_dump_ucast_routes: )?Switch 0x[0-9a-f]+\s*$`), "ibdiagnet's ibdiagnet2.fdbs", "ibdiagnet2.db_csv"},
	{regexp.MustCompile(`(?m)^(?:Ca|Switch)\t: 0x[0-9a-f]+ `), "the output of ibhosts or ibswitches", "that of ibnetdiscover"},
	{regexp.MustCompile(`^\s*(?:\[\s*)?\{\s*"(?:name|guid|system_guid|node_description|source_guid|destination_guid|system_name)"\s*:`), "UFM's JSON", "the output of ibnetdiscover, or ibdiagnet2.db_csv"},
	{regexp.MustCompile(`(?mi)^(?:ClusterName|SlurmctldHost|ControlMachine|NodeName)\s*=`), "Slurm's slurm.conf", "topology.conf"},
}

// named names a text that is not read by its kind; "" if its kind is not known.
func named(data []byte) string {
	head := bytes.ReplaceAll(data[:min(len(data), 1<<16)], []byte("\r"), nil)
	for _, x := range unread {
		if x.begins.Match(head) {
			return "this is " + x.what + ", which is not read; give " + x.give
		}
	}
	return ""
}
