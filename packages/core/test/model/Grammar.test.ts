/** Tests the JSON Schemas that grammars can enforce. */
import { Grammar, ModelInput, RequestRules } from "@effect-rl/core/backend"
import { Script } from "@effect-rl/core/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Schema } from "effect"

const held = (schema: Schema.Json) => Result.getOrThrow(Grammar.canonical(schema))

describe("Grammar.canonical", () => {
  it("removes annotations, makes types and bounds explicit, and excludes properties that are not listed", () => {
    const cases: ReadonlyArray<readonly [Schema.Json, Schema.Json]> = [
      [true, {}],
      [{ title: "anything", $schema: "https://json-schema.org/draft/2020-12/schema" }, {}],
      [{ type: "object" }, { type: "object", additionalProperties: {} }],
      [{ type: "string", format: "date", description: "a day" }, { type: "string" }],
      [
        { properties: { a: { type: "number" } }, required: ["a"] },
        { type: "object", properties: { a: { type: "number" } }, required: ["a"], additionalProperties: false }
      ],
      [{ type: "integer", exclusiveMinimum: 2, maximum: 5 }, { enum: [3, 4, 5] }],
      [{ type: "integer", exclusiveMinimum: 0 }, { type: "integer", minimum: 1 }],
      [{ type: "string", enum: ["a", 1] }, { enum: ["a"] }],
      [{ const: null }, { enum: [null] }],
      [{ type: ["string", "null"] }, { anyOf: [{ type: "string" }, { type: "null" }] }],
      [{ allOf: [{ type: "boolean" }] }, { type: "boolean" }],
      [{ type: "array", minItems: 1 }, { type: "array", items: {}, minItems: 1 }],
      [
        { $ref: "#/$defs/list", $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } } },
        { $ref: "#/$defs/list", $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } } }
      ]
    ]
    for (const [schema, canonical] of cases) assert.deepStrictEqual(held(schema), canonical)
  })

  it("refuses a schema and names the part that cannot be enforced", () => {
    const cases: ReadonlyArray<readonly [Schema.Json, string]> = [
      [false, "the schema is false, expected a schema that some value has"],
      [{ type: "number", multipleOf: 2 }, "multipleOf is 2, which no grammar can enforce"],
      [{ type: "number", minimum: 0.5 }, "minimum is 0.5, which no grammar can enforce"],
      [{ type: "string", pattern: "^a" }, "pattern is \"^a\", which no grammar can enforce"],
      [{ type: "string", minLength: 1 }, "minLength is 1, which no grammar can enforce"],
      [{ oneOf: [{ type: "string" }] }, "oneOf is [{\"type\":\"string\"}], which no grammar can enforce"],
      [{ allOf: [{ type: "string" }, {}] }, "allOf is [{\"type\":\"string\"},{}], expected a list of one schema"],
      [{ type: "word" }, "type is \"word\", expected one of object, array"],
      [{ type: "integer", minimum: 0.5 }, "minimum is 0.5, expected a whole number"],
      [{ type: "integer", minimum: 4, maximum: 3 }, "minimum is 4, expected at most 3"],
      [
        { type: "integer", minimum: 2 },
        "minimum is 2, expected 0 or 1, or a maximum beside it and at most 1024 numbers"
      ],
      [{ type: "array", maxItems: 5000 }, "maxItems is 5000, expected a whole number from 0 to 4096"],
      [{ type: "array", minItems: 2, maxItems: 1 }, "minItems is 2, expected at most 1"],
      [{ enum: [] }, "enum is [], expected a value of the schema's type"],
      [{ type: "object", required: ["a"] }, "required is [\"a\"], expected a list of names that properties has"],
      [
        { type: "object", properties: { a: {} }, additionalProperties: true },
        "additionalProperties is true, expected false where there are properties"
      ],
      [
        { type: "object", properties: { a: { type: "array", items: { type: "array", uniqueItems: true } } } },
        "properties.a.items.uniqueItems is true, which no grammar can enforce"
      ],
      [{ $ref: "#/$defs/a" }, "$ref is \"#/$defs/a\", expected the name of a definition"],
      [{ $ref: "https://a/b" }, "$ref is \"https://a/b\", expected #, or #/$defs/"],
      [{ $ref: "#" }, "$ref is \"#\", which refers to itself"],
      [
        { $ref: "#/$defs/a", $defs: { a: { anyOf: [{ type: "null" }, { $ref: "#/$defs/a" }] } } },
        "$ref is \"#\", which refers to itself"
      ]
    ]
    for (const [schema, problem] of cases) assert.include(Grammar.problem(schema) ?? "", problem)
    const deep = Array.from({ length: 70 }).reduce<Schema.Json>((items) => ({ type: "array", items }), true)
    assert.include(Grammar.problem(deep) ?? "", "expected at most 64 levels")
    const numbers = { type: "integer", minimum: 1000, maximum: 2000 }
    const large = { anyOf: Array.from({ length: 9 }, () => numbers) }
    assert.match(
      Grammar.problem(large) ?? "",
      /the schema has \d+ characters as it is compiled, expected at most 32768/
    )
  })

  it("refuses a schema before it becomes too large", () => {
    const nested = (schema: Schema.Json, levels: number, wrap: (schema: Schema.Json) => Schema.Json): Schema.Json =>
      Array.from({ length: levels }).reduce<Schema.Json>(wrap, schema)
    const cases: ReadonlyArray<readonly [Schema.Json, string]> = [
      [
        {
          anyOf: Array.from({ length: 4000 }, (_, from) => ({ type: "integer", minimum: from, maximum: from + 1000 }))
        },
        "anyOf[16].minimum is 16, expected 0 or 1, or a maximum beside it"
      ],
      [
        { anyOf: Array.from({ length: 400 }, () => ({ type: "array", maxItems: 4096 })) },
        "anyOf[3].maxItems is 4096, expected at most 16384 schemas, numbers of ranges and counted items in all"
      ],
      [{ anyOf: Array.from({ length: 20_000 }, () => true) }, "is true, expected at most 16384 schemas"],
      [{ const: nested([], 5000, (inner) => [inner]) }, "the schema is nested deeper than 256 levels of JSON"]
    ]
    for (const [schema, problem] of cases) assert.include(Grammar.problem(schema) ?? "", problem)
    const repeated = nested({ type: "null" }, 40, (items) => ({ type: ["array", "array"], items }))
    assert.deepStrictEqual(held(repeated), nested({ type: "null" }, 40, (items) => ({ type: "array", items })))
  })

  it("keeps property names of any kind, and values that JSON can write", () => {
    const schema = JSON.parse(`{"properties":{"__proto__":{"type":"null"}},"required":["__proto__"]}`)
    assert.include(JSON.stringify(held(schema)), `"properties":{"__proto__":{"type":"null"}}`)
    assert.include(JSON.stringify(held(JSON.parse(`{"$ref":"#/$defs/__proto__","$defs":{"__proto__":true}}`))), "{}")
    for (const text of [`{"const":1e999}`, `{"enum":[[{"a":-1e999}]]}`]) {
      assert.include(Grammar.problem(JSON.parse(text)) ?? "", "expected numbers from -1.797")
    }
  })

  it.effect("refuses a request with an invalid schema or to a backend without grammars", () =>
    Effect.gen(function*() {
      const prompt = ModelInput.fromTokens([1])
      const check = (jsonSchema: Schema.Json, sampling: ReadonlyArray<"grammar">) => {
        const limits = { vocabulary: 9, capabilities: { ...Script.defaultCapabilities, sampling } }
        return Effect.flip(RequestRules.sample({ prompt, params: { maxTokens: 1 }, grammar: { jsonSchema } }, limits))
      }
      const unheld = yield* check({ type: "number", multipleOf: 2 }, ["grammar"])
      assert.include(unheld.message, "grammar.jsonSchema: multipleOf is 2")
      const unsupported = yield* check({ type: "object" }, [])
      assert.deepInclude(unsupported, { _tag: "Unsupported", capability: "grammar" })
    }))
})
