/**
 * Runs random programs in sandboxes until it is killed. Prints one line per verdict: whether it was expected, or what it was. Arguments:
 * the provider, a seed, this host's number, and a word to put in every program's environment.
 */
import { Draw } from "@effect-rl/core/testing"
import { Effect } from "effect"
import * as Providers from "../soak/Providers.ts"
import * as Trial from "../soak/Trial.ts"

const [provider = "", seed = "1", host = "0", word = ""] = process.argv.slice(2)
const { layer } = Providers.named(provider)

const attempt = Effect.fnUntraced(function*(index: number) {
  const trial = Trial.make(Draw.make(Number(seed), "host", host, "trial", index))
  const ending = yield* Trial.run(trial, { [Providers.variable]: word })
  process.stdout.write(`verdict: ${trial.expects(ending) ? "expected" : `${trial.kind}: ${ending}`}\n`)
})

const endless = Effect.forEach(
  Array.from({ length: 4 }, (_, worker) => worker),
  (worker) => {
    let index = worker
    return Effect.forever(Effect.suspend(() => attempt(index += 4)))
  },
  { concurrency: "unbounded" }
)

await Effect.runPromise(Effect.provide(endless, layer))
