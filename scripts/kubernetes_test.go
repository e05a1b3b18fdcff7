package scripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"evbench/scenario"
	"evbench/testing/expect"
)

// manifests reads the documents of a file below scripts/kubernetes, by their kind.
func manifests(t *testing.T, name string) map[string]map[string]any {
	t.Helper()
	text := expect.Value(os.ReadFile(filepath.Join("kubernetes", name)))(t)
	all := map[string]map[string]any{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var doc map[string]any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return all
		} else {
			expect.Must(t, err)
		}
		all[doc["kind"].(string)] = doc
	}
}

// at returns what stands in a document below keys.
func at(doc any, keys ...string) any {
	for _, key := range keys {
		doc = doc.(map[string]any)[key]
	}
	return doc
}

// module returns the directory of a Go module that this program does not import: its files are
// the published schemas.
func module(t *testing.T, version string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", version)
	cmd.Dir = t.TempDir()
	out, err := cmd.Output()
	expect.MustTrue(t, err == nil, "go mod download %s: %v: %s", version, err, out)
	var m struct{ Dir string }
	expect.Must(t, json.Unmarshal(out, &m))
	return m.Dir
}

// closed refuses fields that a schema does not have, as kubectl does.
func closed(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		if _, open := s["additionalProperties"]; !open && s["properties"] != nil && s["x-kubernetes-preserve-unknown-fields"] == nil {
			s["additionalProperties"] = false
		}
		for _, below := range s {
			closed(below)
		}
	case []any:
		for _, below := range s {
			closed(below)
		}
	}
	return schema
}

// operatorSchema returns the schema of an MPIJob that the MPI operator publishes.
func operatorSchema(t *testing.T) any {
	text := expect.Value(os.ReadFile(filepath.Join(module(t, "github.com/kubeflow/mpi-operator@v0.6.0"), "manifests/base/kubeflow.org_mpijobs.yaml")))(t)
	var crd map[string]any
	expect.Must(t, yaml.Unmarshal(text, &crd))
	for _, v := range at(crd, "spec", "versions").([]any) {
		if at(v, "name") == "v2beta1" {
			return closed(at(v, "schema", "openAPIV3Schema"))
		}
	}
	t.Fatal("no v2beta1")
	return nil
}

// A typeOf is a type in the form in which Kubernetes' client publishes the fields of its objects.
type typeOf struct {
	Name   string
	Scalar string
	Named  string `yaml:"namedType"`
	Map    *struct {
		Fields []struct {
			Name string
			Type typeOf
		}
		Element *typeOf `yaml:"elementType"`
	}
	List *struct {
		Element typeOf `yaml:"elementType"`
	}
}

// schema is the same as JSON Schema.
func (x *typeOf) schema() map[string]any {
	switch {
	case x.Named != "":
		return map[string]any{"$ref": "#/$defs/" + x.Named}
	case x.List != nil:
		return map[string]any{"type": "array", "items": x.List.Element.schema()}
	case x.Map != nil && x.Map.Element != nil && x.Map.Fields == nil:
		return map[string]any{"type": "object", "additionalProperties": x.Map.Element.schema()}
	case x.Map != nil && x.Map.Fields != nil:
		fields := map[string]any{}
		for _, f := range x.Map.Fields {
			fields[f.Name] = f.Type.schema()
		}
		return map[string]any{"type": "object", "properties": fields, "additionalProperties": false}
	case x.Scalar != "" && x.Scalar != "untyped":
		return map[string]any{"type": map[string]any{"string": "string", "numeric": "number", "boolean": "boolean"}[x.Scalar]}
	}
	return map[string]any{} // anything
}

// objectSchemas are those of Kubernetes' own objects, by the names of their types.
func objectSchemas(t *testing.T) map[string]any {
	text := expect.Value(os.ReadFile(filepath.Join(module(t, "k8s.io/client-go@v0.34.1"), "applyconfigurations/internal/internal.go")))(t)
	_, types, found := strings.Cut(string(text), "typed.YAMLObject(`")
	expect.MustTrue(t, found, "the client has its schema elsewhere")
	types, _, _ = strings.Cut(types, "`")
	var doc struct{ Types []typeOf }
	expect.Must(t, yaml.Unmarshal([]byte(types), &doc))
	defs := map[string]any{}
	for _, x := range doc.Types {
		defs[x.Name] = x.schema()
	}
	return defs
}

// conforms validates a document.
func conforms(t *testing.T, schema, doc any) error {
	t.Helper()
	c := jsonschema.NewCompiler()
	expect.Must(t, c.AddResource("schema.json", schema))
	return expect.Value(c.Compile("schema.json"))(t).Validate(doc)
}

// The files for Kubernetes have no field that the published schemas do not have, and as many pods
// as their scenario has ranks. A misspelt field is found.
func TestKubernetesFiles(t *testing.T) {
	ranks := func(doc map[string]map[string]any) string {
		text := at(doc["ConfigMap"], "data", "scenario.yaml").(string)
		s := expect.Value(scenario.Read(doc["ConfigMap"]["kind"].(string), strings.NewReader(text)))(t)
		return fmt.Sprint(s.Tree.Servers() + 1) // and the controller
	}
	defs := objectSchemas(t)
	object := func(kind string) any {
		return map[string]any{"$ref": "#/$defs/" + kind, "$defs": defs}
	}

	jobs := manifests(t, "job.yaml")
	job := jobs["Job"]
	expect.OK(t, conforms(t, object("io.k8s.api.batch.v1.Job"), job), "Job")
	expect.OK(t, conforms(t, object("io.k8s.api.core.v1.Service"), jobs["Service"]), "Service")
	expect.OK(t, conforms(t, object("io.k8s.api.core.v1.ConfigMap"), jobs["ConfigMap"]), "ConfigMap")
	said := at(at(job, "spec", "template", "spec", "containers").([]any)[0], "env").([]any)[0]
	pods := ranks(jobs)
	expect.Equal(t, fmt.Sprintln(at(job, "spec", "completions"), at(job, "spec", "parallelism"), at(said, "value")), fmt.Sprintln(pods, pods, pods), "pods")
	at(job, "spec").(map[string]any)["completion"] = 9
	expect.True(t, conforms(t, object("io.k8s.api.batch.v1.Job"), job) != nil, "a field that is none was not found")

	jobs = manifests(t, "mpijob.yaml")
	operator, job := operatorSchema(t), jobs["MPIJob"]
	expect.OK(t, conforms(t, operator, job), "MPIJob")
	replicas := at(job, "spec", "mpiReplicaSpecs")
	expect.Equal(t, fmt.Sprint(at(replicas, "Launcher", "replicas").(int)+at(replicas, "Worker", "replicas").(int)), ranks(jobs), "pods")
	for _, kind := range []string{"Launcher", "Worker"} {
		expect.OK(t, conforms(t, object("io.k8s.api.core.v1.PodSpec"), at(replicas, kind, "template", "spec")), kind)
	}
	at(job, "spec").(map[string]any)["slots"] = 1
	expect.True(t, conforms(t, operator, job) != nil, "a field that is none was not found")
}
