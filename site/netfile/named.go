package netfile

import (
	"bytes"
	"regexp"
)

// asCables is what may be given in the place of any other form.
const asCables = "a cable a line (NAME NAME RATE; docs/reference/inputs.md makes it of other forms)"

// An unreadError is of a text whose first line is none of ibnetdiscover's.
type unreadError struct{ error }

// unread are texts about networks, hosts and jobs that are not read, and what to give in their place.
var unread = []struct {
	begins     string // regular expression; compiled where it is needed, not at each start of the program
	what, give string
}{
	{`(?m)^0x[0-9a-f]{16} ".*" +\d+ .*==\(`, "the output of iblinkinfo -l", "that of iblinkinfo without -l"},
	{`(?m)^Unicast lids `, "forwarding tables", "the network: the output of ibnetdiscover"},
	{`(?m)^Multicast mlids `, "multicast tables", "the network: the output of ibnetdiscover"},
	{`(?m)^(?:\w+: )?Switch 0x[0-9a-f]+\s*$`, "opensm.fdbs or ibdiagnet2.fdbs", "opensm-subnet.lst or ibdiagnet2.db_csv"},
	{`(?m)^Switch: guid 0x[0-9a-f]+\s*$`, "opensm-lid-matrix.dump", "opensm-subnet.lst"},
	{`(?m)^(?:Ca|Switch|Rt)\s*: 0x[0-9a-f]+ ports `, "a list of nodes (ibhosts, ibswitches, ibnetdiscover -l)", "the output of ibnetdiscover alone"},
	{`(?m)^DR path slid `, "the steps of ibnetdiscover -s", "the output of ibnetdiscover alone"},
	{`(?m)^0x[0-9a-f]{16} 0x[0-9a-f]{4} 0x[0-9a-f]{4}\s*$`, "OpenSM's guid2lid", "the network, and this file with --lids"},
	{`(?m)^(?:Errors for |# Port counters: |Infiniband device '|CA '|NodeRecord dump:|sminfo: |From (?:ca|switch) \{)`, "an output of infiniband-diags about ports or nodes", "that of ibnetdiscover"},
	{`(?m)^\w{3} \d{2} \d{2}:\d{2}:\d{2} \d{6} \[[0-9A-F]+\] 0x`, "a log of OpenSM", "the output of ibnetdiscover (the log is for evbench failures)"},
	{`(?m)^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\S* \[\d+\] \[\d+\] `, "UFM's event log", "the output of ibnetdiscover (the log is for evbench failures)"},
	{`^\s*(?:\[\s*)?\{\s*"(?:name|guid|system_guid|node_description|source_guid|destination_guid|system_name)"\s*:`, "UFM's JSON", "the output of ibnetdiscover, or ibdiagnet2.db_csv"},
	{`(?m)^\s*(?:GPU|NIC)\d+\s.*(?:NV\d+|PIX|SYS|PHB)`, "the output of nvidia-smi topo", "that of ibnetdiscover"},
	{`(?m)^NodeName=\S+ Arch=|^PARTITION +AVAIL`, "the output of scontrol show node or sinfo", "topology.conf, or the output of scontrol show topology"},
	{`(?m)^ *JOBID +PARTITION`, "squeue's table", "the network (the table is for evbench routes jobs)"},
	{`(?mi)^(?:ClusterName|SlurmctldHost|ControlMachine|NodeName)\s*=`, "Slurm's slurm.conf", "topology.conf"},
	{`(?mi)^\s*Include\s+\S`, "a file with an Include of Slurm", "its parts in one file, or the output of scontrol show topology"},
	{`(?s)^\s*(?:<\?xml.*)?<graphml`, "GraphML", asCables},
	{`(?s)<platform\s+version`, "a platform of SimGrid", "a notation such as PGFT(2;4,4;1,2;1,2), or " + asCables},
	{`(?i)^\s*<(?:!doctype )?html`, "a page of HTML", "the output of ibnetdiscover"},
	{`^\s*<`, "XML", asCables},
	{`(?m)^(?:Nodes|Tiers|Podsize) \d+\s*$`, "a topology of htsim", "a notation such as FT(2;4,4), or " + asCables},
	{`(?m)^router \d+ (?:node|router) \d+`, "a network of BookSim (anynet)", asCables},
	{`(?m)^\d+ \d+ \d+\s*\n[\d ]+\n(?:\d+ \d+ \S*bps .*\n?)`, "a topology of ns-3 or ASTRA-sim", asCables},
	{`(?i)^#?\s*StartDevice,StartPort,EndDevice,EndPort`, "UFM's NDT", asCables},
	{`(?s)"(?:source_guid|destination_port_node_description)"\s*:`, "UFM's JSON", "the output of ibnetdiscover, or " + asCables},
	{`(?m)^(?:Rate;MTU;LinkDetails;|\d+g;\d+;.*;(?:FI|SW);)`, "the output of opaextractlink (Omni-Path)", asCables},
	{`(?s)^name:.*\btopology:.*\b(?:nodes|links):`, "a topology of containerlab", asCables},
	{`(?s)"topology"\s*:\s*\{.*"(?:endpoints|links)"`, "a topology of containerlab", asCables},
	{`(?m)^lldp\.\S+=|^\s*"lldp"\s*:|^LLDP neighbors|^Interface: .*via: LLDP`, "the output of LLDP", asCables},
	{`(?m)^(?:strict\s+)?(?:di)?graph\b[^\n]*\{`, "a graph of Graphviz", asCables},
	{`(?s)^(?:Creator.*)?\s*graph\s*\[`, "GML", asCables},
	{`(?s)^\s*\{.*"(?:nodes|vertices)"\s*:\s*\[`, "a graph as JSON", asCables},
	{`(?i)^"?(?:side_a|a_terminations|termination_a|device_a|side_a_device)\b`, "a table of cables, such as netbox's", asCables},
	{`(?m)^\s*network\s+\w+[^\n]*\n?\s*\{`, "a network of OMNeT++ (NED)", asCables},
	{`(?m)^(?:LINKS? Report|Node Type Summary|Link Summary|Fabric Information:)`, "a report of Omni-Path (opareport)", "opaextractlink's as " + asCables},
	{`(?m)^\s+\S+ -\d+x-[\d.]+G-> `, "a topology of ibdm (.topo)", "the output of ibnetdiscover, or " + asCables},
	{`^PK\x03\x04`, "a spreadsheet or an archive", asCables},
	{`^%PDF`, "a PDF", asCables},
}

// named names a text that is not read by its kind; "" if its kind is not known.
func named(data []byte) string {
	head := bytes.ReplaceAll(data[:min(len(data), 1<<16)], []byte("\r"), nil)
	if len(bytes.TrimSpace(head)) == 0 {
		return "the file is empty"
	}
	for _, x := range unread {
		if regexp.MustCompile(x.begins).Match(head) {
			return "this is " + x.what + ", which is not read; give " + x.give
		}
	}
	return ""
}
