package kit

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"evbench/internal/hostlist"
)

// A rule returns what may be known of a text: the text, another in its place, or nothing.
type rule func(string) string

// rules are the rules of the texts of a document, by the names of their fields. A text without one
// stays out.
type rules map[string]rule

// word passes the words of evbench's own, which no user chooses.
func word(text string) string {
	if slices.Contains(words, text) {
		return text
	}
	return ""
}

var words = strings.Fields("healthy dead synchronised tournament linear-shift ftree pinned phase fluid buffer discard header full none " +
	"tcp mpi rdma hdf5 csv json ssh hosts lab emulate sim up down ratio_to_control goodput_bit_per_s rounds exchanges resolved ranked unresolved " +
	"pending control copy zerocopy splice performance powersave ondemand conservative schedutil userspace linux/amd64 linux/arm64 linux/ppc64le linux/riscv64 linux/s390x")

// the passes the part of a text that a pattern finds.
func the(pattern string) rule {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(text string) string { return compiled().FindString(text) }
}

// always puts one text in the place of all.
func always(text string) rule { return func(string) string { return text } }

var (
	digest  = the(`^sha256:[0-9a-f]{64}$`)
	release = the(`^(go)?v?\d+(\.\d+)*`)
	kernel  = the(`^Linux \d+(\.\d+)*`)
	nic     = the(`^(mlx[45]_core|ib_ipoib|ixgbe|i40e|ice|bnxt_en|virtio_net|e1000e?|igb|igc|r8169|tg3|ena|gve|vmxnet3|hfi1)(, (pci|virtio) ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|virtio\d+)$)?`)
	cpu     = the(`^(AMD|Intel\(R\)|ARM|Ampere|IBM|NVIDIA)( (EPYC|Ryzen|Opteron|Xeon\(R\)|Core\(TM\)|Platinum|Gold|Silver|Bronze|CPU|\d+[A-Z]{0,2}))*`)
	cpus    = the(`^\d+(-\d+)?(,\d+(-\d+)?)*$`)
	link    = the(`^((server|leaf|spine)\d+-(leaf|spine)\d+|pod\d+-spine\d+-top\d+)(/\d+)?$`)
	rate    = the(`^\d+(\.\d+)? ?[kMGT]?bit/s$`)
	tree    = the(`^[A-Za-z]+\([0-9;, ]+\)$`)
)

// numbers give hosts numbers, in the order in which they are first named. Names with and without
// domain, in any case, are one.
type numbers map[string]int

func (n numbers) host(name string) string {
	if name == "" {
		return ""
	}
	name, _, _ = strings.Cut(name, "@")
	key := strings.ToLower(hostlist.Plain(name))
	if _, known := n[key]; !known {
		n[key] = len(n)
	}
	return fmt.Sprintf("host%d", n[key])
}

// An Entry is what happened to a field of a file, or to a file.
type Entry struct {
	File     string `json:"file"`
	Field    string `json:"field,omitempty"`
	Replaced int    `json:"replaced,omitempty"`
	LeftOut  int    `json:"left_out,omitempty"`
}

// A ledger lists what was replaced and left out.
type ledger []Entry

func (l *ledger) at(file, field string) *Entry {
	for i := range *l {
		if e := &(*l)[i]; e.File == file && e.Field == field {
			return e
		}
	}
	*l = append(*l, Entry{File: file, Field: field})
	return &(*l)[len(*l)-1]
}

// note counts what has become of a text.
func (l *ledger) note(file, field, was, is string) {
	switch {
	case was == is:
	case is == "":
		l.at(file, field).LeftOut++
	default:
		l.at(file, field).Replaced++
	}
}

// A scrubber applies rules to a document of a known type, which has no other fields.
type scrubber struct {
	rules rules
	file  string
	list  *ledger
}

// scrub applies rules to all texts that v points to.
func (l *ledger) scrub(file string, v any, r rules) {
	scrubber{r, file, l}.value(reflect.ValueOf(v).Elem(), "")
}

func (s scrubber) text(field, was string) string {
	is := ""
	if r := s.rules[field]; r != nil {
		is = r(was)
	}
	s.list.note(s.file, field, was, is)
	return is
}

func (s scrubber) value(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.text(field, v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			s.value(v.Elem(), field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.value(v.Index(i), field)
		}
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf(slices.DeleteFunc(v.Interface().([]string), func(x string) bool { return x == "" })))
		}
	case reflect.Map:
		s.texts(v, field)
	case reflect.Struct:
		s.fields(v, field)
	}
}

// texts keeps of a map by text the members that have rules.
func (s scrubber) texts(v reflect.Value, field string) {
	kept := map[string]string{}
	for key, was := range v.Interface().(map[string]string) {
		name := field + "." + key
		if s.rules[name] == nil {
			name = field // its key may be a name
		}
		if is := s.text(name, was); is != "" {
			kept[key] = is
		}
	}
	v.Set(reflect.ValueOf(kept))
}

func (s scrubber) fields(v reflect.Value, field string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			name = f.Tag.Get("col")
		}
		switch {
		case !f.IsExported():
			continue
		case f.Anonymous:
			name = field
		case field != "":
			name = field + "." + name
		}
		s.value(v.Field(i), name)
	}
}
