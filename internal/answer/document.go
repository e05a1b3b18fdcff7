package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Document is all that a command says: its answer, and its findings as text for people, as fields
// of one JSON document and as a table for programs.
type Document struct {
	Answer Answer                // without a verdict: there is none
	Text   func(io.Writer) error // what stands below the answer; nil: the table
	Schema string                // of the JSON document, such as evbench/diff/1; "": Fields begin with it
	Fields any                   // a struct; nil: those of the table
	Table  *Table                // as CSV; nil: there is no such form
}

// Write writes the document as text, json or csv.
func (d Document) Write(w io.Writer, form string) error {
	switch form {
	case "json":
		return d.json(w)
	case "csv":
		return d.Table.writeCSV(w)
	}
	if d.Answer.Verdict != "" {
		if err := d.Answer.WriteText(w); err != nil {
			return err
		}
	}
	if d.Text == nil {
		return d.Table.WriteText(w)
	}
	return d.Text(w)
}

// json writes the schema, the answer and the fields, in this order.
func (d Document) json(w io.Writer) error {
	if d.Fields == nil {
		d.Fields = d.Table.fields()
	}
	fields, err := json.Marshal(d.Fields)
	if err != nil {
		return err
	}
	schema, rest := fmt.Appendf(nil, "{\"schema\":%q", d.Schema), fields[1:]
	if d.Schema == "" {
		schema, rest, _ = bytes.Cut(fields, []byte(","))
	}
	var said bytes.Buffer
	if d.Answer.Verdict != "" {
		said.WriteString(`,"answer":`)
		e := json.NewEncoder(&said)
		e.SetEscapeHTML(false)
		err = e.Encode(d.Answer)
	}
	_, wrong := fmt.Fprintf(w, "%s%s,%s\n", schema, bytes.TrimSpace(said.Bytes()), rest)
	return errors.Join(err, wrong)
}
