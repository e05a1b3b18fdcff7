package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The forms of summary.json and manifest.json that this package writes and
// reads.
const (
	SummarySchema  = "evbench/summary/1"
	ManifestSchema = "evbench/manifest/1"
)

// maxJSON bounds what is read as one document.
const maxJSON = 256 << 20

// Write writes the summary as indented JSON.
func (s Summary) Write(w io.Writer) error {
	s.Schema = SummarySchema
	return write(w, s)
}

// Write writes the manifest as indented JSON.
func (m Manifest) Write(w io.Writer) error {
	m.Schema = ManifestSchema
	return write(w, m)
}

func write(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// ReadSummary reads what Summary.Write wrote.
func ReadSummary(r io.Reader) (Summary, error) {
	var s Summary
	return s, read(r, &s, &s.Schema, SummarySchema)
}

// ReadManifest reads what Manifest.Write wrote.
func ReadManifest(r io.Reader) (Manifest, error) {
	var m Manifest
	return m, read(r, &m, &m.Schema, ManifestSchema)
}

// read decodes one document into v, whose schema is then to be what is wanted.
// Fields that it does not know are skipped: a later version may add some.
func read(r io.Reader, v any, schema *string, want string) error {
	dec := json.NewDecoder(io.LimitReader(r, maxJSON))
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("ends too early: writing it was interrupted")
		}
		return err
	}
	if *schema != want {
		return fmt.Errorf("schema %q; this evbench reads %q", *schema, want)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the document")
	}
	return nil
}

// A Run is everything that was kept of a run.
type Run struct {
	Manifest Manifest
	Summary  Summary
	Samples  []Sample
	Links    []LinkCount
}
