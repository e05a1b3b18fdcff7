package papers

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestList(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := WriteList(&got); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/list.txt", got.String(), 99)
}

// TestDocuments sees that each figure stands in the document that it says it is of, once,
// and that there is a state of everything else.
func TestDocuments(t *testing.T) {
	t.Parallel()
	of := map[string]string{}
	seen := map[string]bool{}
	for _, d := range Documents() {
		for _, item := range d.Items {
			key := d.Paper + " " + item.Of
			if item.Of == "" || item.Title == "" || item.State == "" || seen[key] {
				t.Errorf("%s: %+v is not whole, or there are two", d.Paper, item)
			}
			seen[key] = true
			if item.Figure == "" {
				continue
			}
			if of[item.Figure] != "" {
				t.Errorf("%s is listed twice", item.Figure)
			}
			of[item.Figure] = d.Paper
		}
	}
	for _, name := range Names() {
		if of[name] == "" {
			t.Errorf("%s is of no document", name)
		}
		delete(of, name)
	}
	for name := range of {
		t.Errorf("there is no figure %s", name)
	}
}

func TestListJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := WriteListJSON(&out); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Schema    string
		Documents []Document
	}
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Schema != "evbench/reproduce-list/1" || len(doc.Documents) != 5 {
		t.Fatalf("%v, schema %q, %d documents", err, doc.Schema, len(doc.Documents))
	}
	for _, item := range doc.Documents[0].Items {
		if item.Figure == "fig5.9" && item.State != NoNumber || item.Figure == "fig4.8" && item.State != Beside {
			t.Errorf("%+v", item)
		}
	}
}
