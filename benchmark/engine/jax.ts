/** The workload on jax-js, which has no threads outside browsers. Its Adam step is left out. */
import { Seed } from "@effect-rl/core/environments"
import { defaultDevice, init, jit, numpy as np, tree, valueAndGrad } from "@jax-js/jax"
import * as JaxModel from "./JaxModel.ts"
import * as Workload from "./Workload.ts"

await init("wasm")
defaultDevice("wasm")

const integers = (rows: ReadonlyArray<Int32Array>) =>
  np.array(Int32Array.from(rows.flatMap((row) => [...row])), { dtype: np.int32 })

const frozen = JaxModel.load()
const factors = JaxModel.adapter()
const { batch, length, newTokens, promptLength, shape, slots } = Workload

const sequences = Array.from({ length: batch }, (_, sequence) => Workload.tokens(sequence, length + 1))
const tokens = integers(sequences.map((row) => row.subarray(0, -1))).reshape([batch, length])
const targets = integers(sequences.map((row) => row.subarray(1)))
const weights = np.array(Float32Array.from(
  { length: batch * length },
  (_, place) => Workload.weight(Math.floor(place / length), place % length)
))
const [cos, sin] = JaxModel.angles(0, length)

const gradient = jit(valueAndGrad(JaxModel.loss))

const train = () => {
  const [loss, gradients] = gradient(
    tree.ref(factors),
    tree.ref(frozen),
    tokens.ref,
    targets.ref,
    weights.ref,
    cos.ref,
    sin.ref
  )
  for (const values of Object.values(gradients)) values.dataSync()
  return Number(loss.js())
}

const prompts = integers(Array.from({ length: slots }, (_, slot) => Workload.tokens(slot, promptLength)))
  .reshape([slots, promptLength])
const prefill = jit(JaxModel.prefill)
const decode = jit(JaxModel.decode)
const uniform = Seed.uniform(0)

/** Samples a token from each row of logits. */
const draw = (logits: Float32Array) =>
  Int32Array.from({ length: slots }, (_, slot) => {
    const row = logits.subarray(slot * shape.vocabulary, (slot + 1) * shape.vocabulary)
    let most = -Infinity
    for (const value of row) most = Math.max(most, value)
    const cumulative = new Float64Array(row.length)
    let sum = 0
    for (let id = 0; id < row.length; id++) cumulative[id] = sum += Math.exp((row[id] ?? 0) - most)
    const drawn = uniform() * sum
    return cumulative.findIndex((value) => value >= drawn)
  })

const total = promptLength + newTokens
const places = Array.from({ length: newTokens }, (_, turn) => {
  const at = promptLength + turn
  const stored = Float32Array.from({ length: total }, (_, position) => Number(position === at))
  const hidden = Float32Array.from({ length: total }, (_, position) => position <= at ? 0 : -1e9)
  return {
    place: np.array(stored).reshape([1, total, 1, 1]),
    bias: np.array(hidden).reshape([1, 1, 1, total]),
    angles: JaxModel.angles(at, 1)
  }
})
const promptAngles = JaxModel.angles(0, promptLength)

const sample = () => {
  const [promptCos, promptSin] = promptAngles
  let [logits, caches] = prefill(tree.ref(frozen), tree.ref(factors), prompts.ref, promptCos.ref, promptSin.ref)
  for (const [turn, { angles, bias, place }] of places.entries()) {
    const drawn = np.array(draw(new Float32Array(logits.dataSync())), { dtype: np.int32 }).reshape([slots, 1])
    if (turn === newTokens - 1) {
      drawn.dispose()
      break
    }
    ;[logits, caches] = decode(
      tree.ref(frozen),
      tree.ref(factors),
      caches,
      drawn,
      place.ref,
      bias.ref,
      angles[0].ref,
      angles[1].ref
    )
  }
  tree.dispose(caches)
}

const loss = train()
const speed: Workload.Speed = {
  trainTokensPerSecond: Workload.rate(4, train) * batch * length,
  sampleTokensPerSecond: Workload.rate(4, sample) * slots * newTokens,
  loss
}
process.stdout.write(JSON.stringify(speed))
