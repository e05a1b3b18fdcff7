// Package jsondoc reads JSON of other programs and people. A key that an object has twice is an error: most readers
// take the last one, and nobody sees that the first is lost.
package jsondoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Unmarshal is json.Unmarshal after Once.
func Unmarshal(data []byte, v any) error {
	if err := Once(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Read reads one document.
func Read(r io.Reader, v any) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return Unmarshal(data, v)
}

// Once returns an error if an object of a document, or of several in a row, has a key twice. What is no JSON is no
// affair of it.
func Once(data []byte) error {
	var open []map[string]bool // keys of the objects around, nil: a list
	key := false               // the next string is one
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			open, key = append(open, map[string]bool{}), true
		case '[':
			open, key = append(open, nil), false
		case '}', ']':
			open, key = open[:max(0, len(open)-1)], false
		case ',':
			key = len(open) > 0 && open[len(open)-1] != nil
		case '"':
			text := quoted(data[i:])
			if i += len(text) - 1; !key {
				continue
			}
			key = false
			var name string
			if json.Unmarshal(text, &name) != nil {
				return nil
			}
			if in := open[len(open)-1]; in[name] {
				return fmt.Errorf("line %d: key %.40q is there twice in one object: which counts is not known", 1+bytes.Count(data[:i], []byte("\n")), name)
			} else {
				in[name] = true
			}
		}
	}
	return nil
}

// quoted is the string that data begins with, with its quotes.
func quoted(data []byte) []byte {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return data[:i+1]
		}
	}
	return data
}
