package results

import (
	"reflect"

	"evbench/internal/printable"
)

// Text is how a text of results is taken that were read: they may come of anybody, and what
// workers and tools of others have said is in them.
func Text(s string) string { return printable.Text(s, printable.Most) }

// clean makes all texts of what v points to such that they can be shown. A field that is
// new is among them.
func clean(v any) { cleanValue(reflect.ValueOf(v)) }

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(Text(v.String()))
		}
	case reflect.Pointer:
		cleanValue(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanValue(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Map:
		cleanMap(v)
	}
}

// cleanMap cleans texts by text.
func cleanMap(v reflect.Value) {
	old, ok := v.Interface().(map[string]string)
	if !ok || old == nil {
		return
	}
	out := make(map[string]string, len(old))
	for name, text := range old {
		out[Text(name)] = Text(text)
	}
	v.Set(reflect.ValueOf(out))
}
