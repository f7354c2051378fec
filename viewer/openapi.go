package viewer

import (
	"cmp"
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/waggle-crawler/waggle/event"
	"github.com/waggle-crawler/waggle/viewer/figures"
)

// route is something that can be asked for. The document of the interface is made of
// these, so it tells what there is.
type route struct {
	path   string // with {id} for a crawl
	line   string // for people
	params []param
	answer any    // a value of the type of the answer; nil = no JSON
	kind   string // the media type of an answer that is no JSON
	serve  http.HandlerFunc
	// What may be sent there by POST, and what is answered; nil = nothing may. Where kind is
	// given, the answer is lines of it, each of the type of told.
	postLine    string
	takes, told any
	post        http.HandlerFunc
}

// param is a parameter of a route.
type param struct {
	name, kind, line string   // kind is "string", "integer" or "number"
	of               []string // the words that it may be; nil = any
	needed           bool
}

// The answers of routes that have no other name.
type (
	hostList struct {
		Hosts []figures.Host `json:"hosts"`
		All   int            `json:"all"` // how many there are
	}
	causeLists struct {
		Failed  []figures.Cause `json:"failed"`
		Skipped []figures.Cause `json:"skipped"`
	}
	frontierView struct {
		Bins    []figures.Bin  `json:"bins"`
		Boosted int            `json:"boosted"` // that acts put before others
		Seeds   int            `json:"seeds"`
		Hosts   []figures.Host `json:"hosts"`
	}
	jobView struct {
		Job     string          `json:"job"`
		Changes []event.Changed `json:"changes"`
	}
	form struct {
		Name string `json:"name"`
		Line string `json:"line"`
		File string `json:"file"`
	}
)

// document is the OpenAPI document of routes.
func document(routes []route) map[string]any {
	paths := map[string]any{}
	for _, r := range routes {
		var params []any
		if strings.Contains(r.path, "{id}") {
			params = append(params, map[string]any{"name": "id", "in": "path", "required": true, "description": "The crawl, as /api/crawls names it.", "schema": map[string]any{"type": "string"}})
		}
		if strings.Contains(r.path, "{form}") {
			params = append(params, map[string]any{"name": "form", "in": "path", "required": true, "description": "A form, as /api/exports names it.", "schema": map[string]any{"type": "string"}})
		}
		for _, p := range r.params {
			schema := map[string]any{"type": p.kind}
			if p.of != nil {
				schema["enum"] = p.of
			}
			params = append(params, map[string]any{"name": p.name, "in": "query", "required": p.needed, "description": p.line, "schema": schema})
		}
		both := map[string]any{}
		operation := func(line, id string, content map[string]any) map[string]any {
			o := map[string]any{
				"summary": line, "operationId": id,
				"responses": map[string]any{
					"200":     map[string]any{"description": "The answer.", "content": content},
					"default": map[string]any{"description": "Why there is none.", "content": map[string]any{"application/json": map[string]any{"schema": schemaOf(reflect.TypeFor[failure]())}}},
				},
			}
			if params != nil {
				o["parameters"] = params
			}
			return o
		}
		of := func(kind string, answer any) map[string]any {
			if answer == nil {
				return map[string]any{kind: map[string]any{"schema": map[string]any{"type": "string"}}}
			}
			return map[string]any{cmp.Or(kind, "application/json"): map[string]any{"schema": schemaOf(reflect.TypeOf(answer))}}
		}
		id := strings.Trim(strings.NewReplacer("/api/", "", "/crawls/{id}/", "", "crawls/{id}/", "", "exports/{form}", "export", "/", "").Replace(r.path), "/")
		if r.serve != nil {
			both["get"] = operation(r.line, id, of(r.kind, r.answer))
		}
		if r.post != nil {
			switch { // each operation has a name of its own
			case id == "acts":
				id = "tell"
			case r.serve != nil:
				id = "take-" + id
			}
			post := operation(r.postLine, id, of(r.kind, r.told))
			post["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": schemaOf(reflect.TypeOf(r.takes))}}}
			both["post"] = post
		}
		paths[r.path] = both
	}
	return map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "waggle open", "version": "1",
			"description": "Crawls, while they run and afterwards. Texts of pages are untrusted, without control and bidirectional characters. Crawls can be told what acts name; where the server was started so, crawls can be begun and gone on with. Nothing else can be changed.",
		},
		"security":   []any{map[string]any{"key": []any{}}},
		"components": map[string]any{"securitySchemes": map[string]any{"key": map[string]any{"type": "http", "scheme": "bearer", "description": "The key of the address that waggle printed."}}},
		"paths":      paths,
	}
}

// failure is an answer that tells what went wrong.
type failure struct {
	Error string `json:"error"`
}

// schemaOf is the JSON schema of a type.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[event.Ending]():
		names, lines := []string{""}, []string{`"" = it has not ended`}
		for _, e := range event.Endings() {
			names, lines = append(names, string(e)), append(lines, string(e)+" = "+e.Words())
		}
		return map[string]any{"type": "string", "enum": names, "description": strings.Join(lines, "; ") + "."}
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		fields(t, properties, &required)
		slices.Sort(required)
		return map[string]any{"type": "object", "properties": properties, "required": required}
	}
	return map[string]any{"type": "integer"}
}

// fields are those of a struct, with those of the structs that it embeds.
func fields(t reflect.Type, properties map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			fields(f.Type, properties, required)
		case f.IsExported() && name != "-":
			properties[name] = schemaOf(f.Type)
			if !strings.Contains(options, "omit") {
				*required = append(*required, name)
			}
		}
	}
}

// serveDocument answers with the OpenAPI document.
func (s *Server) serveDocument(w http.ResponseWriter, _ *http.Request) {
	b, err := json.MarshalIndent(document(s.routes()), "", "  ")
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(b) // a reader that leaves is no fault
}
