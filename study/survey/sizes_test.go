package survey_test

import (
	"encoding/json"
	"strings"
	"testing"

	"evbench/study/survey"
	"evbench/topology"
	"evbench/topology/topologytest"
)

// By sizes no plan is worse than its phases; where nine of sixteen links cannot be dead
// without cutting leaves apart, there are no rows.
func TestSizesTable(t *testing.T) {
	for ports, rows := range map[int]int{2: 14, 4: 21} {
		table, err := survey.SizesTable(topologytest.Tree(t, topology.Options{Ports: ports, Leaves: 4}), 1)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := table.WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var doc struct{ Rows []map[string]any }
		if err := json.Unmarshal([]byte(b.String()), &doc); err != nil || len(doc.Rows) != rows {
			t.Fatalf("%d rows, want %d; error %v of %s", len(doc.Rows), rows, err, b.String())
		}
		for _, r := range doc.Rows {
			phases, planned := r["phases_ratio"].(float64), r["planned_ratio"].(float64)
			if phases > planned+1e-9 || planned > 1 || planned < 0.6 {
				t.Errorf("%v", r)
			}
			for _, name := range []string{"window2_ratio", "window3_ratio", "window4_ratio"} {
				if e := r[name].(float64); e > 1 || e < 0.6 {
					t.Errorf("%s of %v", name, r)
				}
			}
		}
	}
	pods, err := topology.New(topology.Options{Ports: 2, Leaves: 4, Pods: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := survey.SizesTable(pods, 1); err == nil {
		t.Error("three levels have a table")
	}
}
