/** The data of a pass as they are posted to a thread: the arrays of all data are joined into one array per input. */
import * as Record from "effect/Record"
import * as Joined from "./Joined.ts"
import type { GraphInputs, Item } from "./Protocol.ts"

type Floats = Joined.Joined<Float32Array>

interface Policy {
  readonly kind: "PolicyTokens"
  readonly logprobs: Floats
  readonly advantages: Floats
  readonly mask: Floats
}

interface Weighted {
  readonly kind: "WeightedTokens"
  readonly weights: Floats
}

interface Graph {
  readonly kind: "Graph"
  /** The inputs that are f32 vectors in every datum. */
  readonly vectors: Readonly<Record<string, Floats>>
  /** Each datum's other inputs; empty if no datum has any. */
  readonly others: ReadonlyArray<GraphInputs["values"]>
  readonly counted: Joined.Joined<Uint8Array>
}

/** The joined inputs of data of one kind. */
export interface PostedItems {
  readonly tokens: Joined.Joined<Int32Array>
  readonly targetTokens: Joined.Joined<Int32Array>
  readonly inputs: Policy | Weighted | Graph
}

const packGraph = (items: ReadonlyArray<GraphInputs>): Graph => {
  const vectors: Record<string, Floats> = {}
  for (const name of Object.keys(items[0]?.values ?? {})) {
    const parts = items.flatMap(({ values: { [name]: one } }) => one instanceof Float32Array ? [one] : [])
    if (parts.length === items.length) vectors[name] = Joined.floats(parts)
  }
  const isOther = (_: unknown, name: string) => !Object.hasOwn(vectors, name)
  const hasOthers = items.some(({ values }) => Record.some(values, isOther))
  return {
    kind: "Graph",
    vectors,
    others: hasOthers ? items.map(({ values }) => Record.filter(values, isOther)) : [],
    counted: Joined.bytes(items.map(({ counted }) => counted))
  }
}

const packInputs = (items: ReadonlyArray<Item>): PostedItems["inputs"] => {
  const policy = items.flatMap((item) => item.kind === "PolicyTokens" ? [item.inputs] : [])
  const weighted = items.flatMap((item) => item.kind === "WeightedTokens" ? [item.inputs] : [])
  const graph = items.flatMap((item) => item.kind === "Graph" ? [item.inputs] : [])
  switch (items.length) {
    case policy.length:
      return {
        kind: "PolicyTokens",
        logprobs: Joined.floats(policy.map(({ logprobs }) => logprobs)),
        advantages: Joined.floats(policy.map(({ advantages }) => advantages)),
        mask: Joined.floats(policy.map(({ mask }) => mask))
      }
    case weighted.length:
      return { kind: "WeightedTokens", weights: Joined.floats(weighted.map(({ weights }) => weights)) }
    case graph.length:
      return packGraph(graph)
    default:
      throw new TypeError("the data of a pass are of several kinds")
  }
}

/** Joins the inputs of data of one kind, and throws `TypeError` for several kinds. `unpack` returns views of the joined arrays. */
export const pack = (items: ReadonlyArray<Item>): PostedItems => ({
  tokens: Joined.integers(items.map(({ tokens }) => tokens)),
  targetTokens: Joined.integers(items.map(({ inputs }) => inputs.targetTokens)),
  inputs: packInputs(items)
})

type Unpacked = (index: number, tokens: Int32Array, targetTokens: Int32Array) => Item

const unpackPolicy = ({ advantages, logprobs, mask }: Policy): Unpacked => {
  const [advantagesAt, logprobsAt, maskAt] = [Joined.part(advantages), Joined.part(logprobs), Joined.part(mask)]
  return (index, tokens, targetTokens) => ({
    kind: "PolicyTokens",
    tokens,
    inputs: { targetTokens, logprobs: logprobsAt(index), advantages: advantagesAt(index), mask: maskAt(index) }
  })
}

const unpackWeighted = ({ weights }: Weighted): Unpacked => {
  const weightsAt = Joined.part(weights)
  return (index, tokens, targetTokens) => ({
    kind: "WeightedTokens",
    tokens,
    inputs: { targetTokens, weights: weightsAt(index) }
  })
}

const unpackGraph = ({ counted, others, vectors }: Graph): Unpacked => {
  const [countedAt, vectorsAt] = [Joined.part(counted), Record.map(vectors, Joined.part)]
  return (index, tokens, targetTokens) => ({
    kind: "Graph",
    tokens,
    inputs: {
      targetTokens,
      values: { ...others[index], ...Record.map(vectorsAt, (at) => at(index)) },
      counted: countedAt(index)
    }
  })
}

const unpackInputs = (inputs: PostedItems["inputs"]): Unpacked => {
  switch (inputs.kind) {
    case "PolicyTokens":
      return unpackPolicy(inputs)
    case "WeightedTokens":
      return unpackWeighted(inputs)
    case "Graph":
      return unpackGraph(inputs)
  }
}

export const unpack = ({ inputs, targetTokens, tokens }: PostedItems): ReadonlyArray<Item> => {
  const [itemAt, targetsAt] = [unpackInputs(inputs), Joined.part(targetTokens)]
  return Joined.parts(tokens).map((own, index) => itemAt(index, own, targetsAt(index)))
}
