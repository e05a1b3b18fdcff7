package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"evbench/internal/printable"
)

// The forms of summary.json and manifest.json that this package writes and
// reads.
const (
	SummarySchema  = "evbench/summary/1"
	ManifestSchema = "evbench/manifest/1"
)

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

// ReadSummary reads what Summary.Write wrote. Texts are as Text has them.
func ReadSummary(r io.Reader) (Summary, error) {
	var s Summary
	err := read(r, &s, SummarySchema)
	clean(&s)
	return s, err
}

// ReadManifest reads what Manifest.Write wrote. Texts are as Text has them; only the
// scenario, a whole document, may be longer.
func ReadManifest(r io.Reader) (Manifest, error) {
	var m Manifest
	err := read(r, &m, ManifestSchema)
	scenario := m.Scenario
	clean(&m)
	m.Scenario = printable.Text(scenario, maxJSON)
	return m, err
}

// read decodes one document into v, whose schema is to be what is wanted; that is
// looked at first, for another version may have other types. Fields that it does
// not know are skipped: a later version may add some. Errors name the line.
func read(r io.Reader, v any, want string) error {
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return err
	}
	if len(data) > maxJSON {
		return fmt.Errorf("longer than %d bytes", maxJSON)
	}
	var head struct{ Schema string }
	if err := json.Unmarshal(data, &head); err != nil {
		return atLine(data, err)
	}
	if head.Schema != want {
		return fmt.Errorf("schema %q; this evbench reads %q", Text(head.Schema), want)
	}
	return atLine(data, json.Unmarshal(data, v))
}

// atLine says what an error of encoding/json means, and on which line it is.
func atLine(data []byte, err error) error {
	if err == nil {
		return nil
	}
	at := int64(0)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		if strings.Contains(err.Error(), "unexpected end") {
			return errors.New("ends too early: writing it was interrupted")
		}
		if at = bad.Offset; strings.Contains(err.Error(), "after top-level value") {
			err = errors.New("something follows the document")
		}
	} else if bad, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = bad.Offset
	} else if at = wrongTime(data); at == 0 {
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(int(at), len(data))], []byte("\n")), err)
}

// wrongTime returns where the first value ends that is to be a time and is none, 0 if there
// is none. Errors of times do not say it.
func wrongTime(data []byte) int64 {
	in := json.NewDecoder(bytes.NewReader(data))
	for isTime := false; ; {
		token, err := in.Token()
		if err != nil {
			return 0
		}
		text, isText := token.(string)
		if isTime && token != nil && (!isText || new(time.Time).UnmarshalText([]byte(text)) != nil) {
			return in.InputOffset()
		}
		isTime = isText && slices.ContainsFunc([]string{"started", "ended", "made"}, func(name string) bool { return strings.EqualFold(name, text) })
	}
}

// A Run is everything that was kept of a run.
type Run struct {
	Manifest Manifest
	Summary  Summary
	Samples  []Sample
	Links    []LinkCount
	Pairs    []PairCount // nil where nobody counted by pair
	// Exchanges are how long exchanges took; nil where nobody kept it.
	Exchanges []ExchangeTime
	Plans     map[string][]byte // in their text form, by case
}
