/** Agents that continue texts with random behaviour: they continue, edit, ask in parallel, repeat requests, and start new texts. */
import type { AgentEnv } from "@effect-rl/agent"
import { Draw } from "@effect-rl/core/testing"
import { Schema } from "effect"
import type * as RandomAgent from "./RandomAgent.ts"
import * as Talk from "./Talk.ts"

const Ids = Schema.Array(Schema.Number)

const decodeCompletion = Schema.decodeUnknownSync(Schema.Struct({
  choices: Schema.Array(Schema.Struct({ text: Schema.String, prompt_token_ids: Ids, token_ids: Ids }))
}))

/** A text as a string, and as the tokens that the client received. */
interface Written {
  readonly text: string
  readonly ids: ReadonlyArray<number>
}

type Prompt = string | ReadonlyArray<number>

const more: readonly [string, ...ReadonlyArray<string>] = ["", " then", "ab", " ab\n", "{"]

const acts = [
  "go on",
  "go on",
  "repeat",
  "ask again",
  "edit",
  "other",
  "parallel",
  "list",
  "several",
  "give up"
] as const

/** An agent that makes up to ten requests, or more if it asks several at once. */
export const make = (
  { did, habits, seed }: Omit<RandomAgent.Options, "dialect">
) =>
async (session: AgentEnv.Session): Promise<number> => {
  const draw = Draw.make(seed, "writer")
  const fields = () => ({
    return_token_ids: true,
    ...(draw.chance(0.7) && { max_tokens: draw.integer(1, 6) }),
    ...(draw.chance(0.2) && { temperature: 0.2 })
  })
  const post = async (
    prompt: Prompt | ReadonlyArray<string>,
    { headers = {}, signal = session.signal, ...fields }: {
      readonly headers?: Readonly<Record<string, string>>
      readonly signal?: AbortSignal
      readonly [field: string]: unknown
    }
  ): Promise<ReadonlyArray<Written>> => {
    const body = JSON.stringify({ model: Talk.name, prompt, ...fields })
    const response = await session.fetch(`${session.baseUrl}/completions`, { method: "POST", headers, body, signal })
    if (response.status !== 200) throw new Error(`status ${response.status}: ${await response.text()}`)
    return decodeCompletion(await response.json()).choices.map(({ prompt_token_ids, text, token_ids }) => ({
      text: `${typeof prompt === "string" ? prompt : Talk.tokenizer.decode(prompt_token_ids)}${text}`,
      ids: [...prompt_token_ids, ...token_ids]
    }))
  }
  const texts: Array<Written> = []
  const say = async (prompt: Prompt) => void texts.push(...await post(prompt, fields()))
  const fresh = () => `text ${draw.integer(0, 9)}:`
  /** The next prompt: the whole text as a string or token ids, with a short addition. */
  const next = ({ ids, text }: Written): Prompt => {
    const added = draw.oneOf(more)
    return draw.chance(0.3) ? [...ids, ...Talk.tokenizer.encode(added)] : `${text}${added}`
  }
  await say(fresh())
  for (let step = draw.integer(1, 9); step > 0; step--) {
    const act = habits === "none" ? "go on" : draw.oneOf(acts)
    const at = habits === "none" ? texts.length - 1 : draw.integer(0, texts.length - 1)
    const written = texts[at] ?? { text: fresh(), ids: [] }
    switch (act) {
      case "go on":
        await say(next(written))
        break
      case "repeat": {
        const [prompt, asked] = [next(written), fields()]
        const first = await post(prompt, asked)
        const again = await post(prompt, { ...asked, headers: { "x-stainless-retry-count": "1" } })
        if (JSON.stringify(first) !== JSON.stringify(again)) throw new Error("a repeated request differs")
        texts.push(...first)
        break
      }
      case "ask again": {
        const prompt = next(written)
        await say(prompt)
        await say(prompt)
        break
      }
      case "edit":
        await say(`${written.text.slice(0, draw.integer(1, written.text.length))} edited`)
        break
      case "other":
        await say(fresh())
        break
      case "parallel": {
        const same = next(written)
        await Promise.all(Array.from({ length: 3 }, () => say(draw.chance(0.5) ? same : next(written))))
        break
      }
      case "list":
        texts.push(...await post([written.text, fresh()], fields()))
        break
      case "several":
        texts.push(...await post(next(written), { ...fields(), n: draw.integer(2, 3) }))
        break
      case "give up": {
        did.givenUp++
        const controller = new AbortController()
        const given = post(next(written), { ...fields(), signal: controller.signal }).catch(() => undefined)
        controller.abort()
        await given
        break
      }
    }
  }
  return draw.chance(0.5) ? 1 : 0
}
