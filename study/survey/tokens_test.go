package survey_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evbench/study/survey"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// Order with tokens is better than phases with barriers where sizes differ by half or more;
// without the tokens for links it is worse; what comes late costs all.
func TestTokensTable(t *testing.T) {
	table, err := survey.TokensTable(topologytest.Tree(t, topology.Options{Ports: 3, Leaves: 3}), 1)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := table.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct{ Rows []map[string]any }
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil || len(doc.Rows) != 40 {
		t.Fatalf("%d rows; error %v of %s", len(doc.Rows), err, b.String())
	}
	portsOnly := 0
	for _, r := range doc.Rows {
		of := func(name string) float64 { return r[name+"_ratio"].(float64) }
		for _, name := range []string{"phases", "fors_order", "planned", "ports_only", "phases_stragglers", "planned_stragglers"} {
			if x := of(name); x < 0.2 || x > 1 {
				t.Errorf("%s of %v", name, r)
			}
		}
		differ := r["sizes"] == "uniform50" || r["sizes"] == "exponential"
		if differ && of("planned") < of("phases")+0.05 || of("phases_stragglers") > of("phases") || of("planned_stragglers") > of("planned") {
			t.Errorf("%v", r)
		}
		if differ && of("ports_only") < of("planned") {
			portsOnly++
		}
	}
	if portsOnly < 13 {
		t.Errorf("without tokens for links %d rows of 16 are worse", portsOnly)
	}
	pods, err := topology.New(topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := survey.TokensTable(pods, 1); err == nil {
		t.Error("three levels have a table")
	}
}
