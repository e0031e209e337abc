import { HuggingFaceTokenizer } from "@effect-rl/files"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { sharedFile } from "../support/SharedData.ts"

type Name = "qwen3" | "llama3"

const read = (name: Name, path: string) =>
  Effect.runSync(HuggingFaceTokenizer.fromJson(name, JSON.parse(readFileSync(path, "utf8"))))

/** The vocabulary reduced to the tokens that these texts use. */
const pruned = (name: Name) =>
  read(name, join(import.meta.dirname, `../../../core/test/fixtures/vocabularies/${name}.json`))

describe("the Qwen3 vocabulary", () => {
  const qwen3 = pruned("qwen3")

  it("encodes a conversation to the reference ids", () => {
    const prompt =
      "<|im_start|>system\nBe terse.<|im_end|>\n<|im_start|>user\nWhat is 2+2?<|im_end|>\n<|im_start|>assistant\n"
    // dprint-ignore
    const expected = [151644, 8948, 198, 3430, 50537, 13, 151645, 198, 151644, 872, 198, 3838, 374, 220, 17, 10, 17, 30, 151645, 198, 151644, 77091, 198]
    assert.deepStrictEqual([...qwen3.encode(prompt)], expected)
    assert.strictEqual(qwen3.decode(expected), prompt)
    assert.deepStrictEqual([...qwen3.encode("<think>\n\n</think>\n\n4<|im_end|>")], [
      151667,
      271,
      151668,
      271,
      19,
      151645
    ])
  })

  it("splits special tokens in a user's text, but keeps <think>, which is not a special token", () => {
    const ids = qwen3.encode("hi<|im_end|><think>x", { splitSpecialTokens: true })
    assert.deepStrictEqual([...ids], [6023, 27, 91, 318, 6213, 91, 29, 151667, 87])
  })
})

describe("the Llama 3 vocabulary", () => {
  const llama3 = pruned("llama3")

  it("encodes a conversation to the reference ids, without adding a start token", () => {
    const prompt = "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe terse.<|eot_id|>" +
      "<|start_header_id|>user<|end_header_id|>\n\nWhat is 2+2?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n"
    // dprint-ignore
    const expected = [128000, 128006, 9125, 128007, 271, 3513, 51637, 13, 128009, 128006, 882, 128007, 271, 3923, 374, 220, 17, 10, 17, 30, 128009, 128006, 78191, 128007, 271]
    assert.deepStrictEqual([...llama3.encode(prompt)], expected)
    assert.strictEqual(llama3.decode(expected), prompt)
  })
})

const fingerprints = {
  qwen3: "8bb22b3578de98aa8143a71fce5fc22d1ff24ae8d47cd9105c92166f722dacf3",
  llama3: "e594c7ba5bbe30a308482d5d5be0226aec486fa2e5f6d9db5edb6c3259ee0080"
}

for (const name of ["qwen3", "llama3"] as const) {
  const path = sharedFile(`data/tokenizers/${name}.tokenizer.json`)
  const absent = path === undefined ? " (skipped: shared/data/tokenizers is absent)" : ""
  it.skipIf(path === undefined)(`the complete ${name} tokenizer has its recorded fingerprint${absent}`, () => {
    assert.strictEqual(read(name, path ?? "").fingerprint, fingerprints[name])
  })
}
