import { History } from "@effect-rl/core/environments"
import { assert, describe, it } from "@effect/vitest"

const outcome = (iteration: number, key: string, ...rewards: ReadonlyArray<number>): History.Outcome => ({
  iteration,
  key,
  rewards
})

const plain = (history: History.History) => Object.fromEntries(history)

describe("History", () => {
  it("keeps each group's latest result and its number of visits", () => {
    const history = History.fromOutcomes([outcome(0, "a", 0, 1), outcome(0, "b", 0), outcome(3, "a", 1, 1)])
    assert.deepStrictEqual(plain(history), {
      a: { iteration: 3, visits: 2, rewards: [1, 1] },
      b: { iteration: 0, visits: 1, rewards: [0] }
    })
  })

  it("is equal whether extended by one result at a time or made from all results", () => {
    const outcomes = [outcome(0, "a", 1), outcome(1, "b", 0), outcome(2, "a", 0)]
    const kept = outcomes.reduce((history, found) => History.extend(history, [found]), History.empty)
    assert.deepStrictEqual(plain(History.fromOutcomes(outcomes)), plain(kept))
  })

  it("drops records after the checkpoint to which a run went back", () => {
    const again = [outcome(0, "a", 1), outcome(1, "b", 1), outcome(2, "c", 1), outcome(1, "b", 0), outcome(2, "d", 1)]
    assert.deepStrictEqual(
      plain(History.fromOutcomes(again)),
      plain(History.fromOutcomes([outcome(0, "a", 1), outcome(1, "b", 0), outcome(2, "d", 1)]))
    )
  })

  it("counts a group only once if its iteration was interrupted and recorded again", () => {
    const history = History.fromOutcomes([outcome(0, "a", 0), outcome(0, "a", 1), outcome(0, "b", 1)])
    assert.deepStrictEqual(history.get("a"), { iteration: 0, visits: 1, rewards: [1] })
  })

  it("can be restricted to a key prefix", () => {
    const history = History.fromOutcomes([outcome(0, "math/a", 1), outcome(0, "code/b", 0)])
    assert.deepStrictEqual([...History.below(history, "math/").keys()], ["a"])
  })
})
