import { Message } from "@effect-rl/core"
import type { ModelInput } from "@effect-rl/core/backend"
import { WeightedDatum } from "@effect-rl/core/program"
import { OpenAi, type Renderer, Renderers } from "@effect-rl/core/renderers"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Base64 } from "effect/encoding"
import * as CharTokenizer from "./CharTokenizer.ts"

/** The beginning of a PNG file, with its size. */
const png = (width: number, height: number): Message.ImagePart => {
  const data = new Uint8Array(33)
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52])
  const view = new DataView(data.buffer)
  view.setUint32(16, width)
  view.setUint32(20, height)
  return { type: "image", data, format: "png" }
}

/** The beginning of a JPEG file, an application segment, and a frame header. */
const jpeg = (width: number, height: number): Message.ImagePart => ({
  type: "image",
  format: "jpeg",
  // dprint-ignore
  data: Uint8Array.of(
    0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2,
    0xff, 0xc2, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 3, 0, 0, 0
  )
})

const see = (image: Message.ImagePart): ReadonlyArray<Message.Message> => [
  { role: "user", content: [{ type: "text", text: "See " }, image, { type: "text", text: "?" }] }
]

const expectedTokens = ({ chunks }: ModelInput.ModelInput) =>
  chunks.flatMap((chunk) => chunk._tag === "Image" ? [chunk.expectedTokens] : [])

const shown = (family: string, { chunks }: ModelInput.ModelInput) =>
  chunks.map((chunk) =>
    chunk._tag === "Image" ? `[${chunk.expectedTokens}]` : CharTokenizer.of(family).decode(chunk.tokens)
  )
    .join("")

const make = (name: string, family: string) => Renderers.byName(name, CharTokenizer.of(family))

const failure = <A>(effect: Effect.Effect<A, Renderer.RendererError>) =>
  Effect.map(Effect.flip(effect), (error) => error.message)

/** Results of `smart_resize` in transformers 5.23 for 16-pixel patches, merged two by two, from 65,536 to 16,777,216 pixels. */
const published = [
  [224, 224, 64],
  [1920, 1080, 2040],
  [32, 32, 64],
  [7000, 5000, 16308],
  [37, 100, 70],
  [80, 48, 77],
  [8192, 8192, 16384],
  [3199, 16, 114]
] as const

describe("Qwen3-VL and Qwen3.5 images", () => {
  it.effect.each(published)(
    "of %i by %i pixels take %i positions",
    ([width, height, tokens]) =>
      Effect.gen(function*() {
        for (const name of ["qwen3_vl", "qwen3_vl_instruct", "qwen3_5", "qwen3_8_low_reasoning"]) {
          const renderer = yield* make(name, "qwen")
          for (const image of [png(width, height), jpeg(width, height)]) {
            assert.deepStrictEqual(expectedTokens(yield* renderer.generationPrompt(see(image))), [tokens], name)
          }
        }
      })
  )

  it.effect("stand between their markers, at their position in the text", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3_vl_instruct", "qwen")
      assert.strictEqual(
        shown("qwen", yield* renderer.generationPrompt(see(png(224, 224)))),
        "<|im_start|>user\nSee <|vision_start|>[64]<|vision_end|>?<|im_end|>\n<|im_start|>assistant\n"
      )
    }))

  it.effect("take the number of positions that expectedTokens states", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3_vl_instruct", "qwen")
      const prompt = yield* renderer.generationPrompt(see({ ...png(224, 224), expectedTokens: 7 }))
      assert.deepStrictEqual(expectedTokens(prompt), [7])
    }))

  it.effect("can come from OpenAI's format, and are part of an example without being trained", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3_vl_instruct", "qwen")
      const url = `data:image/png;base64,${Base64.encode(png(224, 224).data)}`
      const asked = yield* OpenAi.toMessages([{ role: "user", content: [{ type: "image_url", image_url: { url } }] }])
      const example = yield* renderer.supervisedExample(
        [...asked, Message.assistant("a cat")],
        "last_assistant_message"
      )
      assert.deepStrictEqual(expectedTokens(example.input), [64])
      assert.lengthOf(example.weights, example.input.length)
      const datum = yield* WeightedDatum.fromExample(example)
      assert.strictEqual(datum.modelInput.length, example.input.length - 1)
      const trained = [...datum.inputs.targetTokens].filter((_, index) => datum.inputs.weights[index] === 1)
      assert.strictEqual(CharTokenizer.qwen.decode(trained), "a cat<|im_end|>")
      assert.strictEqual(
        Buffer.from(datum.modelInput.chunks.flatMap((chunk) => chunk._tag === "Image" ? [...chunk.data] : [])).toString(
          "base64"
        ),
        Base64.encode(png(224, 224).data)
      )
    }))
})

describe("Kimi images", () => {
  it.effect.each(["kimi_k25", "kimi_k26"])(
    "stand between the markers of %s, with their number of positions",
    (name) =>
      Effect.gen(function*() {
        const renderer = yield* make(name, "kimi")
        const prompt = yield* renderer.generationPrompt(see({ ...png(224, 224), expectedTokens: 9 }))
        assert.include(shown("kimi", prompt), "See <|media_begin|>image<|media_content|>[9]<|media_end|>\n?<|im_end|>")
        assert.include(
          yield* failure(renderer.generationPrompt(see(png(224, 224)))),
          "how many tokens an image takes is not known for this family; give expectedTokens"
        )
      })
  )
})

describe("a renderer with image support", () => {
  it.effect("refuses data that are not an image, and an image that is too thin", () =>
    Effect.gen(function*() {
      const renderer = yield* make("qwen3_vl", "qwen")
      assert.include(
        yield* failure(renderer.generationPrompt(see({ type: "image", format: "jpeg", data: png(9, 9).data }))),
        "an image of 33 bytes is not a jpeg"
      )
      assert.include(
        yield* failure(renderer.generationPrompt(see(png(6000, 1)))),
        "an image of 6000 by 1 pixels is too thin, expected sides of at most 1 to 200"
      )
    }))

  it.effect.each(
    [["qwen3", "qwen"], ["llama3", "llama"], ["deepseekv3", "ds"], ["gpt_oss_low_reasoning", "oss"], [
      "kimi_k2",
      "kimi"
    ]] as const
  )("refuses an image for %s, whose models read only text", ([name, family]) =>
    Effect.gen(function*() {
      const renderer = yield* make(name, family)
      assert.match(yield* failure(renderer.generationPrompt(see(png(9, 9)))), /image/)
    }))
})
