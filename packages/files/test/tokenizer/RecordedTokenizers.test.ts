import { HuggingFaceTokenizer } from "@effect-rl/files"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Files from "../support/Files.ts"
import { sharedFile } from "../support/SharedData.ts"

const fixtures = join(import.meta.dirname, "../fixtures/tokenizers")

const Hashes = Schema.Array(Schema.Tuple([Schema.String, Schema.String, Schema.String, Schema.String]))
type Hashes = typeof Hashes.Type

const Recorded = Schema.Record(Schema.String, Schema.Struct({ sha256: Schema.String, hashes: Hashes }))

const corpus = readFileSync(join(fixtures, "corpus.jsonl"), "utf8").trimEnd().split("\n").map((line) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(Schema.String))(line)
)

const read = <A>(file: string, schema: Schema.Decoder<A>) =>
  Schema.decodeUnknownSync(Schema.fromJsonString(schema))(readFileSync(file, "utf8"))

const recorded = read(join(fixtures, "ids.json"), Recorded)

/** The folder into which `scripts/tokenizers/fetch.sh` downloads tokenizers. */
const fetched = process.env["EFFECT_RL_TOKENIZERS"]

const fileOf = (name: string): string | undefined => {
  const rebuilt = sharedFile(`data/tokenizers/${name.replace("_rebuilt", "")}.tokenizer.json`)
  if (name.endsWith("_rebuilt")) return rebuilt
  const file = join(fetched ?? "", name, "tokenizer.json")
  return fetched !== undefined && existsSync(file) ? file : undefined
}

const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 8)

/** Hashes of the ids, of the ids with special tokens split, of the decoded text, and of the decoded text of every second id. */
const hashesOf = (tokenizer: HuggingFaceTokenizer.HuggingFaceTokenizer, text: string): Hashes[number] => {
  const ids = tokenizer.encode(text)
  const split = tokenizer.encode(text, { splitSpecialTokens: true })
  return [
    digest(ids.join(",")),
    digest(split.join(",")),
    digest(tokenizer.decode(ids)),
    digest(tokenizer.decode(ids.filter((_, index) => index % 2 === 0)))
  ]
}

const agrees = (tokenizer: HuggingFaceTokenizer.HuggingFaceTokenizer, hashes: Hashes) => {
  assert.strictEqual(hashes.length, corpus.length)
  for (const [index, text] of corpus.entries()) {
    assert.deepStrictEqual(hashesOf(tokenizer, text), hashes[index], JSON.stringify(text))
  }
}

/** Checks incremental decoding of the short texts without every third id, one id at a time and in any two parts. */
const decodesIncrementally = (tokenizer: HuggingFaceTokenizer.HuggingFaceTokenizer) => {
  for (const text of corpus.filter(({ length }) => length < 60)) {
    const ids = [...tokenizer.encode(text)].filter((_, index) => index % 3 !== 1)
    const whole = tokenizer.decode(ids)
    const parts = (cuts: ReadonlyArray<ReadonlyArray<number>>) => {
      const decoder = tokenizer.incrementalDecoder()
      return [...cuts.map((cut) => decoder.push(cut)), decoder.flush()]
    }
    assert.strictEqual(parts(ids.map((id) => [id])).join(""), whole)
    for (let cut = 0; cut <= ids.length; cut++) {
      assert.strictEqual(parts([ids.slice(0, cut), ids.slice(cut)]).join(""), whole)
    }
  }
}

describe("tokenizers on adversarial text", () => {
  for (const [name, { hashes, sha256 }] of Object.entries(recorded)) {
    const file = fileOf(name)
    it.runIf(file)(
      `${name} encodes and decodes as Hugging Face's library does${file === undefined ? " (skipped: absent)" : ""}`,
      () => {
        const content = readFileSync(file ?? "")
        assert.strictEqual(createHash("sha256").update(content).digest("hex"), sha256)
        const tokenizer = Effect.runSync(HuggingFaceTokenizer.fromJson(name, JSON.parse(content.toString())))
        agrees(tokenizer, hashes)
        decodesIncrementally(tokenizer)
      }
    )
  }

  it.effect("a rank vocabulary encodes and decodes as tiktoken does", () =>
    Effect.gen(function*() {
      const folder = join(fixtures, "ranks")
      const tokenizer = yield* HuggingFaceTokenizer.fromFolder(folder)
      agrees(tokenizer, read(join(folder, "ids.json"), Schema.Struct({ hashes: Hashes })).hashes)
      decodesIncrementally(tokenizer)
      assert.strictEqual(tokenizer.eosTokenId, 1025)
    }).pipe(Effect.provide(Files.layer)))

  it.effect("a rank file with a broken line is refused with the line number", () =>
    Effect.gen(function*() {
      const folder = yield* Files.temporaryFolder
      yield* Files.writeFile(`${folder}/tiktoken.model`, "IQ== 0\nnot base64\n")
      yield* Files.writeFile(`${folder}/tokenizer_config.json`, `{"added_tokens_decoder":{}}`)
      const error = yield* Effect.flip(HuggingFaceTokenizer.fromFolder(folder))
      assert.include(error.message, `line 2 is "not base64", expected base64, a space and a rank`)
    }).pipe(Effect.scoped, Effect.provide(Files.layer)))
})
