package openapi

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const shortSource = `
paths:
  /things:
    servers: [{url: /v2}]
    post:
      parameters: [IdempotencyKey]
      body: {schema: Thing, example: {name: A}}
      responses:
        '200': {description: Made., data: Thing, example: {name: A}}
      errors: [BadRequest]
components:
  responses:
    BadRequest: {status: 400, description: Bad., codes: [VALIDATION_ERROR], error: {message: no}}
    MoneyUnauthorized: {status: 401, description: Unknown., codes: [UNAUTHORIZED, INVALID_CREDENTIALS], error: {message: no}}
    IdempotencyConflict: {status: 409, description: Twice., schema: Error}
    BodyTooLarge: {status: 413, description: Large., schema: Error}
    RateLimited: {status: 429, description: Often., headers: [Retry-After], schema: Error}
    InternalError: {status: 500, description: Broken., schema: Error}
    Unavailable: {status: 503, description: Later., schema: Error}
  schemas:
    Thing: {properties: {name: {type: string}, "note?": {$ref: Note}}}
`

const fullPath = `
  /things:
    servers: [{url: /v2}]
    post:
      parameters: [{$ref: '#/components/parameters/IdempotencyKey'}]
      requestBody:
        required: true
        content: {application/json: {schema: {$ref: '#/components/schemas/Thing'}, example: {name: A}}}
      responses:
        '200':
          description: Made.
          headers: {X-Request-Id: {$ref: '#/components/headers/X-Request-Id'}, RateLimit: {$ref: '#/components/headers/RateLimit'},
            RateLimit-Policy: {$ref: '#/components/headers/RateLimit-Policy'}, Idempotent-Replayed: {$ref: '#/components/headers/Idempotent-Replayed'}}
          content:
            application/json:
              schema: {type: object, additionalProperties: false, required: [ok, data],
                properties: {ok: {type: boolean, const: true}, data: {$ref: '#/components/schemas/Thing'}}}
              example: {ok: true, data: {name: A}}
        '400': {$ref: '#/components/responses/BadRequest'}
        '401': {$ref: '#/components/responses/MoneyUnauthorized'}
        '409': {$ref: '#/components/responses/IdempotencyConflict'}
        '413': {$ref: '#/components/responses/BodyTooLarge'}
        '429': {$ref: '#/components/responses/RateLimited'}
        '500': {$ref: '#/components/responses/InternalError'}
        '503': {$ref: '#/components/responses/Unavailable'}
`

func expanded(t *testing.T, source string) map[string]any {
	t.Helper()
	text, err := toJSON([]byte(source))
	var document map[string]any
	if err == nil {
		err = json.Unmarshal(text, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	return document
}

func TestWhatOperationsHaveInCommonIsAdded(t *testing.T) {
	var want map[string]any
	if err := yaml.Unmarshal([]byte(fullPath), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, expanded(t, shortSource)["paths"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPropertiesAreRequiredUnlessTheirNameMarksThemOptional(t *testing.T) {
	want := map[string]any{"Thing": map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"name"},
		"properties": map[string]any{"name": map[string]any{"type": "string"}, "note": map[string]any{"$ref": "#/components/schemas/Note"}},
	}}
	if diff := cmp.Diff(want, expanded(t, shortSource)["components"].(map[string]any)["schemas"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnErrorHasItsEnvelopeAndItsFirstCode(t *testing.T) {
	answer := expanded(t, shortSource)["components"].(map[string]any)["responses"].(map[string]any)["MoneyUnauthorized"].(map[string]any)
	content := answer["content"].(map[string]any)["application/json"].(map[string]any)
	want := map[string]any{"ok": false, "error": map[string]any{"code": "UNAUTHORIZED", "message": "no"}}
	if diff := cmp.Diff(want, content["example"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnErrorThatIsNotDefinedIsRefused(t *testing.T) {
	for source, want := range map[string]string{
		strings.Replace(shortSource, "errors: [BadRequest]", "errors: [BadLuck]", 1): "there is no answer BadLuck",
		strings.Replace(shortSource, "status: 400, ", "", 1):                         "the answer BadRequest has no status",
		strings.Replace(shortSource, "status: 400", "status: 422", 1):                "the answer BadRequest has the status 422 and the code VALIDATION_ERROR",
	} {
		if _, err := toJSON([]byte(source)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
